//! How plain output looks: colours or none, UTF-8 or ASCII, how wide.
//!
//! Tables ask for a [`Role`], never for a colour. Only the 16 palette colours are used, so
//! that the terminal's own theme decides. Must not know about reports.

use clap::ValueEnum;

use super::surroundings::Stream;
use crate::console::look::Environment;
use crate::console::{Charset, Level};

/// The answer to `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ColorChoice {
    /// Colours on a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`.
    #[default]
    Auto,
    /// Colours even into a pipe or file.
    Always,
    /// No colours; bold is left out too.
    Never,
}

/// Whether escape sequences for colours may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// Text only.
    Plain,
    /// The 16 palette colours and bold, by escape sequence.
    Ansi,
}

impl Paint {
    /// What a choice comes to on a stream.
    pub(crate) fn of(choice: ColorChoice, stream: Stream, environment: &Environment) -> Self {
        let refused = Level::of(environment) == Level::Mono;
        match (choice, stream) {
            (ColorChoice::Always, _) => Self::Ansi,
            (ColorChoice::Auto, Stream::Terminal { .. }) if !refused => Self::Ansi,
            (ColorChoice::Auto | ColorChoice::Never, _) => Self::Plain,
        }
    }
}

/// What a piece of text is, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Text,
    Title,
    Muted,
    Info,
    Warning,
    Error,
    Bar,
}

/// Everything that decides how plain output looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Colours or none.
    pub paint: Paint,
    /// UTF-8 or ASCII.
    pub charset: Charset,
    /// Cells in a line.
    pub columns: usize,
}

impl Look {
    /// `text` with the escape sequences of its role around it.
    pub(crate) fn paint(self, role: Role, text: &str) -> String {
        let code = match role {
            Role::Text => "",
            Role::Title => "1",
            Role::Muted => "2",
            Role::Info | Role::Bar => "36",
            Role::Warning => "33",
            Role::Error => "1;31",
        };
        if self.paint == Paint::Plain || code.is_empty() || text.is_empty() {
            text.to_owned()
        } else {
            format!("\x1b[{code}m{text}\x1b[0m")
        }
    }

    /// The heading of the ratio of the largest partition to the mean.
    pub(crate) fn max_over_mean(self) -> &'static str {
        match self.charset {
            Charset::Utf8 => "max÷mean",
            Charset::Ascii => "max/mean",
        }
    }

    /// What stands for a part that was cut off.
    pub(crate) fn ellipsis(self) -> &'static str {
        self.charset.symbols().ellipsis
    }

    /// A bar of up to `cells` for a part of one; anything above nothing shows.
    pub(crate) fn bar(self, part: f64, cells: u8) -> String {
        if part.is_nan() || part <= 0.0 {
            return String::new();
        }
        let glyphs = self.charset.symbols().eighths;
        let [.., full] = glyphs;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 2040")]
        let eighths = ((part.min(1.0) * f64::from(cells) * 8.0).round() as usize).max(1);
        let rest = (eighths % 8).checked_sub(1).and_then(|last| glyphs.get(last));
        format!("{}{}", full.repeat(eighths / 8), rest.copied().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREEN: Stream = Stream::Terminal { columns: 80 };

    #[test]
    fn colours_follow_choice_then_variables_then_stream() {
        let none = Environment::default();
        assert_eq!(Paint::of(ColorChoice::Auto, SCREEN, &none), Paint::Ansi);
        assert_eq!(Paint::of(ColorChoice::Auto, Stream::Pipe, &none), Paint::Plain);
        assert_eq!(Paint::of(ColorChoice::Always, Stream::Pipe, &none), Paint::Ansi);
        assert_eq!(Paint::of(ColorChoice::Never, SCREEN, &none), Paint::Plain);
        let no_color = Environment { no_color: Some("1".to_owned()), ..Environment::default() };
        assert_eq!(Paint::of(ColorChoice::Auto, SCREEN, &no_color), Paint::Plain);
        assert_eq!(Paint::of(ColorChoice::Always, SCREEN, &no_color), Paint::Ansi);
        let dumb = Environment { term: Some("dumb".to_owned()), ..Environment::default() };
        assert_eq!(Paint::of(ColorChoice::Auto, SCREEN, &dumb), Paint::Plain);
    }

    const UTF8: Look = Look { paint: Paint::Plain, charset: Charset::Utf8, columns: 80 };

    #[test]
    fn plain_has_no_escape_sequence() {
        assert_eq!(UTF8.paint(Role::Error, "ERROR"), "ERROR");
        let ansi = Look { paint: Paint::Ansi, ..UTF8 };
        assert_eq!(ansi.paint(Role::Error, "ERROR"), "\x1b[1;31mERROR\x1b[0m");
        assert_eq!(ansi.paint(Role::Text, "x"), "x");
    }

    #[test]
    fn bars_grow_by_eighths() {
        assert_eq!(UTF8.bar(0.0, 10), "");
        assert_eq!(UTF8.bar(0.000_01, 10), "▏");
        assert_eq!(UTF8.bar(0.55, 10), "█████▌");
        assert_eq!(UTF8.bar(7.0, 10), "██████████");
        assert_eq!(UTF8.bar(f64::NAN, 10), "");
        let ascii = Look { charset: Charset::Ascii, ..UTF8 };
        assert_eq!(ascii.bar(0.54, 10), "#####-");
        assert_eq!(ascii.bar(0.000_01, 10), "-");
    }
}
