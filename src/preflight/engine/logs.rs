//! Steps on the two logs, up to the comparison of the commit's format with the session's.

use super::{Course, EngineError, Left, Order, Step, Stop, StopKind, course, new_batch};
use crate::preflight::facts::{Entry, Facts, LogFacts, Pinned, Presence, Trouble};
use crate::preflight::request::{CHECKPOINT_FORMAT, Request, Sinks};
use crate::report::CheckStatus;
use crate::units::BatchId;

/// The newest format of offset entries that the engine reads.
const NEWEST_OFFSETS: u32 = 2;
/// … and of commit entries.
const NEWEST_COMMITS: u32 = 3;

/// All steps on the logs, in the engine's order.
pub fn log_steps(facts: &Facts, request: &Request) -> Vec<Step> {
    let steps = [parameters, committed, last_batch, entry, count, format];
    let of = |(number, step): (u32, fn(&Facts, &Request) -> Step)| {
        let mut step = step(facts, request);
        for stop in &mut step.stops {
            stop.order.step = number;
        }
        step
    };
    (0..).zip(steps).map(of).collect()
}

fn stop(error: EngineError, left: Left, kind: StopKind) -> Stop {
    Stop { order: Order::default(), error: Some(error), left, kind }
}

/// `STATE_REPARTITION_INVALID_CHECKPOINT.<subclass>` with the location as it was given.
fn invalid<const N: usize>(
    facts: &Facts,
    subclass: &str,
    parameters: [(&str, String); N],
) -> EngineError {
    let class = format!("STATE_REPARTITION_INVALID_CHECKPOINT.{subclass}");
    let mut error = EngineError::new(&class, parameters);
    error.parameters.insert("checkpointLocation".to_owned(), facts.location.given.clone());
    error
}

fn parameters(_: &Facts, request: &Request) -> Step {
    let to = request.to;
    if to > 0 {
        return Step::passed("parameters", "The count is one", format!("{to} is above 0"));
    }
    let class = "STATE_REPARTITION_INVALID_PARAMETER.IS_NOT_GREATER_THAN_ZERO";
    let error = EngineError::new(class, [("parameter", "numPartitions".to_owned())]);
    Step::refused(
        "parameters",
        "The count is none",
        format!("{to} is not above 0"),
        "Ask for 1 or more partitions.",
        stop(error, Left::Nothing, StopKind::NoCount),
    )
}

fn committed(facts: &Facts, _: &Request) -> Step {
    const ID: &str = "committed-batch";
    let logs = &facts.logs;
    let none = || invalid(facts, "NO_COMMITTED_BATCH", []);
    match (&facts.presence, logs.last_commit, logs.last_offset) {
        (Presence::Nothing | Presence::NoCheckpoint(_), _, _) => {
            let found = match &facts.presence {
                Presence::NoCheckpoint(found) => found.clone(),
                _ => "there is no such directory".to_owned(),
            };
            Step::refused(
                ID,
                "There is no checkpoint at this place",
                format!(
                    "{}: {found}; the engine would make a directory commits there",
                    given(facts)
                ),
                "Name the directory that the query has as its checkpointLocation.",
                stop(none(), Left::Directory, StopKind::NoCheckpoint),
            )
        }
        (Presence::Checkpoint, None, _) => Step::refused(
            ID,
            "No batch has been committed",
            match logs.last_offset {
                Some(batch) => format!("batch {batch} is planned, and commits/ has no entry"),
                None => "commits/ and offsets/ have no entry".to_owned(),
            },
            "Run the query until it has committed a batch; there is nothing to redistribute yet.",
            stop(none(), Left::Nothing, StopKind::NoBatch),
        ),
        (Presence::Checkpoint, Some(batch), None) => Step::refused(
            ID,
            "The offset log has no entry",
            format!("commits/{batch} is there, and offsets/ has no entry"),
            "Restore offsets/ from a copy of the checkpoint; without it the query cannot go on \
             either.",
            stop(invalid(facts, "NO_BATCH_FOUND", []), Left::Nothing, StopKind::EntryDamaged),
        ),
        (Presence::Checkpoint, Some(batch), Some(_)) => Step::passed(
            ID,
            "A batch has been committed",
            format!("batch {batch} is the last with a commit"),
        ),
    }
}

fn given(facts: &Facts) -> &str {
    &facts.location.given
}

/// The counts before and after, if `batch` is a repartition: its entry and the one before it pin
/// different ones.
pub(in crate::preflight) fn repartition(logs: &LogFacts, batch: BatchId) -> Option<(i64, i64)> {
    let before = BatchId(batch.0.checked_sub(1)?);
    let count = |batch| match logs.offset(batch).read()?.partitions {
        Pinned::Count(count) => Some(count),
        Pinned::Absent | Pinned::NoNumber(_) => None,
    };
    let (from, to) = (count(before)?, count(batch)?);
    (from != to).then_some((from, to))
}

fn last_batch(facts: &Facts, request: &Request) -> Step {
    const ID: &str = "last-batch";
    let logs = &facts.logs;
    let (Some(last), Some(committed)) = (logs.last_offset, logs.last_commit) else {
        return Step::of(ID, CheckStatus::Unknown, "There is no last batch", String::new(), "");
    };
    if last == committed {
        let evidence = format!("offsets/{last} and commits/{last} are the last of both logs");
        return Step::passed(ID, "The last batch is committed", evidence);
    }
    // Whether it is a repartition is told from its entry and the one before it.
    if last.0 > 0 {
        for batch in [last, BatchId(last.0 - 1)] {
            let stopped = count_of(facts, batch, Purpose::TellRepartition, ID, Left::Nothing);
            if let Some(stopped) = stopped {
                return stopped;
            }
        }
    }
    match repartition(logs, last) {
        Some((from, to)) if to == request.to => Step::of(
            ID,
            CheckStatus::Warning,
            "An unfinished resize to this count would go on",
            format!("offsets/{last} changes {from} to {to} partitions and has no commit"),
            "The resize is done again from its start; nothing is to be repaired first.",
        ),
        Some((from, to)) => {
            let error = invalid(
                facts,
                "LAST_BATCH_ABANDONED_REPARTITION",
                [
                    ("lastBatchId", last.to_string()),
                    ("lastBatchShufflePartitions", to.to_string()),
                    ("numPartitions", request.to.to_string()),
                ],
            );
            Step::refused(
                ID,
                "A resize to another count is unfinished",
                format!("offsets/{last} changes {from} to {to} partitions and has no commit"),
                &format!(
                    "Resize to {to} first; another count is legal only after it has committed."
                ),
                stop(error, Left::Nothing, StopKind::FinishResize(to)),
            )
        }
        None => pending(facts, request, last, committed),
    }
}

/// The last batch is an ordinary one without a commit.
fn pending(facts: &Facts, request: &Request, last: BatchId, committed: BatchId) -> Step {
    const ID: &str = "last-batch";
    let evidence = if last > committed {
        format!("offsets/{last} has no commit; the last commit is commits/{committed}")
    } else {
        format!("the last offset entry is offsets/{last}, below commits/{committed}")
    };
    match request.sinks {
        Sinks::ExactlyOnce => {
            let remedy = if last > committed {
                "Let the query finish this batch (an AvailableNow run ends by itself), then \
                 resize. enforceExactlyOnceSink=false would skip it: do not use it to force a \
                 resize."
            } else {
                "Restore the missing offset entry from a copy of the checkpoint; the query cannot \
                 go on without it either."
            };
            let error = invalid(facts, "LAST_BATCH_FAILED", [("lastBatchId", last.to_string())]);
            let kind =
                if last > committed { StopKind::FinishBatch(last) } else { StopKind::EntryDamaged };
            let summary = "The last batch is not committed";
            Step::refused(ID, summary, evidence, remedy, stop(error, Left::Nothing, kind))
        }
        Sinks::SkipFailedBatches if last < committed => {
            let words =
                "assertion failed: Last batch ID must be greater than last committed batch ID";
            Step::refused(
                ID,
                "The offset log ends before the commit log",
                evidence,
                "Restore the missing offset entry from a copy of the checkpoint.",
                stop(EngineError::plain(words), Left::Nothing, StopKind::EntryDamaged),
            )
        }
        Sinks::SkipFailedBatches if !facts.logs.uncommitted_input => Step::of(
            ID,
            CheckStatus::Warning,
            "A batch without input would be marked as committed",
            format!("{evidence}; its offsets are those of the last committed batch"),
            "Nothing is lost: it read nothing. Better let the query finish it.",
        ),
        Sinks::SkipFailedBatches => {
            let stop = Stop {
                order: Order::default(),
                error: None,
                left: Left::SkippedBatches(last),
                kind: StopKind::Skipped,
            };
            Step::refused(
                ID,
                "A batch that failed would be marked as committed",
                evidence,
                "Let the query finish this batch instead. Skipped, its input is read again under \
                 another batch id, which an exactly-once sink takes for new; with a file source \
                 the next start fails, since the new entry's offset lies behind the skipped one's.",
                stop,
            )
        }
    }
}

/// Why an entry is read: what is missing has a class of its own for one purpose only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// To copy it for the resize.
    Copy,
    /// To tell whether the last batch is a repartition.
    TellRepartition,
}

/// The step that a batch's offset entry stops, if the engine cannot tell its count.
fn count_of(
    facts: &Facts,
    batch: BatchId,
    purpose: Purpose,
    id: &'static str,
    left: Left,
) -> Option<Step> {
    let file = format!("offsets/{batch}");
    let restore = "Restore the entry from a copy of the checkpoint; the query cannot go on \
                   without it either.";
    let found = match facts.logs.offset(batch) {
        Entry::Absent => {
            let error = match purpose {
                Purpose::Copy => {
                    invalid(facts, "OFFSET_SEQ_NOT_FOUND", [("batchId", batch.to_string())])
                }
                Purpose::TellRepartition => EngineError::plain(&format!(
                    "requirement failed: batch {batch} not found in offset log"
                )),
            };
            return Some(Step::refused(
                id,
                "An offset entry is gone",
                format!("expected {file}, found nothing"),
                "Let the query run a few batches, which write new entries, and keep \
                 spark.sql.streaming.minBatchesToRetain at 2 or more. An entry that was deleted \
                 by hand can be restored from a copy of the checkpoint.",
                stop(error, left, StopKind::EntryGone),
            ));
        }
        Entry::Trouble(trouble) => {
            let error = log_error(trouble, NEWEST_OFFSETS, "offset log entry");
            return Some(Step::refused(
                id,
                "An offset entry cannot be read",
                format!("{file}: {trouble}"),
                restore,
                stop(error, left, StopKind::EntryDamaged),
            ));
        }
        Entry::Read(found) => found,
    };
    if !found.metadata {
        let version = ("version", found.version.to_string());
        let error = match purpose {
            Purpose::Copy => {
                let parameters = [version, ("batchId", batch.to_string())];
                invalid(facts, "MISSING_OFFSET_SEQ_METADATA", parameters)
            }
            Purpose::TellRepartition => EngineError::plain(&format!(
                "requirement failed: metadata of batch {batch} not found"
            )),
        };
        return Some(Step::refused(
            id,
            "An offset entry has no metadata",
            format!(
                "line 2 of {file} is empty: it was written by something older than Spark 4.0, \
                     or in continuous mode"
            ),
            "Run the query once on Spark 4.0 or later; its next batch writes the metadata.",
            stop(error, left, StopKind::EntryGone),
        ));
    }
    let words = match &found.partitions {
        Pinned::Count(_) => return None,
        // Without a count it is taken for no repartition.
        Pinned::Absent if purpose == Purpose::TellRepartition => return None,
        Pinned::Absent => "None.get".to_owned(),
        Pinned::NoNumber(text) => format!("For input string: \"{text}\""),
    };
    Some(Step::refused(
        id,
        "An offset entry pins no partition count",
        format!("expected spark.sql.shuffle.partitions in {file}"),
        restore,
        stop(EngineError::plain(&words), left, StopKind::EntryDamaged),
    ))
}

/// The error of a file in a format that is newer than the engine reads.
pub(super) fn too_new(found: u32, newest: u32) -> EngineError {
    EngineError::new(
        "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION",
        [("version", found.to_string()), ("maxSupportedVersion", newest.to_string())],
    )
}

/// The error of a log entry that cannot be read.
fn log_error(trouble: &Trouble, newest: u32, what: &str) -> EngineError {
    match trouble {
        Trouble::Version(found) => too_new(*found, newest),
        Trouble::Content(reason) => EngineError::plain(&format!("an unreadable {what}: {reason}")),
    }
}

fn entry(facts: &Facts, request: &Request) -> Step {
    const ID: &str = "offset-entry";
    let Some(committed) = facts.logs.last_commit else {
        return Step::of(ID, CheckStatus::Unknown, "No batch is committed", String::new(), "");
    };
    let skipped = match course(&facts.logs, request) {
        Course::Resume(batch) => {
            let evidence = format!("offsets/{batch} is there already and is used as it is");
            return Step::passed(ID, "The resize has its offset entry", evidence);
        }
        Course::New { skipped } => skipped,
    };
    let left = skipped.map_or(Left::Nothing, Left::SkippedBatches);
    count_of(facts, committed, Purpose::Copy, ID, left).unwrap_or_else(|| {
        let evidence = format!("offsets/{committed} is readable and pins its confs");
        Step::passed(ID, "The offset entry of the last committed batch is there", evidence)
    })
}

fn count(facts: &Facts, request: &Request) -> Step {
    const ID: &str = "count";
    let (Some(committed), Course::New { skipped }) =
        (facts.logs.last_commit, course(&facts.logs, request))
    else {
        return Step::passed(ID, "The count is a change", String::new());
    };
    let pinned = facts.logs.offset(committed).read().map(|entry| &entry.partitions);
    match pinned {
        Some(Pinned::Count(count)) if *count == request.to => {
            let parameters =
                [("batchId", committed.to_string()), ("numPartitions", count.to_string())];
            let error = invalid(facts, "SHUFFLE_PARTITIONS_ALREADY_MATCH", parameters);
            let left = skipped.map_or(Left::Nothing, Left::SkippedBatches);
            let evidence = format!("offsets/{committed} pins {count}");
            let mut step = Step::of(
                ID,
                CheckStatus::Warning,
                "The count is in force already",
                evidence,
                "Nothing is to be done; nothing would be damaged.",
            );
            step.stops.push(stop(error, left, StopKind::SameCount));
            step
        }
        Some(Pinned::Count(count)) => Step::passed(
            ID,
            "The count is a change",
            format!("offsets/{committed} pins {count}, {} is asked for", request.to),
        ),
        _ => Step::of(
            ID,
            CheckStatus::Unknown,
            "The count in force is not known",
            String::new(),
            "A readable offset entry of the last committed batch tells it.",
        ),
    }
}

fn format(facts: &Facts, request: &Request) -> Step {
    const ID: &str = "checkpoint-format";
    let logs = &facts.logs;
    let (Some(committed), Some(batch)) = (logs.last_commit, new_batch(facts, request)) else {
        return Step::of(ID, CheckStatus::Unknown, "No batch is committed", String::new(), "");
    };
    let left = Left::OffsetEntry(batch);
    let session = request.session.checkpoint_format();
    match &logs.commit {
        Entry::Read(version) if *version == session => Step::passed(
            ID,
            "The session has the checkpoint's format",
            format!("commits/{committed} has format {version}, and so has the session"),
        ),
        Entry::Read(version) => {
            let class =
                "STATE_REWRITER_INVALID_CHECKPOINT.STATE_CHECKPOINT_FORMAT_VERSION_MISMATCH";
            let error = EngineError::new(
                class,
                [
                    ("checkpointLocation", facts.location.resolved.clone()),
                    ("expectedVersion", version.to_string()),
                    ("actualVersion", session.to_string()),
                    ("sqlConfKey", CHECKPOINT_FORMAT.to_owned()),
                ],
            );
            Step::refused(
                ID,
                "The session has another format than the checkpoint",
                format!(
                    "commits/{committed} has format {version}, the session has {session}; the \
                     engine notices only after it has written offsets/{batch}"
                ),
                &format!(
                    "Set {CHECKPOINT_FORMAT}={version} in the session of the resize. A start of \
                     the query takes it from the commit log, a resize does not."
                ),
                stop(error, left, StopKind::Format(*version)),
            )
        }
        Entry::Trouble(trouble) => Step::refused(
            ID,
            "The last commit entry cannot be read",
            format!("commits/{committed}: {trouble}"),
            "Restore the entry from a copy of the checkpoint before anything else.",
            stop(
                log_error(trouble, NEWEST_COMMITS, "commit log entry"),
                left,
                StopKind::EntryDamaged,
            ),
        ),
        Entry::Absent => {
            Step::of(ID, CheckStatus::Unknown, "No batch is committed", String::new(), "")
        }
    }
}
