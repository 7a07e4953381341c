//! What the tasks of partitions show: one that everybody waits for, and partitions that moved to
//! another executor.

use std::collections::BTreeSet;

use super::series::recent;
use super::{Finding, Severity, Told, Words};
use crate::analysis::spread::SKEWED;
use crate::analysis::traffic::MILLIS_TO_JUDGE;
use crate::figures::{count, float, plural, ratio, share, span, whole};
use crate::telemetry::timeline::{Batch, task_of};
use crate::telemetry::{PartitionLoad, TaskLoad};
use crate::units::{BatchId, OperatorId, PartitionId};

/// Batches whose tasks are added up.
const TASKS: usize = 10;
/// Fewer batches than this may have been slow by chance: the first ones warm the executors up.
const FEWEST: usize = 5;
/// A part of arriving rows this many times the fair one is why a task is slow.
const HOT: f64 = 2.0;

/// What the tasks of one partition did in all batches that are looked at.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    task_ms: u64,
    arriving: u64,
    gc_ms: u64,
    /// Batches in which no task of the operator took longer.
    slowest: usize,
}

/// One partition's task takes most of the time of its stage.
pub(super) fn slow(told: &Told<'_>) -> Vec<Finding> {
    let batches = recent(told.query, TASKS);
    operators(&batches).into_iter().filter_map(|id| slow_in(id, &batches)).collect()
}

fn operators(batches: &[&Batch]) -> BTreeSet<OperatorId> {
    batches.iter().flat_map(|batch| batch.loads()).filter_map(|load| load.operator).collect()
}

/// The last loads of an operator that are of one partition count, oldest first.
fn loads<'a>(id: OperatorId, batches: &[&'a Batch]) -> Vec<(BatchId, &'a PartitionLoad)> {
    let all = batches.iter().rev().filter_map(|batch| Some((batch.id, batch.load_of(id)?)));
    let complete = |load: &PartitionLoad| {
        let tasks = u32::try_from(load.tasks.len()).unwrap_or(u32::MAX);
        load.expected.is_none_or(|expected| expected == tasks)
    };
    let all: Vec<_> = all.filter(|(_, load)| complete(load)).collect();
    let Some(newest) = all.first().map(|(_, load)| load.tasks.len()) else { return Vec::new() };
    let mut same: Vec<_> =
        all.into_iter().take_while(|(_, load)| load.tasks.len() == newest).collect();
    same.reverse();
    same
}

fn slow_in(id: OperatorId, batches: &[&Batch]) -> Option<Finding> {
    let loads = loads(id, batches);
    let partitions = loads.last()?.1.tasks.len();
    if loads.len() < FEWEST || partitions < 2 {
        return None;
    }
    let sums = sums(&loads);
    let total: u64 = sums.iter().map(|(_, sum)| sum.task_ms).fold(0, u64::saturating_add);
    let mean = float(total) / float(partitions as u64);
    let (partition, slowest) = sums.iter().max_by_key(|(_, sum)| sum.task_ms)?;
    let ratio_of_mean = float(slowest.task_ms) / mean;
    let a_batch = mean / float(loads.len() as u64);
    // A task that was slow once says nothing of its partition.
    let mostly = slowest.slowest * 2 > loads.len();
    if a_batch < MILLIS_TO_JUDGE || ratio_of_mean <= SKEWED || !mostly {
        return None;
    }
    let per_batch = |millis: u64| span(millis / loads.len() as u64);
    let arriving: u64 = sums.iter().map(|(_, sum)| sum.arriving).fold(0, u64::saturating_add);
    let part = (arriving > 0).then(|| float(slowest.arriving) / float(arriving));
    let fair = 1.0 / float(partitions as u64);
    let hot = part.filter(|part| *part >= fair * HOT);
    let (why, remedy) = match (hot, part) {
        (Some(part), _) => (
            format!(
                "It takes {} of the arriving rows, where {} would be even.",
                share(part),
                share(fair)
            ),
            format!(
                "Look at the keys of partition {partition} (screen keys, or statetop keys). One \
                 key lies in one partition at any count: salt it, or aggregate before the \
                 shuffle. Several keys that only meet there are parted by another count, which \
                 statetop plan computes."
            ),
        ),
        (None, Some(part)) => (
            format!(
                "It takes {} of the arriving rows, about what would be even ({}); {} of its time \
                 is garbage collection.",
                share(part),
                share(fair),
                share(float(slowest.gc_ms) / float(slowest.task_ms.max(1)))
            ),
            "Rows are not the reason. Look at its executor and host, at what its rows weigh, and \
             at the state that it holds; another count helps only if the state is the reason."
                .to_owned(),
        ),
        (None, None) => (
            "What arrives at it is not told.".to_owned(),
            "See whether it takes more rows (event logs tell) or holds more state than the \
             others before changing the count."
                .to_owned(),
        ),
    };
    let name = loads.last().and_then(|(_, load)| load.operator_name.clone());
    let name = name.map_or_else(String::new, |name| format!(" {name}"));
    let words = Words {
        summary: format!(
            "operator {id}: the task of partition {partition} takes {} times the mean",
            ratio(ratio_of_mean)
        ),
        detail: format!(
            "In the last {} of operator {id}{name} it took {} a batch, all tasks {} on the mean, \
             and it was the slowest in {} of them: the batch waits for it. {why}",
            plural(loads.len() as u64, "batch", "batches"),
            per_batch(slowest.task_ms),
            per_batch(whole(mean)),
            slowest.slowest
        ),
        remedy,
    };
    Some(words.into_finding("slow-task", Severity::Warning))
}

/// The sums of each partition, in the order of the newest batch.
fn sums(loads: &[(BatchId, &PartitionLoad)]) -> Vec<(PartitionId, Sum)> {
    let Some((_, newest)) = loads.last() else { return Vec::new() };
    let mut sums: Vec<(PartitionId, Sum)> =
        newest.tasks.iter().map(|task| (task.partition, Sum::default())).collect();
    for (_, load) in loads {
        let longest = load.tasks.iter().filter_map(|task| task.task_ms).max();
        for (partition, sum) in &mut sums {
            let Some(task) = task_of(load, *partition) else { continue };
            let add =
                |to: &mut u64, value: Option<u64>| *to = to.saturating_add(value.unwrap_or(0));
            add(&mut sum.task_ms, task.task_ms);
            add(&mut sum.arriving, task.arriving);
            add(&mut sum.gc_ms, task.gc_ms);
            sum.slowest += usize::from(task.task_ms.is_some() && task.task_ms == longest);
        }
    }
    sums
}

/// Batches that are looked back at for partitions that moved.
const MOVES: usize = 20;
/// A smaller part than this moves in any cluster, when an executor is busy.
const MOVED: f64 = 0.1;
/// Tasks that moved and take this many times as long as before have loaded their state.
const LOADED: f64 = 2.0;
/// … and no less longer than this, in milliseconds.
const LOADED_MS: f64 = 500.0;

/// Partitions went to other executors and were loaded from storage there: the cluster changed,
/// not the count.
pub(super) fn moved(told: &Told<'_>) -> Option<Finding> {
    let batches = recent(told.query, MOVES);
    operators(&batches).into_iter().find_map(|id| moved_in(id, &loads(id, &batches)))
}

fn moved_in(id: OperatorId, loads: &[(BatchId, &PartitionLoad)]) -> Option<Finding> {
    // The newest move first.
    let pairs = loads.iter().zip(loads.iter().skip(1)).enumerate().rev();
    pairs.into_iter().find_map(|(at, (before, after))| {
        let earlier = loads.get(at.saturating_sub(2)..=at)?;
        let moved = moved_between(before.1, after.1);
        let all = after.1.tasks.len();
        if moved.is_empty() || float(moved.len() as u64) < float(all as u64) * MOVED {
            return None;
        }
        let partitions: BTreeSet<PartitionId> = moved.iter().map(|task| task.partition).collect();
        let took = mean(moved.iter().filter_map(|task| task.task_ms))?;
        let usual = earlier.iter().flat_map(|(_, load)| &load.tasks);
        let usual = usual.filter(|task| partitions.contains(&task.partition));
        let usual = mean(usual.filter_map(|task| task.task_ms))?;
        let loaded = moved.iter().filter(|task| task.loaded == Some(true)).count();
        let slower = took >= usual * LOADED && took - usual >= LOADED_MS;
        // Being slower may have other reasons where Spark says that nothing was loaded.
        let refuted = moved.iter().all(|task| task.loaded == Some(false));
        if refuted || !(slower || loaded * 2 >= moved.len()) {
            return None;
        }
        let executors = executors(before.1, after.1);
        let told = match loaded {
            0 => String::new(),
            loaded => format!(
                " Spark says that {} loaded from storage.",
                plural(loaded as u64, "was", "were")
            ),
        };
        let words = Words {
            summary: format!(
                "{} of {} partitions moved to another executor in batch {}",
                count(moved.len() as u64),
                count(all as u64),
                after.0
            ),
            detail: format!(
                "In operator {id} they ran elsewhere than in batch {}{executors}. Their tasks took \
                 {} there, {} before: an instance that moves is loaded from storage.{told} The \
                 count did not change. Rebalancing after a change of the cluster is the likely \
                 cause of slow batches here, not the number of partitions.",
                before.0,
                span(whole(took)),
                span(whole(usual))
            ),
            remedy: "Do not resize for this. See why executors come and go (autoscaling, spot \
                     instances, lost nodes); batches are as fast as before once each instance has \
                     been loaded. On Databricks rebalancing is \
                     spark.sql.streaming.statefulOperator.stateRebalancing.enabled."
                .to_owned(),
        };
        Some(words.into_finding("partitions-moved", Severity::Warning))
    })
}

/// The tasks of the later batch that ran on another executor than in the earlier one.
fn moved_between<'a>(before: &PartitionLoad, after: &'a PartitionLoad) -> Vec<&'a TaskLoad> {
    let elsewhere = |task: &&TaskLoad| {
        let was = task_of(before, task.partition).and_then(|was| was.executor.as_deref());
        was.zip(task.executor.as_deref()).is_some_and(|(was, now)| was != now)
    };
    after.tasks.iter().filter(elsewhere).collect()
}

/// `; executor 7 is gone, executor 9 is new`.
fn executors(before: &PartitionLoad, after: &PartitionLoad) -> String {
    let of = |load: &PartitionLoad| -> BTreeSet<String> {
        load.tasks.iter().filter_map(|task| task.executor.as_deref()).map(str::to_owned).collect()
    };
    let (was, now) = (of(before), of(after));
    let list = |which: Vec<&String>, word: &str| {
        let names: Vec<&str> = which.iter().take(5).map(|name| name.as_str()).collect();
        let noun = if which.len() == 1 { "executor" } else { "executors" };
        let verb = if which.len() == 1 { "is" } else { "are" };
        (!which.is_empty()).then(|| format!("; {noun} {} {verb} {word}", names.join(", ")))
    };
    let gone = list(was.difference(&now).collect(), "gone");
    let new = list(now.difference(&was).collect(), "new");
    gone.into_iter().chain(new).collect()
}

fn mean(values: impl Iterator<Item = u64>) -> Option<f64> {
    let values: Vec<u64> = values.collect();
    let sum = values.iter().copied().fold(0, u64::saturating_add);
    (!values.is_empty()).then(|| float(sum) / float(values.len() as u64))
}
