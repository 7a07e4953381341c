//! One log of a checkpoint: which entries its directory holds, and what is in them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fault::{BatchRange, Log, Problem};
use super::format::FormatError;
use super::names;
use crate::storage::{Entry, EntryKind, Storage, StorageError};
use crate::task::{Cancel, Cancelled, map_parallel};
use crate::units::{BatchId, Bytes, UnixMillis};

/// The largest log entry that is read. A commit of 10,000 partitions with four stores each takes
/// about 2 MB.
const MAX_ENTRY: Bytes = Bytes(16 << 20);

/// All entries of one log together, by size and by number; the newest are read first. Spark keeps
/// 100 entries by default.
const MAX_LOG: Bytes = Bytes(256 << 20);
const MAX_ENTRIES: usize = 20_000;

/// One log, as it was when its directory was listed.
#[derive(Debug, Clone)]
pub(super) struct LogFiles<T> {
    files: BTreeMap<BatchId, LogFile<T>>,
    /// Entries older than those in `files`, left out by the limits.
    pub(super) older: u64,
    /// Names that are not entries and are not known leftovers either.
    pub(super) strange: u64,
    pub(super) strange_example: Option<String>,
    /// Whether the directory exists.
    pub(super) present: bool,
}

/// One entry.
#[derive(Debug, Clone)]
struct LogFile<T> {
    stamp: Stamp,
    content: Result<Arc<T>, Problem>,
}

/// What tells whether a file is still the one that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    bytes: Bytes,
    modified: Option<UnixMillis>,
}

/// The names of one log's directory, sorted out.
#[derive(Debug, Default)]
pub(super) struct LogListing {
    /// Entries by batch; the newest within the limits.
    entries: BTreeMap<BatchId, Stamp>,
    older: u64,
    strange: u64,
    strange_example: Option<String>,
    present: bool,
}

impl LogListing {
    pub(super) fn read(storage: &Storage, log: Log) -> Result<Self, StorageError> {
        match storage.list(log.dir()) {
            Ok(entries) => Ok(Self::sort(entries)),
            Err(error) if error.is_not_found() => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    fn sort(entries: Vec<Entry>) -> Self {
        let mut listing = Self { present: true, ..Self::default() };
        for entry in entries {
            match names::batch(&entry.name) {
                Some(batch) if entry.kind != EntryKind::Directory => {
                    let stamp = Stamp { bytes: entry.bytes, modified: entry.modified };
                    listing.entries.insert(batch, stamp);
                }
                _ if names::is_leftover(&entry.name) => {}
                _ => {
                    listing.strange += 1;
                    listing.strange_example.get_or_insert(entry.name);
                }
            }
        }
        listing.drop_oldest();
        listing
    }

    /// Keeps the newest entries, as many as the limits allow.
    fn drop_oldest(&mut self) {
        let newest_first = self.entries.values().rev().take(MAX_ENTRIES);
        let totals = newest_first.scan(Bytes(0), |total, stamp| {
            *total = *total + stamp.bytes;
            Some(*total)
        });
        let kept = totals.take_while(|total| *total <= MAX_LOG).count();
        let dropped = self.entries.len().saturating_sub(kept.max(1));
        for _ in 0..dropped {
            self.entries.pop_first();
        }
        self.older = u64::try_from(dropped).unwrap_or(u64::MAX);
    }
}

impl<T: Clone + Send + Sync> LogFiles<T> {
    /// Reads the entries of a listing; those that `before` has read from the same files are taken
    /// from there.
    pub(super) fn read(
        storage: &Storage,
        log: Log,
        listing: LogListing,
        before: Option<&Self>,
        parse: impl Fn(&[u8]) -> Result<T, FormatError> + Sync,
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let known = |batch: &BatchId, stamp: &Stamp| {
            let file = before?.files.get(batch)?;
            (file.stamp == *stamp).then(|| file.clone())
        };
        let mut files = BTreeMap::new();
        let mut unknown = Vec::new();
        for (batch, stamp) in listing.entries {
            match known(&batch, &stamp) {
                Some(file) => {
                    files.insert(batch, file);
                }
                None => unknown.push((batch, stamp)),
            }
        }
        let content = map_parallel(&unknown, storage.crew(), cancel, |(batch, _)| {
            read_entry(storage, log, *batch, &parse)
        });
        cancel.check()?;
        for ((batch, stamp), content) in unknown.into_iter().zip(content.into_iter().flatten()) {
            // Gone since the listing: the engine deletes old entries meanwhile.
            if let Some(content) = content {
                files.insert(batch, LogFile { stamp, content });
            }
        }
        Ok(Self {
            files,
            older: listing.older,
            strange: listing.strange,
            strange_example: listing.strange_example,
            present: listing.present,
        })
    }
}

/// Reads and parses one entry; `None` when it is not there any more.
fn read_entry<T>(
    storage: &Storage,
    log: Log,
    batch: BatchId,
    parse: impl Fn(&[u8]) -> Result<T, FormatError>,
) -> Option<Result<Arc<T>, Problem>> {
    match storage.read(&log.file(batch), MAX_ENTRY) {
        Ok(bytes) => Some(parse(&bytes).map(Arc::new).map_err(Problem::from)),
        Err(error) if error.is_not_found() => None,
        Err(error) => Some(Err(error.into())),
    }
}

impl<T> LogFiles<T> {
    /// Whether every entry is the same file as in `other`.
    pub(super) fn same_files(&self, other: &Self) -> bool {
        self.files.len() == other.files.len()
            && self
                .files
                .iter()
                .zip(&other.files)
                .all(|((a, one), (b, two))| a == b && one.stamp == two.stamp)
    }

    pub(super) fn last(&self) -> Option<BatchId> {
        self.files.last_key_value().map(|(batch, _)| *batch)
    }

    pub(super) fn first(&self) -> Option<BatchId> {
        self.files.first_key_value().map(|(batch, _)| *batch)
    }

    pub(super) fn has(&self, batch: BatchId) -> bool {
        self.files.contains_key(&batch)
    }

    pub(super) fn batches(&self) -> impl DoubleEndedIterator<Item = BatchId> + '_ {
        self.files.keys().copied()
    }

    pub(super) fn get(&self, batch: BatchId) -> Option<&T> {
        self.files.get(&batch)?.content.as_ref().ok().map(Arc::as_ref)
    }

    pub(super) fn problem(&self, batch: BatchId) -> Option<&Problem> {
        self.files.get(&batch)?.content.as_ref().err()
    }

    pub(super) fn modified(&self, batch: BatchId) -> Option<UnixMillis> {
        self.files.get(&batch)?.stamp.modified
    }

    /// The newest readable entry at or below `batch`.
    pub(super) fn at_or_below(&self, batch: BatchId) -> Option<(BatchId, &T)> {
        let mut older = self.files.range(..=batch).rev();
        older.find_map(|(batch, file)| Some((*batch, file.content.as_ref().ok()?.as_ref())))
    }

    /// Readable entries, oldest first.
    pub(super) fn readable(&self) -> impl DoubleEndedIterator<Item = (BatchId, &T)> {
        self.files
            .iter()
            .filter_map(|(batch, file)| Some((*batch, file.content.as_ref().ok()?.as_ref())))
    }
}

/// Joins batches in a row into ranges. `batches` is sorted.
pub(super) fn ranges(batches: impl Iterator<Item = BatchId>) -> Vec<BatchRange> {
    let mut ranges: Vec<BatchRange> = Vec::new();
    for batch in batches {
        match ranges.last_mut() {
            Some(range) if range.last.0.checked_add(1) == Some(batch.0) => range.last = batch,
            _ => ranges.push(BatchRange { first: batch, last: batch }),
        }
    }
    ranges
}
