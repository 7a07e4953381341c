//! How runs end, and whether two of them write at once.

use super::{Finding, Severity, Told, Words};
use crate::figures::plural;
use crate::telemetry::timeline::{Activity, Run};
use crate::units::{BatchId, UnixMillis};

/// What the exception of a query says that found another one on its checkpoint: the class, and the
/// words from before there was one.
const CONCURRENT: [&str; 2] = ["CONCURRENT_STREAM_LOG_UPDATE", "Multiple streaming jobs detected"];

/// The query ended with an exception.
pub(super) fn failed(told: &Told<'_>) -> Option<Finding> {
    let Activity::Failed(ended) = told.query.activity() else { return None };
    let after = told.query.newest().map(|place| format!(" after batch {}", place.batch));
    let class = ended.class.as_deref();
    let line = ended.headline();
    let words = Words {
        summary: format!(
            "the query failed{}: {}",
            after.unwrap_or_default(),
            class.or(line).unwrap_or("no reason is told")
        ),
        detail: format!(
            "Its last run ended with an exception. {}",
            line.unwrap_or("Its text is not told.")
        ),
        remedy: "The innermost error class is the cause; those around it (STREAM_FAILED) only \
                 carry it. Before a restart, see that no other run is on the checkpoint."
            .to_owned(),
    };
    Some(words.into_finding("query-failed", Severity::Error))
}

/// Two runs commit to the same checkpoint.
pub(super) fn two_writers(told: &Told<'_>) -> Option<Finding> {
    let evidence = overlap(told).or_else(|| refused(told))?;
    let words = Words {
        summary: "two runs are on this checkpoint at once".to_owned(),
        detail: format!(
            "{evidence} Two drivers on one checkpoint overwrite each other's batches: results are \
             lost or doubled, and the state may mix. A copied checkpoint keeps the query id, so a \
             run on a copy that the same sources tell of looks the same."
        ),
        remedy: "Stop both. Find out which one is to live (a job that was started again while the \
                 old driver went on, a second deployment), wait until offsets/ and commits/ are \
                 silent, and start that one alone."
            .to_owned(),
    };
    Some(words.into_finding("two-on-one-checkpoint", Severity::Error))
}

/// A run goes on after a later one has begun to work.
fn overlap(told: &Told<'_>) -> Option<String> {
    let runs = told.query.runs();
    let pairs = runs.iter().zip(runs.iter().skip(1)).rev();
    pairs.into_iter().find_map(|(early, late)| {
        let mine = batches(late);
        let (first, last) = (mine.first()?.0, mine.last()?.0);
        let after: Vec<(UnixMillis, BatchId)> =
            batches(early).into_iter().filter(|(at, _)| *at > first && *at < last).collect();
        // Once may be a clock that was set.
        let (_, one) = after.first()?;
        (after.len() >= 2).then(|| {
            format!(
                "Run {} reported {} (from batch {one} on) between the batches of run {}, which \
                 began later.",
                name(early),
                plural(after.len() as u64, "batch", "batches"),
                name(late)
            )
        })
    })
}

fn batches(run: &Run) -> Vec<(UnixMillis, BatchId)> {
    let mut batches: Vec<_> =
        run.reported().filter_map(|batch| Some((batch.numbers.at?, batch.id))).collect();
    batches.sort();
    batches
}

fn name(run: &Run) -> &str {
    run.id.as_deref().map_or("without an id", |id| id.get(..8).unwrap_or(id))
}

/// The last run was told by Spark that there is another.
fn refused(told: &Told<'_>) -> Option<String> {
    let ended = told.query.current()?.ended.as_ref()?;
    let class = ended.class.as_deref().unwrap_or_default();
    let text = ended.exception.as_deref().unwrap_or_default();
    let named = |name: &&str| class.starts_with(name) || text.contains(*name);
    let name = CONCURRENT.iter().find(|name| named(name))?;
    Some(format!(
        "The last run ended with “{name}”: it found entries that another one had written."
    ))
}
