//! Rows of state stores, decoded, in the order of partitions and keys.
//!
//! Either one by one in the caller's thread, or encoded to bytes by several threads, which
//! is what writing millions of rows needs. Must not know output formats.

use std::io;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use super::checks::Checks;
use super::opened::Opened;
use super::pin::Pin;
use super::selection::{Condition, Selection};
use super::{ReadError, ordered};
use crate::diagnosis::Finding;
use crate::state::families::Mapping;
use crate::state::fault::StateFault;
use crate::state::reading::{Positions, StoreReading};
use crate::state::row::checksum::ChecksumMismatch;
use crate::state::row::decoder::FamilyDecoder;
use crate::state::row::filter::{Filter, Parsed};
use crate::state::row::value::{Undecodable, Value};
use crate::state::store::Run;
use crate::state::whole::{Rows, Whole};
use crate::task::Cancelled;
use crate::units::{BatchId, OperatorId, PartitionId};

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

impl<'a> Selection<'a> {
    /// The jobs, in the order in which rows come.
    fn jobs(&self) -> Vec<(&'a StoreReading, PartitionId)> {
        self.places().collect()
    }

    /// Passes the rows of one partition of one store to `emit`, until it breaks.
    pub(super) fn read(
        &self,
        (reading, partition): (&StoreReading, PartitionId),
        run: Run<'_>,
        emit: &mut dyn FnMut(&StateRow<'_>) -> ControlFlow<()>,
    ) -> Result<PartRead, Cancelled> {
        let visitor = RowVisit {
            selection: self,
            reading,
            positions: Positions::new(reading, &Mapping::new()),
            chosen: Vec::new(),
            pins: Vec::new(),
            checks: Checks::new(partition, self.opened.partitions),
            partition,
            not_compared: 0,
            keys: 0,
            emit,
        };
        let delimiter = reading.store.lists.delimiter;
        let mut visit = Whole { rows: visitor, delimiter };
        let target = self.opened.target(&reading.store, partition);
        let walked = reading.store.walk(partition, &target, run, &mut visit)?;
        let RowVisit { checks, not_compared, keys, .. } = visit.rows;
        let mut faults = walked.faults;
        let checksums = checks.checksums;
        faults.extend(checks.faults(&reading.store));
        Ok(PartRead { faults, complete: walked.complete, not_compared, keys, checksums })
    }
}

/// What became of one partition of one store.
pub(super) struct PartRead {
    pub(super) faults: Vec<StateFault>,
    pub(super) complete: bool,
    not_compared: u64,
    /// Keys that were seen.
    pub(super) keys: u64,
    /// Row checksums that fit.
    pub(super) checksums: u64,
}

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
    let jobs = selection.jobs();
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
    let jobs = selection.jobs();
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

/// Decodes the rows of one partition.
struct RowVisit<'a, 'e> {
    selection: &'a Selection<'a>,
    reading: &'a StoreReading,
    positions: Positions<'a>,
    /// By position: whether the family is wanted, and what its rows are compared with.
    chosen: Vec<Option<&'a Condition>>,
    /// By position: the key that is asked for.
    pins: Vec<Option<Pin<'a>>>,
    checks: Checks,
    partition: PartitionId,
    not_compared: u64,
    keys: u64,
    emit: &'e mut dyn FnMut(&StateRow<'_>) -> ControlFlow<()>,
}

impl RowVisit<'_, '_> {
    /// Passes a row on whose key or whole value cannot be decoded. It cannot be compared either.
    fn odd(
        &mut self,
        at: Whereabouts<'_>,
        filter: Option<&Filter>,
        key: Half<'_>,
        value: Half<'_>,
    ) -> ControlFlow<()> {
        for half in [&key, &value] {
            if let Half::Undecodable(why) = half {
                self.checks.undecodable(&why.reason);
            }
        }
        if filter.is_some() {
            self.not_compared += 1;
            return ControlFlow::Continue(());
        }
        (self.emit)(&StateRow { at, change: None, key, value })
    }

    /// Passes on the elements of a value that fit, each with the key.
    fn values(
        &mut self,
        at: Whereabouts<'_>,
        filter: Option<&Filter>,
        decoder: &FamilyDecoder,
        key: Value<'_>,
        value: &[u8],
    ) -> ControlFlow<()> {
        let mut key = key;
        for value in decoder.values(value) {
            let value = match value {
                Ok(value) if filter.is_none_or(|filter| filter.matches(&key, &value)) => {
                    Half::Decoded(value)
                }
                Ok(_) => continue,
                Err(why) => {
                    self.checks.undecodable(&why.reason);
                    if filter.is_some() {
                        self.not_compared += 1;
                        continue;
                    }
                    Half::Undecodable(why)
                }
            };
            let row = StateRow { at, change: None, key: Half::Decoded(key), value };
            (self.emit)(&row)?;
            let Half::Decoded(again) = row.key else { break };
            key = again;
        }
        ControlFlow::Continue(())
    }
}

impl Rows for RowVisit<'_, '_> {
    fn families(&mut self, mapping: &Mapping) {
        self.positions = Positions::new(self.reading, mapping);
        let all = 0..self.positions.len();
        let choose = |at| {
            let (name, family) = self.positions.at(at)?;
            self.selection.wants(self.reading, name, family)
        };
        self.chosen = all.clone().map(choose).collect();
        let pin = |at| {
            let (_, family) = self.positions.at(at)?;
            self.selection.pin(self.reading, &family?.name)
        };
        self.pins = all.map(pin).collect();
    }

    fn row<'v>(&mut self, stored: &[u8], value: &'v dyn Fn() -> &'v [u8]) -> ControlFlow<()> {
        self.keys += 1;
        let Some((position, key)) = self.positions.split(stored) else {
            self.checks.foreign();
            return ControlFlow::Continue(());
        };
        let Some(Some(condition)) = self.chosen.get(position).copied() else {
            return ControlFlow::Continue(());
        };
        let filter = condition.filter();
        let Some((name, family)) = self.positions.at(position) else {
            return ControlFlow::Continue(());
        };
        // A family's own name lives as long as the reading; copying one costs as much as a row.
        let unlisted;
        let name = if let Some(family) = family {
            family.name.as_str()
        } else {
            unlisted = name.to_owned();
            &unlisted
        };
        let reading = self.reading;
        let at = Whereabouts {
            partition: self.partition,
            operator: reading.store.operator,
            store: &reading.store.name,
            family: name,
        };
        let as_it_is = |bytes, reason: &str| {
            Half::Undecodable(Undecodable { reason: reason.to_owned(), bytes })
        };
        let (family, decoder) = match family.map(|family| (family, &family.decoder)) {
            Some((family, Ok(decoder))) => (family, decoder),
            Some((_, Err(reason))) => {
                return self.odd(at, filter, as_it_is(key, reason), as_it_is(value(), reason));
            }
            None => {
                let reason = "no schema file lists this column family";
                return self.odd(at, filter, as_it_is(key, reason), as_it_is(value(), reason));
            }
        };
        let columns = decoder.key_columns(key);
        if let Ok(columns) = &columns {
            self.checks.place(family, columns);
        }
        if let Some(Some(pin)) = self.pins.get_mut(position)
            && !columns.as_ref().is_ok_and(|columns| pin.fits(columns))
        {
            return ControlFlow::Continue(());
        }
        let key = match columns.and_then(|columns| decoder.key_of(key, columns)) {
            Ok(key) => key,
            Err(why) => {
                let value = as_it_is(value(), "its key cannot be decoded");
                return self.odd(at, filter, Half::Undecodable(why), value);
            }
        };
        if filter.is_some_and(|f| !f.needs_value() && !f.matches(&key, &Value::Null)) {
            return ControlFlow::Continue(());
        }
        let value = value();
        match decoder.verify(stored, value) {
            Ok(checked) => self.checks.checksums_fit(checked),
            // What cannot be taken apart cannot be decoded either, and is told as that.
            Err(ChecksumMismatch::Layout { .. }) => {}
            Err(mismatch) => {
                self.checks.checksum_differs();
                let value = as_it_is(value, &mismatch.to_string());
                return self.odd(at, filter, Half::Decoded(key), value);
            }
        }
        self.values(at, filter, decoder, key, value)
    }
}
