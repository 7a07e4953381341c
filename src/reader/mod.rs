//! From a checkpoint's address to reports: the one door that the command line and the
//! console use. It joins storage, checkpoint, state and analysis, and knows no terminal.

mod build;
mod changes;
mod checkpoint;
mod checks;
mod history;
mod keyed;
mod keys;
mod opened;
mod ordered;
mod owned;
mod pauses;
mod pin;
mod plan;
mod preflight;
mod rows;
mod scan;
mod session;
mod single;
mod state;
mod updates;
mod verify;
mod writes;

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::preflight::Request as PreflightRequest;
use crate::report::{
    InspectReport, KeysReport, LoggedBatch, PartitionsReport, PausesReport, PreflightCheck,
    PreflightReport, VerifyReport,
};
use crate::task::{Cancel, Cancelled, Progress};
use crate::units::{BatchId, OperatorId, UnixMillis};

pub use checkpoint::CheckpointReader;
pub use history::{HistoryRequest, KeyChange, KeyHistory};
pub use keys::{KeysRequest, Weighing};
pub use owned::{OwnedHalf, OwnedRow};
pub use plan::{MadeUpPlan, PlanBasis, PlanQuestion, PlanRequest};
pub use rows::{
    Change, Encoder, FamilyChoice, Half, KeyPin, MakeEncoder, RowsRequest, RowsSummary, StateRow,
    Whereabouts,
};
pub use scan::{ScanNews, ScanProgress, ScanRequest, scan, scan_storages};
pub use verify::VerifyRequest;

/// How deep to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Only the logs and operator metadata: no file of any partition.
    Logs,
    /// Also every partition's files and its newest snapshot's own count.
    Snapshot,
    /// Also open every store, replay changelogs and count.
    Exact,
}

/// What to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The batch whose result is wanted; `None` for the last committed.
    pub batch: Option<BatchId>,
    /// How deep to look.
    pub depth: Depth,
    /// Only this operator's partitions; `None` for all.
    pub operator: Option<OperatorId>,
    /// Only stores of this name; `None` for all.
    pub store: Option<String>,
}

/// What was read, and when.
#[derive(Debug, Clone)]
pub struct Observation {
    /// The overview.
    pub inspect: Arc<InspectReport>,
    /// The spread over partitions; no operators at [`Depth::Logs`].
    pub partitions: Arc<PartitionsReport>,
    /// What both logs say of each retained batch, oldest first.
    pub batches: Arc<[LoggedBatch]>,
    /// How deep the reader looked.
    pub depth: Depth,
    /// When reading began.
    pub observed_at: UnixMillis,
    /// How long reading took, in milliseconds.
    pub took_millis: u64,
}

/// A cheap mark of a checkpoint's newest log entries: while it is equal, nothing new is committed
/// or planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark {
    /// Greatest offset entry.
    pub planned: Option<BatchId>,
    /// Greatest commit entry.
    pub committed: Option<BatchId>,
}

/// Why a target cannot be read at all. Anything less is a finding in a report.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The message names the target, what was expected and found, and what to do.
    #[error("{0}")]
    Unreadable(String),
    /// The batch asked for is not there; the message says which are.
    #[error("{0}")]
    NoSuchBatch(String),
    /// The operator or store asked for is not there; the message says which are.
    #[error("{0}")]
    NoSuchStore(String),
    /// A condition does not fit the columns; the message shows where.
    #[error("{0}")]
    BadCondition(String),
    /// What was read could not be passed on.
    #[error("cannot write")]
    Output(#[source] std::io::Error),
    /// Given up at the caller's request.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Something whose state can be read row by row.
///
/// Each method reads on several threads where it can, tells `progress` now and then, and ends
/// early when `cancel` fires: what was read until then is the result, labelled as partial.
/// Errors are of the request or of the whole target; a broken file is a finding instead.
pub trait ReadState: Send + Sync {
    /// Passes rows to `emit` one by one, by partition and key, until it breaks.
    ///
    /// # Errors
    /// When what is asked for is not there, or nothing can be read.
    fn rows(
        &self,
        request: &RowsRequest,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
        emit: &mut dyn FnMut(&StateRow<'_>) -> ControlFlow<()>,
    ) -> Result<RowsSummary, ReadError>;

    /// Encodes rows on several threads and passes the bytes to `out`, by partition and key.
    ///
    /// # Errors
    /// As [`Self::rows`]; [`ReadError::Output`] when `out` fails.
    fn encoded_rows(
        &self,
        request: &RowsRequest,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
        encoder: &MakeEncoder<'_>,
        out: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<RowsSummary, ReadError>;

    /// Passes what the request's batch put and removed to `emit`, in the order of its changelogs.
    ///
    /// # Errors
    /// As [`Self::rows`]; also when the batch left no changelogs.
    fn changes(
        &self,
        request: &RowsRequest,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
        emit: &mut dyn FnMut(&StateRow<'_>) -> ControlFlow<()>,
    ) -> Result<RowsSummary, ReadError>;

    /// What the last batches did to one key, newest first.
    ///
    /// # Errors
    /// As [`Self::rows`].
    fn history(
        &self,
        request: &HistoryRequest,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<KeyHistory, ReadError>;

    /// The heaviest keys.
    ///
    /// # Errors
    /// As [`Self::rows`]; also when there is no such grouping column.
    fn keys(
        &self,
        request: &KeysRequest,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<KeysReport, ReadError>;

    /// Reads what is needed to say what any other count would do.
    ///
    /// # Errors
    /// As [`Self::rows`]; also when there are more keys than fit in memory.
    fn plan(
        &self,
        request: &PlanRequest,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<PlanBasis, ReadError>;

    /// Checks everything there is to check.
    ///
    /// # Errors
    /// As [`Self::rows`].
    fn verify(
        &self,
        request: &VerifyRequest,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<VerifyReport, ReadError>;

    /// What a resize would come to. Each check is passed to `tell` when it is made, and once more
    /// when more is known; given up, the report has the checks made until then.
    ///
    /// # Errors
    /// When the target cannot be read at all; that there is no checkpoint is an answer instead.
    fn preflight(
        &self,
        request: &PreflightRequest,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
        tell: &mut dyn FnMut(&PreflightCheck),
    ) -> Result<PreflightReport, ReadError>;

    /// The repartitions that the retained batches show.
    ///
    /// # Errors
    /// When the target cannot be read.
    fn pauses(
        &self,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<PausesReport, ReadError>;
}

/// Something that can be watched: a checkpoint, or the demo's replay of one.
pub trait Observe: Send + Sync {
    /// The target as the operator named it.
    fn name(&self) -> &str;

    /// The way to its rows; `None` where there are only reports.
    fn state(&self) -> Option<&dyn ReadState> {
        None
    }

    /// Which entries are the newest, by listing the two logs only.
    ///
    /// # Errors
    /// When the target cannot be listed.
    fn mark(&self) -> Result<Mark, ReadError>;

    /// Reads as deep as asked, on several threads, telling `progress` now and then.
    ///
    /// # Errors
    /// When nothing can be said at all; a broken file is a finding instead.
    fn observe(
        &self,
        request: &Request,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Observation, ReadError>;
}
