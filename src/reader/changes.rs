//! What one batch put and removed, straight from its changelogs, in the order of the records.

use std::ops::ControlFlow;

use super::ReadError;
use super::opened::Opened;
use super::rows::{Change, Half, RowsRequest, RowsSummary, StateRow, Whereabouts};
use super::selection::Selection;
use crate::state::fault::StateFault;
use crate::state::reading::{Positions, StoreReading};
use crate::state::replay::deleted_key;
use crate::state::rocks::changelog::Record;
use crate::state::row::filter::Filter;
use crate::state::row::value::{Undecodable, Value};
use crate::state::store::Run;
use crate::units::PartitionId;

/// Passes every record of the batch's logs to `emit`, until it breaks. `opened` is the batch.
pub(super) fn each(
    opened: &Opened,
    request: &RowsRequest,
    run: Run<'_>,
    tell: &dyn Fn(u64, u64),
    emit: &mut dyn FnMut(&StateRow<'_>) -> ControlFlow<()>,
) -> Result<RowsSummary, ReadError> {
    let selection = Selection::new(opened, request)?;
    let mut summary = RowsSummary { batch: opened.batch, ..RowsSummary::default() };
    let mut faults: Vec<StateFault> = Vec::new();
    let mut found = false;
    let jobs: Vec<(&StoreReading, PartitionId)> = selection.places().collect();
    for (done, (reading, partition)) in (1..).zip(&jobs) {
        if run.cancel.is_cancelled() {
            summary.partial = true;
            break;
        }
        if request.limit.is_some_and(|limit| summary.rows >= limit) {
            break;
        }
        let store = &reading.store;
        let target = opened.target(store, *partition);
        match store.history(*partition, &target) {
            Err(fault) => faults.push(fault),
            Ok(logs) => {
                let Some((path, file)) = logs.first() else { continue };
                found = true;
                summary.opened += 1;
                let mapping = store.mapping(*partition, &target);
                let mut log = Log {
                    selection: &selection,
                    reading,
                    positions: Positions::new(reading, &mapping),
                    partition: *partition,
                    limit: request.limit,
                    summary: &mut summary,
                    emit,
                    flow: ControlFlow::Continue(()),
                };
                let read = store.records(path, file, &mut |record| log.record(record));
                let flow = log.flow;
                if let Err(reason) = read {
                    faults.push(store.log_fault(*partition, path.clone(), reason));
                }
                if flow.is_break() {
                    break;
                }
            }
        }
        tell(done, jobs.len() as u64);
    }
    if !found && faults.is_empty() && !summary.partial {
        let batch = opened.batch.map_or_else(String::new, |batch| format!(" {batch}"));
        return Err(ReadError::NoSuchBatch(format!(
            "batch{batch} left no changelogs: the query runs without changelog checkpointing, the \
             batch is a repartition, or they have been cleaned up"
        )));
    }
    summary.partial |= !faults.is_empty();
    summary.findings = opened.findings(&faults);
    Ok(summary)
}

/// One log being read.
struct Log<'a, 's> {
    selection: &'a Selection<'a>,
    reading: &'a StoreReading,
    positions: Positions<'a>,
    partition: PartitionId,
    limit: Option<u64>,
    summary: &'s mut RowsSummary,
    emit: &'s mut dyn FnMut(&StateRow<'_>) -> ControlFlow<()>,
    flow: ControlFlow<()>,
}

impl Log<'_, '_> {
    fn record(&mut self, record: &Record<'_>) {
        if self.flow.is_break() {
            return;
        }
        let checksums = self.reading.store.lists.checksums;
        let (stored, value, change) = match record {
            Record::Put { key, value } => (*key, Some(*value), Change::Put),
            Record::Merge { key, value } => (*key, Some(*value), Change::Merge),
            Record::Delete { key } => (deleted_key(key, checksums), None, Change::Remove),
            Record::DeleteRange { start, .. } => (*start, None, Change::RemoveRange),
        };
        let Some((position, key)) = self.positions.split(stored) else { return };
        let Some((name, family)) = self.positions.at(position) else { return };
        let Some(filter) = self.selection.wants(self.reading, name, family) else { return };
        let filter = filter.filter();
        if let Some(mut pin) = family.and_then(|f| self.selection.pin(self.reading, &f.name)) {
            let decoder = family.and_then(|family| family.decoder.as_ref().ok());
            let columns = decoder.and_then(|decoder| decoder.key_columns(key).ok());
            if !columns.is_some_and(|columns| pin.fits(&columns)) {
                return;
            }
        }
        let at = Whereabouts {
            partition: self.partition,
            operator: self.reading.store.operator,
            store: &self.reading.store.name,
            family: name,
        };
        let decoder = family.map(|family| family.decoder.as_ref());
        let as_it_is = |bytes, reason: &str| {
            Half::Undecodable(Undecodable { reason: reason.to_owned(), bytes })
        };
        let mut halves: Vec<(Half<'_>, Half<'_>)> = Vec::new();
        match (decoder, value) {
            (Some(Ok(decoder)), value) => {
                let key = || match decoder.key(key) {
                    Ok(key) => Half::Decoded(key),
                    Err(why) => Half::Undecodable(why),
                };
                match value {
                    None => halves.push((key(), Half::None)),
                    Some(value) => halves.extend(decoder.values(value).map(|value| match value {
                        Ok(value) => (key(), Half::Decoded(value)),
                        Err(why) => (key(), Half::Undecodable(why)),
                    })),
                }
            }
            (other, value) => {
                let reason = match other {
                    Some(Err(reason)) => reason.as_str(),
                    _ => "no schema file lists this column family",
                };
                let value = value.map_or(Half::None, |value| as_it_is(value, reason));
                halves.push((as_it_is(key, reason), value));
            }
        }
        for (key, value) in halves {
            if filter.is_some_and(|filter| !fits(filter, &key, &value)) {
                continue;
            }
            self.summary.rows += 1;
            self.flow = (self.emit)(&StateRow { at, change: Some(change), key, value });
            if self.limit.is_some_and(|limit| self.summary.rows >= limit) {
                self.flow = ControlFlow::Break(());
            }
            if self.flow.is_break() {
                return;
            }
        }
    }
}

/// A removed row has no value: conditions on it are not true.
fn fits(filter: &Filter, key: &Half<'_>, value: &Half<'_>) -> bool {
    match (key, value) {
        (Half::Decoded(key), Half::Decoded(value)) => filter.matches(key, value),
        (Half::Decoded(key), Half::None) => filter.matches(key, &Value::Null),
        _ => false,
    }
}
