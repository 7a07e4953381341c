//! Files of the checkpoint: snapshots that lag, changelogs that are off, files that nobody deletes.

use super::series::{SPAN, median, recent};
use super::{Evidence, Finding, Severity, Told, Words};
use crate::analysis::times::Cadence;
use crate::figures::{bytes, count, float, plural, share, span};
use crate::report::{OperatorPartitions, PartitionsReport, Provider, StorePartitions};
use crate::telemetry::Measure;
use crate::units::{Bytes, OperatorId, PartitionId};

const DELTAS: &str = "spark.sql.streaming.stateStore.minDeltasForSnapshot";
/// Spark's default of it: versions after which a snapshot is due.
const DEFAULT_DELTAS: u64 = 10;
/// A partition that lags this many times as far as the median one lags by itself.
const OUTLIER: u64 = 3;
/// Intervals of snapshots after which Spark itself calls a store lagging
/// (`coordinatorMultiplierForMinVersionDiffToLog`).
const LAGGING: u64 = 5;
/// … and the time that must have passed: ten maintenance intervals of a minute
/// (`coordinatorMultiplierForMinTimeDiffToLog`).
const LAGGING_MS: u64 = 600_000;

/// How far a store's snapshot of one partition is behind.
struct Lag {
    operator: OperatorId,
    store: String,
    partition: PartitionId,
    versions: u64,
    /// The median of the store; `None` where only those are told that lag most.
    median: Option<u64>,
    partitions: u64,
}

/// Snapshots lag: a restart, or a move, has to replay all changelogs since.
pub(super) fn snapshot_lag(evidence: &Evidence<'_>) -> Vec<Finding> {
    let deltas = evidence.told.and_then(|told| told.conf(DELTAS)?.parse().ok());
    let deltas: u64 = deltas.unwrap_or(DEFAULT_DELTAS).max(1);
    let cadence = evidence.told.as_ref().and_then(cadence);
    let lags = match evidence.partitions {
        Some(partitions) if !partitions.operators.is_empty() => of_files(evidence, partitions),
        _ => evidence.told.as_ref().map(of_metrics).unwrap_or_default(),
    };
    lags.iter().filter_map(|lag| lagging(lag, deltas, cadence)).collect()
}

fn lagging(lag: &Lag, deltas: u64, cadence: Option<u64>) -> Option<Finding> {
    let long = cadence.is_some_and(|every| lag.versions.saturating_mul(every) >= LAGGING_MS);
    let outlier = lag.median.is_some_and(|median| {
        lag.versions >= deltas * 2 && lag.versions >= (median + deltas / 2) * OUTLIER
    });
    let all = lag.versions >= deltas * LAGGING && long;
    if !outlier && !all {
        return None;
    }
    let store = match lag.store.as_str() {
        "default" => String::new(),
        name => format!(" {name}"),
    };
    let place = format!("operator {}{store} partition {}", lag.operator, lag.partition);
    let others = match lag.median {
        Some(median) => format!(
            " The median of {} is {}.",
            plural(lag.partitions, "partition", "partitions"),
            plural(median, "version", "versions")
        ),
        None => String::new(),
    };
    let time = cadence.map_or_else(String::new, |every| {
        format!(", about {} of batches", span(lag.versions.saturating_mul(every)))
    });
    let words = Words {
        summary: format!("{place}: last snapshot {} versions old", count(lag.versions)),
        detail: format!(
            "A snapshot is due after {deltas} versions ({DELTAS}); the last one is {} old{time}.\
             {others} Until there is a newer one, a restart or a move of this partition replays \
             all changelogs since, and its files cannot be deleted.",
            plural(lag.versions, "version", "versions")
        ),
        remedy: "Look for errors of state store maintenance in the executors' logs (uploads that \
                 fail, a thread that hangs), and for one executor that is out of room. A restart \
                 of the query makes new maintenance threads."
            .to_owned(),
    };
    Some(words.into_finding("snapshot-lag", Severity::Warning))
}

/// By the files: the partition of each store that lags most.
fn of_files(evidence: &Evidence<'_>, report: &PartitionsReport) -> Vec<Lag> {
    // Without changelogs each version is a snapshot.
    let changelogs = evidence.inspect.is_some_and(|inspect| {
        inspect.changelog == Some(true) || inspect.provider == Some(Provider::Hdfs)
    });
    if !changelogs {
        return Vec::new();
    }
    let stores = report
        .operators
        .iter()
        .flat_map(|operator| operator.stores.iter().map(move |store| (operator, store)));
    stores.filter_map(|(operator, store)| furthest(report, operator, store)).collect()
}

fn furthest(
    report: &PartitionsReport,
    operator: &OperatorPartitions,
    store: &StorePartitions,
) -> Option<Lag> {
    let version = report.version?.0;
    let lags: Vec<(PartitionId, u64)> = store
        .partitions
        .iter()
        // A partition without any file is one that is not used, or a finding of its own.
        .filter(|partition| partition.files > 0)
        .map(|partition| {
            let snapshot = partition.snapshot_version.map_or(0, |version| version.0);
            (partition.partition, version.saturating_sub(snapshot))
        })
        .collect();
    let versions: Vec<u64> = lags.iter().map(|(_, lag)| *lag).collect();
    let (partition, most) = lags.iter().max_by_key(|(_, lag)| *lag)?;
    Some(Lag {
        operator: operator.id,
        store: store.name.clone(),
        partition: *partition,
        versions: *most,
        median: median(&versions),
        partitions: lags.len() as u64,
    })
}

/// By what the query tells of those that lag most.
fn of_metrics(told: &Told<'_>) -> Vec<Lag> {
    let newest = || {
        let batch = told.query.current()?.newest()?;
        Some((batch.id.version().0, batch.progress()?))
    };
    let Some((version, progress)) = newest() else { return Vec::new() };
    let operators = (0..).map(OperatorId).zip(&progress.operators);
    operators
        .filter_map(|(operator, told)| {
            let lags = told.labelled.iter().filter(|metric| metric.name == "SnapshotLastUploaded");
            let lags = lags.filter_map(|metric| match metric.value {
                Some(Measure::Whole(uploaded)) => {
                    // -1 is never.
                    let uploaded = u64::try_from(uploaded).unwrap_or(0);
                    Some((metric, version.saturating_sub(uploaded)))
                }
                _ => None,
            });
            let (metric, versions) = lags.max_by_key(|(_, lag)| *lag)?;
            Some(Lag {
                operator,
                store: metric.store.clone(),
                partition: metric.partition,
                versions,
                median: None,
                partitions: told.partitions.unwrap_or(0),
            })
        })
        .collect()
}

/// Milliseconds from batch to batch.
fn cadence(told: &Told<'_>) -> Option<u64> {
    let batches = recent(told.query, SPAN);
    let begun = |batch: &&crate::telemetry::timeline::Batch| {
        Some((batch.numbers.at?.0, batch.numbers.took?))
    };
    let times: Vec<(i64, u64)> = batches.iter().filter_map(begun).collect();
    match Cadence::of(&times) {
        Cadence::About(every) => Some(every),
        Cadence::BackToBack => {
            let took: Vec<u64> = times.iter().map(|(_, took)| *took).collect();
            median(&took)
        }
        Cadence::Unknown => None,
    }
}

const CHANGELOG: &str = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled";
/// From this size on, a snapshot per batch is most of what a batch writes.
const LARGE_STATE: Bytes = Bytes(100_000_000);
/// Commits that take this part of the tasks' time are what changelogs are for.
const COMMITS: f64 = 0.3;
/// … and no less than this for a task, in milliseconds.
const COMMIT_MS: u64 = 200;
/// Batches whose commits are added up.
const COMMITTED: usize = 10;

/// Each batch uploads a snapshot of what changed instead of a changelog, and that shows.
pub(super) fn changelog_off(evidence: &Evidence<'_>) -> Option<Finding> {
    let inspect = evidence.inspect?;
    let off = inspect.changelog == Some(false) && inspect.provider == Some(Provider::Rocksdb);
    let wanted = evidence.told.and_then(|told| told.conf(CHANGELOG));
    if !off || wanted.is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return None;
    }
    let stores = inspect.operators.iter().flat_map(|operator| &operator.stores);
    let size: Bytes = stores.map(|store| store.bytes).sum();
    let commits = evidence.told.as_ref().and_then(commits);
    let costly = commits.filter(|commits| commits.part >= COMMITS && commits.mean >= COMMIT_MS);
    if size < LARGE_STATE && costly.is_none() {
        return None;
    }
    let cost = commits.map_or_else(String::new, |commits| {
        format!(
            " Commits take {} of the tasks' time, {} a task.",
            share(commits.part),
            span(commits.mean)
        )
    });
    let words = Words {
        summary: format!("changelog checkpointing is off, with {} of state", bytes(size)),
        detail: format!(
            "The last version has no changelog: every batch uploads the table files that it \
             changed, and waits for that.{cost} With changelogs a batch writes only its changes, \
             and snapshots are made in the background."
        ),
        remedy: format!(
            "Set {CHANGELOG}=true and restart. The checkpoint stays as it is, and this is not a \
             resize; a version of Spark before 3.5 cannot read it afterwards."
        ),
    };
    Some(words.into_finding("changelog-off", Severity::Warning))
}

#[derive(Clone, Copy)]
struct Commits {
    /// Of the time of all tasks.
    part: f64,
    /// Milliseconds of a task.
    mean: u64,
}

fn commits(told: &Told<'_>) -> Option<Commits> {
    let batches = recent(told.query, COMMITTED);
    let tasks = batches.iter().flat_map(|batch| batch.loads()).flat_map(|load| &load.tasks);
    let times: Vec<(u64, u64)> =
        tasks.filter_map(|task| Some((task.commit_ms?, task.task_ms?))).collect();
    let (commit, all) = times.iter().fold((0_u64, 0_u64), |(commit, all), (c, a)| {
        (commit.saturating_add(*c), all.saturating_add(*a))
    });
    let number = Some(times.len() as u64).filter(|number| *number > 0)?;
    Some(Commits { part: float(commit) / float(all.max(1)), mean: commit / number })
}

/// Versions beyond what is retained that are there between two rounds of maintenance; Spark keeps
/// up to 30 % more than it needs (`ratioExtraSpaceAllowedInCheckpoint`).
const SPARE_VERSIONS: u64 = 100;

/// Files of versions that nobody can go back to are not deleted.
pub(super) fn piling_up(evidence: &Evidence<'_>) -> Option<Finding> {
    let (inspect, report) = (evidence.inspect?, evidence.partitions?);
    let version = report.version?.0;
    // An earlier batch that was asked for says nothing of what is deleted now.
    if inspect.batch != inspect.last_committed_batch {
        return None;
    }
    let retained = inspect.partition_history.len() as u64;
    let stores = || {
        report
            .operators
            .iter()
            .flat_map(|operator| operator.stores.iter().map(move |store| (operator, store)))
    };
    let oldest = stores()
        .flat_map(|(operator, store)| store.partitions.iter().map(move |p| (operator, store, p)))
        .filter_map(|(operator, store, p)| {
            Some((p.oldest_version?.0, operator.id, &store.name, p.partition))
        })
        .min_by_key(|(oldest, ..)| *oldest)?;
    let (oldest, operator, store, partition) = oldest;
    let kept = version.saturating_sub(oldest);
    if kept <= retained.saturating_mul(2).saturating_add(SPARE_VERSIONS) {
        return None;
    }
    let files: u64 = stores()
        .flat_map(|(_, store)| &store.partitions)
        .fold(0, |sum, partition| sum.saturating_add(partition.files_listed));
    let words = Words {
        summary: format!(
            "files of the state pile up: {} versions are kept for {retained} batches",
            count(kept)
        ),
        detail: format!(
            "The oldest file of operator {operator} {store} partition {partition} is of version \
             {oldest}, the newest state is of version {version}; the logs retain {}. There are {} \
             of snapshots and changelogs. Each is listed at every load, and costs storage.",
            plural(retained, "batch", "batches"),
            plural(files, "file", "files"),
        ),
        remedy:
            "State store maintenance deletes them: look for its errors in the executors' logs, \
                 and whether the job may delete in this place. Do not delete them by hand while \
                 the query runs."
                .to_owned(),
    };
    Some(words.into_finding("files-piling-up", Severity::Warning))
}
