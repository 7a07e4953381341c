//! What the last batches did to one key, from the changelogs of its partition, newest first.

use super::ReadError;
use super::opened::Opened;
use super::owned::OwnedHalf;
use super::rows::{Change, Half};
use crate::diagnosis::Finding;
use crate::state::fault::StateFault;
use crate::state::reading::Positions;
use crate::state::replay::deleted_key;
use crate::state::rocks::changelog::Record;
use crate::state::row::decoder::FamilyDecoder;
use crate::state::row::value::Undecodable;
use crate::state::store::Run;
use crate::units::{BatchId, OperatorId, PartitionId};

/// Whose history is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRequest {
    /// The last batch that is looked at; `None` for the last committed.
    pub batch: Option<BatchId>,
    /// The operator.
    pub operator: OperatorId,
    /// The store.
    pub store: String,
    /// The column family.
    pub family: String,
    /// The partition.
    pub partition: PartitionId,
    /// The whole key of the row.
    pub key: OwnedHalf,
    /// How many batches are looked back at most.
    pub batches: u64,
}

/// What batches did to a key.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KeyHistory {
    /// Newest first.
    pub changes: Vec<KeyChange>,
    /// The batches whose changelogs were looked at, the oldest and the newest.
    pub looked_at: Option<(BatchId, BatchId)>,
    /// Whether changes may be missing: reading was given up, or a log could not be read.
    pub partial: bool,
    /// What was wrong.
    pub findings: Vec<Finding>,
}

/// One record of a changelog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyChange {
    /// The batch.
    pub batch: BatchId,
    /// What it did.
    pub change: Change,
    /// The value that it wrote.
    pub value: OwnedHalf,
}

/// Reads the logs of the key's partition, each once.
pub(super) fn of(
    opened: &Opened,
    request: &HistoryRequest,
    run: Run<'_>,
    tell: &dyn Fn(u64, u64),
) -> Result<KeyHistory, ReadError> {
    opened.check_partition(request.partition)?;
    let Some(reading) = opened.stores.first() else { return Ok(KeyHistory::default()) };
    let store = &reading.store;
    let target = opened.target(store, request.partition);
    let mut faults: Vec<StateFault> = Vec::new();
    let mut history = KeyHistory::default();
    let logs = store.history(request.partition, &target).unwrap_or_else(|fault| {
        faults.push(fault);
        Vec::new()
    });
    let mapping = store.mapping(request.partition, &target);
    let mut seen = Seen {
        positions: Positions::new(reading, &mapping),
        request,
        checksums: store.lists.checksums,
        known: None,
    };
    let wanted = usize::try_from(request.batches).unwrap_or(usize::MAX).min(logs.len());
    for (done, (path, file)) in (1..).zip(logs.iter().take(wanted)) {
        if run.cancel.is_cancelled() {
            history.partial = true;
            break;
        }
        let Some(batch) = file.version.batch() else { break };
        let mut of_batch: Vec<KeyChange> = Vec::new();
        let mut records = 0;
        let read = store.records(path, file, &mut |record| {
            records += 1;
            of_batch.extend(seen.changes(batch, record));
        });
        run.counter.add_rows(records);
        if let Err(reason) = read {
            faults.push(store.log_fault(request.partition, path.clone(), reason));
        }
        // Within a batch the last record is the newest.
        history.changes.extend(of_batch.into_iter().rev());
        let newest = history.looked_at.map_or(batch, |(_, newest)| newest);
        history.looked_at = Some((batch, newest));
        tell(done, wanted as u64);
    }
    history.partial |= !faults.is_empty();
    history.findings = opened.findings(&faults);
    Ok(history)
}

/// Tells the records of the key from others.
struct Seen<'a> {
    positions: Positions<'a>,
    request: &'a HistoryRequest,
    checksums: bool,
    /// The stored key, once a record has had it: then bytes are compared, not values.
    known: Option<Vec<u8>>,
}

impl Seen<'_> {
    fn changes(&mut self, batch: BatchId, record: &Record<'_>) -> Vec<KeyChange> {
        let (stored, value, change) = match record {
            Record::Put { key, value } => (*key, Some(*value), Change::Put),
            Record::Merge { key, value } => (*key, Some(*value), Change::Merge),
            Record::Delete { key } => (deleted_key(key, self.checksums), None, Change::Remove),
            Record::DeleteRange { .. } => return Vec::new(),
        };
        if self.known.as_ref().is_some_and(|known| known != stored) {
            return Vec::new();
        }
        let Some((position, key)) = self.positions.split(stored) else { return Vec::new() };
        let Some((name, family)) = self.positions.at(position) else { return Vec::new() };
        if name != self.request.family {
            return Vec::new();
        }
        let decoder = family.and_then(|family| family.decoder.as_ref().ok());
        if self.known.is_none() {
            if key_of(decoder, key) != self.request.key {
                return Vec::new();
            }
            self.known = Some(stored.to_vec());
        }
        let changed = |value| KeyChange { batch, change, value };
        match (value, decoder) {
            (None, _) => vec![changed(OwnedHalf::None)],
            (Some(value), None) => vec![changed(as_it_is(value))],
            (Some(value), Some(decoder)) => decoder
                .values(value)
                .map(|value| {
                    changed(OwnedHalf::of(&match value {
                        Ok(value) => Half::Decoded(value),
                        Err(why) => Half::Undecodable(why),
                    }))
                })
                .collect(),
        }
    }
}

fn key_of(decoder: Option<&FamilyDecoder>, key: &[u8]) -> OwnedHalf {
    let Some(decoder) = decoder else { return as_it_is(key) };
    OwnedHalf::of(&match decoder.key(key) {
        Ok(key) => Half::Decoded(key),
        Err(why) => Half::Undecodable(why),
    })
}

fn as_it_is(bytes: &[u8]) -> OwnedHalf {
    let reason = "no schema file lists this column family".to_owned();
    OwnedHalf::of(&Half::Undecodable(Undecodable { reason, bytes }))
}
