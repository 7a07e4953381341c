//! Findings about the files of state stores.
//!
//! Many partitions often have the same fault (a deleted folder, a lifecycle rule); beyond a
//! few, one finding stands for the rest, so that a thousand bad files stay readable.

use std::collections::BTreeMap;

use super::{Finding, FindingId, Severity};
use crate::report::Provider;
use crate::state::fault::{FaultKind, Outcome, StateFault};
use crate::state::rocks::FileProblem;
use crate::units::{BatchId, OperatorId};

/// Findings of one kind in one store that are listed one by one.
const LISTED: usize = 10;

/// Findings for the faults met while reading state stores.
pub fn state_findings(faults: &[StateFault]) -> Vec<Finding> {
    let mut groups: BTreeMap<(OperatorId, &str, FindingId), Vec<&StateFault>> = BTreeMap::new();
    for fault in faults {
        groups.entry((fault.operator, &fault.store, id(&fault.kind))).or_default().push(fault);
    }
    groups.into_values().flat_map(|group| of_group(&group)).collect()
}

/// The finding for a partition count that cannot be true.
pub fn too_many_partitions(batch: BatchId, count: u32, limit: u32) -> Finding {
    Finding {
        id: FindingId("implausible-partition-count"),
        severity: Severity::Error,
        summary: format!("{count} partitions are pinned, more than the {limit} that are read"),
        detail: format!(
            "Expected spark.sql.shuffle.partitions of 1 to {limit} in offsets/{batch}, found \
             {count}. No partition is read, so rows and bytes are unknown."
        ),
        remedy: "Check the entry: it is damaged or was edited. Restore it from a copy".into(),
        file: Some(format!("offsets/{batch}")),
    }
}

/// The finding for a state store provider whose files are not read.
pub fn provider_finding(provider: Option<Provider>, class: Option<&str>) -> Option<Finding> {
    (provider == Some(Provider::Other)).then(|| Finding {
        id: FindingId("unsupported-provider"),
        severity: Severity::Warning,
        summary: "the state store provider is not one that is read".into(),
        detail: format!(
            "Expected RocksDBStateStoreProvider or HDFSBackedStateStoreProvider, found {}. Logs, \
             operators and schemas show; rows and bytes are unknown.",
            class.unwrap_or("none")
        ),
        remedy: "Ask the query's own metrics for rows: numRowsTotal in its progress".into(),
        file: None,
    })
}

fn of_group(group: &[&StateFault]) -> Vec<Finding> {
    if let Some(first) = group.first().filter(|fault| fault.kind == FaultKind::InternalCounted) {
        return vec![internal_counted(first, group.len())];
    }
    let mut findings: Vec<Finding> =
        group.iter().take(LISTED).map(|fault| finding(fault)).collect();
    if let (Some(first), rest @ 1..) = (group.first(), group.len().saturating_sub(LISTED)) {
        let worst = group.iter().skip(LISTED).map(|fault| severity(fault)).max();
        findings.push(Finding {
            id: id(&first.kind),
            severity: worst.unwrap_or(Severity::Warning),
            summary: format!(
                "{rest} more partitions of operator {} store {} have the same fault",
                first.operator, first.store
            ),
            detail: format!("Like partition {}: {}.", place(first), detail(first)),
            remedy: remedy(first).to_owned(),
            file: None,
        });
    }
    findings
}

/// A trait of the whole store, told once.
fn internal_counted(fault: &StateFault, partitions: usize) -> Finding {
    Finding {
        id: id(&fault.kind),
        severity: Severity::Info,
        summary: format!(
            "operator {} store {}: the snapshots count internal rows in",
            fault.operator, fault.store
        ),
        detail: format!(
            "In {partitions} partitions the snapshot takes internal column families for the \
             query's own, as Spark 4.2 and 4.3 leave them after an offline repartition. Rows of \
             snapshot grade, and Spark's own numRowsTotal, are larger by these families."
        ),
        remedy: "Nothing to do; exact counts leave internal families out".into(),
        file: None,
    }
}

/// The finding for one fault.
pub fn state_finding(fault: &StateFault) -> Finding {
    finding(fault)
}

fn finding(fault: &StateFault) -> Finding {
    Finding {
        id: id(&fault.kind),
        severity: severity(fault),
        summary: format!("{}: {}", place(fault), headline(&fault.kind)),
        detail: format!("{}. {}", detail(fault), consequence(fault)),
        remedy: remedy(fault).to_owned(),
        file: Some(fault.file.clone()),
    }
}

fn place(fault: &StateFault) -> String {
    let store = match fault.store.as_str() {
        "default" => String::new(),
        name => format!(" {name}"),
    };
    match fault.partition {
        Some(partition) => format!("operator {}{store} partition {partition}", fault.operator),
        None => format!("operator {}{store}", fault.operator),
    }
}

fn id(kind: &FaultKind) -> FindingId {
    FindingId(match kind {
        FaultKind::MissingDirectory => "missing-partition-directory",
        FaultKind::MissingVersion(_) => "missing-state-file",
        FaultKind::Snapshot(_) => "damaged-snapshot",
        FaultKind::Sst(FileProblem::Missing) => "missing-sst",
        FaultKind::Sst(_) => "damaged-sst",
        FaultKind::Log(_) => "damaged-changelog",
        FaultKind::Empty => "empty-state-file",
        FaultKind::Schema(_) => "state-schema",
        FaultKind::Rows(..) => "unexpected-rows",
        FaultKind::Misplaced { .. } => "misplaced-keys",
        FaultKind::FileChecksum(_) => "file-checksum",
        FaultKind::RowChecksums(_) => "row-checksum",
        FaultKind::Undecodable(..) => "undecodable-rows",
        FaultKind::MissingOperator => "missing-operator-directory",
        FaultKind::MissingOperatorMetadata => "missing-operator-metadata",
        FaultKind::AheadOfLogs(_) => "state-ahead-of-logs",
        FaultKind::InternalCounted => "internal-rows-counted",
        FaultKind::Unreadable(_) => "unreadable-state-file",
    })
}

fn severity(fault: &StateFault) -> Severity {
    match (&fault.kind, fault.outcome) {
        (FaultKind::InternalCounted, _) => Severity::Info,
        (FaultKind::Rows(..) | FaultKind::Misplaced { .. }, _) | (_, Outcome::Lost) => {
            Severity::Error
        }
        (_, Outcome::Recovered(_) | Outcome::Harmless | Outcome::Unneeded) => Severity::Warning,
    }
}

fn headline(kind: &FaultKind) -> String {
    match kind {
        FaultKind::MissingDirectory | FaultKind::MissingOperator => {
            "its directory is missing".into()
        }
        FaultKind::MissingVersion(version) => format!("no file for state version {version}"),
        FaultKind::Snapshot(_) => "the snapshot is damaged".into(),
        FaultKind::Sst(FileProblem::Missing) => "a table file (SST) is missing".into(),
        FaultKind::Sst(_) => "a table file (SST) is damaged".into(),
        FaultKind::Log(_) => "a changelog or delta is damaged".into(),
        FaultKind::Empty => "a state file has no bytes".into(),
        FaultKind::Schema(_) => "the state schema cannot be read".into(),
        FaultKind::Rows(count, _) => format!("{count} unexpected rows"),
        FaultKind::Misplaced { keys, .. } => format!("{keys} keys belong in other partitions"),
        FaultKind::FileChecksum(_) => "a file does not fit its checksum".into(),
        FaultKind::RowChecksums(count) => format!("{count} rows do not fit their checksums"),
        FaultKind::Undecodable(count, _) => {
            format!("{count} keys or values cannot be decoded")
        }
        FaultKind::MissingOperatorMetadata => "its metadata is missing".into(),
        FaultKind::AheadOfLogs(version) => {
            format!("state version {version} is newer than any batch in the logs")
        }
        FaultKind::InternalCounted => "its snapshot counts internal rows in".into(),
        FaultKind::Unreadable(_) => "a state file cannot be read".into(),
    }
}

fn detail(fault: &StateFault) -> String {
    let file = &fault.file;
    match &fault.kind {
        FaultKind::MissingDirectory => format!("Expected the directory {file}, found nothing"),
        FaultKind::MissingVersion(version) => {
            format!(
                "Expected {file} for state version {version}, found neither it nor a newer snapshot"
            )
        }
        FaultKind::Snapshot(reason)
        | FaultKind::Log(reason)
        | FaultKind::Schema(reason)
        | FaultKind::FileChecksum(reason) => {
            format!("{file}: {reason}")
        }
        FaultKind::Sst(FileProblem::Missing) => {
            format!("The snapshot refers to {file}, which is not there")
        }
        FaultKind::Sst(FileProblem::Size { expected, found }) => {
            format!("The snapshot says that {file} has {expected} bytes, found {found}")
        }
        FaultKind::Sst(FileProblem::Damaged(reason)) => format!("{file}: {reason}"),
        FaultKind::Empty => format!("{file} is there, expected content, found 0 bytes"),
        FaultKind::Rows(count, what) => format!("In {file}, {count} keys {what}"),
        FaultKind::Misplaced { keys, belong } => {
            let belong: Vec<String> =
                belong.iter().map(|(partition, keys)| format!("{partition} ({keys})")).collect();
            format!(
                "In {file}, {keys} keys have a grouping key whose hash says another partition: {}",
                belong.join(", ")
            )
        }
        FaultKind::RowChecksums(count) => format!(
            "In {file}, {count} rows have a CRC-32C that is not the one of their key and value"
        ),
        FaultKind::Undecodable(count, reason) => {
            format!("In {file}, {count} keys or values are not as their schema says: {reason}")
        }
        FaultKind::MissingOperator => {
            format!(
                "Expected the directory {file}, since the last commit or the ids of other \
                 operators say that there is one"
            )
        }
        FaultKind::MissingOperatorMetadata => format!(
            "Expected {file}, which Spark 4.0 and later write, found nothing. The operator's name \
             is told from its stores"
        ),
        FaultKind::AheadOfLogs(version) => format!(
            "In {file} there are files of state version {version}, which a batch writes that is \
             not in the offset log"
        ),
        FaultKind::InternalCounted => format!("In {file} internal families count as rows"),
        FaultKind::Unreadable(reason) => reason.clone(),
    }
}

fn consequence(fault: &StateFault) -> String {
    match fault.kind {
        FaultKind::Misplaced { .. } => {
            return "The query looks for a key only in the partition of its hash, so it goes on \
                    without these rows, and its results are wrong. Likely causes: an offline \
                    repartition that misplaced join format 4 or an aggregate without keys, stale \
                    snapshots left by an undone repartition, a count in the offset log that is not \
                    the one that the state was written with, or a checkpoint from before Spark 3.3 \
                    that hashed only some of the grouping columns."
                .into();
        }
        FaultKind::FileChecksum(_) => {
            return "Spark 4.1 and later compares them when it loads the file, and refuses it. What \
                    could be read of it is shown all the same."
                .into();
        }
        FaultKind::RowChecksums(_) => {
            return "The bytes were changed after Spark wrote them; Spark fails when it reads such a \
                    row."
                .into();
        }
        FaultKind::Undecodable(..) => {
            return "They are shown as hexadecimal bytes. Spark may fail, or read something else, \
                    when it comes to them."
                .into();
        }
        FaultKind::MissingOperator => {
            return "The state of this operator is lost, and a query that starts here fails."
                .into();
        }
        FaultKind::MissingOperatorMetadata => {
            return "Counts are not affected. Spark's own state readers fail, and an offline \
                    repartition fails after it has begun, which leaves a checkpoint that does \
                    not start."
                .into();
        }
        FaultKind::AheadOfLogs(_) => {
            return "Either log entries were deleted by hand or the state is from another run. A \
                    restart writes the same versions again; in state checkpoint format 1 it may \
                    then pick a stale snapshot."
                .into();
        }
        _ => {}
    }
    match fault.outcome {
        Outcome::Harmless => "The counts leave these rows out of the families' totals.".into(),
        Outcome::Lost if matches!(fault.kind, FaultKind::Rows(..)) => {
            "The query goes on without them, so its results are wrong.".into()
        }
        Outcome::Recovered(version) if version.0 == 0 => {
            "The counts are complete all the same: every change since the first batch was replayed \
             instead. Spark 4.2 and later recovers likewise; earlier versions fail here."
                .into()
        }
        Outcome::Recovered(version) => format!(
            "The counts come from the older snapshot {version} and the changelogs after it instead. \
             Spark 4.2 and later recovers likewise; earlier versions fail here."
        ),
        Outcome::Unneeded => {
            "The state of this batch does not need it. A batch before it that does cannot be read \
             any more, and a damaged snapshot cannot be repaired from it."
                .into()
        }
        Outcome::Lost if fault.partition.is_none() => {
            "Column names and types are not known; counts are not affected.".into()
        }
        Outcome::Lost => {
            "The rows of this partition are unknown, and a query that starts from this batch \
             fails when it loads the partition."
                .into()
        }
    }
}

fn remedy(fault: &StateFault) -> &'static str {
    match (&fault.kind, fault.outcome) {
        (FaultKind::Rows(..) | FaultKind::Misplaced { .. }, _) => {
            "Do not resize. Check whether an offline repartition wrote this version (it puts join \
             format 4 and aggregates without keys in the wrong places) and go back to a copy of the \
             checkpoint from before"
        }
        (FaultKind::MissingOperatorMetadata, _) => {
            "Restore the file from a copy, or let one batch run on Spark 4.0 or later, which writes \
             it; do not resize before"
        }
        (FaultKind::AheadOfLogs(_), _) => {
            "Do not start the query. Restore the missing offset and commit entries, or move the \
             newer state files aside"
        }
        (FaultKind::Unreadable(_), _) => "Check permissions and the connection, then read again",
        (FaultKind::Schema(_), _) => "Restore the file from a copy or an earlier object version",
        (_, Outcome::Unneeded) => {
            "Nothing for this batch; restore the file from a copy if older batches matter"
        }
        (_, Outcome::Recovered(_) | Outcome::Harmless) => {
            "Restore the file from a copy or an earlier object version before the older snapshot is \
             cleaned up; do not resize before"
        }
        (_, Outcome::Lost) => {
            "Restore the file from a copy or an earlier object version; look for lifecycle rules \
             or clean-up jobs that delete from the checkpoint"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{PartitionId, StateVersion};

    fn fault(partition: u32, outcome: Outcome) -> StateFault {
        StateFault {
            operator: OperatorId(0),
            store: "default".into(),
            partition: Some(PartitionId(partition)),
            file: format!("state/0/{partition}/SSTs/000008-x.sst"),
            kind: FaultKind::Sst(FileProblem::Missing),
            outcome,
        }
    }

    #[test]
    fn a_lost_partition_is_an_error_and_a_recovered_one_a_warning() {
        let findings = state_findings(&[
            fault(1, Outcome::Lost),
            fault(2, Outcome::Recovered(StateVersion(4))),
        ]);
        assert_eq!(findings[0].id.0, "missing-sst");
        assert_eq!(findings[0].severity, Severity::Error);
        assert_eq!(findings[1].severity, Severity::Warning);
        assert!(findings[1].detail.contains("snapshot 4"));
        assert_eq!(findings[0].file.as_deref(), Some("state/0/1/SSTs/000008-x.sst"));
    }

    #[test]
    fn many_of_a_kind_are_summed_up() {
        let faults: Vec<_> = (0..200).map(|partition| fault(partition, Outcome::Lost)).collect();
        let findings = state_findings(&faults);
        assert_eq!(findings.len(), 11);
        assert!(findings[10].summary.starts_with("190 more partitions"));
        assert_eq!(findings[10].severity, Severity::Error);
    }
}
