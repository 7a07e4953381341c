//! How many colours a terminal has, and how a colour is shown with fewer.

use ratatui::style::Color;

use super::Environment;

/// How many colours a terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// None: bold, dim, underline and reverse only.
    Mono,
    /// The sixteen of the terminal's own palette.
    Ansi16,
    /// The cube of 256.
    Ansi256,
    /// Red, green and blue, 8 bits each.
    Rgb,
}

impl Level {
    /// What the environment promises.
    pub fn of(environment: &Environment) -> Self {
        let has = |value: &Option<String>, part: &str| {
            value.as_deref().is_some_and(|value| value.contains(part))
        };
        let Environment { no_color, colorterm, term, .. } = environment;
        if no_color.is_some() || term.as_deref() == Some("dumb") {
            Self::Mono
        } else if has(colorterm, "truecolor") || has(colorterm, "24bit") || has(term, "direct") {
            Self::Rgb
        } else if has(term, "256") {
            Self::Ansi256
        } else {
            Self::Ansi16
        }
    }
}

/// The names of the sixteen colours, and `default` for the terminal's own.
pub(super) const NAMES: [(&str, Color); 17] = [
    ("default", Color::Reset),
    ("black", Color::Black),
    ("red", Color::Red),
    ("green", Color::Green),
    ("yellow", Color::Yellow),
    ("blue", Color::Blue),
    ("magenta", Color::Magenta),
    ("cyan", Color::Cyan),
    ("gray", Color::Gray),
    ("dark-gray", Color::DarkGray),
    ("light-red", Color::LightRed),
    ("light-green", Color::LightGreen),
    ("light-yellow", Color::LightYellow),
    ("light-blue", Color::LightBlue),
    ("light-magenta", Color::LightMagenta),
    ("light-cyan", Color::LightCyan),
    ("white", Color::White),
];

/// A colour at each level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Paint {
    /// One of the sixteen.
    pub ansi16: Color,
    /// One of the 256.
    pub ansi256: Color,
    /// The exact one.
    pub rgb: Color,
}

impl Paint {
    /// One of the sixteen, at every level.
    pub(super) fn plain(colour: Color) -> Self {
        Self { ansi16: colour, ansi256: colour, rgb: colour }
    }

    /// The colour at a level.
    pub(super) fn at(self, level: Level) -> Color {
        match level {
            Level::Mono => Color::Reset,
            Level::Ansi16 => self.ansi16,
            Level::Ansi256 => self.ansi256,
            Level::Rgb => self.rgb,
        }
    }
}

/// The red, green and blue of `#rrggbb`.
pub(super) fn parse_rgb(text: &str) -> Option<(u8, u8, u8)> {
    let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6 && digits.is_ascii())?;
    let part = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    Some((part(0)?, part(2)?, part(4)?))
}

/// The nearest of the 216 colours of the cube.
pub(super) fn nearest_256((r, g, b): (u8, u8, u8)) -> Color {
    // The cube's steps are 0, 95, 135, 175, 215 and 255.
    let step = |value: u8| match value {
        0..48 => 0,
        48..115 => 1,
        115..155 => 2,
        155..195 => 3,
        195..235 => 4,
        235.. => 5,
    };
    Color::Indexed(16 + 36 * step(r) + 6 * step(g) + step(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(no_color: &str, colorterm: &str, term: &str) -> Environment {
        let set = |value: &str| Some(value.to_owned()).filter(|value| !value.is_empty());
        Environment {
            no_color: set(no_color),
            colorterm: set(colorterm),
            term: set(term),
            locale: None,
        }
    }

    #[test]
    fn the_environment_decides_the_level() {
        let cases = [
            (env("", "", "xterm"), Level::Ansi16),
            (env("", "", "xterm-256color"), Level::Ansi256),
            (env("", "truecolor", "xterm-256color"), Level::Rgb),
            (env("1", "truecolor", "xterm-256color"), Level::Mono),
            (env("", "", "dumb"), Level::Mono),
            (env("", "", ""), Level::Ansi16),
        ];
        for (environment, level) in cases {
            assert_eq!(Level::of(&environment), level, "{environment:?}");
        }
    }

    #[test]
    fn colours_are_read_and_rounded() {
        assert_eq!(parse_rgb("#ff8000"), Some((255, 128, 0)));
        for bad in ["ff8000", "#ff800", "#gg8000", "#ff80é"] {
            assert_eq!(parse_rgb(bad), None, "{bad}");
        }
        assert_eq!(nearest_256((255, 128, 0)), Color::Indexed(208));
    }
}
