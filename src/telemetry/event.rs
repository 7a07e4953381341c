//! The events of running queries, in one form for all sources.
//!
//! `None` means that the source did not say, or said something that is no such value. Events are
//! written into recordings as they are: a field that gets another name or meaning there needs
//! another version of [`super::recording`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::units::{BatchId, Bytes, OperatorId, PartitionId, UnixMillis};

/// Something that a source told.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Where it stood.
    pub place: Place,
    /// What it is.
    pub kind: EventKind,
}

/// Where an event stood in its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The source's name: a path, an address, or `-` for standard input. A file of several that
    /// belong to one source is named itself.
    pub source: Arc<str>,
    /// The line on which the piece begins, counted from 1; `None` where there are no lines, or
    /// the source was not read from its start.
    pub line: Option<u64>,
}

/// What an event is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A query was started, or restarted under a new run id.
    Started(Started),
    /// A microbatch was done.
    Progress(Box<Progress>),
    /// A query waits for data.
    Idle {
        /// Which query.
        query: QueryRef,
        /// When.
        timestamp: Option<UnixMillis>,
    },
    /// A query ended.
    Terminated(Terminated),
    /// What the tasks of a microbatch did, by partition of one stateful operator.
    PartitionLoad(Box<PartitionLoad>),
    /// What the application, or one query of it, runs on, with which confs.
    Environment(Box<Environment>),
    /// A driver's log tells of an offline repartition.
    Repartition(RepartitionNote),
    /// A restarted query did not get a conf that it asked for.
    ConfRestored(ConfRestored),
    /// The source lost its connection, was cut or rotated, or skipped something; the text says
    /// what and what is done about it.
    Interrupted(String),
    /// A piece that looks like an event and cannot be read: why.
    Unreadable(String),
}

/// Which query an event is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct QueryRef {
    /// The id that lives in the checkpoint's `metadata` file: the same over restarts.
    #[serde(with = "shared", default)]
    pub id: Option<Arc<str>>,
    /// The id of this run: another after each restart.
    #[serde(with = "shared", default)]
    pub run: Option<Arc<str>>,
    /// The name that the program gave it.
    #[serde(with = "shared", default)]
    pub name: Option<Arc<str>>,
}

/// A query was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Which query.
    pub query: QueryRef,
    /// When.
    pub timestamp: Option<UnixMillis>,
    /// Its checkpoint, where the source tells: drivers' logs do, event logs do not.
    pub checkpoint: Option<String>,
}

/// A query ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminated {
    /// Which query.
    pub query: QueryRef,
    /// When, where the source tells: event logs of Spark do not.
    pub timestamp: Option<UnixMillis>,
    /// The exception with its stack trace; `None` when it was stopped.
    pub exception: Option<String>,
    /// The error class that Spark names (`errorClassOnException`). Often `None` although the
    /// exception's text has one: see [`Self::class_in_text`].
    pub error_class: Option<String>,
    /// The error class that stands in brackets in the exception's text, the deepest useful one.
    pub class_in_text: Option<String>,
}

/// A number with what it says when it is not known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// A whole number.
    Whole(i64),
    /// A number with a fraction, or too large for a whole one; finite.
    Real(f64),
}

/// The state rows of an operator, as the query reports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rows {
    /// This many keys.
    Known(u64),
    /// Not counted: `rocksdb.trackTotalNumberOfRows` is off, so that 0 is reported although rows
    /// are written. Never to be shown as empty.
    Untracked,
    /// The source does not say, or says 0 of a batch that may have left rows or not.
    Unknown,
}

/// A query's watermark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Watermark {
    /// At this moment of event time.
    At(UnixMillis),
    /// There is one, and nothing has moved it yet: Spark reports 1970-01-01.
    NotSet,
    /// There is none, or the source does not say.
    None,
}

/// Who tells of a microbatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Teller {
    /// The query itself, in a `StreamingQueryProgress`: all there is to know.
    #[default]
    Query,
    /// The plan that it ran, as the Spark UI keeps it. The time is that at which the plan began,
    /// and of the phases only the run of the plan is known (`addBatch`). Rows of state are exact;
    /// memory and longer times are rounded as Spark shows them. Watermark, event times, rates and
    /// offsets are not known.
    Plan,
}

/// A microbatch that was done: Spark's `StreamingQueryProgress`, or what takes its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Who tells of it.
    pub told_by: Teller,
    /// Which query.
    pub query: QueryRef,
    /// The microbatch.
    pub batch: Option<BatchId>,
    /// When its trigger began.
    pub timestamp: Option<UnixMillis>,
    /// How long it took in all, in milliseconds: `batchDuration` (Spark 4.0 and later), else
    /// `durationMs.triggerExecution`.
    pub duration_ms: Option<u64>,
    /// Its phases in milliseconds, in the order of the source. An open set of names.
    pub phases: Vec<(String, u64)>,
    /// Rows that came in.
    pub rows_in: Option<u64>,
    /// Rows per second that came in since the batch before.
    pub input_rate: Option<f64>,
    /// Rows per second while it ran.
    pub processed_rate: Option<f64>,
    /// The event times in it.
    pub event_time: EventTime,
    /// The watermark that it ran with.
    pub watermark: Watermark,
    /// The stateful operators; the place of one is its operator id.
    pub operators: Vec<OperatorProgress>,
    /// The sources.
    pub sources: Vec<SourceProgress>,
    /// The sink.
    pub sink: Option<SinkProgress>,
    /// The fields that have no place above, as they were.
    pub other: Map<String, Value>,
}

/// The event times of the rows of a microbatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EventTime {
    /// The earliest.
    pub min: Option<UnixMillis>,
    /// The mean.
    pub avg: Option<UnixMillis>,
    /// The latest.
    pub max: Option<UnixMillis>,
}

/// A stateful operator in a microbatch. Times are sums over its tasks, not wall time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperatorProgress {
    /// Spark's name for it.
    pub name: Option<String>,
    /// Rows in its state after the batch, over all partitions.
    pub rows: Rows,
    /// Rows that the batch put.
    pub updated: Option<u64>,
    /// Rows that the batch removed.
    pub removed: Option<u64>,
    /// Rows that came too late for the watermark.
    pub dropped: Option<u64>,
    /// Memory of its state stores.
    pub memory: Option<Bytes>,
    /// Its partitions.
    pub partitions: Option<u64>,
    /// Its state store instances: more than partitions where an operator has several stores.
    pub instances: Option<u64>,
    /// Milliseconds spent on updates.
    pub update_ms: Option<u64>,
    /// Milliseconds spent on removals.
    pub removal_ms: Option<u64>,
    /// Milliseconds spent on commits.
    pub commit_ms: Option<u64>,
    /// Custom metrics that are not of one partition, in the order of the source.
    pub custom: Vec<Custom>,
    /// Custom metrics of one partition (`NAME.partition_P_STORE`). Spark tells those of the few
    /// that lag most only: never all partitions.
    pub labelled: Vec<PartitionLabelled>,
    /// The fields that have no place above, as they were.
    pub other: Map<String, Value>,
}

/// A custom metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Custom {
    /// Its name.
    pub name: String,
    /// Its value; `None` when it is no number.
    pub value: Option<Measure>,
}

/// A custom metric of one partition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartitionLabelled {
    /// Its name without the partition: `SnapshotLastUploaded`.
    pub name: String,
    /// The partition.
    pub partition: PartitionId,
    /// The store.
    pub store: String,
    /// Its value. Of `SnapshotLastUploaded` a version; -1 for never.
    pub value: Option<Measure>,
}

/// A source in a microbatch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceProgress {
    /// What it is, in Spark's words.
    pub description: Option<String>,
    /// Where the batch began, as the source writes offsets.
    pub start: Option<Value>,
    /// Where it ended.
    pub end: Option<Value>,
    /// What there was to read.
    pub latest: Option<Value>,
    /// Rows that came in from it.
    pub rows_in: Option<u64>,
    /// Rows per second that came in from it.
    pub input_rate: Option<f64>,
    /// Rows per second that were worked off.
    pub processed_rate: Option<f64>,
    /// Its own metrics, in the order of the source; numbers may have come as strings.
    pub metrics: Vec<(String, Value)>,
    /// How far it is behind.
    pub lag: Lag,
    /// The fields that have no place above, as they were.
    pub other: Map<String, Value>,
}

/// How far a source is behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Lag {
    /// Offsets (rows, for Kafka) over all its partitions: latest − end.
    pub offsets: Option<u64>,
    /// Offsets of the partition that is furthest behind (`maxOffsetsBehindLatest`).
    pub worst: Option<u64>,
    /// Bytes (`numBytesOutstanding`, `estimatedTotalBytesBehindLatest`).
    pub bytes: Option<u64>,
    /// Files (`numFilesOutstanding`).
    pub files: Option<u64>,
}

/// The sink in a microbatch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SinkProgress {
    /// What it is, in Spark's words.
    pub description: Option<String>,
    /// Rows written; `None` when the sink does not count (-1).
    pub rows_out: Option<u64>,
    /// Its other fields, as they were.
    pub other: Map<String, Value>,
}

/// What the tasks of one microbatch did, by partition of one stateful operator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartitionLoad {
    /// Which query.
    pub query: QueryRef,
    /// The microbatch.
    pub batch: Option<BatchId>,
    /// The operator: its id and Spark's name for it, where the plan tells.
    pub operator: Option<OperatorId>,
    /// Spark's name for the plan node, such as `StateStoreSave`.
    pub operator_name: Option<String>,
    /// When the last of the tasks ended.
    pub timestamp: Option<UnixMillis>,
    /// The tasks, by partition: of several attempts the one that succeeded.
    pub tasks: Vec<TaskLoad>,
    /// Tasks that the stage has, where known: more than `tasks` while it runs or where some were
    /// not seen.
    pub expected: Option<u32>,
}

/// What one task did. Measures of state are of the operator; measures of time and input are of
/// the whole task, which may run several operators.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TaskLoad {
    /// The state partition: the task's `Partition ID`.
    pub partition: PartitionId,
    /// Rows in the operator's state after the batch; `None` also when Spark does not count them.
    pub rows: Option<u64>,
    /// Rows put.
    pub updated: Option<u64>,
    /// Rows removed.
    pub removed: Option<u64>,
    /// Rows that came too late for the watermark.
    pub dropped: Option<u64>,
    /// Memory of the state stores.
    pub memory: Option<Bytes>,
    /// Rows that arrived: shuffle records read by the task.
    pub arriving: Option<u64>,
    /// Bytes that arrived: shuffle bytes read by the task.
    pub arriving_bytes: Option<Bytes>,
    /// Milliseconds from launch to end.
    pub task_ms: Option<u64>,
    /// Milliseconds of updates.
    pub update_ms: Option<u64>,
    /// Milliseconds of removals.
    pub removal_ms: Option<u64>,
    /// Milliseconds of the commit.
    pub commit_ms: Option<u64>,
    /// Milliseconds of garbage collection.
    pub gc_ms: Option<u64>,
    /// Bytes spilled to disk.
    pub spilled: Option<Bytes>,
    /// Milliseconds of waiting for shuffle blocks.
    pub fetch_wait_ms: Option<u64>,
    /// The executor.
    #[serde(with = "shared", default)]
    pub executor: Option<Arc<str>>,
    /// Its host.
    #[serde(with = "shared", default)]
    pub host: Option<Arc<str>>,
    /// Whether it was loaded from storage, not found on the executor, where Spark tells: 4.2 and
    /// later, not for aggregations.
    pub loaded: Option<bool>,
}

/// What an application, or one query of it, runs on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Environment {
    /// The query whose session has these confs; `None` for those of the whole application. An
    /// event log tells the confs of a session where they are not Spark's defaults; of what the
    /// checkpoint pins they have the checkpoint's value.
    #[serde(default)]
    pub query: Option<QueryRef>,
    /// Spark's version.
    pub spark_version: Option<String>,
    /// The application's id.
    pub application: Option<String>,
    /// Confs (`spark.*`), values that look secret left out.
    pub confs: Vec<(String, String)>,
}

/// What a driver's log says of an offline repartition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepartitionNote {
    /// The checkpoint, as the log names it.
    pub checkpoint: Option<String>,
    /// The count asked for.
    pub partitions: u32,
    /// The batch of the repartition, once the log tells.
    pub batch: Option<BatchId>,
    /// When the line was written.
    pub timestamp: Option<UnixMillis>,
    /// How far it is.
    pub stage: RepartitionStage,
}

/// How far an offline repartition is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepartitionStage {
    /// It was asked for.
    Begun,
    /// Its batch is in the offset log: from here on only the same count can be tried again.
    Planned,
    /// It is done.
    Done {
        /// How long it took, in milliseconds.
        duration_ms: Option<u64>,
    },
    /// It was refused, or it broke off.
    Failed {
        /// The exception with its stack trace.
        exception: Option<String>,
        /// The error class that stands in brackets in the exception's text, the deepest useful one.
        class_in_text: Option<String>,
    },
}

/// A conf that a restarted query asked for and did not get: the checkpoint's value was kept.
/// Spark says so with a WARN line in the driver's log only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfRestored {
    /// Which query; only structured logs tell.
    pub query: QueryRef,
    /// The conf, as the log names it: `spark.sql.shuffle.partitions`, on Spark 4.2 and later
    /// `spark.sql.streaming.internal.stateStore.partitions` for the same.
    pub key: String,
    /// What the session asked for.
    pub asked: String,
    /// What the checkpoint has.
    pub kept: String,
    /// When the line was written.
    pub timestamp: Option<UnixMillis>,
}

/// Texts that are shared between events, as plain texts.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde gives a reference to the field")]
    pub(super) fn serialize<S: Serializer>(
        text: &Option<Arc<str>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        text.as_deref().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Arc<str>>, D::Error> {
        Ok(Option::<String>::deserialize(deserializer)?.map(Arc::from))
    }
}
