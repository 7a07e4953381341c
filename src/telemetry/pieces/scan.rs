//! Where an object ends, and where one begins within a line of text: byte by byte, so that it
//! makes no difference how a source is cut into chunks.

use super::{Lines, is_blank, is_break};

/// The first fields of a progress object: Spark's own order, and Python's alphabetical one. A
/// brace with one of them is the beginning of one even in the middle of a line.
const FIRST_KEYS: [&[u8]; 3] = [b"id", b"batchId", b"batchDuration"];
const LONGEST_KEY: usize = 16;

/// How far an object has been seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scan {
    depth: usize,
    within: Within,
    lines: Lines,
    /// Whether a line has come that is indented deeper than the first.
    indented: bool,
    /// Where its latest line begins, in bytes from its own beginning; 0 for its first.
    pub(super) line_from: usize,
}

/// What the next byte of an object is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Structure,
    String,
    Escape,
}

/// Of a byte that begins a line: how its line is indented, beside the object's first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Indent {
    Deeper,
    NotDeeper,
}

/// What a byte makes of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scanned {
    /// It goes on.
    Inside,
    /// It ends with this byte.
    Complete,
    /// It broke off, and this byte begins another one.
    NextObject,
    /// It cannot go on with this byte.
    Broken,
}

impl Scan {
    /// An object of which the opening brace has come, and blanks.
    pub(super) fn after_brace(lines: Lines, line_from: usize) -> Self {
        Self { depth: 1, within: Within::Structure, lines, indented: false, line_from }
    }

    /// Whether everything belongs to a text up to the next quote or backslash.
    pub(super) fn in_plain_string(self) -> bool {
        self.within == Within::String
    }

    /// Takes the next byte; `begins` where it is the first of a line that is no blank.
    pub(super) fn pass(&mut self, byte: u8, begins: Option<Indent>) -> Scanned {
        match (self.within, byte) {
            (Within::String | Within::Escape, _) if is_break(byte) => return Scanned::Broken,
            (Within::Structure, _) => return self.structure(byte, begins),
            (Within::String, b'"') => self.within = Within::Structure,
            (Within::String, b'\\') => self.within = Within::Escape,
            (Within::String, _) => {}
            (Within::Escape, _) => self.within = Within::String,
        }
        Scanned::Inside
    }

    fn structure(&mut self, byte: u8, begins: Option<Indent>) -> Scanned {
        match begins {
            // An object on one line ends with its line. In one on many lines, what it contains
            // is indented.
            Some(Indent::NotDeeper) if byte == b'{' && self.cannot_hold_this() => {
                return Scanned::NextObject;
            }
            Some(Indent::Deeper) => self.indented = true,
            Some(Indent::NotDeeper) | None => {}
        }
        match byte {
            b'"' => self.within = Within::String,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' if self.depth <= 1 => return Scanned::Complete,
            b'}' | b']' => self.depth -= 1,
            _ if may_stand_between(byte) => {}
            _ => return Scanned::Broken,
        }
        Scanned::Inside
    }

    fn cannot_hold_this(&self) -> bool {
        self.lines == Lines::One || self.indented
    }
}

/// Whether a byte may stand outside of texts and brackets: in numbers, `true`, `false`, `null`,
/// and Python's `NaN` and `Infinity`.
fn may_stand_between(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t' | b'\n' | b'\r' | b':' | b',' | b'0'
            ..=b'9'
                | b'+'
                | b'-'
                | b'.'
                | b'a'
                | b'e'
                | b'E'
                | b'f'
                | b'i'
                | b'I'
                | b'l'
                | b'n'
                | b'N'
                | b'r'
                | b's'
                | b't'
                | b'u'
                | b'y'
    )
}

/// The last brace in a line of text, and how far what follows it looks like an object. `at` is
/// its place in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    /// There is none, or something else follows it.
    None,
    /// Only blanks follow it.
    Brace { at: usize },
    /// A quote follows it, at `from`, and then the beginning of a name.
    Key { at: usize, from: usize },
    /// One of the first keys follows it.
    Colon { at: usize },
    /// Its line ends with it, at `end`, and only blank lines follow.
    NextLine { at: usize, end: usize },
}

/// What a byte makes of a line of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follows {
    /// It goes on.
    Text(Opening),
    /// It ends before this byte.
    LineEnd,
    /// It ended at `end`; this byte belongs to a later line.
    OtherLine { end: usize },
    /// The brace at `at` begins an object, which goes on with this byte.
    Object { at: usize, lines: Lines },
}

impl Opening {
    /// Takes the next byte after the line as `seen`.
    pub(super) fn pass(self, byte: u8, seen: &[u8]) -> Follows {
        Follows::Text(match (self, byte) {
            (Self::NextLine { at, .. }, b'"') => {
                return Follows::Object { at, lines: Lines::Many };
            }
            (Self::NextLine { .. }, _) if is_blank(byte) || is_break(byte) => self,
            (Self::NextLine { end, .. }, _) => return Follows::OtherLine { end },
            (Self::Brace { at }, _) if is_break(byte) => Self::NextLine { at, end: seen.len() },
            (_, b'\n' | b'\r') => return Follows::LineEnd,
            (Self::Colon { at }, b':') => return Follows::Object { at, lines: Lines::One },
            (Self::Brace { .. } | Self::Colon { .. }, b' ' | b'\t') => self,
            (Self::Brace { at }, b'"') => Self::Key { at, from: seen.len() },
            (Self::Key { at, from }, b'"') if is_first_key(seen, from) => Self::Colon { at },
            (Self::Key { from, .. }, b'a'..=b'z' | b'A'..=b'Z')
                if seen.len() - from <= LONGEST_KEY =>
            {
                self
            }
            (_, b'{') => Self::Brace { at: seen.len() },
            _ => Self::None,
        })
    }

    /// Where the line has ended, when it has.
    pub(super) fn line_end(self) -> Option<usize> {
        match self {
            Self::NextLine { end, .. } => Some(end),
            _ => None,
        }
    }
}

fn is_first_key(seen: &[u8], quote: usize) -> bool {
    seen.get(quote + 1..).is_some_and(|key| FIRST_KEYS.contains(&key))
}
