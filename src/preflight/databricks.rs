//! The online resize of Databricks Runtime 18, as far as its rules are published.
//!
//! There the count is a conf, and the resize runs at the next start: a pending batch is finished
//! first, then one repartition batch runs. The error classes are those of the feature's page. What
//! open-source Spark was seen to do to a state is not known of this engine, and said to be so.

use super::engine::{EngineError, Left, Order, Step, Stop, StopKind, log_steps};
use super::facts::{Facts, Keying, StateFacts};
use super::request::Request;
use crate::report::{CheckStatus, Provider};
use crate::state::loading::LoadOutcome;

/// What the page of the feature says of a check that nothing is published about.
const NOT_PUBLISHED: &str = "Rehearse on a copy of the checkpoint: what the runtime does here is \
     not published.";

/// The steps, in the order of the feature's page.
pub fn steps(facts: &Facts, request: &Request) -> Vec<Step> {
    let mut steps = log_steps(facts, request);
    steps.retain(|step| step.check.id != "checkpoint-format");
    for step in &mut steps {
        finish_first(step);
    }
    let Some(state) = &facts.state else { return steps };
    steps.extend([metadata(state), provider(state), operators(state, request), files(state)]);
    steps
}

/// Whether something that decides is not known.
pub fn is_unknown(steps: &[Step]) -> bool {
    steps.iter().any(|step| step.check.status == CheckStatus::Unknown)
}

/// A pending batch is finished by the start that resizes, so it stops nothing.
fn finish_first(step: &mut Step) {
    let pending = |stop: &Stop| matches!(stop.kind, StopKind::FinishBatch(_) | StopKind::Skipped);
    if step.stops.iter().any(pending) {
        step.stops.clear();
        step.check.status = CheckStatus::Warning;
        "A pending batch is finished first".clone_into(&mut step.check.summary);
        "The start that resizes finishes this batch before the repartition batch; that takes as \
         long as the batch does."
            .clone_into(&mut step.check.remedy);
    }
    for stop in &mut step.stops {
        // Nothing is written before the checks on the logs.
        if stop.left != Left::Nothing {
            stop.left = Left::Nothing;
        }
    }
}

fn metadata(state: &StateFacts) -> Step {
    const ID: &str = "operator-metadata";
    if state.operators.is_empty() {
        return Step::of(
            ID,
            CheckStatus::Unknown,
            "The query keeps no state",
            "state/ has no operator".to_owned(),
            "There is nothing to resize: the shuffles of a stateless query follow \
             spark.sql.shuffle.partitions, and on Runtime 18 the dynamic shuffle.",
        );
    }
    let described = |operator: &super::facts::OperatorFacts| {
        matches!(operator.metadata, super::facts::OperatorMetadataFacts::Read { .. })
    };
    if state.operators.iter().all(described) {
        let evidence = "every operator has metadata".to_owned();
        return Step::passed(ID, "The checkpoint is of Spark 4.0, Runtime 14.3 or later", evidence);
    }
    Step::of(
        ID,
        CheckStatus::Unknown,
        "The checkpoint may be older than Runtime 14.3",
        "an operator has no readable metadata, which Spark 4.0 and Runtime 14.3 write".to_owned(),
        "Run the query once on the new runtime; being on Runtime 18 now does not rewrite what an \
         older engine wrote.",
    )
}

fn provider(state: &StateFacts) -> Step {
    const ID: &str = "provider";
    if state.provider == Some(Provider::Rocksdb) {
        return Step::passed(ID, "The state store is RocksDB", state.provider_class.clone());
    }
    let class = "STATE_REPARTITION_INVALID_CHECKPOINT.UNSUPPORTED_PROVIDER";
    let error = EngineError::new(class, [("provider", state.provider_class.clone())]);
    let order = Order { step: 20, ..Order::default() };
    let stop = Stop { order, error: Some(error), left: Left::Nothing, kind: StopKind::Provider };
    Step::refused(
        ID,
        "The state store is not RocksDB",
        state.provider_class.clone(),
        "The provider of a checkpoint cannot change: another count needs a new checkpoint.",
        stop,
    )
}

fn operators(state: &StateFacts, request: &Request) -> Step {
    const ID: &str = "operators";
    const KNOWN: [&str; 5] = [
        "stateStoreSave",
        "dedupe",
        "dedupeWithinWatermark",
        "sessionWindow",
        "transformWithState",
    ];
    let unknown = state.operators.iter().find_map(|operator| {
        let name = operator.name.as_str();
        if operator.keying == Keying::Keyless
            && name != "globalLimit"
            && 42 % request.to.max(1) != 0
        {
            return Some((
                operator.id,
                name,
                "has no grouping key; open-source Spark loses its row",
            ));
        }
        if name == "symmetricHashJoin" {
            let broken = "is a join of state format 4; open-source Spark destroys its state";
            return (state.join_format == 4).then_some((operator.id, name, broken));
        }
        let known = KNOWN.iter().any(|known| name.starts_with(known));
        let why = "is in no published list; unsupported operators exist, and are refused with \
                   UNSUPPORTED_STATEFUL_OPERATOR";
        (!known).then_some((operator.id, name, why))
    });
    match unknown {
        None => {
            let names: Vec<&str> = state.operators.iter().map(|op| op.name.as_str()).collect();
            Step::passed(ID, "All operators are of the kinds that are resized", names.join(", "))
        }
        Some((id, name, why)) => Step::of(
            ID,
            CheckStatus::Unknown,
            "Whether an operator can be resized is not known",
            format!("operator {id} {name} {why}"),
            NOT_PUBLISHED,
        ),
    }
}

fn files(state: &StateFacts) -> Step {
    const ID: &str = "state-files";
    let bad = state.loaded.iter().find_map(|loaded| match &loaded.outcome {
        LoadOutcome::Fails(failure) => Some((loaded, failure)),
        LoadOutcome::Loads { .. } => None,
    });
    match bad {
        None if !state.complete => Step::of(
            ID,
            CheckStatus::Unknown,
            "Not all files were looked at",
            String::new(),
            "Let the check run to its end.",
        ),
        None => {
            let evidence = format!("all {} can be put together", state.loaded.len());
            Step::passed(ID, "The files of the state are there", evidence)
        }
        Some((loaded, failure)) => Step::of(
            ID,
            CheckStatus::Unknown,
            "A file of the state is missing or damaged",
            format!(
                "operator {} partition {}: {}: {}",
                loaded.operator,
                loaded.partition,
                failure.file().unwrap_or("its lineage"),
                failure.reason()
            ),
            "Restore the file from a copy first: a query that cannot load its state cannot resize \
             it, and what the runtime leaves behind then is not published.",
        ),
    }
}
