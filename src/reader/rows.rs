//! Rows of state stores, decoded, in the order of partitions and keys.
//!
//! Either one by one in the caller's thread, or encoded to bytes by several threads, which
//! is what writing millions of rows needs. Must not know output formats.

mod selection;
mod visit;

use std::io;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use super::opened::Opened;
use super::{ReadError, ordered};
use crate::diagnosis::Finding;
use crate::state::fault::StateFault;
use crate::state::reading::StoreReading;
use crate::state::row::filter::Parsed;
use crate::state::row::value::{Undecodable, Value};
use crate::state::store::Run;
use crate::task::Cancelled;
use crate::units::{BatchId, OperatorId, PartitionId};

pub(super) use self::selection::{PartRead, Selection};

/// Which rows are wanted.
#[derive(Debug, Clone, Default)]
pub struct RowsRequest {
    /// As this batch left them; `None` for the last committed.
    pub batch: Option<BatchId>,
    /// Only this operator's.
    pub operator: Option<OperatorId>,
    /// Only those of stores of this name.
    pub store: Option<String>,
    /// Which families.
    pub families: FamilyChoice,
    /// Only those of this partition.
    pub partition: Option<PartitionId>,
    /// Only those of this key.
    pub key: Option<KeyPin>,
    /// Only those for which this is true.
    pub condition: Option<Parsed>,
    /// At most so many.
    pub limit: Option<u64>,
}

/// One of the keys of a [`KeysReport`](crate::report::KeysReport).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPin {
    /// The grouping columns.
    pub by: Vec<String>,
    /// Their values, as the report has them.
    pub key: serde_json::Value,
    /// The partitions that it lies in; none when that is not known.
    pub partitions: Vec<PartitionId>,
}

/// Which column families are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FamilyChoice {
    /// Those that Spark does not keep for itself.
    #[default]
    Own,
    /// All.
    All,
    /// The one of this name.
    Named(String),
}

/// Where a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whereabouts<'a> {
    /// The partition.
    pub partition: PartitionId,
    /// The operator.
    pub operator: OperatorId,
    /// The store.
    pub store: &'a str,
    /// The column family.
    pub family: &'a str,
}

/// One row, or one element of a list: with the same key then.
#[derive(Debug)]
pub struct StateRow<'a> {
    /// Where it is.
    pub at: Whereabouts<'a>,
    /// What a batch did to it, where changes are read.
    pub change: Option<Change>,
    /// Its key.
    pub key: Half<'a>,
    /// Its value.
    pub value: Half<'a>,
}

/// The key or the value of a row.
#[derive(Debug)]
pub enum Half<'a> {
    /// As the schema says.
    Decoded(Value<'a>),
    /// Not as the schema says; the bytes and the reason.
    Undecodable(Undecodable<'a>),
    /// There is none: the value of a removed row.
    None,
}

/// What a changelog's record does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Sets the value of a key.
    Put,
    /// Removes a key.
    Remove,
    /// Appends to a list.
    Merge,
    /// Removes all keys from this one up to another.
    RemoveRange,
}

impl Change {
    /// The word in JSON and tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Remove => "remove",
            Self::Merge => "merge",
            Self::RemoveRange => "remove_range",
        }
    }
}

/// What there is to say of the rows that were read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RowsSummary {
    /// The batch whose result they are.
    pub batch: Option<BatchId>,
    /// Rows passed on.
    pub rows: u64,
    /// Rows that could not be decoded and so were not compared with the condition.
    pub not_compared: u64,
    /// The partitions that were opened.
    pub opened: u64,
    /// Whether rows may be missing: reading was given up, or a partition could not be read.
    pub partial: bool,
    /// What was wrong.
    pub findings: Vec<Finding>,
}

/// Makes the function that encodes the rows of one partition; called by many threads.
pub type MakeEncoder<'e> = dyn Fn() -> Box<Encoder<'e>> + Sync + 'e;
/// Appends a row to bytes.
pub type Encoder<'e> = dyn FnMut(&StateRow<'_>, &mut Vec<u8>) + 'e;

impl RowsSummary {
    fn add(&mut self, faults: &mut Vec<StateFault>, part: PartRead) {
        self.opened += 1;
        self.partial |= !part.complete;
        self.not_compared += part.not_compared;
        faults.extend(part.faults);
    }
}

/// Passes rows to `emit` one by one in this thread, until it breaks.
pub(super) fn each(
    opened: &Opened,
    request: &RowsRequest,
    run: Run<'_>,
    tell: &dyn Fn(u64, u64),
    emit: &mut dyn FnMut(&StateRow<'_>) -> ControlFlow<()>,
) -> Result<RowsSummary, ReadError> {
    let selection = Selection::new(opened, request)?;
    let mut summary = RowsSummary { batch: opened.batch, ..RowsSummary::default() };
    let mut faults = Vec::new();
    let jobs: Vec<(&StoreReading, PartitionId)> = selection.places().collect();
    let mut flow = ControlFlow::Continue(());
    for (done, job) in (1..).zip(&jobs) {
        if request.limit.is_some_and(|limit| summary.rows >= limit) || flow.is_break() {
            break;
        }
        let read = selection.read(*job, run, &mut |row| {
            summary.rows += 1;
            flow = emit(row);
            if request.limit.is_some_and(|limit| summary.rows >= limit) {
                return ControlFlow::Break(());
            }
            flow
        });
        let Ok(part) = read else {
            summary.partial = true;
            break;
        };
        summary.add(&mut faults, part);
        tell(done, jobs.len() as u64);
    }
    summary.findings = opened.findings(&faults);
    Ok(summary)
}

/// Encodes rows on several threads and passes the bytes on in order.
pub(super) fn encoded(
    opened: &Opened,
    request: &RowsRequest,
    run: Run<'_>,
    tell: &(dyn Fn(u64, u64) + Sync),
    encoder: &MakeEncoder<'_>,
    out: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Result<RowsSummary, ReadError> {
    let selection = Selection::new(opened, request)?;
    let jobs: Vec<(&StoreReading, PartitionId)> = selection.places().collect();
    let gathered = Mutex::new((RowsSummary::default(), Vec::new()));
    let lock = || gathered.lock().unwrap_or_else(PoisonError::into_inner);
    let work = |job: &(&StoreReading, PartitionId), chunks: &mut ordered::Chunks<'_>| {
        let mut encode = encoder();
        let read = selection.read(*job, run, &mut |row| chunks.row(|bytes| encode(row, bytes)));
        let (summary, faults) = &mut *lock();
        match read {
            Ok(part) => summary.add(faults, part),
            Err(Cancelled) => summary.partial = true,
        }
        tell(summary.opened, jobs.len() as u64);
    };
    let workers = opened.storage.workers();
    let rows = ordered::run(&jobs, workers, run.cancel, request.limit, work, out)?;
    let (mut summary, faults) = gathered.into_inner().unwrap_or_else(PoisonError::into_inner);
    summary.batch = opened.batch;
    summary.rows = rows;
    summary.partial |= run.cancel.is_cancelled();
    summary.findings = opened.findings(&faults);
    Ok(summary)
}
