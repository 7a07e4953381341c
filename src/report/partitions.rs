//! The report behind `statetop partitions` and the partitions screen.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Grade;
use crate::analysis::Skew;
use crate::diagnosis::Finding;
use crate::units::{BatchId, Bytes, OperatorId, PartitionId, StateVersion, UnixMillis};

/// How the state of one batch is spread over partitions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartitionsReport {
    /// The batch whose result this is.
    pub batch: Option<BatchId>,
    /// The state version that this batch wrote.
    pub version: Option<StateVersion>,
    /// By operator id.
    pub operators: Vec<OperatorPartitions>,
    /// What could not be read, and why.
    pub findings: Vec<Finding>,
}

/// One operator's stores.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperatorPartitions {
    /// Its id.
    pub id: OperatorId,
    /// Spark's name for it.
    pub name: String,
    /// Its stores.
    pub stores: Vec<StorePartitions>,
}

/// One store, partition by partition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StorePartitions {
    /// `default` or Spark's store name.
    pub name: String,
    /// Sums over partitions.
    pub total: Total,
    /// How even the spread is, by rows and by bytes.
    pub skew: Skew,
    /// One per partition `0..n`, in order.
    pub partitions: Vec<PartitionReport>,
}

/// Sums over the partitions of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Total {
    /// Keys; `None` when any partition is unknown.
    pub rows: Option<u64>,
    /// The weakest grade among the partitions.
    pub rows_grade: Grade,
    /// Bytes of the files that make up the version.
    pub bytes: Bytes,
    /// Number of those files.
    pub files: u64,
}

/// One partition of one store.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartitionReport {
    /// Its id.
    pub partition: PartitionId,
    /// Keys of the non-internal families, as Spark's `numKeys` counts them.
    pub rows: Option<u64>,
    /// Where `rows` comes from.
    pub rows_grade: Grade,
    /// Every family by name, internal ones too.
    pub families: BTreeMap<String, FamilyCount>,
    /// Bytes of the files that make up the version: snapshot, its SST files, changelogs after it.
    pub bytes: Bytes,
    /// Number of those files.
    pub files: u64,
    /// Version of the newest snapshot at or below the version; `None` when there is none.
    pub snapshot_version: Option<StateVersion>,
    /// Changelogs (or deltas) that a load replays on top of the snapshot.
    pub changelogs: u64,
    /// The oldest version that any snapshot or changelog in the directory is of, whether it is
    /// needed or not; `None` when there is none.
    pub oldest_version: Option<StateVersion>,
    /// Number of snapshots and changelogs in the directory, of all versions.
    pub files_listed: u64,
    /// When the newest of the files was written, by its modification time.
    pub last_written: Option<UnixMillis>,
    /// Highest version that changed a key, where a replay has shown it; exact grade only.
    pub last_changed: Option<StateVersion>,
}

/// The counts of one column family in one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FamilyCount {
    /// Whether Spark keeps the family for itself.
    pub internal: bool,
    /// Keys; `None` until known.
    pub rows: Option<u64>,
    /// Rows as Spark's reader returns them: more than `rows` where a value is a list. Exact only.
    pub elements: Option<u64>,
}
