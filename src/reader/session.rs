//! The logs and the catalog of one batch, and the stores that can be read at it.

use super::ReadError;
use super::build::Facts;
use crate::checkpoint::Checkpoint;
use crate::report::Provider;
use crate::state::catalog::{JOIN_STORES, OperatorEntry, StoreEntry};
use crate::state::files::Target;
use crate::state::lists::ListLayout;
use crate::state::rocks::MergeDelimiter;
use crate::state::store::Store;
use crate::storage::Storage;
use crate::units::{BatchId, OperatorId, PartitionId};

/// One partition of one store, at the version to be read.
pub(super) struct Job<'a> {
    pub(super) store: &'a Store,
    pub(super) partition: PartitionId,
    pub(super) target: Target,
}

/// Which operators and stores are asked for; `None` for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted<'a> {
    pub(super) operator: Option<OperatorId>,
    pub(super) store: Option<&'a str>,
}

impl Wanted<'_> {
    pub(super) fn has(self, operator: OperatorId, store: &str) -> bool {
        self.operator.is_none_or(|wanted| wanted == operator)
            && self.store.is_none_or(|wanted| wanted == store)
    }

    /// Refuses an operator or store that the batch does not have, naming those it has.
    pub(super) fn check(self, operators: &[OperatorEntry]) -> Result<(), ReadError> {
        let list = |names: Vec<String>| match names.as_slice() {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        let chosen: Vec<&OperatorEntry> = operators
            .iter()
            .filter(|operator| self.operator.is_none_or(|wanted| wanted == operator.id))
            .collect();
        if let (Some(wanted), []) = (self.operator, chosen.as_slice()) {
            let have =
                operators.iter().map(|operator| format!("{} ({})", operator.id, operator.name));
            return Err(ReadError::NoSuchStore(format!(
                "there is no operator {wanted}; the stateful operators are: {}",
                list(have.collect())
            )));
        }
        let stores: Vec<&StoreEntry> =
            chosen.iter().flat_map(|operator| &operator.stores).collect();
        match self.store {
            Some(wanted) if !stores.iter().any(|store| store.name == wanted) => {
                let mut have: Vec<String> = stores.iter().map(|store| store.name.clone()).collect();
                have.dedup();
                Err(ReadError::NoSuchStore(format!(
                    "there is no store {wanted:?}; the stores are: {}",
                    list(have)
                )))
            }
            _ => Ok(()),
        }
    }
}

/// The batch to look at, refused when its result cannot be there.
pub(super) fn choose_batch(
    checkpoint: &Checkpoint,
    wanted: Option<BatchId>,
) -> Result<Option<BatchId>, ReadError> {
    let Some(wanted) = wanted else { return Ok(checkpoint.last_committed()) };
    if checkpoint.is_committed(wanted) {
        return Ok(Some(wanted));
    }
    let committed: Vec<BatchId> = checkpoint.committed_batches().collect();
    let have = match (committed.first(), committed.last()) {
        (Some(first), Some(last)) => {
            format!("the retained committed batches are {first} to {last}")
        }
        _ => "no batch is committed".to_owned(),
    };
    let problem = if checkpoint.planned_batches().any(|batch| batch == wanted) {
        format!("batch {wanted} is planned but not committed, so it has no result")
    } else {
        format!("batch {wanted} is not in the logs")
    };
    Err(ReadError::NoSuchBatch(format!("{problem}; {have}")))
}

/// The stores of all operators, ready to be read; none for a provider that is not read.
pub(super) fn stores(storage: &Storage, facts: &Facts<'_>) -> Vec<Store> {
    let (Some(confs), Some(provider)) = (facts.confs(), facts.provider()) else {
        return Vec::new();
    };
    if provider == Provider::Other {
        return Vec::new();
    }
    let delimiter = match confs.merge_operator_version() {
        2.. => MergeDelimiter::Nothing,
        _ => MergeDelimiter::Comma,
    };
    let lists = ListLayout { delimiter, checksums: confs.row_checksum() };
    let operators = facts.catalog.operators.iter();
    operators
        .flat_map(|operator| operator.stores.iter().map(move |store| (operator, store)))
        .map(|(operator, store)| Store {
            storage: storage.clone(),
            operator: operator.id,
            name: store.name.clone(),
            provider,
            lists,
            families: store.families.clone(),
            schema_families: store
                .schema
                .iter()
                .flat_map(|schema| &schema.families)
                .map(|family| family.name.clone())
                .collect(),
            single_partition: store.single_partition,
        })
        .collect()
}

/// One job per partition in force.
pub(super) fn jobs<'a>(facts: &Facts<'_>, store: &'a Store, batch: BatchId) -> Vec<Job<'a>> {
    (0..facts.partitions_to_read())
        .map(PartitionId)
        .map(|partition| Job {
            store,
            partition,
            target: target(facts.checkpoint, store, batch, partition),
        })
        .collect()
}

/// The version of a partition that a batch wrote.
pub(super) fn target(
    checkpoint: &Checkpoint,
    store: &Store,
    batch: BatchId,
    partition: PartitionId,
) -> Target {
    let ids = checkpoint.state_ids(batch, store.operator);
    let place = JOIN_STORES.iter().position(|name| *name == store.name).unwrap_or(0);
    let id = ids.and_then(|ids| ids.get(usize::try_from(partition.0).ok()?, place));
    Target { version: batch.version(), id: id.map(str::to_owned) }
}
