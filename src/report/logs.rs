//! What both logs say of each batch: the evidence beside an explanation.

use serde::Serialize;

use crate::units::{BatchId, UnixMillis};

/// A batch that has an entry in either log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LoggedBatch {
    /// The batch.
    pub batch: BatchId,
    /// Whether it has an offset entry, readable or not.
    pub planned: bool,
    /// When the offset entry was written, by the file's modification time.
    pub planned_at: Option<UnixMillis>,
    /// Whether it has a commit entry, readable or not.
    pub committed: bool,
    /// When the commit entry was written, by the file's modification time.
    pub committed_at: Option<UnixMillis>,
    /// The partition count that it pins.
    pub partitions: Option<u32>,
    /// The count before, where this batch is a repartition.
    pub repartition_from: Option<u32>,
}
