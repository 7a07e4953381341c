//! The tasks of a stage of a microbatch, gathered until the stage is done, and what they did by
//! partition of each stateful operator.
//!
//! Must not know how operators and stages are found; [`super::join`] does.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::accumulables::Accumulable;
use super::plan::Operator;
use super::plans::Plans;
use super::wire::{TaskEnd, TaskMetrics};
use crate::telemetry::event::{PartitionLoad, QueryRef, TaskLoad};
use crate::telemetry::metric::Metric;
use crate::units::{BatchId, Bytes, PartitionId, UnixMillis};

/// Tasks that are kept of a stage: above any partition count that works.
const MAX_TASKS: usize = 200_000;

/// What one task did for one operator, by [`Metric`].
type Measures = [Option<i64>; Metric::COUNT];

/// The microbatch that a job runs for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) query: QueryRef,
    pub(super) id: Option<BatchId>,
    /// `rocksdb.trackTotalNumberOfRows`, where the job's properties tell.
    pub(super) track_rows: Option<bool>,
}

/// A stage of a microbatch while it runs.
#[derive(Debug)]
pub(super) struct Stage {
    batch: Arc<Batch>,
    expected: Option<u32>,
    operators: Vec<Arc<Operator>>,
    /// An operator whose plan is not known: its metrics are told by their names.
    unplanned: Option<Unplanned>,
    tasks: BTreeMap<u32, Task>,
    latest: Option<i64>,
}

/// The accumulators of an operator without a plan.
#[derive(Debug, Default)]
struct Unplanned {
    accumulators: [Option<u64>; Metric::COUNT],
    /// Several accumulators have one name: more than one operator, which nothing tells apart.
    mixed: bool,
}

#[derive(Debug)]
struct Task {
    /// Measures of the task; those of state are filled in for each operator.
    load: TaskLoad,
    /// By the place of the operator in [`Stage::operators`].
    planned: Vec<Measures>,
    unplanned: Measures,
}

impl Stage {
    pub(super) fn new(batch: Arc<Batch>, expected: Option<u32>) -> Self {
        let (operators, tasks) = (Vec::new(), BTreeMap::new());
        Self { batch, expected, operators, unplanned: None, tasks, latest: None }
    }

    /// Whether a task of it has told of state.
    pub(super) fn is_stateful(&self) -> bool {
        !self.operators.is_empty() || self.unplanned.is_some()
    }

    /// How many tasks its first attempt has.
    pub(super) fn expect(&mut self, tasks: Option<u32>) {
        self.expected = self.expected.max(tasks);
    }

    /// Takes a task that succeeded. `false` when there is no room for it.
    pub(super) fn add(
        &mut self,
        task: &TaskEnd<'_>,
        plans: &Plans,
        mut shared: impl FnMut(&str) -> Arc<str>,
    ) -> bool {
        let told = task.info.partition.and_then(|partition| u32::try_from(partition).ok());
        let Some(partition) = told.or(task.info.index) else { return true };
        if self.tasks.len() >= MAX_TASKS && !self.tasks.contains_key(&partition) {
            return false;
        }
        let (mut planned, mut unplanned) = (Vec::new(), Measures::default());
        for entry in &task.info.accumulables {
            let entry = Accumulable::of(entry);
            let Some(id) = entry.id() else { continue };
            if let Some((operator, metric)) = plans.metric(id) {
                let Some(value) = entry.update() else { continue };
                let place = self.place(operator);
                if planned.len() <= place {
                    planned.resize(place + 1, Measures::default());
                }
                if let Some(measures) = planned.get_mut(place) {
                    set(measures, metric, value);
                }
            } else if let Some(metric) = entry.name().and_then(Metric::named) {
                let Some(value) = entry.update() else { continue };
                let operator = self.unplanned.get_or_insert_default();
                operator.note(metric, id);
                set(&mut unplanned, metric, value);
            }
        }
        self.latest = self.latest.max(task.info.finished);
        let mut load = whole_task(task.metrics.as_ref());
        load.partition = PartitionId(partition);
        load.task_ms = duration(task.info.launched, task.info.finished);
        load.executor = task.info.executor.as_deref().map(&mut shared);
        load.host = task.info.host.as_deref().map(&mut shared);
        self.tasks.insert(partition, Task { load, planned, unplanned });
        true
    }

    /// The place of an operator in this stage.
    fn place(&mut self, operator: &Arc<Operator>) -> usize {
        let known = self.operators.iter().position(|known| Arc::ptr_eq(known, operator));
        known.unwrap_or_else(|| {
            self.operators.push(Arc::clone(operator));
            self.operators.len() - 1
        })
    }

    /// What the tasks did, for each operator; the tasks are forgotten.
    ///
    /// # Errors
    /// A sentence when operators cannot be told apart.
    pub(super) fn loads(&mut self) -> Result<Vec<PartitionLoad>, &'static str> {
        let tasks = std::mem::take(&mut self.tasks);
        if tasks.is_empty() {
            return Ok(Vec::new());
        }
        if self.unplanned.as_ref().is_some_and(|operator| operator.mixed) {
            return Err("several stateful operators share a stage and the log does not have \
                        their plan, so what its tasks did cannot be told apart");
        }
        let mut order: Vec<usize> = (0..self.operators.len()).collect();
        order.sort_by_key(|place| self.operators.get(*place).map(|operator| operator.id));
        let mut loads: Vec<PartitionLoad> = Vec::new();
        for place in order {
            let Some(operator) = self.operators.get(place) else { continue };
            let measures = |task: &Task| task.planned.get(place).copied().unwrap_or_default();
            let tells = |metric| operator.tells(metric);
            loads.push(PartitionLoad {
                operator: Some(operator.id),
                operator_name: Some(operator.name.to_string()),
                ..self.load(&tasks, measures, tells)
            });
        }
        if let Some(operator) = &self.unplanned {
            let tells =
                |metric| operator.accumulators.get(metric as usize).is_some_and(Option::is_some);
            loads.push(self.load(&tasks, |task| task.unplanned, tells));
        }
        Ok(loads)
    }

    /// What the tasks did for one operator, of which `tells` says for which metrics a task that
    /// has none has 0.
    fn load(
        &self,
        tasks: &BTreeMap<u32, Task>,
        measures: impl Fn(&Task) -> Measures,
        tells: impl Fn(Metric) -> bool,
    ) -> PartitionLoad {
        let counted = self.batch.track_rows != Some(false)
            && (self.batch.track_rows == Some(true)
                || tasks.values().any(|task| get(&measures(task), Metric::Rows) > Some(0)));
        // Spark leaves what is 0 out of a task's list.
        let zero = |metric| (tells(metric) && (counted || metric != Metric::Rows)).then_some(0);
        let task = |task: &Task| {
            let measures = measures(task);
            let value = |metric| {
                let told = get(&measures, metric).filter(|_| counted || metric != Metric::Rows);
                told.or(zero(metric)).and_then(|value| u64::try_from(value).ok())
            };
            TaskLoad {
                rows: value(Metric::Rows),
                updated: value(Metric::Updated),
                removed: value(Metric::Removed),
                dropped: value(Metric::Dropped),
                memory: value(Metric::Memory).map(Bytes),
                update_ms: value(Metric::UpdateMs),
                removal_ms: value(Metric::RemovalMs),
                commit_ms: value(Metric::CommitMs),
                loaded: value(Metric::Loaded).map(|instances| instances > 0),
                ..task.load.clone()
            }
        };
        PartitionLoad {
            query: self.batch.query.clone(),
            batch: self.batch.id,
            operator: None,
            operator_name: None,
            timestamp: self.latest.map(UnixMillis),
            tasks: tasks.values().map(task).collect(),
            expected: self.expected,
        }
    }
}

impl Unplanned {
    fn note(&mut self, metric: Metric, accumulator: u64) {
        if let Some(known) = self.accumulators.get_mut(metric as usize) {
            self.mixed |= known.replace(accumulator).is_some_and(|before| before != accumulator);
        }
    }
}

fn set(measures: &mut Measures, metric: Metric, value: i64) {
    if let Some(measure) = measures.get_mut(metric as usize) {
        *measure = Some(value);
    }
}

fn get(measures: &Measures, metric: Metric) -> Option<i64> {
    measures.get(metric as usize).copied().flatten()
}

/// The measures that are of the task as a whole.
fn whole_task(metrics: Option<&TaskMetrics>) -> TaskLoad {
    let shuffle = metrics.and_then(|metrics| metrics.shuffle.as_ref());
    let bytes = shuffle.and_then(|read| Some(read.local_bytes?.saturating_add(read.remote_bytes?)));
    TaskLoad {
        arriving: shuffle.and_then(|read| read.records),
        arriving_bytes: bytes.map(Bytes),
        gc_ms: metrics.and_then(|metrics| metrics.gc_ms),
        spilled: metrics.and_then(|metrics| metrics.spilled).map(Bytes),
        fetch_wait_ms: shuffle.and_then(|read| read.wait_ms),
        ..TaskLoad::default()
    }
}

fn duration(from: Option<i64>, until: Option<i64>) -> Option<u64> {
    Some(UnixMillis(from?).until(UnixMillis(until?)))
}
