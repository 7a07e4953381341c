//! What is wrong with a condition, and where: a message, the place, what to write instead.

use std::fmt;
use std::ops::Range;

use unicode_width::UnicodeWidthChar;

/// Cells of the condition that are shown on either side of the place.
const AROUND: usize = 36;

/// What kind of mistake it is, from the one that says least about the operator's intent to
/// the one that says most: where a condition fits no family, the greatest is worth showing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FilterErrorKind {
    /// The family has no such column; another family may have it.
    UnknownColumn,
    /// Several columns have this name.
    AmbiguousColumn,
    /// The column cannot be compared in this way.
    Type,
    /// The condition cannot be read.
    Syntax,
}

/// A condition that cannot be read, or does not fit the columns.
///
/// Shown as a sentence, the condition with a mark under the place, and a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    kind: FilterErrorKind,
    message: String,
    hint: Option<String>,
    text: String,
    place: Range<usize>,
}

impl FilterError {
    /// The mistake `message` at bytes `place` of `text`.
    pub(super) fn new(
        kind: FilterErrorKind,
        text: &str,
        place: Range<usize>,
        message: impl Into<String>,
    ) -> Self {
        Self { kind, message: message.into(), hint: None, text: text.to_owned(), place }
    }

    /// With a hint at what to write.
    #[must_use]
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What kind of mistake.
    pub fn kind(&self) -> FilterErrorKind {
        self.kind
    }

    /// What is wrong, in a sentence without the place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to write instead.
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The character at which the mistake begins, counted from 1.
    pub fn column(&self) -> usize {
        let before = self.text.get(..self.place.start).unwrap_or(&self.text);
        before.chars().count() + 1
    }

    /// The part of the condition around the place, and the mark that goes below it.
    fn picture(&self) -> (String, String) {
        let start = self.place.start.min(self.text.len());
        let (before, rest) = self.text.split_at_checked(start).unwrap_or((&self.text, ""));
        let length = self.place.end.saturating_sub(start);
        let (marked, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        let before: Vec<char> = before.chars().map(printable).collect();
        let cut = before.len().saturating_sub(AROUND);
        let mut line: String = if cut > 0 { "..".to_owned() } else { String::new() };
        line.extend(before.get(cut..).unwrap_or_default());
        let indent = cells(&line);
        let marked: String = marked.chars().map(printable).take(AROUND).collect();
        line.push_str(&marked);
        line.extend(after.chars().map(printable).take(AROUND));
        if after.chars().nth(AROUND).is_some() {
            line.push_str("..");
        }
        let mark = format!("{}{}", " ".repeat(indent), "^".repeat(cells(&marked).max(1)));
        (line, mark)
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, mark) = self.picture();
        write!(f, "{}, at column {}\n  {line}\n  {mark}", self.message, self.column())?;
        match &self.hint {
            Some(hint) => write!(f, "\n{hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for FilterError {}

/// Characters without a width of their own would shift the mark.
fn printable(c: char) -> char {
    if c.is_control() || c.width().unwrap_or(0) == 0 { '?' } else { c }
}

fn cells(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// `text` cut for a message.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut short: String = text.chars().map(printable).take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push_str("..");
    }
    short
}
