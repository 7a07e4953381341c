//! What is asked for of one microbatch: its plans, the stages of stateful operators, their tasks.

use super::{Note, Poller, Trouble};
use crate::telemetry::event::EventKind;
use crate::telemetry::ui::api::{self, Execution, ExecutionStatus};
use crate::telemetry::ui::batches::Microbatch;
use crate::telemetry::ui::client::{ClientError, Failure};
use crate::telemetry::ui::operators;
use crate::telemetry::ui::told::{self, Numbers, StageTasks};

/// Plans of a microbatch that are asked for: functions of `foreachBatch` may start many.
const PLANS: usize = 16;
/// Tasks that are asked for at once: a page of some 300 KB.
const PAGE: usize = 200;
/// Tasks that are asked for of a stage: above any partition count that works.
const TASKS: usize = 200_000;

impl Poller<'_> {
    /// What there is to tell of a microbatch that ended.
    pub(super) fn details(&mut self, batch: &Microbatch) -> Result<Vec<EventKind>, Trouble> {
        match batch.whole.status {
            ExecutionStatus::Completed => self.done(batch),
            ExecutionStatus::Failed => {
                let reason = self.reason(batch)?;
                Ok(vec![EventKind::Terminated(told::end(batch, reason))])
            }
            // Its end was not seen, so that nothing is known of how it ended.
            ExecutionStatus::Running => Ok(Vec::new()),
        }
    }

    fn done(&mut self, batch: &Microbatch) -> Result<Vec<EventKind>, Trouble> {
        let (mut numbers, mut loads) = (Numbers::default(), Vec::new());
        if batch.with_jobs().nth(PLANS).is_some() {
            self.note(Note::ManyPlans, |_| {
                format!("microbatches of more than {PLANS} plans: only the first {PLANS} are read")
            })?;
        }
        for plan in batch.with_jobs().take(PLANS) {
            let Some(plan) = self.plan(plan.id)? else { continue };
            numbers.add_plan(&plan);
            let mut stages: Vec<(u64, StageTasks)> = Vec::new();
            for operator in operators::of(&plan) {
                let stage = match operator.stage {
                    Some(stage) => Some(stage.stage),
                    None => self.only_stage(&plan)?,
                };
                let known = stages.iter().position(|(known, _)| Some(*known) == stage);
                let tasks = match (known, stage) {
                    (Some(at), _) => stages.get(at).map(|(_, tasks)| tasks),
                    (None, Some(stage)) => {
                        let tasks = self.stage(stage)?;
                        stages.push((stage, tasks));
                        stages.last().map(|(_, tasks)| tasks)
                    }
                    (None, None) => None,
                };
                numbers.add(&operator, tasks.and_then(|tasks| tasks.expected));
                if let Some(tasks) = tasks.filter(|tasks| tasks.done.len() > 0) {
                    loads.push(EventKind::PartitionLoad(Box::new(told::load(
                        batch, &operator, tasks,
                    ))));
                }
            }
        }
        loads.push(EventKind::Progress(Box::new(numbers.progress(batch))));
        Ok(loads)
    }

    /// A plan with its nodes; `None` when it is no longer kept.
    fn plan(&mut self, id: u64) -> Result<Option<Execution>, Trouble> {
        let query = [("details", "true".to_owned()), ("planDescription", "false".to_owned())];
        let plan = self.get(&["sql", &id.to_string()], &query);
        self.kept(plan, Note::PlanGone)
    }

    /// The stage of an operator of which one task told: the last of one task.
    fn only_stage(&mut self, plan: &Execution) -> Result<Option<u64>, Trouble> {
        let mut found = None;
        for job in plan.success_job_ids.iter().take(PLANS) {
            let job = self.get(&["jobs", &job.to_string()], &[]);
            let job: Option<api::Job> = self.kept(job, Note::StageGone)?;
            for stage in job.map(|job| job.stage_ids).unwrap_or_default().into_iter().take(PLANS) {
                let attempts = self.attempts(stage)?;
                if attempts.iter().any(|it| it.status == "COMPLETE" && it.num_tasks == Some(1)) {
                    found = found.max(Some(stage));
                }
            }
        }
        Ok(found)
    }

    /// Why a microbatch failed, in Spark's words: those of its plan, else those of a stage.
    fn reason(&mut self, batch: &Microbatch) -> Result<Option<String>, Trouble> {
        let plans = std::iter::once(&batch.whole).chain(batch.within.values());
        let told = plans.map(|plan| &plan.error_message).find(|message| !message.is_empty());
        if let Some(message) = told {
            return Ok(Some(message.clone()));
        }
        let failed = batch.with_jobs().flat_map(|plan| plan.failed_job_ids.iter());
        for job in failed.copied().take(PLANS) {
            let job = self.get(&["jobs", &job.to_string()], &[]);
            let job: Option<api::Job> = self.kept(job, Note::StageGone)?;
            for stage in job.map(|job| job.stage_ids).unwrap_or_default().into_iter().take(PLANS) {
                let attempts = self.attempts(stage)?;
                let reason = attempts.into_iter().rev().find_map(|attempt| attempt.failure_reason);
                if reason.is_some() {
                    return Ok(reason);
                }
            }
        }
        Ok(None)
    }

    /// The attempts at a stage, the first first.
    fn attempts(&mut self, stage: u64) -> Result<Vec<api::Stage>, Trouble> {
        let query = [("details", "false".to_owned()), ("withSummaries", "false".to_owned())];
        let told = self.get(&["stages", &stage.to_string()], &query);
        let told: api::List<api::Stage> = self.kept(told, Note::StageGone)?.unwrap_or_default();
        let mut attempts = told.items;
        attempts.sort_by_key(|attempt| attempt.attempt_id);
        Ok(attempts)
    }

    /// The tasks of a stage.
    fn stage(&mut self, stage: u64) -> Result<StageTasks, Trouble> {
        let mut tasks = StageTasks::default();
        for attempt in self.attempts(stage)? {
            tasks.expected = tasks.expected.max(attempt.num_tasks);
            if attempt.status != "SKIPPED" && attempt.status != "PENDING" {
                self.tasks(stage, attempt.attempt_id, &mut tasks)?;
            }
        }
        let done = tasks.done.len();
        if let Some(expected) = tasks.expected.filter(|all| u64::from(*all) > done as u64) {
            self.note(Note::TasksGone, |it| {
                format!(
                    "of {expected} tasks of stage {stage} only {done} are kept: the Spark UI keeps {} \
                     of a stage (spark.ui.retainedTasks)",
                    it.conf("spark.ui.retainedTasks", "100000")
                )
            })?;
        }
        Ok(tasks)
    }

    fn tasks(&mut self, stage: u64, attempt: u64, into: &mut StageTasks) -> Result<(), Trouble> {
        let (stage, attempt) = (stage.to_string(), attempt.to_string());
        for offset in (0..TASKS).step_by(PAGE) {
            let query = [("offset", offset.to_string()), ("length", PAGE.to_string())];
            let page = self.get(&["stages", &stage, &attempt, "taskList"], &query);
            let page: api::List<api::Task> = self.kept(page, Note::StageGone)?.unwrap_or_default();
            let is_last = page.listed < PAGE;
            into.done.add(page.items, &mut self.names);
            if is_last {
                break;
            }
        }
        Ok(())
    }

    /// What was asked for; `None`, and a word about it, when it is no longer kept.
    fn kept<T>(&mut self, asked: Result<T, Trouble>, note: Note) -> Result<Option<T>, Trouble> {
        match asked {
            Ok(found) => Ok(Some(found)),
            Err(Trouble::Client(ClientError { failure: Failure::Gone(_), .. })) => {
                self.note(note, |it| it.gone(note)).map(|()| None)
            }
            Err(trouble) => Err(trouble),
        }
    }

    fn gone(&self, note: Note) -> String {
        let (what, conf) = match note {
            Note::PlanGone => ("plans", "spark.sql.ui.retainedExecutions"),
            _ => ("stages", "spark.ui.retainedStages"),
        };
        let kept = self.conf(conf, "1000");
        format!(
            "some microbatches are incomplete: the Spark UI keeps the newest {kept} {what} ({conf})"
        )
    }
}
