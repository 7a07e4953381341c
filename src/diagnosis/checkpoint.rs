//! What is wrong with a checkpoint's logs, and what follows from it, in an operator's words.
//!
//! One function per kind of fault. Must not know how the faults were found.

mod operators;

use crate::checkpoint::{BatchRange, Checkpoint, Fault, FormatError, Log, Need, Problem};
use crate::diagnosis::{Finding, FindingId, Severity};
use crate::units::BatchId;

/// Findings of one kind that are told one by one; more than these are told as a number.
const TOLD: usize = 10;

/// What an operator should know about a checkpoint's logs, with `batch` as the one that is looked
/// at, and about the faults met elsewhere (`more`); most severe first. Where one kind of finding
/// repeats, the first ten are told and the rest is counted in one more.
pub fn checkpoint_findings(
    checkpoint: &Checkpoint,
    batch: Option<BatchId>,
    more: &[Fault],
) -> Vec<Finding> {
    let batch = batch.or_else(|| checkpoint.last_planned());
    let of_batch = batch.map(|batch| checkpoint.faults_at(batch)).unwrap_or_default();
    findings(checkpoint.faults().iter().chain(&of_batch).chain(more))
}

fn findings<'a>(faults: impl Iterator<Item = &'a Fault>) -> Vec<Finding> {
    let mut all: Vec<Finding> = faults.map(finding).collect();
    // Stable: within one severity the order of the faults is kept.
    all.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let mut told: Vec<(Finding, usize)> = Vec::new();
    for next in all {
        let same = told.iter().filter(|(one, _)| one.id == next.id).count();
        match told.iter_mut().rfind(|(one, _)| one.id == next.id) {
            Some((_, more)) if same == TOLD => *more += 1,
            _ => told.push((next, 0)),
        }
    }
    told.into_iter().flat_map(|(finding, more)| and_more(finding, more)).collect()
}

/// A finding, and one for the `more` of its kind that are not told.
fn and_more(finding: Finding, more: usize) -> impl Iterator<Item = Finding> {
    let rest = (more > 0).then(|| Finding {
        summary: format!("{more} more findings of the kind {}", finding.id.0),
        detail: "They differ from the ones above only in the file.".to_owned(),
        file: None,
        ..finding.clone()
    });
    std::iter::once(finding).chain(rest)
}

/// The finding for one fault.
fn finding(fault: &Fault) -> Finding {
    match fault {
        Fault::MissingMetadata => missing_metadata(),
        Fault::UnreadableMetadata { problem } => unreadable_metadata(problem),
        Fault::NotFollowed { path } => not_followed(path),
        Fault::UnreadableEntry { log: Log::Offsets, batch, problem, readable_before, need } => {
            unreadable_offset(*batch, problem, *readable_before, *need)
        }
        Fault::UnreadableEntry { log: Log::Commits, batch, problem, readable_before, need } => {
            unreadable_commit(*batch, problem, *readable_before, *need)
        }
        Fault::UnreadableSourceOffset { batch, source, problem } => {
            unreadable_source_offset(*batch, source, problem)
        }
        Fault::MissingOffsets { batches, need } => missing_offsets(*batches, *need),
        Fault::Gap { batches, need } => gap(*batches, *need),
        Fault::MissingCommits { batches } => missing_commits(*batches),
        Fault::LostCommits { batches } => lost_commits(*batches),
        Fault::Pending { batch } => pending(*batch),
        Fault::UnfinishedRepartition { batch, from, to } => {
            unfinished_repartition(*batch, *from, *to)
        }
        Fault::ConfsFromOlderEntry { wanted, used } => confs_from_older_entry(*wanted, *used),
        Fault::NoPartitionCount { batch, found } => no_partition_count(*batch, found.as_deref()),
        Fault::UnreadableOperatorMetadata { file, problem } => operators::unreadable(file, problem),
        Fault::OtherOperatorCount { file, version, stated, in_force } => {
            operators::other_count(file, *version, *stated, *in_force)
        }
        Fault::SchemaFilesElsewhere { file, written_at } => {
            operators::schema_files_elsewhere(file, written_at)
        }
        Fault::OlderEntriesNotRead { log, count } => older_entries_not_read(*log, *count),
        Fault::StrangeNames { log, count, example } => strange_names(*log, *count, example),
    }
}

fn missing_metadata() -> Finding {
    Finding {
        id: FindingId("missing-metadata"),
        severity: Severity::Error,
        summary: "The file metadata is missing".to_owned(),
        detail: "Batches are logged, but the file that names the query is not there. Spark 4.2 \
                 and later refuse to start the query \
                 (STREAMING_CHECKPOINT_MISSING_METADATA_FILE); earlier engines give it a new id \
                 and go on."
            .to_owned(),
        remedy: "Restore metadata from a backup or from the place this checkpoint was copied from."
            .to_owned(),
        file: Some("metadata".to_owned()),
    }
}

fn unreadable_metadata(problem: &Problem) -> Finding {
    Finding {
        id: id_for(problem, "unreadable-metadata"),
        severity: Severity::Error,
        summary: "The file metadata cannot be read".to_owned(),
        detail: format!("{problem}. The query's id is unknown, and the query cannot start."),
        remedy: "Restore metadata from a backup or from the place this checkpoint was copied from."
            .to_owned(),
        file: Some("metadata".to_owned()),
    }
}

fn not_followed(path: &str) -> Finding {
    Finding {
        id: FindingId("link-not-followed"),
        severity: Severity::Error,
        summary: format!("{path} is not read"),
        detail: "It is a symbolic link that leads out of the checkpoint or nowhere, or a pipe or \
                 device. Links out of the checkpoint are not followed, so that whoever wrote it \
                 cannot choose which other files of this machine are shown. What lies behind it is \
                 missing from this report."
            .to_owned(),
        remedy:
            "Open the directory that the links are relative to, or bring the parts together in \
                 one directory. The checkpoint directory itself may be a link."
                .to_owned(),
        file: Some(path.to_owned()),
    }
}

fn unreadable_offset(
    batch: BatchId,
    problem: &Problem,
    readable_before: Option<BatchId>,
    need: Need,
) -> Finding {
    let before = last_readable(readable_before);
    let follows = match need {
        Need::Restart => "The query cannot start while this entry is unreadable.",
        Need::History => "The query does not need this entry to go on.",
    };
    Finding {
        id: id_for(problem, "unreadable-offset"),
        severity: severity(need),
        summary: format!("The offset entry of batch {batch} cannot be read"),
        detail: format!(
            "{problem}. What batch {batch} read and which confs it ran with is unknown; {before}. \
             {follows}"
        ),
        remedy: match need {
            Need::Restart => format!(
                "Restore offsets/{batch} from a backup or from the store's versions. If batch \
                 {batch} is not committed, the file can instead be removed while the query is \
                 stopped (keep a copy): the engine then plans that batch again, and a sink that \
                 already has parts of it may get them twice."
            ),
            Need::History => {
                "Nothing to do, unless this batch has to be looked into: then restore \
                              the file from a backup."
                    .to_owned()
            }
        },
        file: Some(Log::Offsets.file(batch)),
    }
}

fn unreadable_commit(
    batch: BatchId,
    problem: &Problem,
    readable_before: Option<BatchId>,
    need: Need,
) -> Finding {
    let before = last_readable(readable_before);
    let follows = match need {
        Need::Restart => "The query cannot start while this entry is unreadable.",
        Need::History => "The query does not need this entry to go on.",
    };
    Finding {
        id: id_for(problem, "unreadable-commit"),
        severity: severity(need),
        summary: format!("The commit entry of batch {batch} cannot be read"),
        detail: format!(
            "{problem}. The batch counts as committed; its watermark and, where state files are \
             named by unique ids, its state files are unknown; {before}. {follows}"
        ),
        remedy: match need {
            Need::Restart => format!(
                "Restore commits/{batch} from a backup or from the store's versions. Without one, \
                 removing the file while the query is stopped (keep a copy) makes the engine run \
                 batch {batch} again; a sink that is not idempotent then gets it twice."
            ),
            Need::History => {
                "Nothing to do, unless this batch has to be looked into: then restore \
                              the file from a backup."
                    .to_owned()
            }
        },
        file: Some(Log::Commits.file(batch)),
    }
}

fn unreadable_source_offset(batch: BatchId, source: &str, problem: &FormatError) -> Finding {
    Finding {
        id: FindingId("unreadable-source-offset"),
        severity: Severity::Warning,
        summary: format!("The offset of source {source} in batch {batch} is not JSON"),
        detail: format!(
            "{problem}. Sources write their own offsets, and a source of your own may write other \
             text; if it is not one, the file is damaged and the source will refuse it."
        ),
        remedy: "If the source is one of Spark's, restore the entry from a backup.".to_owned(),
        file: Some(Log::Offsets.file(batch)),
    }
}

fn missing_offsets(batches: BatchRange, need: Need) -> Finding {
    let named = named(batches);
    Finding {
        id: FindingId("missing-offset"),
        severity: severity(need),
        summary: format!("The offset entry of committed {named} is missing"),
        detail: match need {
            Need::Restart => "A start of the query reads the last two offset entries and refuses \
                              to go on without them. What the batch read, and with which confs, is \
                              unknown."
                .to_owned(),
            Need::History => {
                "What was read then, and with which confs, is unknown. The query does \
                              not need it to go on."
                    .to_owned()
            }
        },
        remedy: match need {
            Need::Restart => "Restore the file from a backup or from the store's versions; do not \
                              delete the checkpoint."
                .to_owned(),
            Need::History => {
                "Find out who deletes files here (a clean-up job, a lifecycle rule of the bucket)."
                    .to_owned()
            }
        },
        file: Some(Log::Offsets.file(batches.first)),
    }
}

fn gap(batches: BatchRange, need: Need) -> Finding {
    let named = named(batches);
    Finding {
        id: FindingId("batch-gap"),
        severity: match need {
            Need::Restart => Severity::Warning,
            Need::History => Severity::Info,
        },
        summary: format!("Neither log has {named}"),
        detail: match need {
            Need::Restart => "With asynchronous progress tracking only some batches are logged, \
                              and this is normal. Without it a start of the query reads the last \
                              two offset entries and refuses to go on when one is missing."
                .to_owned(),
            Need::History => "With asynchronous progress tracking only some batches are logged, \
                              and this is normal. Otherwise files were deleted; the query does not \
                              need them to go on."
                .to_owned(),
        },
        remedy: match need {
            Need::Restart => "If the query does not use asynchronous progress tracking, restore \
                              the files from a backup before it has to restart."
                .to_owned(),
            Need::History => "Nothing to do.".to_owned(),
        },
        file: Some(Log::Offsets.file(batches.first)),
    }
}

fn missing_commits(batches: BatchRange) -> Finding {
    Finding {
        id: FindingId("missing-commit"),
        severity: Severity::Info,
        summary: format!("The commit entry of {} is missing", named(batches)),
        detail: "Later batches are committed, so the query is past it. With asynchronous progress \
                 tracking only some batches have a commit; otherwise the file was deleted. State \
                 files named by unique ids cannot be found for such a batch."
            .to_owned(),
        remedy: "Nothing to do.".to_owned(),
        file: Some(Log::Commits.file(batches.first)),
    }
}

fn lost_commits(batches: BatchRange) -> Finding {
    Finding {
        id: FindingId("lost-commits"),
        severity: Severity::Error,
        summary: format!("The commit entry of {} is gone", named(batches)),
        detail: format!(
            "A later batch is planned, which happens only after these are committed, so {} and \
             those after it were deleted. The state shown is that of the last batch whose commit \
             is left; a restart would run later batches again, and what they wrote to the sink \
             comes twice.",
            Log::Commits.file(batches.first)
        ),
        remedy:
            "Do not start the query. Restore the commit entries from a copy or from the store's \
                 versions."
                .to_owned(),
        file: Some(Log::Commits.file(batches.first)),
    }
}

fn pending(batch: BatchId) -> Finding {
    Finding {
        id: FindingId("pending-batch"),
        severity: Severity::Info,
        summary: format!("Batch {batch} is planned and not committed"),
        detail: "The query is running it now, or stopped in the middle of it. The next start of \
                 the query runs exactly this batch again. Until it is committed, a resize is \
                 refused (LAST_BATCH_FAILED)."
            .to_owned(),
        remedy: "If the query is stopped and a resize is planned, let the query finish this batch \
                 first; a run with the trigger AvailableNow ends by itself."
            .to_owned(),
        file: Some(Log::Offsets.file(batch)),
    }
}

fn unfinished_repartition(batch: BatchId, from: u32, to: u32) -> Finding {
    Finding {
        id: FindingId("unfinished-repartition"),
        severity: Severity::Error,
        summary: format!(
            "Batch {batch} is an unfinished repartition from {from} to {to} partitions"
        ),
        detail: format!(
            "Its offset entry sets {to} partitions where the batch before has {from}, and it has \
             no commit. The query is refused at start (STREAMING_UNFINISHED_REPARTITION_DETECTED, \
             on Databricks STREAMING_UNRESUMABLE_CONTROL_BATCH_DETECTED.REPARTITION), and a \
             repartition to any other count is refused too \
             (LAST_BATCH_ABANDONED_REPARTITION). The state of the last committed batch is still \
             spread over {from} partitions."
        ),
        remedy: format!(
            "If it is still running, wait. Otherwise run the repartition to {to} partitions again: \
             it redoes everything. Another count is possible only after that has committed. Do not \
             remove offsets/{batch} alone: snapshots that the attempt has written would be taken \
             for the state later and mix partitions without a word."
        ),
        file: Some(Log::Offsets.file(batch)),
    }
}

fn confs_from_older_entry(wanted: BatchId, used: Option<BatchId>) -> Finding {
    let (detail, severity) = match used {
        Some(used) => (
            format!(
                "The offset entry of batch {wanted} is missing or cannot be read. Partition count \
                 and confs shown are those of batch {used}, the newest readable entry before it; a \
                 repartition in between would not be seen."
            ),
            Severity::Warning,
        ),
        None => (
            format!(
                "The offset entry of batch {wanted} is missing or cannot be read, and so are all \
                 before it. Partition count and confs are unknown."
            ),
            Severity::Error,
        ),
    };
    Finding {
        id: FindingId("confs-from-older-entry"),
        severity,
        summary: format!("Batch {wanted} has no readable offset entry to take the count from"),
        detail,
        remedy: format!("Restore offsets/{wanted} from a backup or from the store's versions."),
        file: Some(Log::Offsets.file(wanted)),
    }
}

fn no_partition_count(batch: BatchId, found: Option<&str>) -> Finding {
    // An entry without the conf is old; one with something else in its place is damaged.
    let (severity, found, remedy) = match found {
        Some(found) => (
            Severity::Error,
            format!("found {found:?}, which is not a positive number"),
            "The entry is damaged or was edited: restore it from a copy.",
        ),
        None => (
            Severity::Warning,
            "found no such conf".to_owned(),
            "Run one batch with a newer engine: it pins the count.",
        ),
    };
    Finding {
        id: FindingId("no-partition-count"),
        severity,
        summary: format!("Batch {batch} pins no partition count"),
        detail: format!(
            "Expected spark.sql.shuffle.partitions among the pinned confs, {found}. The count is \
             unknown; it is not assumed to be 200, nor counted from directories, which stay after \
             a shrinking repartition. Rows per partition cannot be shown."
        ),
        remedy: remedy.to_owned(),
        file: Some(Log::Offsets.file(batch)),
    }
}

fn older_entries_not_read(log: Log, count: u64) -> Finding {
    let dir = log.dir();
    Finding {
        id: FindingId("older-entries-not-read"),
        severity: Severity::Info,
        summary: format!("{count} older entries of {dir}/ are not read"),
        detail: "The log has far more entries than an engine keeps by default (100). The newest \
                 are read; batches before them cannot be asked for."
            .to_owned(),
        remedy: "Check spark.sql.streaming.minBatchesToRetain: every start of the query lists all \
                 of these files."
            .to_owned(),
        file: None,
    }
}

fn strange_names(log: Log, count: u64, example: &str) -> Finding {
    let dir = log.dir();
    Finding {
        id: FindingId("strange-names"),
        severity: Severity::Info,
        summary: format!("Names in {dir}/ that are not log entries: {count}"),
        detail: format!(
            "Expected whole numbers, found for example {example:?}. The engine ignores such names, \
             and so does this reader."
        ),
        remedy: "Nothing to do, if you know who put them there.".to_owned(),
        file: Some(dir.to_owned()),
    }
}

fn severity(need: Need) -> Severity {
    match need {
        Need::Restart => Severity::Error,
        Need::History => Severity::Warning,
    }
}

/// The kind of finding for a file that says nothing: two causes have names of their own.
fn id_for(problem: &Problem, otherwise: &'static str) -> FindingId {
    match problem {
        Problem::Format(FormatError::Empty { .. }) => FindingId("zero-byte-file"),
        Problem::Format(FormatError::UnsupportedVersion { .. }) => FindingId("unsupported-version"),
        _ => FindingId(otherwise),
    }
}

fn last_readable(batch: Option<BatchId>) -> String {
    match batch {
        Some(batch) => format!("the last readable one before it is that of batch {batch}"),
        None => "none before it is readable".to_owned(),
    }
}

/// `batch 5` or `batches 5 to 7`.
fn named(batches: BatchRange) -> String {
    let BatchRange { first, last } = batches;
    if first == last { format!("batch {first}") } else { format!("batches {first} to {last}") }
}

#[cfg(test)]
mod tests;
