//! Reading a checkpoint: two listings, every retained log entry, the names of the operators.

use super::commit::{CommitEntry, parse_commit_entry};
use super::fault::{Fault, Log, Problem};
use super::logs::{LogFiles, LogListing};
use super::metadata::parse_query_id;
use super::offset::{OffsetEntry, parse_offset_entry};
use super::operator::{OperatorMetadata, parse_operator_metadata};
use super::root::{Part, Root};
use super::{examine, names, sources};
use crate::reader::Mark;
use crate::report::SourceReport;
use crate::storage::{EntryKind, Name, Storage, StorageError};
use crate::task::{Cancel, Cancelled};
use crate::units::{BatchId, Bytes, OperatorId};

/// The largest `metadata` or operator metadata file that is read.
const MAX_METADATA: Bytes = Bytes(16 << 20);

/// A checkpoint as its logs tell it, at one moment. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    pub(super) root: Root,
    pub(super) query_id: Result<Option<String>, Problem>,
    pub(super) offsets: LogFiles<OffsetEntry>,
    pub(super) commits: LogFiles<CommitEntry>,
    pub(super) operators: Vec<OperatorId>,
    pub(super) faults: Vec<Fault>,
}

/// Why nothing can be said about a directory.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is no such directory.
    #[error(
        "{address}: not found; expected the directory that the query has as its checkpointLocation"
    )]
    NotFound {
        /// The directory.
        address: String,
    },
    /// The directory holds something else.
    #[error(
        "{address}: not a checkpoint; expected metadata, offsets/, commits/ or state/, found {}{}",
        found.join(", "),
        hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default()
    )]
    NotACheckpoint {
        /// The directory.
        address: String,
        /// The first names in it.
        found: Vec<String>,
        /// Where the checkpoint may be instead.
        hint: Option<String>,
    },
    /// The directory cannot be listed.
    #[error(transparent)]
    Root(StorageError),
    /// A directory inside it cannot be listed.
    #[error("{address}: {source}")]
    Inside {
        /// The checkpoint directory.
        address: String,
        /// Which, and why.
        source: StorageError,
    },
    /// Given up at the caller's request.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl LoadError {
    pub(super) fn root(storage: &Storage, error: StorageError) -> Self {
        match error {
            StorageError::NotFound { .. } => {
                Self::NotFound { address: storage.address().to_owned() }
            }
            error => Self::Root(error),
        }
    }

    fn inside(storage: &Storage, source: StorageError) -> Self {
        Self::Inside { address: storage.address().to_owned(), source }
    }
}

/// What is known of an operator from its metadata files.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OperatorLookup {
    /// The metadata in force; `None` when the checkpoint has none (Spark 3.5) or none is readable.
    pub metadata: Option<OperatorMetadata>,
    /// What was wrong with files on the way.
    pub faults: Vec<Fault>,
}

impl Checkpoint {
    /// Reads a checkpoint: its root's names, both logs with every retained entry, `metadata` and
    /// the names of the operators' directories. No file of any partition.
    ///
    /// # Errors
    /// When the directory is not there, is no checkpoint or cannot be listed. Whatever else is
    /// broken is among [`Checkpoint::faults`].
    pub fn load(storage: &Storage, cancel: &Cancel) -> Result<Self, LoadError> {
        let root = Root::look(storage)?;
        let (offsets, commits) = read_logs(storage, None, cancel)?;
        Self::complete(storage, root, offsets, commits)
    }

    /// Reads again what has changed since `self` was read: two listings, and the entries that are
    /// new or are other files than before.
    ///
    /// # Errors
    /// As [`Checkpoint::load`].
    pub fn refresh(&self, storage: &Storage, cancel: &Cancel) -> Result<Self, LoadError> {
        let (offsets, commits) = read_logs(storage, Some(self), cancel)?;
        if !offsets.present && !commits.present {
            return Self::load(storage, cancel);
        }
        if offsets.same_files(&self.offsets) && commits.same_files(&self.commits) {
            return Ok(self.clone());
        }
        let root = Root::look(storage)?;
        Self::complete(storage, root, offsets, commits)
    }

    fn complete(
        storage: &Storage,
        root: Root,
        offsets: LogFiles<OffsetEntry>,
        commits: LogFiles<CommitEntry>,
    ) -> Result<Self, LoadError> {
        let query_id = if root.has(Part::Metadata) { query_id(storage) } else { Ok(None) };
        let names = if root.has(Part::State) { state_names(storage)? } else { Vec::new() };
        let mut checkpoint = Self {
            root,
            query_id,
            offsets,
            commits,
            operators: operators(&names, EntryKind::Directory),
            faults: Vec::new(),
        };
        checkpoint.faults = examine::faults(&checkpoint);
        let links = operators(&names, EntryKind::Other);
        let links = links.into_iter().map(|operator| format!("state/{operator}"));
        let not_followed = checkpoint.root.not_followed.iter().cloned().chain(links);
        checkpoint.faults.extend(not_followed.map(|path| Fault::NotFollowed { path }));
        Ok(checkpoint)
    }

    /// Reads the operator metadata that holds for `batch`: of format 2 the newest file at or below
    /// it, else format 1. A file that cannot be read is a fault, and the next older one is used.
    pub fn operator_metadata(
        &self,
        storage: &Storage,
        operator: OperatorId,
        batch: BatchId,
    ) -> OperatorLookup {
        let mut lookup = OperatorLookup::default();
        for file in metadata_files(storage, operator, batch, &mut lookup.faults) {
            let read = match storage.read(&file, MAX_METADATA) {
                Ok(bytes) => parse_operator_metadata(&bytes).map_err(Problem::from),
                Err(error) if error.is_not_found() => continue,
                Err(error) => Err(error.into()),
            };
            match read {
                Ok(metadata) => {
                    let count = self.partitions_at(batch);
                    lookup.faults.extend(examine::other_count(&metadata, &file, count));
                    lookup.faults.extend(examine::elsewhere(&metadata, &file, storage));
                    lookup.metadata = Some(OperatorMetadata { file, ..metadata });
                    break;
                }
                Err(problem) => {
                    lookup.faults.push(Fault::UnreadableOperatorMetadata { file, problem });
                }
            }
        }
        lookup
    }

    /// One report per source of an offset entry, in the entry's order; see
    /// [`sources::reports`].
    pub fn source_reports(&self, storage: &Storage, entry: &OffsetEntry) -> Vec<SourceReport> {
        sources::reports(storage, entry)
    }
}

/// The newest entries of both logs, by listing their names only.
///
/// # Errors
/// When a log cannot be listed, or there is none and the directory is no checkpoint.
pub fn mark(storage: &Storage) -> Result<Mark, LoadError> {
    let newest = |log: Log| match storage.names(log.dir()) {
        Ok(names) => {
            let entries = names.iter().filter(|name| name.kind != EntryKind::Directory);
            Ok(Some(entries.filter_map(|name| names::batch(&name.name)).max()))
        }
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(LoadError::inside(storage, error)),
    };
    // In this order, so that a commit is never seen without its offset entry.
    let committed = newest(Log::Commits)?;
    let planned = newest(Log::Offsets)?;
    if committed.is_none() && planned.is_none() {
        Root::look(storage)?;
    }
    Ok(Mark { planned: planned.flatten(), committed: committed.flatten() })
}

type Logs = (LogFiles<OffsetEntry>, LogFiles<CommitEntry>);

fn read_logs(
    storage: &Storage,
    before: Option<&Checkpoint>,
    cancel: &Cancel,
) -> Result<Logs, LoadError> {
    let list =
        |log| LogListing::read(storage, log).map_err(|error| LoadError::inside(storage, error));
    // Commits are listed first: a batch that is committed between the two listings then looks
    // pending, which it was, and not committed without having been planned.
    let committed = list(Log::Commits)?;
    let planned = list(Log::Offsets)?;
    let commits = LogFiles::read(
        storage,
        Log::Commits,
        committed,
        before.map(|before| &before.commits),
        parse_commit_entry,
        cancel,
    )?;
    let offsets = LogFiles::read(
        storage,
        Log::Offsets,
        planned,
        before.map(|before| &before.offsets),
        parse_offset_entry,
        cancel,
    )?;
    Ok((offsets, commits))
}

fn query_id(storage: &Storage) -> Result<Option<String>, Problem> {
    match storage.read("metadata", MAX_METADATA) {
        Ok(bytes) => Ok(Some(parse_query_id(&bytes)?)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn state_names(storage: &Storage) -> Result<Vec<Name>, LoadError> {
    match storage.names("state") {
        Ok(names) => Ok(names),
        Err(error) if error.is_not_found() => Ok(Vec::new()),
        Err(error) => Err(LoadError::inside(storage, error)),
    }
}

/// The operators among the names in `state/` that are of this kind.
fn operators(names: &[Name], kind: EntryKind) -> Vec<OperatorId> {
    let of_kind = names.iter().filter(|name| name.kind == kind);
    let mut operators: Vec<OperatorId> =
        of_kind.filter_map(|name| names::decimal(&name.name)).map(OperatorId).collect();
    operators.sort_unstable();
    operators
}

/// The files that may describe `operator` at `batch`, best first.
fn metadata_files(
    storage: &Storage,
    operator: OperatorId,
    batch: BatchId,
    faults: &mut Vec<Fault>,
) -> Vec<String> {
    /// Older files tried after one that cannot be read.
    const TRIED: usize = 3;
    let dir = format!("state/{operator}/_metadata");
    let names = match storage.names(&format!("{dir}/v2")) {
        Ok(names) => names,
        Err(error) if error.is_not_found() => Vec::new(),
        Err(error) => {
            let problem = error.into();
            faults.push(Fault::UnreadableOperatorMetadata { file: format!("{dir}/v2"), problem });
            Vec::new()
        }
    };
    let mut batches: Vec<BatchId> = names
        .iter()
        .filter_map(|name| names::batch(&name.name))
        .filter(|id| *id <= batch)
        .collect();
    batches.sort_unstable();
    let newest = batches.iter().rev().take(TRIED).map(|id| format!("{dir}/v2/{id}"));
    newest.chain([format!("{dir}/metadata")]).collect()
}
