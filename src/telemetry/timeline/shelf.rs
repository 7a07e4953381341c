//! What there is room for: things by age with their weights, of which the oldest goes first.

use std::collections::BTreeMap;

use super::query::{Place, QueryKey};
use crate::units::UnixMillis;

/// A batch of a query, in the order of age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Item {
    pub(super) aged: UnixMillis,
    pub(super) query: QueryKey,
    pub(super) run: super::run::RunKey,
    pub(super) batch: crate::units::BatchId,
}

impl Item {
    pub(super) fn place(self) -> Place {
        Place { run: self.run, batch: self.batch }
    }
}

/// Weights by age, and the most that they may come to.
#[derive(Debug, Clone)]
pub(super) struct Shelf {
    items: BTreeMap<Item, usize>,
    weight: usize,
    most: usize,
}

impl Shelf {
    pub(super) fn new(most: usize) -> Self {
        Self { items: BTreeMap::new(), weight: 0, most }
    }

    /// Puts something there, or says its new weight; 0 takes it away.
    pub(super) fn put(&mut self, item: Item, weight: usize) {
        let before =
            if weight == 0 { self.items.remove(&item) } else { self.items.insert(item, weight) };
        self.weight = self.weight.saturating_sub(before.unwrap_or(0)).saturating_add(weight);
    }

    /// Takes the oldest away while there is too much.
    pub(super) fn surplus(&mut self) -> Option<Item> {
        if self.weight <= self.most {
            return None;
        }
        let (item, weight) = self.items.pop_first()?;
        self.weight = self.weight.saturating_sub(weight);
        Some(item)
    }

    /// Takes away everything of a query.
    pub(super) fn clear(&mut self, query: QueryKey) {
        let gone = |item: &Item| item.query == query;
        let weight: usize =
            self.items.iter().filter(|(item, _)| gone(item)).map(|(_, weight)| weight).sum();
        self.items.retain(|item, _| !gone(item));
        self.weight = self.weight.saturating_sub(weight);
    }

    #[cfg(test)]
    pub(super) fn weight(&self) -> usize {
        self.weight
    }
}
