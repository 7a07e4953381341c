//! What the partitions of a store are compared by: one value for each, and their distribution.
//! Values come from the checkpoint's reports or from the tasks of the running query; whoever
//! draws or sorts need not know which.

use super::data::StoreData;
use super::heat::Metric;
use super::state::State;
use crate::analysis::Distribution;
use crate::units::{BatchId, PartitionId};

/// The values of a store's partitions by one metric.
#[derive(Debug, Clone)]
pub struct Compared {
    /// What they are.
    pub metric: Metric,
    /// How they are spread; `None` when none is known.
    pub distribution: Option<Distribution>,
    /// The batches they are of, where they are of tasks.
    pub span: Option<Span>,
    values: Vec<Option<u64>>,
}

/// Batches that values are added up over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The newest of them.
    pub to: BatchId,
    /// How many.
    pub batches: usize,
}

impl State {
    /// What the partitions of a store are compared by on the partitions screen.
    pub fn compared(&self, store: &StoreData) -> Compared {
        let metric = self.partitions.metric;
        let skew = store.spread.as_ref().map(|spread| &spread.skew);
        let partitions = store.partitions();
        let mut compared = Compared {
            metric,
            distribution: None,
            span: None,
            values: Vec::with_capacity(partitions.len()),
        };
        match metric {
            Metric::Rows => {
                compared.values.extend(partitions.iter().map(|part| part.rows));
                compared.distribution = skew.and_then(|skew| skew.rows.clone());
            }
            Metric::Bytes => {
                compared.values.extend(partitions.iter().map(|part| Some(part.bytes.0)));
                compared.distribution = skew.and_then(|skew| skew.bytes.clone());
            }
            Metric::SnapshotAge => {
                let version = self.data().and_then(|data| data.observation.partitions.version);
                compared.values.extend(partitions.iter().map(|part| {
                    Some(version?.0.saturating_sub(part.snapshot_version.map_or(0, |of| of.0)))
                }));
                compared.distribution = compared.spread_of(store);
            }
            Metric::Arriving | Metric::TaskTime | Metric::CommitTime | Metric::Memory => {
                let tasks = self.tasks(store.key.operator, store.partitions);
                let values = tasks.as_ref().map(|span| span.values(metric)).unwrap_or_default();
                let of = |id: PartitionId| values.get(&id).copied();
                compared.values.extend(partitions.iter().map(|part| of(part.partition)));
                compared.distribution = compared.spread_of(store);
                compared.span = tasks.and_then(|span| {
                    let (to, _) = *span.batches.first()?;
                    let batches = if metric == Metric::Memory { 1 } else { span.batches.len() };
                    Some(Span { to, batches })
                });
            }
        }
        compared
    }
}

impl Compared {
    fn spread_of(&self, store: &StoreData) -> Option<Distribution> {
        let ids = store.partitions().iter().map(|part| part.partition);
        Distribution::of(ids.zip(self.values.iter().copied()))
    }

    /// The value of the partition at a place of the store's list.
    pub fn at(&self, place: usize) -> Option<u64> {
        self.values.get(place).copied().flatten()
    }

    /// The value of a partition.
    pub fn of(&self, store: &StoreData, id: PartitionId) -> Option<u64> {
        self.at(store.place(id)?)
    }

    /// Each partition's place, id and value.
    pub fn each<'s>(
        &'s self,
        store: &'s StoreData,
    ) -> impl DoubleEndedIterator<Item = (PartitionId, Option<u64>)> {
        let parts = store.partitions().iter().enumerate();
        parts.map(|(place, part)| (part.partition, self.at(place)))
    }

    /// The partition with the greatest value, the lowest id among equals.
    pub fn hottest(&self, store: &StoreData) -> Option<PartitionId> {
        self.each(store).rev().max_by_key(|(_, value)| *value).map(|(id, _)| id)
    }
}
