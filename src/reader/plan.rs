//! What another count would do: every grouping key rehashed, once; then any count is answered
//! from the hashes.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use super::ReadError;
use super::keyed::{By, Into, KeyVisit};
use super::opened::Opened;
use super::writes;
use crate::analysis::consequences::{BatchWrites, Consequences, Setting};
use crate::analysis::layout::{
    CurvePoint, DEFAULT_HASHES, HashCollector, KeyHashes, Layout, Load, PartitionHashes,
    TooManyKeys,
};
use crate::analysis::verdict::{Case, KEYS_ASKED, Verdict, WrongKnob};
use crate::analysis::{candidates, recommend};
use crate::diagnosis::Finding;
use crate::report::{Grade, PlanReport};
use crate::state::fault::StateFault;
use crate::state::grouping::Grouping;
use crate::state::hash::KeyHash;
use crate::state::store::Run;
use crate::state::whole::Whole;
use crate::task::{self, Cancelled};
use crate::units::{BatchId, Bytes, OperatorId, PartitionId};

/// Whose state a plan is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanRequest {
    /// As this batch left the state; `None` for the last committed.
    pub batch: Option<BatchId>,
    /// The operator; `None` where there is only one.
    pub operator: Option<OperatorId>,
    /// Only the store of this name.
    pub store: Option<String>,
}

/// A count in question, and what is known of the place where it would run.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanQuestion {
    /// The count; `None` for the recommended one.
    pub to: Option<u32>,
    /// Counts to compare.
    pub curve: Vec<u32>,
    /// Cores of the cluster.
    pub cores: Option<u32>,
    /// How many times the mean the largest partition may be.
    pub bound: f64,
    /// Nodes of the cluster.
    pub nodes: Option<u32>,
    /// `RocksDB` memory of a node, where it is bounded.
    pub cap: Option<Bytes>,
    /// Price of a thousand write requests.
    pub price: Option<f64>,
}

/// Everything that was read for a plan; answers any count without reading again.
#[derive(Debug)]
pub struct PlanBasis {
    report: PlanReport,
    hashes: KeyHashes,
    /// The keys of the largest partition by rows.
    largest: Option<PartitionHashes>,
    /// Names of its heaviest keys.
    names: BTreeMap<KeyHash, serde_json::Value>,
    before: Layout,
    has_grouping_key: bool,
    instances: u32,
    writes: Vec<BatchWrites>,
    workers: NonZeroUsize,
}

/// A plan of keys that were not read from anywhere, for tests and demonstrations.
#[derive(Debug, Clone, Default)]
pub struct MadeUpPlan {
    /// The operator's name.
    pub operator_name: String,
    /// The count in force.
    pub from: u32,
    /// Spark's hash, rows and bytes of each key.
    pub keys: Vec<(i32, u64, u64)>,
    /// Names of keys, by hash.
    pub names: Vec<(i32, serde_json::Value)>,
    /// What the last batches wrote.
    pub writes: Vec<BatchWrites>,
    /// Whether reading was given up.
    pub partial: bool,
}

/// What became of one partition.
struct Part {
    partition: PartitionId,
    complete: bool,
    faults: Vec<StateFault>,
}

impl PlanBasis {
    /// A basis that was not read.
    ///
    /// # Errors
    /// When there are too many keys.
    pub fn made_up(plan: MadeUpPlan) -> Result<Self, TooManyKeys> {
        let mut collector = HashCollector::new(DEFAULT_HASHES);
        for (hash, rows, bytes) in &plan.keys {
            collector.add(*hash, *rows, *bytes)?;
        }
        let about = About {
            checkpoint: String::new(),
            batch: None,
            operator: OperatorId(0),
            operator_name: plan.operator_name,
            stores: vec!["default".to_owned()],
            from: plan.from.max(1),
            unreadable: Vec::new(),
            partial: plan.partial,
            findings: Vec::new(),
            writes: plan.writes,
            workers: NonZeroUsize::MIN,
        };
        let names = plan.names.into_iter().map(|(hash, name)| (KeyHash(hash), name)).collect();
        let hashes = KeyHashes::of([collector])?;
        let before = hashes.layout(about.from, about.workers);
        let largest = largest(&hashes, &before);
        Ok(Self::new(about, hashes, before, largest, names, true))
    }

    fn new(
        about: About,
        hashes: KeyHashes,
        before: Layout,
        largest: Option<PartitionHashes>,
        names: BTreeMap<KeyHash, serde_json::Value>,
        has_grouping_key: bool,
    ) -> Self {
        let instances = u32::try_from(about.stores.len()).unwrap_or(1);
        let report = about.report(&hashes, &before, instances);
        let (writes, workers) = (about.writes, about.workers);
        Self {
            report,
            hashes,
            largest,
            names,
            before,
            has_grouping_key,
            instances,
            writes,
            workers,
        }
    }

    /// The operator whose state it is.
    pub fn operator(&self) -> (OperatorId, &str) {
        (self.report.operator, &self.report.operator_name)
    }

    /// The count in force.
    pub fn from(&self) -> u32 {
        self.report.from
    }

    /// How it is now.
    pub fn before(&self) -> &Layout {
        &self.before
    }

    /// How it would be at `count`.
    pub fn layout(&self, count: u32) -> Layout {
        if self.has_grouping_key {
            return self.hashes.layout(count, self.workers);
        }
        let mut partitions = vec![Load::default(); usize::try_from(count).unwrap_or(1).max(1)];
        if let Some(first) = partitions.first_mut() {
            *first = self.before.total();
        }
        Layout::of(partitions)
    }

    /// How even it would be at each of these counts.
    pub fn curve(&self, counts: &[u32]) -> Vec<CurvePoint> {
        if self.has_grouping_key { self.hashes.curve(counts, self.workers) } else { Vec::new() }
    }

    /// The whole answer to a question.
    pub fn report(&self, question: &PlanQuestion) -> PlanReport {
        let from = self.report.from;
        let mut counts = question.curve.clone();
        counts.extend(question.cores.map(candidates).into_iter().flatten());
        if !counts.is_empty() {
            counts.extend([from].into_iter().chain(question.to));
        }
        counts.sort_unstable();
        counts.dedup();
        let curve = self.curve(&counts);
        let recommendation = recommend(&curve, question.cores, question.bound);
        let recommended = recommendation.as_ref().map(|found| found.partitions);
        let to = question.to.or(recommended).unwrap_or(from);
        let after = self.layout(to);
        let wrong_knob = match self.has_grouping_key {
            false => Some(WrongKnob::NoGroupingKey),
            true if to == from && question.to.is_some() => Some(WrongKnob::SameCount),
            true => None,
        };
        let mut verdict = Verdict::of(&Case {
            before: &self.before,
            after: &after,
            largest: self.largest.as_ref(),
            bound: question.bound,
            wrong_knob,
        });
        let name = verdict.evidence.hash.and_then(|hash| self.names.get(&KeyHash(hash)));
        verdict.evidence.key = name.filter(|name| !name.is_null()).cloned();
        let consequences = Consequences::of(&Setting {
            from,
            to,
            stores: self.instances,
            nodes: question.nodes,
            cap: question.cap,
            price_per_thousand: question.price,
            batches: &self.writes,
        });
        PlanReport {
            to,
            after: (&after).into(),
            verdict,
            curve,
            recommended,
            recommendation,
            consequences: consequences.into(),
            ..self.report.clone()
        }
    }
}

pub(super) fn basis(
    opened: &Opened,
    run: Run<'_>,
    tell: &(dyn Fn(u64, u64) + Sync),
) -> Result<PlanBasis, ReadError> {
    let has_grouping_key = !opened
        .stores
        .iter()
        .any(|reading| reading.families.iter().any(|family| family.grouping == Grouping::Single));
    let nothing = By { stores: Vec::new(), fields: Vec::new(), whole: true };
    let by = if has_grouping_key { By::new(opened, &[], None)? } else { nothing };
    let partitions: Vec<PartitionId> = (0..opened.partitions).map(PartitionId).collect();
    let workers = opened.storage.workers();
    let limit = DEFAULT_HASHES / workers;
    let gathered = Mutex::new((0_u64, Vec::<HashCollector>::new()));
    let lock = || gathered.lock().unwrap_or_else(PoisonError::into_inner);
    let parts = task::map_parallel(&partitions, opened.storage.crew(), run.cancel, |partition| {
        let mut hashes = lock().1.pop().unwrap_or_else(|| HashCollector::new(limit));
        let part = read(opened, &by, *partition, &mut hashes, run);
        let mut gathered = lock();
        gathered.1.push(hashes);
        gathered.0 += 1;
        tell(gathered.0, partitions.len() as u64);
        part
    });
    let parts: Vec<Part> = parts
        .into_iter()
        .flatten()
        .filter_map(|part| match part {
            Ok(part) => Some(Ok(part)),
            Err(Stop::Cancelled) => None,
            Err(Stop::TooMany(many)) => Some(Err(too_many(many))),
        })
        .collect::<Result<_, _>>()?;
    let (_, collectors) = gathered.into_inner().unwrap_or_else(PoisonError::into_inner);
    let hashes = KeyHashes::of(collectors).map_err(too_many)?;
    let read = Parts { partial: partitions.len() > parts.len(), parts };
    finish(opened, &by, hashes, has_grouping_key, &read, run)
}

fn too_many(many: TooManyKeys) -> ReadError {
    ReadError::Unreadable(format!(
        "there are {many}, more than a plan keeps in memory; look at one store with --store, or \
         let a Spark job hash the keys"
    ))
}

/// What became of all that were to be read.
struct Parts {
    parts: Vec<Part>,
    /// Whether some were not begun.
    partial: bool,
}

enum Stop {
    Cancelled,
    TooMany(TooManyKeys),
}

impl From<Cancelled> for Stop {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Hashes all keys of one partition, in all stores.
fn read(
    opened: &Opened,
    by: &By<'_>,
    partition: PartitionId,
    hashes: &mut HashCollector,
    run: Run<'_>,
) -> Result<Part, Stop> {
    let mut part = Part { partition, complete: true, faults: Vec::new() };
    for reading in &opened.stores {
        let chosen = by.stores.iter().find(|(of, _)| of.store.name == reading.store.name);
        let families = chosen.map_or(&[][..], |(_, families)| families.as_slice());
        let into = Into::Hashes(&mut *hashes);
        let visit = KeyVisit::new(reading, families, partition, opened.partitions, into);
        let delimiter = reading.store.lists.delimiter;
        let mut visit = Whole { rows: visit, delimiter };
        let target = opened.target(&reading.store, partition);
        let walked = reading.store.walk(partition, &target, run, &mut visit)?;
        if let Some(overflow) = visit.rows.overflow {
            return Err(Stop::TooMany(overflow));
        }
        part.complete &= walked.complete;
        part.faults.extend(walked.faults);
        part.faults.extend(visit.rows.checks.faults(&reading.store));
    }
    hashes.end_partition().map_err(Stop::TooMany)?;
    Ok(part)
}

fn finish(
    opened: &Opened,
    by: &By<'_>,
    hashes: KeyHashes,
    has_grouping_key: bool,
    read: &Parts,
    run: Run<'_>,
) -> Result<PlanBasis, ReadError> {
    let workers = opened.storage.workers();
    let from = opened.partitions.max(1);
    let before = if has_grouping_key {
        hashes.layout(from, workers)
    } else {
        super::single::layout(opened, run)?
    };
    let largest = if has_grouping_key { largest(&hashes, &before) } else { None };
    let names = largest.as_ref().map(|largest| names(opened, by, largest, run));
    let Parts { parts, partial } = read;
    let faults: Vec<StateFault> = parts.iter().flat_map(|part| part.faults.clone()).collect();
    let (operator, operator_name) = opened.operator();
    let about = About {
        checkpoint: opened.storage.address().to_owned(),
        batch: opened.batch,
        operator,
        operator_name,
        stores: opened.stores.iter().map(|reading| reading.store.name.clone()).collect(),
        from,
        unreadable: parts.iter().filter(|part| !part.complete).map(|p| p.partition).collect(),
        partial: *partial,
        findings: opened.findings(&faults),
        writes: writes::of(opened),
        workers,
    };
    let names = names.unwrap_or_default();
    Ok(PlanBasis::new(about, hashes, before, largest, names, has_grouping_key))
}

/// The keys of the largest partition.
fn largest(hashes: &KeyHashes, before: &Layout) -> Option<PartitionHashes> {
    let (partition, _) = before.largest()?;
    Some(hashes.in_partition(partition, before.count().max(1), KEYS_ASKED))
}

/// What is known of a plan beside its keys.
struct About {
    checkpoint: String,
    batch: Option<BatchId>,
    operator: OperatorId,
    operator_name: String,
    stores: Vec<String>,
    from: u32,
    unreadable: Vec<PartitionId>,
    partial: bool,
    findings: Vec<Finding>,
    writes: Vec<BatchWrites>,
    workers: NonZeroUsize,
}

impl About {
    /// The report at the present count.
    fn report(&self, hashes: &KeyHashes, before: &Layout, instances: u32) -> PlanReport {
        let verdict = Verdict::of(&Case {
            before,
            after: before,
            largest: None,
            bound: crate::analysis::DEFAULT_BOUND,
            wrong_knob: Some(WrongKnob::SameCount),
        });
        let setting = Setting {
            from: self.from,
            to: self.from,
            stores: instances,
            nodes: None,
            cap: None,
            price_per_thousand: None,
            batches: &self.writes,
        };
        let readable = self.unreadable.is_empty();
        PlanReport {
            checkpoint: self.checkpoint.clone(),
            batch: self.batch,
            operator: self.operator,
            operator_name: self.operator_name.clone(),
            stores: self.stores.clone(),
            from: self.from,
            to: self.from,
            keys: hashes.len() as u64,
            grade: if readable { Grade::Exact } else { Grade::Unknown },
            partial: self.partial,
            unreadable: self.unreadable.clone(),
            before: before.into(),
            after: before.into(),
            verdict,
            curve: Vec::new(),
            recommended: None,
            recommendation: None,
            consequences: Consequences::of(&setting).into(),
            findings: self.findings.clone(),
        }
    }
}

/// The keys behind the heaviest hashes of the largest partition: one more look at that partition.
fn names(
    opened: &Opened,
    by: &By<'_>,
    largest: &PartitionHashes,
    run: Run<'_>,
) -> BTreeMap<KeyHash, serde_json::Value> {
    let wanted = largest.heaviest.iter().map(|key| (KeyHash(key.hash), serde_json::Value::Null));
    let mut names: Vec<(KeyHash, serde_json::Value)> = wanted.collect();
    for (reading, families) in &by.stores {
        let into = Into::Names(&mut names);
        let visit = KeyVisit::new(reading, families, largest.partition, opened.partitions, into);
        let delimiter = reading.store.lists.delimiter;
        let mut visit = Whole { rows: visit, delimiter };
        let target = opened.target(&reading.store, largest.partition);
        // Given up: the keys stay unnamed, the numbers hold.
        if reading.store.walk(largest.partition, &target, run, &mut visit).is_err() {
            break;
        }
    }
    names.into_iter().collect()
}
