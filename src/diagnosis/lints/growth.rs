//! State that nothing removes, and rows that come too late for it.

use super::series::{SPAN, Trend, recent};
use super::{Finding, Severity, Told, Words};
use crate::figures::{count, float, plural, share};
use crate::telemetry::timeline::Batch;
use crate::telemetry::{OperatorProgress, Progress, Rows, SourceProgress, Watermark};
use crate::units::UnixMillis;

/// State that is this much larger than at the beginning of what is looked at grows.
const GROWN: f64 = 1.2;
/// A watermark that did not move for so many batches that had rows is stuck.
const STUCK: usize = 10;
/// Late rows below this part of all are the tail that a watermark is meant to cut.
const TAIL: f64 = 0.001;
/// From this part on they are worth acting on.
const MANY: f64 = 0.01;

/// State that grows and is never removed, for a reason that can be told.
pub(super) fn unbounded(told: &Told<'_>) -> Option<Finding> {
    let batches = recent(told.query, SPAN);
    let told_of: Vec<&Progress> = batches.iter().filter_map(|batch| batch.progress()).collect();
    let operators = told_of.last()?.operators.len();
    let (place, trend) = (0..operators).find_map(|place| {
        let of: Vec<&OperatorProgress> =
            told_of.iter().filter_map(|progress| progress.operators.get(place)).collect();
        Some((place, grows(&of)?))
    })?;
    let cause = cause(&told_of)?;
    let name = told_of.last().and_then(|progress| progress.operators.get(place)?.name.clone());
    let operator =
        format!("operator {place}{}", name.map_or_else(String::new, |n| format!(" {n}")));
    let words = Words {
        summary: format!("the state of {operator} grows without bound: {}", cause.headline),
        detail: format!(
            "Over the last {} of this run it had {}, {}, then {} rows (medians of thirds), and \
             none was removed. {}",
            plural(told_of.len() as u64, "batch", "batches"),
            count(trend.first),
            count(trend.middle),
            count(trend.last),
            cause.detail
        ),
        remedy: cause.remedy,
    };
    Some(words.into_finding("unbounded-state", Severity::Warning))
}

/// How the rows of an operator grow; `None` where they do not, or something is removed.
fn grows(operator: &[&OperatorProgress]) -> Option<Trend> {
    let rows: Vec<u64> = operator
        .iter()
        .filter_map(|progress| match progress.rows {
            Rows::Known(rows) => Some(rows),
            Rows::Untracked | Rows::Unknown => None,
        })
        .collect();
    // Unknown is not none.
    let nothing_removed = operator.iter().all(|progress| progress.removed == Some(0));
    let trend = Trend::of(&rows)?;
    // Keys that are all seen once make a state that stops growing by itself.
    let (early, late) =
        (trend.middle - trend.first.min(trend.middle), trend.last - trend.middle.min(trend.last));
    let goes_on = late.saturating_mul(2) >= early;
    (nothing_removed && trend.rises(GROWN) && goes_on).then_some(trend)
}

struct Cause {
    headline: String,
    detail: String,
    remedy: String,
}

/// Why nothing is removed, where that shows. Progress that is told by a plan has no watermark,
/// which is not to be taken for a query without one.
fn cause(batches: &[&Progress]) -> Option<Cause> {
    let full = batches.iter().all(|progress| progress.told_by == crate::telemetry::Teller::Query);
    if full && batches.iter().all(|progress| progress.watermark == Watermark::None) {
        return Some(Cause {
            headline: "there is no watermark".to_owned(),
            detail: "Without a watermark no key is ever too old to be kept.".to_owned(),
            remedy: "Give the query a watermark (withWatermark) on a column of the grouping or \
                     join, use dropDuplicatesWithinWatermark, or a TTL in transformWithState. \
                     More partitions only spread what grows."
                .to_owned(),
        });
    }
    stuck(batches)
}

fn stuck(batches: &[&Progress]) -> Option<Cause> {
    let with_rows: Vec<&&Progress> =
        batches.iter().filter(|progress| progress.rows_in.is_some_and(|rows| rows > 0)).collect();
    let newest = with_rows.last()?.watermark;
    if newest == Watermark::None {
        return None;
    }
    let same = with_rows.iter().rev().take_while(|progress| progress.watermark == newest).count();
    if same < STUCK {
        return None;
    }
    let during: Vec<&Progress> = with_rows.iter().rev().take(same).rev().map(|one| **one).collect();
    let at = match newest {
        Watermark::At(at) => format!("stands at {}", moment(at)),
        Watermark::NotSet | Watermark::None => "is not set".to_owned(),
    };
    let why = held_back_by(&during).or_else(|| events_stand(&during)).unwrap_or_else(|| {
        "What holds it back is not told: of several sources the slowest one counts \
         (spark.sql.streaming.multipleWatermarkPolicy)."
            .to_owned()
    });
    Some(Cause {
        headline: format!("the watermark {at}"),
        detail: format!("It did not move in the last {same} batches with rows. {why}"),
        remedy: "Find out why that source brings nothing new: an empty topic, a filter before the \
                 watermark, events with old times. Where one source may fall silent, \
                 multipleWatermarkPolicy=max lets the others go on, and rows of that source may \
                 then come too late."
            .to_owned(),
    })
}

/// The sources that brought nothing while others did.
fn held_back_by(batches: &[&Progress]) -> Option<String> {
    let sources = &batches.last()?.sources;
    let silent = |place: usize| {
        batches
            .iter()
            .all(|progress| progress.sources.get(place).is_some_and(|s| s.rows_in == Some(0)))
    };
    let named: Vec<String> = sources
        .iter()
        .enumerate()
        .filter(|(place, _)| silent(*place))
        .map(|(place, source)| name(place, source))
        .collect();
    if named.is_empty() || named.len() == sources.len() {
        return None;
    }
    let (verb, it) = if named.len() == 1 { ("has", "it holds") } else { ("have", "they hold") };
    Some(format!(
        "{} {verb} brought no row meanwhile: {it} the watermark back.",
        named.join(" and ")
    ))
}

fn name(place: usize, source: &SourceProgress) -> String {
    match &source.description {
        Some(description) => format!("Source {place} ({description})"),
        None => format!("Source {place}"),
    }
}

/// Rows come, but with no later event times.
fn events_stand(batches: &[&Progress]) -> Option<String> {
    let latest: Option<Vec<UnixMillis>> =
        batches.iter().map(|progress| progress.event_time.max).collect();
    let latest = latest?;
    let first = *latest.first()?;
    latest.iter().all(|at| *at <= first).then(|| {
        format!(
            "The rows that come have no later event time than {}: the watermark follows the \
             latest event.",
            moment(first)
        )
    })
}

fn moment(at: UnixMillis) -> String {
    at.iso().unwrap_or_else(|| at.to_string())
}

/// Rows that came too late for the watermark.
pub(super) fn late(told: &Told<'_>) -> Option<Finding> {
    let batches = recent(told.query, SPAN);
    let sum = |of: fn(&Batch) -> Option<u64>| -> Option<u64> {
        batches.iter().map(|batch| of(batch)).try_fold(0_u64, |sum, n| Some(sum.saturating_add(n?)))
    };
    let dropped: u64 =
        batches.iter().filter_map(|batch| batch.numbers.dropped).fold(0, u64::saturating_add);
    let with = batches.iter().filter(|batch| batch.numbers.dropped.is_some_and(|n| n > 0)).count();
    // Aggregations drop what is left of rows after a first aggregation: the part is about.
    let part = sum(|batch| batch.numbers.rows_in)
        .filter(|rows| *rows > 0)
        .map(|rows| float(dropped) / float(rows));
    if dropped == 0 || part.is_some_and(|part| part < TAIL) {
        return None;
    }
    let severity =
        if part.is_some_and(|part| part >= MANY) { Severity::Warning } else { Severity::Info };
    let of_all =
        part.map_or_else(String::new, |part| format!(", about {} of those that came", share(part)));
    let lag = batches.last().and_then(|batch| batch.numbers.watermark_lag());
    let lag = lag.map_or_else(String::new, |lag| {
        format!(" The watermark is {} behind the latest event.", crate::figures::span(lag))
    });
    let words = Words {
        summary: format!(
            "{} came too late and were dropped{of_all}",
            plural(dropped, "row", "rows")
        ),
        detail: format!(
            "In {} of the last {} rows were older than the watermark. Their results are not \
             updated, and nothing else tells of them.{lag}",
            with,
            plural(batches.len() as u64, "batch", "batches"),
        ),
        remedy: "If they matter, let the watermark wait longer (the delay of withWatermark): the \
                 state then keeps more. Where one source is behind the other, see which one."
            .to_owned(),
    };
    Some(words.into_finding("late-rows", severity))
}
