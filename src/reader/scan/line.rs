//! From one checkpoint's reports to its line in a scan. Pure.

use serde_json::Value;

use crate::analysis::spread::ROWS_TO_JUDGE;
use crate::checkpoint::Confs;
use crate::diagnosis::candidate::{Facts, Judgement, OperatorFacts, StoreFacts};
use crate::diagnosis::lints::{Evidence, lints};
use crate::diagnosis::{Rules, Severity};
use crate::reader::Observation;
use crate::report::{
    Grade, InspectReport, OperatorReport, PartitionsReport, ScanObstacle, ScanReason,
    ScannedCheckpoint, ScannedOperator, StorePartitions,
};
use crate::units::UnixMillis;

/// The line of a checkpoint.
pub(super) fn of(seen: &Observation, batch_ms: Option<u64>, now: UnixMillis) -> ScannedCheckpoint {
    let (inspect, partitions) = (seen.inspect.as_ref(), seen.partitions.as_ref());
    let facts = facts(inspect, partitions);
    let judged = Judgement::of(&facts);
    let stores = || inspect.operators.iter().flat_map(|operator| &operator.stores);
    let rows = stores().try_fold(0_u64, |sum, store| Some(sum.saturating_add(store.rows?)));
    // Without a store there is nothing to count, and a query that keeps none has no rows.
    let rows = rows.filter(|_| stores().next().is_some());
    let mut findings = inspect.findings.clone();
    let evidence = Evidence { inspect: Some(inspect), partitions: Some(partitions), told: None };
    findings.extend(lints(&evidence));
    let line = ScannedCheckpoint {
        path: inspect.checkpoint.clone(),
        name: None,
        query_id: inspect.query_id.clone(),
        status: inspect.status,
        operators: inspect
            .operators
            .iter()
            .map(|operator| ScannedOperator { id: operator.id, name: operator.name.clone() })
            .collect(),
        provider: inspect.provider,
        partitions: inspect.partitions,
        rows,
        rows_grade: stores().map(|store| store.rows_grade).min().unwrap_or(Grade::Unknown),
        bytes: stores().map(|store| store.bytes).sum(),
        rows_per_partition: rows.zip(inspect.partitions).map(|(rows, count)| per(rows, count)),
        max_over_mean: max_over_mean(&facts, partitions),
        first_batch: inspect.partition_history.first().map(|entry| entry.batch),
        last_batch: inspect.last_committed_batch,
        last_commit_at: inspect.last_commit_at,
        last_commit_age: inspect.last_commit_at.map(|at| at.until(now)),
        batch_ms,
        errors: 0,
        warnings: 0,
        standing: judged.standing,
        reasons: judged
            .reasons
            .iter()
            .map(|reason| ScanReason {
                kind: reason.kind(),
                factor: reason.factor(),
                text: reason.sentence(),
            })
            .collect(),
        obstacles: judged
            .obstacles
            .iter()
            .map(|obstacle| ScanObstacle { kind: obstacle.kind(), text: obstacle.sentence() })
            .collect(),
        judged,
        findings,
    };
    line.under(&Rules::default())
}

#[expect(clippy::cast_precision_loss, reason = "a mean for people")]
fn per(rows: u64, partitions: u32) -> f64 {
    rows as f64 / f64::from(partitions.max(1))
}

fn facts(inspect: &InspectReport, partitions: &PartitionsReport) -> Facts {
    let join_format = Confs::new(inspect.conf.clone()).join_format();
    Facts {
        status: inspect.status,
        stateful: inspect.stateful,
        provider: inspect.provider,
        partitions: inspect.partitions,
        history: inspect.partition_history.clone(),
        operators: inspect
            .operators
            .iter()
            .map(|operator| OperatorFacts {
                id: operator.id,
                name: operator.name.clone(),
                described: !operator.name_inferred,
                keyless: keyless(operator),
                join_format: (operator.name == "symmetricHashJoin").then_some(join_format),
                stores: stores(partitions, operator).map(store).collect(),
            })
            .collect(),
        errors: inspect
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            // An obstacle of its own tells this one.
            .filter(|finding| finding.id.0 != "unfinished-repartition")
            .count() as u64,
    }
}

/// Whether the operator uses partition 0 alone: a limit, or an aggregate whose key has no columns.
fn keyless(operator: &OperatorReport) -> bool {
    let no_columns =
        |schema: &Value| schema.get("fields").and_then(Value::as_array).is_some_and(Vec::is_empty);
    operator.name == "globalLimit"
        || operator.stores.iter().filter_map(|store| store.key_schema.as_ref()).any(no_columns)
}

fn stores<'a>(
    partitions: &'a PartitionsReport,
    operator: &OperatorReport,
) -> impl Iterator<Item = &'a StorePartitions> {
    let id = operator.id;
    let operators = partitions.operators.iter().filter(move |candidate| candidate.id == id);
    operators.flat_map(|operator| &operator.stores)
}

fn store(store: &StorePartitions) -> StoreFacts {
    let largest = store.skew.rows.as_ref().and_then(|rows| rows.largest.first());
    StoreFacts {
        rows: store.total.rows,
        bytes: store.total.bytes,
        largest: largest.map(|largest| (largest.partition, largest.value)),
    }
}

/// The ratio of the least even store; of those with rows enough to judge, where there are any.
fn max_over_mean(facts: &Facts, partitions: &PartitionsReport) -> Option<f64> {
    let keyed = |id| facts.operators.iter().any(|operator| operator.id == id && !operator.keyless);
    let operators = partitions.operators.iter().filter(|operator| keyed(operator.id));
    let ratios = operators.flat_map(|operator| &operator.stores).filter_map(|store| {
        let rows = store.skew.rows.as_ref()?;
        Some((rows.mean >= ROWS_TO_JUDGE, rows.max_over_mean?))
    });
    ratios.max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))).map(|(_, ratio)| ratio)
}
