//! What the command line may touch of the world around it, in one place, so that a whole run
//! can be played in a test.
//!
//! The binary fills this from the process; tests fill it with buffers and a made-up source.

use std::io::Write;
use std::sync::Arc;

use super::look::{Charset, ColorChoice, Look, Paint};
use crate::reader::{Observe, ReadError};
use crate::task::Cancel;

/// Columns of a page that goes to a file or pipe.
const PIPE_COLUMNS: usize = 80;

/// Opens the target that the operator named.
pub type Open<'a> = dyn Fn(&str) -> Result<Arc<dyn Observe>, ReadError> + 'a;

/// The world around a run.
pub struct Surroundings<'a> {
    /// Standard output.
    pub out: &'a mut dyn Write,
    /// What standard output is.
    pub out_kind: Stream,
    /// Standard error.
    pub err: &'a mut (dyn Write + Send),
    /// What standard error is.
    pub err_kind: Stream,
    /// The environment variables that matter.
    pub variables: Variables,
    /// Opens the target that the operator named.
    pub open: &'a Open<'a>,
    /// Arranges that Ctrl-C cancels; called once, before a report is read.
    pub on_interrupt: &'a dyn Fn(&Cancel),
}

/// Where output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// A terminal of this many columns.
    Terminal {
        /// Cells in a line.
        columns: u16,
    },
    /// A file or pipe.
    Pipe,
}

/// The environment variables that decide how output looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables {
    /// `NO_COLOR`.
    pub no_color: Option<String>,
    /// `TERM`.
    pub term: Option<String>,
    /// The first of `LC_ALL`, `LC_CTYPE`, `LANG` that is set and not empty.
    pub locale: Option<String>,
}

impl Variables {
    /// Those of this process.
    pub fn of_the_process() -> Self {
        let get = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(get);
        Self { no_color: get("NO_COLOR"), term: get("TERM"), locale }
    }

    /// The characters that the locale promises to show.
    pub(crate) fn charset(&self) -> Charset {
        let locale = self.locale.as_deref().unwrap_or_default().to_ascii_lowercase();
        if locale.contains("utf-8") || locale.contains("utf8") {
            Charset::Utf8
        } else {
            Charset::Ascii
        }
    }

    /// Whether colours are wanted on a stream.
    pub(crate) fn paint(&self, choice: ColorChoice, stream: Stream) -> Paint {
        let refused = self.no_color.is_some() || self.term.as_deref() == Some("dumb");
        match (choice, stream) {
            (ColorChoice::Always, _) => Paint::Ansi,
            (ColorChoice::Auto, Stream::Terminal { .. }) if !refused => Paint::Ansi,
            (ColorChoice::Auto | ColorChoice::Never, _) => Paint::Plain,
        }
    }
}

impl Surroundings<'_> {
    /// How plain output to standard output looks.
    pub(crate) fn look(&self, choice: ColorChoice) -> Look {
        let columns = match self.out_kind {
            Stream::Terminal { columns } => usize::from(columns).max(40),
            Stream::Pipe => PIPE_COLUMNS,
        };
        Look {
            paint: self.variables.paint(choice, self.out_kind),
            charset: self.variables.charset(),
            columns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREEN: Stream = Stream::Terminal { columns: 80 };

    #[test]
    fn colours_follow_choice_then_variables_then_stream() {
        let none = Variables::default();
        assert_eq!(none.paint(ColorChoice::Auto, SCREEN), Paint::Ansi);
        assert_eq!(none.paint(ColorChoice::Auto, Stream::Pipe), Paint::Plain);
        assert_eq!(none.paint(ColorChoice::Always, Stream::Pipe), Paint::Ansi);
        assert_eq!(none.paint(ColorChoice::Never, SCREEN), Paint::Plain);
        let no_color = Variables { no_color: Some("1".to_owned()), ..Variables::default() };
        assert_eq!(no_color.paint(ColorChoice::Auto, SCREEN), Paint::Plain);
        assert_eq!(no_color.paint(ColorChoice::Always, SCREEN), Paint::Ansi);
        let dumb = Variables { term: Some("dumb".to_owned()), ..Variables::default() };
        assert_eq!(dumb.paint(ColorChoice::Auto, SCREEN), Paint::Plain);
    }

    #[test]
    fn the_locale_decides_the_characters() {
        let of = |locale: &str| {
            Variables { locale: Some(locale.to_owned()), ..Variables::default() }.charset()
        };
        assert_eq!(of("en_GB.UTF-8"), Charset::Utf8);
        assert_eq!(of("C.utf8"), Charset::Utf8);
        assert_eq!(of("POSIX"), Charset::Ascii);
        assert_eq!(Variables::default().charset(), Charset::Ascii);
    }
}
