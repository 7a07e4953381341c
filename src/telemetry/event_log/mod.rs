//! Spark event logs: the batches of every streaming query, and what each partition did in them.
//!
//! ```text
//!  files    which files make up a log      since   where to begin
//!  tail     one file, which may grow       log     one application's log over its files
//!  reading  the logs of a directory
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

mod accumulables;
mod environment;
mod files;
mod gate;
mod join;
mod lines;
mod log;
mod pipe;
mod plan;
mod plans;
mod reading;
mod sessions;
mod since;
mod stage;
mod tail;
mod wire;

use std::ops::ControlFlow;
use std::sync::Arc;

use super::event::Event;
use super::follow::Until;
use crate::storage::{Entry, EntryKind, Storage, StorageError};
use crate::task::Cancel;
use crate::units::UnixMillis;

use files::Layout;
use reading::{Reading, Sink, list};

/// What is read of a log, and for how long.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Only the query with this id; all when `None`.
    pub query: Option<Arc<str>>,
    /// Only what was done at this moment or later.
    pub since: Option<UnixMillis>,
    /// How long to read: to the present end, or on while the log grows.
    pub until: Until,
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
    #[error(
        "{target}: expected an event log or a directory of event logs, found neither a file \
             nor a directory"
    )]
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

/// Where logs are, and what the operator calls that.
#[derive(Debug)]
enum LogPlace {
    /// One log in a directory.
    One { directory: Storage, name: String, shown: String, layout: Layout },
    /// All logs of a directory.
    Many { directory: Storage, shown: String },
}

impl LogPlace {
    fn directory(&self) -> &Storage {
        match self {
            Self::One { directory, .. } | Self::Many { directory, .. } => directory,
        }
    }

    fn shown(&self) -> &str {
        match self {
            Self::One { shown, .. } | Self::Many { shown, .. } => shown,
        }
    }
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
        let shown = target.to_owned();
        let Some((parent, name)) = split(target) else {
            let place = LogPlace::Many { directory: Storage::open(target)?, shown };
            return Ok(Self { place, options });
        };
        let directory = Storage::open(&parent)?;
        let place = match stat_either(&directory, &name)?.kind {
            EntryKind::File => {
                let name = files::final_name(&name).to_owned();
                LogPlace::One { directory, name, shown, layout: Layout::Single }
            }
            EntryKind::Directory if files::is_rolling(&list(&directory, &name)?) => {
                LogPlace::One { directory, name, shown, layout: Layout::Rolling }
            }
            EntryKind::Directory => LogPlace::Many { directory: directory.below(&name)?, shown },
            EntryKind::Other => return Err(OpenError::Neither { target: shown }),
        };
        Ok(Self { place, options })
    }

    /// Reads, and gives each event to `out`, which says whether it wants more. What cannot be
    /// read is an event too. Blocks: to the present end, or until the log that is followed has
    /// ended; a directory is followed for ever. Between two pieces of work it looks at `cancel`.
    pub fn read(&self, cancel: &Cancel, out: &mut dyn FnMut(Event) -> ControlFlow<()>) -> Ended {
        Reading::new(&self.place, &self.options).run(&mut Sink::new(cancel, out))
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
