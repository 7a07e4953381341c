//! From facts to reports: pure, but for the hints that a source's own log gives.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::{Distribution, Skew};
use crate::checkpoint::{Checkpoint, Confs, OperatorStateIds, sources};
use crate::diagnosis::{self, Finding};
use crate::report::{
    ColumnFamilyReport, Grade, InspectReport, OperatorPartitions, OperatorReport, PartitionReport,
    PartitionsReport, Provider, StorePartitions, StoreReport, Total,
};
use crate::state::catalog::{Catalog, OperatorEntry, StoreEntry};
use crate::state::census::Census;
use crate::state::families::DEFAULT;
use crate::state::fault::{FaultKind, Outcome, StateFault};
use crate::state::schema::StoreSchema;
use crate::storage::Storage;
use crate::units::{BatchId, Bytes, OperatorId, StateVersion};

/// Most partitions that are looked at; ten times as many as Spark itself can schedule well. A
/// pinned count beyond it is a damaged or made-up entry.
pub(super) const MAX_PARTITIONS: u32 = 100_000;

/// What was read of the logs, for one batch.
pub(super) struct Facts<'a> {
    address: &'a str,
    storage: &'a Storage,
    pub(super) checkpoint: &'a Checkpoint,
    pub(super) catalog: &'a Catalog,
    pub(super) batch: Option<BatchId>,
    /// The partition count in force for the batch.
    pub(super) partitions: Option<u32>,
}

/// The census of one partition of one store.
pub(super) struct Counted {
    pub(super) operator: OperatorId,
    pub(super) store: String,
    pub(super) census: Census,
}

impl<'a> Facts<'a> {
    pub(super) fn new(
        address: &'a str,
        storage: &'a Storage,
        checkpoint: &'a Checkpoint,
        catalog: &'a Catalog,
        batch: Option<BatchId>,
    ) -> Self {
        // Where no conf says the count, the ids of a commit do: there is one list per partition.
        let ids = |batch| {
            let operators = catalog.operators.iter();
            operators
                .filter_map(|op| checkpoint.state_ids(batch, op.id))
                .map(OperatorStateIds::partitions)
                .max()
        };
        // Before the first commit, the planned batch's count is the one that will hold.
        let described = batch.or_else(|| checkpoint.last_planned());
        let partitions = described.and_then(|batch| {
            checkpoint.partitions_at(batch).or_else(|| u32::try_from(ids(batch)?).ok())
        });
        Self { address, storage, checkpoint, catalog, batch, partitions }
    }

    /// How many partitions are looked at: none of a count that no query has.
    pub(super) fn partitions_to_read(&self) -> u32 {
        self.partitions.filter(|count| *count <= MAX_PARTITIONS).unwrap_or(0)
    }

    pub(super) fn confs(&self) -> Option<&Confs> {
        self.checkpoint.confs_at(self.batch?)
    }

    fn is_stateful(&self) -> bool {
        !self.checkpoint.operator_dirs().is_empty()
    }

    pub(super) fn provider(&self) -> Option<Provider> {
        self.confs().filter(|_| self.is_stateful()).map(Confs::provider)
    }

    /// Whether changelog checkpointing is on, by the newest version that has a changelog. A
    /// repartition batch writes snapshots only, so there the batch before it tells.
    fn changelog(&self, newest: Option<StateVersion>) -> Option<bool> {
        let batch = self.batch?;
        match self.provider()? {
            Provider::Rocksdb => {}
            // Its deltas are no option: there is nothing to switch on.
            Provider::Hdfs => return Some(false),
            Provider::Other => return None,
        }
        let history = self.checkpoint.partition_history();
        let repartition = history.iter().any(|entry| entry.batch == batch && entry.repartition);
        let expected = if repartition { StateVersion(batch.0) } else { batch.version() };
        Some(newest.is_some_and(|newest| newest >= expected))
    }

    /// The fault of files that no batch in the logs could have written, not even a planned one.
    fn ahead_of_logs(
        &self,
        operator: OperatorId,
        store: &str,
        census: &Census,
    ) -> Option<StateFault> {
        let planned = self.checkpoint.last_planned().max(self.checkpoint.last_committed())?;
        let newest = census.newest_file.filter(|newest| *newest > planned.version())?;
        Some(StateFault {
            operator,
            store: store.to_owned(),
            partition: Some(census.report.partition),
            file: format!("state/{operator}/{}", census.report.partition),
            kind: FaultKind::AheadOfLogs(newest),
            outcome: Outcome::Harmless,
        })
    }

    fn state_checkpoint_format(&self) -> Option<u32> {
        let batch = self.batch.filter(|_| self.is_stateful())?;
        let with_ids = |op: &OperatorEntry| self.checkpoint.state_ids(batch, op.id).is_some();
        Some(if self.catalog.operators.iter().any(with_ids) { 2 } else { 1 })
    }
}

/// Both reports. `counted` is `None` when no partition was looked at.
pub(super) fn reports(
    facts: &Facts<'_>,
    counted: Option<Vec<Counted>>,
) -> (InspectReport, PartitionsReport) {
    let looked = counted.is_some();
    let mut faults = facts.catalog.state_faults.clone();
    let mut newest_changelog = None;
    let mut by_store: BTreeMap<(OperatorId, String), Vec<PartitionReport>> = BTreeMap::new();
    for Counted { operator, store, census } in counted.unwrap_or_default() {
        newest_changelog = newest_changelog.max(census.newest_changelog);
        faults.extend(facts.ahead_of_logs(operator, &store, &census));
        faults.extend(census.faults);
        by_store.entry((operator, store)).or_default().push(census.report);
    }
    let changelog = facts.changelog(newest_changelog).filter(|_| looked);

    let mut operators = Vec::new();
    let mut spread = Vec::new();
    for operator in &facts.catalog.operators {
        let mut stores = Vec::new();
        for store in &operator.stores {
            let partitions = by_store.remove(&(operator.id, store.name.clone()));
            stores.push((store, partitions.map(|partitions| store_partitions(store, partitions))));
        }
        operators.push(operator_report(facts, operator, &stores));
        let stores: Vec<_> = stores.into_iter().filter_map(|(_, spread)| spread).collect();
        if !stores.is_empty() {
            spread.push(OperatorPartitions {
                id: operator.id,
                name: operator.name.clone(),
                stores,
            });
        }
    }
    let partitions = PartitionsReport {
        batch: facts.batch,
        version: facts.batch.map(BatchId::version),
        operators: spread,
        findings: sorted(if looked { diagnosis::state_findings(&faults) } else { Vec::new() }),
    };
    (inspect_report(facts, operators, changelog, &faults), partitions)
}

fn inspect_report(
    facts: &Facts<'_>,
    operators: Vec<OperatorReport>,
    changelog: Option<bool>,
    faults: &[StateFault],
) -> InspectReport {
    let checkpoint = facts.checkpoint;
    // Without a committed batch the planned one still tells sources and confs.
    let described = facts.batch.or_else(|| checkpoint.last_planned());
    let entry = described.and_then(|batch| checkpoint.entry_for(batch)).map(|(_, entry)| entry);
    let metadata = entry.and_then(|entry| entry.metadata.as_ref());
    let confs = entry.and_then(|entry| entry.confs());
    let mut findings =
        diagnosis::checkpoint_findings(checkpoint, facts.batch, &facts.catalog.faults);
    findings.extend(diagnosis::state_findings(faults));
    if let (Some(count), Some(batch)) = (facts.partitions, described)
        && count > MAX_PARTITIONS
    {
        findings.push(diagnosis::too_many_partitions(batch, count, MAX_PARTITIONS));
    }
    findings
        .extend(diagnosis::provider_finding(facts.provider(), confs.map(Confs::provider_class)));
    InspectReport {
        checkpoint: facts.address.to_owned(),
        query_id: checkpoint.query_id().map(str::to_owned),
        stateful: facts.is_stateful(),
        offset_log_version: checkpoint.offset_log_version(),
        commit_log_version: checkpoint.commit_log_version(),
        batch: facts.batch,
        last_planned_batch: checkpoint.last_planned(),
        last_committed_batch: checkpoint.last_committed(),
        last_commit_at: checkpoint.last_commit_at(),
        last_plan_at: checkpoint.last_plan_at(),
        status: checkpoint.status(),
        partitions: facts.partitions,
        partition_history: checkpoint.partition_history(),
        provider: confs.filter(|_| facts.is_stateful()).map(Confs::provider),
        provider_class: confs
            .filter(|_| facts.is_stateful())
            .map(|confs| confs.provider_class().to_owned()),
        state_checkpoint_format: facts.state_checkpoint_format(),
        changelog,
        watermark: metadata.map(|metadata| metadata.watermark),
        batch_timestamp: metadata.map(|metadata| metadata.timestamp),
        conf: confs.map(|confs| confs.all().clone()).unwrap_or_default(),
        sources: entry.map(|entry| sources::reports(facts.storage, entry)).unwrap_or_default(),
        operators,
        findings: sorted(findings),
    }
}

fn operator_report(
    facts: &Facts<'_>,
    operator: &OperatorEntry,
    stores: &[(&StoreEntry, Option<StorePartitions>)],
) -> OperatorReport {
    OperatorReport {
        id: operator.id,
        name: operator.name.clone(),
        name_inferred: operator.name_inferred,
        stores: stores
            .iter()
            .map(|(store, spread)| store_report(facts, store, spread.as_ref()))
            .collect(),
    }
}

fn store_report(
    facts: &Facts<'_>,
    store: &StoreEntry,
    spread: Option<&StorePartitions>,
) -> StoreReport {
    let main = store.schema.as_ref().and_then(StoreSchema::main_family);
    StoreReport {
        name: store.name.clone(),
        column_families: column_families(store, spread),
        partitions: facts.partitions.unwrap_or(0),
        rows: spread.and_then(|spread| spread.total.rows),
        rows_grade: spread.map_or(Grade::Unknown, |spread| spread.total.rows_grade),
        bytes: spread.map_or(Bytes(0), |spread| spread.total.bytes),
        max_over_mean: spread
            .and_then(|spread| spread.skew.rows.as_ref())
            .and_then(|rows| rows.max_over_mean),
        key_schema: main.map(|family| family.key.clone()),
        value_schema: main.map(|family| family.value.clone()),
    }
}

/// Families of the schema file and of the partitions' snapshots together.
fn column_families(
    store: &StoreEntry,
    spread: Option<&StorePartitions>,
) -> Vec<ColumnFamilyReport> {
    let counted: BTreeSet<&String> = spread
        .iter()
        .flat_map(|spread| &spread.partitions)
        .flat_map(|partition| partition.families.keys())
        .collect();
    let schemas = store.schema.iter().flat_map(|schema| &schema.families);
    let kinds = store.families.completed(counted.iter().copied());
    let mut families: BTreeMap<&str, ColumnFamilyReport> = counted
        .iter()
        .map(|name| name.as_str())
        .chain(schemas.clone().map(|family| family.name.as_str()))
        .map(|name| {
            let family = ColumnFamilyReport {
                name: name.to_owned(),
                internal: kinds.is_internal(name),
                key_encoder: None,
                key_schema: None,
                value_schema: None,
            };
            (name, family)
        })
        .collect();
    for schema in schemas {
        if let Some(family) = families.get_mut(schema.name.as_str()) {
            family.key_encoder = schema.key_encoder_name().map(str::to_owned);
            family.key_schema = Some(schema.key.clone());
            family.value_schema = Some(schema.value.clone());
        }
    }
    let mut families: Vec<_> = families.into_values().collect();
    families.sort_by_key(|family| family.name != DEFAULT);
    families
}

fn store_partitions(store: &StoreEntry, partitions: Vec<PartitionReport>) -> StorePartitions {
    // An operator without grouping keys cannot use the other partitions: they are no skew.
    let used = if store.single_partition { 1 } else { partitions.len() };
    let used = || partitions.iter().take(used);
    StorePartitions {
        name: store.name.clone(),
        total: Total {
            rows: partitions.iter().try_fold(0_u64, |sum, p| Some(sum.saturating_add(p.rows?))),
            rows_grade: partitions.iter().map(|p| p.rows_grade).min().unwrap_or(Grade::Unknown),
            bytes: partitions.iter().map(|p| p.bytes).sum(),
            files: partitions.iter().map(|p| p.files).sum(),
        },
        skew: Skew {
            rows: Distribution::of(used().map(|p| (p.partition, p.rows))),
            bytes: Distribution::of(used().map(|p| (p.partition, Some(p.bytes.0)))),
        },
        partitions,
    }
}

/// Most severe first; among equals in the order found.
fn sorted(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| Reverse(finding.severity));
    findings
}
