//! Text for a terminal: cleaned, measured in cells, cut and wrapped.
//!
//! Everything that a checkpoint says passes [`clean`] before it is printed. Must not know
//! about reports or commands.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// `text` with everything that could steer a terminal or hide text written out as `\u{..}`.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(steers) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if steers(c) {
            cleaned.extend(c.escape_unicode());
        } else {
            cleaned.push(c);
        }
    }
    Cow::Owned(cleaned)
}

/// Whether a character moves the cursor, starts an escape sequence, turns the direction of
/// writing, or takes no place: C0, DEL, C1, line separators, bidirectional and zero-width marks.
pub(crate) fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00ad}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Cells that `text` takes on a terminal.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// `text` cut to at most `cells`, with `mark` at the end when something was cut.
pub(crate) fn fit(text: &str, cells: usize, mark: &str) -> String {
    if width(text) <= cells {
        return text.to_owned();
    }
    let room = cells.saturating_sub(width(mark));
    let mut cut = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        cut.push(c);
    }
    if width(mark) <= cells {
        cut.push_str(mark);
    }
    cut
}

/// Lines of at most `cells`, broken at spaces; a longer word stands alone and sticks out, so
/// that paths can still be copied.
pub(crate) fn wrap(text: &str, cells: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if !line.is_empty() && width(&line) + 1 + width(word) > cells {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_is_left_alone() {
        assert!(matches!(clean("left-keyToNumValues"), Cow::Borrowed(_)));
        assert_eq!(clean("München 東京 ÷"), "München 東京 ÷");
    }

    #[test]
    fn nothing_that_steers_a_terminal_gets_through() {
        assert_eq!(clean("a\x1b[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(clean("one\r\ntwo\t\x07\x7f"), "one\\u{d}\\u{a}two\\u{9}\\u{7}\\u{7f}");
        assert_eq!(clean("\u{9b}31m"), "\\u{9b}31m", "the one-character CSI");
        assert_eq!(clean("gpj\u{202e}exe\u{200b}"), "gpj\\u{202e}exe\\u{200b}");
    }

    #[test]
    fn cutting_counts_cells() {
        assert_eq!(fit("symmetricHashJoin", 17, "~"), "symmetricHashJoin");
        assert_eq!(fit("symmetricHashJoin", 10, "~"), "symmetric~");
        assert_eq!(fit("東京都", 4, "~"), "東~");
        assert_eq!(fit("abc", 0, "~"), "");
    }

    #[test]
    fn wrapping_breaks_at_spaces_only() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(
            wrap("state/0/37/1842_verylong.zip x", 8),
            ["state/0/37/1842_verylong.zip", "x"]
        );
        assert!(wrap("  ", 10).is_empty());
    }
}
