//! One observation, joined and compared with the one before: what the screens show.
//!
//! The overview report and the partitions report say different things about the same
//! stores; here they are joined once, when they arrive, not on every frame.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use crate::analysis::Spread;
use crate::analysis::spread::ROWS_TO_JUDGE;
use crate::diagnosis::Finding;
use crate::figures::float;
use crate::reader::{Depth, Mark, Observation};
use crate::report::{Grade, InspectReport, PartitionReport, StorePartitions, StoreReport};
use crate::units::{BatchId, Bytes, OperatorId, PartitionId};

/// Names a store of an operator, whatever its place in a list.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StoreKey {
    /// The operator.
    pub operator: OperatorId,
    /// The store's name, exactly as reported.
    pub store: String,
}

/// An observation made ready for the screens.
#[derive(Debug)]
pub struct Data {
    /// As read.
    pub observation: Observation,
    /// The newest log entries that were known when this was read.
    pub mark: Mark,
    /// The batch that was asked for; `None` for the last committed.
    pub asked: Option<BatchId>,
    /// Every store, by operator and in the operator's order.
    pub stores: Vec<StoreData>,
    /// Findings of both reports, each once, most severe first.
    pub findings: Vec<Finding>,
    /// The last observation of another batch at the same depth: what changes are counted from.
    baseline: Option<Arc<Observation>>,
}

/// One store of one operator.
#[derive(Debug)]
pub struct StoreData {
    /// Which store.
    pub key: StoreKey,
    /// Spark's name for the operator.
    pub operator_name: String,
    /// Whether that name was inferred from stores and schemas.
    pub name_inferred: bool,
    /// Partition count in force.
    pub partitions: u32,
    /// Keys in all partitions.
    pub rows: Option<u64>,
    /// The weakest grade among the partitions.
    pub grade: Grade,
    /// The most changelogs that a partition's snapshot count leaves out.
    pub changelogs: u64,
    /// Bytes in all partitions; `None` before any partition was looked at.
    pub bytes: Option<Bytes>,
    /// Largest partition divided by the mean, by rows.
    pub max_over_mean: Option<f64>,
    /// Partition by partition; `None` before any was looked at.
    pub spread: Option<StorePartitions>,
    /// Change of rows per partition since the batch before, in the order of `spread`.
    pub changes: Vec<Option<i64>>,
}

impl StoreData {
    /// How its rows are spread.
    pub fn judged(&self) -> Spread {
        if let Some(rows) = self.spread.as_ref().and_then(|spread| spread.skew.rows.as_ref()) {
            return Spread::of_rows(rows);
        }
        let mean = float(self.rows.unwrap_or(0)) / f64::from(self.partitions.max(1));
        Spread::judge(self.max_over_mean, mean, ROWS_TO_JUDGE)
    }

    /// The partition of that id.
    pub fn partition(&self, id: PartitionId) -> Option<&PartitionReport> {
        self.partitions().get(self.place(id)?)
    }

    /// Change of rows of the partition of that id.
    pub fn change(&self, id: PartitionId) -> Option<i64> {
        self.changes.get(self.place(id)?).copied().flatten()
    }

    /// All partitions in order; none before any was looked at.
    pub fn partitions(&self) -> &[PartitionReport] {
        self.spread.as_ref().map_or(&[], |spread| &spread.partitions)
    }

    /// Where a partition stands. Reports are in order, so that is nearly always its id.
    pub fn place(&self, id: PartitionId) -> Option<usize> {
        let partitions = self.partitions();
        let guess = usize::try_from(id.0).ok()?;
        if partitions.get(guess).is_some_and(|partition| partition.partition == id) {
            return Some(guess);
        }
        partitions.iter().position(|partition| partition.partition == id)
    }
}

impl Data {
    /// Joins an observation's reports and compares it with the data shown before it.
    pub fn new(
        observation: Observation,
        mark: Option<Mark>,
        asked: Option<BatchId>,
        before: Option<&Self>,
    ) -> Self {
        let baseline = before.and_then(|before| before.baseline_for(&observation));
        let stores = join(&observation, baseline.as_deref());
        let findings = merge_findings(&observation);
        let mark = mark.unwrap_or(Mark {
            planned: observation.inspect.last_planned_batch,
            committed: observation.inspect.last_committed_batch,
        });
        Self { observation, mark, asked, stores, findings, baseline }
    }

    /// The overview report.
    pub fn inspect(&self) -> &InspectReport {
        &self.observation.inspect
    }

    /// The batch that the numbers are of.
    pub fn batch(&self) -> Option<BatchId> {
        self.observation.inspect.batch
    }

    /// How deep the reader looked.
    pub fn depth(&self) -> Depth {
        self.observation.depth
    }

    /// The store of that key.
    pub fn store(&self, key: &StoreKey) -> Option<&StoreData> {
        self.stores.iter().find(|store| store.key == *key)
    }

    /// What changes in a newer observation are to be counted from: this one when it is of
    /// another batch, else what this one was counted from. Counts of different grades
    /// differ without any change, so they are never compared.
    fn baseline_for(&self, newer: &Observation) -> Option<Arc<Observation>> {
        if self.depth() != newer.depth || self.depth() == Depth::Logs {
            return None;
        }
        if self.batch() == newer.inspect.batch {
            return self.baseline.clone();
        }
        // Back in the past: what came later is nothing that a batch could have changed.
        if self.batch() > newer.inspect.batch {
            return None;
        }
        Some(Arc::new(self.observation.clone()))
    }
}

fn join(observation: &Observation, baseline: Option<&Observation>) -> Vec<StoreData> {
    let mut spreads = spreads(observation);
    let before = baseline.map(spreads_by_key).unwrap_or_default();
    let mut stores = Vec::new();
    for operator in &observation.inspect.operators {
        for store in &operator.stores {
            let key = StoreKey { operator: operator.id, store: store.name.clone() };
            let spread = spreads.remove(&key).map(|(_, spread)| spread.clone());
            let changes = changes(spread.as_ref(), before.get(&key).map(|(_, spread)| *spread));
            let mut data = store_data(key, store, spread);
            data.operator_name.clone_from(&operator.name);
            data.name_inferred = operator.name_inferred;
            data.changes = changes;
            stores.push(data);
        }
    }
    // Whatever the overview report does not list is shown all the same.
    let mut rest: Vec<_> = spreads.into_iter().collect();
    rest.sort_by(|a, b| a.0.cmp(&b.0));
    for (key, (name, spread)) in rest {
        let changes = changes(Some(spread), before.get(&key).map(|(_, spread)| *spread));
        stores.push(StoreData {
            operator_name: name.to_owned(),
            changes,
            ..bare_store(key, Some(spread.clone()))
        });
    }
    stores
}

fn store_data(key: StoreKey, report: &StoreReport, spread: Option<StorePartitions>) -> StoreData {
    let mut data = bare_store(key, spread);
    data.partitions = report.partitions;
    data.max_over_mean = report.max_over_mean.or(data.max_over_mean);
    if data.spread.is_none() {
        data.rows = report.rows;
        data.grade = report.rows_grade;
        data.bytes = Some(report.bytes).filter(|bytes| bytes.0 > 0);
    }
    data
}

fn bare_store(key: StoreKey, spread: Option<StorePartitions>) -> StoreData {
    let parts = spread.as_ref().map_or(&[][..], |spread| &spread.partitions);
    StoreData {
        key,
        operator_name: String::new(),
        name_inferred: false,
        partitions: u32::try_from(parts.len()).unwrap_or(u32::MAX),
        rows: spread.as_ref().and_then(|spread| spread.total.rows),
        grade: spread.as_ref().map_or(Grade::Unknown, |spread| spread.total.rows_grade),
        changelogs: parts
            .iter()
            .filter(|part| part.rows_grade == Grade::Snapshot)
            .map(|part| part.changelogs)
            .max()
            .unwrap_or(0),
        bytes: spread.as_ref().map(|spread| spread.total.bytes),
        max_over_mean: spread
            .as_ref()
            .and_then(|spread| spread.skew.rows.as_ref())
            .and_then(|rows| rows.max_over_mean),
        spread,
        changes: Vec::new(),
    }
}

type ByKey<'a> = HashMap<StoreKey, (&'a str, &'a StorePartitions)>;

fn spreads(observation: &Observation) -> ByKey<'_> {
    spreads_by_key(observation)
}

fn spreads_by_key(observation: &Observation) -> ByKey<'_> {
    let operators = observation.partitions.operators.iter();
    operators
        .flat_map(|operator| {
            operator.stores.iter().map(|store| {
                let key = StoreKey { operator: operator.id, store: store.name.clone() };
                (key, (operator.name.as_str(), store))
            })
        })
        .collect()
}

/// Change of rows, partition by partition. After a repartition there is nothing to compare.
fn changes(now: Option<&StorePartitions>, before: Option<&StorePartitions>) -> Vec<Option<i64>> {
    let (Some(now), Some(before)) = (now, before) else { return Vec::new() };
    if now.partitions.len() != before.partitions.len() {
        return Vec::new();
    }
    let pairs = now.partitions.iter().zip(&before.partitions);
    pairs
        .map(|(now, before)| {
            if now.rows_grade != before.rows_grade || now.partition != before.partition {
                return None;
            }
            let (now, before) = (i64::try_from(now.rows?), i64::try_from(before.rows?));
            Some(now.ok()?.saturating_sub(before.ok()?))
        })
        .collect()
}

fn merge_findings(observation: &Observation) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let both = observation.inspect.findings.iter().chain(&observation.partitions.findings);
    for finding in both {
        if !findings.contains(finding) {
            findings.push(finding.clone());
        }
    }
    findings.sort_by_key(|finding| Reverse(finding.severity));
    findings
}
