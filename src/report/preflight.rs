//! The report behind `statetop preflight` and the diagnosis screen.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::units::BatchId;

/// What a resize of this checkpoint would come to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PreflightReport {
    /// The checkpoint as the operator named it.
    pub checkpoint: String,
    /// The count in force; `None` where no offset entry tells.
    pub from: Option<u32>,
    /// The count asked for.
    pub to: i64,
    /// The engine whose rules were followed.
    pub engine: String,
    /// How it was chosen; a sentence.
    pub engine_reason: String,
    /// The batch whose state would be read.
    pub batch: Option<BatchId>,
    /// What it comes to.
    pub outcome: PreflightOutcome,
    /// One sentence about it.
    pub summary: String,
    /// `CLASS.SUBCLASS` that the engine raises, the deepest useful one of its chain; `None` where
    /// it raises none, or an error without a class.
    pub error_class: Option<String>,
    /// The parameters of that error's message.
    pub parameters: BTreeMap<String, String>,
    /// What can be done next with this checkpoint as it is, best first.
    pub legal_next: Vec<LegalNext>,
    /// Every check, in the order in which they were made: first those of the engine, in its order.
    pub checks: Vec<PreflightCheck>,
    /// Whether checking was given up: the checks that are there are all that were made.
    pub partial: bool,
}

/// What a resize comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PreflightOutcome {
    /// The engine would do it, and the state would be right.
    Ready,
    /// The count is in force already.
    Noop,
    /// The engine would refuse and change nothing.
    Refused,
    /// The engine would fail after it has written, and leave a checkpoint that neither starts nor
    /// resizes until it is repaired.
    WouldBreak,
    /// The engine would succeed, and state or output would be lost.
    WouldLoseState,
    /// Not known; a check says what would make it known.
    Unknown,
}

impl PreflightOutcome {
    /// In words, as pages and screens show it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Noop => "no-op",
            Self::Refused => "refused",
            Self::WouldBreak => "would break",
            Self::WouldLoseState => "would lose state",
            Self::Unknown => "unknown",
        }
    }
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PreflightCheck {
    /// Which one, in kebab case.
    pub id: &'static str,
    /// How it went.
    pub status: CheckStatus,
    /// One line.
    pub summary: String,
    /// What was found, and where.
    pub evidence: String,
    /// What to do about it; of an unknown check, what would make it known. Empty when there is
    /// nothing to do.
    pub remedy: String,
}

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// Nothing is in the way.
    Passed,
    /// A resize goes through, and something should be known or done.
    Warning,
    /// A resize must not be begun.
    Refused,
    /// Not known; the remedy says what would make it known.
    Unknown,
}

/// Something that can be done next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LegalNext {
    /// What kind of thing.
    pub action: NextAction,
    /// The count, where it is about one.
    pub partitions: Option<u32>,
    /// In words.
    pub summary: String,
}

/// Kinds of things that can be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NextAction {
    /// Resize, to the count given or to any other.
    Resize,
    /// Start the query, and let it run a batch.
    Start,
    /// Repair the checkpoint, or restore it from a copy.
    Repair,
    /// Begin a new checkpoint.
    NewCheckpoint,
    /// Leave it as it is.
    Nothing,
}
