//! The report behind `statetop scan`: one line per checkpoint below some roots.

use std::cmp::Ordering;

use serde::Serialize;

use super::{Grade, Provider, Status};
use crate::diagnosis::candidate::{Judgement, Standing};
use crate::diagnosis::{Finding, Rules, Severity};
use crate::units::{BatchId, Bytes, OperatorId, UnixMillis};

/// Every checkpoint that was found, most to gain from a resize first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScanReport {
    /// The roots as the operator named them.
    pub roots: Vec<String>,
    /// Whether everything below the roots was seen.
    pub extent: Extent,
    /// When the scan began.
    pub observed_at: UnixMillis,
    /// Directories that were listed.
    pub directories: u64,
    /// Directories that lie deeper than was asked for and were not looked into.
    pub too_deep: u64,
    /// Checkpoints found, those that could not be read included.
    pub found: u64,
    /// Those that were read, ranked: a resize may bring something, then those where something
    /// forbids it, then those with nothing to gain; ties by path.
    pub checkpoints: Vec<ScannedCheckpoint>,
    /// What could not be read, by path.
    pub unreadable: Vec<Unreadable>,
}

/// How much of what lies below the roots was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// Everything down to the depth asked for.
    Complete,
    /// Part of it: the scan was given up.
    Cancelled,
    /// Part of it: there are more directories than a scan looks at.
    TooManyDirectories,
}

/// One checkpoint, by its logs and the snapshots' own counts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScannedCheckpoint {
    /// Its address: `statetop PATH` opens it.
    pub path: String,
    /// Its name in the configuration file; `None` where it has none there.
    pub name: Option<String>,
    /// The query's id from `metadata`.
    pub query_id: Option<String>,
    /// Where the query stands.
    pub status: Status,
    /// Its stateful operators, by id.
    pub operators: Vec<ScannedOperator>,
    /// The kind of state store.
    pub provider: Option<Provider>,
    /// The partition count in force.
    pub partitions: Option<u32>,
    /// Keys in all stores of all operators; `None` when any is unknown.
    pub rows: Option<u64>,
    /// The weakest grade among them.
    pub rows_grade: Grade,
    /// Bytes of the files that make up the last committed version, over all stores.
    pub bytes: Bytes,
    /// `rows` divided by `partitions`; `None` when either is unknown or there is no state.
    pub rows_per_partition: Option<f64>,
    /// Largest partition divided by the mean, by rows, in the least even store.
    pub max_over_mean: Option<f64>,
    /// The oldest batch in the offset log.
    pub first_batch: Option<BatchId>,
    /// The last committed batch.
    pub last_batch: Option<BatchId>,
    /// When it was committed, by the file's modification time.
    pub last_commit_at: Option<UnixMillis>,
    /// Milliseconds from then to the scan.
    pub last_commit_age: Option<u64>,
    /// The usual time of a batch in milliseconds: the median of the last ten, from offset entry to
    /// commit entry, by the files' modification times.
    pub batch_ms: Option<u64>,
    /// Findings at error level; `statetop findings PATH` tells them.
    pub errors: u64,
    /// Findings at warning level.
    pub warnings: u64,
    /// Which group of the list it belongs to.
    pub standing: Standing,
    /// What speaks for a resize, strongest first.
    pub reasons: Vec<ScanReason>,
    /// What forbids one, most pressing first.
    pub obstacles: Vec<ScanObstacle>,
    /// The judgement behind `standing`, `reasons` and `obstacles`, by which the list is ordered.
    #[serde(skip)]
    pub judged: Judgement,
    /// The findings behind `errors` and `warnings`.
    #[serde(skip)]
    pub findings: Vec<Finding>,
}

impl ScannedCheckpoint {
    /// The same with the findings that `rules` let through.
    #[must_use]
    pub fn under(mut self, rules: &Rules) -> Self {
        (self.findings, _) = rules.apply(self.findings);
        let of = |severity| self.findings.iter().filter(|one| one.severity == severity).count();
        (self.errors, self.warnings) = (of(Severity::Error) as u64, of(Severity::Warning) as u64);
        self
    }

    /// Most to gain from a resize first; ties by path.
    pub fn by_rank(&self, other: &Self) -> Ordering {
        self.judged.order(&other.judged).then_with(|| self.path.cmp(&other.path))
    }
}

/// A stateful operator of a scanned checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScannedOperator {
    /// Its id; 0 is nearest the sink.
    pub id: OperatorId,
    /// Spark's name for it.
    pub name: String,
}

/// What speaks for a resize.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScanReason {
    /// `large-partitions`, `skewed`, `nearly-empty` or `never-revisited`.
    pub kind: &'static str,
    /// How many times its bound is exceeded; 1 for `never-revisited`, which has none.
    pub factor: f64,
    /// One sentence.
    pub text: String,
}

/// What forbids a resize.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScanObstacle {
    /// `unfinished-repartition`, `errors`, `no-committed-batch`, `stateless`, `provider`,
    /// `streaming-limit`, `keyless-aggregate`, `join-format-4`, `no-operator-metadata` or
    /// `unknown-count`.
    pub kind: &'static str,
    /// One sentence.
    pub text: String,
}

/// Something below a root that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    /// Its address.
    pub path: String,
    /// What it is.
    pub kind: UnreadableKind,
    /// Why it could not be read.
    pub reason: String,
}

/// What could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UnreadableKind {
    /// A root that the operator named.
    Root,
    /// A directory below a root: checkpoints in it are not in the report.
    Directory,
    /// A directory that is a checkpoint by its names.
    Checkpoint,
    /// A symbolic link that leads nowhere or out of the root; it is not followed. No fault.
    Link,
}
