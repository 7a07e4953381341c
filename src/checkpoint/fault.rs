//! What can be wrong with a checkpoint, as facts: which file, what. The words for the operator are
//! made in `diagnosis::checkpoint`.

use super::format::FormatError;
use crate::storage::StorageError;
use crate::units::BatchId;

/// One of the two logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Log {
    /// `offsets/`: planned batches.
    Offsets,
    /// `commits/`: finished batches.
    Commits,
}

impl Log {
    /// Its directory.
    pub fn dir(self) -> &'static str {
        match self {
            Self::Offsets => "offsets",
            Self::Commits => "commits",
        }
    }

    /// The file of one batch.
    pub fn file(self, batch: BatchId) -> String {
        format!("{}/{batch}", self.dir())
    }
}

/// Why a file says nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// Its content is not what it should be.
    Format(FormatError),
    /// Its bytes could not be read: the storage's message.
    Storage(String),
}

impl From<FormatError> for Problem {
    fn from(error: FormatError) -> Self {
        Self::Format(error)
    }
}

impl From<StorageError> for Problem {
    fn from(error: StorageError) -> Self {
        Self::Storage(error.to_string())
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Format(error) => error.fmt(f),
            Self::Storage(message) => f.write_str(message),
        }
    }
}

/// Who reads a log entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The engine, when the query starts: the last two offset entries and the last commit.
    Restart,
    /// Nobody but those who look back.
    History,
}

/// Batches in a row, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchRange {
    /// The first.
    pub first: BatchId,
    /// The last.
    pub last: BatchId,
}

/// One thing that is not as in a healthy, idle checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// There are log entries but no `metadata`.
    MissingMetadata,
    /// `metadata` says nothing.
    UnreadableMetadata {
        /// Why.
        problem: Problem,
    },
    /// A part of the checkpoint is a symbolic link that leads out of it, a pipe or a device.
    NotFollowed {
        /// The part.
        path: String,
    },
    /// A log entry says nothing.
    UnreadableEntry {
        /// Which log.
        log: Log,
        /// Which entry.
        batch: BatchId,
        /// Why.
        problem: Problem,
        /// The newest readable entry of that log below it.
        readable_before: Option<BatchId>,
        /// Who reads it.
        need: Need,
    },
    /// In the newest readable offset entry, the offset of a source is not JSON.
    UnreadableSourceOffset {
        /// The entry.
        batch: BatchId,
        /// The source's position, id or name; text from a file.
        source: String,
        /// Why.
        problem: FormatError,
    },
    /// Committed batches whose offset entries are gone.
    MissingOffsets {
        /// The batches.
        batches: BatchRange,
        /// Who reads them.
        need: Need,
    },
    /// Batches inside the log that have neither an offset nor a commit entry.
    Gap {
        /// The batches.
        batches: BatchRange,
        /// Who reads them.
        need: Need,
    },
    /// Batches before the last committed one that have an offset but no commit entry.
    MissingCommits {
        /// The batches.
        batches: BatchRange,
    },
    /// Batches without a commit entry though a later one is planned, which happens only after
    /// they are committed.
    LostCommits {
        /// The batches.
        batches: BatchRange,
    },
    /// The last planned batch is not committed.
    Pending {
        /// The batch.
        batch: BatchId,
    },
    /// The last planned batch changes the partition count and is not committed.
    UnfinishedRepartition {
        /// The batch.
        batch: BatchId,
        /// The count before it.
        from: u32,
        /// The count that it sets.
        to: u32,
    },
    /// The offset entry of a batch is missing or unreadable, so its confs are taken from an older
    /// one.
    ConfsFromOlderEntry {
        /// The batch.
        wanted: BatchId,
        /// The entry that is used instead; `None` when there is none.
        used: Option<BatchId>,
    },
    /// The query keeps state, but the entry in force pins no partition count.
    NoPartitionCount {
        /// The entry.
        batch: BatchId,
        /// What stands in the place of a count.
        found: Option<String>,
    },
    /// Operator metadata says nothing.
    UnreadableOperatorMetadata {
        /// The file.
        file: String,
        /// Why.
        problem: Problem,
    },
    /// Operator metadata states another partition count than the one in force.
    OtherOperatorCount {
        /// The file.
        file: String,
        /// Its format: 1 never follows a repartition.
        version: u32,
        /// The count that it states.
        stated: u32,
        /// The count in force, from the offset log.
        in_force: u32,
    },
    /// Operator metadata names schema files in another directory than this checkpoint's.
    SchemaFilesElsewhere {
        /// The operator metadata file.
        file: String,
        /// The checkpoint directory that it names; text from a file.
        written_at: String,
    },
    /// A log has more entries than are read; the oldest were left out.
    OlderEntriesNotRead {
        /// Which log.
        log: Log,
        /// How many were left out.
        count: u64,
    },
    /// A log's directory holds names that are not entries, checksums or temporary files.
    StrangeNames {
        /// Which log.
        log: Log,
        /// How many.
        count: u64,
        /// One of them.
        example: String,
    },
}
