//! The report behind `statetop keys` and the keys screen.

use serde::Serialize;

use super::Grade;
use crate::diagnosis::Finding;
use crate::units::{BatchId, Bytes, OperatorId, PartitionId};

/// The heaviest keys of an operator, or of one of its partitions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeysReport {
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
    /// Partitions of the operator.
    pub partitions: u32,
    /// The one partition that was looked at; `None` for all.
    pub partition: Option<PartitionId>,
    /// The grouping columns that make a key here.
    pub by: Vec<String>,
    /// Whether those are all grouping columns.
    pub whole_key: bool,
    /// What keys are weighed by: `rows`, `bytes`, `updates` or `value:FIELD`.
    pub weigh: String,
    /// The batches whose updates are counted, first and last; `None` unless `weigh` is `updates`.
    pub updates_of: Option<(BatchId, BatchId)>,
    /// Whether all numbers of `keys` and `distinct` are exact.
    pub exact: bool,
    /// No weight is off by more than this; 0 when exact. Weights are never too high.
    pub error_bound: u64,
    /// The weight of all keys; always exact.
    pub total: u64,
    /// Rows of all keys.
    pub total_rows: u64,
    /// Bytes of all keys and values.
    pub total_bytes: Bytes,
    /// How many different keys there are.
    pub distinct: u64,
    /// How that is known.
    pub distinct_is: Known,
    /// Where the rows come from: `exact`, or `unknown` when some partition could not be read.
    pub grade: Grade,
    /// Whether reading was given up: the numbers are of the partitions read until then.
    pub partial: bool,
    /// Partitions that were read to the end.
    pub partitions_read: u32,
    /// Partitions that could not be read.
    pub unreadable: Vec<PartitionId>,
    /// Heaviest first.
    pub keys: Vec<KeyReport>,
    /// What the operator should know, most severe first.
    pub findings: Vec<Finding>,
    /// What else could have been asked: for screens, not part of the JSON.
    #[serde(skip)]
    pub offers: KeyOffers,
}

/// What keys of an operator can be told apart by and weighed by.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyOffers {
    /// All grouping columns.
    pub columns: Vec<String>,
    /// Whole numbers in its values, by their path.
    pub numbers: Vec<String>,
}

/// How a number is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    /// Counted.
    Exact,
    /// Estimated within about 2 %.
    Estimate,
    /// At least this much.
    AtLeast,
}

/// One of the heaviest keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeyReport {
    /// Its columns, by name, in order.
    pub key: serde_json::Value,
    /// Its rows; at least, where `error` is not 0.
    pub rows: u64,
    /// Their bytes; at least, where `error` is not 0.
    pub bytes: Bytes,
    /// Its weight.
    pub weight: u64,
    /// How much the true weight may lie above `weight`; 0 when exact.
    pub error: u64,
    /// Its part of `total`, 0 to 1.
    pub share: f64,
    /// Its part of the weight of its partition, where it lies in one only and that is known.
    pub share_of_partition: Option<f64>,
    /// Partitions that it lies in, by id; eight at most.
    pub partitions: Vec<PartitionId>,
    /// Whether there are more.
    pub more_partitions: bool,
}

impl From<crate::analysis::heavy::Distinct> for Known {
    fn from(distinct: crate::analysis::heavy::Distinct) -> Self {
        use crate::analysis::heavy::Distinct;
        match distinct {
            Distinct::Exact(_) => Self::Exact,
            Distinct::Estimate(_) => Self::Estimate,
            Distinct::AtLeast(_) => Self::AtLeast,
        }
    }
}
