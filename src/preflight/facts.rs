//! What was read of a checkpoint for a preflight: facts only, no judgement.

use std::collections::BTreeMap;

use crate::report::Provider;
use crate::state::loading::LoadOutcome;
use crate::units::{BatchId, Bytes, OperatorId, PartitionId};

/// Where the checkpoint is, as the engine writes it in messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Location {
    /// As the operator named it, and would name it to the engine.
    pub given: String,
    /// Made absolute, with its scheme: `file:///data/ck`.
    pub resolved: String,
    /// What paths of files begin with: `file:/data/ck`.
    pub files: String,
}

impl Location {
    /// The address of `path` in the checkpoint, as messages about files have it.
    pub fn file(&self, path: &str) -> String {
        format!("{}/{path}", self.files)
    }
}

/// Whether there is anything at the location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// A checkpoint, however broken.
    Checkpoint,
    /// No directory.
    Nothing,
    /// A directory that is empty, or holds something else; a sentence.
    NoCheckpoint(String),
}

/// A log entry, as the engine finds it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Entry<T> {
    /// There is none.
    #[default]
    Absent,
    /// It cannot be read.
    Trouble(Trouble),
    /// Its content.
    Read(T),
}

impl<T> Entry<T> {
    /// Its content.
    pub fn read(&self) -> Option<&T> {
        match self {
            Self::Read(content) => Some(content),
            Self::Absent | Self::Trouble(_) => None,
        }
    }
}

/// Why the engine cannot read a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// Of a newer format than the engine reads.
    Version(u32),
    /// Anything else, in a sentence.
    Content(String),
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Version(found) => write!(f, "format {found}, which the engine does not read"),
            Self::Content(reason) => f.write_str(reason),
        }
    }
}

/// What a resize needs of an offset entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffsetFacts {
    /// Format of the entry: 1 or 2.
    pub version: u32,
    /// Whether it has a metadata line.
    pub metadata: bool,
    /// The pinned count.
    pub partitions: Pinned,
}

/// A pinned partition count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pinned {
    /// The entry does not pin one.
    Absent,
    /// The text is no number.
    NoNumber(String),
    /// The count.
    Count(i64),
}

/// What the two logs say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogFacts {
    /// The greatest offset entry.
    pub last_offset: Option<BatchId>,
    /// The greatest commit entry.
    pub last_commit: Option<BatchId>,
    /// The offset entries that a resize reads: of the last batch, the one before it and the last
    /// committed one.
    pub offsets: BTreeMap<BatchId, Entry<OffsetFacts>>,
    /// Whether batches that are planned and not committed read anything.
    pub uncommitted_input: bool,
    /// The format of the last commit entry.
    pub commit: Entry<u32>,
    /// How many offset entries are retained.
    pub retained_offsets: u64,
    /// The oldest retained offset entry.
    pub oldest_offset: Option<BatchId>,
    /// Repartitions among them: batch, count before and after.
    pub repartitions: Vec<(BatchId, u32, u32)>,
}

impl LogFacts {
    /// The offset entry of a batch.
    pub fn offset(&self, batch: BatchId) -> &Entry<OffsetFacts> {
        self.offsets.get(&batch).unwrap_or(&Entry::Absent)
    }

    /// The count in force: that of the last committed batch.
    pub fn partitions(&self) -> Option<u32> {
        match self.offset(self.last_commit?).read()?.partitions {
            Pinned::Count(count) => u32::try_from(count).ok(),
            Pinned::Absent | Pinned::NoNumber(_) => None,
        }
    }

    /// Batches that are planned and not committed.
    pub fn uncommitted(&self) -> Option<(BatchId, BatchId)> {
        let (planned, committed) = (self.last_offset?, self.last_commit?);
        (planned > committed).then(|| (BatchId(committed.0 + 1), planned))
    }
}

/// Operator metadata, as the engine reads it: without falling back to an older file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperatorMetadataFacts {
    /// Read.
    Read {
        /// Its format: 1 or 2.
        version: u32,
        /// The operator's name.
        name: String,
    },
    /// Missing; a sentence.
    Missing(String),
    /// There, and unreadable: the file, and why.
    Unreadable(String, Trouble),
}

/// How an operator's rows are keyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keying {
    /// By columns of a grouping key.
    Keyed,
    /// By nothing: all state is in partition 0.
    Keyless,
}

/// One stateful operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorFacts {
    /// Its id.
    pub id: OperatorId,
    /// Its name by metadata, else told from its stores.
    pub name: String,
    /// What the engine makes of its metadata.
    pub metadata: OperatorMetadataFacts,
    /// How its rows are keyed.
    pub keying: Keying,
    /// Its stores.
    pub stores: Vec<StoreFacts>,
    /// The partition directories that are there.
    pub directories: DirectoryFacts,
}

/// The partition directories of an operator.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DirectoryFacts {
    /// Their numbers, ascending.
    pub present: Vec<u32>,
}

impl DirectoryFacts {
    /// Whether they count from 0 without a gap, as the engine demands.
    pub fn are_continuous(&self) -> bool {
        self.present.iter().zip(0_u32..).all(|(found, expected)| *found == expected)
    }

    /// Those below `count`: what the engine reads.
    #[must_use]
    pub fn below(&self, count: u32) -> Self {
        let present = self.present.iter().copied().filter(|partition| *partition < count);
        Self { present: present.collect() }
    }

    /// Those from `count` on.
    pub fn beyond(&self, count: u32) -> impl Iterator<Item = u32> + '_ {
        self.present.iter().copied().filter(move |partition| *partition >= count)
    }
}

/// One store of an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreFacts {
    /// Its name.
    pub name: String,
    /// Its schema files.
    pub schema: SchemaFacts,
}

/// The schema files of a store, as the engine finds them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaFacts {
    /// All are readable.
    Readable,
    /// A file of format 1 or 2, which has a fixed place, is missing or unreadable.
    Fixed {
        /// The file, relative to the checkpoint.
        file: String,
        /// Why.
        trouble: Trouble,
    },
    /// A file that the metadata names is not where it says.
    Named {
        /// Its address as the metadata has it.
        file: String,
        /// Why.
        reason: String,
    },
}

/// What loading one partition of one store would come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The operator.
    pub operator: OperatorId,
    /// The store.
    pub store: String,
    /// The partition.
    pub partition: PartitionId,
    /// The result.
    pub outcome: LoadOutcome,
    /// Whether a session with changelogs would load what this one cannot.
    pub repairable: bool,
}

/// What the state directories say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StateFacts {
    /// The operators that have a directory, by id.
    pub operators: Vec<OperatorFacts>,
    /// The provider's class.
    pub provider_class: String,
    /// Its kind.
    pub provider: Option<Provider>,
    /// The state format of stream-stream joins.
    pub join_format: u32,
    /// Every partition that the engine would load, in its order.
    pub loaded: Vec<Loaded>,
    /// Whether all of them were looked at.
    pub complete: bool,
    /// Bytes of the files that make up the state to be read.
    pub bytes: Bytes,
    /// Operators that have no directory, though others with higher ids do.
    pub gone: Vec<OperatorId>,
    /// Schemas with times of more than six digits.
    pub nanoseconds: Vec<Nanoseconds>,
    /// Where operator metadata says that schema files are, when that is not here.
    pub elsewhere: Option<String>,
    /// Whether the files are there.
    pub elsewhere_exists: bool,
    /// What is known of the rows.
    pub rows: RowFacts,
}

/// A schema with times of more than six digits, which Spark 4.3 brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nanoseconds {
    /// The operator.
    pub operator: OperatorId,
    /// The store, in the operator's order.
    pub store: usize,
    /// Whether it is the schema of keys.
    pub in_key: bool,
    /// The schema as JSON.
    pub schema: String,
}

/// What reading every row said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RowFacts {
    /// They were not read.
    #[default]
    NotRead,
    /// They can be decoded.
    Sound,
    /// Lists of a stream-stream join are none: what an earlier resize of state format 4 leaves.
    BrokenLists(OperatorId, String),
}

/// All that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// Where.
    pub location: Location,
    /// Whether there is anything.
    pub presence: Presence,
    /// The logs.
    pub logs: LogFacts,
    /// The state; `None` before it has been looked at.
    pub state: Option<StateFacts>,
}
