//! What the screens show and the commands print: serialisable reports.
//!
//! One report per subject ([`InspectReport`], [`PartitionsReport`], [`KeysReport`],
//! [`PlanReport`], [`ProgressLine`], [`ScanReport`]). Field names are
//! the JSON contract of `docs/json.md`. Reports hold numbers with their grade, never
//! text made for a particular screen.

mod explain;
mod findings;
mod history;
mod inspect;
mod keys;
mod logs;
mod mask;
mod offsets;
mod partitions;
mod pauses;
mod plan;
mod preflight;
mod progress;
mod scan;
pub(crate) mod scan_words;
mod verify;
mod window;

pub use explain::{
    ErrorKind, ErrorReport, ExplainReport, Explanation, Here, Recognised, SchemaReport,
};
pub use findings::{FindingLine, FindingsReport, QueryWord};
pub use history::HistoryReport;
pub use inspect::{
    ColumnFamilyReport, HistoryEntry, InspectReport, OperatorReport, Provider, SourceReport,
    Status, StoreReport,
};
pub use keys::{KeyOffers, KeyReport, KeysReport, Known};
pub use logs::LoggedBatch;
pub use mask::{Reveal, key_words, value_words};
pub use offsets::{OffsetsReport, SourceOffsets};
pub use partitions::{
    FamilyCount, OperatorPartitions, PartitionReport, PartitionsReport, StorePartitions, Total,
};
pub use pauses::{PausesReport, StateSize};
pub use plan::{ConsequencesReport, LayoutReport, PartitionLoad, PlanReport};
pub use preflight::{
    CheckStatus, LegalNext, NextAction, PreflightCheck, PreflightOutcome, PreflightReport,
};
pub use progress::{
    ConfLine, EnvironmentLine, LagLine, LineKind, LoadLine, OperatorLine, ProgressLine,
    RepartitionLine, RepartitionWord, SinkLine, SourceLine, TellerWord,
};
pub use scan::{
    Extent, ScanObstacle, ScanReason, ScanReport, ScannedCheckpoint, ScannedOperator, Unreadable,
    UnreadableKind,
};
pub use verify::{Checked, Soundness, VerifyFault, VerifyReport};
pub use window::window_words;

use serde::Serialize;

/// Where a row count comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// Not known: not tracked, not readable, or not read yet.
    Unknown,
    /// The newest snapshot's own count; changelogs after it are not in it.
    Snapshot,
    /// Store opened, changelogs replayed, keys counted.
    Exact,
}
