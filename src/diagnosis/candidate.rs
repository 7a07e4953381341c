//! Would a resize bring this query anything, and what forbids one?
//!
//! Judged by what the logs and the snapshots say: enough to choose among hundreds of checkpoints
//! which to look at, not enough for a verdict, which needs every key rehashed. Every bound is a
//! constant here, with its reason. Pure.

use std::cmp::Ordering;

use crate::analysis::spread::{BYTES_TO_JUDGE, ROWS_TO_JUDGE, SKEWED};
use crate::report::{HistoryEntry, Provider, Status};
use crate::units::{BatchId, Bytes, OperatorId, PartitionId};

/// A store with more than this per partition is too large for its count. A partition is loaded
/// whole, by one task, before its first row: at the 100 MB/s of one stream from an object store
/// this is ten seconds in the first batch after every restart or lost executor.
pub const LARGE_PARTITION: Bytes = Bytes(1_000_000_000);

/// With fewer rows than this per partition, and no more than [`FEW_BYTES`], an instance is nearly
/// empty: what it costs is listing, loading and uploading it, not its rows.
pub const FEW_ROWS: f64 = 1000.0;

/// What [`FEW_ROWS`] may weigh: rows of up to a kilobyte. More than that is no empty instance,
/// and also shows rows that are not in the snapshots yet.
pub const FEW_BYTES: Bytes = Bytes(1_000_000);

/// From so many nearly empty instances on, fewer partitions are worth a resize: each writes at
/// least one object per batch, and is listed, loaded and snapshotted. 200 is the count that nobody
/// chose, so the bound lies below it.
pub const MANY_INSTANCES: u64 = 100;

/// What a candidate is judged by.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// Where the query stands.
    pub status: Status,
    /// Whether it keeps state.
    pub stateful: bool,
    /// Its kind of state store.
    pub provider: Option<Provider>,
    /// The count in force.
    pub partitions: Option<u32>,
    /// The count of every retained offset entry, oldest first.
    pub history: Vec<HistoryEntry>,
    /// Its stateful operators.
    pub operators: Vec<OperatorFacts>,
    /// Findings at error level.
    pub errors: u64,
}

/// One stateful operator.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorFacts {
    /// Its id.
    pub id: OperatorId,
    /// Spark's name for it; text from a file.
    pub name: String,
    /// Whether the checkpoint has metadata for it, which Spark 4.0 and later write.
    pub described: bool,
    /// Whether it groups by nothing, so that all its state lies in partition 0.
    pub keyless: bool,
    /// The state format, if it is a stream-stream join.
    pub join_format: Option<u32>,
    /// Its stores.
    pub stores: Vec<StoreFacts>,
}

/// One store over all partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreFacts {
    /// Keys; `None` when any partition is unknown.
    pub rows: Option<u64>,
    /// Bytes of the files in force.
    pub bytes: Bytes,
    /// The partition with most rows, and how many; `None` when none is known.
    pub largest: Option<(PartitionId, u64)>,
}

/// A reason for a resize. In the order of what it would bring, most first: relief for every batch
/// that loads or writes, relief if the keys allow it, a smaller bill, a question worth asking.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// Much state per partition: more partitions make each smaller.
    LargePartitions {
        /// Of which operator.
        operator: OperatorId,
        /// Mean bytes per partition of its largest store.
        bytes: Bytes,
    },
    /// One partition has much more than the others: a rehash might spread it.
    Skewed {
        /// Of which operator.
        operator: OperatorId,
        /// The largest partition.
        partition: PartitionId,
        /// Its rows divided by the mean.
        max_over_mean: f64,
    },
    /// Hundreds of instances hold next to nothing: fewer would do.
    NearlyEmpty {
        /// Partitions times stores.
        instances: u64,
        /// Rows per instance on average, where known.
        rows: Option<f64>,
    },
    /// Every retained batch has the same count: nobody has chosen it for the state of today.
    NeverRevisited {
        /// The count.
        partitions: u32,
        /// The oldest retained batch.
        since: BatchId,
    },
}

/// What forbids a resize, or spoils it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// A resize was begun and not finished: only its own count can be set.
    UnfinishedRepartition {
        /// The count to retry; `None` when it is not readable.
        to: Option<u32>,
    },
    /// Something is broken.
    Errors {
        /// Findings at error level.
        count: u64,
    },
    /// No batch is committed: there is nothing to redistribute.
    NoCommittedBatch,
    /// The query keeps no state.
    Stateless,
    /// The state store is not `RocksDB`.
    Provider(Provider),
    /// A streaming limit: its state cannot be rehashed.
    StreamingLimit(OperatorId),
    /// An aggregate without grouping keys: its row lies in partition 0 at any count.
    KeylessAggregate(OperatorId),
    /// A join in state format 4, which the offline repartition corrupts.
    JoinFormat4(OperatorId),
    /// No operator metadata: written by Spark 3.5, and no batch has run on 4.0 or later.
    NoOperatorMetadata(OperatorId),
    /// No readable offset entry pins the count.
    UnknownCount,
}

/// Which of three groups a checkpoint belongs to; in the order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// A resize may bring something, and nothing forbids it.
    Gain,
    /// Something forbids a resize, whether it would bring something or not.
    Forbidden,
    /// Nothing to gain.
    Healthy,
}

/// The judgement on one checkpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Its group.
    pub standing: Standing,
    /// What speaks for a resize, strongest first.
    pub reasons: Vec<Reason>,
    /// What forbids it, most pressing first.
    pub obstacles: Vec<Obstacle>,
}

impl Reason {
    /// A stable name in kebab case.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::LargePartitions { .. } => "large-partitions",
            Self::Skewed { .. } => "skewed",
            Self::NearlyEmpty { .. } => "nearly-empty",
            Self::NeverRevisited { .. } => "never-revisited",
        }
    }

    /// How many times its bound is exceeded; 1 for a reason that has no bound.
    #[expect(clippy::cast_precision_loss, reason = "compared and shown with few digits")]
    pub fn factor(&self) -> f64 {
        match self {
            Self::LargePartitions { bytes, .. } => bytes.0 as f64 / LARGE_PARTITION.0 as f64,
            Self::Skewed { max_over_mean, .. } => max_over_mean / SKEWED,
            Self::NearlyEmpty { instances, .. } => *instances as f64 / MANY_INSTANCES as f64,
            Self::NeverRevisited { .. } => 1.0,
        }
    }

    /// One sentence for the operator, without a full stop.
    pub fn sentence(&self) -> String {
        match self {
            Self::LargePartitions { operator, bytes } => format!(
                "operator {operator} has {} per partition; more partitions make each faster to \
                 load and to write",
                gigabytes(*bytes)
            ),
            Self::Skewed { operator, partition, max_over_mean } => format!(
                "partition {partition} of operator {operator} has {max_over_mean:.1} times the \
                 mean; another count spreads it unless a single key holds it"
            ),
            Self::NearlyEmpty { instances, rows } => {
                let hold = rows.map_or_else(
                    || "next to nothing".to_owned(),
                    |rows| format!("{rows:.0} rows each"),
                );
                format!(
                    "{instances} instances hold {hold}; fewer partitions write fewer objects per \
                     batch"
                )
            }
            Self::NeverRevisited { partitions, since } => {
                let oldest = if since.0 == 0 { "" } else { ", the oldest retained" };
                format!("{partitions} partitions since batch {since}{oldest}, never revisited")
            }
        }
    }

    /// Its place in the order of reasons.
    fn rank(&self) -> u8 {
        match self {
            Self::LargePartitions { .. } => 0,
            Self::Skewed { .. } => 1,
            Self::NearlyEmpty { .. } => 2,
            Self::NeverRevisited { .. } => 3,
        }
    }
}

impl Obstacle {
    /// A stable name in kebab case.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::UnfinishedRepartition { .. } => "unfinished-repartition",
            Self::Errors { .. } => "errors",
            Self::NoCommittedBatch => "no-committed-batch",
            Self::Stateless => "stateless",
            Self::Provider(_) => "provider",
            Self::StreamingLimit(_) => "streaming-limit",
            Self::KeylessAggregate(_) => "keyless-aggregate",
            Self::JoinFormat4(_) => "join-format-4",
            Self::NoOperatorMetadata(_) => "no-operator-metadata",
            Self::UnknownCount => "unknown-count",
        }
    }

    /// One sentence for the operator, without a full stop.
    pub fn sentence(&self) -> String {
        match self {
            Self::UnfinishedRepartition { to } => {
                let same = to.map_or_else(
                    || "its own count".to_owned(),
                    |to| format!("the same count, {to}"),
                );
                format!("a resize is not finished; retry {same}: no other is accepted before")
            }
            Self::Errors { count: 1 } => {
                "one finding is an error; repair it before a resize".to_owned()
            }
            Self::Errors { count } => {
                format!("{count} findings are errors; repair them before a resize")
            }
            Self::NoCommittedBatch => {
                "no batch is committed, so there is nothing to redistribute; let one batch run"
                    .to_owned()
            }
            Self::Stateless => {
                "the query keeps no state, so no count is stored; never repartition its checkpoint"
                    .to_owned()
            }
            Self::Provider(Provider::Hdfs) => {
                "the HDFS-backed state store cannot be resized; RocksDB needs a new checkpoint"
                    .to_owned()
            }
            Self::Provider(_) => "the state store is not RocksDB".to_owned(),
            Self::StreamingLimit(operator) => format!(
                "operator {operator} is a streaming limit; a repartition fails half-way and leaves \
                 a checkpoint that does not start"
            ),
            Self::KeylessAggregate(operator) => format!(
                "operator {operator} groups by nothing; its row stays in partition 0, and an \
                 offline repartition loses it"
            ),
            Self::JoinFormat4(operator) => format!(
                "operator {operator} is a join in state format 4, which an offline repartition \
                 corrupts"
            ),
            Self::NoOperatorMetadata(operator) => format!(
                "operator {operator} has no metadata; let one batch run on Spark 4.0 or later, \
                 which writes it"
            ),
            Self::UnknownCount => "no readable offset entry says the partition count".to_owned(),
        }
    }
}

impl Judgement {
    /// The judgement on these facts.
    pub fn of(facts: &Facts) -> Self {
        let obstacles = obstacles(facts);
        let reasons = reasons(facts);
        let bounded = |reason: &Reason| !matches!(reason, Reason::NeverRevisited { .. });
        let standing = match (obstacles.is_empty(), reasons.iter().any(bounded)) {
            (false, _) => Standing::Forbidden,
            (true, true) => Standing::Gain,
            // An old count that fits is no reason to stop a query.
            (true, false) => Standing::Healthy,
        };
        Self { standing, reasons, obstacles }
    }

    /// The order of the list: groups; then the kind of the strongest reason and by how much its
    /// bound is exceeded; then those with an old count first. Equal ones are left to their paths.
    pub fn order(&self, other: &Self) -> Ordering {
        let first = |one: &Self| one.reasons.first().map_or(u8::MAX, Reason::rank);
        let factor = |one: &Self| one.reasons.first().map_or(0.0, Reason::factor);
        self.standing
            .cmp(&other.standing)
            .then_with(|| first(self).cmp(&first(other)))
            .then_with(|| factor(other).total_cmp(&factor(self)))
            .then_with(|| other.reasons.len().cmp(&self.reasons.len()))
    }
}

fn reasons(facts: &Facts) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = [large(facts), skewed(facts), nearly_empty(facts)]
        .into_iter()
        .chain([never_revisited(facts)])
        .flatten()
        .collect();
    reasons.sort_by_key(Reason::rank);
    reasons
}

/// The stores that a count spreads.
fn spread(facts: &Facts) -> impl Iterator<Item = (&OperatorFacts, &StoreFacts)> {
    let keyed = facts.operators.iter().filter(|operator| !operator.keyless);
    keyed.flat_map(|operator| operator.stores.iter().map(move |store| (operator, store)))
}

fn large(facts: &Facts) -> Option<Reason> {
    let partitions = u64::from(facts.partitions?);
    let largest = spread(facts).max_by_key(|(_, store)| store.bytes)?;
    let bytes = Bytes(largest.1.bytes.0.checked_div(partitions)?);
    (bytes > LARGE_PARTITION).then_some(Reason::LargePartitions { operator: largest.0.id, bytes })
}

#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn skewed(facts: &Facts) -> Option<Reason> {
    let partitions = f64::from(facts.partitions?);
    let ratios = spread(facts).filter_map(|(operator, store)| {
        let mean = store.rows? as f64 / partitions;
        let (partition, rows) = store.largest?;
        (mean >= ROWS_TO_JUDGE).then(|| (operator.id, partition, rows as f64 / mean))
    });
    let (operator, partition, max_over_mean) = ratios.max_by(|a, b| a.2.total_cmp(&b.2))?;
    (max_over_mean > SKEWED).then_some(Reason::Skewed { operator, partition, max_over_mean })
}

/// One count holds for all stores of a query, so it is too great only when the fullest of them is
/// nearly empty.
#[expect(clippy::cast_precision_loss, reason = "a mean for people")]
fn nearly_empty(facts: &Facts) -> Option<Reason> {
    let partitions = facts.partitions.filter(|count| *count > 0)?;
    let mut instances = 0_u64;
    let mut all = Some(0_u64);
    for (_, store) in spread(facts) {
        let mean = |total: u64| total as f64 / f64::from(partitions);
        let empty = match store.rows {
            Some(rows) => mean(rows) < FEW_ROWS && mean(store.bytes.0) < FEW_BYTES.0 as f64,
            None => mean(store.bytes.0) < BYTES_TO_JUDGE,
        };
        if !empty {
            return None;
        }
        instances = instances.saturating_add(u64::from(partitions));
        all = all.zip(store.rows).map(|(sum, rows)| sum.saturating_add(rows));
    }
    (instances >= MANY_INSTANCES).then(|| Reason::NearlyEmpty {
        instances,
        rows: all.map(|rows| rows as f64 / instances as f64),
    })
}

fn never_revisited(facts: &Facts) -> Option<Reason> {
    let partitions = facts.partitions.filter(|_| facts.stateful)?;
    let mut known = facts.history.iter().filter(|entry| entry.partitions.is_some());
    let oldest = known.next()?;
    // A single batch has nothing to be compared with.
    let later: Vec<_> = known.collect();
    let same = oldest.partitions == Some(partitions)
        && later.iter().all(|entry| entry.partitions == Some(partitions));
    (same && !later.is_empty())
        .then_some(Reason::NeverRevisited { partitions, since: oldest.batch })
}

fn obstacles(facts: &Facts) -> Vec<Obstacle> {
    let mut obstacles = Vec::new();
    if facts.status == Status::UnfinishedRepartition {
        let to = facts.history.last().and_then(|entry| entry.partitions);
        obstacles.push(Obstacle::UnfinishedRepartition { to });
    }
    if facts.errors > 0 {
        obstacles.push(Obstacle::Errors { count: facts.errors });
    }
    match facts.status {
        Status::NoBatch | Status::NoCommittedBatch | Status::Empty => {
            obstacles.push(Obstacle::NoCommittedBatch);
            // What it will keep is not known before.
            return obstacles;
        }
        Status::Committed | Status::Pending | Status::UnfinishedRepartition => {}
    }
    if !facts.stateful {
        obstacles.push(Obstacle::Stateless);
        return obstacles;
    }
    match facts.provider {
        Some(Provider::Rocksdb) | None => {}
        Some(other) => obstacles.push(Obstacle::Provider(other)),
    }
    for operator in &facts.operators {
        if operator.name == "globalLimit" {
            obstacles.push(Obstacle::StreamingLimit(operator.id));
        } else if operator.keyless {
            obstacles.push(Obstacle::KeylessAggregate(operator.id));
        }
        if operator.join_format == Some(4) {
            obstacles.push(Obstacle::JoinFormat4(operator.id));
        }
    }
    let undescribed = facts.operators.iter().find(|operator| !operator.described);
    obstacles.extend(undescribed.map(|operator| Obstacle::NoOperatorMetadata(operator.id)));
    if facts.partitions.is_none() {
        obstacles.push(Obstacle::UnknownCount);
    }
    obstacles
}

/// `2.4 GB`.
#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn gigabytes(bytes: Bytes) -> String {
    format!("{:.1} GB", bytes.0 as f64 / 1e9)
}

#[cfg(test)]
mod tests;
