//! The pauses of past repartitions: what was seen of each, and what the next one may take.
//!
//! A pause is the time in which the repartition itself ran. An outage is the time without an
//! ordinary batch: from the last commit before the query was stopped to the first after it.
//! Each figure says which source it comes from; sources are merged, the most direct one wins.

mod estimate;

use serde::{Deserialize, Serialize};

use crate::units::{BatchId, Bytes, UnixMillis};

pub use estimate::{Estimate, Fit, estimate};

/// Where a time comes from, the most direct source last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeSource {
    /// The times of the log entries' files in the checkpoint.
    Checkpoint,
    /// A driver's log: `Completed state repartitioning …, durationMs=…`.
    DriverLog,
    /// What the query reports: of a pause `durationMs["controlBatch.REPARTITION"]` of the batch
    /// after it.
    Progress,
}

/// A time that was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timed {
    /// Milliseconds.
    pub millis: u64,
    /// Where it comes from.
    pub source: TimeSource,
}

/// What ordinary batches were like on one side of a repartition.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Around {
    /// Batches that were looked at.
    pub batches: u32,
    /// Their mean time in milliseconds.
    pub batch_ms: Option<f64>,
    /// Where that time comes from.
    #[serde(default)]
    pub batch_ms_source: Option<TimeSource>,
    /// Largest partition divided by the mean, by rows, of the least even store.
    pub max_over_mean: Option<f64>,
    /// Files that a batch wrote into the state, on the mean.
    pub files_per_batch: Option<f64>,
}

/// A repartition that was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pause {
    /// Its batch.
    pub batch: BatchId,
    /// When it began.
    pub at: Option<UnixMillis>,
    /// The count before.
    pub from: Option<u32>,
    /// The count after.
    pub to: Option<u32>,
    /// Whether its commit is there.
    pub finished: bool,
    /// Keys that were moved, over all stores.
    pub rows: Option<u64>,
    /// Bytes of the state that was moved.
    pub bytes: Option<Bytes>,
    /// How long the repartition ran.
    pub pause: Option<Timed>,
    /// How long no ordinary batch committed.
    pub outage: Option<Timed>,
    /// The batches before it.
    pub before: Around,
    /// The batches after it.
    pub after: Around,
}

impl Pause {
    /// A repartition of which nothing but its place is known.
    pub fn of(batch: BatchId) -> Self {
        Self {
            batch,
            at: None,
            from: None,
            to: None,
            finished: false,
            rows: None,
            bytes: None,
            pause: None,
            outage: None,
            before: Around::default(),
            after: Around::default(),
        }
    }

    /// What both know of the same repartition.
    #[must_use]
    fn merged(self, other: &Self) -> Self {
        Self {
            batch: self.batch,
            at: self.at.or(other.at),
            from: self.from.or(other.from),
            to: self.to.or(other.to),
            finished: self.finished || other.finished,
            rows: self.rows.or(other.rows),
            bytes: self.bytes.or(other.bytes),
            pause: more_direct(self.pause, other.pause),
            outage: by_the_log(self.outage, other.outage),
            before: self.before.merged(other.before),
            after: self.after.merged(other.after),
        }
    }
}

impl Around {
    fn merged(self, other: Self) -> Self {
        let rank = |side: &Self| (side.batch_ms.and(side.batch_ms_source), side.batches);
        let times = if rank(&self) >= rank(&other) { self } else { other };
        let (batch_ms, batch_ms_source) = if times.batch_ms.is_some() {
            (times.batch_ms, times.batch_ms_source)
        } else if self.batch_ms.is_some() {
            (self.batch_ms, self.batch_ms_source)
        } else {
            (other.batch_ms, other.batch_ms_source)
        };
        Self {
            batches: times.batches,
            batch_ms,
            batch_ms_source,
            max_over_mean: self.max_over_mean.or(other.max_over_mean),
            files_per_batch: self.files_per_batch.or(other.files_per_batch),
        }
    }
}

fn more_direct(a: Option<Timed>, b: Option<Timed>) -> Option<Timed> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.source > a.source { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// An outage is one of commits: what a query says of its batches only stands in for that.
fn by_the_log(a: Option<Timed>, b: Option<Timed>) -> Option<Timed> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.source < a.source { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// Whether two notes are of the same repartition: after a checkpoint was started anew, batch
/// numbers repeat.
fn same(a: &Pause, b: &Pause) -> bool {
    const APART: u64 = 3_600_000;
    let near = |a: UnixMillis, b: UnixMillis| a.until(b).max(b.until(a)) < APART;
    let times_agree = a.at.zip(b.at).is_none_or(|(a, b)| near(a, b));
    let counts_agree = a.to.zip(b.to).is_none_or(|(a, b)| a == b);
    a.batch == b.batch && times_agree && counts_agree
}

/// Joins what several sources know, oldest first. Of two that know the same, the first is kept;
/// times go by their source.
pub fn merge(sources: impl IntoIterator<Item = Pause>) -> Vec<Pause> {
    let mut all: Vec<Pause> = Vec::new();
    for next in sources {
        match all.iter().position(|known| same(known, &next)) {
            Some(at) => {
                let known = all.remove(at);
                all.insert(at, known.merged(&next));
            }
            None => all.push(next),
        }
    }
    all.sort_by_key(|pause| (pause.at.unwrap_or(UnixMillis(i64::MIN)), pause.batch));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(batch: u64, at: Option<i64>, millis: u64, source: TimeSource) -> Pause {
        Pause {
            at: at.map(UnixMillis),
            to: Some(8),
            pause: Some(Timed { millis, source }),
            ..Pause::of(BatchId(batch))
        }
    }

    #[test]
    fn the_most_direct_time_wins_whatever_the_order() {
        let checkpoint = pause(9, Some(1000), 3100, TimeSource::Checkpoint);
        let progress = pause(9, None, 3000, TimeSource::Progress);
        for all in [[checkpoint.clone(), progress.clone()], [progress, checkpoint]] {
            let [one] = merge(all).try_into().unwrap();
            assert_eq!(one.pause, Some(Timed { millis: 3000, source: TimeSource::Progress }));
            assert_eq!(one.at, Some(UnixMillis(1000)));
        }
    }

    #[test]
    fn an_outage_is_that_of_the_log_and_batch_times_those_of_the_query() {
        let side = |batch_ms, source, batches| Around {
            batches,
            batch_ms: Some(batch_ms),
            batch_ms_source: Some(source),
            ..Around::default()
        };
        let timed = |millis, source| Some(Timed { millis, source });
        let checkpoint = Pause {
            outage: timed(7_000, TimeSource::Checkpoint),
            before: side(80.0, TimeSource::Checkpoint, 10),
            ..pause(9, Some(1000), 3100, TimeSource::Checkpoint)
        };
        let progress = Pause {
            outage: timed(7_050, TimeSource::Progress),
            before: side(95.0, TimeSource::Progress, 4),
            ..pause(9, None, 3000, TimeSource::Progress)
        };
        for all in [[checkpoint.clone(), progress.clone()], [progress, checkpoint]] {
            let [one] = merge(all).try_into().unwrap();
            assert_eq!(one.outage, timed(7_000, TimeSource::Checkpoint));
            assert_eq!(one.before, side(95.0, TimeSource::Progress, 4));
        }
    }

    #[test]
    fn the_same_number_of_another_life_is_another_repartition() {
        let early = pause(9, Some(0), 1, TimeSource::Checkpoint);
        let late = pause(9, Some(7_200_000), 2, TimeSource::Checkpoint);
        assert_eq!(merge([late, early.clone()]).len(), 2);
        let other = Pause { to: Some(3), ..early.clone() };
        assert_eq!(merge([early, other]).len(), 2);
    }
}
