//! The report behind `statetop history`: what is remembered of a query.

use serde::Serialize;

use crate::analysis::pauses::Pause;
use crate::memory::{Remembered, Sample};

/// What is remembered of a query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HistoryReport {
    /// The file that it is kept in.
    pub file: String,
    /// How the query was, oldest first.
    pub samples: Vec<Sample>,
    /// The repartitions that were seen, oldest first.
    pub pauses: Vec<Pause>,
    /// Lines of the file that say nothing to this version.
    pub skipped: u64,
}

impl HistoryReport {
    /// The report of what a file held.
    pub fn new(file: String, read: &Remembered) -> Self {
        Self { file, samples: read.samples(), pauses: read.pauses(), skipped: read.skipped }
    }
}
