//! From the bytes of one application's log to its events, whatever the codec and wherever the
//! bytes are cut.
//!
//! ```text
//!  bytes ─> Unpacker ─> Splitter ─> Joiner ─> Gate ─> Event
//! ```
//! A log may have several files; plans and stages live across them. Must not know how files are
//! found, opened or followed.

use std::sync::Arc;

use super::gate::Gate;
use super::join::Joiner;
use super::lines::{Line, Splitter};
use crate::codec::Unpacker;
use crate::telemetry::event::{Event, EventKind, Place};

/// Reads one application's log.
#[derive(Debug)]
pub(super) struct Pipe {
    /// The name of the file that is read.
    source: Arc<str>,
    unpacker: Unpacker,
    splitter: Splitter,
    joiner: Joiner,
    gate: Gate,
    /// Something in this file cannot be decoded, and so nothing after it.
    damaged: bool,
}

/// Where in a file reading begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    /// At its start, where the log begins or goes on.
    Start,
    /// At its start, with files before it that were not read.
    Later,
    /// At a line somewhere in a file without codec.
    Middle,
}

impl Pipe {
    pub(super) fn new(source: Arc<str>, gate: Gate) -> Self {
        Self {
            source,
            unpacker: Unpacker::new(),
            splitter: Splitter::new(),
            joiner: Joiner::default(),
            gate,
            damaged: false,
        }
    }

    /// Takes the next bytes of the file.
    pub(super) fn feed(&mut self, bytes: &[u8], out: &mut dyn FnMut(Event)) {
        if self.damaged {
            return;
        }
        let Self { source, unpacker, splitter, joiner, gate, .. } = self;
        let fed = unpacker.feed(bytes, &mut |bytes| {
            splitter.feed(bytes, &mut |number, line| {
                take(joiner, gate, (source, number), line, out);
            });
        });
        if let Err(error) = fed {
            self.damaged = true;
            let codec = self.unpacker.codec().map_or_else(String::new, |codec| format!("{codec} "));
            let what = format!("the {codec}stream is damaged, the rest of the file is not read");
            self.say(EventKind::Unreadable(format!("{what}: {error}")), out);
        }
    }

    /// The file has ended: takes a last line without line break, and says so when it was cut.
    pub(super) fn end_file(&mut self, out: &mut dyn FnMut(Event)) {
        if self.damaged {
            return;
        }
        let mut cut = self.unpacker.is_unfinished();
        let Self { source, splitter, joiner, gate, .. } = self;
        splitter.finish(&mut |number, line| {
            let whole = matches!(line, Line::Whole(text) if is_json(text));
            cut |= !whole;
            if whole {
                take(joiner, gate, (source, number), line, out);
            }
        });
        if cut {
            self.say(EventKind::Interrupted(CUT.to_owned()), out);
        }
    }

    /// Begins another file, or the same anew, without a word about where the one before ended.
    pub(super) fn begin(&mut self, source: Arc<str>, begin: Begin) {
        self.source = source;
        self.damaged = false;
        (self.unpacker, self.splitter) = match begin {
            Begin::Start | Begin::Later => (Unpacker::new(), Splitter::new()),
            Begin::Middle => (Unpacker::plain(), Splitter::uncounted()),
        };
        if begin != Begin::Start {
            self.joiner.begins_in_the_middle();
        }
    }

    /// Forgets the log so far: what comes is another one.
    pub(super) fn forget(&mut self) {
        self.joiner = Joiner::default();
    }

    /// The log has ended, or is not read any further: gives what its last stages have.
    pub(super) fn finish(&mut self, out: &mut dyn FnMut(Event)) {
        let place = self.place();
        let gate = &mut self.gate;
        self.joiner.finish(&mut |kind| gate.take(Event { place: place.clone(), kind }, out));
    }

    /// Says something about the log at the place reached.
    pub(super) fn say(&mut self, kind: EventKind, out: &mut dyn FnMut(Event)) {
        let place = self.place();
        self.gate.take(Event { place, kind }, out);
    }

    /// Whether the file has no codec, as far as is known, so that it can be read from anywhere.
    pub(super) fn is_plain(&self) -> bool {
        self.unpacker.codec().is_none()
    }

    /// Whether a line of an event log has come.
    pub(super) fn has_events(&self) -> bool {
        self.joiner.has_events()
    }

    /// Whether the application has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.joiner.has_ended()
    }

    fn place(&self) -> Place {
        Place { source: Arc::clone(&self.source), line: self.splitter.number() }
    }
}

const CUT: &str = "ends in the middle of a line: it is still being written, or was cut; what comes \
                   before is used";

fn take(
    joiner: &mut Joiner,
    gate: &mut Gate,
    (source, line_number): (&Arc<str>, Option<u64>),
    line: Line<'_>,
    out: &mut dyn FnMut(Event),
) {
    joiner.take(line, &mut |kind| {
        let place = Place { source: Arc::clone(source), line: line_number };
        gate.take(Event { place, kind }, out);
    });
}

fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
}
