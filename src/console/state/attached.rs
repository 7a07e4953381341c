//! The running query beside the checkpoint: which it is, which of its batches is looked at, and
//! what its tasks did.

use std::collections::BTreeMap;

use super::super::commands::Availability;
use super::super::data::StoreData;
use super::super::heat::Metric;
use super::{Screen, State};
use crate::analysis::Distribution;
use crate::analysis::traffic::Contrast;
use crate::figures::float;
use crate::report::HistoryEntry;
use crate::telemetry::timeline::{Batch, Choice, Place, QueryTimeline, RunKey, Timeline};
use crate::telemetry::{PartitionLoad, TaskLoad};
use crate::units::{BatchId, OperatorId, PartitionId};

/// Batches whose tasks are added up while the newest is followed: few enough to be now, enough
/// that one batch without data does not empty the screen.
pub const SPAN: usize = 10;
/// Batches among which those are looked for.
const SEARCH: usize = 50;

/// A batch that was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen {
    /// The batch.
    pub batch: BatchId,
    /// Whose, where a running query told of it: two runs may have the same.
    pub run: Option<RunKey>,
}

/// What the tasks of one operator did in one batch or in a few.
#[derive(Debug)]
pub struct TaskSpan<'a> {
    /// The batches and what the tasks did, newest first. There is at least one.
    pub batches: Vec<(BatchId, &'a PartitionLoad)>,
}

impl TaskSpan<'_> {
    /// A measure of each partition's tasks: the sum over the batches, or the newest where sums
    /// mean nothing.
    pub fn values(&self, metric: Metric) -> BTreeMap<PartitionId, u64> {
        let of: fn(&TaskLoad) -> Option<u64> = match metric {
            Metric::Arriving => |task| task.arriving,
            Metric::TaskTime => |task| task.task_ms,
            Metric::CommitTime => |task| task.commit_ms,
            Metric::Memory => |task| task.memory.map(|bytes| bytes.0),
            Metric::Rows | Metric::Bytes | Metric::SnapshotAge => return BTreeMap::new(),
        };
        let batches = if metric == Metric::Memory { 1 } else { self.batches.len() };
        let mut values = BTreeMap::new();
        for (_, load) in self.batches.iter().take(batches) {
            for task in &load.tasks {
                if let Some(value) = of(task) {
                    let sum = values.entry(task.partition).or_insert(0_u64);
                    *sum = sum.saturating_add(value);
                }
            }
        }
        values
    }
}

impl State {
    /// What was told of running queries; as it was when the view is held still.
    pub fn timeline(&self) -> Option<&Timeline> {
        match &self.hold {
            Some(hold) => hold.timeline.as_deref(),
            None => self.timeline.as_deref(),
        }
    }

    /// Which of the queries that were told of is this checkpoint's; `None` when no source is
    /// attached, or the checkpoint was not read yet.
    pub fn choice(&self) -> Option<Choice<'_>> {
        let timeline = self.timeline()?;
        let id = match self.data() {
            Some(data) => data.inspect().query_id.as_deref(),
            // Of a checkpoint that cannot be read at all nothing more will be known.
            None if self.reading.trouble().is_some() => None,
            None => return None,
        };
        Some(timeline.choose(id))
    }

    /// The running query of this checkpoint.
    pub fn query(&self) -> Option<&QueryTimeline> {
        self.choice()?.query()
    }

    /// The place of the batch that is looked at: the chosen one, else the newest.
    pub fn place(&self) -> Option<Place> {
        let query = self.query()?;
        match self.chosen {
            None => query.newest(),
            Some(Chosen { batch, run: Some(run) }) => Some(Place { run, batch }),
            Some(Chosen { batch, run: None }) => query.find(batch),
        }
    }

    /// The batch that is looked at, as the running query told it.
    pub fn told_batch(&self) -> Option<&Batch> {
        self.query()?.batch(self.place()?)
    }

    /// The entries of the checkpoint's log that are retained and committed, oldest first.
    pub fn retained(&self) -> &[HistoryEntry] {
        let Some(inspect) = self.data().map(super::Data::inspect) else { return &[] };
        let committed = inspect.last_committed_batch;
        let history = inspect.partition_history.as_slice();
        let end = history.partition_point(|entry| Some(entry.batch) <= committed);
        history.get(..end).unwrap_or_default()
    }

    /// Whether the checkpoint still has the state that a batch left.
    pub fn retains(&self, batch: BatchId) -> bool {
        self.retained().iter().any(|entry| entry.batch == batch)
    }

    /// The batch whose state is to be read: the chosen one where it is retained, else the one
    /// that is read already.
    pub fn wanted_batch(&self) -> Option<BatchId> {
        match self.chosen {
            None => self.settings.batch,
            Some(chosen) if self.retains(chosen.batch) => Some(chosen.batch),
            Some(_) => self.reading.pinned(),
        }
    }

    /// The chosen batch, where the checkpoint does not have its state any more.
    pub fn not_retained(&self) -> Option<BatchId> {
        let batch = self.chosen?.batch;
        (self.data().is_some() && !self.retains(batch)).then_some(batch)
    }

    /// The batch before or after the one that is looked at, by so many steps; `None` when there
    /// is no way further.
    pub fn neighbour(&self, by: isize) -> Option<Chosen> {
        if let (Some(query), Some(place)) = (self.query(), self.place()) {
            let to = query.step(place, by);
            return (to != place).then_some(Chosen { batch: to.batch, run: Some(to.run) });
        }
        let retained = self.retained();
        let last = retained.len().checked_sub(1)?;
        let here = self.chosen.map(|chosen| chosen.batch).or(self.wanted_batch());
        let at = here
            .map_or(last, |batch| retained.partition_point(|entry| entry.batch < batch).min(last));
        let to = at.saturating_add_signed(by).min(last);
        let batch = retained.get(to).filter(|_| to != at)?.batch;
        Some(Chosen { batch, run: None })
    }

    /// Whether a batch is the newest there is to choose.
    pub fn is_newest(&self, chosen: Chosen) -> bool {
        match (self.query().and_then(QueryTimeline::newest), chosen.run) {
            (Some(newest), Some(run)) => newest == Place { run, batch: chosen.batch },
            _ => self.retained().last().is_some_and(|entry| entry.batch == chosen.batch),
        }
    }

    /// What the tasks of an operator did: in the chosen batch alone, else in the last few that
    /// are known. Batches of another partition count are no part of it.
    pub fn tasks(&self, operator: OperatorId, partitions: u32) -> Option<TaskSpan<'_>> {
        let query = self.query()?;
        let fits = |load: &&PartitionLoad| match (load.expected, load.tasks.last()) {
            (Some(expected), Some(_)) => expected == partitions,
            (None, Some(last)) => last.partition.0 < partitions,
            (_, None) => false,
        };
        let place = self.place()?;
        if self.chosen.is_some() {
            let load = query.batch(place)?.load_of(operator).filter(fits)?;
            return Some(TaskSpan { batches: vec![(place.batch, load)] });
        }
        let batches: Vec<_> = query
            .back_from(place)
            .take(SEARCH)
            .filter_map(|(_, batch)| Some((batch.id, batch.load_of(operator)?)))
            .take_while(|(_, load)| fits(load))
            .take(SPAN)
            .collect();
        (!batches.is_empty()).then_some(TaskSpan { batches })
    }

    /// How the traffic of a store's operator compares with the rows of the store.
    pub fn contrast(&self, store: &StoreData) -> Option<Contrast> {
        let span = self.tasks(store.key.operator, store.partitions)?;
        let arriving = span.values(Metric::Arriving);
        let traffic = Distribution::of(arriving.iter().map(|(id, rows)| (*id, Some(*rows))))?;
        let rows = store.spread.as_ref().and_then(|spread| spread.skew.rows.as_ref());
        let of = |part: Option<u64>, total: u64| {
            let (part, total) = (float(part?), float(total));
            (total > 0.0).then_some(part / total)
        };
        let of_traffic = |id: PartitionId| of(arriving.get(&id).copied(), traffic.total);
        let of_state = |id: PartitionId| {
            let total = rows.filter(|rows| rows.unknown == 0)?.total;
            of(store.partition(id)?.rows, total)
        };
        Some(Contrast::of(&traffic, &of_traffic, rows, &of_state))
    }

    /// Whether partitions can be compared by a metric, or why not.
    pub fn metric_availability(&self, metric: Metric) -> Availability {
        let Some(store) = self.store().filter(|_| metric.is_of_tasks()) else {
            return Availability::Ready;
        };
        if self.timeline.is_none() {
            return Availability::Not("no running query is attached (--events PATH)");
        }
        if self.query().is_none() {
            return Availability::Not("the sources tell of no such query: see 5");
        }
        match self.tasks(store.key.operator, store.partitions) {
            Some(_) => Availability::Ready,
            None if self.chosen.is_some() => {
                Availability::Not("the tasks of the chosen batch are not known")
            }
            None => Availability::Not("no source tells of tasks; event logs do"),
        }
    }

    /// Whether the past can be gone through on this screen, or why not.
    pub fn scrub_availability(&self, by: isize) -> Availability {
        if self.hold.is_some() && self.screen != Screen::Batches {
            return Availability::Not("the view is held still: space lets it go on");
        }
        if self.newest.is_none() && self.query().is_none() {
            return Availability::Not("nothing is read yet");
        }
        match self.neighbour(by) {
            Some(_) => Availability::Ready,
            None if by < 0 => Availability::Not("no earlier batch is known"),
            None => Availability::Not("this is the newest batch, and it is followed"),
        }
    }
}
