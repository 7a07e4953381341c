//! What is known of running queries: a pure fold of events.
//!
//! ```text
//!  Timeline ─┬─ sources   how each is doing, its environment, what of it could not be read
//!            └─ queries ── runs ── batches   numbers, kept longest
//!                                     ├───── all fields, until there is no room
//!                                     └───── tasks, until there is no room
//! ```
//!
//! Events come in any order, twice, and from several sources at once: the same batch told by
//! progress JSON and by an event log is one batch. Whatever comes in, memory is bounded: the
//! fields and tasks of the oldest batches go first, then the oldest batches. Knows neither
//! files nor clocks; must not know checkpoints or the screen.

mod batch;
mod choice;
#[cfg(test)]
mod laws;
mod merge;
mod numbers;
mod phases;
mod query;
mod run;
mod shelf;
mod source;
#[cfg(test)]
mod tests;
mod track;
mod weight;

use std::sync::Arc;

pub use batch::{Batch, task_of};
pub use choice::Choice;
pub use numbers::Numbers;
pub use phases::{Phase, Phases};
pub use query::{Activity, Forgotten, Place, QueryKey, QueryTimeline};
pub use run::{Ended, Run, RunKey};
pub use source::{Condition, SourceLine, Unread};
pub use track::Column;

use super::attach::News;
use super::{
    ConfRestored, Environment, Event, EventKind, PartitionLoad, Progress, QueryRef,
    RepartitionNote, RepartitionStage,
};
use crate::units::{BatchId, UnixMillis};
use shelf::{Item, Shelf};

/// Bytes, about, of batches with all their fields: some 5,000 of a query with three operators.
const FIELDS: usize = 64 << 20;
/// Bytes, about, of tasks.
const TASKS: usize = 64 << 20;
/// Batches, with whatever is kept of them.
const BATCHES: usize = 100_000;
/// Queries. An application runs a few; sources that tell of more are no sources of one operator.
const QUERIES: usize = 64;
/// Repartitions that driver logs told of.
const REPARTITIONS: usize = 1_000;

/// Confs that a restart did not get.
const CONFS: usize = 64;

/// All that was told by the sources attached.
#[derive(Debug, Clone)]
pub struct Timeline {
    sources: Vec<SourceLine>,
    queries: Vec<QueryTimeline>,
    repartitions: Vec<RepartitionNote>,
    confs: Vec<ConfRestored>,
    next_query: u32,
    events: u64,
    fields: Shelf,
    tasks: Shelf,
    batches: Shelf,
}

impl Timeline {
    /// Nothing told yet, by sources of these names.
    pub fn new(sources: impl IntoIterator<Item = Arc<str>>) -> Self {
        Self::bounded(sources, FIELDS, TASKS, BATCHES)
    }

    fn bounded(
        sources: impl IntoIterator<Item = Arc<str>>,
        fields: usize,
        tasks: usize,
        batches: usize,
    ) -> Self {
        Self {
            sources: sources.into_iter().map(SourceLine::new).collect(),
            queries: Vec::new(),
            repartitions: Vec::new(),
            confs: Vec::new(),
            next_query: 0,
            events: 0,
            fields: Shelf::new(fields),
            tasks: Shelf::new(tasks),
            batches: Shelf::new(batches),
        }
    }

    /// The sources, in the order in which they were attached.
    pub fn sources(&self) -> &[SourceLine] {
        &self.sources
    }

    /// The queries, in the order in which they were first told of.
    pub fn queries(&self) -> &[QueryTimeline] {
        &self.queries
    }

    /// Offline repartitions that driver logs told of.
    pub fn repartitions(&self) -> &[RepartitionNote] {
        &self.repartitions
    }

    /// Confs that a restarted query asked for and did not get, each as it was told last.
    pub fn confs_restored(&self) -> &[ConfRestored] {
        &self.confs
    }

    /// Events that were told.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// What the source at `source` tells.
    pub fn hear(&mut self, source: usize, news: News) {
        match news {
            News::Events(events) => {
                for event in events {
                    self.fold(source, event);
                }
            }
            News::Broken { why, again_at } => {
                if let Some(line) = self.sources.get_mut(source) {
                    line.broken(why, again_at);
                }
            }
            News::Ended => {
                if let Some(line) = self.sources.get_mut(source) {
                    line.ended();
                }
            }
        }
    }

    /// What the source at `source` tells, one by one.
    pub fn fold(&mut self, source: usize, event: Event) {
        self.events = self.events.saturating_add(1);
        let Event { place, kind } = event;
        if let Some(line) = self.sources.get_mut(source) {
            line.heard(&place, &kind);
        }
        match kind {
            EventKind::Started(started) => {
                if let Some(query) = self.query_of(source, &started.query) {
                    query.started(&started);
                    let key = query.key;
                    self.bound_runs(key);
                }
            }
            EventKind::Progress(progress) => self.progress(source, *progress),
            EventKind::Idle { query, timestamp } => self.idle(source, &query, timestamp),
            EventKind::Terminated(terminated) => {
                let query = terminated.query.clone();
                let ended = Ended::of(terminated);
                self.with_run(source, &query, ended.at, |run| run.end(ended));
            }
            EventKind::PartitionLoad(load) => self.load(source, *load),
            EventKind::Repartition(note) => self.repartition(note),
            EventKind::ConfRestored(told) => self.conf_restored(told),
            EventKind::Environment(environment) => self.session(source, *environment),
            EventKind::Interrupted(_) | EventKind::Unreadable(_) => {}
        }
    }

    fn progress(&mut self, source: usize, progress: Progress) {
        let at = progress.timestamp;
        let Some(id) = progress.batch else {
            return self.with_run(source, &progress.query, at, |_| {});
        };
        if !phases::ran_a_batch(&progress.phases) {
            return self.idle(source, &progress.query, at);
        }
        let query = progress.query.clone();
        self.with_batch(source, &query, id, at, |batch| batch.report(progress));
    }

    /// The confs of a query's session are kept with its run; those of the application with the
    /// source.
    fn session(&mut self, source: usize, environment: Environment) {
        let Environment { query: Some(query), confs, .. } = environment else { return };
        self.with_run(source, &query, None, |run| run.confs = confs.into());
    }

    fn load(&mut self, source: usize, load: PartitionLoad) {
        let (query, at) = (load.query.clone(), load.timestamp);
        match load.batch {
            Some(id) => self.with_batch(source, &query, id, at, |batch| batch.load(load)),
            None => self.with_run(source, &query, at, |_| {}),
        }
    }

    fn idle(&mut self, source: usize, query: &QueryRef, at: Option<UnixMillis>) {
        self.with_run(source, query, at, |run| run.idle = run.idle.max(at));
    }

    /// Repartitions are told of at each stage: the last word on one is kept.
    fn repartition(&mut self, note: RepartitionNote) {
        let same = |known: &RepartitionNote| {
            let told = (&known.checkpoint, known.partitions) == (&note.checkpoint, note.partitions);
            let over = |stage: &RepartitionStage| {
                matches!(stage, RepartitionStage::Done { .. } | RepartitionStage::Failed { .. })
            };
            told && match (known.batch, note.batch) {
                (Some(known), Some(batch)) => known == batch,
                // Without a batch it is the one under way, or the same line read again.
                _ => !over(&known.stage) || known.timestamp >= note.timestamp,
            }
        };
        if let Some(known) = self.repartitions.iter_mut().rev().find(|known| same(known)) {
            known.batch = known.batch.or(note.batch);
            if rank(&note.stage) > rank(&known.stage) {
                known.stage = note.stage;
                known.timestamp = note.timestamp.or(known.timestamp);
            }
            return;
        }
        if self.repartitions.len() == REPARTITIONS {
            self.repartitions.remove(0);
        }
        self.repartitions.push(note);
    }

    /// Of each conf the newest word is kept.
    fn conf_restored(&mut self, told: ConfRestored) {
        let room = self.confs.len() < CONFS;
        match self.confs.iter_mut().find(|known| known.key == told.key) {
            Some(known) if known.timestamp <= told.timestamp => *known = told,
            None if room => self.confs.push(told),
            Some(_) | None => {}
        }
    }

    /// Changes the run that an event is about.
    fn with_run(
        &mut self,
        source: usize,
        query: &QueryRef,
        at: Option<UnixMillis>,
        change: impl FnOnce(&mut Run),
    ) {
        let Some(timeline) = self.query_of(source, query) else { return };
        let run = timeline.run_of(query, at);
        if let Some(run) = timeline.run_mut(run) {
            change(run);
        }
        let key = timeline.key;
        self.bound_runs(key);
    }

    /// Changes the batch that an event is about, and sees to it that there is room.
    fn with_batch(
        &mut self,
        source: usize,
        query: &QueryRef,
        id: BatchId,
        at: Option<UnixMillis>,
        change: impl FnOnce(&mut Batch),
    ) {
        let Some(timeline) = self.query_of(source, query) else { return };
        let (key, run) = (timeline.key, timeline.run_of(query, at));
        let age = timeline.age(at);
        let Some(batch) = timeline.run_mut(run).and_then(|run| run.batch_or_new(id, age)) else {
            return;
        };
        change(batch);
        let item = Item { aged: batch.aged, query: key, run, batch: id };
        let (fields, tasks) = (batch.progress_weight(), batch.loads_weight());
        self.fields.put(item, fields);
        self.tasks.put(item, tasks);
        self.batches.put(item, 1);
        self.bound_runs(key);
        self.bound_batches();
    }

    fn bound_batches(&mut self) {
        while let Some(item) = self.fields.surplus() {
            self.with_item(item, Batch::thin);
        }
        while let Some(item) = self.tasks.surplus() {
            self.with_item(item, Batch::unload);
        }
        while let Some(item) = self.batches.surplus() {
            self.fields.put(item, 0);
            self.tasks.put(item, 0);
            if let Some(query) = self.queries.iter_mut().find(|query| query.key == item.query) {
                query.forget(item.place());
            }
        }
    }

    fn with_item(&mut self, item: Item, change: impl FnOnce(&mut Batch)) {
        let query = self.queries.iter_mut().find(|query| query.key == item.query);
        let run = query.and_then(|query| query.run_mut(item.run));
        if let Some(batch) = run.and_then(|run| run.batch_mut(item.batch)) {
            change(batch);
        }
    }

    fn bound_runs(&mut self, key: QueryKey) {
        let Some(query) = self.queries.iter_mut().find(|query| query.key == key) else { return };
        for run in query.surplus_runs() {
            for batch in run.batches {
                let item = Item { aged: batch.aged, query: key, run: run.key, batch: batch.id };
                for shelf in [&mut self.fields, &mut self.tasks, &mut self.batches] {
                    shelf.put(item, 0);
                }
            }
        }
    }

    /// The query that an event is about, made where it was not known; `None` when the event does
    /// not say.
    fn query_of(&mut self, source: usize, query: &QueryRef) -> Option<&mut QueryTimeline> {
        if *query == QueryRef::default() {
            return None;
        }
        let place = match self.queries.iter().position(|known| known.is(query)) {
            Some(place) => place,
            None => self.new_query(source),
        };
        let told = self.events;
        let known = self.queries.get_mut(place)?;
        known.called(query);
        known.told = told;
        known.source = source;
        Some(known)
    }

    /// Room is made by the query that was not spoken of for longest.
    fn new_query(&mut self, source: usize) -> usize {
        if self.queries.len() == QUERIES {
            let silent = (0..).zip(&self.queries).min_by_key(|(_, query)| query.told);
            if let Some((place, key)) = silent.map(|(place, query)| (place, query.key)) {
                self.queries.remove(place);
                for shelf in [&mut self.fields, &mut self.tasks, &mut self.batches] {
                    shelf.clear(key);
                }
            }
        }
        self.queries.push(QueryTimeline::new(QueryKey(self.next_query), source));
        self.next_query = self.next_query.wrapping_add(1);
        self.queries.len() - 1
    }
}

/// How late a stage comes.
fn rank(stage: &RepartitionStage) -> u8 {
    match stage {
        RepartitionStage::Begun => 0,
        RepartitionStage::Planned => 1,
        RepartitionStage::Failed { .. } => 2,
        RepartitionStage::Done { .. } => 3,
    }
}
