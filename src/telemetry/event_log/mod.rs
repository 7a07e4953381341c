//! Spark event logs: the batches of every streaming query, and what each partition did in them.
//!
//! ```text
//!  files    which files make up a log      since   where to begin
//!  tail     one file, which may grow       log     one application's log over its files
//!    │ bytes
//!    v
//!  pipe     codec ─> lines ─> join (plan, plans, stage, wire, environment) ─> gate ─> Event
//! ```
//! A log is `SparkListener` events as JSON, a line each. Spark writes it while an application
//! runs (`spark.eventLog.enabled`), so it can be followed, and keeps it afterwards. Formats are
//! those of Spark 3.5 to 4.3: one file or a rolling directory, without codec or with zstd, lz4,
//! snappy or lzf.
//!
//! Memory is bounded by what runs at once, never by the length of a log or of a line. Nothing
//! here knows checkpoints or the screen.

mod environment;
mod files;
mod gate;
mod join;
mod lines;
mod log;
mod pipe;
mod plan;
mod plans;
mod since;
mod stage;
mod tail;
mod wire;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::event::{Event, EventKind, Place};
use crate::storage::{Entry, EntryKind, Storage, StorageError};
use crate::task::Cancel;
use crate::units::UnixMillis;

use files::Layout;
use gate::{Before, Gate};
use log::{Ends, Log, Step};

/// How often it is looked whether someone has asked to stop, while waiting.
const PATIENCE: Duration = Duration::from_millis(50);

/// What is read of a log, and for how long.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Only the query with this id; all when `None`.
    pub query: Option<Arc<str>>,
    /// Only what was done at this moment or later.
    pub since: Option<UnixMillis>,
    /// Read on while the log grows, looking this often; to the present end when `None`.
    pub follow: Option<Duration>,
}

/// How reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All there is was read, or all that will come.
    Complete,
    /// Someone asked to stop.
    Stopped,
}

/// Why an event log cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It is not there, or cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A pipe, a device, a link that leads nowhere.
    #[error("{target}: expected an event log or a directory of event logs, found neither a file \
             nor a directory")]
    Neither {
        /// What was asked for.
        target: String,
    },
}

/// An event log, or a directory of the logs of many applications.
#[derive(Debug)]
pub struct EventLog {
    place: LogPlace,
    options: Options,
}

/// Where logs are.
#[derive(Debug)]
enum LogPlace {
    /// One log in a directory.
    One(Storage, String, Layout),
    /// All logs of a directory.
    Many(Storage),
}

impl EventLog {
    /// Finds out what `target` is: a log of one file (also under its other name, with or without
    /// `.inprogress`), a rolling log's directory, or a directory of logs. Addresses are those of
    /// [`Storage::open`].
    ///
    /// Of a directory of logs, all are read that have a streaming query that is wanted, those
    /// written last at the end; other files are passed over in silence.
    ///
    /// # Errors
    /// When there is no such thing, or it cannot be looked at.
    pub fn open(target: &str, options: Options) -> Result<Self, OpenError> {
        let Some((parent, name)) = split(target) else {
            let storage = Storage::open(target)?;
            return Ok(Self { place: LogPlace::Many(storage), options });
        };
        let storage = Storage::open(&parent)?;
        let found = stat_either(&storage, &name)?;
        let place = match found.kind {
            EntryKind::File => {
                LogPlace::One(storage, files::final_name(&name).to_owned(), Layout::Single)
            }
            EntryKind::Directory if files::is_rolling(&list(&storage, &name)?) => {
                LogPlace::One(storage, name, Layout::Rolling)
            }
            EntryKind::Directory => LogPlace::Many(storage.below(&name)?),
            EntryKind::Other => return Err(OpenError::Neither { target: target.to_owned() }),
        };
        Ok(Self { place, options })
    }

    /// Reads, and gives each event to `out`, which says whether it wants more. What cannot be
    /// read is an event too. Blocks: to the present end, or until the log that is followed has
    /// ended; a directory is followed for ever. Between two pieces of work it looks at `cancel`.
    pub fn read(&self, cancel: &Cancel, out: &mut dyn FnMut(Event) -> ControlFlow<()>) -> Ended {
        let mut reading = Reading::new(self);
        let mut sink = Sink { out, cancel, enough: false };
        loop {
            reading.discover(&mut sink);
            reading.catch_up(&mut sink);
            match self.options.follow {
                _ if sink.is_done() => return Ended::Stopped,
                Some(interval) if reading.may_get_more() => pause(interval, cancel),
                _ => return Ended::Complete,
            }
        }
    }
}

/// Where events go until someone has had enough.
struct Sink<'a> {
    out: &'a mut dyn FnMut(Event) -> ControlFlow<()>,
    cancel: &'a Cancel,
    enough: bool,
}

impl Sink<'_> {
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
struct Reading<'a> {
    place: &'a LogPlace,
    options: &'a Options,
    /// The moment from which on logs are read.
    from: Option<UnixMillis>,
    /// The names of logs that are or were read.
    known: HashSet<String>,
    logs: Vec<Log>,
    /// Whether it was said that the directory cannot be listed.
    complained: bool,
}

impl<'a> Reading<'a> {
    fn new(log: &'a EventLog) -> Self {
        let from = log.options.since.map(since::with_lookback);
        let (known, logs) = (HashSet::new(), Vec::new());
        Self { place: &log.place, options: &log.options, from, known, logs, complained: false }
    }

    /// Looks for logs that are not read yet.
    fn discover(&mut self, sink: &mut Sink<'_>) {
        let (place, from) = (self.place, self.from);
        match place {
            LogPlace::One(storage, name, layout) => {
                self.add(storage, name, *layout, Ends::ByEvent, Before::Pass, sink);
            }
            LogPlace::Many(storage) => match list(storage, "") {
                Ok(entries) => {
                    self.complained = false;
                    for log in files::logs(&entries) {
                        // A directory's time is not that of the files in it.
                        let old = log.layout == Layout::Single && log.modified < from;
                        if !old {
                            self.add(storage, &log.name, log.layout, Ends::ByName, Before::Hold, sink);
                        }
                    }
                }
                Err(error) => self.complain(storage, &error, sink),
            },
        }
    }

    fn add(
        &mut self,
        storage: &Storage,
        name: &str,
        layout: Layout,
        ends: Ends,
        before: Before,
        sink: &mut Sink<'_>,
    ) {
        if !self.known.insert(name.to_owned()) {
            return;
        }
        let gate = Gate::new(self.options.query.clone(), self.options.since, before);
        match Log::new(storage, name, layout, ends, self.from, gate) {
            Ok(log) => self.logs.push(log),
            Err(error) => self.complain(storage, &error, sink),
        }
    }

    /// Says once that something is wrong with the directory.
    fn complain(&mut self, storage: &Storage, error: &StorageError, sink: &mut Sink<'_>) {
        if !std::mem::replace(&mut self.complained, true) {
            let place = Place { source: storage.address().into(), line: None };
            sink.take(Event { place, kind: EventKind::Interrupted(error.to_string()) });
        }
    }

    /// Reads what all logs have, one after the other, and lets go of those that have ended.
    fn catch_up(&mut self, sink: &mut Sink<'_>) {
        let follow = self.options.follow.is_some();
        let many = matches!(self.place, LogPlace::Many(_));
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
        !self.logs.is_empty() || matches!(self.place, LogPlace::Many(_))
    }
}

/// Waits, not longer than until someone asks to stop.
fn pause(interval: Duration, cancel: &Cancel) {
    let until = Instant::now() + interval;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        if cancel.is_cancelled() || left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(PATIENCE));
    }
}

/// A directory of logs may be empty; in a cloud store it is then not there.
fn list(storage: &Storage, dir: &str) -> Result<Vec<Entry>, StorageError> {
    match storage.list(dir) {
        Err(error) if error.is_not_found() && !storage.is_local() => Ok(Vec::new()),
        listed => listed,
    }
}

/// What a name stands for; of a log that was finished meanwhile, or is written again, the other
/// name.
fn stat_either(storage: &Storage, name: &str) -> Result<Entry, StorageError> {
    let other = match files::final_name(name) {
        known if known == name => files::growing_name(name),
        known => known.to_owned(),
    };
    match storage.stat(name) {
        Err(error) if error.is_not_found() => storage.stat(&other).map_err(|_| error),
        found => found,
    }
}

/// An address as the directory above and the name in it; `None` for a root.
fn split(target: &str) -> Option<(String, String)> {
    let is_address = target.contains("://") && !target.starts_with("file:");
    if is_address {
        let trimmed = target.trim_end_matches('/');
        let (parent, name) = trimmed.rsplit_once('/')?;
        // What stands before the slash is more than `s3:/`.
        return (!parent.ends_with(['/', ':'])).then(|| (parent.to_owned(), name.to_owned()));
    }
    // Links are followed here: the operator named them.
    let path = target.strip_prefix("file://").unwrap_or(target);
    let path = std::path::Path::new(path);
    let path = path.canonicalize().or_else(|_| std::path::absolute(path)).ok()?;
    let name = path.file_name()?.to_str()?.to_owned();
    Some((path.parent()?.to_str()?.to_owned(), name))
}

#[cfg(test)]
mod tests;
