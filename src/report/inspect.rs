//! The report behind `statetop inspect` and the overview screen.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Grade;
use crate::diagnosis::Finding;
use crate::units::{BatchId, Bytes, OperatorId, UnixMillis};

/// Where a query stands, as its offset and commit logs tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The last planned batch is committed.
    Committed,
    /// The last planned batch has no commit: running, or stopped in the middle.
    Pending,
    /// The last planned batch changes the partition count and has no commit.
    UnfinishedRepartition,
    /// The query has started but never planned a batch.
    NoBatch,
    /// Batches were planned; none is committed.
    NoCommittedBatch,
    /// The directory holds nothing of a checkpoint.
    Empty,
}

/// The kind of state store that keeps a query's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// `RocksDB`: snapshots, SST files, changelogs.
    Rocksdb,
    /// The HDFS-backed provider: delta and snapshot files.
    Hdfs,
    /// A class that statetop does not read.
    Other,
}

/// Everything that the overview says about one checkpoint, at one batch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InspectReport {
    /// The checkpoint as the operator named it.
    pub checkpoint: String,
    /// The query's id from `metadata`. A copied checkpoint keeps the id of its original.
    pub query_id: Option<String>,
    /// Whether the query keeps state.
    pub stateful: bool,
    /// Format of the newest readable offset entry: 1 or 2.
    pub offset_log_version: Option<u32>,
    /// Format of the newest readable commit entry: 1, 2 or 3.
    pub commit_log_version: Option<u32>,
    /// The batch this report is about: the one asked for, else the last committed.
    pub batch: Option<BatchId>,
    /// The greatest id in the offset log.
    pub last_planned_batch: Option<BatchId>,
    /// The greatest id in the commit log.
    pub last_committed_batch: Option<BatchId>,
    /// When the last commit was written, by the file's modification time.
    pub last_commit_at: Option<UnixMillis>,
    /// When the newest offset entry was written, by the file's modification time.
    pub last_plan_at: Option<UnixMillis>,
    /// Where the query stands.
    pub status: Status,
    /// Partition count in force: of the inspected batch's offset entry, or of the planned batch
    /// where none is committed.
    pub partitions: Option<u32>,
    /// The count in every retained offset entry, oldest first.
    pub partition_history: Vec<HistoryEntry>,
    /// The kind of state store.
    pub provider: Option<Provider>,
    /// The provider's Java class, as pinned in the offset log.
    pub provider_class: Option<String>,
    /// 1: files named by version. 2: files named by version and a unique id.
    pub state_checkpoint_format: Option<u32>,
    /// Whether changelog files are present among the files of this batch.
    pub changelog: Option<bool>,
    /// Event-time watermark in force for the inspected batch; 0 means not set yet.
    pub watermark: Option<UnixMillis>,
    /// Processing-time clock of the inspected batch.
    pub batch_timestamp: Option<UnixMillis>,
    /// The confs pinned by the inspected batch's offset entry.
    pub conf: BTreeMap<String, String>,
    /// One per source of the query, in the entry's order.
    pub sources: Vec<SourceReport>,
    /// One per stateful operator, by id.
    pub operators: Vec<OperatorReport>,
    /// What the operator should know, most severe first.
    pub findings: Vec<Finding>,
}

/// The partition count of one retained batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct HistoryEntry {
    /// The batch.
    pub batch: BatchId,
    /// Its pinned `spark.sql.shuffle.partitions`; `None` when the entry has no such conf or is unreadable.
    pub partitions: Option<u32>,
    /// Whether this batch is a repartition: its count differs from the entry before it.
    pub repartition: bool,
}

/// One source of the query and how far the inspected batch reads it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceReport {
    /// Position (offset log v1) or source id or name (v2).
    pub id: String,
    /// `kafka`, `file`, `rate`, `delta`, `auto-loader`, `kinesis`, `event-hubs`, … or `unknown`.
    pub kind: String,
    /// One line for people: `orders 12 partitions, next offsets 7..45`.
    pub summary: String,
    /// The offset exactly as logged; `None` where the log has `-`.
    pub offset: Option<serde_json::Value>,
}

/// One stateful operator.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperatorReport {
    /// Its id; 0 is nearest the sink.
    pub id: OperatorId,
    /// Spark's name for it (`stateStoreSave`, `symmetricHashJoin`, …).
    pub name: String,
    /// True where the checkpoint does not name it (Spark 3.5) and stores and schemas were the evidence.
    pub name_inferred: bool,
    /// Its stores: one called `default`, or the four of join formats 1 and 2.
    pub stores: Vec<StoreReport>,
}

/// One store of an operator, summed over partitions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoreReport {
    /// `default` or Spark's store name.
    pub name: String,
    /// Virtual column families; only `default` for a store without families.
    pub column_families: Vec<ColumnFamilyReport>,
    /// Partition count in force.
    pub partitions: u32,
    /// Keys, as Spark's `numKeys` counts them; `None` when any partition is unknown.
    pub rows: Option<u64>,
    /// The weakest grade among the partitions.
    pub rows_grade: Grade,
    /// Bytes of the files that make up the inspected version.
    pub bytes: Bytes,
    /// Largest partition divided by the mean, by rows; `None` when unknown or empty.
    pub max_over_mean: Option<f64>,
    /// Key schema of the `default` (else first) family, as Spark's `StructType` JSON.
    pub key_schema: Option<serde_json::Value>,
    /// Value schema of the `default` (else first) family, as Spark's `StructType` JSON.
    pub value_schema: Option<serde_json::Value>,
}

/// One virtual column family of a store.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnFamilyReport {
    /// Its name.
    pub name: String,
    /// Whether Spark keeps it for itself: not part of `rows`.
    pub internal: bool,
    /// Spark's key encoder (`NoPrefixKeyStateEncoderSpec`, …), where the schema file tells it.
    pub key_encoder: Option<String>,
    /// Key schema as Spark's `StructType` JSON.
    pub key_schema: Option<serde_json::Value>,
    /// Value schema as Spark's `StructType` JSON.
    pub value_schema: Option<serde_json::Value>,
}
