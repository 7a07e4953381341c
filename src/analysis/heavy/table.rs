//! A table of keys and what they weigh, bounded in bytes.
//!
//! Exact until it is full. Then it forgets the lighter half of its keys and goes on as a
//! Misra-Gries summary with weights, as in Anderson et al., "A High-Performance Algorithm for
//! Identifying Frequent Items in Data Streams" (arXiv:1705.07001). The crates that have that
//! sketch count one number per key and are bounded in keys; here a key carries several
//! numbers, and keys of any length share a bound in bytes.
//!
//! Each key is counted exactly from its (last) admission on. What it may have had before is
//! `missed`: the weight that a forgotten key had at most when it came back. So the true weight
//! of a key lies in `weight ..= weight + missed`, and a key that is not here weighs at most
//! [`KeyTable::error`]. Forgetting takes a weight of `m` from at least half of `n` keys each
//! time the error grows by `m`, so with at least `n` keys held whenever it does, the error
//! never exceeds `2 · total weight / n`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::BuildHasher;

use datasketches::hll::{HllSketch, HllType};
use hashbrown::{DefaultHashBuilder, HashTable};

use super::{Distinct, HeavyKey, Measure, Weigh};
use crate::units::PartitionId;

/// Partitions that are remembered of a key.
pub(super) const PARTITIONS_LISTED: usize = 8;
/// Columns grow by an eighth, so that little of the budget is reserved and never used.
const GROWTH: usize = 8;
/// The fewest entries by which columns grow.
const LEAST_GROWTH: usize = 64;
/// A key longer than this part of the budget is not kept: it would push out all others.
const LONGEST_KEY: usize = 4;
/// 2^12 registers tell the number of forgotten keys within about 2 %.
const REGISTERS: u8 = 12;

/// A partition's list has an index into `lists`.
const LIST: u32 = 1 << 31;
/// There are more partitions than are listed.
const MORE: u32 = 1 << 30;
/// The partition id, or the index of a list.
const INDEX: u32 = MORE - 1;

#[derive(Debug)]
struct Entry {
    rows: u64,
    bytes: u64,
    /// Where its key begins in `keys`; it ends where the next one begins.
    key_at: u32,
    /// A partition id or the index of a list, with the flags above.
    seen_in: u32,
}

#[derive(Debug)]
struct List {
    ids: [u32; PARTITIONS_LISTED],
    len: u32,
}

/// See the module.
#[derive(Debug)]
pub(super) struct KeyTable {
    weigh: Weigh,
    budget: usize,
    index: HashTable<u32>,
    entries: Vec<Entry>,
    /// One per entry where the weight is neither rows nor bytes.
    weights: Vec<u64>,
    /// One per entry once anything has been forgotten.
    missed: Vec<u64>,
    keys: Vec<u8>,
    lists: Vec<List>,
    error: u64,
    /// All keys ever seen, from the first one that was forgotten on.
    seen: Option<HllSketch>,
    exact: bool,
}

impl KeyTable {
    /// An empty table that takes about `budget` bytes of memory at most.
    pub(super) fn new(weigh: Weigh, budget: usize) -> Self {
        Self {
            weigh,
            budget: budget.min(u32::MAX as usize),
            index: HashTable::new(),
            entries: Vec::new(),
            weights: Vec::new(),
            missed: Vec::new(),
            keys: Vec::new(),
            lists: Vec::new(),
            error: 0,
            seen: None,
            exact: true,
        }
    }

    /// Forgets everything but the memory.
    pub(super) fn clear(&mut self) {
        self.index.clear();
        self.entries.clear();
        self.weights.clear();
        self.missed.clear();
        self.keys.clear();
        self.lists.clear();
        self.error = 0;
        self.seen = None;
        self.exact = true;
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// What a key that is not in the table weighs at most.
    pub(super) fn error(&self) -> u64 {
        self.error
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.index.allocation_size()
            + self.entries.capacity() * size_of::<Entry>()
            + (self.weights.capacity() + self.missed.capacity()) * size_of::<u64>()
            + self.keys.capacity()
            + self.lists.capacity() * size_of::<List>()
    }

    /// How many different keys were added.
    pub(super) fn distinct(&self) -> Distinct {
        if self.exact {
            return Distinct::Exact(self.entries.len() as u64);
        }
        match &self.seen {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
            Some(seen) => Distinct::Estimate(seen.estimate().round().max(0.0) as u64),
            None => Distinct::AtLeast(self.entries.len() as u64),
        }
    }

    /// Adds to what a key has. `hash` is of the table's users' choice, the same for equal keys.
    pub(super) fn add(
        &mut self,
        hasher: &DefaultHashBuilder,
        hash: u64,
        key: &[u8],
        partition: PartitionId,
        more: Measure,
    ) {
        if let Some(&at) = self.index.find(hash, |at| self.key(*at) == Some(key)) {
            self.raise(at as usize, partition, more);
            return;
        }
        if let Some(seen) = &mut self.seen {
            seen.update(hash);
        }
        if self.make_room(hasher, key.len()) {
            self.admit(hasher, hash, key, partition, more);
        } else {
            self.start_estimating(hasher);
            if let Some(seen) = &mut self.seen {
                seen.update(hash);
            }
            self.error = self.error.saturating_add(self.weigh.of(more));
        }
    }

    fn raise(&mut self, at: usize, PartitionId(partition): PartitionId, more: Measure) {
        let Some(entry) = self.entries.get_mut(at) else { return };
        entry.rows = entry.rows.saturating_add(more.rows);
        entry.bytes = entry.bytes.saturating_add(more.bytes);
        if let Some(weight) = self.weights.get_mut(at) {
            *weight = weight.saturating_add(more.weight);
        }
        let seen_in = entry.seen_in;
        if seen_in != partition {
            let seen_in = self.also_in(seen_in, partition);
            if let Some(entry) = self.entries.get_mut(at) {
                entry.seen_in = seen_in;
            }
        }
    }

    /// `seen_in` with a partition more. Where there is no room for a list, only the fact that
    /// there are more is kept.
    fn also_in(&mut self, seen_in: u32, partition: u32) -> u32 {
        let index = seen_in & INDEX;
        if seen_in & LIST != 0 {
            let noted = self.lists.get_mut(index as usize).is_some_and(|list| list.note(partition));
            return if noted { seen_in } else { seen_in | MORE };
        }
        if index == partition {
            return seen_in;
        }
        if self.lists.len() == self.lists.capacity() {
            let growth = (self.lists.capacity() / GROWTH).max(LEAST_GROWTH);
            if self.memory() + growth * size_of::<List>() > self.budget {
                return seen_in | MORE;
            }
            self.lists.reserve_exact(growth);
        }
        let Some(at) = u32::try_from(self.lists.len()).ok().filter(|at| *at <= INDEX) else {
            return seen_in | MORE;
        };
        let mut list = List { ids: [0; PARTITIONS_LISTED], len: 0 };
        list.note(index);
        list.note(partition);
        self.lists.push(list);
        LIST | (seen_in & MORE) | at
    }

    fn admit(
        &mut self,
        hasher: &DefaultHashBuilder,
        hash: u64,
        key: &[u8],
        PartitionId(partition): PartitionId,
        more: Measure,
    ) {
        let (Ok(at), Ok(key_at)) =
            (u32::try_from(self.entries.len()), u32::try_from(self.keys.len()))
        else {
            return;
        };
        let step = self.growth();
        if self.entries.len() == self.entries.capacity() {
            self.entries.reserve_exact(step);
        }
        if self.keys.len() + key.len() > self.keys.capacity() {
            self.keys.reserve_exact(self.key_growth(key.len()));
        }
        self.entries.push(Entry {
            rows: more.rows,
            bytes: more.bytes,
            key_at,
            seen_in: partition & INDEX,
        });
        self.keys.extend_from_slice(key);
        if self.weigh == Weigh::Given {
            push_exact(&mut self.weights, more.weight, step);
        }
        if !self.exact {
            push_exact(&mut self.missed, self.error, step);
        }
        let (entries, keys) = (&self.entries, &self.keys);
        self.index.insert_unique(hash, at, |at| {
            key_of(entries, keys, *at).map_or(0, |key| hasher.hash_one(key))
        });
    }

    /// Forgets until a key of `length` bytes fits; `false` when it is too long.
    fn make_room(&mut self, hasher: &DefaultHashBuilder, length: usize) -> bool {
        if length > self.budget / LONGEST_KEY {
            return false;
        }
        while !self.has_room(length) {
            if self.entries.is_empty() {
                return false;
            }
            self.forget(hasher);
        }
        true
    }

    fn has_room(&self, length: usize) -> bool {
        let mut more = 0;
        if self.entries.len() == self.entries.capacity() {
            let columns = usize::from(self.weigh == Weigh::Given) + usize::from(!self.exact);
            more += self.growth() * (size_of::<Entry>() + columns * size_of::<u64>());
        }
        if self.keys.len() + length > self.keys.capacity() {
            more += self.key_growth(length);
        }
        if self.index.len() == self.index.capacity() {
            // The old and the new one are there together for a moment.
            more += self.index.allocation_size() * 2;
        }
        more == 0 || self.memory() + more <= self.budget
    }

    fn growth(&self) -> usize {
        (self.entries.capacity() / GROWTH).max(LEAST_GROWTH)
    }

    fn key_growth(&self, length: usize) -> usize {
        (self.keys.capacity() / GROWTH).max(length).max(LEAST_GROWTH)
    }

    /// Forgets the keys that weigh no more than the median, at least half of them.
    fn forget(&mut self, hasher: &DefaultHashBuilder) {
        self.start_estimating(hasher);
        let mut most: Vec<u64> = (0..self.entries.len()).map(|at| self.most(at)).collect();
        let middle = most.len() / 2;
        if most.is_empty() {
            return;
        }
        let (_, median, _) = most.select_nth_unstable(middle);
        self.error = self.error.max(*median);
        self.keep_heavier_than(self.error);
        self.index.clear();
        let (entries, keys) = (&self.entries, &self.keys);
        let hash = |at: &u32| key_of(entries, keys, *at).map_or(0, |key| hasher.hash_one(key));
        for at in (0_u32..).take(entries.len()) {
            self.index.insert_unique(hash(&at), at, hash);
        }
    }

    /// Moves what is kept to the front of each column.
    fn keep_heavier_than(&mut self, error: u64) {
        let (mut kept, mut keys_end) = (0, 0);
        let mut lists = Vec::new();
        for at in 0..self.entries.len() {
            if self.most(at) <= error {
                continue;
            }
            let range = range_of(&self.entries, self.keys.len(), at);
            let length = range.len();
            self.keys.copy_within(range, keys_end);
            if let Some(entry) = self.entries.get_mut(at) {
                // Bounded by the old offset, which fits.
                entry.key_at = u32::try_from(keys_end).unwrap_or(u32::MAX);
                if entry.seen_in & LIST != 0
                    && let Some(list) = self.lists.get((entry.seen_in & INDEX) as usize)
                {
                    let index = u32::try_from(lists.len()).unwrap_or(INDEX);
                    entry.seen_in = (entry.seen_in & !INDEX) | index;
                    lists.push(List { ids: list.ids, len: list.len });
                }
            }
            keys_end += length;
            self.entries.swap(kept, at);
            if !self.weights.is_empty() {
                self.weights.swap(kept, at);
            }
            self.missed.swap(kept, at);
            kept += 1;
        }
        self.entries.truncate(kept);
        self.weights.truncate(kept);
        self.missed.truncate(kept);
        self.keys.truncate(keys_end);
        self.lists = lists;
    }

    /// From here on keys may be missing: their number is estimated, and what they missed kept.
    fn start_estimating(&mut self, hasher: &DefaultHashBuilder) {
        if !self.exact {
            return;
        }
        self.exact = false;
        self.missed = vec![0; self.entries.len()];
        self.seen = HllSketch::new(REGISTERS, HllType::Hll8).ok();
        if let Some(seen) = &mut self.seen {
            for at in (0_u32..).take(self.entries.len()) {
                if let Some(key) = key_of(&self.entries, &self.keys, at) {
                    seen.update(hasher.hash_one(key));
                }
            }
        }
    }

    fn key(&self, at: u32) -> Option<&[u8]> {
        key_of(&self.entries, &self.keys, at)
    }

    fn weight(&self, at: usize) -> u64 {
        let entry = self.entries.get(at);
        match self.weigh {
            Weigh::Rows => entry.map_or(0, |entry| entry.rows),
            Weigh::Bytes => entry.map_or(0, |entry| entry.bytes),
            Weigh::Given => self.weights.get(at).copied().unwrap_or(0),
        }
    }

    fn missed(&self, at: usize) -> u64 {
        self.missed.get(at).copied().unwrap_or(0)
    }

    /// What a key weighs at most.
    fn most(&self, at: usize) -> u64 {
        self.weight(at).saturating_add(self.missed(at))
    }

    /// The heaviest `top` keys, heaviest first, ties by key.
    pub(super) fn top(&self, top: usize) -> Vec<HeavyKey> {
        // The lightest of the heaviest so far is on top, and most keys are compared with it only.
        let mut heap = BinaryHeap::new();
        for at in (0_u32..).take(self.entries.len()) {
            let candidate = Reverse((self.weight(at as usize), Reverse(self.key(at)), at));
            if heap.len() < top {
                heap.push(candidate);
            } else if let Some(mut lightest) = heap.peek_mut()
                && candidate < *lightest
            {
                *lightest = candidate;
            }
        }
        let order = heap.into_sorted_vec();
        order.into_iter().filter_map(|Reverse((.., at))| self.heavy(at)).collect()
    }

    fn heavy(&self, at: u32) -> Option<HeavyKey> {
        let key = self.key(at)?.into();
        let at = at as usize;
        let entry = self.entries.get(at)?;
        let index = entry.seen_in & INDEX;
        let list = self.lists.get(index as usize).filter(|_| entry.seen_in & LIST != 0);
        let mut partitions: Vec<PartitionId> = match list {
            Some(list) => {
                list.ids.iter().take(list.len as usize).copied().map(PartitionId).collect()
            }
            None => vec![PartitionId(index)],
        };
        partitions.sort_unstable();
        Some(HeavyKey {
            key,
            rows: entry.rows,
            bytes: entry.bytes,
            weight: self.weight(at),
            missed: self.missed(at),
            partitions,
            more_partitions: entry.seen_in & MORE != 0,
        })
    }
}

impl List {
    /// Lists a partition, in order of ids. `false` when one is not listed because of it: with too
    /// many, those with the least ids stay, in whatever order partitions are read.
    fn note(&mut self, partition: u32) -> bool {
        let len = self.len as usize;
        let listed = self.ids.get(..len).unwrap_or_default();
        // Partitions are mostly read in order, and a key's rows in one follow each other.
        match listed.last() {
            Some(last) if *last == partition => return true,
            Some(last) if *last < partition && len == PARTITIONS_LISTED => return false,
            _ => {}
        }
        let Err(place) = listed.binary_search(&partition) else { return true };
        let full = len == PARTITIONS_LISTED;
        let shifted = place..len.min(PARTITIONS_LISTED - 1);
        if place < PARTITIONS_LISTED {
            self.ids.copy_within(shifted, place + 1);
        }
        if let Some(free) = self.ids.get_mut(place) {
            *free = partition;
        }
        self.len += u32::from(!full);
        !full
    }
}

fn push_exact(column: &mut Vec<u64>, value: u64, step: usize) {
    if column.len() == column.capacity() {
        column.reserve_exact(step);
    }
    column.push(value);
}

fn range_of(entries: &[Entry], end: usize, at: usize) -> std::ops::Range<usize> {
    let start = entries.get(at).map_or(end, |entry| entry.key_at as usize);
    let end = entries.get(at + 1).map_or(end, |next| next.key_at as usize);
    start..end
}

fn key_of<'a>(entries: &[Entry], keys: &'a [u8], at: u32) -> Option<&'a [u8]> {
    keys.get(range_of(entries, keys.len(), at as usize))
}
