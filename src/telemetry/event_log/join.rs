//! Joins the events of a log: jobs tell the microbatch, plans the operators, tasks what was done.
//!
//! ```text
//! SQLExecutionStart ──> Plans (accumulator → operator, metric) ──┐
//! JobStart ──> stages of a microbatch ──> TaskEnd ──> Stage ─────┴─> PartitionLoad, when the
//!                                                                    stage or its job is done
//! ```
//! What is done is forgotten, so memory follows what runs at once, not the length of the log.
//! Takes whole lines; must not know files, codecs or where lines stood.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use memchr::memmem::Finder;
use serde::Deserialize;

use super::environment;
use super::lines::{self, Head, Kind, Line};
use super::plan;
use super::plans::Plans;
use super::sessions::Sessions;
use super::stage::{Batch, Stage};
use super::wire::{self, JobStart, Properties, StageCompleted, TaskEnd};
use crate::telemetry::event::{EventKind, QueryRef};
use crate::telemetry::{description, listener, metric};
use crate::units::BatchId;

/// Jobs and stages that are kept when their ends are not in the log: the newest.
const MAX_JOBS: usize = 10_000;
const MAX_STAGES: usize = 100_000;

/// Names (executors, hosts, queries) that are shared between events.
const MAX_NAMES: usize = 10_000;

/// What every task of a stateful operator tells: a store always takes some memory.
const STATE_OF_A_TASK: &[u8] = b"\"memory used by state\"";

/// What jobs of a streaming query have among their properties.
const STREAMING_JOB: &[u8] = b"\"sql.streaming.queryId\"";

/// Makes events of the lines of one application's log.
#[derive(Debug)]
pub(super) struct Joiner {
    plans: Plans,
    /// The stages of each job that runs.
    jobs: BTreeMap<u64, Vec<u64>>,
    stages: BTreeMap<u64, Stage>,
    names: HashSet<Arc<str>>,
    sessions: Sessions,
    version: Option<String>,
    application: Option<String>,
    /// A line of an event log has come.
    has_events: bool,
    /// The line before this one was none of an event log.
    after_foreign: bool,
    /// The application has ended.
    has_ended: bool,
    /// Tasks of microbatches whose jobs are not in the log that was read.
    orphans: Orphans,
    state_of_a_task: Finder<'static>,
    streaming_job: Finder<'static>,
    plan_with_state: Finder<'static>,
}

/// What is done about tasks of state whose job is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Orphans {
    /// The log was read from its start: they are of no streaming query.
    None,
    /// Their jobs began before the place where reading began: that is to be said.
    Expected,
}

/// Why a wanted line could not be used.
#[derive(Debug, thiserror::Error)]
enum LineError {
    #[error("{name} is not JSON as Spark writes it: {source}")]
    Json { name: String, source: serde_json::Error },
    #[error("{0}")]
    Other(&'static str),
}

impl Default for Joiner {
    fn default() -> Self {
        Self {
            plans: Plans::default(),
            jobs: BTreeMap::new(),
            stages: BTreeMap::new(),
            names: HashSet::new(),
            sessions: Sessions::default(),
            version: None,
            application: None,
            has_events: false,
            after_foreign: false,
            has_ended: false,
            orphans: Orphans::None,
            state_of_a_task: Finder::new(STATE_OF_A_TASK),
            streaming_job: Finder::new(STREAMING_JOB),
            plan_with_state: Finder::new(metric::ROWS),
        }
    }
}

impl Joiner {
    /// Takes a line and gives the events that it completes.
    pub(super) fn take(&mut self, line: Line<'_>, out: &mut dyn FnMut(EventKind)) {
        let (text, too_long) = match line {
            Line::Whole(text) => (text, None),
            Line::TooLong { head, bytes } => (head, Some(bytes)),
        };
        let told = match (lines::head(text), too_long) {
            (Head::Wanted(kind, name, rest), None) => self.event(kind, name, rest, text, out),
            (Head::Wanted(_, name, _), Some(bytes)) => {
                out(EventKind::Unreadable(format!(
                    "{name} is a line of {bytes} bytes, more than the {} that are read; skipped",
                    lines::MAX_LINE
                )));
                Ok(())
            }
            (Head::Other, _) => Ok(()),
            (Head::Foreign, _) if text.trim_ascii().is_empty() => return,
            (Head::Foreign, _) => return self.foreign(out),
        };
        self.has_events = true;
        self.after_foreign = false;
        if let Err(error) = told {
            out(EventKind::Unreadable(error.to_string()));
        }
    }

    /// Whether a line of an event log has come.
    pub(super) fn has_events(&self) -> bool {
        self.has_events
    }

    /// Whether the application has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// What comes next is from a place further on in the log.
    pub(super) fn begins_in_the_middle(&mut self) {
        self.orphans = Orphans::Expected;
    }

    /// The log has ended, or is not read any further: gives what its last stages have.
    pub(super) fn finish(&mut self, out: &mut dyn FnMut(EventKind)) {
        for mut stage in std::mem::take(&mut self.stages).into_values() {
            give(&mut stage, out);
        }
        self.jobs.clear();
    }

    /// Of several such lines on end only the first is worth a word.
    fn foreign(&mut self, out: &mut dyn FnMut(EventKind)) {
        if !std::mem::replace(&mut self.after_foreign, true) {
            let expected = "expected a line of an event log, which begins with {\"Event\":";
            out(EventKind::Unreadable(format!("{expected}; such lines are skipped")));
        }
    }

    fn event(
        &mut self,
        kind: Kind,
        name: &str,
        rest: &[u8],
        line: &[u8],
        out: &mut dyn FnMut(EventKind),
    ) -> Result<(), LineError> {
        match kind {
            Kind::TaskEnd => return self.task_end(name, rest, line, out),
            Kind::Query => out(query_event(name, line)?),
            Kind::JobStart if self.streaming_job.find(rest).is_some() => {
                self.job_start(parse(name, line)?);
            }
            Kind::JobStart => {}
            Kind::JobEnd => self.job_end(lines::number_of(rest, b"\"Job ID\""), out),
            Kind::StageCompleted => return self.stage_completed(name, rest, line, out),
            Kind::ExecutionStart | Kind::ExecutionUpdate => {
                if self.plan_with_state.find(rest).is_some() {
                    let told = plan::read(utf8(line)?).map_err(|source| json(name, source))?;
                    if let Some(session) = self.sessions.news(&told) {
                        out(EventKind::Environment(Box::new(session)));
                    }
                    self.plans.add(told.execution, told.operators);
                }
            }
            Kind::ExecutionEnd => {
                if let Some(execution) = lines::number_of(rest, b"\"executionId\"") {
                    self.plans.end(execution);
                }
            }
            Kind::LogStart => self.version = parse::<wire::LogStart>(name, line)?.version,
            Kind::ApplicationStart => {
                self.application = parse::<wire::ApplicationStart>(name, line)?.id;
            }
            Kind::ApplicationEnd => self.has_ended = true,
            Kind::Environment => {
                let (version, application) = (self.version.as_deref(), self.application.as_deref());
                let told = environment::read(parse(name, line)?, version, application);
                out(EventKind::Environment(Box::new(told)));
            }
        }
        Ok(())
    }

    fn job_start(&mut self, job: JobStart<'_>) {
        let Some(properties) = job.properties else { return };
        let batch = Arc::new(self.batch(&properties));
        for stage in &job.stage_ids {
            let expected = job.stages.iter().find(|info| info.stage == *stage);
            let expected = expected.and_then(|info| info.tasks);
            let new = || Stage::new(Arc::clone(&batch), expected);
            self.stages.entry(*stage).or_insert_with(new);
        }
        self.jobs.insert(job.job, job.stage_ids);
        while self.jobs.len() > MAX_JOBS {
            self.jobs.pop_first();
        }
        while self.stages.len() > MAX_STAGES {
            self.stages.pop_first();
        }
    }

    /// The microbatch that a job with these properties runs for.
    fn batch(&mut self, properties: &Properties<'_>) -> Batch {
        let name = properties
            .description
            .as_deref()
            .and_then(description::parse)
            .and_then(|told| told.name);
        let query = QueryRef {
            id: properties.query.as_deref().map(|id| self.shared(id)),
            run: properties.group.as_deref().map(|run| self.shared(run)),
            name: name.map(|name| self.shared(name)),
        };
        let number = |text: &str| text.parse().ok().map(BatchId);
        Batch {
            query,
            id: properties.batch.as_deref().and_then(number),
            track_rows: properties.track_rows.as_deref().and_then(|text| text.parse().ok()),
        }
    }

    /// The job is done: its stages that never were have nothing more to tell.
    fn job_end(&mut self, job: Option<u64>, out: &mut dyn FnMut(EventKind)) {
        let Some(stages) = job.and_then(|job| self.jobs.remove(&job)) else { return };
        for id in stages {
            if self.jobs.values().any(|others| others.contains(&id)) {
                continue;
            }
            if let Some(mut stage) = self.stages.remove(&id) {
                give(&mut stage, out);
            }
        }
    }

    fn stage_completed(
        &mut self,
        name: &str,
        rest: &[u8],
        line: &[u8],
        out: &mut dyn FnMut(EventKind),
    ) -> Result<(), LineError> {
        let Some(id) = lines::stage_id(rest) else { return Ok(()) };
        let Some(stage) = self.stages.get_mut(&id) else { return Ok(()) };
        let told = parse::<StageCompleted>(name, line)?.stage;
        stage.expect(told.tasks);
        // A stage that failed is tried again: what its tasks did well is not done again.
        if told.failure.is_none() {
            give(stage, out);
            self.stages.remove(&id);
        }
        Ok(())
    }

    fn task_end(
        &mut self,
        name: &str,
        rest: &[u8],
        line: &[u8],
        out: &mut dyn FnMut(EventKind),
    ) -> Result<(), LineError> {
        let Some(stage) = lines::stage_id(rest).and_then(|id| self.stages.get_mut(&id)) else {
            self.orphan(rest, out);
            return Ok(());
        };
        if !stage.is_stateful() && self.state_of_a_task.find(rest).is_none() {
            return Ok(());
        }
        let task: TaskEnd<'_> = parse(name, line)?;
        if &*task.reason.reason != "Success" {
            return Ok(());
        }
        let names = &mut self.names;
        let kept = stage.add(&task, &self.plans, |text| shared(names, text));
        if !kept {
            out(EventKind::Interrupted(
                "a stage has more tasks than are kept; the others are left out".to_owned(),
            ));
        }
        Ok(())
    }

    /// Says once that the load of a microbatch is not known because its beginning was not read.
    fn orphan(&mut self, task: &[u8], out: &mut dyn FnMut(EventKind)) {
        if self.orphans == Orphans::Expected && self.state_of_a_task.find(task).is_some() {
            self.orphans = Orphans::None;
            let what = "a microbatch began long before the time asked for: what its tasks did is \
                        not told; ask for an earlier time to see it";
            out(EventKind::Interrupted(what.to_owned()));
        }
    }

    fn shared(&mut self, text: &str) -> Arc<str> {
        shared(&mut self.names, text)
    }
}

/// One allocation for each name that comes again and again.
fn shared(names: &mut HashSet<Arc<str>>, text: &str) -> Arc<str> {
    if let Some(known) = names.get(text) {
        return Arc::clone(known);
    }
    if names.len() >= MAX_NAMES {
        names.clear();
    }
    let name: Arc<str> = text.into();
    names.insert(Arc::clone(&name));
    name
}

/// Gives what the tasks of a stage did.
fn give(stage: &mut Stage, out: &mut dyn FnMut(EventKind)) {
    match stage.loads() {
        Ok(loads) => {
            for load in loads {
                out(EventKind::PartitionLoad(Box::new(load)));
            }
        }
        Err(reason) => out(EventKind::Interrupted(reason.to_owned())),
    }
}

fn query_event(name: &str, line: &[u8]) -> Result<EventKind, LineError> {
    let object = parse(name, line)?;
    listener::listener_event(name, object)
        .ok_or(LineError::Other("an event of a query without what it is about"))
}

fn parse<'a, T: Deserialize<'a>>(name: &str, line: &'a [u8]) -> Result<T, LineError> {
    serde_json::from_str(utf8(line)?).map_err(|source| json(name, source))
}

/// Looked at once as a whole, the texts in a line need not be looked at again one by one.
fn utf8(line: &[u8]) -> Result<&str, LineError> {
    std::str::from_utf8(line).map_err(|_| LineError::Other("a line is not UTF-8"))
}

fn json(name: &str, source: serde_json::Error) -> LineError {
    let short = name.rsplit(['.', '$']).next().unwrap_or(name);
    LineError::Json { name: short.to_owned(), source }
}
