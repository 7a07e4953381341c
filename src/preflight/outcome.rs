//! From the steps to the answer: what it comes to, the error, and what can be done next.

use std::collections::BTreeMap;

use super::databricks;
use super::engine::{Left, Step, Stop, StopKind, log_steps, state_steps};
use super::facts::{Facts, Presence};
use super::request::{CHECKPOINT_FORMAT, Engine, EngineChoice, Request};
use crate::report::{CheckStatus, LegalNext, NextAction, PreflightOutcome};

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// What it comes to.
    pub outcome: PreflightOutcome,
    /// One sentence.
    pub summary: String,
    /// The class that the engine raises.
    pub error_class: Option<String>,
    /// The parameters of its message.
    pub parameters: BTreeMap<String, String>,
    /// What can be done next, best first.
    pub legal_next: Vec<LegalNext>,
}

/// The steps of an engine, as far as the facts go.
pub fn steps(facts: &Facts, request: &Request, engine: Engine) -> Vec<Step> {
    let mut steps = if engine.is_open_source() {
        let mut steps = log_steps(facts, request);
        steps.extend(state_steps(facts, request, engine));
        steps
    } else {
        databricks::steps(facts, request)
    };
    // The engine gets no further than a count that is in force: what would come after it is worth
    // knowing, and stops nothing.
    let same = |stop: &Stop| stop.kind == StopKind::SameCount;
    let at = steps.iter().position(|step| step.stops.iter().any(same));
    let after = at.map_or(steps.len(), |at| at + 1);
    for step in steps.iter_mut().skip(after) {
        if step.check.status == CheckStatus::Refused {
            step.check.status = CheckStatus::Warning;
        }
        step.stops.clear();
    }
    steps
}

/// What it comes to.
pub fn predict(
    facts: &Facts,
    request: &Request,
    choice: &EngineChoice,
    steps: &[Step],
) -> Prediction {
    let mut all: Vec<&Stop> = steps.iter().flat_map(|step| &step.stops).collect();
    all.sort_by_key(|stop| stop.order);
    let skipped = all.iter().find(|stop| stop.kind == StopKind::Skipped).copied();
    // That failed batches are skipped stops nothing by itself.
    let raising = all.iter().find(|stop| stop.error.is_some()).copied();
    let losing = all.iter().find(|stop| stop.error.is_none()).copied();
    let first = raising.or(losing);
    let unknown = !choice.engine.is_open_source() && databricks::is_unknown(steps);
    let outcome = match (first, raising) {
        (None, _) if unknown || !is_complete(facts) => PreflightOutcome::Unknown,
        (None, _) => PreflightOutcome::Ready,
        (Some(_), Some(raising)) => outcome_of(raising, skipped),
        (Some(_), None) => PreflightOutcome::WouldLoseState,
    };
    let error = raising.and_then(|stop| stop.error.as_ref());
    Prediction {
        outcome,
        summary: summary(outcome, first, request, choice.engine),
        error_class: error.and_then(|error| error.class.clone()),
        parameters: error.map(|error| error.parameters.clone()).unwrap_or_default(),
        legal_next: legal_next(facts, request, choice.engine, outcome, first),
    }
}

fn is_complete(facts: &Facts) -> bool {
    facts.presence != Presence::Checkpoint
        || facts.state.as_ref().is_some_and(|state| state.complete)
}

fn outcome_of(raising: &Stop, skipped: Option<&Stop>) -> PreflightOutcome {
    match (&raising.kind, raising.left) {
        (_, Left::Directory | Left::OffsetEntry(_)) => PreflightOutcome::WouldBreak,
        (_, Left::SkippedBatches(_)) if skipped.is_some() => PreflightOutcome::WouldLoseState,
        (StopKind::SameCount, _) => PreflightOutcome::Noop,
        (_, Left::Nothing | Left::SkippedBatches(_)) => PreflightOutcome::Refused,
    }
}

fn summary(
    outcome: PreflightOutcome,
    first: Option<&Stop>,
    request: &Request,
    engine: Engine,
) -> String {
    let to = request.to;
    let name = engine.name();
    let error = first.and_then(|stop| stop.error.as_ref()).map_or("", |error| error.name());
    match (outcome, first) {
        (PreflightOutcome::Ready, _) => {
            format!("Ready: {name} would resize to {to}, and the state would be right.")
        }
        (PreflightOutcome::Noop, _) => format!("No-op: {to} is in force already."),
        (PreflightOutcome::Refused, _) => {
            format!("Refused: {name} would change nothing and say {error}.")
        }
        (PreflightOutcome::WouldBreak, Some(Stop { left: Left::Directory, .. })) => format!(
            "Would break: {name} would say {error}, and leave a directory commits where there is \
             no checkpoint."
        ),
        (PreflightOutcome::WouldBreak, Some(Stop { left: Left::OffsetEntry(batch), .. })) => {
            format!(
                "Would break: {name} would write offsets/{batch}, then fail with {error}; after \
                 that the query does not start, and only {to} can be tried again."
            )
        }
        (PreflightOutcome::WouldBreak, _) => {
            format!("Would break: {name} would fail with {error} after it has written.")
        }
        (PreflightOutcome::WouldLoseState, Some(stop)) => loses(stop, name),
        (PreflightOutcome::WouldLoseState, None) => "Would lose state.".to_owned(),
        (PreflightOutcome::Unknown, _) => {
            "Unknown: not everything that decides is known; the checks say what is missing."
                .to_owned()
        }
    }
}

fn loses(stop: &Stop, name: &str) -> String {
    let what = match (&stop.kind, stop.left) {
        (_, Left::SkippedBatches(batch)) => {
            return format!(
                "Would lose state: {name} would mark batch {batch} as committed, though it failed."
            );
        }
        (StopKind::JoinFormat, _) => "the state of the join would be destroyed",
        (StopKind::Keyless, _) => "the aggregate would begin from nothing",
        (StopKind::LostPartition, _) => "the rows of partitions that are gone would stay lost",
        _ => "the state would be wrong",
    };
    format!("Would lose state: {name} would succeed, and {what}.")
}

fn legal_next(
    facts: &Facts,
    request: &Request,
    engine: Engine,
    outcome: PreflightOutcome,
    first: Option<&Stop>,
) -> Vec<LegalNext> {
    let to = u32::try_from(request.to).ok();
    let next = |action, partitions, summary: &str| LegalNext {
        action,
        partitions,
        summary: summary.to_owned(),
    };
    let unfinished = unfinished(facts);
    let start = || next(NextAction::Start, None, "start the query as it is");
    let mut all = match first.map(|stop| &stop.kind) {
        None if outcome == PreflightOutcome::Ready => vec![
            next(
                NextAction::Resize,
                to,
                &format!("resize to {} with {}", request.to, engine.name()),
            ),
            start(),
        ],
        None => vec![start()],
        Some(StopKind::NoCount) => {
            vec![next(NextAction::Resize, None, "resize to 1 or more partitions"), start()]
        }
        Some(StopKind::NoCheckpoint) => {
            vec![next(NextAction::Repair, None, "name the checkpoint's directory")]
        }
        Some(StopKind::NoBatch) => {
            vec![next(NextAction::Start, None, "run the query until a batch is committed")]
        }
        Some(StopKind::FinishBatch(batch)) => {
            let finish = format!("start the query and let it finish batch {batch}");
            vec![next(NextAction::Start, None, &finish)]
        }
        Some(StopKind::FinishResize(count)) => {
            let only = u32::try_from(*count).ok();
            let finish = format!("resize to {count}: no other count is legal before it commits");
            vec![next(NextAction::Resize, only, &finish)]
        }
        Some(StopKind::EntryGone) => {
            vec![next(NextAction::Start, None, "run the query for a few batches")]
        }
        Some(StopKind::EntryDamaged) => {
            vec![next(NextAction::Repair, None, "restore the log entry from a copy")]
        }
        Some(StopKind::SameCount) => vec![
            next(NextAction::Nothing, None, "leave it: the count is in force"),
            next(NextAction::Resize, None, "resize to another count"),
            start(),
        ],
        Some(StopKind::Format(version)) => {
            let with = format!("resize with {CHECKPOINT_FORMAT}={version} in the session");
            vec![next(NextAction::Resize, to, &with), start()]
        }
        Some(StopKind::NoMetadata) => {
            let once = "run the query once on Spark 4.0 or later";
            vec![next(NextAction::Start, None, once)]
        }
        Some(StopKind::Stateless) => {
            vec![next(NextAction::Nothing, None, "leave it: there is no state"), start()]
        }
        Some(StopKind::Operator | StopKind::Provider | StopKind::JoinFormat) => {
            let another = "begin a new checkpoint with the other count";
            vec![start(), next(NextAction::NewCheckpoint, to, another)]
        }
        Some(StopKind::Files { repairable: true }) => {
            let with = "resize with changelogs switched on in the session";
            vec![next(NextAction::Resize, to, with)]
        }
        Some(StopKind::Feature(conf)) => {
            let with = format!("resize with {conf}=true in the session");
            vec![next(NextAction::Resize, to, &with), start()]
        }
        Some(StopKind::NewerEngine) => {
            vec![next(NextAction::Resize, to, "resize with spark-4.3"), start()]
        }
        Some(StopKind::Files { repairable: false } | StopKind::LostPartition) => {
            vec![next(NextAction::Repair, None, "restore the files from a copy")]
        }
        Some(StopKind::Moved) => {
            let once = "start the query once at this place, so that its metadata names its files";
            vec![next(NextAction::Start, None, once)]
        }
        Some(StopKind::Keyless) => vec![
            next(NextAction::Nothing, None, "leave it: its one row needs no other count"),
            start(),
        ],
        Some(StopKind::Skipped) => {
            vec![next(NextAction::Start, None, "start the query and let it finish the batch")]
        }
    };
    if let Some(count) = unfinished {
        // A query is refused at its start on an unfinished resize.
        all.retain(|next| next.action != NextAction::Start && next.action != NextAction::Nothing);
        if !all.iter().any(|next| next.action == NextAction::Resize) {
            let retry = format!("resize to {count}, once what stops it is repaired");
            all.push(next(NextAction::Resize, u32::try_from(count).ok(), &retry));
        }
    }
    all
}

/// The count of a resize that is unfinished now.
fn unfinished(facts: &Facts) -> Option<i64> {
    let (planned, committed) = (facts.logs.last_offset?, facts.logs.last_commit?);
    let (_, to) = super::engine::repartition(&facts.logs, planned)?;
    (planned > committed).then_some(to)
}
