//! Text that may go to the terminal, and rows of it.
//!
//! A checkpoint is untrusted: names, offsets and messages from it may hold escape
//! sequences, direction overrides or invisible characters. [`sanitise`] is the one gate.
//! [`Row::push`] takes every text through it, and views can only build rows, so nothing
//! reaches a cell that did not pass. Widths are display widths of sanitised text.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::look::Role;

/// Makes `text` safe to show: line breaks and tabs become blanks; control, direction and
/// invisible characters become visible escapes such as `\u{1b}`. Doing it twice changes nothing.
pub fn sanitise(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => safe.push(' '),
            c if is_unsafe(c) => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// Whether a character could move the cursor, change the direction of text, or take part
/// in a width that terminals disagree about.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Columns that `text` takes on the screen.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The longest beginning of `text` that is at most `columns` wide.
pub fn head(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > columns {
            return text.get(..at).unwrap_or_default();
        }
    }
    text
}

/// `text` cut to `columns`, ending in `ellipsis` when something is missing.
pub fn cut(text: &str, columns: usize, ellipsis: &str) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    match columns.checked_sub(width(ellipsis)) {
        Some(room) => format!("{}{ellipsis}", head(text, room)),
        None => head(text, columns).to_owned(),
    }
}

/// `text` cut to `columns` in its middle, for paths and names whose end tells them apart.
pub fn cut_middle(text: &str, columns: usize, ellipsis: &str) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(width(ellipsis)) else {
        return head(text, columns).to_owned();
    };
    let front = head(text, room / 2);
    let rest = room - width(front);
    let tail = tail(text, rest);
    format!("{front}{ellipsis}{tail}")
}

/// The longest end of `text` that is at most `columns` wide.
fn tail(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let mut from = text.len();
    for (at, c) in text.char_indices().rev() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        from = at;
    }
    text.get(from..).unwrap_or_default()
}

/// `text` broken into lines of at most `columns`, at blanks where possible.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    text.lines().flat_map(|line| wrap_line(&sanitise(line), columns)).collect()
}

fn wrap_line(line: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = String::new();
    for word in line.split_whitespace() {
        let gap = usize::from(!current.is_empty());
        if width(&current) + gap + width(word) <= columns {
            if gap == 1 {
                current.push(' ');
            }
            current.push_str(word);
            continue;
        }
        if !current.is_empty() {
            lines.push(std::mem::take(&mut current));
        }
        current = break_word(word, columns, &mut lines);
    }
    if !current.is_empty() || lines.is_empty() {
        lines.push(current);
    }
    lines
}

/// `text`, made safe, broken into lines of exactly `columns` but for the last: for data, in which
/// every blank counts.
pub fn fold(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let rest = break_word(&sanitise(text), columns.max(1), &mut lines);
    if !rest.is_empty() || lines.is_empty() {
        lines.push(rest);
    }
    lines
}

/// Puts all full lines of an overlong word into `lines` and returns the rest.
fn break_word(word: &str, columns: usize, lines: &mut Vec<String>) -> String {
    let mut rest = word;
    while width(rest) > columns {
        let front = head(rest, columns);
        // A character wider than the line: show as much as fits rather than loop for ever.
        if front.is_empty() {
            return String::new();
        }
        lines.push(front.to_owned());
        rest = rest.get(front.len()..).unwrap_or_default();
    }
    rest.to_owned()
}

/// A run of text in one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    text: String,
    role: Role,
}

impl Piece {
    /// The sanitised text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What the text stands for.
    pub fn role(&self) -> Role {
        self.role
    }
}

/// One line of a screen, from left to right.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    pieces: Vec<Piece>,
}

impl Row {
    /// An empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// A line of one piece.
    pub fn of(text: impl AsRef<str>, role: Role) -> Self {
        Self::new().with(text, role)
    }

    /// This line with one more piece at its end.
    #[must_use]
    pub fn with(mut self, text: impl AsRef<str>, role: Role) -> Self {
        self.push(text, role);
        self
    }

    /// Adds a piece at the end.
    pub fn push(&mut self, text: impl AsRef<str>, role: Role) {
        let text = sanitise(text.as_ref());
        if !text.is_empty() {
            self.pieces.push(Piece { text: text.into_owned(), role });
        }
    }

    /// Adds all pieces of another line at the end.
    pub fn append(&mut self, other: Self) {
        self.pieces.extend(other.pieces);
    }

    /// This line with all pieces of another at its end.
    #[must_use]
    pub fn joined(mut self, other: Self) -> Self {
        self.append(other);
        self
    }

    /// Adds blanks up to `column`.
    pub fn pad_to(&mut self, column: usize, role: Role) {
        let missing = column.saturating_sub(self.width());
        if missing > 0 {
            self.push(" ".repeat(missing), role);
        }
    }

    /// The pieces from left to right.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Whether nothing would be shown.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Columns taken.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|piece| width(&piece.text)).sum()
    }

    /// The same text in one role, as for a selected line.
    #[must_use]
    pub fn in_role(mut self, role: Role) -> Self {
        for piece in &mut self.pieces {
            piece.role = role;
        }
        self
    }

    /// This line cut to `columns`, ending in `ellipsis` when something is missing.
    #[must_use]
    pub fn cut(self, columns: usize, ellipsis: &str) -> Self {
        if self.width() <= columns {
            return self;
        }
        let mut left = columns;
        let mut pieces = Vec::with_capacity(self.pieces.len());
        for piece in self.pieces {
            let wide = width(&piece.text);
            // The last piece with room also carries the ellipsis for those after it.
            if wide + width(ellipsis) > left {
                let text = cut(&format!("{}{ellipsis}{ellipsis}", piece.text), left, ellipsis);
                pieces.push(Piece { text, role: piece.role });
                break;
            }
            left -= wide;
            pieces.push(piece);
        }
        Self { pieces }
    }

    /// The text without roles.
    pub fn text(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }
}

/// `left` and `right` on one line of `columns`; `left` gives way when both do not fit.
pub fn spread(left: Row, right: Row, columns: usize, ellipsis: &str) -> Row {
    let right = right.cut(columns, ellipsis);
    let gap = usize::from(!right.is_empty());
    let room = columns.saturating_sub(right.width() + gap);
    let mut row = left.cut(room, ellipsis);
    row.pad_to(columns.saturating_sub(right.width()), Role::Text);
    row.append(right);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_become_visible_text() {
        assert_eq!(sanitise("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(sanitise("a\tb\nc"), "a b c");
        assert_eq!(sanitise("x\u{202e}y\u{9b}z"), "x\\u{202e}y\\u{9b}z");
        assert_eq!(sanitise("plain é 漢"), "plain é 漢");
        let once = sanitise("\u{1b}]0;t\u{7}").into_owned();
        assert_eq!(sanitise(&once), once);
    }

    #[test]
    fn cutting_counts_columns_not_bytes() {
        assert_eq!(cut("漢字漢字", 5, "…"), "漢字…");
        assert_eq!(cut("abc", 3, "…"), "abc");
        assert_eq!(cut("abcd", 3, ".."), "a..");
        assert_eq!(cut("abcd", 1, ".."), "a");
        assert_eq!(cut_middle("s3://bucket/checkpoint", 11, "…"), "s3://…point");
    }

    #[test]
    fn wrapping_breaks_at_blanks_and_inside_long_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrap("a\n\nb", 4), ["a", "", "b"]);
        assert_eq!(wrap("漢", 1), [""]);
    }

    #[test]
    fn rows_are_cut_across_pieces() {
        let row = Row::of("abc", Role::Text).with("def", Role::Muted);
        assert_eq!(row.clone().cut(6, "…").text(), "abcdef");
        assert_eq!(row.clone().cut(5, "…").text(), "abcd…");
        assert_eq!(row.clone().cut(3, "…").text(), "ab…");
        assert_eq!(row.cut(0, "…").text(), "");
    }

    #[test]
    fn the_left_gives_way_to_the_right() {
        let row = spread(Row::of("abcdef", Role::Text), Row::of("xyz", Role::Text), 8, "…");
        assert_eq!(row.text(), "abc… xyz");
        let row = spread(Row::of("ab", Role::Text), Row::of("xyz", Role::Text), 8, "…");
        assert_eq!(row.text(), "ab   xyz");
    }
}
