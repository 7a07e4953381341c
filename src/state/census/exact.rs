//! Counting by reading every key: the snapshot below, the logs on top.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::ops::ControlFlow;

use super::files::Located;
use super::{Bad, Count, OVERLAY_BUDGET, Run, Store};
use crate::report::{FamilyCount, Grade};
use crate::state::families::{Families, FamilyIndex};
use crate::state::fault::FaultKind;
use crate::state::files::{DataFile, FileKind};
use crate::state::lists::ListLayout;
use crate::state::replay::{Elements, Overlay, Pass, ReplayError};
use crate::state::rocks::changelog::Reader;
use crate::state::rocks::{BadFile, FileProblem, RocksStore};
use crate::state::{codec, logs};
use crate::task::Cancel;
use crate::units::StateVersion;

/// How many keys are read between looks at the cancel flag.
const STRIDE: u64 = 4096;
/// Passes beyond which a partition is given up: its keys would not fit in memory in
/// `1024 × OVERLAY_BUDGET`, far beyond what a Spark task could load.
const MAX_PASSES: u64 = 1024;

/// The ids of a store's column families by name; empty for a store without any.
pub(super) type Mapping = BTreeMap<String, u16>;

/// Keys and elements per family while counting.
struct Tally {
    lists: ListLayout,
    kinds: Families,
    index: FamilyIndex,
    /// Name, whether it holds lists, keys, elements.
    families: Vec<(String, bool, u64, u64)>,
    foreign_keys: u64,
    broken_lists: u64,
}

impl Tally {
    fn new(store: &Store, mapping: &Mapping) -> Self {
        let (index, names) = FamilyIndex::new(mapping);
        let kinds = store.families.completed(mapping.keys());
        let families = names
            .into_iter()
            .map(|name| {
                let lists = kinds.holds_lists(&name);
                (name, lists, 0, 0)
            })
            .collect();
        Self { lists: store.lists, kinds, index, families, foreign_keys: 0, broken_lists: 0 }
    }

    fn elements<'a>(&self, key: &[u8], value: impl FnOnce() -> &'a [u8]) -> Elements {
        let family = self.index.position(key).and_then(|at| self.families.get(at));
        match family {
            Some((_, true, ..)) => self.lists.count(value()),
            _ => Some(1),
        }
    }

    fn count(&mut self, key: &[u8], elements: Elements) {
        let family = self.index.position(key).and_then(|at| self.families.get_mut(at));
        let Some((_, _, rows, all)) = family else {
            self.foreign_keys += 1;
            return;
        };
        *rows += 1;
        match elements {
            Some(elements) => *all += elements,
            None => self.broken_lists += 1,
        }
    }

    fn finish(self, last_changed: Option<StateVersion>) -> (Count, Vec<FaultKind>) {
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
        let rows = self.families.iter().filter(|(name, ..)| !internal(name)).map(|f| f.2).sum();
        let whole_lists = self.broken_lists == 0;
        let families = self
            .families
            .iter()
            .map(|(name, lists, rows, elements)| {
                let count = FamilyCount {
                    internal: internal(name),
                    rows: Some(*rows),
                    elements: (whole_lists || !lists).then_some(*elements),
                };
                (name.clone(), count)
            })
            .collect();
        let count = Count { rows: Some(rows), grade: Grade::Exact, families, last_changed };
        (count, oddities)
    }
}

impl Store {
    /// Opens the snapshot, replays the logs and counts every key. `newest` is the mapping of the
    /// newest readable snapshot, for a replay that starts from the empty store.
    pub(super) fn exact_count(
        &self,
        located: &Located,
        newest: Option<&Mapping>,
        run: Run<'_>,
    ) -> Result<(Count, Vec<FaultKind>), Bad> {
        let below = self.open_below(located)?;
        let own = located.metadata().map(|metadata| &metadata.column_family_mapping);
        let mapping = own.or(newest).cloned().unwrap_or_default();
        let mut passes = 1;
        loop {
            let mut tally = Tally::new(self, &mapping);
            match self.count_passes(located, below.as_ref(), passes, &mut tally, run) {
                Ok(last_changed) => return Ok(tally.finish(last_changed)),
                Err(Attempt::MorePasses) if passes < MAX_PASSES => passes *= 4,
                Err(Attempt::MorePasses) => {
                    let reason = "its keys outgrow the memory for one partition".to_owned();
                    return Err(Bad::File(located.dir().to_owned(), FaultKind::Log(reason)));
                }
                Err(Attempt::Bad(bad)) => return Err(bad),
            }
        }
    }

    fn open_below(&self, located: &Located) -> Result<Option<RocksStore>, Bad> {
        let Some((zip_path, metadata, zip)) = &located.snapshot else { return Ok(None) };
        let mut zip = zip.borrow_mut();
        RocksStore::open(
            &self.storage,
            located.dir(),
            zip_path,
            &mut zip,
            metadata,
            self.lists.delimiter,
        )
        .map(Some)
        .map_err(bad_file)
    }

    fn count_passes(
        &self,
        located: &Located,
        below: Option<&RocksStore>,
        passes: u64,
        tally: &mut Tally,
        run: Run<'_>,
    ) -> Result<Option<StateVersion>, Attempt> {
        let mut last_changed = None;
        for index in 0..passes {
            let pass = Pass { index, of: passes };
            let mut overlay = self.overlay(located, pass, tally, run.cancel)?;
            last_changed = last_changed.max(overlay.last_changed());
            if let (Some(below), Some(metadata)) = (below, located.metadata()) {
                let mut seen = 0;
                let scanned = below.scan(metadata, |key, value| {
                    seen += 1;
                    if seen % STRIDE == 0 {
                        run.counter.add(STRIDE);
                        if run.cancel.is_cancelled() {
                            return ControlFlow::Break(());
                        }
                    }
                    if pass.covers(key) {
                        let elements = overlay.resolve(key, || tally.elements(key, value));
                        if let Some(elements) = elements {
                            tally.count(key, elements);
                        }
                    }
                    ControlFlow::Continue(())
                });
                scanned.map_err(|bad| Attempt::Bad(bad_file(bad)))?;
                run.counter.add(seen % STRIDE);
                run.cancel.check().map_err(|c| Attempt::Bad(Bad::Cancelled(c)))?;
            }
            for (key, elements) in overlay.drain() {
                tally.count(&key, elements);
            }
        }
        Ok(last_changed)
    }

    /// Takes the logs of one pass into memory.
    fn overlay(
        &self,
        located: &Located,
        pass: Pass,
        tally: &Tally,
        cancel: &Cancel,
    ) -> Result<Overlay, Attempt> {
        let mut overlay = Overlay::default();
        for (path, file) in located.replayed() {
            cancel.check().map_err(|cancelled| Attempt::Bad(Bad::Cancelled(cancelled)))?;
            let failed =
                |reason: String| Attempt::Bad(Bad::File(path.clone(), FaultKind::Log(reason)));
            let input = logs::open(&self.storage, &path).map_err(failed)?;
            let input = codec::decompress(input).map_err(|error| failed(error.to_string()))?;
            let input = BufReader::new(input);
            let mut reader = match file.kind {
                FileKind::Changelog | FileKind::Zip => {
                    Reader::changelog(input).map_err(|error| failed(error.to_string()))?
                }
                FileKind::Snapshot | FileKind::Delta => Reader::headerless(input),
            };
            if reader.format().has_families() && matches!(tally.index, FamilyIndex::Single) {
                let reason = "its records belong to column families, which only a snapshot names, \
                              and no snapshot of this store is readable";
                return Err(failed(reason.to_owned()));
            }
            let elements = |key: &[u8], value: &[u8]| tally.elements(key, || value);
            let version = (file.kind != FileKind::Snapshot).then_some(file.version);
            let checksums = self.lists.checksums;
            match overlay.apply(&mut reader, version, checksums, pass, OVERLAY_BUDGET, elements) {
                Ok(()) => {}
                Err(ReplayError::OverBudget) => return Err(Attempt::MorePasses),
                Err(ReplayError::Io(error)) => return Err(failed(error.to_string())),
            }
        }
        Ok(overlay)
    }
}

/// Why a run over all passes was not completed.
enum Attempt {
    MorePasses,
    Bad(Bad),
}

fn bad_file(bad: BadFile) -> Bad {
    let is_zip = DataFile::of_path(&bad.file).is_some_and(|file| file.kind == FileKind::Zip);
    let kind = match bad.problem {
        FileProblem::Damaged(reason) if is_zip => FaultKind::Snapshot(reason),
        problem => FaultKind::Sst(problem),
    };
    Bad::File(bad.file, kind)
}
