//! The report behind `statetop plan` and the what-if screen.

use serde::Serialize;

use super::Grade;
use crate::analysis::consequences::{Consequences, FORMULAS};
use crate::analysis::layout::{CurvePoint, Layout};
use crate::analysis::verdict::Verdict;
use crate::analysis::{Recommendation, Skew};
use crate::diagnosis::Finding;
use crate::units::{BatchId, Bytes, OperatorId, PartitionId};

/// What another partition count would do to an operator's state.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanReport {
    /// The checkpoint as the operator named it.
    pub checkpoint: String,
    /// The batch whose result this is.
    pub batch: Option<BatchId>,
    /// The stateful operator.
    pub operator: OperatorId,
    /// Spark's name for it.
    pub operator_name: String,
    /// The stores whose rows are counted.
    pub stores: Vec<String>,
    /// The count in force.
    pub from: u32,
    /// The count in question.
    pub to: u32,
    /// Different grouping keys.
    pub keys: u64,
    /// Where the rows come from: `exact`, or `unknown` when some partition could not be read.
    pub grade: Grade,
    /// Whether reading was given up: the numbers are of the partitions read until then.
    pub partial: bool,
    /// Partitions that could not be read: their keys are in neither layout.
    pub unreadable: Vec<PartitionId>,
    /// How it is now.
    pub before: LayoutReport,
    /// How it would be.
    pub after: LayoutReport,
    /// Whether that helps, and why.
    pub verdict: Verdict,
    /// The rows' spread at several counts, by count.
    pub curve: Vec<CurvePoint>,
    /// The count to choose; `None` when no curve was asked for.
    pub recommended: Option<u32>,
    /// Why that one.
    pub recommendation: Option<Recommendation>,
    /// What the count costs.
    pub consequences: ConsequencesReport,
    /// What the operator should know, most severe first.
    pub findings: Vec<Finding>,
}

/// The partitions at one count.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayoutReport {
    /// How even they are.
    pub skew: Skew,
    /// One per partition `0..n`, in order.
    pub partitions: Vec<PartitionLoad>,
}

/// What one partition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PartitionLoad {
    /// Its id.
    pub partition: PartitionId,
    /// Its rows.
    pub rows: u64,
    /// Bytes of their keys and values, before compression.
    pub bytes: Bytes,
}

/// What a count costs, with the formulas.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConsequencesReport {
    /// The numbers.
    #[serde(flatten)]
    pub numbers: Consequences,
    /// Each number's formula, by its name.
    pub formulas: serde_json::Map<String, serde_json::Value>,
}

impl From<&Layout> for LayoutReport {
    fn from(layout: &Layout) -> Self {
        let loads = (0..).map(PartitionId).zip(&layout.partitions);
        let partitions = loads.map(|(partition, load)| PartitionLoad {
            partition,
            rows: load.rows,
            bytes: Bytes(load.bytes),
        });
        Self { skew: layout.skew(), partitions: partitions.collect() }
    }
}

impl From<Consequences> for ConsequencesReport {
    fn from(numbers: Consequences) -> Self {
        let formulas =
            FORMULAS.iter().map(|(name, formula)| ((*name).to_owned(), (*formula).into()));
        Self { numbers, formulas: formulas.collect() }
    }
}
