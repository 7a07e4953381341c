//! A source of text into events: progress JSON, drivers' logs, event logs without compression,
//! recordings.
//!
//! What the lines are is not asked beforehand: a log may hold all of these.

use std::sync::Arc;

use super::driver_log::{DriverLog, Found};
use super::event::{Event, EventKind, Place};
use super::objects::{self, Told};
use super::pieces::{Piece, PieceKind, Splitter};

const UNFINISHED: &str = "breaks off at the end: still being written, or cut";

/// A source of text in reading.
#[derive(Debug)]
pub struct TextReader {
    source: Arc<str>,
    splitter: Splitter,
    log: DriverLog,
}

impl TextReader {
    /// Begins to read; `source` is its name in [`Place`].
    pub fn new(source: Arc<str>) -> Self {
        Self { source, splitter: Splitter::default(), log: DriverLog::default() }
    }

    /// Takes the next bytes; gives the events that they complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Event> {
        let pieces = self.splitter.feed(bytes);
        self.read(pieces)
    }

    /// Nothing has come for a while: a stack trace at the end is not waited for any longer.
    pub fn settle(&mut self) -> Vec<Event> {
        let mut found = Vec::new();
        self.log.settle(&mut found);
        self.place(found)
    }

    /// The source is read from its start again, for this reason.
    pub fn restart(&mut self, reason: String) -> Vec<Event> {
        let mut events = self.finish();
        events.push(Event {
            place: Place { source: Arc::clone(&self.source), line: None },
            kind: EventKind::Interrupted(reason),
        });
        events
    }

    /// The source has ended; gives what is left of it.
    pub fn finish(&mut self) -> Vec<Event> {
        let pieces = std::mem::take(&mut self.splitter).finish();
        let mut events = self.read(pieces);
        events.extend(self.settle());
        self.log = DriverLog::default();
        events
    }

    fn read(&mut self, pieces: Vec<Piece>) -> Vec<Event> {
        let (mut events, mut found) = (Vec::new(), Vec::new());
        for Piece { line, kind } in pieces {
            // Nothing but text goes on with a stack trace.
            if !matches!(kind, PieceKind::Text(_)) {
                self.log.settle(&mut found);
            }
            match kind {
                PieceKind::Text(text) if is_python(&text) => {
                    self.log.settle(&mut found);
                    let reason = "Python's print of a progress, which is not JSON; print \
                                  json.dumps(query.lastProgress)";
                    found.push((line, EventKind::Unreadable(reason.to_owned())));
                }
                PieceKind::Text(text) => self.log.line(line, &text, &mut found),
                PieceKind::Object(object) => match objects::read(object) {
                    Told::Entry(entry) => self.log.structured(line, entry, &mut found),
                    Told::Event(kind) => found.push((line, kind)),
                    Told::Recorded(event) => {
                        events.extend(self.place(std::mem::take(&mut found)));
                        events.push(*event);
                    }
                    Told::Nothing => {}
                },
                PieceKind::Broken(reason) => found.push((line, EventKind::Unreadable(reason))),
                PieceKind::Unfinished => {
                    found.push((line, EventKind::Unreadable(UNFINISHED.to_owned())));
                }
            }
        }
        events.extend(self.place(found));
        events
    }

    fn place(&self, found: Vec<Found>) -> Vec<Event> {
        let place = |line| Place { source: Arc::clone(&self.source), line: Some(line) };
        found.into_iter().map(|(line, kind)| Event { place: place(line), kind }).collect()
    }
}

/// Whether a line is what `print(query.lastProgress)` gives.
fn is_python(text: &str) -> bool {
    text.trim_start().starts_with("{'") && text.contains("'runId'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(source: &str) -> Vec<Event> {
        let mut reader = TextReader::new("-".into());
        let mut events = reader.feed(source.as_bytes());
        events.extend(reader.finish());
        events
    }

    fn unreadable(event: &Event) -> (Option<u64>, &str) {
        match &event.kind {
            EventKind::Unreadable(reason) => (event.place.line, reason),
            other => panic!("unreadable: {other:?}"),
        }
    }

    #[test]
    fn what_cannot_be_read_is_an_event() {
        let source = "{\"a\": x}\n{'id': 'a', 'runId': 'b'}\n{\"id\":";
        let events = events(source);
        let told: Vec<_> = events.iter().map(unreadable).collect();
        let [broken, python, unfinished] = told.as_slice() else { panic!("three: {told:?}") };
        assert_eq!(broken.0, Some(1));
        assert!(python.0 == Some(2) && python.1.contains("json.dumps"), "{python:?}");
        assert_eq!(unfinished, &(Some(3), UNFINISHED));
    }

    #[test]
    fn a_restart_forgets_what_was_unfinished() {
        let mut reader = TextReader::new("a.log".into());
        assert!(reader.feed(b"{\"id\": \"a\", \"runId\": \"b\", ").is_empty());
        let events = reader.restart("was cut".to_owned());
        assert_eq!(unreadable(&events[0]), (Some(1), UNFINISHED));
        assert_eq!(events[1].kind, EventKind::Interrupted("was cut".to_owned()));
        let events = reader.feed(b"{\"id\": \"a\", \"runId\": \"b\", \"batchId\": 1}\n");
        assert!(matches!(events[0].kind, EventKind::Progress(_)));
        assert_eq!(events[0].place.line, Some(1), "lines are counted anew");
    }
}
