//! The lines behind `statetop progress`: events of running queries, and what lies between them.

mod build;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::units::{BatchId, Bytes, OperatorId, PartitionId, UnixMillis};

/// One line. Every field is there for every kind; what a kind does not have is `None` or empty.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProgressLine {
    /// What it is.
    pub kind: LineKind,
    /// Who tells of a microbatch.
    pub told_by: Option<TellerWord>,
    /// The query's id: the same over restarts.
    pub query_id: Option<String>,
    /// The id of its run.
    pub run_id: Option<String>,
    /// The name that the program gave it.
    pub name: Option<String>,
    /// The microbatch; of a gap the first that is missing.
    pub batch_id: Option<BatchId>,
    /// When its trigger began, or the event took place.
    pub timestamp: Option<UnixMillis>,
    /// Rows that came in.
    pub rows_in: Option<u64>,
    /// Milliseconds that the microbatch took in all.
    pub batch_duration_ms: Option<u64>,
    /// Its phases: name to milliseconds.
    pub duration_ms: Map<String, Value>,
    /// Rows per second that came in since the microbatch before.
    pub input_rate: Option<f64>,
    /// Rows per second while it ran.
    pub processed_rate: Option<f64>,
    /// The latest event time in it.
    pub event_time_max: Option<UnixMillis>,
    /// The watermark that it ran with; 0 when nothing has moved it yet.
    pub watermark: Option<UnixMillis>,
    /// The stateful operators, by id.
    pub operators: Vec<OperatorLine>,
    /// The sources.
    pub sources: Vec<SourceLine>,
    /// The sink.
    pub sink: Option<SinkLine>,
    /// What the tasks did.
    pub partition_load: Vec<LoadLine>,
    /// The exception that ended the query or its repartition, with its stack trace.
    pub exception: Option<String>,
    /// Its error class: the deepest useful one in its text, else the one that Spark named.
    pub error_class: Option<String>,
    /// The checkpoint, where a driver's log names it.
    pub checkpoint: Option<String>,
    /// The repartition.
    pub repartition: Option<RepartitionLine>,
    /// The conf that was asked for and not given.
    pub conf: Option<ConfLine>,
    /// What the application runs on.
    pub environment: Option<EnvironmentLine>,
    /// The last missing microbatch of a gap.
    pub last_batch_id: Option<BatchId>,
    /// What happened, as a sentence, where the fields do not say it.
    pub text: Option<String>,
    /// The source, as named on the command line.
    pub source: String,
    /// The line in it, counted from 1.
    pub source_line: Option<u64>,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// A query was started.
    Started,
    /// A microbatch was done.
    Progress,
    /// A query waits for data.
    Idle,
    /// A query ended: with an exception it failed, without one it was stopped.
    Terminated,
    /// What the tasks of a microbatch did, by partition.
    PartitionLoad,
    /// Microbatches that left no progress.
    Gap,
    /// A piece that looks like an event and cannot be read.
    Unreadable,
    /// A query goes on under a new run id.
    Restart,
    /// A repartition.
    Repartition,
    /// A conf was taken from the checkpoint, whatever the session asked for.
    ConfRestored,
    /// What an application runs on; with a query id, the confs of that query's session.
    Environment,
    /// The source was cut, replaced or lost.
    Interrupted,
}

/// Who tells of a microbatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TellerWord {
    /// The query itself, in its progress.
    Query,
    /// The plan that it ran, in the Spark UI: `duration_ms` has its run alone.
    Plan,
}

/// A stateful operator in a microbatch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperatorLine {
    /// Spark's name for it.
    pub name: Option<String>,
    /// Rows in its state; `None` when not known.
    pub rows: Option<u64>,
    /// Whether they are known: without row tracking Spark reports 0.
    pub rows_known: bool,
    /// Whether the query counts them at all; `None` when that is not known either.
    pub rows_tracked: Option<bool>,
    /// Rows put.
    pub updated: Option<u64>,
    /// Rows removed.
    pub removed: Option<u64>,
    /// Rows that came too late for the watermark.
    pub dropped: Option<u64>,
    /// Memory of its state stores.
    pub memory_bytes: Option<Bytes>,
    /// Its partitions.
    pub partitions: Option<u64>,
    /// Its custom metrics, name to value; those of one partition under their whole names.
    pub custom: Map<String, Value>,
}

/// A source in a microbatch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceLine {
    /// What it is, in Spark's words.
    pub description: Option<String>,
    /// Where the microbatch began.
    pub start: Option<Value>,
    /// Where it ended.
    pub end: Option<Value>,
    /// What there was to read.
    pub latest: Option<Value>,
    /// Rows that came in from it.
    pub rows_in: Option<u64>,
    /// How far it is behind.
    pub lag: LagLine,
}

/// How far a source is behind; `None` where it does not say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LagLine {
    /// Offsets over all partitions of the source: rows, for Kafka.
    pub offsets: Option<u64>,
    /// Offsets of the partition of the source that is furthest behind.
    pub worst: Option<u64>,
    /// Bytes.
    pub bytes: Option<u64>,
    /// Files.
    pub files: Option<u64>,
}

/// The sink in a microbatch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SinkLine {
    /// What it is, in Spark's words.
    pub description: Option<String>,
    /// Rows written; `None` when it does not count.
    pub rows_out: Option<u64>,
}

/// What the task of one partition did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoadLine {
    /// The stateful operator's id.
    pub operator: Option<OperatorId>,
    /// The partition.
    pub partition: PartitionId,
    /// Rows in its state.
    pub rows: Option<u64>,
    /// Rows put.
    pub updated: Option<u64>,
    /// Rows removed.
    pub removed: Option<u64>,
    /// Memory of its state stores.
    pub memory_bytes: Option<Bytes>,
    /// Rows that arrived.
    pub arriving: Option<u64>,
    /// Milliseconds from launch to end.
    pub task_ms: Option<u64>,
    /// Milliseconds of the commit.
    pub commit_ms: Option<u64>,
    /// The executor.
    pub executor: Option<String>,
}

/// A repartition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RepartitionLine {
    /// How far it is.
    pub stage: RepartitionWord,
    /// The count before.
    pub from: Option<u64>,
    /// The count after, or asked for.
    pub to: Option<u64>,
    /// Milliseconds that it took.
    pub duration_ms: Option<u64>,
}

/// How far a repartition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RepartitionWord {
    /// It was asked for.
    Begun,
    /// Its batch is in the offset log.
    Planned,
    /// It is done.
    Done,
    /// It was refused, or it broke off.
    Failed,
    /// Only its effect shows it.
    Seen,
}

/// A conf that was asked for and not given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfLine {
    /// Its name.
    pub key: String,
    /// What the session asked for.
    pub asked: String,
    /// What the checkpoint has.
    pub kept: String,
}

/// What an application runs on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EnvironmentLine {
    /// Spark's version.
    pub spark_version: Option<String>,
    /// The application's id.
    pub application: Option<String>,
    /// Its confs, name to value.
    pub confs: Map<String, Value>,
}

impl ProgressLine {
    /// Rows in the state of all operators; `None` when any is not known, or there are none.
    pub fn state_rows(&self) -> Option<u64> {
        let rows: Option<Vec<u64>> = self.operators.iter().map(|operator| operator.rows).collect();
        rows.filter(|rows| !rows.is_empty())
            .map(|rows| rows.into_iter().fold(0, u64::saturating_add))
    }

    /// Milliseconds from the watermark to the latest event time.
    pub fn watermark_lag_ms(&self) -> Option<u64> {
        let watermark = self.watermark.filter(|moment| moment.0 != 0)?;
        Some(watermark.until(self.event_time_max?))
    }
}
