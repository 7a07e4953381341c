//! One microbatch, as far as it was told.

use std::sync::Arc;

use super::merge;
use super::numbers::Numbers;
use super::weight;
use crate::telemetry::{PartitionLoad, Progress, TaskLoad, Teller};
use crate::units::{BatchId, OperatorId, PartitionId, UnixMillis};

/// Stateful operators of a batch whose tasks are kept. No query has as many.
const OPERATORS: usize = 64;

/// A microbatch of a run.
#[derive(Debug, Clone)]
pub struct Batch {
    /// Its id.
    pub id: BatchId,
    /// Its numbers: kept as long as the batch is.
    pub numbers: Numbers,
    /// Since when it is remembered, for the order in which things are forgotten.
    pub(super) aged: UnixMillis,
    reported: Option<Teller>,
    progress: Option<Arc<Progress>>,
    loads: Vec<Arc<PartitionLoad>>,
}

impl Batch {
    pub(super) fn new(id: BatchId, aged: UnixMillis) -> Self {
        Self {
            id,
            numbers: Numbers::default(),
            aged,
            reported: None,
            progress: None,
            loads: Vec::new(),
        }
    }

    /// Whether it was reported. Of a batch that runs only tasks may be known.
    pub fn is_reported(&self) -> bool {
        self.reported.is_some()
    }

    /// Who reported it: the query itself, where it did.
    pub fn told_by(&self) -> Option<Teller> {
        self.reported
    }

    /// All that the query said of it; `None` once only its numbers are kept.
    pub fn progress(&self) -> Option<&Progress> {
        self.progress.as_deref()
    }

    /// What its tasks did, by operator; none once that is forgotten, or where no source tells.
    pub fn loads(&self) -> impl Iterator<Item = &PartitionLoad> {
        self.loads.iter().map(AsRef::as_ref)
    }

    /// What its tasks did for one operator. Where the plan did not tell which operator it was,
    /// tasks are those of the only one.
    pub fn load_of(&self, operator: OperatorId) -> Option<&PartitionLoad> {
        let mut named = self.loads().filter(|load| load.operator == Some(operator));
        match (named.next(), self.loads.as_slice()) {
            (Some(load), _) => Some(load),
            (None, [only]) if only.operator.is_none() => Some(only),
            (None, _) => None,
        }
    }

    /// What the task of one partition did for one operator.
    pub fn task_of(&self, operator: OperatorId, partition: PartitionId) -> Option<&TaskLoad> {
        task_of(self.load_of(operator)?, partition)
    }

    /// It is reported, for the first time or again. What the query itself says takes the place of
    /// what its plan tells, which adds nothing to it.
    pub(super) fn report(&mut self, progress: Progress) {
        match (self.reported, progress.told_by) {
            (Some(Teller::Query), Teller::Plan) => return,
            (Some(Teller::Plan), Teller::Query) => self.progress = None,
            (Some(_), _) => return self.fill_from(progress),
            (None, _) => {}
        }
        self.reported = Some(progress.told_by);
        self.numbers = Numbers::of(&progress);
        self.progress = Some(Arc::new(progress));
    }

    /// Fills in what is missing. Fields that were forgotten stay so.
    fn fill_from(&mut self, progress: Progress) {
        self.numbers.fill_from(&Numbers::of(&progress));
        if let Some(known) = &mut self.progress {
            merge::progress(Arc::make_mut(known), progress);
        }
    }

    /// Tasks have ended.
    pub(super) fn load(&mut self, mut load: PartitionLoad) {
        let known = self.loads.iter_mut().find(|known| merge::same_operator(known, &load));
        if let Some(known) = known {
            merge::load(Arc::make_mut(known), load);
        } else if self.loads.len() < OPERATORS {
            merge::tidy(&mut load.tasks);
            self.loads.push(Arc::new(load));
            self.loads.sort_by_key(|load| load.operator);
        }
    }

    /// About how many bytes the fields take that [`Self::thin`] forgets.
    pub(super) fn progress_weight(&self) -> usize {
        self.progress.as_deref().map_or(0, weight::of_progress)
    }

    /// About how many bytes the tasks take.
    pub(super) fn loads_weight(&self) -> usize {
        self.loads().map(weight::of_load).sum()
    }

    /// Keeps the numbers only.
    pub(super) fn thin(&mut self) {
        self.progress = None;
    }

    /// Forgets the tasks.
    pub(super) fn unload(&mut self) {
        self.loads = Vec::new();
    }
}

/// The task of a partition. Tasks are in the order of partitions, so its place is mostly its id.
pub fn task_of(load: &PartitionLoad, partition: PartitionId) -> Option<&TaskLoad> {
    let tasks = &load.tasks;
    let guess = usize::try_from(partition.0).ok().and_then(|at| tasks.get(at));
    if let Some(task) = guess.filter(|task| task.partition == partition) {
        return Some(task);
    }
    let at = tasks.binary_search_by_key(&partition, |task| task.partition).ok()?;
    tasks.get(at)
}
