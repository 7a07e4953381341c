//! A log, a stack trace or a file of JSON, into the errors that it tells of.
//!
//! ```text
//!  bytes ─> pieces (lines, objects) ─> failures: an entry of a log, or an exception ─> errors
//! ```
//! Memory is bounded by the longest failure and by the number of different errors, never by the
//! length of the text. Must not know what the errors mean here and now.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::catalogue::{Catalogue, Entry};
use super::chain::{self, By, Failure, Link};
use super::finder::Finder;
use crate::telemetry::driver_log::line::Line;
use crate::telemetry::driver_log::{is_exception, structured};
use crate::telemetry::error_class;
use crate::telemetry::pieces::{Piece, PieceKind, Splitter};
use crate::units::UnixMillis;

/// Of a failure no more than this is kept, in bytes.
const LONGEST_FAILURE: usize = 256 << 10;
/// The longest line or object.
const LONGEST_PIECE: usize = 16 << 20;
/// Different errors that are kept.
const MOST_ERRORS: usize = 500;
/// Fields of objects that hold an exception, by Spark, its listeners and its event log.
const EXCEPTIONS: [&str; 4] = ["exception", "Full Stack Trace", "stacktrace", "stackTrace"];
/// Fields of objects that name a class.
const CLASSES: [&str; 4] = ["errorClassOnException", "errorClass", "error_class", "errorCondition"];
/// Objects are searched this deep.
const DEPTH: u8 = 6;

/// An error, wherever it was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found<'c> {
    /// The class; of a message without one, that of newer releases for the same thing. `None`
    /// without an entry for an exception of which nothing is known.
    pub class: Option<String>,
    /// What is known of it.
    pub entry: Option<&'c Entry>,
    /// How it was recognised.
    pub by: By,
    /// Its SQLSTATE.
    pub sqlstate: Option<String>,
    /// The values in its message.
    pub parameters: BTreeMap<String, String>,
    /// Whether it is what says most of its failure.
    pub deepest: bool,
    /// Whether it only wraps.
    pub wraps: bool,
    /// The innermost exception below it, where that is no error of its own.
    pub cause: Option<String>,
    /// How often it was told.
    pub count: u64,
    /// The line on which it was first told, counted from 1.
    pub first_line: u64,
    /// The line on which it was last told.
    pub last_line: u64,
    /// When it was last told, where the log says.
    pub at: Option<UnixMillis>,
}

/// What a text told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Told<'c> {
    /// Different errors, most useful first.
    pub errors: Vec<Found<'c>>,
    /// Further different errors, which were too many to keep.
    pub left_out: u64,
    /// Lines that were read.
    pub lines: u64,
}

/// A text in reading.
#[derive(Debug)]
pub struct Reading<'c> {
    finder: Finder<'c>,
    splitter: Splitter,
    group: Group,
    told: Told<'c>,
}

/// The lines of a failure that are still coming.
#[derive(Debug, Default)]
struct Group {
    line: u64,
    at: Option<UnixMillis>,
    text: String,
    /// Whether stack frames have come.
    framed: bool,
}

impl<'c> Reading<'c> {
    /// Begins to read. `None` when the catalogue cannot be searched, which it can.
    pub fn of(catalogue: &'c Catalogue) -> Option<Self> {
        let splitter = Splitter::with_longest(LONGEST_PIECE);
        let (group, told) = (Group::default(), Told::default());
        Some(Self { finder: Finder::of(catalogue)?, splitter, group, told })
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        let pieces = self.splitter.feed(bytes);
        self.pieces(pieces);
    }

    /// The text has ended.
    pub fn finish(mut self) -> Told<'c> {
        let pieces = std::mem::take(&mut self.splitter).finish();
        self.pieces(pieces);
        self.settle();
        // Stable: what was told last comes first, and of one failure the innermost.
        self.told.errors.reverse();
        self.told.errors.sort_by_key(|error| {
            let notice =
                error.entry.is_some_and(|entry| entry.kind == super::catalogue::EntryKind::Notice);
            (notice, !error.deepest, error.wraps, std::cmp::Reverse(error.last_line))
        });
        self.told
    }

    fn pieces(&mut self, pieces: Vec<Piece>) {
        for Piece { line, kind } in pieces {
            self.told.lines = self.told.lines.max(line);
            match kind {
                PieceKind::Text(text) => self.line(line, &without_colours(&text)),
                PieceKind::Object(object) => self.object(line, object),
                // What stands in it cannot be read, and what is around it can.
                PieceKind::Broken(_) | PieceKind::Unfinished => {}
            }
        }
    }

    fn line(&mut self, line: u64, text: &str) {
        let text = after_progress_bars(text);
        if text.trim().is_empty() {
            return;
        }
        if let Some(Line { timestamp, rest }) = Line::of(text) {
            self.settle();
            self.group = Group { line, at: timestamp, text: rest.to_owned(), framed: false };
            return;
        }
        let frame = chain::is_frame(text);
        // Traces may follow each other without anything between them.
        let begins = text.starts_with("Exception in thread ") || is_exception(text);
        if begins && self.group.framed {
            self.settle();
        }
        self.group.add(line, text, frame);
    }

    /// An object is an entry of a log, an event, or part of a message.
    fn object(&mut self, line: u64, object: Map<String, Value>) {
        if let Some(entry) = structured::Entry::of(&object) {
            self.settle();
            let framed = entry.exception.is_some();
            let text = match entry.exception {
                Some(exception) => format!("{}\n{exception}", entry.message),
                None => entry.message,
            };
            self.group = Group { line, at: entry.timestamp, text, framed };
            self.settle();
            return;
        }
        let mut texts = Vec::new();
        collect(&object, DEPTH, &mut texts);
        if texts.is_empty() {
            // An offset, for example, in the middle of a sentence.
            let text = Value::Object(object).to_string();
            self.group.add(line, &text, false);
            return;
        }
        self.settle();
        for Within { text, class, parameters } in texts {
            self.failure(line, None, &text, class.as_deref(), parameters);
        }
    }

    /// No more lines belong to the failure at hand.
    fn settle(&mut self) {
        let Group { line, at, text, framed } = std::mem::take(&mut self.group);
        if self.finder.may_hold(&text) {
            self.failure(line, at, &text, None, BTreeMap::new());
        } else if framed && text.lines().any(is_exception) {
            // Nothing of it is known; what was thrown is told all the same.
            let cause = chain::cause(&text);
            self.keep(line, at, Link::unknown(), true, cause);
        }
    }

    fn failure(
        &mut self,
        line: u64,
        at: Option<UnixMillis>,
        text: &str,
        class: Option<&str>,
        parameters: BTreeMap<String, String>,
    ) {
        let mut failure = chain::failure(&self.finder, text);
        if let Some(class) = class {
            self.name(&mut failure, class, text, parameters);
        }
        let Failure { links, deepest, cause } = failure;
        for (place, link) in links.into_iter().enumerate() {
            let is_deepest = deepest == Some(place);
            let cause = cause.clone().filter(|_| is_deepest);
            self.keep(line, at, link, is_deepest, cause);
        }
    }

    /// Adds a class that stands beside the text, unless the text has it too.
    fn name(
        &self,
        failure: &mut Failure<'c>,
        class: &str,
        text: &str,
        parameters: BTreeMap<String, String>,
    ) {
        let known = failure.links.iter_mut().find(|link| link.class.as_deref() == Some(class));
        if let Some(link) = known {
            link.parameters.extend(parameters);
            return;
        }
        let catalogue = self.finder.catalogue();
        let entry = catalogue.get(class);
        let mut all = entry.map(|e| chain::parameters(catalogue, e, text)).unwrap_or_default();
        all.extend(parameters);
        let link = Link {
            class: Some(class.to_owned()),
            entry,
            by: By::Class,
            sqlstate: entry.and_then(|entry| entry.sqlstate.clone()),
            parameters: all,
        };
        // What is named beside a text is its outermost error.
        failure.links.insert(0, link);
        failure.deepest = chain::deepest(&failure.links);
        if failure.cause.is_none() && failure.deepest == Some(0) {
            failure.cause = chain::cause(text);
        }
    }

    fn keep(
        &mut self,
        line: u64,
        at: Option<UnixMillis>,
        error: Link<'c>,
        deepest: bool,
        cause: Option<String>,
    ) {
        let wraps = error.wraps();
        let Link { class, entry, by, sqlstate, parameters } = error;
        let id = |entry: Option<&Entry>| entry.map(|entry| entry.id.clone());
        let same = self.told.errors.iter_mut().find(|known| {
            known.class == class
                && (class.is_some() || id(known.entry) == id(entry))
                && (class.is_some() || entry.is_some() || known.cause == cause)
                && (known.parameters == parameters || (wraps && known.wraps))
        });
        if let Some(known) = same {
            known.count += 1;
            known.deepest |= deepest;
            known.cause = known.cause.take().or(cause);
            known.last_line = line;
            known.at = at.or(known.at);
            return;
        }
        if self.told.errors.len() == MOST_ERRORS {
            self.told.left_out += 1;
            return;
        }
        self.told.errors.push(Found {
            class,
            entry,
            by,
            sqlstate,
            parameters,
            deepest,
            wraps,
            cause,
            count: 1,
            first_line: line,
            last_line: line,
            at,
        });
    }
}

impl Group {
    fn add(&mut self, line: u64, text: &str, frame: bool) {
        if self.text.is_empty() {
            self.line = line;
        }
        self.framed |= frame;
        // Frames say nothing that is looked for, and traces are mostly frames.
        if !frame && self.text.len() + text.len() < LONGEST_FAILURE {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            self.text.push_str(text);
        }
    }
}

/// An exception within an object.
struct Within {
    text: String,
    class: Option<String>,
    parameters: BTreeMap<String, String>,
}

/// The exceptions and classes of an object.
fn collect(object: &Map<String, Value>, depth: u8, into: &mut Vec<Within>) {
    let text = |names: &[&str]| {
        names.iter().find_map(|name| object.get(*name)?.as_str()).map(str::to_owned)
    };
    let class = text(&CLASSES).filter(|class| error_class::is_class(class));
    let class = match (class, text(&["errorSubClass"])) {
        (Some(class), Some(sub)) if !class.contains('.') => Some(format!("{class}.{sub}")),
        (class, _) => class,
    };
    let exception = text(&EXCEPTIONS).or_else(|| {
        class.as_ref()?;
        text(&["message", "messageTemplate", "msg"])
    });
    if exception.is_some() || class.is_some() {
        let parameters = object.get("messageParameters").and_then(Value::as_object);
        let parameters = parameters.into_iter().flatten().map(|(name, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (name.clone(), value)
        });
        let parameters = parameters.collect();
        into.push(Within { text: exception.unwrap_or_default(), class, parameters });
        return;
    }
    if depth > 0 {
        for value in object.values() {
            match value {
                Value::Object(inner) => collect(inner, depth - 1, into),
                Value::Array(items) => {
                    for inner in items.iter().filter_map(Value::as_object) {
                        collect(inner, depth - 1, into);
                    }
                }
                _ => {}
            }
        }
    }
}

/// What follows Spark's console progress on its line: bars are written over each other, and a
/// copy of a terminal has the next entry right behind them.
fn after_progress_bars(text: &str) -> &str {
    let mut rest = text;
    while rest.trim_start().starts_with("[Stage ") {
        rest = rest.split_once(']').map_or("", |(_, rest)| rest);
    }
    rest
}

/// A text without the sequences that colour it in a terminal.
fn without_colours(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return text.into();
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = match after.strip_prefix('[') {
            Some(sequence) => {
                let end = sequence.find(|c: char| ('@'..='~').contains(&c));
                end.and_then(|end| sequence.get(end + 1..)).unwrap_or_default()
            }
            None => after,
        };
    }
    plain.push_str(rest);
    plain.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Told<'static> {
        let mut reading = Reading::of(Catalogue::builtin().unwrap()).unwrap();
        for byte in text.as_bytes() {
            reading.feed(std::slice::from_ref(byte));
        }
        reading.finish()
    }

    fn ids(told: &Told<'_>) -> Vec<String> {
        let id = |error: &Found<'_>| match error.entry {
            Some(entry) => entry.id.clone(),
            None => error.class.clone().unwrap(),
        };
        told.errors.iter().map(id).collect()
    }

    #[test]
    fn colours_and_bars_are_passed_over() {
        let text =
            "\u{1b}[31m[Stage 38:==>  (2 + 2) / 5]26/11/30 16:06:52 ERROR X: [A_B] no\u{1b}[0m\r\n";
        assert_eq!(ids(&told(text)), ["A_B"]);
        assert_eq!(without_colours("a\u{1b}[1;31mb\u{1b}[0mc\u{1b}d\u{1b}["), "abcd");
    }

    #[test]
    fn the_same_error_is_told_once() {
        let text = "26/11/30 16:06:52 ERROR X: [A_B] no\n26/11/30 16:06:53 ERROR X: [A_B] no\n\
                    26/11/30 16:06:54 ERROR X: [C_D] no\n";
        let told = told(text);
        assert_eq!(ids(&told), ["C_D", "A_B"], "what was told last comes first");
        let again = &told.errors[1];
        assert_eq!((again.count, again.first_line, again.last_line), (2, 1, 2));
        assert_eq!(told.lines, 3);
    }

    #[test]
    fn objects_name_classes_and_values() {
        let text = r#"{"errorClass": "STATE_REPARTITION_INVALID_PARAMETER", "errorSubClass": "IS_NULL",
            "messageParameters": {"parameter": "checkpointLocation"}, "sqlState": "42616"}"#;
        let told = told(text);
        assert_eq!(ids(&told), ["STATE_REPARTITION_INVALID_PARAMETER.IS_NULL"]);
        assert_eq!(told.errors[0].parameters["parameter"], "checkpointLocation");
    }

    #[test]
    fn traces_without_heads_are_told_apart() {
        let text = "x.SomeError: [A_B] no\n\tat a.B(C.scala:1)\nx.SomeError: [C_D] no\n\tat a.B(C.scala:1)\n";
        let told = told(text);
        assert!(told.errors.iter().all(|error| error.deepest), "{told:?}");
        assert_eq!(told.errors.len(), 2);
    }

    #[test]
    fn an_exception_of_which_nothing_is_known_is_told() {
        let trace = "org.x.SomeException: no\n\tat a.B(C.scala:1)\nCaused by: org.y.OtherError: disk\n\tat a.B(C.scala:1)\n";
        let twice = told(&format!(
            "26/11/30 16:06:52 ERROR X: it\n{trace}26/11/30 16:06:53 WARN X: it\n{trace}"
        ));
        let [only] = twice.errors.as_slice() else { panic!("{twice:?}") };
        assert_eq!((only.class.as_deref(), only.count, only.deepest), (None, 2, true));
        assert_eq!(only.cause.as_deref(), Some("org.y.OtherError: disk"));
        assert!(told("26/11/30 16:06:52 ERROR X: it failed\n").errors.is_empty());
    }

    #[test]
    fn different_errors_are_bounded() {
        let line = |n| format!("26/11/30 16:06:52 ERROR X: [A_B{n}] no\n");
        let text = (0..MOST_ERRORS + 7).map(line).collect::<Vec<_>>().concat();
        let mut reading = Reading::of(Catalogue::builtin().unwrap()).unwrap();
        reading.feed(text.as_bytes());
        let told = reading.finish();
        assert_eq!((told.errors.len(), told.left_out), (MOST_ERRORS, 7));
    }
}
