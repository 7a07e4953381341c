//! What is remembered of the query, and whether this console adds to it.

use std::collections::BTreeSet;

use super::State;
use crate::analysis::pauses::Pause;
use crate::memory::Sample;
use crate::reader::Depth;
use crate::telemetry::timeline::QueryTimeline;
use crate::units::{BatchId, Bytes};

/// Samples that are kept for the charts; the file is thinned to about as many.
const SAMPLES: usize = 50_000;

/// Whether anything is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Keeping {
    /// The operator does not want it.
    #[default]
    Off,
    /// It was not asked for yet: which query it is is not known.
    Waiting,
    /// It is being opened.
    Opening,
    /// This console adds to it.
    Adding,
    /// It is read only; the text says why.
    ReadOnly(String),
    /// It cannot be used; the text says why.
    Failed(String),
}

/// What is remembered of the query.
#[derive(Debug, Clone, Default)]
pub struct Remembered {
    /// Whether anything is.
    pub keeping: Keeping,
    /// How it was, oldest first.
    pub samples: Vec<Sample>,
    /// The repartitions that were seen, oldest first.
    pub pauses: Vec<Pause>,
    /// Repartitions that were asked to be remembered.
    pub asked: BTreeSet<BatchId>,
}

impl Remembered {
    /// A sample was added.
    pub fn add(&mut self, sample: Sample) {
        if self.samples.len() >= SAMPLES {
            self.samples.drain(..SAMPLES / 2);
        }
        self.samples.push(sample);
    }

    /// What is wrong with it, in a few words; `None` when nothing is.
    pub fn trouble(&self) -> Option<(&'static str, &str)> {
        match &self.keeping {
            Keeping::ReadOnly(why) => Some(("memory: read only", why)),
            Keeping::Failed(why) => Some(("memory: not kept", why)),
            Keeping::Off | Keeping::Waiting | Keeping::Opening | Keeping::Adding => None,
        }
    }
}

impl State {
    /// How the query is now, to be remembered; `None` while partitions were not looked at, or a
    /// batch of the past is.
    pub fn sample(&self) -> Option<Sample> {
        let data = self.newest.as_ref()?;
        let inspect = data.inspect();
        let batch = inspect.batch?;
        let is_newest = data.asked.is_none() && inspect.last_committed_batch == Some(batch);
        if !is_newest || data.depth() == Depth::Logs || !inspect.stateful {
            return None;
        }
        let mut rows = data.stores.iter().map(|store| store.rows);
        let bytes: Option<Bytes> = data.stores.iter().map(|store| store.bytes).sum();
        let ratios = data.stores.iter().filter_map(|store| store.max_over_mean);
        Some(Sample {
            at: data.observation.observed_at,
            batch,
            rows: rows.try_fold(0_u64, |sum, rows| sum.checked_add(rows?)),
            bytes,
            partitions: inspect.partitions,
            batch_ms: self.took(batch),
            max_over_mean: ratios.max_by(f64::total_cmp),
        })
    }

    /// How long a batch took: as the query told, else from its offset entry to its commit.
    fn took(&self, batch: BatchId) -> Option<u64> {
        let told = |query: &QueryTimeline| query.batch(query.find(batch)?)?.numbers.took;
        let by_files = || {
            let inspect = self.newest.as_ref()?.inspect();
            let told = super::super::format::told;
            let (begun, done) = (told(inspect.last_plan_at)?, told(inspect.last_commit_at)?);
            let same = inspect.last_planned_batch == Some(batch);
            (same && begun < done).then(|| begun.until(done))
        };
        self.timeline
            .as_ref()
            .and_then(|timeline| {
                let id = self.newest.as_ref()?.inspect().query_id.as_deref();
                timeline.choose(id).query().and_then(told)
            })
            .or_else(by_files)
    }
}
