//! The report behind `statetop pauses`: every repartition that was seen, and what the next may
//! take.

use serde::Serialize;

use crate::analysis::pauses::{Estimate, Pause, estimate, merge};
use crate::units::Bytes;

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
