//! One application's log, from where reading begins to its end, over all its files.
//!
//! A single log is followed across its renaming, a rolling one from file to file. Each step does
//! a bounded piece of work, so that many logs can be read by one thread and given up at any
//! time. Must not know how logs are found, nor what is in them.

use std::sync::Arc;

use super::files::{self, Layout, Rolled};
use super::gate::{Chosen, Gate};
use super::pipe::{Begin, Pipe};
use super::tail::{Fate, PIECE, Tail};
use super::{Options, since};
use crate::storage::{Storage, StorageError};
use crate::telemetry::event::{Event, EventKind};
use crate::units::UnixMillis;

/// A log in reading.
#[derive(Debug)]
pub(super) struct Log {
    /// The directory that has the single log, or that is the rolling one.
    storage: Storage,
    /// Its name, without the mark of being written.
    name: String,
    /// What the operator calls it.
    shown: String,
    layout: Layout,
    chosen: Chosen,
    /// The moment from which on it is read.
    from: Option<UnixMillis>,
    pipe: Pipe,
    tail: Option<Tail>,
    /// The number of the rolled file that is read.
    index: u64,
    /// What follows when the present file has been read to its end.
    next: Option<Next>,
    buffer: Vec<u8>,
    /// The failure that was said last, so that it is said once.
    failure: Option<String>,
}

/// What a step has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// There may be more to read.
    More,
    /// All that is there has been read.
    CaughtUp,
    /// The log has ended.
    Done,
}

/// What comes after a file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Next {
    /// Another rolled file.
    File(Rolled),
    /// The end of the log.
    End,
    /// The end, since the log was removed.
    Gone,
    /// The file of the same name, which is not the one that was read.
    Again,
}

impl Log {
    /// The log `name` in the directory `storage`, which the operator calls `shown`. Looks at
    /// nothing yet.
    ///
    /// # Errors
    /// When the name cannot be one.
    pub(super) fn new(
        storage: &Storage,
        name: &str,
        shown: String,
        layout: Layout,
        chosen: Chosen,
        options: &Options,
    ) -> Result<Self, StorageError> {
        let gate = Gate::new(options.query.clone(), options.since, chosen);
        let storage = match layout {
            Layout::Single => storage.clone(),
            Layout::Rolling => storage.below(name)?,
        };
        Ok(Self {
            pipe: Pipe::new(shown.as_str().into(), gate),
            storage,
            name: name.to_owned(),
            shown,
            layout,
            chosen,
            from: options.since.map(since::with_lookback),
            tail: None,
            index: 0,
            next: None,
            buffer: Vec::new(),
            failure: None,
        })
    }

    /// Reads a piece. A failure to read is said once, and tried again with the next step.
    pub(super) fn step(&mut self, out: &mut dyn FnMut(Event)) -> Step {
        match self.try_step(out) {
            Ok(step) => {
                self.failure = None;
                if step == Step::CaughtUp {
                    // Many logs may be followed at once.
                    self.buffer = Vec::new();
                }
                step
            }
            Err(error) => {
                let text = error.to_string();
                if self.failure.as_ref() != Some(&text) {
                    self.pipe.say(EventKind::Interrupted(text.clone()), out);
                    self.failure = Some(text);
                }
                Step::CaughtUp
            }
        }
    }

    /// The log is not read any further: gives what is left of it.
    pub(super) fn close(&mut self, out: &mut dyn FnMut(Event)) {
        self.pipe.end_file(out);
        self.pipe.finish(out);
    }

    /// Whether much was read and none of it is of an event log.
    pub(super) fn is_something_else(&self) -> bool {
        let far = self.tail.as_ref().is_some_and(|tail| tail.position() >= PIECE as u64);
        far && !self.pipe.has_events()
    }

    fn try_step(&mut self, out: &mut dyn FnMut(Event)) -> Result<Step, StorageError> {
        let Some(tail) = &mut self.tail else { return self.enter(out) };
        tail.read(&mut self.buffer)?;
        if !self.buffer.is_empty() {
            self.pipe.feed(&self.buffer, out);
            return Ok(Step::More);
        }
        // What follows is looked up before the last reading, so that nothing is missed that is
        // written in between.
        if let Some(next) = self.next.take() {
            return self.go_on(next, out);
        }
        self.next = self.look_ahead()?;
        Ok(if self.next.is_some() { Step::More } else { Step::CaughtUp })
    }

    /// Opens the first file and goes to where reading begins.
    fn enter(&mut self, out: &mut dyn FnMut(Event)) -> Result<Step, StorageError> {
        match self.layout {
            Layout::Single => {
                self.begin(self.open_single()?, Begin::Start);
                self.enter_file(out)
            }
            Layout::Rolling => self.enter_rolling(out),
        }
    }

    /// The file of a single log, whichever of its names it has.
    fn open_single(&self) -> Result<Tail, StorageError> {
        match Tail::open(&self.storage, &self.name) {
            Err(error) if error.is_not_found() => {
                Tail::open(&self.storage, &files::growing_name(&self.name))
            }
            opened => opened,
        }
    }

    /// Enters a rolling log at the first file that was written after the moment asked for. The
    /// very first one begins with what the application runs on, so a piece of it is read too.
    fn enter_rolling(&mut self, out: &mut dyn FnMut(Event)) -> Result<Step, StorageError> {
        let rolled = files::rolled(&self.storage.list("")?);
        let Some(first) = rolled.first() else { return Ok(Step::CaughtUp) };
        let is_new = |file: &&Rolled| {
            let times = file.modified.zip(self.from);
            times.is_none_or(|(modified, from)| modified >= from)
        };
        let start = rolled.iter().find(is_new).or(rolled.last()).unwrap_or(first);
        if start != first {
            self.begin(Tail::open(&self.storage, &first.name)?, Begin::Start);
            self.read_piece(out)?;
        }
        self.index = start.index;
        let tail = Tail::open(&self.storage, &start.name)?;
        let begin = if start == first { Begin::Start } else { Begin::Later };
        self.begin(tail, begin);
        if start.compact {
            self.pipe.say(EventKind::Interrupted(COMPACTED.to_owned()), out);
        }
        self.enter_file(out)
    }

    /// Reads the first piece of the file at hand and, where the file has no codec, goes to the
    /// moment asked for.
    fn enter_file(&mut self, out: &mut dyn FnMut(Event)) -> Result<Step, StorageError> {
        self.read_piece(out)?;
        let (Some(from), Some(tail), true) = (self.from, &mut self.tail, self.pipe.is_plain())
        else {
            return Ok(Step::More);
        };
        let place = since::find(tail.size()?, from, |place, buffer| tail.read_at(place, buffer))?;
        if place > tail.position() {
            tail.seek(place);
            let source = source(self.layout, &self.shown, tail.path());
            self.pipe.begin(source, Begin::Middle);
        }
        Ok(Step::More)
    }

    fn read_piece(&mut self, out: &mut dyn FnMut(Event)) -> Result<(), StorageError> {
        if let Some(tail) = &mut self.tail {
            tail.read(&mut self.buffer)?;
            self.pipe.feed(&self.buffer, out);
        }
        Ok(())
    }

    /// Begins to read a file.
    fn begin(&mut self, tail: Tail, begin: Begin) {
        self.pipe.begin(source(self.layout, &self.shown, tail.path()), begin);
        self.tail = Some(tail);
        self.next = None;
    }

    /// What follows the present file; `None` while it is the last and may grow.
    fn look_ahead(&mut self) -> Result<Option<Next>, StorageError> {
        match self.layout {
            Layout::Single => Ok(self.after_single()),
            Layout::Rolling => self.after_rolled(),
        }
    }

    fn after_single(&mut self) -> Option<Next> {
        let tail = self.tail.as_mut()?;
        match tail.fate() {
            Fate::Shorter | Fate::Replaced => Some(Next::Again),
            Fate::Same => {
                // Spark marks what it writes; a file that the operator names may have another
                // writer, so that only its last event tells.
                let marked = tail.path() != self.name;
                let ended = self.chosen == Chosen::Listed || self.pipe.has_ended();
                (!marked && ended).then_some(Next::End)
            }
            Fate::Gone if tail.path() != self.name && self.storage.stat(&self.name).is_ok() => {
                tail.moved_to(&self.name);
                Some(Next::End)
            }
            Fate::Gone => Some(Next::Gone),
        }
    }

    fn after_rolled(&mut self) -> Result<Option<Next>, StorageError> {
        let entries = match self.storage.list("") {
            Err(error) if error.is_not_found() => return Ok(Some(Next::Gone)),
            entries => entries?,
        };
        let next = files::rolled(&entries).into_iter().find(|file| file.index > self.index);
        Ok(match (next, &self.tail) {
            (Some(next), _) => Some(Next::File(next)),
            (None, _) if files::is_finished(&entries) => Some(Next::End),
            (None, Some(tail)) if matches!(tail.fate(), Fate::Shorter | Fate::Replaced) => {
                Some(Next::Again)
            }
            (None, _) => None,
        })
    }

    /// The present file has been read to its end.
    fn go_on(&mut self, next: Next, out: &mut dyn FnMut(Event)) -> Result<Step, StorageError> {
        match next {
            Next::File(file) => {
                let tail = Tail::open(&self.storage, &file.name)?;
                self.pipe.end_file(out);
                if file.index > self.index + 1 {
                    let missed = format!("{}", file.index - self.index - 1);
                    let what = "rolled files were removed or compacted before they were read";
                    self.pipe.say(EventKind::Interrupted(format!("{missed} {what}")), out);
                }
                self.index = file.index;
                self.begin(tail, Begin::Start);
                Ok(Step::More)
            }
            Next::Again => {
                let path = self.tail.as_ref().map_or(self.name.as_str(), Tail::path);
                let tail = Tail::open(&self.storage, path)?;
                let what = "is not the file that was read, or was cut: read from its start again";
                self.pipe.say(EventKind::Interrupted(what.to_owned()), out);
                self.pipe.forget();
                self.begin(tail, Begin::Start);
                Ok(Step::More)
            }
            Next::Gone => {
                self.pipe.say(EventKind::Interrupted("was removed".to_owned()), out);
                self.close(out);
                Ok(Step::Done)
            }
            Next::End => {
                self.close(out);
                Ok(Step::Done)
            }
        }
    }
}

const COMPACTED: &str = "was compacted by the history server, which keeps no progress: the \
                         batches in it are no longer known";

/// A file of a log as it is named to the operator.
fn source(layout: Layout, shown: &str, path: &str) -> Arc<str> {
    match layout {
        Layout::Single => shown.into(),
        Layout::Rolling => format!("{}/{path}", shown.trim_end_matches('/')).into(),
    }
}
