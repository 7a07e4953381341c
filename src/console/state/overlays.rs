//! What is laid over a screen: windows, and lines that are typed.

use crate::diagnosis::{Finding, FindingId};
use crate::reader::HistoryRequest;
use crate::units::PartitionId;

/// Something laid over the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    /// What it shows.
    pub subject: Subject,
    /// Lines scrolled off at the top.
    pub scroll: usize,
}

/// What an overlay shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// All keys.
    Help,
    /// One finding in full.
    Finding(FindingKey),
    /// Everything known about the selected partition.
    Partition(PartitionId),
    /// What partitions can be compared by.
    Metrics,
    /// Everything known about the chosen batch.
    Batch,
    /// How the sources of the running query are doing.
    Sources,
    /// A row of the page, by its place, in full.
    Row(usize),
    /// What the last batches did to the key of a row.
    History(HistoryRequest),
}

/// A line that is typed, other than a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// What it is for.
    pub kind: PromptKind,
    /// What was typed.
    pub text: String,
    /// What is wrong with it.
    pub error: Option<String>,
}

/// What a typed line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptKind {
    /// A condition on rows.
    Where,
    /// The columns that make a key.
    By,
    /// A partition count.
    Count,
    /// Nodes of the cluster.
    Nodes,
}

/// Names a finding across observations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingKey {
    id: FindingId,
    file: Option<String>,
    summary: String,
}

impl FindingKey {
    /// The name of a finding.
    pub fn of(finding: &Finding) -> Self {
        let summary = match finding.file {
            Some(_) => finding.summary.clone(),
            None => without_figures(&finding.summary),
        };
        Self { id: finding.id, file: finding.file.clone(), summary }
    }

    /// Whether it is the name of that finding.
    pub fn names(&self, finding: &Finding) -> bool {
        self.id == finding.id && *self == Self::of(finding)
    }
}

/// A summary without its figures, which change from batch to batch; the number of an operator
/// stays.
fn without_figures(summary: &str) -> String {
    let mut before = "";
    let words = summary.split(' ').map(|word| {
        let figure = word.starts_with(|c: char| c.is_ascii_digit()) && before != "operator";
        before = word;
        if figure { "#" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::Severity;

    fn finding(summary: &str, file: Option<&str>) -> Finding {
        Finding {
            id: FindingId("slow-task"),
            severity: Severity::Warning,
            summary: summary.to_owned(),
            detail: String::new(),
            remedy: String::new(),
            file: file.map(str::to_owned),
        }
    }

    #[test]
    fn a_finding_keeps_its_name_while_its_figures_change() {
        let key = FindingKey::of(&finding("operator 0: 2.8 times the mean", None));
        assert!(key.names(&finding("operator 0: 11.4 times the mean", None)));
        assert!(!key.names(&finding("operator 1: 2.8 times the mean", None)));
        let key = FindingKey::of(&finding("batch 5 is missing", Some("offsets/5")));
        assert!(!key.names(&finding("batch 6 is missing", Some("offsets/6"))));
    }
}
