//! Whether the query keeps up: batch time against the trigger interval, and what piles up before
//! it.

use super::series::{ENOUGH, SPAN, Trend, median, recent};
use super::{Finding, Severity, Told, Words};
use crate::analysis::times::Cadence;
use crate::figures::{bytes, count, plural, span};
use crate::telemetry::timeline::Batch;
use crate::units::Bytes;

/// Batches that get this much longer are getting longer.
const LONGER: f64 = 1.25;
/// Batches at the beginning of a run from which its trigger interval is told.
const BEGINNING: usize = 20;
/// A backlog that has doubled is growing, not waving.
const DOUBLED: f64 = 2.0;

/// Batches take longer than the trigger interval, and ever longer.
///
/// No source tells the interval. It shows as the distance of batches as long as they are shorter
/// than it, which a run that is too slow only now was at its beginning.
pub(super) fn slow_batches(told: &Told<'_>) -> Option<Finding> {
    let run = told.query.current()?;
    let begun = |batch: &Batch| Some((batch.numbers.at?.0, batch.numbers.took?));
    let beginning: Vec<(i64, u64)> = run.reported().filter_map(begun).take(BEGINNING).collect();
    let Cadence::About(interval) = Cadence::of(&beginning) else { return None };
    let recent = recent(told.query, SPAN);
    let took: Vec<u64> = recent.iter().filter_map(|batch| batch.numbers.took).collect();
    let trend = Trend::of(&took)?;
    if trend.last <= interval || !trend.rises(LONGER) {
        return None;
    }
    let words = Words {
        summary: format!(
            "batches take {}, longer than the {} between triggers, and it rises",
            span(trend.last),
            span(interval)
        ),
        detail: format!(
            "Of the last {} of this run the first third took {}, the middle {}, the last {} \
             (medians). When the run began, a batch began about every {}. A batch that takes \
             longer than that delays the next one.",
            plural(took.len() as u64, "batch", "batches"),
            span(trend.first),
            span(trend.middle),
            span(trend.last),
            span(interval)
        ),
        remedy: "Look at what grows with it: rows that come in and the backlog (screen batches), \
                 the state, and whether one partition's task is the slow one. Limit what a batch \
                 takes in (maxOffsetsPerTrigger, maxFilesPerTrigger) while the cause is sought."
            .to_owned(),
    };
    Some(words.into_finding("slow-batches", Severity::Warning))
}

/// How a source says how far it is behind.
struct Backlog {
    values: Vec<u64>,
    word: fn(u64) -> String,
    /// Whether a value counts rows, which can be held against those of a batch.
    is_rows: bool,
}

/// What is not read yet grows.
pub(super) fn backlog(told: &Told<'_>) -> Option<Finding> {
    let batches = recent(told.query, SPAN);
    let of = |value: fn(&Batch) -> Option<u64>| -> Vec<u64> {
        batches.iter().filter_map(|batch| value(batch)).collect()
    };
    let offsets = Backlog {
        values: of(|batch| batch.numbers.behind.offsets),
        word: |offsets| plural(offsets, "offset", "offsets"),
        is_rows: true,
    };
    let files = Backlog {
        values: of(|batch| batch.numbers.behind.files),
        word: |files| plural(files, "file", "files"),
        is_rows: false,
    };
    let size = Backlog {
        values: of(|batch| batch.numbers.behind.bytes),
        word: |size| bytes(Bytes(size)),
        is_rows: false,
    };
    let backlog = [offsets, files, size].into_iter().find(|known| known.values.len() >= ENOUGH)?;
    let trend = Trend::of(&backlog.values)?;
    let grown = trend.last.saturating_sub(trend.first);
    // Less than one batch takes in is what arrives between two batches.
    let batch = if backlog.is_rows { median(&of(|batch| batch.numbers.rows_in))? } else { 0 };
    if !trend.rises(DOUBLED) || grown <= batch {
        return None;
    }
    let rate = |value: fn(&Batch) -> Option<f64>| {
        let values: Vec<u64> =
            batches.iter().filter_map(|batch| value(batch).map(crate::figures::whole)).collect();
        median(&values).map(count)
    };
    let rates = rate(|batch| batch.numbers.input_rate)
        .zip(rate(|batch| batch.numbers.processed_rate))
        .map(|(input, done)| format!(" {input} rows a second come in, {done} are worked off."));
    let words = Words {
        summary: format!(
            "the backlog grows: {} behind, {} before",
            (backlog.word)(trend.last),
            (backlog.word)(trend.first)
        ),
        detail: format!(
            "Over the last {} of this run the sources were {}, {}, then {} behind (medians of \
             thirds).{}",
            plural(backlog.values.len() as u64, "batch", "batches"),
            (backlog.word)(trend.first),
            (backlog.word)(trend.middle),
            (backlog.word)(trend.last),
            rates.unwrap_or_default()
        ),
        remedy: "If the limit of a batch (maxOffsetsPerTrigger) is what holds it back, raise it. \
                 If batches fill their interval, the query needs more cores or a faster slowest \
                 task: see which partition that is before changing the count."
            .to_owned(),
    };
    Some(words.into_finding("backlog-growing", Severity::Warning))
}
