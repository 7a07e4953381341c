//! Reading the logs of one application or of a directory: which there are, whose turn it is, and
//! when to look again.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Duration;

use super::files::{self, Found, Layout};
use super::gate::Chosen;
use super::log::{Log, Step};
use super::{Ended, LogPlace, Options, since};
use crate::storage::{Entry, Storage, StorageError};
use crate::task::Cancel;
use crate::telemetry::event::{Event, EventKind, Place};
use crate::telemetry::follow::Until;

/// Time between two looks at files of this machine that do not grow.
const PAUSE: Duration = Duration::from_millis(200);

/// The same for a cloud store, where each look is a request that is paid for.
const REMOTE_PAUSE: Duration = Duration::from_secs(5);

/// Where events go until someone has had enough.
pub(super) struct Sink<'a> {
    out: &'a mut dyn FnMut(Event) -> ControlFlow<()>,
    cancel: &'a Cancel,
    enough: bool,
}

impl<'a> Sink<'a> {
    pub(super) fn new(
        cancel: &'a Cancel,
        out: &'a mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Self {
        Self { out, cancel, enough: false }
    }

    fn is_done(&self) -> bool {
        self.enough || self.cancel.is_cancelled()
    }

    fn take(&mut self, event: Event) {
        if !self.is_done() {
            self.enough = (self.out)(event).is_break();
        }
    }
}

/// The logs that are read.
pub(super) struct Reading<'a> {
    place: &'a LogPlace,
    options: &'a Options,
    /// The names of logs that are or were read.
    known: HashSet<String>,
    logs: Vec<Log>,
    /// Whether it was said that the directory cannot be listed.
    complained: bool,
}

impl<'a> Reading<'a> {
    pub(super) fn new(place: &'a LogPlace, options: &'a Options) -> Self {
        let (known, logs) = (HashSet::new(), Vec::new());
        Self { place, options, known, logs, complained: false }
    }

    /// Reads until there is no more, or someone has had enough.
    pub(super) fn run(mut self, sink: &mut Sink<'_>) -> Ended {
        let pause = if self.place.directory().is_local() { PAUSE } else { REMOTE_PAUSE };
        loop {
            self.discover(sink);
            self.catch_up(sink);
            if sink.is_done() {
                return Ended::Stopped;
            }
            if self.options.until == Until::End || !self.may_get_more() {
                return Ended::Complete;
            }
            if sink.cancel.sleep(pause).is_err() {
                return Ended::Stopped;
            }
        }
    }

    /// Looks for logs that are not read yet.
    fn discover(&mut self, sink: &mut Sink<'_>) {
        let place = self.place;
        match place {
            LogPlace::One { directory, name, shown, layout } => {
                self.add(directory, name, shown.clone(), *layout, Chosen::Named, sink);
            }
            LogPlace::Many { directory, shown } => match list(directory, "") {
                Ok(entries) => {
                    self.complained = false;
                    for log in files::logs(&entries) {
                        if !self.is_old(&log) {
                            let shown = format!("{}/{}", shown.trim_end_matches('/'), log.name);
                            self.add(directory, &log.name, shown, log.layout, Chosen::Listed, sink);
                        }
                    }
                }
                Err(error) => self.complain(&error, sink),
            },
        }
    }

    /// Whether nothing was written to a log since the moment asked for. The time of a rolling
    /// log's directory is not that of its files.
    fn is_old(&self, log: &Found) -> bool {
        let from = self.options.since.map(since::with_lookback);
        let times = log.modified.zip(from);
        log.layout == Layout::Single && times.is_some_and(|(modified, from)| modified < from)
    }

    fn add(
        &mut self,
        storage: &Storage,
        name: &str,
        shown: String,
        layout: Layout,
        chosen: Chosen,
        sink: &mut Sink<'_>,
    ) {
        if !self.known.insert(name.to_owned()) {
            return;
        }
        match Log::new(storage, name, shown, layout, chosen, self.options) {
            Ok(log) => self.logs.push(log),
            Err(error) => self.complain(&error, sink),
        }
    }

    /// Says once that something is wrong with the directory.
    fn complain(&mut self, error: &StorageError, sink: &mut Sink<'_>) {
        if !std::mem::replace(&mut self.complained, true) {
            let place = Place { source: self.place.shown().into(), line: None };
            sink.take(Event { place, kind: EventKind::Interrupted(error.to_string()) });
        }
    }

    /// Reads what all logs have, one after the other, and lets go of those that have ended.
    fn catch_up(&mut self, sink: &mut Sink<'_>) {
        let follow = self.options.until == Until::Cancelled;
        let many = matches!(self.place, LogPlace::Many { .. });
        self.logs.retain_mut(|log| {
            while !sink.is_done() {
                match log.step(&mut |event| sink.take(event)) {
                    Step::More if many && log.is_something_else() => return false,
                    Step::More => {}
                    Step::CaughtUp if follow => return true,
                    Step::CaughtUp => {
                        log.close(&mut |event| sink.take(event));
                        return false;
                    }
                    Step::Done => return false,
                }
            }
            false
        });
    }

    fn may_get_more(&self) -> bool {
        !self.logs.is_empty() || matches!(self.place, LogPlace::Many { .. })
    }
}

/// A directory of logs may be empty; in a cloud store it is then not there.
pub(super) fn list(storage: &Storage, dir: &str) -> Result<Vec<Entry>, StorageError> {
    match storage.list(dir) {
        Err(error) if error.is_not_found() && !storage.is_local() => Ok(Vec::new()),
        listed => listed,
    }
}
