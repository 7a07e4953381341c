//! The steps of open-source Spark's offline repartition (4.2 and 4.3), in its order.
//!
//! `logs` are those before and around the moment at which the engine writes its offset entry,
//! `state` those that read the state after it. Each step says what it found as a check, and what
//! stops the engine there, if anything does.

mod logs;
mod state;

use std::collections::BTreeMap;

use super::facts::{Facts, LogFacts};
use super::request::{Request, Sinks};
use crate::report::{CheckStatus, PreflightCheck};
use crate::units::{BatchId, OperatorId, PartitionId};

pub use logs::log_steps;
pub(in crate::preflight) use logs::repartition;
pub use state::state_steps;

/// An error that the engine raises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineError {
    /// `CLASS.SUBCLASS`; `None` for an error without a class.
    pub class: Option<String>,
    /// The parameters of its message.
    pub parameters: BTreeMap<String, String>,
    /// What it says, where it has no class.
    pub words: String,
}

impl EngineError {
    /// An error with a class.
    pub fn new<const N: usize>(class: &str, parameters: [(&str, String); N]) -> Self {
        let parameters = parameters.into_iter().map(|(name, value)| (name.to_owned(), value));
        Self {
            class: Some(class.to_owned()),
            parameters: parameters.collect(),
            words: String::new(),
        }
    }

    /// An error without one.
    pub fn plain(words: &str) -> Self {
        Self { class: None, parameters: BTreeMap::new(), words: words.to_owned() }
    }

    /// The class, or what it says.
    pub fn name(&self) -> &str {
        self.class.as_deref().unwrap_or(&self.words)
    }
}

/// What is changed on the disk when the engine stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Nothing.
    Nothing,
    /// The directory `commits`, at a place that is no checkpoint.
    Directory,
    /// Commit entries of failed batches, up to this one.
    SkippedBatches(BatchId),
    /// An offset entry without a commit, of this batch.
    OffsetEntry(BatchId),
}

/// Where in its order the engine stops: an operator, a store, a phase, a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Order {
    /// Steps on the logs come before those on the state.
    pub step: u32,
    /// The operator.
    pub operator: OperatorId,
    /// The store, in the operator's order.
    pub store: usize,
    /// Schema, provider, directories, files.
    pub phase: u32,
    /// The partition.
    pub partition: PartitionId,
}

/// Something that stops the engine, or spoils its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// Where.
    pub order: Order,
    /// The error that it raises; `None` where it raises none and the result is wrong.
    pub error: Option<EngineError>,
    /// What is changed by then.
    pub left: Left,
    /// What kind of trouble it is.
    pub kind: StopKind,
}

/// Kinds of trouble, by what can be done about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopKind {
    /// The count is no count.
    NoCount,
    /// Nothing is at the location.
    NoCheckpoint,
    /// No batch has been committed.
    NoBatch,
    /// A batch has to be finished first.
    FinishBatch(BatchId),
    /// A resize to this count has to be finished first.
    FinishResize(i64),
    /// A log entry is missing, and the next batch writes a new one.
    EntryGone,
    /// A log entry is damaged.
    EntryDamaged,
    /// The count is in force.
    SameCount,
    /// The session asks for another state checkpoint format: this one is needed.
    Format(u32),
    /// The operators are not described, though there is state.
    NoMetadata,
    /// The query keeps no state.
    Stateless,
    /// The operator is not supported.
    Operator,
    /// The provider is not supported.
    Provider,
    /// A file of the state is missing or damaged; whether changelogs in the session help.
    Files {
        /// Whether an older snapshot would be used if changelogs were on.
        repairable: bool,
    },
    /// The session lacks this conf, without which a type is not read.
    Feature(&'static str),
    /// A newer engine wrote a type that this one does not have.
    NewerEngine,
    /// Schema files are named at a place that is gone.
    Moved,
    /// The operator has no grouping key, and the count is not one that keeps its row.
    Keyless,
    /// The join's state format is rewritten wrongly.
    JoinFormat,
    /// A partition is gone already, and the resize would make it look complete.
    LostPartition,
    /// Failed batches are skipped.
    Skipped,
}

/// One step: what was found, and what stops the engine there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The check.
    pub check: PreflightCheck,
    /// What stops it, in its order.
    pub stops: Vec<Stop>,
}

impl Step {
    /// Nothing is in the way.
    pub fn passed(id: &'static str, summary: &str, evidence: String) -> Self {
        Self::of(id, CheckStatus::Passed, summary, evidence, "")
    }

    /// A step that stops nothing.
    pub fn of(
        id: &'static str,
        status: CheckStatus,
        summary: &str,
        evidence: String,
        remedy: &str,
    ) -> Self {
        let check = PreflightCheck {
            id,
            status,
            summary: summary.to_owned(),
            evidence,
            remedy: remedy.to_owned(),
        };
        Self { check, stops: Vec::new() }
    }

    /// The engine stops here.
    pub fn refused(
        id: &'static str,
        summary: &str,
        evidence: String,
        remedy: &str,
        stop: Stop,
    ) -> Self {
        let refused = Self::of(id, CheckStatus::Refused, summary, evidence, remedy);
        Self { stops: vec![stop], ..refused }
    }
}

/// Which way the engine takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// A batch of its own after the last one.
    New {
        /// The last failed batch that it marks as committed first.
        skipped: Option<BatchId>,
    },
    /// An unfinished repartition to the same count goes on.
    Resume(BatchId),
}

/// The way that the engine takes past the last batch, where it gets so far.
pub fn course(logs: &LogFacts, request: &Request) -> Course {
    let (Some(last), Some(committed)) = (logs.last_offset, logs.last_commit) else {
        return Course::New { skipped: None };
    };
    if last == committed {
        return Course::New { skipped: None };
    }
    if let Some((_, to)) = repartition(logs, last) {
        return if to == request.to { Course::Resume(last) } else { Course::New { skipped: None } };
    }
    let skips = request.sinks == Sinks::SkipFailedBatches && last > committed;
    Course::New { skipped: skips.then_some(last) }
}

/// The batch that the engine writes.
pub fn new_batch(facts: &Facts, request: &Request) -> Option<BatchId> {
    match course(&facts.logs, request) {
        Course::Resume(batch) => Some(batch),
        Course::New { .. } => facts.logs.last_offset.map(|last| BatchId(last.0.saturating_add(1))),
    }
}
