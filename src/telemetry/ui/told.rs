//! What is told of a microbatch that the Spark UI shows: events.
//!
//! Pure: from plans, operators and tasks to events. Must not know how they were asked for.

use super::api::{Execution, ExecutionStatus};
use super::batches::Microbatch;
use super::operators::{self, Operator};
use super::tasks::Done;
use crate::telemetry::event::{
    EventTime, OperatorProgress, PartitionLoad, Progress, Teller, Terminated, Watermark,
};
use crate::telemetry::listener;
use crate::units::UnixMillis;

/// The phase of a microbatch that is the run of its plan.
const RUN_OF_THE_PLAN: &str = "addBatch";
/// What Spark 3.5 says of work that ended because the query was stopped, and what any release says
/// of a driver's thread that was waiting for it.
const STOPPED: [&str; 3] =
    ["cancelled part of cancelled job group", "InterruptedException", "ClosedByInterruptException"];
/// What Spark 4 says: `Job 31 cancelled Query NAME [id = …, runId = …] was stopped`.
const WAS_STOPPED: &str = "] was stopped";

/// The tasks of a stage, with how many it has.
#[derive(Debug, Default)]
pub(super) struct StageTasks {
    /// Those that succeeded.
    pub(super) done: Done,
    /// How many there are.
    pub(super) expected: Option<u32>,
}

/// What the plans of a microbatch tell. Of an operator that several plans ran, each did the same
/// work: the last counts.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    operators: Vec<OperatorProgress>,
    rows_in: Option<u64>,
}

impl Numbers {
    /// Adds what a plan tells. One that finds the work of another done reads nothing.
    pub(super) fn add_plan(&mut self, plan: &Execution) {
        self.rows_in = self.rows_in.max(operators::rows_in(plan));
    }

    /// Adds an operator, with the tasks that its stage has. One task says nothing of the count in
    /// force: without a grouping key there is one partition at any count.
    pub(super) fn add(&mut self, operator: &Operator, tasks: Option<u32>) {
        let Ok(place) = usize::try_from(operator.id.0) else { return };
        if self.operators.len() <= place {
            self.operators.resize_with(place + 1, operators::unknown);
        }
        let mut progress = operator.progress.clone();
        let shown = tasks.filter(|tasks| *tasks > 1).map(u64::from);
        progress.partitions = progress.partitions.or(shown);
        if let Some(known) = self.operators.get_mut(place) {
            *known = progress;
        }
    }

    /// The microbatch.
    pub(super) fn progress(self, batch: &Microbatch) -> Progress {
        let took = batch.whole.duration.map(|millis| (RUN_OF_THE_PLAN.to_owned(), millis));
        Progress {
            told_by: Teller::Plan,
            query: batch.query.clone(),
            batch: Some(batch.batch),
            timestamp: batch.whole.submission_time.0,
            duration_ms: None,
            phases: took.into_iter().collect(),
            rows_in: self.rows_in,
            input_rate: None,
            processed_rate: None,
            event_time: EventTime::default(),
            watermark: Watermark::None,
            operators: self.operators,
            sources: Vec::new(),
            sink: None,
            other: serde_json::Map::new(),
        }
    }
}

/// What the tasks of a stage did, for an operator in it.
pub(super) fn load(batch: &Microbatch, operator: &Operator, tasks: &StageTasks) -> PartitionLoad {
    PartitionLoad {
        query: batch.query.clone(),
        batch: Some(batch.batch),
        operator: Some(operator.id),
        operator_name: operator.progress.name.clone(),
        timestamp: tasks.done.latest(),
        tasks: tasks.done.loads(),
        expected: tasks.expected,
    }
}

/// The end of a run by a microbatch that failed, for a reason if one is known.
pub(super) fn end(batch: &Microbatch, reason: Option<String>) -> Terminated {
    let run = batch.query.run.as_deref().unwrap_or_default();
    let is_stop = |reason: &String| {
        STOPPED.iter().any(|words| reason.contains(words))
            || reason.contains(&format!("runId = {run}{WAS_STOPPED}"))
    };
    let exception = match reason {
        Some(reason) if is_stop(&reason) => None,
        Some(reason) => Some(reason),
        None => Some(format!(
            "microbatch {} did not finish: it failed, or the query was stopped. The Spark UI does \
             not say why; the driver's log does",
            batch.batch
        )),
    };
    let plan = &batch.whole;
    let ended = plan.submission_time.0.zip(plan.duration);
    let timestamp = ended.map(|(began, took)| UnixMillis(began.0.saturating_add_unsigned(took)));
    Terminated { timestamp, ..listener::ended(batch.query.clone(), exception) }
}

/// Whether a microbatch did what it had to.
pub(super) fn is_done(batch: &Microbatch) -> bool {
    batch.whole.status == ExecutionStatus::Completed
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::telemetry::event::{QueryRef, Rows};
    use crate::units::{BatchId, OperatorId};

    fn batch() -> Microbatch {
        let whole = serde_json::from_str(
            r#"{"id": 4, "status": "FAILED", "duration": 250,
                "submissionTime": "1970-01-01T00:00:01.000GMT"}"#,
        );
        let query = QueryRef { id: Some("q".into()), run: Some("r".into()), name: None };
        Microbatch { query, batch: BatchId(3), whole: whole.unwrap(), within: BTreeMap::new() }
    }

    #[test]
    fn a_microbatch_is_told_with_its_operators_by_id() {
        let mut numbers = Numbers::default();
        let progress = OperatorProgress { rows: Rows::Known(8), ..operators::unknown() };
        numbers.add(&Operator { id: OperatorId(1), stage: None, progress }, Some(5));
        let told = numbers.progress(&batch());
        assert_eq!((told.told_by, told.batch), (Teller::Plan, Some(BatchId(3))));
        assert_eq!(told.timestamp, Some(UnixMillis(1_000)));
        assert_eq!((told.phases, told.duration_ms), (vec![("addBatch".to_owned(), 250)], None));
        let rows: Vec<_> = told.operators.iter().map(|it| (it.rows, it.partitions)).collect();
        assert_eq!(rows, [(Rows::Unknown, None), (Rows::Known(8), Some(5))]);
    }

    #[test]
    fn a_stop_is_told_from_a_failure() {
        let told = |reason: Option<&str>| end(&batch(), reason.map(str::to_owned));
        assert_eq!(told(Some("x")).timestamp, Some(UnixMillis(1_250)));
        for stop in [
            "Job 28 cancelled part of cancelled job group c32a7772",
            "java.lang.InterruptedException\n\tat java.base/java.util",
            "[SPARK_JOB_CANCELLED] Job 31 cancelled Query agg [id = q, runId = r] was stopped SQLSTATE: X",
        ] {
            assert_eq!(told(Some(stop)).exception, None, "{stop}");
        }
        let other = "[SPARK_JOB_CANCELLED] Job 31 cancelled because killed via the Web UI";
        assert!(told(Some(other)).exception.is_some(), "the query failed by it");
        let failed = told(Some("[FOREACH_BATCH_USER_FUNCTION_ERROR] An error: [A.B] inner"));
        assert!(failed.exception.is_some());
        assert_eq!(failed.class_in_text.as_deref(), Some("A.B"));
        let unknown = told(None).exception.unwrap();
        assert!(unknown.contains("microbatch 3") && unknown.contains("does not say why"));
    }
}
