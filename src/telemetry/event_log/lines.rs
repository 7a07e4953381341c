//! Lines of an event log: where they begin and end, and which of them are wanted.
//!
//! Most lines of a log are of no interest here (task starts, blocks, executors), and most tasks
//! belong to no state. They are told apart by the first bytes of the line, so that only what is
//! wanted is parsed. Must not know what the wanted lines mean.

/// The longest line that is kept. Spark's longest are plans, of a few megabytes at most.
pub(super) const MAX_LINE: usize = 32 << 20;

/// What a long line may leave allocated for the next one.
const KEEP: usize = 1 << 20;

/// How far into a line its event's name and the stage of its task are looked for.
const HEAD: usize = 512;

/// A line of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// All of it, without the line break.
    Whole(&'a [u8]),
    /// One longer than [`MAX_LINE`], of which only the head was kept.
    TooLong {
        /// How it begins.
        head: &'a [u8],
        /// How long it is.
        bytes: u64,
    },
}

/// Splits bytes that come in pieces into lines, in bounded memory.
#[derive(Debug)]
pub(super) struct Splitter {
    /// What begins a line and does not end it.
    held: Vec<u8>,
    /// The bytes of the line so far; more than `held` once it is too long.
    length: u64,
    /// The number of the line, counted from 1, where the log is read from its start.
    number: Option<u64>,
}

impl Splitter {
    /// For a log that is read from its start.
    pub(super) fn new() -> Self {
        Self { held: Vec::new(), length: 0, number: Some(1) }
    }

    /// For one that is read from somewhere else, where lines cannot be counted.
    pub(super) fn uncounted() -> Self {
        Self { number: None, ..Self::new() }
    }

    /// Whether a line has begun that has not ended.
    pub(super) fn is_inside_a_line(&self) -> bool {
        self.length > 0
    }

    /// The number of the line that comes next, or that has begun.
    pub(super) fn number(&self) -> Option<u64> {
        self.number
    }

    /// Takes the next bytes and gives each line that they complete to `each`, with its number.
    pub(super) fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(Option<u64>, Line<'_>)) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or_default();
            if self.length == 0 {
                each(self.number, Line::Whole(line));
            } else {
                self.hold(line);
                self.complete(each);
            }
            self.number = self.number.map(|number| number + 1);
        }
        self.hold(rest);
    }

    /// Gives a last line that has no line break, if there is one.
    pub(super) fn finish(&mut self, each: &mut dyn FnMut(Option<u64>, Line<'_>)) {
        if self.is_inside_a_line() {
            self.complete(each);
        }
    }

    fn hold(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        let room = MAX_LINE.saturating_sub(self.held.len());
        self.held.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    fn complete(&mut self, each: &mut dyn FnMut(Option<u64>, Line<'_>)) {
        let line = if self.length == self.held.len() as u64 {
            Line::Whole(&self.held)
        } else {
            let head = self.held.get(..HEAD).unwrap_or(&self.held);
            Line::TooLong { head, bytes: self.length }
        };
        each(self.number, line);
        self.held.clear();
        self.held.shrink_to(KEEP);
        self.length = 0;
    }
}

/// The events that are wanted. Named as Spark names them, without their packages: vendors have
/// packages of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    LogStart,
    ApplicationStart,
    ApplicationEnd,
    Environment,
    ExecutionStart,
    ExecutionUpdate,
    ExecutionEnd,
    JobStart,
    JobEnd,
    StageCompleted,
    TaskEnd,
    /// An event of a streaming query, under the name that the line gives it.
    Query,
}

/// What the head of a line tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Head<'a> {
    /// A wanted event: its kind, its full name, and the text after the name.
    Wanted(Kind, &'a str, &'a [u8]),
    /// Another event.
    Other,
    /// Nothing that an event log has.
    Foreign,
}

/// Looks at the head of a line.
pub(super) fn head(line: &[u8]) -> Head<'_> {
    event_name(line).map_or(Head::Foreign, |(name, rest)| match kind(name) {
        Some(kind) => Head::Wanted(kind, name, rest),
        None => Head::Other,
    })
}

/// The value of `"Event"`, which Spark writes first, and what follows it.
fn event_name(line: &[u8]) -> Option<(&str, &[u8])> {
    let rest = after(line, b"{")?;
    let rest = after(rest, b"\"Event\"")?;
    let rest = after(rest, b":")?;
    let rest = after(rest, b"\"")?;
    let end = memchr::memchr(b'"', rest.get(..HEAD).unwrap_or(rest))?;
    let (name, rest) = rest.split_at(end);
    Some((std::str::from_utf8(name).ok()?, rest.get(1..)?))
}

fn kind(name: &str) -> Option<Kind> {
    Some(match name.rsplit(['.', '$']).next()? {
        "SparkListenerLogStart" => Kind::LogStart,
        "SparkListenerApplicationStart" => Kind::ApplicationStart,
        "SparkListenerApplicationEnd" => Kind::ApplicationEnd,
        "SparkListenerEnvironmentUpdate" => Kind::Environment,
        "SparkListenerSQLExecutionStart" => Kind::ExecutionStart,
        "SparkListenerSQLAdaptiveExecutionUpdate" => Kind::ExecutionUpdate,
        "SparkListenerSQLExecutionEnd" => Kind::ExecutionEnd,
        "SparkListenerJobStart" => Kind::JobStart,
        "SparkListenerJobEnd" => Kind::JobEnd,
        "SparkListenerStageCompleted" => Kind::StageCompleted,
        "SparkListenerTaskEnd" => Kind::TaskEnd,
        "QueryStartedEvent" | "QueryProgressEvent" | "QueryIdleEvent" | "QueryTerminatedEvent" => {
            Kind::Query
        }
        _ => return None,
    })
}

/// The number behind the name `"Stage ID"` near the beginning of `text`.
pub(super) fn stage_id(text: &[u8]) -> Option<u64> {
    number_of(text, b"\"Stage ID\"")
}

/// The number behind `name`, quotes included, near the beginning of `text`.
pub(super) fn number_of(text: &[u8], name: &[u8]) -> Option<u64> {
    let text = text.get(..HEAD).unwrap_or(text);
    let at = memchr::memmem::find(text, name)?;
    let rest = after(text.get(at + name.len()..)?, b":")?.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(rest.get(..digits)?).ok()?.parse().ok()
}

/// What follows `token`, with which `text` begins but for white space.
fn after<'a>(text: &'a [u8], token: &[u8]) -> Option<&'a [u8]> {
    text.trim_ascii_start().strip_prefix(token)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(bytes: &[u8], size: usize) -> Vec<(Option<u64>, Vec<u8>)> {
        let (mut splitter, mut lines) = (Splitter::new(), Vec::new());
        let mut each = |number, line: Line<'_>| match line {
            Line::Whole(text) => lines.push((number, text.to_vec())),
            Line::TooLong { .. } => lines.push((number, b"too long".to_vec())),
        };
        for piece in bytes.chunks(size) {
            splitter.feed(piece, &mut each);
        }
        splitter.finish(&mut each);
        lines
    }

    #[test]
    fn lines_are_counted_from_one_and_the_last_needs_no_line_break() {
        let lines = split(b"a\n\nbc", 100);
        let expected = [(Some(1), &b"a"[..]), (Some(2), b""), (Some(3), b"bc")];
        assert_eq!(lines, expected.map(|(number, text)| (number, text.to_vec())));
        assert_eq!(split(b"a\n", 1), [(Some(1), b"a".to_vec())]);
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_in_bounded_memory() {
        let mut splitter = Splitter::new();
        let piece = vec![b'x'; 8 << 20];
        let mut seen = Vec::new();
        for _ in 0..6 {
            splitter.feed(&piece, &mut |_, _| panic!("no line has ended"));
            assert!(splitter.held.len() <= MAX_LINE);
        }
        splitter.feed(b"x\nnext\n", &mut |number, line| match line {
            Line::Whole(text) => seen.push((number, text.len() as u64)),
            Line::TooLong { head, bytes } => {
                assert_eq!(head.len(), HEAD);
                seen.push((number, bytes));
            }
        });
        // Six pieces of 8 MiB and one byte, then a line of four.
        assert_eq!(seen, [(Some(1), (48 << 20) + 1), (Some(2), 4)]);
        assert!(splitter.held.capacity() <= KEEP);
    }

    #[test]
    fn events_are_told_by_their_names_whatever_the_package_and_the_spacing() {
        let query = "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent";
        let line = format!(r#"{{"Event":"{query}","progress":{{}}}}"#);
        assert_eq!(head(line.as_bytes()), Head::Wanted(Kind::Query, query, br#","progress":{}}"#));
        let spaced =
            br#" { "Event" : "SparkListenerTaskEnd", "Stage ID": 3, "Stage Attempt ID": 0"#;
        let Head::Wanted(Kind::TaskEnd, _, rest) = head(spaced) else { panic!() };
        assert_eq!(stage_id(rest), Some(3));
        assert_eq!(head(br#"{"Event":"SparkListenerTaskStart","Stage ID":3}"#), Head::Other);
        assert_eq!(head(b"2026-11-30 INFO nothing"), Head::Foreign);
        assert_eq!(head(b""), Head::Foreign);
        assert_eq!(head(br#"{"Event":"SparkListenerTaskEn"#), Head::Foreign);
    }

    #[test]
    fn numbers_near_the_beginning_are_found_without_parsing() {
        let stage = br#","Stage Info":{"Stage ID":12,"Stage Attempt ID":1}"#;
        assert_eq!(stage_id(stage), Some(12));
        assert_eq!(number_of(br#","Job ID":7,"#, b"\"Job ID\""), Some(7));
        assert_eq!(number_of(br#","Job ID":x,"#, b"\"Job ID\""), None);
        assert_eq!(number_of(br#","Job ID":99999999999999999999}"#, b"\"Job ID\""), None);
    }

    proptest! {
        #[test]
        fn pieces_of_any_size_give_the_same_lines(
            text in "[ab\n]{0,60}", size in 1..20_usize
        ) {
            prop_assert_eq!(split(text.as_bytes(), size), split(text.as_bytes(), 1000));
        }

        #[test]
        fn no_line_panics(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = head(&bytes);
            let _ = head(&[br#"{"Event":"#, bytes.as_slice()].concat());
            let _ = stage_id(&bytes);
        }
    }
}
