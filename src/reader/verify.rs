//! Checks everything there is to check of a checkpoint: the logs, every state file, every key and
//! value of the batch's state, and that each key is in its place.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use super::ReadError;
use super::opened::Opened;
use super::rows::{FamilyChoice, RowsRequest, Selection};
use super::session;
use crate::diagnosis::{self, Finding, Severity};
use crate::report::{Checked, InspectReport, Soundness, VerifyFault, VerifyReport};
use crate::state::fault::{Outcome, StateFault};
use crate::state::files::Target;
use crate::state::reading::StoreReading;
use crate::state::store::Run;
use crate::task::{self, Cancelled};
use crate::units::{BatchId, Bytes, OperatorId, PartitionId};

/// Findings of the logs that say where a query stands, not that a file is bad.
const NO_FAULTS: [&str; 6] = [
    "pending-batch",
    "unfinished-repartition",
    "schema-files-elsewhere",
    "stale-operator-count",
    "older-entries-not-read",
    "strange-names",
];

/// The finding for an operator whose state is gone.
const MISSING_STATE: &str = "missing-operator-directory";

/// What to check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VerifyRequest {
    /// The batch whose state is read; `None` for the last committed.
    pub batch: Option<BatchId>,
    /// Only this operator's state.
    pub operator: Option<OperatorId>,
    /// Only stores of this name.
    pub store: Option<String>,
}

/// What became of one partition of one store.
#[derive(Default)]
struct Part {
    checked: Checked,
    complete: bool,
    faults: Vec<StateFault>,
}

pub(super) fn verify(
    opened: &Opened,
    logs: &[Finding],
    run: Run<'_>,
    tell: &(dyn Fn(u64, u64) + Sync),
) -> Result<VerifyReport, ReadError> {
    let request = RowsRequest { families: FamilyChoice::All, ..RowsRequest::default() };
    let selection = Selection::new(opened, &request)?;
    let jobs: Vec<(&StoreReading, PartitionId)> = selection.places().collect();
    let done = Mutex::new(0_u64);
    let parts = task::map_parallel(&jobs, opened.storage.crew(), run.cancel, |job| {
        let part = check(opened, &selection, *job, run);
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += 1;
        tell(*done, jobs.len() as u64);
        part
    });
    let parts: Vec<Part> = parts.into_iter().flatten().flatten().collect();
    Ok(report(opened, logs, &parts, jobs.len()))
}

/// Reads all rows of a partition, then every file that it still has.
fn check(
    opened: &Opened,
    selection: &Selection<'_>,
    (reading, partition): (&StoreReading, PartitionId),
    run: Run<'_>,
) -> Result<Part, Cancelled> {
    let store = &reading.store;
    if store.single_partition && partition.0 > 0 {
        // Nothing is to be there; rows that are have been lost to the query.
        let target = opened.target(store, partition);
        let census = store.census(partition, &target, crate::state::census::Method::Exact, run)?;
        return Ok(Part { complete: true, faults: census.faults, ..Part::default() });
    }
    let read = selection.read((reading, partition), run, &mut |_| ControlFlow::Continue(()))?;
    let known: HashSet<String> = read.faults.iter().map(|fault| fault.file.clone()).collect();
    let targets: Vec<Target> = opened
        .checkpoint
        .committed_batches()
        .filter(|batch| opened.checkpoint.partitions_at(*batch) == Some(opened.partitions))
        .map(|batch| session::target(&opened.checkpoint, store, batch, partition))
        .collect();
    let now = opened.target(store, partition);
    let files = store.verify_files(partition, &now, &targets, &known, run)?;
    let mut faults = read.faults;
    faults.extend(files.faults);
    let checked = Checked {
        keys: read.keys,
        row_checksums: read.checksums,
        files: files.files,
        bytes: files.bytes,
        file_checksums: files.checksums,
    };
    Ok(Part { checked, complete: read.complete, faults })
}

/// What there is to say of a query without state.
pub(super) fn of_logs(inspect: &InspectReport) -> VerifyReport {
    let faults: Vec<VerifyFault> = log_faults(&inspect.findings).collect();
    let verdict = match faults.as_slice() {
        [] => Soundness::Sound,
        // There should be some: the logs name it.
        some if some.iter().any(|fault| fault.id == MISSING_STATE) => Soundness::Unreadable,
        _ => Soundness::Faults,
    };
    VerifyReport {
        checkpoint: inspect.checkpoint.clone(),
        batch: inspect.batch,
        verdict,
        faults,
        checked: Checked::default(),
        partial: false,
    }
}

fn log_faults(findings: &[Finding]) -> impl Iterator<Item = VerifyFault> {
    let is_fault = |finding: &&Finding| {
        finding.severity >= Severity::Warning && !NO_FAULTS.contains(&finding.id.0)
    };
    findings.iter().filter(is_fault).map(|finding| VerifyFault {
        id: finding.id.0.to_owned(),
        file: finding.file.clone(),
        operator: None,
        store: None,
        partition: None,
        detail: finding.detail.clone(),
        remedy: finding.remedy.clone(),
    })
}

fn report(opened: &Opened, logs: &[Finding], parts: &[Part], wanted: usize) -> VerifyReport {
    let mut faults: Vec<StateFault> = parts.iter().flat_map(|part| part.faults.clone()).collect();
    faults.extend(opened.catalog.state_faults.iter().cloned());
    // What concerns the state that was read comes first.
    faults.sort_by_key(|fault| std::cmp::Reverse(fault.outcome));
    let lost = parts.iter().any(|part| !part.complete);
    let of_state = faults.iter().filter(|fault| counts(fault)).map(|fault| {
        let finding = diagnosis::state_finding(fault);
        VerifyFault {
            id: finding.id.0.to_owned(),
            file: finding.file,
            operator: Some(fault.operator),
            store: Some(fault.store.clone()),
            partition: fault.partition,
            detail: finding.detail,
            remedy: finding.remedy,
        }
    });
    let faults: Vec<VerifyFault> = log_faults(logs).chain(of_state).collect();
    let checked = parts.iter().fold(Checked::default(), |sum, part| Checked {
        keys: sum.keys + part.checked.keys,
        row_checksums: sum.row_checksums + part.checked.row_checksums,
        files: sum.files + part.checked.files,
        bytes: Bytes(sum.bytes.0 + part.checked.bytes.0),
        file_checksums: sum.file_checksums + part.checked.file_checksums,
    });
    let verdict = match (lost, faults.is_empty()) {
        (true, _) => Soundness::Unreadable,
        (false, false) => Soundness::Faults,
        (false, true) => Soundness::Sound,
    };
    VerifyReport {
        checkpoint: opened.storage.address().to_owned(),
        batch: opened.batch,
        verdict,
        faults,
        checked,
        partial: parts.len() < wanted,
    }
}

/// Oddities of a layout are no faults; everything that costs something is.
fn counts(fault: &StateFault) -> bool {
    diagnosis::state_finding(fault).severity >= Severity::Warning || fault.outcome == Outcome::Lost
}
