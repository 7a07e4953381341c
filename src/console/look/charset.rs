//! The characters that screens are drawn with. ASCII is complete: it says everything that
//! UTF-8 does, with other marks.

use std::borrow::Cow;

use super::Environment;

/// Which characters the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Charset {
    /// Lines, blocks and shades.
    #[default]
    Utf8,
    /// Only what every terminal has.
    Ascii,
}

/// The marks of a charset.
#[derive(Debug, Clone, Copy)]
pub struct Symbols {
    /// Something is left out here.
    pub ellipsis: &'static str,
    /// Multiplied by.
    pub times: &'static str,
    /// Divided by.
    pub over: &'static str,
    /// Change.
    pub delta: &'static str,
    /// More or less by.
    pub give_or_take: &'static str,
    /// From one to another.
    pub arrow: &'static str,
    /// One of the characters that are hidden.
    pub hidden: &'static str,
    /// A point of a curve.
    pub point: &'static str,
    /// Horizontal line.
    pub line: &'static str,
    /// Vertical line.
    pub wall: &'static str,
    /// Corners: top left, top right, bottom left, bottom right.
    pub corners: [&'static str; 4],
    /// A partition in the four classes of the heat scale, from cool to hot.
    pub heat: [&'static str; 4],
    /// A partition without rows.
    pub empty: &'static str,
    /// A partition whose value is not known.
    pub unknown: &'static str,
    /// A bar's last cell, by eighths filled; the last is a full cell.
    pub eighths: [&'static str; 8],
    /// A standing bar's top cell, by eighths filled from below.
    pub rising: [&'static str; 8],
    /// Eight heights of a line that is one cell high.
    pub levels: [&'static str; 8],
    /// The phases of a batch, in the order of `Phase::ALL`.
    pub phases: [&'static str; 6],
    /// Where a run of a query begins.
    pub seam: &'static str,
    /// A line across a chart.
    pub dash: &'static str,
}

const UTF8: Symbols = Symbols {
    ellipsis: "…",
    times: "×",
    over: "÷",
    delta: "Δ",
    give_or_take: "±",
    arrow: "→",
    hidden: "•",
    point: "·",
    line: "─",
    wall: "│",
    corners: ["┌", "┐", "└", "┘"],
    heat: ["░", "▒", "▓", "█"],
    empty: "·",
    unknown: "?",
    eighths: ["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"],
    rising: ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
    levels: ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
    phases: ["█", "▓", "▒", "░", "R", "·"],
    seam: "┆",
    dash: "╌",
};

const ASCII: Symbols = Symbols {
    ellipsis: "..",
    times: "x",
    over: "/",
    delta: "+/-",
    give_or_take: "+-",
    arrow: "->",
    hidden: "*",
    point: ".",
    line: "-",
    wall: "|",
    corners: ["+", "+", "+", "+"],
    heat: [".", "o", "*", "#"],
    empty: "_",
    unknown: "?",
    eighths: ["-", "-", "-", "=", "=", "=", "=", "#"],
    rising: [" ", " ", " ", "#", "#", "#", "#", "#"],
    levels: ["_", ".", ",", "-", "=", "+", "*", "#"],
    phases: ["#", "=", "o", ":", "R", "~"],
    seam: "|",
    dash: "-",
};

impl Charset {
    /// UTF-8 if the locale says so.
    pub fn of(environment: &Environment) -> Self {
        let locale = environment.locale.as_deref().unwrap_or_default().to_ascii_lowercase();
        if locale.contains("utf-8") || locale.contains("utf8") { Self::Utf8 } else { Self::Ascii }
    }

    /// Its marks.
    pub fn symbols(self) -> &'static Symbols {
        match self {
            Self::Utf8 => &UTF8,
            Self::Ascii => &ASCII,
        }
    }

    /// `text` as this charset can show it.
    pub fn encode(self, text: &str) -> Cow<'_, str> {
        if self == Self::Utf8 || text.is_ascii() {
            return Cow::Borrowed(text);
        }
        // Wide characters keep their columns, so that tables stay straight.
        let mut ascii = String::with_capacity(text.len());
        for c in text.chars() {
            if c.is_ascii() {
                ascii.push(c);
            } else {
                let columns = unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
                ascii.extend(std::iter::repeat_n('?', columns));
            }
        }
        Cow::Owned(ascii)
    }
}
