//! The heaviest keys: walks partitions on several threads, each with a table of its own.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::ReadError;
use super::keyed::{By, FamilyBy, Into, KeyVisit, restore};
use super::opened::Opened;
use super::updates::{self, Window};
use crate::analysis::heavy::{HeavyKeys, HeavyOptions, PartitionKeys, Scope, Weigh};
use crate::checkpoint::Encoding;
use crate::report::{Grade, KeyReport, KeysReport};
use crate::state::fault::StateFault;
use crate::state::reading::StoreReading;
use crate::state::store::Run;
use crate::state::whole::Whole;
use crate::task::{self, Cancelled};
use crate::units::{BatchId, Bytes, OperatorId, PartitionId};

/// Which keys are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeysRequest {
    /// As this batch left the state; `None` for the last committed.
    pub batch: Option<BatchId>,
    /// The operator; `None` where there is only one.
    pub operator: Option<OperatorId>,
    /// Only the store of this name.
    pub store: Option<String>,
    /// Grouping columns that make a key; none for all of them.
    pub by: Vec<String>,
    /// How many keys are named.
    pub top: usize,
    /// What they are weighed by.
    pub weigh: Weighing,
    /// Only this partition.
    pub partition: Option<PartitionId>,
    /// Memory for keys.
    pub memory: Bytes,
}

/// What keys are weighed by.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Weighing {
    /// Rows.
    #[default]
    Rows,
    /// Bytes of keys and values.
    Bytes,
    /// Records in the changelogs of the last batches.
    Updates,
    /// A whole number in the value.
    Value(String),
}

impl Weighing {
    /// Its word: `rows`, `bytes`, `updates` or `value:FIELD`.
    pub fn name(&self) -> String {
        match self {
            Self::Rows => "rows".to_owned(),
            Self::Bytes => "bytes".to_owned(),
            Self::Updates => "updates".to_owned(),
            Self::Value(field) => format!("value:{field}"),
        }
    }
}

/// What became of one partition.
struct Part {
    partition: PartitionId,
    /// The weight of its keys.
    weight: u64,
    complete: bool,
    faults: Vec<StateFault>,
}

pub(super) fn keys(
    opened: &Opened,
    request: &KeysRequest,
    run: Run<'_>,
    tell: &(dyn Fn(u64, u64) + Sync),
) -> Result<KeysReport, ReadError> {
    let field = match &request.weigh {
        Weighing::Value(field) => Some(field.as_str()),
        Weighing::Rows | Weighing::Bytes | Weighing::Updates => None,
    };
    let by = By::new(opened, &request.by, field)?;
    let partitions = match request.partition {
        Some(partition) => {
            opened.check_partition(partition)?;
            vec![partition]
        }
        None => (0..opened.partitions).map(PartitionId).collect(),
    };
    let window = match request.weigh {
        Weighing::Updates => Some(updates::window(opened, &by, &partitions)?),
        Weighing::Rows | Weighing::Bytes | Weighing::Value(_) => None,
    };
    let heavy = HeavyKeys::new(HeavyOptions {
        top: request.top,
        memory: request.memory,
        weigh: match request.weigh {
            Weighing::Rows => Weigh::Rows,
            Weighing::Bytes => Weigh::Bytes,
            Weighing::Updates | Weighing::Value(_) => Weigh::Given,
        },
        scope: if by.whole { Scope::Whole } else { Scope::Part },
        workers: opened.storage.workers(),
    });
    let done = Mutex::new(0_u64);
    let total = partitions.len() as u64;
    let parts = task::map_parallel(&partitions, opened.storage.crew(), run.cancel, |partition| {
        let part = read(opened, &by, *partition, window.as_ref(), &heavy, run);
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += 1;
        tell(*done, total);
        part
    });
    let read: Vec<Part> = parts.into_iter().flatten().flatten().collect();
    Ok(report(opened, request, &by, window.as_ref(), heavy, &read, partitions.len()))
}

/// Adds the keys of one partition, over all stores that count.
fn read(
    opened: &Opened,
    by: &By<'_>,
    partition: PartitionId,
    window: Option<&Window>,
    heavy: &HeavyKeys,
    run: Run<'_>,
) -> Result<Part, Cancelled> {
    let mut keys = heavy.partition(partition);
    let mut part = Part { partition, weight: 0, complete: true, faults: Vec::new() };
    for (reading, families) in &by.stores {
        match window {
            Some(window) => {
                let faults =
                    updates::count(opened, reading, families, partition, window, &mut keys, run)?;
                part.complete &= faults.is_empty();
                part.faults.extend(faults);
            }
            None => walk(opened, reading, families, &mut keys, run, &mut part)?,
        }
    }
    part.weight = keys.finish().weight;
    Ok(part)
}

fn walk(
    opened: &Opened,
    reading: &StoreReading,
    families: &[FamilyBy<'_>],
    keys: &mut PartitionKeys<'_>,
    run: Run<'_>,
    part: &mut Part,
) -> Result<(), Cancelled> {
    let partition = part.partition;
    let visit = KeyVisit::new(reading, families, partition, opened.partitions, Into::Heavy(keys));
    let delimiter = reading.store.lists.delimiter;
    let mut visit = Whole { rows: visit, delimiter };
    let target = opened.target(&reading.store, partition);
    let walked = reading.store.walk(partition, &target, run, &mut visit)?;
    part.complete &= walked.complete;
    part.faults.extend(walked.faults);
    part.faults.extend(visit.rows.checks.faults(&reading.store));
    Ok(())
}

fn report(
    opened: &Opened,
    request: &KeysRequest,
    by: &By<'_>,
    window: Option<&Window>,
    heavy: HeavyKeys,
    parts: &[Part],
    wanted: usize,
) -> KeysReport {
    let heaviest = heavy.finish();
    let unreadable: Vec<PartitionId> =
        parts.iter().filter(|part| !part.complete).map(|part| part.partition).collect();
    let faults: Vec<StateFault> = parts.iter().flat_map(|part| part.faults.clone()).collect();
    let (operator, operator_name) = opened.operator();
    let total = heaviest.total.weight;
    let of_partition: BTreeMap<PartitionId, u64> =
        parts.iter().map(|part| (part.partition, part.weight)).collect();
    let is_json = opened.encoding() == Encoding::Avro;
    let keys = heaviest.keys.into_iter().map(|key| {
        let only = match key.partitions.as_slice() {
            [only] if !key.more_partitions => of_partition.get(only).copied(),
            _ => None,
        };
        KeyReport {
            key: restore(&key.key, &by.fields, is_json),
            rows: key.rows,
            bytes: Bytes(key.bytes),
            weight: key.weight,
            error: key.missed,
            share: part_of(key.weight, total).unwrap_or(0.0),
            share_of_partition: only.and_then(|whole| part_of(key.weight, whole)),
            partitions: key.partitions,
            more_partitions: key.more_partitions,
        }
    });
    KeysReport {
        checkpoint: opened.storage.address().to_owned(),
        batch: opened.batch,
        operator,
        operator_name,
        stores: by.stores.iter().map(|(reading, _)| reading.store.name.clone()).collect(),
        partitions: opened.partitions,
        partition: request.partition,
        by: by.fields.iter().map(|field| field.name.clone()).collect(),
        whole_key: by.whole,
        weigh: request.weigh.name(),
        updates_of: window.map(Window::batches),
        exact: heaviest.exact,
        error_bound: heaviest.error_bound,
        total,
        total_rows: heaviest.total.rows,
        total_bytes: Bytes(heaviest.total.bytes),
        distinct: heaviest.distinct.number(),
        distinct_is: heaviest.distinct.into(),
        grade: if unreadable.is_empty() { Grade::Exact } else { Grade::Unknown },
        partial: parts.len() < wanted,
        partitions_read: u32::try_from(parts.len() - unreadable.len()).unwrap_or(u32::MAX),
        unreadable,
        keys: keys.collect(),
        findings: opened.findings(&faults),
        offers: by.offers(),
    }
}

fn part_of(weight: u64, whole: u64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a share is shown with two digits")]
    (whole > 0).then(|| weight as f64 / whole as f64)
}
