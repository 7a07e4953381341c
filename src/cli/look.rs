//! How plain output looks: colours or none, UTF-8 or ASCII, how wide.
//!
//! Tables ask for a [`Role`], never for a colour. Only the 16 palette colours are used, so
//! that the terminal's own theme decides. Must not know about reports.

use clap::ValueEnum;

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

/// Which characters may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    /// Bars of block elements, `÷`, `…`.
    Utf8,
    /// Nothing beyond ASCII of statetop's own.
    Ascii,
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
    pub(crate) fn cut(self) -> &'static str {
        match self.charset {
            Charset::Utf8 => "…",
            Charset::Ascii => "~",
        }
    }

    /// A bar of up to `cells` for a part of one; anything above nothing shows.
    pub(crate) fn bar(self, part: f64, cells: u8) -> String {
        match self.charset {
            Charset::Utf8 => bar(part, cells, &["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"]),
            Charset::Ascii => bar(part, cells, &["#"]),
        }
    }
}

/// A bar from glyphs of growing width; the last fills a cell.
fn bar(part: f64, cells: u8, glyphs: &[&str]) -> String {
    let Some(full) = glyphs.last().filter(|_| part > 0.0) else { return String::new() };
    let steps = glyphs.len();
    // At most 255 cells of 8 steps, never negative.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded above")]
    #[expect(clippy::cast_precision_loss, reason = "8 at most")]
    let length = ((part.min(1.0) * f64::from(cells) * steps as f64).round() as usize).max(1);
    let mut text = full.repeat(length / steps);
    if let Some(glyph) = (length % steps).checked_sub(1).and_then(|index| glyphs.get(index)) {
        text.push_str(glyph);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const UTF8: Look = Look { paint: Paint::Plain, charset: Charset::Utf8, columns: 80 };

    #[test]
    fn plain_has_no_escape_sequence() {
        assert_eq!(UTF8.paint(Role::Error, "ERROR"), "ERROR");
        let ansi = Look { paint: Paint::Ansi, ..UTF8 };
        assert_eq!(ansi.paint(Role::Error, "ERROR"), "\x1b[1;31mERROR\x1b[0m");
        assert_eq!(ansi.paint(Role::Text, "x"), "x");
    }

    #[test]
    fn bars_grow_by_eighths_or_whole_cells() {
        assert_eq!(UTF8.bar(0.0, 10), "");
        assert_eq!(UTF8.bar(0.000_01, 10), "▏");
        assert_eq!(UTF8.bar(0.55, 10), "█████▌");
        assert_eq!(UTF8.bar(7.0, 10), "██████████");
        assert_eq!(UTF8.bar(f64::NAN, 10), "");
        let ascii = Look { charset: Charset::Ascii, ..UTF8 };
        assert_eq!(ascii.bar(0.54, 10), "#####");
        assert_eq!(ascii.bar(0.000_01, 10), "#");
    }
}
