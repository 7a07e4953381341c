//! One thing that an operator should know about a checkpoint.

use serde::Serialize;

/// How much a finding matters. Ordered: `Info < Warning < Error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing to do.
    Info,
    /// Will hurt under a condition that is not met now.
    Warning,
    /// Something is broken: data cannot be read, or the query cannot go on.
    Error,
}

/// The stable, kebab-case name of a kind of finding, as printed in JSON (`missing-sst`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct FindingId(pub &'static str);

impl FindingId {
    /// Where it is explained, relative to the repository: `docs/findings.md#missing-sst`.
    pub fn documentation(self) -> String {
        format!("docs/findings.md#{}", self.0)
    }
}

/// One thing that an operator should know, with the file it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which kind it is.
    pub id: FindingId,
    /// How much it matters.
    pub severity: Severity,
    /// One line, without a full stop: what is so.
    pub summary: String,
    /// What was expected, what was found, and what follows for the operator.
    pub detail: String,
    /// What to do about it.
    pub remedy: String,
    /// The file, relative to the checkpoint directory, or `None` when it is not about one file.
    pub file: Option<String>,
}
