//! What statetop remembers of a query, so that charts outlive log retention and a lost session.
//!
//! One append-only file per query id in the data directory, a JSON object a line. The first
//! writer locks it; another console beside it only reads. A torn last line is left out and
//! written over by nothing: the next record begins on a line of its own. When the file outgrows
//! its bound, samples are thinned with age; repartitions are kept.
//!
//! Nothing here reads or writes a checkpoint.

mod file;
mod thin;

use serde::{Deserialize, Serialize};

use crate::analysis::pauses::Pause;
use crate::units::{BatchId, Bytes, UnixMillis};

pub use file::{Memory, MemoryError, Remembered, Writer, directory};

/// Something that is remembered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// How the query was at a moment.
    Sample(Sample),
    /// A repartition that was seen.
    Repartition(Pause),
}

impl Record {
    /// When it was, as far as it is known.
    pub fn at(&self) -> Option<UnixMillis> {
        match self {
            Self::Sample(sample) => Some(sample.at),
            Self::Repartition(pause) => pause.at,
        }
    }
}

/// How a query was at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When it was seen.
    pub at: UnixMillis,
    /// The last committed batch.
    pub batch: BatchId,
    /// Keys in all stores.
    #[serde(default)]
    pub rows: Option<u64>,
    /// Bytes of the state.
    #[serde(default)]
    pub bytes: Option<Bytes>,
    /// The partition count in force.
    #[serde(default)]
    pub partitions: Option<u32>,
    /// How long the batch took, in milliseconds.
    #[serde(default)]
    pub batch_ms: Option<u64>,
    /// Largest partition divided by the mean, by rows, in the least even store.
    #[serde(default)]
    pub max_over_mean: Option<f64>,
}
