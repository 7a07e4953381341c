//! The resizes that a source tells of, with what batches were like around each: a pure fold of
//! its events, in their order.
//!
//! A resize shows as another partition count from one batch to the next, with or without a batch
//! id that left no progress between them (see [`super::seams`]); Databricks says how long it took
//! in the batch after it, Spark in the driver's log. Must not know checkpoints: which batch of the
//! offset log a resize is may be open between two.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::event::{
    Event, EventKind, PartitionLoad, Progress, QueryRef, RepartitionNote, RepartitionStage, Rows,
};
use super::seams::{Resize, Seam, Seams};
use crate::analysis::pauses::{Around, Pause, TimeSource, Timed};
use crate::figures::float;
use crate::units::{BatchId, UnixMillis};

/// Ordinary batches that are looked at on each side.
const AROUND: usize = 10;
/// Queries, resizes of each, and notes that are kept. No source of one operator has more.
const MOST: usize = 1_000;
/// The phase of a microbatch on Databricks that is the repartition before it.
const CONTROL_BATCH: &str = "controlBatch.REPARTITION";
/// Its rows are not all that its stores have.
const JOIN: &str = "symmetricHashJoin";

/// What a source tells of resizes.
#[derive(Debug, Clone, Default)]
pub struct Resizes {
    seams: Seams,
    queries: HashMap<Arc<str>, Seen>,
    notes: Vec<RepartitionNote>,
}

/// A resize that progress shows.
#[derive(Debug, Clone, PartialEq)]
pub struct ToldResize {
    /// The first batch of the offset log that may be the repartition.
    pub first: BatchId,
    /// The last.
    pub last: BatchId,
    /// What is known of it. Its batch is [`Self::last`].
    pub pause: Pause,
}

/// What is known of one query.
#[derive(Debug, Clone, Default)]
struct Seen {
    query: QueryRef,
    /// The newest batch.
    newest: Option<BatchId>,
    /// The latest batches, back to the resize before.
    latest: VecDeque<Ordinary>,
    /// How uneven the rows were in the batch whose tasks were told last.
    uneven: Option<(BatchId, f64)>,
    told: Vec<Found>,
}

/// A resize, with the batches after it as they come.
#[derive(Debug, Clone)]
struct Found {
    resize: ToldResize,
    /// When the batch before it was over.
    before_ended: Option<UnixMillis>,
    after: Vec<Ordinary>,
}

/// A batch that is no repartition.
#[derive(Debug, Clone, Copy)]
struct Ordinary {
    millis: Option<u64>,
    ended: Option<UnixMillis>,
    rows: Option<u64>,
    max_over_mean: Option<f64>,
}

impl Resizes {
    /// Whether an event could change anything.
    pub fn is_about(event: &Event) -> bool {
        matches!(
            event.kind,
            EventKind::Started(_)
                | EventKind::Terminated(_)
                | EventKind::Idle { .. }
                | EventKind::Progress(_)
                | EventKind::PartitionLoad(_)
                | EventKind::Repartition(_)
        )
    }

    /// Takes the next event.
    pub fn pass(&mut self, mut event: Event) {
        let seams = self.seams.pass(&mut event);
        match event.kind {
            EventKind::Repartition(note) if self.notes.len() < MOST => self.notes.push(note),
            EventKind::Progress(progress) => {
                if let Some(seen) = self.seen(&progress.query) {
                    seen.progress(&progress, &seams);
                }
            }
            EventKind::PartitionLoad(load) => {
                if let Some(seen) = self.seen(&load.query) {
                    seen.load(&load);
                }
            }
            _ => {}
        }
    }

    /// The queries that were told of.
    pub fn queries(&self) -> impl Iterator<Item = &QueryRef> {
        self.queries.values().map(|seen| &seen.query)
    }

    /// The resizes that progress of a query shows.
    pub fn of(&self, id: &str) -> Vec<ToldResize> {
        self.queries.get(id).map(Seen::resizes).unwrap_or_default()
    }

    /// The offline repartitions that were done by what a driver's log says, of all checkpoints,
    /// each with the place of its checkpoint.
    pub fn done(&self) -> Vec<(Option<&str>, Pause)> {
        let done = self.notes.iter().filter_map(|note| {
            let RepartitionStage::Done { duration_ms } = note.stage else { return None };
            let source = TimeSource::DriverLog;
            let began = note.timestamp.zip(duration_ms);
            let pause = Pause {
                // The line is written at the end.
                at: began.map(|(end, took)| UnixMillis(end.0.saturating_sub_unsigned(took))),
                to: Some(note.partitions),
                finished: true,
                pause: duration_ms.map(|millis| Timed { millis, source }),
                ..Pause::of(note.batch?)
            };
            Some((note.checkpoint.as_deref(), pause))
        });
        done.collect()
    }

    fn seen(&mut self, query: &QueryRef) -> Option<&mut Seen> {
        let key = query.id.as_ref().or(query.run.as_ref()).or(query.name.as_ref())?;
        if self.queries.len() >= MOST && !self.queries.contains_key(key) {
            return None;
        }
        let seen = self.queries.entry(Arc::clone(key)).or_default();
        if seen.query.id.is_none() {
            seen.query = query.clone();
        }
        Some(seen)
    }
}

impl Seen {
    fn progress(&mut self, progress: &Progress, seams: &[Seam]) {
        let Some(batch) = progress.batch.filter(|batch| self.newest < Some(*batch)) else { return };
        let control = progress.phases.iter().find(|(name, _)| name == CONTROL_BATCH);
        let control = control.map(|(_, millis)| *millis);
        for seam in seams {
            let (first, last, resize) = match seam {
                Seam::Gap { first, last, resize: Some(resize) } => (*first, *last, resize),
                Seam::Resize { before, resize } => {
                    // Without an earlier batch the one before may be it.
                    let known = self.newest.is_some();
                    let first = if known { before.0 } else { before.0.saturating_sub(1) };
                    (BatchId(first), *before, resize)
                }
                Seam::Gap { resize: None, .. } | Seam::Restart { .. } => continue,
            };
            self.begin(first, last, *resize, progress, control);
        }
        self.newest = Some(batch);
        let millis = progress.duration_ms.map(|all| all.saturating_sub(control.unwrap_or(0)));
        let began = progress.timestamp.zip(progress.duration_ms);
        let uneven = self.uneven.filter(|(of, _)| *of == batch);
        let ordinary = Ordinary {
            millis,
            ended: began.map(|(began, took)| UnixMillis(began.0.saturating_add_unsigned(took))),
            rows: rows(progress),
            max_over_mean: uneven.map(|(_, ratio)| ratio),
        };
        if let Some(found) = self.told.last_mut().filter(|found| found.after.len() < AROUND) {
            found.after.push(ordinary);
        }
        if self.latest.len() == AROUND {
            self.latest.pop_front();
        }
        self.latest.push_back(ordinary);
    }

    fn begin(
        &mut self,
        first: BatchId,
        last: BatchId,
        resize: Resize,
        progress: &Progress,
        control: Option<u64>,
    ) {
        if self.told.len() >= MOST {
            return;
        }
        let source = if control.is_some() { TimeSource::Progress } else { TimeSource::DriverLog };
        let count = |count: Option<u64>| count.and_then(|count| u32::try_from(count).ok());
        let before: Vec<Ordinary> = std::mem::take(&mut self.latest).into();
        let pause = Pause {
            // On Databricks it begins the trigger whose batch tells of it.
            at: progress.timestamp.filter(|_| control.is_some()),
            from: count(resize.from),
            to: count(resize.to),
            finished: true,
            rows: before.last().and_then(|batch| batch.rows),
            pause: resize.pause_ms.map(|millis| Timed { millis, source }),
            before: around(&before),
            ..Pause::of(last)
        };
        let before_ended = before.last().and_then(|batch| batch.ended);
        let resize = ToldResize { first, last, pause };
        self.told.push(Found { resize, before_ended, after: Vec::new() });
    }

    fn load(&mut self, load: &PartitionLoad) {
        let Some(batch) = load.batch else { return };
        let rows: Option<Vec<u64>> = load.tasks.iter().map(|task| task.rows).collect();
        let Some(rows) = rows.filter(|rows| rows.iter().any(|rows| *rows > 0)) else { return };
        let sum = rows.iter().fold(0_u64, |sum, rows| sum.saturating_add(*rows));
        let mean = float(sum) / float(rows.len() as u64);
        let ratio = float(rows.iter().copied().max().unwrap_or(0)) / mean;
        self.uneven = Some(match self.uneven {
            Some((known, other)) if known == batch => (batch, ratio.max(other)),
            _ => (batch, ratio),
        });
        // The tasks of a batch may be told after it.
        if self.newest == Some(batch)
            && let Some(last) = self.latest.back_mut()
        {
            last.max_over_mean = self.uneven.map(|(_, ratio)| ratio);
            if let Some(told) = self.told.last_mut().and_then(|found| found.after.last_mut()) {
                told.max_over_mean = last.max_over_mean;
            }
        }
    }

    fn resizes(&self) -> Vec<ToldResize> {
        let told = |found: &Found| {
            let first = found.after.first().and_then(|batch| batch.ended);
            let outage = found
                .before_ended
                .zip(first)
                .map(|(from, to)| Timed { millis: from.until(to), source: TimeSource::Progress });
            let pause = Pause { outage, after: around(&found.after), ..found.resize.pause.clone() };
            ToldResize { pause, ..found.resize.clone() }
        };
        self.told.iter().map(told).collect()
    }
}

fn around(batches: &[Ordinary]) -> Around {
    let times: Vec<u64> = batches.iter().filter_map(|batch| batch.millis).collect();
    let sum = times.iter().fold(0_u64, |sum, millis| sum.saturating_add(*millis));
    let measured = !times.is_empty();
    Around {
        batches: u32::try_from(batches.len()).unwrap_or(u32::MAX),
        batch_ms: measured.then(|| float(sum) / float(times.len() as u64)),
        batch_ms_source: measured.then_some(TimeSource::Progress),
        max_over_mean: batches.last().and_then(|batch| batch.max_over_mean),
        files_per_batch: None,
    }
}

/// Rows in all stores after a batch, where the query reports all of them.
fn rows(progress: &Progress) -> Option<u64> {
    let all = progress.operators.iter().map(|operator| match operator.rows {
        Rows::Known(rows) if operator.name.as_deref() != Some(JOIN) => Some(rows),
        Rows::Known(_) | Rows::Untracked | Rows::Unknown => None,
    });
    all.reduce(|sum, rows| sum?.checked_add(rows?)).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::telemetry::event::Place;
    use crate::telemetry::progress;

    fn event(kind: EventKind) -> Event {
        Event { place: Place { source: "-".into(), line: None }, kind }
    }

    /// A batch every 10 s, of so many milliseconds.
    fn batch(id: u64, partitions: u64, millis: u64, more: &Value) -> Event {
        let mut phases = json!({"addBatch": 1});
        for (name, value) in more.as_object().unwrap() {
            phases[name] = value.clone();
        }
        let object = json!({
            "id": "q", "runId": "r", "batchId": id, "batchDuration": millis,
            "timestamp": UnixMillis(i64::try_from(id).unwrap() * 10_000).iso().unwrap(),
            "durationMs": phases,
            "stateOperators": [{
                "operatorName": "dedupe", "numRowsTotal": id * 100, "numRowsUpdated": 1,
                "numShufflePartitions": partitions,
            }],
        });
        let Value::Object(object) = object else { panic!("an object") };
        event(EventKind::Progress(Box::new(progress::parse(object))))
    }

    fn plain(id: u64, partitions: u64, millis: u64) -> Event {
        batch(id, partitions, millis, &json!({}))
    }

    fn pass(events: impl IntoIterator<Item = Event>) -> Resizes {
        let mut resizes = Resizes::default();
        events.into_iter().for_each(|event| resizes.pass(event));
        resizes
    }

    #[test]
    fn a_gap_between_two_counts_has_times_of_the_batches_around_it() {
        let before = (0..20).map(|id| plain(id, 5, 100 + id));
        let told = pass(before.chain((21..40).map(|id| plain(id, 8, 300))));
        let [resize] = told.of("q").try_into().unwrap();
        assert_eq!((resize.first, resize.last), (BatchId(20), BatchId(20)));
        let pause = resize.pause;
        assert_eq!((pause.from, pause.to, pause.rows), (Some(5), Some(8), Some(1_900)));
        assert_eq!((pause.at, pause.pause), (None, None));
        // Batches 10 to 19 took 110 to 119 ms.
        assert_eq!((pause.before.batches, pause.before.batch_ms), (10, Some(114.5)));
        assert_eq!((pause.after.batches, pause.after.batch_ms), (10, Some(300.0)));
        assert_eq!(pause.after.batch_ms_source, Some(TimeSource::Progress));
        // From 190.119 s to 210.300 s.
        let outage = Timed { millis: 20_181, source: TimeSource::Progress };
        assert_eq!(pause.outage, Some(outage));
    }

    #[test]
    fn databricks_tells_the_pause_and_its_batch_time_is_without_it() {
        let control = json!({"controlBatch.REPARTITION": 43_912});
        let told = pass([plain(7, 200, 900), batch(8, 400, 44_912, &control)]);
        let [resize] = told.of("q").try_into().unwrap();
        assert_eq!((resize.first, resize.last), (BatchId(8), BatchId(8)));
        assert_eq!((resize.pause.from, resize.pause.to), (Some(200), Some(400)));
        let pause = Timed { millis: 43_912, source: TimeSource::Progress };
        assert_eq!(resize.pause.pause, Some(pause));
        assert_eq!(resize.pause.at, Some(UnixMillis(80_000)));
        assert_eq!(resize.pause.after.batch_ms, Some(1_000.0));

        let [alone] = pass([batch(8, 400, 44_912, &control)]).of("q").try_into().unwrap();
        assert_eq!((alone.first, alone.last), (BatchId(7), BatchId(8)), "either of them");
        assert_eq!((alone.pause.from, alone.pause.rows), (None, None));
    }

    #[test]
    fn a_drivers_log_tells_pauses_of_checkpoints() {
        let note = |stage| {
            event(EventKind::Repartition(RepartitionNote {
                checkpoint: Some("/c/q".to_owned()),
                partitions: 8,
                batch: Some(BatchId(9)),
                timestamp: Some(UnixMillis(50_000)),
                stage,
            }))
        };
        let done = RepartitionStage::Done { duration_ms: Some(6_642) };
        let told = pass([note(RepartitionStage::Planned), note(done)]);
        let [(checkpoint, pause)] = told.done().try_into().unwrap();
        assert_eq!(checkpoint, Some("/c/q"));
        assert_eq!((pause.batch, pause.to), (BatchId(9), Some(8)));
        assert_eq!(pause.at, Some(UnixMillis(43_358)));
        let timed = Timed { millis: 6_642, source: TimeSource::DriverLog };
        assert_eq!(pause.pause, Some(timed));
    }

    #[test]
    fn batches_that_are_told_again_count_once() {
        let all = || (0..5).map(|id| plain(id, 5, 100)).chain((6..9).map(|id| plain(id, 8, 300)));
        let [resize] = pass(all().chain(all())).of("q").try_into().unwrap();
        assert_eq!((resize.pause.before.batches, resize.pause.after.batches), (5, 3));
    }
}
