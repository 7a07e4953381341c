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
// record of every log is looked up.
use hashbrown::HashMap;

use super::merge::Merge;
use super::rocks::changelog::{Reader, Record};
use crate::units::{Bytes, StateVersion};

/// What an entry costs besides its key and value: the map's slot and the allocations.
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

/// What is kept of a value while logs are replayed: all of it, or only what a count needs.
pub trait Keep {
    /// What is kept.
    type Kept: 'static;

    /// Takes what is needed from the value of `key`. A merge's operand is taken in the same way.
    fn keep(&self, key: &[u8], value: &[u8]) -> Self::Kept;

    /// What is left when `newer` is merged into `older`.
    fn append(&self, older: Self::Kept, newer: Self::Kept) -> Self::Kept;

    /// Memory that a kept value has outside of itself.
    fn cost(kept: &Self::Kept) -> Bytes;
}

/// What is left of the changes to one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change<T> {
    /// The key has this value now, whatever lies below.
    Put(T),
    /// The key is gone.
    Delete,
    /// This is appended to whatever lies below.
    Merge(T),
}

/// How records are taken from a log.
#[derive(Debug, Clone, Copy)]
pub struct Intake {
    /// Whether rows carry checksums, which then wrap the keys of deletes and the ends of ranges.
    pub checksums: bool,
    /// Which keys are taken.
    pub pass: Pass,
    /// Memory that the overlay may grow to.
    pub budget: Bytes,
}

/// The changes of one pass.
#[derive(Debug)]
pub struct Overlay<T> {
    changes: HashMap<Box<[u8]>, Change<T>>,
    /// Ranges removed from the store below, disjoint: start (inclusive) to end (exclusive).
    removed: BTreeMap<Box<[u8]>, Box<[u8]>>,
    bytes: u64,
    last_changed: Option<StateVersion>,
}

impl<T> Default for Overlay<T> {
    fn default() -> Self {
        Self { changes: HashMap::new(), removed: BTreeMap::new(), bytes: 0, last_changed: None }
    }
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

impl<T> Overlay<T> {
    /// Takes in the records of one log, in order. `version` is the one that a changelog or
    /// delta makes; `None` for a full snapshot, whose records are no changes.
    ///
    /// # Errors
    /// When the file is damaged or the budget exceeded.
    pub fn apply<R: Read, K: Keep<Kept = T>>(
        &mut self,
        reader: &mut Reader<R>,
        version: Option<StateVersion>,
        intake: Intake,
        keep: &K,
    ) -> Result<(), ReplayError> {
        while let Some(record) = reader.record()? {
            self.last_changed = self.last_changed.max(version);
            match record {
                Record::Put { key, value } => {
                    if intake.pass.covers(key) {
                        self.set::<K>(key, Change::Put(keep.keep(key, value)));
                    }
                }
                Record::Delete { key } => {
                    let key = deleted_key(key, intake.checksums);
                    if intake.pass.covers(key) {
                        self.set::<K>(key, Change::Delete);
                    }
                }
                Record::Merge { key, value } => {
                    if intake.pass.covers(key) {
                        self.merge(key, keep.keep(key, value), keep);
                    }
                }
                Record::DeleteRange { start, end } => {
                    self.remove_range(start, range_end(end, intake.checksums));
                }
            }
            if self.bytes > intake.budget.0 {
                return Err(ReplayError::OverBudget);
            }
        }
        Ok(())
    }

    /// The highest version that changed anything.
    pub fn last_changed(&self) -> Option<StateVersion> {
        self.last_changed
    }

    /// The changes in key order, to be laid over the keys below.
    pub fn into_merge(self) -> Merge<T> {
        Merge::new(self.changes.into_iter().collect(), self.removed.into_iter().collect())
    }

    fn set<K: Keep<Kept = T>>(&mut self, key: &[u8], change: Change<T>) {
        self.bytes = self.bytes.saturating_add(cost::<K>(&change));
        if let Some(old) = self.changes.get_mut(key) {
            self.bytes = self.bytes.saturating_sub(cost::<K>(old));
            *old = change;
        } else {
            self.bytes = self.bytes.saturating_add(key.len() as u64 + ENTRY_OVERHEAD);
            self.changes.insert(key.into(), change);
        }
    }

    fn merge<K: Keep<Kept = T>>(&mut self, key: &[u8], operand: T, keep: &K) {
        let Some(place) = self.changes.get_mut(key) else {
            let change =
                if self.is_removed(key) { Change::Put(operand) } else { Change::Merge(operand) };
            return self.set::<K>(key, change);
        };
        self.bytes = self.bytes.saturating_sub(cost::<K>(place));
        *place = match std::mem::replace(place, Change::Delete) {
            Change::Put(kept) => Change::Put(keep.append(kept, operand)),
            Change::Merge(kept) => Change::Merge(keep.append(kept, operand)),
            Change::Delete => Change::Put(operand),
        };
        self.bytes = self.bytes.saturating_add(cost::<K>(place));
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

/// Memory that a change has outside of itself.
fn cost<K: Keep>(change: &Change<K::Kept>) -> u64 {
    match change {
        Change::Put(kept) | Change::Merge(kept) => K::cost(kept).0,
        Change::Delete => 0,
    }
}

/// The key that a delete is about: with row checksums, a checksum stands before it.
pub fn deleted_key(stored: &[u8], checksums: bool) -> &[u8] {
    if checksums { stored.get(DELETE_CHECKSUM..).unwrap_or(stored) } else { stored }
}

/// The end of a removed range: with row checksums it is wrapped as a value, checksum and
/// length first.
pub fn range_end(stored: &[u8], checksums: bool) -> &[u8] {
    if checksums { stored.get(8..).unwrap_or(stored) } else { stored }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::state::families::Mapping;
    use crate::state::merge::{Found, Visit};

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

    /// Keeps whole values, and the rows that it sees; operands follow each other directly.
    #[derive(Default)]
    struct Rows(Vec<(String, String)>);

    impl Keep for Rows {
        type Kept = Vec<u8>;

        fn keep(&self, _: &[u8], value: &[u8]) -> Vec<u8> {
            value.to_vec()
        }

        fn append(&self, older: Vec<u8>, newer: Vec<u8>) -> Vec<u8> {
            [older, newer].concat()
        }

        fn cost(kept: &Vec<u8>) -> Bytes {
            Bytes(kept.len() as u64)
        }
    }

    impl Visit for Rows {
        fn families(&mut self, _: &Mapping) {}

        fn row(&mut self, key: &[u8], value: Found<'_, Vec<u8>>) -> ControlFlow<()> {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let value = match value {
                Found::Below(value) => text(value()),
                Found::Above(value) => text(value),
            };
            self.0.push((text(key), value));
            ControlFlow::Continue(())
        }
    }

    fn overlay(logs: &[Vec<u8>], pass: Pass, budget: u64) -> Result<Overlay<Vec<u8>>, ReplayError> {
        let mut overlay = Overlay::default();
        for (version, log) in (1..).zip(logs) {
            let mut reader = Reader::changelog(log.as_slice())?;
            let intake = Intake { checksums: false, pass, budget: Bytes(budget) };
            overlay.apply(&mut reader, Some(StateVersion(version)), intake, &Rows::default())?;
        }
        Ok(overlay)
    }

    /// The rows of `below` with the logs on top, in the order in which they come.
    fn result(below: &[(&str, &str)], logs: &[Vec<u8>], passes: u64) -> Vec<(String, String)> {
        let mut rows = Rows::default();
        for index in 0..passes {
            let pass = Pass { index, of: passes };
            let mut merge = overlay(logs, pass, 1 << 20).unwrap().into_merge();
            for (key, value) in below.iter().filter(|(key, _)| pass.covers(key.as_bytes())) {
                let _ = merge.below(key.as_bytes(), &|| value.as_bytes(), &mut rows);
            }
            let _ = merge.rest(&mut rows);
        }
        if passes > 1 {
            rows.0.sort();
        }
        rows.0
    }

    fn expected(rows: &[(&str, &str)]) -> Vec<(String, String)> {
        rows.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn later_records_win_and_nothing_counts_twice() {
        let below = [("a", "1"), ("b", "1"), ("c", "3"), ("m1", "1"), ("m2", "1"), ("z", "1")];
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
                (1, "nn", Some("w")),
            ]),
        ];
        let rows = expected(&[
            ("a", "xx"),
            ("b", "yy"),
            ("c", "3yyyy"),
            ("m2", "y"),
            ("nn", "w"),
            ("z", "1"),
        ]);
        assert_eq!(result(&below, &logs, 1), rows);
        assert_eq!(result(&below, &logs, 3), rows, "passes split the keys, not the result");
    }

    #[test]
    fn removed_ranges_coalesce() {
        let mut overlay = Overlay::<Vec<u8>>::default();
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
