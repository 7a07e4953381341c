//! From bytes to pieces: JSON objects and lines of text, whatever lies around them.
//!
//! ```text
//!  {"id": …}                                    one object per line
//!  [{"id": …}, {"id": …}]                       arrays, on one line or many
//!  { ⏎ "id": …                                  printed on many lines
//!  26/11/30 … made progress: { ⏎ "id": …        within a driver's log
//!  ␍[Stage 38:==>  (2 + 2) / 5]␍26/11/30 … ERROR …   progress bars: a carriage return ends a line
//! ```
//!
//! [`Splitter::feed`] takes bytes in chunks of any size; where a chunk ends makes no difference.
//! What cannot be read is a piece too, with its line and the reason, and reading goes on at the
//! next place that looks like a beginning. Memory is bounded by the longest piece allowed. Must
//! not know what the objects and lines mean.
//!
//! Arrays need no stack: brackets and commas between objects say nothing that matters.

mod json;
mod scan;

use memchr::{memchr2, memchr3};
use serde_json::{Map, Value};

use scan::{Follows, Indent, Opening, Scan, Scanned};

/// The longest piece: beyond it an object or line is given up. Progress of queries that read
/// thousands of Kafka partitions takes a few megabytes.
pub const LONGEST: usize = 64 << 20;

/// What text editors and shells put before text, and the encoding that it announces.
const MARKS: [(&[u8], Encoding); 3] = [
    (b"\xef\xbb\xbf", Encoding::Utf8),
    (b"\xff\xfe", Encoding::Utf16),
    (b"\xfe\xff", Encoding::Utf16),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16,
}

/// A piece of a source.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// The line on which it begins, counted from 1.
    pub line: u64,
    /// What it is.
    pub kind: PieceKind,
}

/// What a piece is.
#[derive(Debug, Clone, PartialEq)]
pub enum PieceKind {
    /// A line that is no JSON, or what stands before an object on its line. Never blank; bytes
    /// that are not UTF-8 are replaced.
    Text(String),
    /// A JSON object.
    Object(Map<String, Value>),
    /// Something that begins like an object and cannot be read: why, with line and column.
    Broken(String),
    /// An object that the source ends in the middle of.
    Unfinished,
}

/// Splits a source into pieces.
#[derive(Debug)]
pub struct Splitter {
    longest: usize,
    at: Position,
    state: State,
    /// The bytes of the piece at hand; or of the line, as long as it may still become text.
    buffer: Vec<u8>,
    /// Where the buffer begins.
    begun: Position,
    done: Vec<Piece>,
}

/// Where a byte stands.
#[derive(Debug, Clone, Copy)]
struct Position {
    /// Counted from 1, by line feeds.
    line: u64,
    /// Bytes before it on its line.
    column: usize,
    /// Blanks at the beginning of its line.
    indent: usize,
    /// Whether only blanks stand before it on its line.
    leading: bool,
}

/// What the next byte is read as.
#[derive(Debug)]
enum State {
    /// The source's first bytes: perhaps a byte order mark.
    Start,
    /// Only blanks, brackets and commas have come since the line or the last object's end.
    Between,
    /// A brace has come; whether it begins an object is for the next byte that is no blank to say.
    Opened(Lines),
    /// In an object.
    Object(Scan),
    /// In a line of text.
    Text(Opening),
    /// At the beginning of a line, after a piece that broke, which was indented this much.
    Lost(usize),
    /// In a line that is passed over, after such a piece.
    LostLine(usize),
    /// Not UTF-8 at all.
    Refused,
}

/// Whether an object is written on one line or on many: by what follows its brace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lines {
    One,
    Many,
}

impl Default for Splitter {
    fn default() -> Self {
        Self::with_longest(LONGEST)
    }
}

impl Splitter {
    /// A splitter that gives up on pieces of more than `longest` bytes.
    pub fn with_longest(longest: usize) -> Self {
        let at = Position { line: 1, column: 0, indent: 0, leading: true };
        Self { longest, at, state: State::Start, buffer: Vec::new(), begun: at, done: Vec::new() }
    }

    /// Takes the next bytes; gives the pieces that they complete.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Vec<Piece> {
        while let Some((&byte, rest)) = bytes.split_first() {
            let plain = self.take_plain(bytes);
            if plain > 0 {
                bytes = bytes.get(plain..).unwrap_or_default();
                continue;
            }
            self.step(byte);
            bytes = rest;
        }
        std::mem::take(&mut self.done)
    }

    /// The source has ended; gives what is left of it.
    pub fn finish(mut self) -> Vec<Piece> {
        match self.state {
            State::Start if !self.buffer.is_empty() => self.end_text(self.buffer.len()),
            State::Text(opening) => self.end_text(opening.line_end().unwrap_or(self.buffer.len())),
            State::Opened(_) | State::Object(_) => self.put(PieceKind::Unfinished),
            _ => {}
        }
        self.done
    }

    /// Takes bytes that change nothing in the present state, all at once; says how many.
    fn take_plain(&mut self, bytes: &[u8]) -> usize {
        let (special, kept) = match &self.state {
            State::Text(Opening::None) => (memchr3(b'{', b'\n', b'\r', bytes), true),
            State::Object(scan) if scan.in_plain_string() => {
                let quote = memchr2(b'"', b'\\', bytes);
                // Only as far as the quote: what follows it may be long.
                let string = bytes.get(..quote.unwrap_or(bytes.len())).unwrap_or(bytes);
                (memchr2(b'\n', b'\r', string).or(quote), true)
            }
            State::LostLine(_) => (memchr2(b'\n', b'\r', bytes), false),
            State::Refused => (None, false),
            _ => return 0,
        };
        let run = special.unwrap_or(bytes.len());
        // One byte beyond the longest piece is enough to give up, however the chunks fall.
        let room = (self.longest + 1).saturating_sub(self.buffer.len());
        let run = if kept { run.min(room) } else { run };
        if kept && run > 0 {
            self.buffer.extend_from_slice(bytes.get(..run).unwrap_or_default());
            self.give_up_if_too_long();
        }
        self.at.column += run;
        run
    }

    fn step(&mut self, byte: u8) {
        match self.state {
            State::Start => return self.start(byte),
            State::Between => self.between(byte),
            State::Opened(lines) => self.opened(byte, lines),
            State::Object(scan) => self.object(byte, scan),
            State::Text(opening) => self.text(byte, opening),
            State::Lost(indent) => self.lost(byte, indent),
            State::LostLine(indent) if is_break(byte) => self.state = State::Lost(indent),
            State::LostLine(_) | State::Refused => {}
        }
        self.at.pass(byte);
    }

    /// Keeps a byte of the piece at hand.
    fn keep(&mut self, byte: u8) {
        if self.buffer.is_empty() {
            self.begun = self.at;
        }
        self.buffer.push(byte);
        self.give_up_if_too_long();
    }

    fn give_up_if_too_long(&mut self) {
        if self.buffer.len() <= self.longest {
            return;
        }
        let reason = format!("longer than {} bytes, so it is passed over", self.longest);
        self.put(PieceKind::Broken(reason));
        self.state = match self.state {
            State::Object(_) | State::Opened(_) => State::LostLine(self.begun.indent),
            // After a line of text any line may begin something.
            _ => State::LostLine(usize::MAX),
        };
    }

    /// A piece is complete.
    fn put(&mut self, kind: PieceKind) {
        self.done.push(Piece { line: self.begun.line, kind });
        self.buffer.clear();
    }

    fn start(&mut self, byte: u8) {
        self.buffer.push(byte);
        let seen = self.buffer.as_slice();
        let mut marks = MARKS.iter().filter(|(mark, _)| mark.starts_with(seen));
        match marks.next() {
            Some((mark, Encoding::Utf8)) if *mark == seen => {
                self.buffer.clear();
                self.state = State::Between;
            }
            Some((mark, Encoding::Utf16)) if *mark == seen => {
                let reason = "UTF-16, not UTF-8; convert it first: iconv -f utf-16 -t utf-8";
                self.put(PieceKind::Broken(reason.to_owned()));
                self.state = State::Refused;
            }
            Some(_) => {}
            None => {
                self.state = State::Between;
                for byte in std::mem::take(&mut self.buffer) {
                    self.step(byte);
                }
            }
        }
    }

    fn between(&mut self, byte: u8) {
        match byte {
            b'\n' | b'\r' => self.buffer.clear(),
            b'{' => self.open(),
            b' ' | b'\t' | b'[' | b']' | b',' => self.keep(byte),
            _ => {
                self.state = State::Text(Opening::None);
                self.keep(byte);
                self.begun.indent = self.at.indent;
            }
        }
    }

    /// The byte at hand is a brace that may begin an object.
    fn open(&mut self) {
        self.buffer.clear();
        self.state = State::Opened(Lines::One);
        self.keep(b'{');
    }

    fn opened(&mut self, byte: u8, lines: Lines) {
        match (byte, lines) {
            (b'"' | b'}', _) => {
                let scan = Scan::after_brace(lines, latest_line(&self.buffer));
                self.object(byte, scan);
            }
            (b'\n' | b'\r', _) => {
                self.state = State::Opened(Lines::Many);
                self.keep(byte);
            }
            (b' ' | b'\t', _) => self.keep(byte),
            // Something like a set of names: text.
            (_, Lines::One) => {
                self.state = State::Text(Opening::None);
                self.keep(byte);
            }
            (_, Lines::Many) => {
                self.end_text(1);
                self.between(byte);
            }
        }
    }

    /// A byte of an object, or of what was taken for one.
    fn object(&mut self, byte: u8, mut scan: Scan) {
        let indent =
            if self.at.indent > self.begun.indent { Indent::Deeper } else { Indent::NotDeeper };
        let begins_line = self.at.leading && !is_blank(byte) && !is_break(byte);
        match scan.pass(byte, begins_line.then_some(indent)) {
            Scanned::Inside => {
                if is_break(byte) {
                    scan.line_from = self.buffer.len() + 1;
                }
                self.state = State::Object(scan);
                self.keep(byte);
            }
            Scanned::Complete => {
                self.buffer.push(byte);
                self.state = State::Between;
                let kind = json::object(&self.buffer)
                    .map_or_else(|error| PieceKind::Broken(self.locate(&error)), PieceKind::Object);
                self.put(kind);
            }
            Scanned::NextObject => {
                let reason = format!("breaks off before line {}", self.at.line);
                self.put(PieceKind::Broken(reason));
                self.open();
            }
            Scanned::Broken => self.broken(byte, scan),
        }
    }

    /// What was taken for an object cannot go on with this byte.
    fn broken(&mut self, byte: u8, scan: Scan) {
        self.buffer.push(byte);
        let reason = json::object(&self.buffer)
            .err()
            .map_or_else(|| "not valid JSON".to_owned(), |error| self.locate(&error));
        self.buffer.pop();
        let mut line = self.buffer.split_off(scan.line_from.min(self.buffer.len()));
        let indent = self.begun.indent;
        let is_first_line = scan.line_from == 0;
        self.put(PieceKind::Broken(reason));

        let first = line.iter().copied().find(|byte| !is_blank(*byte)).unwrap_or(byte);
        if is_break(byte) {
            self.state = State::Lost(indent);
        } else if !is_first_line && self.is_text(first, indent) {
            // The line is none of the object's: something else was written in between.
            self.begun = Position { column: 0, ..self.at };
            line.push(byte);
            self.buffer = line;
            self.state = State::Text(Opening::None);
        } else {
            self.state = State::LostLine(indent);
        }
    }

    /// Whether a line that begins with this byte is text, after something broke that was
    /// indented by `indent`.
    fn is_text(&self, first: u8, indent: usize) -> bool {
        self.at.indent <= indent && !matches!(first, b'"' | b'{' | b'}' | b'[' | b']' | b',')
    }

    /// An error of JSON with its place in the source.
    fn locate(&self, error: &json::Invalid) -> String {
        let line = self.begun.line + error.line.saturating_sub(1);
        let before = if error.line <= 1 { self.begun.column } else { 0 };
        // The library counts 0 where it has looked at the line feed already.
        let column = before + error.column.max(1);
        match &error.what {
            Some(what) => format!("not valid JSON: {what} at line {line}, column {column}"),
            None => format!("breaks off at line {line}, column {column}"),
        }
    }

    fn text(&mut self, byte: u8, opening: Opening) {
        match opening.pass(byte, &self.buffer) {
            Follows::Text(opening) => {
                self.state = State::Text(opening);
                self.keep(byte);
            }
            Follows::LineEnd => self.end_text(self.buffer.len()),
            Follows::OtherLine { end } => {
                self.end_text(end);
                self.between(byte);
            }
            Follows::Object { at, lines } => {
                let object = self.buffer.split_off(at);
                let begun = Position { column: self.begun.column + at, ..self.begun };
                self.end_text(at);
                self.begun = begun;
                let scan = Scan::after_brace(lines, latest_line(&object));
                self.buffer = object;
                self.object(byte, scan);
            }
        }
    }

    /// The first bytes of the buffer are a line of text; what follows are blanks.
    fn end_text(&mut self, length: usize) {
        let line = self.buffer.get(..length).unwrap_or(&self.buffer);
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end();
        if text.is_empty() {
            self.buffer.clear();
        } else {
            let text = text.to_owned();
            self.put(PieceKind::Text(text));
        }
        self.state = State::Between;
    }

    fn lost(&mut self, byte: u8, indent: usize) {
        if is_break(byte) || is_blank(byte) {
            return;
        }
        match byte {
            b'{' if self.at.indent <= indent => self.open(),
            b'}' | b']' | b',' if self.at.indent <= indent => self.state = State::Between,
            _ if self.is_text(byte, indent) => {
                self.state = State::Text(Opening::None);
                self.keep(byte);
            }
            _ => self.state = State::LostLine(indent),
        }
    }
}

impl Position {
    /// Moves past a byte.
    fn pass(&mut self, byte: u8) {
        self.column += 1;
        match byte {
            b'\n' | b'\r' => {
                self.line += u64::from(byte == b'\n');
                (self.column, self.indent, self.leading) = (0, 0, true);
            }
            b' ' | b'\t' if self.leading => self.indent += 1,
            b' ' | b'\t' => {}
            _ => self.leading = false,
        }
    }
}

/// Where the latest line within these bytes begins.
fn latest_line(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| is_break(*byte)).map_or(0, |at| at + 1)
}

/// Whether a byte ends a line. Carriage returns do so alone as well: progress bars go back to
/// the beginning of their line, and what follows is written over them.
fn is_break(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

#[cfg(test)]
mod tests;
