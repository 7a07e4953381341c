//! One query over all its runs: what was told of it, and the way through it.

use std::cmp::Ordering;
use std::sync::Arc;

use super::batch::Batch;
use super::run::{Ended, Run, RunKey};
use crate::telemetry::{QueryRef, Started};
use crate::units::{BatchId, UnixMillis};

/// Runs of a query that are remembered. A query that cannot start is restarted for days.
const RUNS: usize = 1_000;

/// Names a query within a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueryKey(pub(super) u32);

/// Names a batch within a query: two runs may have one of the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// The run.
    pub run: RunKey,
    /// The batch.
    pub batch: BatchId,
}

/// A query, and all that is remembered of its runs.
#[derive(Debug, Clone)]
pub struct QueryTimeline {
    /// Its name here.
    pub key: QueryKey,
    /// The id that lives in the checkpoint's `metadata` file.
    pub id: Option<Arc<str>>,
    /// The name that the program gave it.
    pub name: Option<Arc<str>>,
    /// Its checkpoint, where a source tells.
    pub checkpoint: Option<String>,
    /// How many of its oldest batches and runs are forgotten.
    pub forgotten: Forgotten,
    /// The source that spoke of it last, by its place.
    pub source: usize,
    /// When it was spoken of last, counted in events.
    pub(super) told: u64,
    runs: Vec<Run>,
    next_run: u32,
    newest: UnixMillis,
}

/// What there is no room for any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Forgotten {
    /// Batches.
    pub batches: u64,
    /// Runs.
    pub runs: u64,
}

/// What a query does, by the last that was told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Activity<'a> {
    /// Nothing was told but its name.
    Unknown,
    /// It was started, and has reported no batch yet.
    Started,
    /// It runs batches.
    Running,
    /// It waits for data since about then.
    Idle(UnixMillis),
    /// It was stopped.
    Stopped(&'a Ended),
    /// It ended with an exception.
    Failed(&'a Ended),
}

impl QueryTimeline {
    pub(super) fn new(key: QueryKey, source: usize) -> Self {
        Self {
            key,
            id: None,
            name: None,
            checkpoint: None,
            forgotten: Forgotten::default(),
            source,
            told: 0,
            runs: Vec::new(),
            next_run: 0,
            newest: UnixMillis(0),
        }
    }

    /// Its runs, the oldest first.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The run of that name.
    pub fn run(&self, key: RunKey) -> Option<&Run> {
        self.runs.iter().find(|run| run.key == key)
    }

    /// The newest run.
    pub fn current(&self) -> Option<&Run> {
        self.runs.last()
    }

    /// How often it was restarted, as far as that was told.
    pub fn restarts(&self) -> u64 {
        (self.runs.len() as u64).saturating_add(self.forgotten.runs).saturating_sub(1)
    }

    /// What it does.
    pub fn activity(&self) -> Activity<'_> {
        let Some(run) = self.current() else { return Activity::Unknown };
        if let Some(ended) = &run.ended {
            return if ended.has_failed() {
                Activity::Failed(ended)
            } else {
                Activity::Stopped(ended)
            };
        }
        let batch = run.newest();
        let at = batch.and_then(|batch| batch.numbers.ended().or(batch.numbers.at));
        match (run.idle, batch) {
            (Some(idle), _) if at.is_none_or(|at| at <= idle) => Activity::Idle(idle),
            (None, None) if run.batches.is_empty() => Activity::Started,
            _ => Activity::Running,
        }
    }

    /// The batches that it reported, over all runs, the oldest first.
    pub fn reported(&self) -> impl DoubleEndedIterator<Item = (&Run, &Batch)> {
        self.runs.iter().flat_map(|run| run.reported().map(move |batch| (run, batch)))
    }

    /// The newest batch that it reported.
    pub fn newest(&self) -> Option<Place> {
        self.reported().next_back().map(|(run, batch)| Place { run: run.key, batch: batch.id })
    }

    /// The oldest batch that is remembered.
    pub fn oldest(&self) -> Option<Place> {
        self.reported().next().map(|(run, batch)| Place { run: run.key, batch: batch.id })
    }

    /// The batch at a place.
    pub fn batch(&self, place: Place) -> Option<&Batch> {
        self.run(place.run)?.batch(place.batch)
    }

    /// The batch of that id, of the newest run that reported one.
    pub fn find(&self, id: BatchId) -> Option<Place> {
        let has = |run: &&Run| run.batch(id).is_some_and(Batch::is_reported);
        let run = self.runs.iter().rev().find(has)?;
        Some(Place { run: run.key, batch: id })
    }

    /// The reported batches from a place backwards, that place first. The place itself need not
    /// exist: the walk begins where it would be.
    pub fn back_from(&self, place: Place) -> impl Iterator<Item = (&Run, &Batch)> {
        let at = self.runs.iter().position(|run| run.key == place.run).unwrap_or(self.runs.len());
        let (before, rest) = self.runs.split_at(at);
        let here = rest.first().into_iter().flat_map(move |run| {
            let end = run.place(place.batch).map_or_else(|at| at, |at| at + 1);
            run.batches.range(..end).rev().map(move |batch| (run, batch.as_ref()))
        });
        let earlier = before
            .iter()
            .rev()
            .flat_map(|run| run.batches.iter().rev().map(move |batch| (run, batch.as_ref())));
        here.chain(earlier).filter(|(_, batch)| batch.is_reported())
    }

    /// The reported batches after a place, the next one first.
    pub fn on_from(&self, place: Place) -> impl Iterator<Item = (&Run, &Batch)> {
        let at = self.runs.iter().position(|run| run.key == place.run).unwrap_or(self.runs.len());
        let (here, later) = self.runs.split_at((at + 1).min(self.runs.len()));
        let here = here.last().filter(|run| run.key == place.run).into_iter();
        let here = here.flat_map(move |run| {
            let start = run.place(place.batch).map_or_else(|at| at, |at| at + 1);
            run.batches.range(start..).map(move |batch| (run, batch.as_ref()))
        });
        let later =
            later.iter().flat_map(|run| run.batches.iter().map(move |batch| (run, batch.as_ref())));
        here.chain(later).filter(|(_, batch)| batch.is_reported())
    }

    /// The place so many reported batches on, or back where `by` is negative; the last there is
    /// where it would be beyond.
    pub fn step(&self, place: Place, by: isize) -> Place {
        let of = |(run, batch): (&Run, &Batch)| Place { run: run.key, batch: batch.id };
        let steps = by.unsigned_abs();
        let to = if by < 0 {
            self.back_from(place).take(steps.saturating_add(1)).last()
        } else {
            self.on_from(place).take(steps).last()
        };
        to.map_or(place, of)
    }

    /// Whether an event about `query` is about this one.
    pub(super) fn is(&self, query: &QueryRef) -> bool {
        match (&query.id, &self.id) {
            (Some(id), Some(mine)) => id == mine,
            _ => match &query.run {
                Some(run) => self.runs.iter().any(|known| known.id.as_ref() == Some(run)),
                None => query.name.is_some() && query.name == self.name,
            },
        }
    }

    /// What an event calls it.
    pub(super) fn called(&mut self, query: &QueryRef) {
        let QueryRef { id, run: _, name } = query;
        self.id = self.id.take().or_else(|| id.clone());
        if name.is_some() {
            self.name.clone_from(name);
        }
    }

    /// The newest moment it was told of: the age of what comes without a time.
    pub(super) fn age(&mut self, at: Option<UnixMillis>) -> UnixMillis {
        self.newest = self.newest.max(at.unwrap_or(UnixMillis(0)));
        at.unwrap_or(self.newest)
    }

    /// The run that an event is about, made where it was not known. An event that does not name
    /// its run is about the newest. `at` is when it happened.
    pub(super) fn run_of(&mut self, query: &QueryRef, at: Option<UnixMillis>) -> RunKey {
        let named = query.run.as_ref();
        let known = self.runs.iter().rposition(|run| named.is_none() || run.id.as_ref() == named);
        // A run that was known only by what it did gets its id.
        let nameless = || self.runs.len().checked_sub(1).filter(|last| self.is_nameless(*last));
        let place = known.or_else(nameless).unwrap_or_else(|| self.begin_run());
        let Some(run) = self.runs.get_mut(place) else { return RunKey(self.next_run) };
        let (key, began) = (run.key, run.began());
        run.id = run.id.take().or_else(|| query.run.clone());
        run.first = earlier(run.first, at);
        if run.began() != began {
            self.sort_runs();
        }
        key
    }

    fn is_nameless(&self, place: usize) -> bool {
        self.runs.get(place).is_some_and(|run| run.id.is_none())
    }

    fn begin_run(&mut self) -> usize {
        self.runs.push(Run::new(RunKey(self.next_run), None));
        self.next_run = self.next_run.wrapping_add(1);
        self.runs.len() - 1
    }

    /// A start was told of.
    pub(super) fn started(&mut self, started: &Started) {
        let at = started.timestamp;
        let key = self.run_of(&started.query, at);
        if started.checkpoint.is_some() {
            self.checkpoint.clone_from(&started.checkpoint);
        }
        if let Some(run) = self.run_mut(key) {
            run.started = run.started.or(at);
        }
        self.sort_runs();
    }

    /// Puts the runs into their order in time. Those of which no time is known are the newest.
    fn sort_runs(&mut self) {
        self.runs.sort_by(|a, b| match (a.began(), b.began()) {
            (Some(one), Some(other)) => one.cmp(&other).then(a.key.cmp(&b.key)),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => a.key.cmp(&b.key),
        });
    }

    /// The run of that name, to be changed.
    pub(super) fn run_mut(&mut self, key: RunKey) -> Option<&mut Run> {
        self.runs.iter_mut().find(|run| run.key == key)
    }

    /// Forgets a batch.
    pub(super) fn forget(&mut self, place: Place) {
        if let Some(run) = self.run_mut(place.run)
            && let Ok(at) = run.place(place.batch)
        {
            run.batches.remove(at);
            self.forgotten.batches = self.forgotten.batches.saturating_add(1);
        }
    }

    /// Takes out the oldest runs that there is no room for.
    pub(super) fn surplus_runs(&mut self) -> Vec<Run> {
        let surplus = self.runs.len().saturating_sub(RUNS);
        let gone: Vec<Run> = self.runs.drain(..surplus).collect();
        let batches: u64 = gone.iter().map(|run| run.batches.len() as u64).sum();
        self.forgotten.runs = self.forgotten.runs.saturating_add(gone.len() as u64);
        self.forgotten.batches = self.forgotten.batches.saturating_add(batches);
        gone
    }
}

fn earlier(a: Option<UnixMillis>, b: Option<UnixMillis>) -> Option<UnixMillis> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
