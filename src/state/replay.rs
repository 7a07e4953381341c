//! What a run of changelogs (or HDFS deltas) does to the store below it, kept in memory
//! within a budget.
//!
//! The overlay holds, per key that the logs touch, what is left of their changes. When the
//! keys of a partition outgrow the budget, the caller works in several passes, each over
//! the keys of one hash class, so that memory stays bounded however long the logs are.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::{self, Read};
use std::ops::Bound;

// Its default hasher is several times faster than the standard one on short keys, and every
// key of a store is looked up.
use hashbrown::HashMap;

use super::rocks::changelog::{Reader, Record};
use crate::units::{Bytes, StateVersion};

/// What an entry costs besides its key: the map's slot and the allocation.
const ENTRY_OVERHEAD: u64 = 80;
/// Bytes of checksum before the key of a delete, when rows carry checksums.
const DELETE_CHECKSUM: usize = 4;

/// The keys of one pass: those whose hash modulo `of` is `index`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// Which pass, `0..of`.
    pub index: u64,
    /// How many passes there are.
    pub of: u64,
}

impl Pass {
    /// Whether this pass looks at `key`.
    pub fn covers(self, key: &[u8]) -> bool {
        // A fixed hasher: every pass must class a key alike.
        self.of == 1
            || BuildHasherDefault::<DefaultHasher>::default().hash_one(key) % self.of == self.index
    }
}

/// How many elements a value has: 1 for a plain value, the length of a list. `None` for a
/// value that should be a list and is none.
pub type Elements = Option<u64>;

fn sum(a: Elements, b: Elements) -> Elements {
    a?.checked_add(b?)
}

/// What is left of the changes to one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The key has this value now, whatever lies below.
    Put(Elements),
    /// The key is gone.
    Delete,
    /// This is appended to whatever lies below.
    Merge(Elements),
}

/// The changes of one pass.
#[derive(Debug, Default)]
pub struct Overlay {
    changes: HashMap<Box<[u8]>, Change>,
    /// Ranges removed from the store below, disjoint: start (inclusive) to end (exclusive).
    removed: BTreeMap<Box<[u8]>, Box<[u8]>>,
    bytes: u64,
    last_changed: Option<StateVersion>,
}

/// Why a log could not be taken into the overlay.
#[derive(Debug)]
pub enum ReplayError {
    /// The file is damaged.
    Io(io::Error),
    /// The overlay would outgrow its budget: use more passes.
    OverBudget,
}

impl From<io::Error> for ReplayError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Overlay {
    /// Takes in the records of one log, in order. `version` is the one that a changelog or
    /// delta makes; `None` for a full snapshot, whose records are no changes.
    ///
    /// `elements` counts the elements of a value, given its key and value.
    ///
    /// # Errors
    /// When the file is damaged or the budget exceeded.
    pub fn apply<R: Read>(
        &mut self,
        reader: &mut Reader<R>,
        version: Option<StateVersion>,
        checksums: bool,
        pass: Pass,
        budget: Bytes,
        elements: impl Fn(&[u8], &[u8]) -> Elements,
    ) -> Result<(), ReplayError> {
        while let Some(record) = reader.record()? {
            self.last_changed = self.last_changed.max(version);
            match record {
                Record::Put { key, value } => {
                    if pass.covers(key) {
                        self.set(key, Change::Put(elements(key, value)));
                    }
                }
                Record::Delete { key } => {
                    let key =
                        if checksums { key.get(DELETE_CHECKSUM..).unwrap_or(key) } else { key };
                    if pass.covers(key) {
                        self.set(key, Change::Delete);
                    }
                }
                Record::Merge { key, value } => {
                    if pass.covers(key) {
                        self.merge(key, elements(key, value));
                    }
                }
                Record::DeleteRange { start, end } => {
                    let end = if checksums { unwrap_checksum(end) } else { end };
                    self.remove_range(start, end);
                }
            }
            if self.bytes > budget.0 {
                return Err(ReplayError::OverBudget);
            }
        }
        Ok(())
    }

    /// What became of a key that exists below: its elements when the logs leave it alone.
    ///
    /// `below` counts the elements it has below. A key that the overlay has a say about is
    /// reported by [`Self::drain`] instead, so that it is counted once.
    pub fn resolve(&mut self, key: &[u8], below: impl FnOnce() -> Elements) -> Option<Elements> {
        if self.changes.is_empty() && self.removed.is_empty() {
            return Some(below());
        }
        if let Some(change) = self.changes.get_mut(key) {
            if let Change::Merge(appended) = *change {
                *change = Change::Put(sum(below(), appended));
            }
            return None;
        }
        (!self.is_removed(key)).then(below)
    }

    /// The keys that exist by the overlay's say, with their elements.
    pub fn drain(self) -> impl Iterator<Item = (Box<[u8]>, Elements)> {
        self.changes.into_iter().filter_map(|(key, change)| match change {
            Change::Put(elements) | Change::Merge(elements) => Some((key, elements)),
            Change::Delete => None,
        })
    }

    /// The highest version that changed anything.
    pub fn last_changed(&self) -> Option<StateVersion> {
        self.last_changed
    }

    fn set(&mut self, key: &[u8], change: Change) {
        if let Some(old) = self.changes.get_mut(key) {
            *old = change;
        } else {
            self.bytes += key.len() as u64 + ENTRY_OVERHEAD;
            self.changes.insert(key.into(), change);
        }
    }

    fn merge(&mut self, key: &[u8], appended: Elements) {
        let change = match self.changes.get(key) {
            Some(Change::Put(elements)) => Change::Put(sum(*elements, appended)),
            Some(Change::Merge(elements)) => Change::Merge(sum(*elements, appended)),
            Some(Change::Delete) => Change::Put(appended),
            None if self.is_removed(key) => Change::Put(appended),
            None => Change::Merge(appended),
        };
        self.set(key, change);
    }

    fn remove_range(&mut self, start: &[u8], end: &[u8]) {
        let inside = |key: &[u8]| key >= start && key < end;
        self.changes.retain(|key, _| !inside(key));
        let (mut start, mut end): (Box<[u8]>, Box<[u8]>) = (start.into(), end.into());
        // Ranges that overlap or touch become one, so that a look-up is one step.
        while let Some((s, e)) = self.removed.range(..=end.clone()).next_back() {
            if **e < *start {
                break;
            }
            let (s, e) = (s.clone(), e.clone());
            self.removed.remove(&s);
            start = start.min(s);
            end = end.max(e);
        }
        self.bytes += (start.len() + end.len()) as u64 + ENTRY_OVERHEAD;
        if start < end {
            self.removed.insert(start, end);
        }
    }

    fn is_removed(&self, key: &[u8]) -> bool {
        let below = (Bound::Unbounded, Bound::Included(key));
        self.removed.range::<[u8], _>(below).next_back().is_some_and(|(_, end)| key < &**end)
    }
}

/// The end key of a range with row checksums, wrapped as a value: checksum and length first.
fn unwrap_checksum(wrapped: &[u8]) -> &[u8] {
    wrapped.get(8..).unwrap_or(wrapped)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Pass = Pass { index: 0, of: 1 };

    fn log(records: &[(u8, &str, Option<&str>)]) -> Vec<u8> {
        let part =
            |bytes: &[u8]| [&u32::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat();
        let mut out = b"\x00\x02v2".to_vec();
        for (kind, key, value) in records {
            out.push(*kind);
            out.extend(part(key.as_bytes()));
            out.extend(value.map_or(vec![0xff; 4], |value| part(value.as_bytes())));
        }
        out.push(0);
        out
    }

    fn overlay(logs: &[Vec<u8>], pass: Pass, budget: u64) -> Result<Overlay, ReplayError> {
        let mut overlay = Overlay::default();
        for (version, log) in (1..).zip(logs) {
            let mut reader = Reader::changelog(log.as_slice())?;
            let count = |_: &[u8], value: &[u8]| Some(value.len() as u64);
            let version = Some(StateVersion(version));
            overlay.apply(&mut reader, version, false, pass, Bytes(budget), count)?;
        }
        Ok(overlay)
    }

    /// Counts the keys and elements of `below` with the logs on top, as a census does.
    fn result(below: &[(&str, u64)], logs: &[Vec<u8>], passes: u64) -> Vec<(String, u64)> {
        let mut rows = Vec::new();
        for index in 0..passes {
            let pass = Pass { index, of: passes };
            let mut overlay = overlay(logs, pass, 1 << 20).unwrap();
            for (key, elements) in below.iter().filter(|(key, _)| pass.covers(key.as_bytes())) {
                if let Some(elements) = overlay.resolve(key.as_bytes(), || Some(*elements)) {
                    rows.push(((*key).to_owned(), elements.unwrap()));
                }
            }
            rows.extend(
                overlay
                    .drain()
                    .map(|(key, n)| (String::from_utf8(key.to_vec()).unwrap(), n.unwrap())),
            );
        }
        rows.sort();
        rows
    }

    fn expected(rows: &[(&str, u64)]) -> Vec<(String, u64)> {
        rows.iter().map(|(key, n)| ((*key).to_owned(), *n)).collect()
    }

    #[test]
    fn later_records_win_and_nothing_counts_twice() {
        let below = [("a", 1), ("b", 1), ("c", 3), ("m1", 1), ("m2", 1), ("z", 1)];
        let logs = [
            log(&[
                (1, "a", Some("xx")),
                (0x10, "b", None),
                (0x11, "c", Some("yyyy")),
                (1, "n", Some("x")),
            ]),
            log(&[
                (0x10, "n", None),
                (0x11, "b", Some("yy")),
                (0x20, "m1", Some("m9")),
                (0x11, "m2", Some("y")),
            ]),
        ];
        let rows = expected(&[("a", 2), ("b", 2), ("c", 7), ("m2", 1), ("z", 1)]);
        assert_eq!(result(&below, &logs, 1), rows);
        assert_eq!(result(&below, &logs, 3), rows, "passes split the keys, not the result");
    }

    #[test]
    fn removed_ranges_coalesce() {
        let mut overlay = Overlay::default();
        for (start, end) in [("b", "d"), ("f", "h"), ("x", "x"), ("c", "f"), ("a", "a5")] {
            overlay.remove_range(start.as_bytes(), end.as_bytes());
        }
        assert_eq!(overlay.removed.len(), 2);
        for (key, removed) in [
            ("a", true),
            ("a5", false),
            ("b", true),
            ("e", true),
            ("g", true),
            ("h", false),
            ("x", false),
        ] {
            assert_eq!(overlay.is_removed(key.as_bytes()), removed, "{key}");
        }
    }

    #[test]
    fn an_overlay_over_budget_asks_for_more_passes() {
        let logs = [log(&[(1, "a", Some("x")), (1, "b", Some("x"))])];
        assert!(matches!(overlay(&logs, ALL, 90), Err(ReplayError::OverBudget)));
    }

    #[test]
    fn the_last_version_with_a_record_is_known() {
        let logs = [log(&[(1, "a", Some("x"))]), log(&[])];
        assert_eq!(overlay(&logs, ALL, 1000).unwrap().last_changed(), Some(StateVersion(1)));
    }
}
