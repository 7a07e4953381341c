//! What lies between the events of a query and no event tells: restarts, batches that left no
//! progress, resizes.
//!
//! Batch ids of a query count up by one over all its runs. A repartition takes an id and leaves
//! no progress (Spark's offline one), or is told by the batch after it (Databricks). Must not
//! know where events come from.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::event::{
    Event, EventKind, OperatorProgress, Progress, QueryRef, RepartitionStage, Rows,
};
use crate::units::BatchId;

/// Queries, runs of each, and repartitions that are remembered. More of them come from sources
/// that are made up; then all are forgotten rather than taking ever more memory.
const REMEMBERED: usize = 10_000;
/// The phase of a microbatch on Databricks that is the repartition before it.
const CONTROL_BATCH: &str = "controlBatch.REPARTITION";

/// Something between two events of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seam {
    /// A new run has begun.
    Restart {
        /// The run before it.
        from: Arc<str>,
        /// The new run.
        to: Arc<str>,
    },
    /// Batches left no progress: they were lost, or one was a repartition.
    Gap {
        /// The first of them.
        first: BatchId,
        /// The last of them.
        last: BatchId,
        /// The repartition that was one of them, where something shows it.
        resize: Option<Resize>,
    },
    /// A repartition took place before this batch, without a gap.
    Resize {
        /// The batch after it.
        before: BatchId,
        /// The repartition.
        resize: Resize,
    },
}

/// A repartition, by what shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resize {
    /// The count before; `None` when no earlier batch tells.
    pub from: Option<u64>,
    /// The count after; `None` when the batch after it does not tell.
    pub to: Option<u64>,
    /// How long it took in milliseconds, where the query or the driver's log says so.
    pub pause_ms: Option<u64>,
}

/// What is known of the queries so far.
#[derive(Debug, Clone, Default)]
pub struct Seams {
    queries: HashMap<Arc<str>, Known>,
    /// Repartitions that drivers' logs told of: source and batch, milliseconds.
    noted: HashMap<(Arc<str>, BatchId), Option<u64>>,
}

/// What is known of one query.
#[derive(Debug, Clone, Default)]
struct Known {
    run: Option<Arc<str>>,
    runs: HashSet<Arc<str>>,
    /// The greatest batch that left progress.
    batch: Option<BatchId>,
    /// The partitions of its operators.
    partitions: Vec<Option<u64>>,
    /// The operators, by place, whose rows are not tracked in this run.
    untracked: HashSet<usize>,
}

impl Seams {
    /// Takes the next event; gives the seams before it. Rows that only earlier batches show to be
    /// untracked are made so: a batch that changes nothing reports 0 like an empty state.
    pub fn pass(&mut self, event: &mut Event) -> Vec<Seam> {
        let source = &event.place.source;
        let query = match &event.kind {
            EventKind::Repartition(note) => {
                if let (Some(batch), RepartitionStage::Done { duration_ms }) =
                    (note.batch, &note.stage)
                {
                    if self.noted.len() >= REMEMBERED {
                        self.noted.clear();
                    }
                    self.noted.insert((Arc::clone(source), batch), *duration_ms);
                }
                return Vec::new();
            }
            EventKind::Started(started) => &started.query,
            EventKind::Idle { query, .. } => query,
            EventKind::Terminated(ended) => &ended.query,
            EventKind::Progress(progress) => &progress.query,
            _ => return Vec::new(),
        };
        let Some(key) = query.id.as_ref().or(query.run.as_ref()).or(query.name.as_ref()) else {
            return Vec::new();
        };
        if self.queries.len() >= REMEMBERED {
            self.queries.clear();
        }
        let known = self.queries.entry(Arc::clone(key)).or_default();
        let mut seams = Vec::new();
        match known.meet(query) {
            Meeting::Earlier => return seams,
            Meeting::New { from: Some(from), to } => seams.push(Seam::Restart { from, to }),
            Meeting::Same | Meeting::New { from: None, .. } => {}
        }
        if let EventKind::Progress(progress) = &mut event.kind {
            let noted = |batch| self.noted.get(&(Arc::clone(source), batch)).copied();
            seams.extend(known.advance(progress, noted));
            known.correct(&mut progress.operators);
        }
        seams
    }
}

/// How the run of an event stands to those that are known.
enum Meeting {
    /// It is the present one, or not told.
    Same,
    /// It is over: a source lags behind another, or two runs work at once.
    Earlier,
    /// It was not known.
    New { from: Option<Arc<str>>, to: Arc<str> },
}

impl Known {
    fn meet(&mut self, query: &QueryRef) -> Meeting {
        let Some(run) = &query.run else { return Meeting::Same };
        if self.run.as_ref() == Some(run) {
            return Meeting::Same;
        }
        if self.runs.len() >= REMEMBERED {
            self.runs.clear();
        }
        if !self.runs.insert(Arc::clone(run)) {
            return Meeting::Earlier;
        }
        self.untracked.clear();
        let from = self.run.replace(Arc::clone(run));
        Meeting::New { from, to: Arc::clone(run) }
    }

    /// Goes on to a batch; gives the seam before it.
    fn advance(
        &mut self,
        progress: &Progress,
        noted: impl Fn(BatchId) -> Option<Option<u64>>,
    ) -> Option<Seam> {
        let batch = progress.batch?;
        let before = self.batch.replace(self.batch.map_or(batch, |last| last.max(batch)));
        let counts: Vec<_> =
            progress.operators.iter().map(|operator| operator.partitions).collect();
        // A source may not tell all that another one tells.
        let differ = self
            .partitions
            .iter()
            .zip(&counts)
            .any(|(before, now)| before.zip(*now).is_some_and(|(before, now)| before != now));
        let from = largest(&self.partitions);
        if !counts.is_empty() {
            let known = std::mem::replace(&mut self.partitions, counts);
            for (now, before) in self.partitions.iter_mut().zip(known) {
                *now = now.or(before);
            }
        }
        let to = largest(&self.partitions);
        let control = progress.phases.iter().find(|(name, _)| name == CONTROL_BATCH);
        let control = control.map(|(_, millis)| *millis);

        let missing = before.and_then(|last| missing(last, batch));
        // A handful of missing batches is looked through; a span of millions has no note.
        let note = missing.and_then(|(first, last)| {
            (first.0..=last.0).take(REMEMBERED).find_map(|batch| noted(BatchId(batch)))
        });
        let pause_ms = control.or(note.flatten());
        let shown = differ || control.is_some() || note.is_some();
        let resize = shown.then_some(Resize { from, to, pause_ms });
        match (missing, resize) {
            (Some((first, last)), resize) => Some(Seam::Gap { first, last, resize }),
            (None, Some(resize)) => Some(Seam::Resize { before: batch, resize }),
            (None, None) => None,
        }
    }

    /// Makes rows untracked that earlier batches of the run show to be so.
    fn correct(&mut self, operators: &mut [OperatorProgress]) {
        for (place, operator) in operators.iter_mut().enumerate() {
            match operator.rows {
                Rows::Untracked => _ = self.untracked.insert(place),
                Rows::Known(0) | Rows::Unknown if self.untracked.contains(&place) => {
                    operator.rows = Rows::Untracked;
                }
                Rows::Known(_) | Rows::Unknown => {}
            }
        }
    }
}

/// The batches between two that follow each other.
fn missing(last: BatchId, next: BatchId) -> Option<(BatchId, BatchId)> {
    let first = last.0.checked_add(1)?;
    let until = next.0.checked_sub(1)?;
    (first <= until).then_some((BatchId(first), BatchId(until)))
}

fn largest(partitions: &[Option<u64>]) -> Option<u64> {
    partitions.iter().copied().flatten().max()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::telemetry::event::{Place, RepartitionNote, Started};
    use crate::telemetry::progress;

    fn event(kind: EventKind) -> Event {
        Event { place: Place { source: "-".into(), line: None }, kind }
    }

    fn batch(run: &str, batch: u64, partitions: u64) -> Event {
        with(json!({
            "id": "q", "runId": run, "batchId": batch,
            "stateOperators": [{"numShufflePartitions": partitions}],
        }))
    }

    fn with(value: Value) -> Event {
        let Value::Object(object) = value else { panic!("an object") };
        event(EventKind::Progress(Box::new(progress::parse(object))))
    }

    fn pass(events: impl IntoIterator<Item = Event>) -> Vec<Seam> {
        let mut seams = Seams::default();
        events.into_iter().flat_map(|mut event| seams.pass(&mut event)).collect()
    }

    fn gap(first: u64, last: u64, resize: Option<Resize>) -> Seam {
        Seam::Gap { first: BatchId(first), last: BatchId(last), resize }
    }

    #[test]
    fn batches_in_order_have_no_seam() {
        assert!(pass([batch("a", 7, 5), batch("a", 8, 5), batch("a", 8, 5)]).is_empty());
    }

    #[test]
    fn a_repartition_leaves_a_gap_between_two_counts() {
        let restart = Seam::Restart { from: "a".into(), to: "b".into() };
        let resize = Resize { from: Some(5), to: Some(8), pause_ms: None };
        assert_eq!(pass([batch("a", 8, 5), batch("b", 10, 8)]), [restart, gap(9, 9, Some(resize))]);
    }

    #[test]
    fn what_is_lost_is_a_gap_as_well() {
        assert_eq!(pass([batch("a", 3, 5), batch("a", 12, 5)]), [gap(4, 11, None)]);
        let far = pass([batch("a", 0, 5), batch("a", u64::MAX >> 1, 5)]);
        assert_eq!(far, [gap(1, (u64::MAX >> 1) - 1, None)]);
    }

    #[test]
    fn a_drivers_log_tells_how_long_a_repartition_took() {
        let note = event(EventKind::Repartition(RepartitionNote {
            checkpoint: None,
            partitions: 8,
            batch: Some(BatchId(9)),
            timestamp: None,
            stage: RepartitionStage::Done { duration_ms: Some(6642) },
        }));
        let resize = Resize { from: Some(5), to: Some(8), pause_ms: Some(6642) };
        assert_eq!(pass([batch("a", 8, 5), note, batch("a", 10, 8)]), [gap(9, 9, Some(resize))]);
    }

    #[test]
    fn on_databricks_the_batch_after_it_tells_of_a_repartition() {
        let after = with(json!({
            "id": "q", "runId": "a", "batchId": 9,
            "durationMs": {"controlBatch.REPARTITION": 43_912},
            "stateOperators": [{"numShufflePartitions": 400}],
        }));
        let resize = Resize { from: Some(200), to: Some(400), pause_ms: Some(43_912) };
        let expected = Seam::Resize { before: BatchId(9), resize };
        assert_eq!(pass([batch("a", 8, 200), after]), [expected]);
    }

    #[test]
    fn a_run_that_is_over_does_not_come_back() {
        let events = [batch("a", 3, 5), batch("b", 4, 5), batch("a", 9, 5), batch("b", 5, 5)];
        assert_eq!(pass(events), [Seam::Restart { from: "a".into(), to: "b".into() }]);
    }

    #[test]
    fn queries_do_not_mix() {
        let query = QueryRef { id: Some("other".into()), run: Some("c".into()), name: None };
        let started = Started { query, timestamp: None, checkpoint: None };
        let other = event(EventKind::Started(started));
        assert!(pass([batch("a", 7, 5), other, batch("a", 8, 5)]).is_empty());
    }

    #[test]
    fn rows_stay_untracked_through_a_batch_without_changes() {
        let of = |updated: u64| {
            let operator = json!({"numRowsTotal": 0, "numRowsUpdated": updated});
            with(json!({"id": "q", "runId": "a", "batchId": 1, "stateOperators": [operator]}))
        };
        let mut seams = Seams::default();
        let rows: Vec<Rows> = [0, 729, 0]
            .map(|updated| {
                let mut event = of(updated);
                seams.pass(&mut event);
                let EventKind::Progress(progress) = event.kind else { panic!("a progress") };
                progress.operators[0].rows
            })
            .into();
        assert_eq!(rows, [Rows::Known(0), Rows::Untracked, Rows::Untracked]);
    }
}
