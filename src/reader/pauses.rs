//! The repartitions that a checkpoint still shows: when, how large, how long, and what batches
//! were like before and after.
//!
//! A repartition's pause is the time from its offset entry to its commit entry; the outage is the
//! time between the commits of the ordinary batches around it. Both are times of files: an
//! archive or a copy without them gives none.

use super::checkpoint::CheckpointReader;
use super::opened::Opened;
use super::session::Wanted;
use super::{Depth, Observation, Observe, ReadError, Request, writes};
use crate::analysis::pauses::{Around, Pause, TimeSource, Timed};
use crate::checkpoint::Checkpoint;
use crate::figures::float;
use crate::report::{PausesReport, StateSize};
use crate::task::{Cancel, Progress};
use crate::units::{BatchId, Bytes, UnixMillis};

/// Ordinary batches that are looked at on each side.
const AROUND: usize = 10;

/// Reads what the checkpoint shows of its repartitions.
pub(super) fn of(
    reader: &CheckpointReader,
    cancel: &Cancel,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<PausesReport, ReadError> {
    let checkpoint = reader.load(cancel)?;
    let batches: Vec<BatchId> =
        checkpoint.planned_batches().filter(|batch| is_repartition(&checkpoint, *batch)).collect();
    let total = batches.len() as u64 + 1;
    let tell = |done: u64| progress(Progress { done, total, ..Progress::default() });
    let now = seen(reader, None, sizing(reader), cancel)?;
    let mut pauses = Vec::new();
    for batch in batches {
        tell(pauses.len() as u64 + 1);
        pauses.push(pause(reader, &checkpoint, batch, cancel)?);
    }
    tell(total);
    Ok(PausesReport::new(
        reader.name().to_owned(),
        checkpoint.query_id().map(str::to_owned),
        StateSize {
            rows: now.as_ref().and_then(rows),
            bytes: now.as_ref().map(bytes),
            partitions: now.as_ref().and_then(|seen| seen.inspect.partitions),
        },
        pauses,
    ))
}

fn pause(
    reader: &CheckpointReader,
    checkpoint: &Checkpoint,
    batch: BatchId,
    cancel: &Cancel,
) -> Result<Pause, ReadError> {
    let before = batch.0.checked_sub(1).map(BatchId);
    let moved = if checkpoint.is_committed(batch) {
        seen(reader, Some(batch), sizing(reader), cancel)?
    } else {
        // What is to be moved is what there was before.
        seen(reader, before, sizing(reader), cancel)?
    };
    let planned = checkpoint.planned_at(batch);
    let committed = checkpoint.committed_at(batch);
    Ok(Pause {
        at: told(planned),
        from: before.and_then(|before| count(checkpoint, before)),
        to: count(checkpoint, batch),
        finished: checkpoint.is_committed(batch),
        rows: moved.as_ref().and_then(rows),
        bytes: moved.as_ref().map(bytes),
        pause: between(planned, committed),
        outage: outage(checkpoint, batch),
        before: around(reader, checkpoint, &ordinary_before(checkpoint, batch), cancel)?,
        after: around(reader, checkpoint, &ordinary_after(checkpoint, batch), cancel)?,
        ..Pause::of(batch)
    })
}

fn is_repartition(checkpoint: &Checkpoint, batch: BatchId) -> bool {
    let before = batch.0.checked_sub(1).and_then(|before| count(checkpoint, BatchId(before)));
    before.zip(count(checkpoint, batch)).is_some_and(|(from, to)| from != to)
}

/// The count in a batch's own offset entry.
fn count(checkpoint: &Checkpoint, batch: BatchId) -> Option<u32> {
    checkpoint.offset(batch)?.partitions()
}

/// A file's time, unless it is the epoch itself: archives keep none.
fn told(time: Option<UnixMillis>) -> Option<UnixMillis> {
    time.filter(|time| *time > UnixMillis(0))
}

fn between(from: Option<UnixMillis>, to: Option<UnixMillis>) -> Option<Timed> {
    let (from, to) = (told(from)?, told(to)?);
    // Of a copied checkpoint the times are those of copying, in any order.
    (to > from).then(|| Timed { millis: from.until(to), source: TimeSource::Checkpoint })
}

/// From the last commit of an ordinary batch before to the first after.
fn outage(checkpoint: &Checkpoint, batch: BatchId) -> Option<Timed> {
    let last = ordinary_before(checkpoint, batch).last().copied()?;
    let first = ordinary_after(checkpoint, batch).first().copied()?;
    between(checkpoint.committed_at(last), checkpoint.committed_at(first))
}

/// The ordinary batches right before, oldest first, back to the repartition before.
fn ordinary_before(checkpoint: &Checkpoint, batch: BatchId) -> Vec<BatchId> {
    let earlier = checkpoint.committed_batches().rev().filter(|seen| *seen < batch);
    let mut batches: Vec<BatchId> =
        earlier.take_while(|seen| !is_repartition(checkpoint, *seen)).take(AROUND).collect();
    batches.reverse();
    batches
}

/// The ordinary batches right after, up to the next repartition.
fn ordinary_after(checkpoint: &Checkpoint, batch: BatchId) -> Vec<BatchId> {
    let later = checkpoint.committed_batches().filter(|seen| *seen > batch);
    later.take_while(|seen| !is_repartition(checkpoint, *seen)).take(AROUND).collect()
}

fn around(
    reader: &CheckpointReader,
    checkpoint: &Checkpoint,
    batches: &[BatchId],
    cancel: &Cancel,
) -> Result<Around, ReadError> {
    let Some((first, last)) = batches.first().zip(batches.last()) else {
        return Ok(Around::default());
    };
    let times: Vec<u64> = batches
        .iter()
        .filter_map(|batch| between(checkpoint.planned_at(*batch), checkpoint.committed_at(*batch)))
        .map(|timed| timed.millis)
        .collect();
    let spread = seen(reader, Some(*last), Depth::Snapshot, cancel)?;
    let all = Wanted { operator: None, store: None };
    let opened = Opened::new(&reader.storage, checkpoint.clone(), Some(*last), all);
    // A batch whose files are gone is no batch that wrote none.
    let files: Vec<u64> = opened.map_or_else(
        |_| Vec::new(),
        |opened| {
            let writes = writes::of(&opened).into_iter();
            let these = writes.filter(|write| (*first..=*last).contains(&write.batch));
            these.map(|write| write.files).filter(|files| *files > 0).collect()
        },
    );
    Ok(Around {
        batches: u32::try_from(batches.len()).unwrap_or(u32::MAX),
        batch_ms: mean(&times),
        batch_ms_source: (!times.is_empty()).then_some(TimeSource::Checkpoint),
        max_over_mean: spread.as_ref().and_then(max_over_mean),
        files_per_batch: mean(&files),
    })
}

fn mean(values: &[u64]) -> Option<f64> {
    let sum = values.iter().fold(0_u64, |sum, value| sum.saturating_add(*value));
    (!values.is_empty()).then(|| float(sum) / float(values.len() as u64))
}

/// How rows are counted. After a repartition the snapshots' own counts have internal families in
/// them, so that exact ones are better; those of a remote checkpoint would fetch all of it.
fn sizing(reader: &CheckpointReader) -> Depth {
    if reader.storage.is_local() { Depth::Exact } else { Depth::Snapshot }
}

/// The state as it was after a batch; `None` when the files do not reach that far.
fn seen(
    reader: &CheckpointReader,
    batch: Option<BatchId>,
    depth: Depth,
    cancel: &Cancel,
) -> Result<Option<Observation>, ReadError> {
    let request = Request { batch, depth, operator: None, store: None };
    match reader.observe(&request, cancel, &|_| {}) {
        Ok(seen) => Ok(Some(seen)),
        Err(cancelled @ ReadError::Cancelled(_)) => Err(cancelled),
        Err(_) => Ok(None),
    }
}

/// Keys in all stores; `None` when those of any are unknown.
fn rows(seen: &Observation) -> Option<u64> {
    let stores = seen.partitions.operators.iter().flat_map(|operator| &operator.stores);
    stores.map(|store| store.total.rows).try_fold(0_u64, |sum, rows| sum.checked_add(rows?))
}

fn bytes(seen: &Observation) -> Bytes {
    let stores = seen.partitions.operators.iter().flat_map(|operator| &operator.stores);
    stores.map(|store| store.total.bytes).sum()
}

fn max_over_mean(seen: &Observation) -> Option<f64> {
    let stores = seen.partitions.operators.iter().flat_map(|operator| &operator.stores);
    let ratios = stores.filter_map(|store| store.skew.rows.as_ref()?.max_over_mean);
    ratios.max_by(f64::total_cmp)
}
