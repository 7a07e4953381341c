//! The report behind `statetop findings`: what the checkpoint and its running query show together.

use serde::Serialize;

use crate::diagnosis::{Finding, Rules, Severity};

/// All findings of a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FindingsReport {
    /// The checkpoint as the operator named it.
    pub checkpoint: String,
    /// The query's id from `metadata`.
    pub query_id: Option<String>,
    /// What the sources told of it.
    pub query: QueryWord,
    /// Microbatches that they told.
    pub batches: u64,
    /// The findings, most severe first.
    pub findings: Vec<FindingLine>,
    /// How many are left out because the configuration allows them.
    pub allowed: u64,
}

/// Whether the sources told of the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryWord {
    /// No source was named: only the checkpoint was looked at.
    NotAsked,
    /// They told of it, by its id.
    Same,
    /// They told of one query, and no id tells whether it is this one.
    Only,
    /// They told of no query.
    None,
    /// They told of others only.
    Others,
    /// They told of several, and no id tells which is this one.
    Unclear,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FindingLine {
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
    /// Where it is explained, relative to the repository.
    pub documentation: String,
}

impl FindingsReport {
    /// The report of these findings, as far as `rules` let them through.
    pub fn new(
        checkpoint: String,
        query_id: Option<String>,
        query: (QueryWord, u64),
        findings: Vec<Finding>,
        rules: &Rules,
    ) -> Self {
        let (left, allowed) = rules.apply(findings);
        let line =
            |finding: Finding| FindingLine { documentation: finding.id.documentation(), finding };
        Self {
            checkpoint,
            query_id,
            query: query.0,
            batches: query.1,
            findings: left.into_iter().map(line).collect(),
            allowed,
        }
    }

    /// Whether any is an error.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|line| line.finding.severity == Severity::Error)
    }
}
