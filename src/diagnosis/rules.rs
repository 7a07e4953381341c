//! Which findings an operator wants to hear of, and how loudly.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{Finding, Severity};

/// What the operator has decided about kinds of findings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Rules {
    /// Kinds that are known and accepted: they are left out.
    pub allow: BTreeSet<String>,
    /// Kinds that are never more than a warning.
    pub warn: BTreeSet<String>,
}

impl Rules {
    /// Nothing is decided.
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.warn.is_empty()
    }

    /// These rules and `others`.
    #[must_use]
    pub fn and(&self, others: &Self) -> Self {
        Self { allow: &self.allow | &others.allow, warn: &self.warn | &others.warn }
    }

    /// The findings that are left, most severe first, and how many are left out.
    pub fn apply(&self, findings: Vec<Finding>) -> (Vec<Finding>, u64) {
        let all = findings.len();
        let mut left: Vec<Finding> = findings
            .into_iter()
            .filter(|finding| !self.allow.contains(finding.id.0))
            .map(|mut finding| {
                if self.warn.contains(finding.id.0) {
                    finding.severity = finding.severity.min(Severity::Warning);
                }
                finding
            })
            .collect();
        left.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        let out = all.saturating_sub(left.len()) as u64;
        (left, out)
    }
}

#[cfg(test)]
mod tests {
    use super::super::FindingId;
    use super::*;

    #[test]
    fn what_is_allowed_is_left_out_and_what_is_to_warn_is_no_error() {
        let finding = |id, severity| Finding {
            id: FindingId(id),
            severity,
            summary: String::new(),
            detail: String::new(),
            remedy: String::new(),
            file: None,
        };
        let rules = Rules {
            allow: BTreeSet::from(["late-rows".to_owned()]),
            warn: BTreeSet::from(["missing-sst".to_owned(), "batch-gap".to_owned()]),
        };
        let (left, out) = rules.apply(vec![
            finding("missing-sst", Severity::Error),
            finding("late-rows", Severity::Warning),
            finding("batch-gap", Severity::Info),
            finding("query-failed", Severity::Error),
        ]);
        let left: Vec<_> = left.iter().map(|finding| (finding.id.0, finding.severity)).collect();
        let expected = [
            ("query-failed", Severity::Error),
            ("missing-sst", Severity::Warning),
            ("batch-gap", Severity::Info),
        ];
        assert_eq!((left.as_slice(), out), (&expected[..], 1));
    }
}
