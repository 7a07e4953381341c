//! What can be wrong with the files of a store, as facts. Words for the operator are made
//! from these elsewhere.

use super::rocks::FileProblem;
use crate::units::{OperatorId, PartitionId, StateVersion};

/// Something wrong with one partition of one store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateFault {
    /// Which operator.
    pub operator: OperatorId,
    /// Which of its stores.
    pub store: String,
    /// Which partition; `None` for files that all partitions share.
    pub partition: Option<PartitionId>,
    /// The file or directory, relative to the checkpoint.
    pub file: String,
    /// What is wrong.
    pub kind: FaultKind,
    /// What it costs.
    pub outcome: Outcome,
}

impl StateFault {
    /// Whether it is only that there are no files, as in a partition that is never written.
    pub fn is_absence(&self) -> bool {
        matches!(self.kind, FaultKind::MissingDirectory | FaultKind::MissingVersion(_))
    }
}

/// Kinds of faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// The partition's directory is not there.
    MissingDirectory,
    /// Neither a snapshot nor a log of this version is there.
    MissingVersion(StateVersion),
    /// A snapshot descriptor is not readable.
    Snapshot(String),
    /// A table file is missing, of the wrong size or damaged.
    Sst(FileProblem),
    /// A changelog or delta is not readable.
    Log(String),
    /// A data file has no bytes.
    Empty,
    /// A schema file is missing or not readable; a sentence.
    Schema(String),
    /// Keys that belong to no known family, or lists that are none: how many, and an explanation.
    Rows(u64, &'static str),
    /// Keys whose hash says that they belong in other partitions.
    Misplaced {
        /// How many.
        keys: u64,
        /// Where they belong, and how many there; of some of them.
        belong: Vec<(PartitionId, u64)>,
    },
    /// A file is not as the checksum file beside it says; a sentence.
    FileChecksum(String),
    /// Rows whose checksum is another one than that of their bytes: how many.
    RowChecksums(u64),
    /// Keys or values that cannot be decoded: how many, and why the first one cannot.
    Undecodable(u64, String),
    /// The operator has no directory, though others with higher ids do.
    MissingOperator,
    /// The operator has no metadata, though its confs are those of an engine that writes it.
    MissingOperatorMetadata,
    /// Files belong to a version that no batch in the logs could have written yet.
    AheadOfLogs(StateVersion),
    /// The snapshot's count includes internal families: an offline repartition forgets which
    /// ones are.
    InternalCounted,
    /// The directory cannot be listed or the file not read for reasons outside of it.
    Unreadable(String),
}

/// What a fault costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Counts are complete all the same.
    Harmless,
    /// An older snapshot and the logs above it replaced the bad file.
    Recovered(StateVersion),
    /// The batch that was read does not need the file; older ones may.
    Unneeded,
    /// The partition's rows are not known.
    Lost,
}
