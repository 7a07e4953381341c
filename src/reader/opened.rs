//! A checkpoint opened for reading rows: the logs of one batch, and its stores with all that is
//! needed to understand them.

use super::ReadError;
use super::build::{Facts, MAX_PARTITIONS};
use super::session::{self, Wanted};
use crate::checkpoint::{Checkpoint, Encoding};
use crate::diagnosis::{self, Finding};
use crate::report::Provider;
use crate::state::catalog::Catalog;
use crate::state::fault::StateFault;
use crate::state::files::Target;
use crate::state::reading::StoreReading;
use crate::state::store::Store;
use crate::storage::Storage;
use crate::units::{BatchId, OperatorId, PartitionId};

/// What rows are read from.
pub(super) struct Opened {
    pub(super) storage: Storage,
    pub(super) checkpoint: Checkpoint,
    pub(super) catalog: Catalog,
    /// The batch whose result is read.
    pub(super) batch: Option<BatchId>,
    /// The partition count in force for it.
    pub(super) partitions: u32,
    /// The stores that are wanted.
    pub(super) stores: Vec<StoreReading>,
}

impl Opened {
    /// # Errors
    /// When there is no such batch, operator or store, or no state that can be read.
    pub(super) fn new(
        storage: &Storage,
        checkpoint: Checkpoint,
        batch: Option<BatchId>,
        wanted: Wanted<'_>,
    ) -> Result<Self, ReadError> {
        let none = || ReadError::NoSuchBatch("no batch is committed, so there is no state".into());
        let batch = session::choose_batch(&checkpoint, batch)?.ok_or_else(none)?;
        let catalog = Catalog::read(storage, &checkpoint, batch);
        let facts = Facts::new(storage.address(), storage, &checkpoint, &catalog, Some(batch));
        if catalog.operators.is_empty() {
            return Err(ReadError::NoSuchStore("the query keeps no state".to_owned()));
        }
        wanted.check(&catalog.operators)?;
        let Some(confs) = facts.confs() else {
            return Err(ReadError::Unreadable(format!(
                "the offset entry of batch {batch} is missing or damaged, and with it how the \
                 state is stored; choose another batch"
            )));
        };
        if facts.provider() == Some(Provider::Other) {
            return Err(ReadError::Unreadable(format!(
                "the rows of {} cannot be read: expected RocksDBStateStoreProvider or \
                 HDFSBackedStateStoreProvider",
                confs.provider_class()
            )));
        }
        let partitions = facts.partitions_to_read();
        if partitions == 0 {
            return Err(ReadError::Unreadable(format!(
                "the offset entry of batch {batch} gives no partition count that can be: expected \
                 1 to {MAX_PARTITIONS}, found {}; choose another batch",
                confs.partitions().map_or_else(|| "none".to_owned(), |count| count.to_string())
            )));
        }
        let mut stores = Vec::new();
        for store in session::stores(storage, &facts) {
            let operator = catalog.operators.iter().find(|op| op.id == store.operator);
            let entry = operator.and_then(|op| op.stores.iter().find(|e| e.name == store.name));
            let (Some(operator), Some(entry)) = (operator, entry) else { continue };
            if wanted.has(store.operator, &store.name) {
                stores.push(StoreReading::new(store, operator, entry, confs));
            }
        }
        let storage = storage.clone();
        Ok(Self { storage, checkpoint, catalog, batch: Some(batch), partitions, stores })
    }

    /// The version of a partition that is read.
    pub(super) fn target(&self, store: &Store, partition: PartitionId) -> Target {
        let batch = self.batch.unwrap_or(BatchId(0));
        session::target(&self.checkpoint, store, batch, partition)
    }

    /// The operator whose stores these are, where they are of one only.
    pub(super) fn operator(&self) -> (OperatorId, String) {
        self.stores.first().map_or((OperatorId(0), String::new()), |reading| {
            (reading.store.operator, reading.operator_name.clone())
        })
    }

    /// Refuses stores of several operators.
    ///
    /// # Errors
    /// When there are several and none was chosen.
    pub(super) fn one_operator(&self) -> Result<(), ReadError> {
        let (first, _) = self.operator();
        if self.stores.iter().all(|reading| reading.store.operator == first) {
            return Ok(());
        }
        let operators = self.catalog.operators.iter();
        let names: Vec<String> =
            operators.map(|op| format!("--operator {} ({})", op.id, op.name)).collect();
        Err(ReadError::NoSuchStore(format!(
            "several operators keep state; choose one: {}",
            names.join(", ")
        )))
    }

    /// How rows lie in bytes.
    pub(super) fn encoding(&self) -> Encoding {
        let (_, name) = self.operator();
        let confs = self.batch.and_then(|batch| self.checkpoint.confs_at(batch));
        match confs {
            Some(confs) if name.starts_with("transformWithState") => confs.encoding(),
            _ => Encoding::UnsafeRow,
        }
    }

    /// Refuses a partition that there is not.
    pub(super) fn check_partition(&self, partition: PartitionId) -> Result<(), ReadError> {
        if partition.0 < self.partitions {
            return Ok(());
        }
        let last = self.partitions.saturating_sub(1);
        Err(ReadError::NoSuchStore(format!(
            "there is no partition {partition}; the partitions are 0 to {last}"
        )))
    }

    /// Findings of faults met on the way, and of schema files, most severe first.
    pub(super) fn findings(&self, faults: &[StateFault]) -> Vec<Finding> {
        let mut faults: Vec<StateFault> = faults.to_vec();
        let wanted = |fault: &&StateFault| {
            self.stores.iter().any(|reading| reading.store.operator == fault.operator)
        };
        faults.extend(self.catalog.state_faults.iter().filter(wanted).cloned());
        let mut findings = diagnosis::state_findings(&faults);
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        findings
    }
}
