//! Keys and elements per family, counted row by row.

use std::ops::ControlFlow;

use super::Count;
use crate::report::{FamilyCount, Grade};
use crate::state::families::{Families, FamilyIndex, Mapping};
use crate::state::fault::FaultKind;
use crate::state::lists::ListLayout;
use crate::state::merge::{Found, Visit};
use crate::state::replay::Keep;
use crate::state::store::Store;
use crate::units::{Bytes, StateVersion};

/// How many elements a value has: 1 for a plain value, the length of a list. `None` for a
/// value that should be a list and is none.
type Elements = Option<u64>;

/// The counts of one partition so far.
pub(super) struct Tally<'a> {
    lists: ListLayout,
    /// What the store's schema tells of its families.
    told: &'a Families,
    kinds: Families,
    index: FamilyIndex,
    families: Vec<Family>,
    foreign_keys: u64,
    broken_lists: u64,
}

#[derive(Clone)]
struct Family {
    name: String,
    holds_lists: bool,
    rows: u64,
    elements: u64,
}

impl<'a> Tally<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self {
            lists: store.lists,
            told: &store.families,
            kinds: store.families.clone(),
            index: FamilyIndex::Single,
            families: Vec::new(),
            foreign_keys: 0,
            broken_lists: 0,
        }
    }

    fn elements<'v>(&self, key: &[u8], value: impl FnOnce() -> &'v [u8]) -> Elements {
        let family = self.index.position(key).and_then(|at| self.families.get(at));
        if family.is_some_and(|family| family.holds_lists) {
            self.lists.count(value())
        } else {
            Some(1)
        }
    }

    pub(super) fn finish(self, last_changed: Option<StateVersion>) -> (Count, Vec<FaultKind>) {
        let mut oddities = Vec::new();
        if self.foreign_keys > 0 {
            oddities.push(FaultKind::Rows(
                self.foreign_keys,
                "start with the id of no column family that the snapshot knows",
            ));
        }
        if self.broken_lists > 0 {
            oddities.push(FaultKind::Rows(
                self.broken_lists,
                "hold a value that is no list, in a family of lists",
            ));
        }
        let internal = |name: &str| self.kinds.is_internal(name);
        let own = self.families.iter().filter(|family| !internal(&family.name));
        let rows = own.map(|family| family.rows).sum();
        let whole_lists = self.broken_lists == 0;
        let families = self
            .families
            .iter()
            .map(|family| {
                let count = FamilyCount {
                    internal: internal(&family.name),
                    rows: Some(family.rows),
                    elements: (whole_lists || !family.holds_lists).then_some(family.elements),
                };
                (family.name.clone(), count)
            })
            .collect();
        let count = Count { rows: Some(rows), grade: Grade::Exact, families, last_changed };
        (count, oddities)
    }
}

impl Keep for Tally<'_> {
    type Kept = Elements;

    fn keep(&self, key: &[u8], value: &[u8]) -> Elements {
        self.elements(key, || value)
    }

    fn append(&self, older: Elements, newer: Elements) -> Elements {
        older?.checked_add(newer?)
    }

    fn cost(_: &Elements) -> Bytes {
        Bytes(0)
    }
}

impl Visit for Tally<'_> {
    fn families(&mut self, mapping: &Mapping) {
        let (index, names) = FamilyIndex::new(mapping);
        self.index = index;
        self.kinds = self.told.completed(mapping.keys());
        // Counts from before an older snapshot took over stay with their families.
        let before = std::mem::take(&mut self.families);
        self.families = names
            .into_iter()
            .map(|name| {
                let holds_lists = self.kinds.holds_lists(&name);
                let counted = before.iter().find(|family| family.name == name);
                let (rows, elements) = counted.map_or((0, 0), |old| (old.rows, old.elements));
                Family { name, holds_lists, rows, elements }
            })
            .collect();
    }

    fn row(&mut self, key: &[u8], value: Found<'_, Elements>) -> ControlFlow<()> {
        let elements = match value {
            Found::Below(value) => self.elements(key, value),
            Found::Above(elements) => *elements,
        };
        let family = self.index.position(key).and_then(|at| self.families.get_mut(at));
        match family {
            Some(family) => {
                family.rows += 1;
                match elements {
                    Some(elements) => family.elements += elements,
                    None => self.broken_lists += 1,
                }
            }
            None => self.foreign_keys += 1,
        }
        ControlFlow::Continue(())
    }
}
