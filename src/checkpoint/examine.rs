//! Compares the two logs with each other and with what they should hold. Pure, but for finding
//! out what the checkpoint's own address is.

use super::conf::SHUFFLE_PARTITIONS;
use super::fault::{BatchRange, Fault, Log, Need};
use super::format::excerpt;
use super::load::Checkpoint;
use super::logs::{LogFiles, ranges};
use super::operator::OperatorMetadata;
use crate::report::Status;
use crate::storage::Storage;
use crate::units::BatchId;

/// Everything that is not as in a healthy, idle checkpoint, whichever batch is looked at.
pub(super) fn faults(checkpoint: &Checkpoint) -> Vec<Fault> {
    let mut faults = Vec::new();
    faults.extend(state_of_last_batch(checkpoint));
    faults.extend(metadata(checkpoint));
    faults.extend(log(&checkpoint.offsets, Log::Offsets));
    faults.extend(log(&checkpoint.commits, Log::Commits));
    faults.extend(holes(checkpoint));
    faults.extend(source_offsets(checkpoint));
    faults
}

fn state_of_last_batch(checkpoint: &Checkpoint) -> Option<Fault> {
    if let Some(found) = checkpoint.unfinished_repartition() {
        let (batch, from, to) = (found.batch, found.from, found.to);
        return Some(Fault::UnfinishedRepartition { batch, from, to });
    }
    match checkpoint.status() {
        Status::Pending | Status::NoCommittedBatch => {
            checkpoint.last_planned().map(|batch| Fault::Pending { batch })
        }
        _ => None,
    }
}

fn metadata(checkpoint: &Checkpoint) -> Option<Fault> {
    let logged = checkpoint.last_planned().or(checkpoint.last_committed()).is_some();
    match &checkpoint.query_id {
        Err(problem) => Some(Fault::UnreadableMetadata { problem: problem.clone() }),
        Ok(None) if logged => Some(Fault::MissingMetadata),
        Ok(_) => None,
    }
}

fn log<T>(files: &LogFiles<T>, log: Log) -> Vec<Fault> {
    let unreadable = files.batches().filter_map(|batch| {
        let below = batch.0.checked_sub(1).map(BatchId);
        Some(Fault::UnreadableEntry {
            log,
            batch,
            problem: files.problem(batch)?.clone(),
            readable_before: below.and_then(|below| files.at_or_below(below)).map(|(id, _)| id),
            need: need(log, batch, files.last()),
        })
    });
    let mut faults: Vec<Fault> = unreadable.collect();
    if files.older > 0 {
        faults.push(Fault::OlderEntriesNotRead { log, count: files.older });
    }
    if let Some(example) = &files.strange_example {
        faults.push(Fault::StrangeNames { log, count: files.strange, example: excerpt(example) });
    }
    faults
}

/// Whether a start of the query reads the entry of `batch` when `last` is the log's last one.
fn need(log: Log, batch: BatchId, last: Option<BatchId>) -> Need {
    let Some(last) = last else { return Need::History };
    let read = match log {
        Log::Offsets => batch.0.saturating_add(1) >= last.0,
        Log::Commits => batch >= last,
    };
    if read { Need::Restart } else { Need::History }
}

/// Batches that one of the logs, or both, should have and does not.
///
/// Below the oldest entry of either log nothing is expected: old entries are deleted from the two
/// logs one after the other.
fn holes(checkpoint: &Checkpoint) -> Vec<Fault> {
    let (offsets, commits) = (&checkpoint.offsets, &checkpoint.commits);
    let mut faults = gaps(checkpoint);
    faults.extend(lost_commits(checkpoint));
    let Some(last_commit) = commits.last() else { return faults };
    let from_offsets = offsets.first().unwrap_or(last_commit);
    let from_commits = commits.first().unwrap_or(last_commit);
    let unplanned = commits.batches().filter(|id| *id >= from_offsets && !offsets.has(*id));
    faults.extend(ranges(unplanned).into_iter().map(|batches| Fault::MissingOffsets {
        batches,
        need: need(Log::Offsets, batches.last, offsets.last()),
    }));
    let uncommitted = offsets
        .batches()
        .filter(|id| *id >= from_commits && *id < last_commit && !commits.has(*id));
    faults.extend(ranges(uncommitted).into_iter().map(|batches| Fault::MissingCommits { batches }));
    faults
}

/// Batches above the last commit that must have been committed, since a later one is planned.
fn lost_commits(checkpoint: &Checkpoint) -> Option<Fault> {
    let planned = checkpoint.offsets.last()?;
    let committed = checkpoint.commits.last();
    let above = |id: &BatchId| committed.is_none_or(|last| *id > last) && *id < planned;
    let mut uncommitted = checkpoint.offsets.batches().filter(above);
    let first = uncommitted.next()?;
    let last = uncommitted.next_back().unwrap_or(first);
    Some(Fault::LostCommits { batches: BatchRange { first, last } })
}

/// Batches between the oldest and the newest known that neither log has.
fn gaps(checkpoint: &Checkpoint) -> Vec<Fault> {
    let mut known: Vec<BatchId> =
        checkpoint.offsets.batches().chain(checkpoint.commits.batches()).collect();
    known.sort_unstable();
    known.dedup();
    let pairs = known.iter().zip(known.iter().skip(1));
    let gap = |(before, after): (&BatchId, &BatchId)| {
        let first = BatchId(before.0.saturating_add(1));
        let last = BatchId(after.0.saturating_sub(1));
        let need = need(Log::Offsets, last, checkpoint.offsets.last());
        (first <= last).then_some(Fault::Gap { batches: BatchRange { first, last }, need })
    };
    pairs.filter_map(gap).collect()
}

fn source_offsets(checkpoint: &Checkpoint) -> Vec<Fault> {
    let Some((batch, entry)) = checkpoint.offsets.readable().next_back() else {
        return Vec::new();
    };
    let problem = |source: &super::SourceOffset| {
        let problem = source.problem.clone()?;
        Some(Fault::UnreadableSourceOffset { batch, source: excerpt(&source.id), problem })
    };
    entry.offsets.iter().filter_map(problem).collect()
}

/// Where the confs of `batch` come from, and whether they pin a count.
pub(super) fn confs(checkpoint: &Checkpoint, batch: BatchId) -> Vec<Fault> {
    let mut faults = Vec::new();
    let entry = checkpoint.entry_for(batch);
    let used = entry.map(|(used, _)| used);
    if used != Some(batch) {
        faults.push(Fault::ConfsFromOlderEntry { wanted: batch, used });
    }
    if let Some((batch, entry)) = entry
        && entry.partitions().is_none()
        && !checkpoint.operators.is_empty()
    {
        let found = entry.confs().and_then(|confs| confs.get(SHUFFLE_PARTITIONS)).map(excerpt);
        faults.push(Fault::NoPartitionCount { batch, found });
    }
    faults
}

/// The fault when operator metadata states another count than the one in force.
pub(super) fn other_count(
    metadata: &OperatorMetadata,
    file: &str,
    in_force: Option<u32>,
) -> Option<Fault> {
    let in_force = in_force?;
    let store = metadata.stores.iter().find(|store| store.partitions != in_force)?;
    Some(Fault::OtherOperatorCount {
        file: file.to_owned(),
        version: metadata.version,
        stated: store.partitions,
        in_force,
    })
}

/// The fault when operator metadata names schema files of another place than `storage` serves.
pub(super) fn elsewhere(
    metadata: &OperatorMetadata,
    file: &str,
    storage: &Storage,
) -> Option<Fault> {
    let written_at = metadata.written_at.as_deref()?;
    // The same directory may be reached through symbolic links.
    let real = storage.local_path("").and_then(|root| root.canonicalize().ok());
    let real = real.map(|root| root.to_string_lossy().into_owned());
    let here = [Some(storage.address()), real.as_deref()];
    if here.into_iter().flatten().any(|here| place(here) == place(written_at)) {
        return None;
    }
    Some(Fault::SchemaFilesElsewhere { file: file.to_owned(), written_at: excerpt(written_at) })
}

/// An address without what differs between two ways to write it: `file:` before a path, `s3:` or
/// `s3a:`, `dbfs:` or its mount, a slash at the end.
fn place(address: &str) -> String {
    let rest = match address.split_once(":/") {
        Some(("file", rest)) => format!("/{}", rest.trim_start_matches('/')),
        Some(("dbfs", rest)) => match rest.trim_start_matches('/') {
            volume if volume.starts_with("Volumes/") => format!("/{volume}"),
            path => format!("/dbfs/{path}"),
        },
        Some((_, rest)) => format!("cloud:{rest}"),
        None => address.to_owned(),
    };
    rest.trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn one_place_has_several_addresses() {
        for (one, other) in [
            ("/a/b", "file:/a/b"),
            ("/a/b/", "file:///a/b"),
            ("s3://bucket/ck", "s3a://bucket/ck/"),
            ("/dbfs/mnt/ck", "dbfs:/mnt/ck"),
            ("/Volumes/c/s/v/ck", "dbfs:/Volumes/c/s/v/ck"),
        ] {
            assert_eq!(place(one), place(other));
        }
        assert_ne!(place("/a/b"), place("/a/c"));
        assert_ne!(place("/bucket/ck"), place("s3://bucket/ck"));
    }
}
