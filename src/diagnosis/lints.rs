//! What a query's habits say: findings that no broken file shows, from what the running query
//! tells of itself and from how its checkpoint grows.
//!
//! Each lint is a function from figures to at most a few findings, pure, and silent where there
//! is not enough to judge. Bounds are constants beside it, with their reason. Takes the timeline
//! of a running query and the reports of a checkpoint, either of which may be missing; must not
//! know where they come from.

mod files;
mod growth;
mod memory;
mod pace;
mod runs;
mod series;
mod settings;
mod tasks;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use super::{Finding, FindingId, Severity};
use crate::report::{InspectReport, PartitionsReport};
use crate::telemetry::timeline::{QueryTimeline, Timeline};
use crate::telemetry::{ConfRestored, Environment};

pub use series::Trend;

/// What lints look at.
#[derive(Debug, Clone, Copy, Default)]
pub struct Evidence<'a> {
    /// The checkpoint's overview.
    pub inspect: Option<&'a InspectReport>,
    /// Its partitions, as deep as they were read.
    pub partitions: Option<&'a PartitionsReport>,
    /// What the running query tells.
    pub told: Option<Told<'a>>,
}

/// What is told of a running query.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    /// The query.
    pub query: &'a QueryTimeline,
    /// What its application runs on.
    pub environment: Option<&'a Environment>,
    /// Confs that a restart did not get.
    pub restored: &'a [ConfRestored],
}

impl<'a> Told<'a> {
    /// What a timeline tells of one of its queries.
    pub fn of(timeline: &'a Timeline, query: &'a QueryTimeline) -> Self {
        // An event log names the application; a driver's log beside it does not.
        let own = timeline.sources().get(query.source).and_then(|line| line.environment.as_ref());
        let any = || timeline.sources().iter().find_map(|line| line.environment.as_ref());
        Self {
            query,
            environment: own.or_else(any).map(AsRef::as_ref),
            restored: timeline.confs_restored(),
        }
    }

    /// The value of a conf: of the query's session, else of its application.
    pub(crate) fn conf(&self, name: &str) -> Option<&'a str> {
        self.session(name).or_else(|| self.application(name))
    }

    /// The value of a conf in the query's session, where it is not the default.
    fn session(&self, name: &str) -> Option<&'a str> {
        find(&self.query.current()?.confs, name)
    }

    /// The value of a conf of the application.
    fn application(&self, name: &str) -> Option<&'a str> {
        find(&self.environment?.confs, name)
    }

    /// Whether the confs of the query or its application are known at all.
    fn has_confs(&self) -> bool {
        self.environment.is_some() || self.query.current().is_some_and(|run| !run.confs.is_empty())
    }

    /// Whether it runs on Databricks, where some confs mean something else.
    fn is_databricks(&self) -> bool {
        let confs = self.environment.map_or(&[][..], |environment| &environment.confs);
        confs.iter().any(|(name, _)| name.starts_with("spark.databricks."))
    }
}

fn find<'a>(confs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    confs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// All that there is to say, most severe first.
pub fn lints(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(told) = &evidence.told {
        found.extend(runs::failed(told));
        found.extend(runs::two_writers(told));
        found.extend(pace::slow_batches(told));
        found.extend(pace::backlog(told));
        found.extend(tasks::slow(told));
        found.extend(tasks::moved(told));
        found.extend(growth::unbounded(told));
        found.extend(growth::late(told));
        found.extend(memory::near_bound(told));
        found.extend(memory::unbounded(evidence));
        found.extend(settings::ignored_count(evidence));
        found.extend(settings::avro_fast_reader(told));
    }
    found.extend(settings::few_batches(evidence));
    found.extend(files::snapshot_lag(evidence));
    found.extend(files::changelog_off(evidence));
    found.extend(files::piling_up(evidence));
    // Stable: within one severity the order above, the most urgent first.
    found.sort_by_key(|finding| Reverse(finding.severity));
    found
}

/// The words of a finding that is about no file.
struct Words {
    summary: String,
    detail: String,
    remedy: String,
}

impl Words {
    fn into_finding(self, id: &'static str, severity: Severity) -> Finding {
        let Self { summary, detail, remedy } = self;
        Finding { id: FindingId(id), severity, summary, detail, remedy, file: None }
    }
}
