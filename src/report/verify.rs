//! The report behind `statetop verify`.

use serde::Serialize;

use crate::units::{BatchId, Bytes, OperatorId, PartitionId};

/// What a check of everything came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifyReport {
    /// The checkpoint as the operator named it.
    pub checkpoint: String,
    /// The batch whose state was read.
    pub batch: Option<BatchId>,
    /// What it comes to.
    pub verdict: Soundness,
    /// Everything that is wrong, what concerns the batch's own state first.
    pub faults: Vec<VerifyFault>,
    /// How much was looked at.
    pub checked: Checked,
    /// Whether checking was given up: what was checked until then is in the report.
    pub partial: bool,
}

/// What a check comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Soundness {
    /// Nothing is wrong.
    Sound,
    /// Something is wrong; the state of the batch can be read all the same.
    Faults,
    /// Some of the batch's state cannot be read.
    Unreadable,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifyFault {
    /// Which kind, in kebab case, as findings have it.
    pub id: String,
    /// The file or directory, relative to the checkpoint; `None` when it is not about one.
    pub file: Option<String>,
    /// The operator; `None` for the logs.
    pub operator: Option<OperatorId>,
    /// The store.
    pub store: Option<String>,
    /// The partition; `None` for what all partitions share.
    pub partition: Option<PartitionId>,
    /// What was expected, what was found, and what follows.
    pub detail: String,
    /// What to do about it.
    pub remedy: String,
}

/// How much was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Checked {
    /// Keys that were read, decoded and hashed.
    pub keys: u64,
    /// Row checksums that were compared.
    pub row_checksums: u64,
    /// Files that were read to their end.
    pub files: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// File checksums that were compared.
    pub file_checksums: u64,
}
