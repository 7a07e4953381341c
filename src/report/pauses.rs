//! The report behind `statetop pauses`: every repartition that was seen, and what the next may
//! take. The checkpoint, what is remembered, and what sources of the query tell are joined here.

use serde::Serialize;

use crate::analysis::pauses::{Estimate, Pause, estimate, merge};
use crate::telemetry::resizes::{Resizes, ToldResize};
use crate::units::{BatchId, Bytes};

/// Every repartition of a query that was seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PausesReport {
    /// The checkpoint as the operator named it.
    pub checkpoint: String,
    /// The query's id from `metadata`.
    pub query_id: Option<String>,
    /// The state now: what the next repartition would move.
    pub now: StateSize,
    /// The repartitions, oldest first.
    pub pauses: Vec<Pause>,
    /// What the next may take; `None` without an observation, or with unknown rows.
    pub estimate: Option<Estimate>,
    /// Why there is no estimate.
    pub no_estimate: Option<String>,
}

/// How large a state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct StateSize {
    /// Keys in all stores; of a remote checkpoint as the newest snapshots have it.
    pub rows: Option<u64>,
    /// Bytes of the files of the last committed version.
    pub bytes: Option<Bytes>,
    /// The partition count in force.
    pub partitions: Option<u32>,
}

impl PausesReport {
    /// The report of these repartitions.
    pub fn new(
        checkpoint: String,
        query_id: Option<String>,
        now: StateSize,
        pauses: Vec<Pause>,
    ) -> Self {
        let report = Self {
            checkpoint,
            query_id,
            now,
            pauses: Vec::new(),
            estimate: None,
            no_estimate: None,
        };
        report.with(pauses)
    }

    /// With what a source of running queries told of this one: what its progress shows, and what a
    /// driver's log says of this checkpoint.
    #[must_use]
    pub fn with_told(self, told: &Resizes) -> Self {
        let query = self.query_id.as_deref().map(|id| told.of(id)).unwrap_or_default();
        let shown: Vec<Pause> = query.iter().map(|resize| self.placed(resize)).collect();
        let is_known = |pause: &Pause| {
            let known = self.pauses.iter().chain(&shown);
            known.into_iter().any(|known| (known.batch, known.to) == (pause.batch, pause.to))
        };
        let done = told.done().into_iter().filter(|(checkpoint, pause)| {
            checkpoint.is_some_and(|place| is_same(place, &self.checkpoint)) || is_known(pause)
        });
        let done: Vec<Pause> = done.map(|(_, pause)| pause).collect();
        self.with(shown.into_iter().chain(done).collect())
    }

    /// At the batch of the offset log that it is, where that is known.
    fn placed(&self, resize: &ToldResize) -> Pause {
        let within = |batch: BatchId| (resize.first..=resize.last).contains(&batch);
        let known = self.pauses.iter().find(|known| {
            let counts = known.to.zip(resize.pause.to);
            within(known.batch) && counts.is_none_or(|(known, told)| known == told)
        });
        let batch = known.map_or(resize.last, |known| known.batch);
        Pause { batch, ..resize.pause.clone() }
    }

    /// With what another source knows of the same query's repartitions.
    #[must_use]
    pub fn with(mut self, others: Vec<Pause>) -> Self {
        self.pauses = merge(self.pauses.drain(..).chain(others));
        let observed: Vec<(u64, u64)> = self
            .pauses
            .iter()
            .filter_map(|pause| pause.rows.zip(pause.pause.map(|p| p.millis)))
            .collect();
        self.estimate = self.now.rows.and_then(|rows| estimate(rows, &observed));
        self.no_estimate = match (&self.estimate, self.now.rows) {
            (Some(_), _) => None,
            (None, None) => Some("the rows of the state are not known".to_owned()),
            (None, Some(_)) => Some("no repartition was measured: rehearse on a copy".to_owned()),
        };
        self
    }
}

/// Whether two names are of the same place: schemes and slashes at the end differ between
/// programs.
fn is_same(a: &str, b: &str) -> bool {
    fn plain(name: &str) -> &str {
        let path = name.split_once(":/").map_or(name, |(_, path)| path);
        path.trim_matches('/')
    }
    !plain(a).is_empty() && plain(a) == plain(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_is_the_same_however_it_is_written() {
        for other in ["/data/ckpt/q", "file:/data/ckpt/q/", "file:///data/ckpt/q"] {
            assert!(is_same("/data/ckpt/q", other), "{other}");
        }
        assert!(is_same("s3a://bucket/q", "s3://bucket/q"));
        assert!(!is_same("/data/ckpt/q", "/data/ckpt/p") && !is_same("", "/"));
    }
}
