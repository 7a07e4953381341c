//! Visits every row of one partition at a version: the snapshot below, the logs on top.
//!
//! Rows come in key order, each once, however many files hold pieces of it. When a file turns
//! out to be damaged on the way, an older snapshot takes over after the last row passed on.
//! Knows nothing of what keys and values mean.

use std::ops::ControlFlow;

use super::census::Method;
use super::directory::{Directory, Located};
use super::families::Mapping;
use super::fault::{FaultKind, StateFault};
use super::files::{DataFile, FileKind, Target};
use super::logs;
use super::merge::{Found, Merge, Visit};
use super::replay::{Intake, Keep, Overlay, Pass, ReplayError};
use super::rocks::{BadFile, Contents, FileProblem};
use super::store::{Bad, Run, Store};
use crate::task::Cancelled;
use crate::units::{Bytes, PartitionId, StateVersion};

/// Memory for the changes of one partition, per worker.
const OVERLAY_BUDGET: Bytes = Bytes(48 << 20);
/// How many keys are read between looks at the cancel flag.
const STRIDE: u64 = 4096;
/// Passes beyond which a partition is given up: its keys would not fit in memory in
/// `1024 × OVERLAY_BUDGET`, far beyond what a Spark task could load.
const MAX_PASSES: u64 = 1024;

/// How a walk ended.
#[derive(Debug)]
pub struct Walked {
    /// Whether every row was seen, or the visitor wanted no more; otherwise rows may be missing.
    pub complete: bool,
    /// Bytes of the files of the version.
    pub bytes: Bytes,
    /// Number of those files.
    pub files: u64,
    /// What was wrong on the way.
    pub faults: Vec<StateFault>,
}

impl Store {
    /// Visits the rows of `partition` at the version wanted.
    ///
    /// # Errors
    /// Only when cancelled: a bad file is a fault in the result.
    pub fn walk(
        &self,
        partition: PartitionId,
        target: &Target,
        run: Run<'_>,
        visit: &mut impl Visit,
    ) -> Result<Walked, Cancelled> {
        run.cancel.check()?;
        if self.is_unused(partition) {
            self.walk_unused(partition, target, run, visit)
        } else {
            self.walk_used(partition, target, run, visit)
        }
    }

    /// A partition that the operator never reads: that it has no files is no fault, that it has
    /// rows is one, which the census tells.
    fn walk_unused(
        &self,
        partition: PartitionId,
        target: &Target,
        run: Run<'_>,
        visit: &mut impl Visit,
    ) -> Result<Walked, Cancelled> {
        let faults = self.census(partition, target, Method::Exact, run)?.faults;
        let walked = self.walk_used(partition, target, run, visit)?;
        let complete = walked.complete || walked.faults.iter().all(StateFault::is_absence);
        Ok(Walked { complete, faults, ..walked })
    }

    fn walk_used(
        &self,
        partition: PartitionId,
        target: &Target,
        run: Run<'_>,
        visit: &mut impl Visit,
    ) -> Result<Walked, Cancelled> {
        let dir = match Directory::read(&self.storage, &self.dir(partition)) {
            Ok(dir) => dir,
            Err((file, kind)) => {
                let faults = vec![self.fault(partition, file, kind)];
                return Ok(Walked { complete: false, bytes: Bytes(0), files: 0, faults });
            }
        };
        let mut walker = Walker::new(self, run);
        let way = self.first_way(&dir, partition, target, run, |located, newest| {
            walker.attempt(located, newest, visit).map(|_| ((), Vec::new()))
        })?;
        let bytes = way.located.as_ref().map_or(Bytes(0), Located::bytes);
        run.counter.add_bytes(bytes);
        Ok(Walked {
            complete: way.result.is_some(),
            bytes,
            files: way.located.as_ref().map_or(0, Located::count),
            faults: way.faults,
        })
    }
}

/// Walks over one partition, way after way until one leads to the end.
pub(super) struct Walker<'a> {
    store: &'a Store,
    run: Run<'a>,
    /// The pass that is under way.
    pass: Pass,
    /// Rows of this pass that were passed on. Another way goes on after them: rows come in the
    /// same order whichever snapshot they are read from.
    passed: u64,
}

impl<'a> Walker<'a> {
    /// At the first row.
    pub(super) fn new(store: &'a Store, run: Run<'a>) -> Self {
        Self { store, run, pass: Pass { index: 0, of: 1 }, passed: 0 }
    }

    /// Goes on from where the last attempt ended, with the files of `located`. `newest` is the
    /// mapping of the newest readable snapshot, for a replay that starts from the empty store.
    /// Returns the highest version whose log changed anything.
    pub(super) fn attempt(
        &mut self,
        located: &Located,
        newest: Option<&Mapping>,
        visit: &mut impl Visit,
    ) -> Result<Option<StateVersion>, Bad> {
        let below = self.open_below(located)?;
        let own = located.metadata().map(|metadata| &metadata.column_family_mapping);
        let none = Mapping::new();
        let mapping = own.or(newest).unwrap_or(&none);
        visit.families(mapping);
        let mut last_changed = None;
        while self.pass.index < self.pass.of {
            let overlay = match self.overlay(located, !mapping.is_empty(), visit) {
                Ok(overlay) => overlay,
                Err(Stop::Bad(bad)) => return Err(bad),
                Err(Stop::OverBudget) => {
                    self.more_passes(located)?;
                    continue;
                }
            };
            last_changed = last_changed.max(overlay.last_changed());
            if self.merge(located, below.as_ref(), overlay.into_merge(), visit)?.is_break() {
                break;
            }
            self.passed = 0;
            self.pass.index += 1;
        }
        Ok(last_changed)
    }

    /// Splits the keys into more classes. Not once rows have been passed on: which ones those
    /// were is known only in the old classes.
    fn more_passes(&mut self, located: &Located) -> Result<(), Bad> {
        let dir = located.dir().to_owned();
        if self.pass.index > 0 || self.passed > 0 {
            let reason = "its logs outgrow the memory for one partition after a damaged file";
            return Err(Bad::Final(dir, FaultKind::Log(reason.to_owned())));
        }
        if self.pass.of >= MAX_PASSES {
            let reason = "its keys outgrow the memory for one partition".to_owned();
            return Err(Bad::Final(dir, FaultKind::Log(reason)));
        }
        self.pass.of *= 4;
        Ok(())
    }

    fn open_below(&self, located: &Located) -> Result<Option<Contents>, Bad> {
        let Some((zip_path, metadata, zip)) = &located.snapshot else { return Ok(None) };
        let mut zip = zip.borrow_mut();
        let Store { storage, lists, .. } = self.store;
        Contents::open(storage, located.dir(), zip_path, &mut zip, metadata, lists.delimiter)
            .map(Some)
            .map_err(bad_file)
    }

    /// Passes the rows of the pass under way to `visit`, except those that it has seen.
    fn merge<V: Visit>(
        &mut self,
        located: &Located,
        below: Option<&Contents>,
        mut merge: Merge<V::Kept>,
        visit: &mut V,
    ) -> Result<ControlFlow<()>, Bad> {
        let (pass, run) = (self.pass, self.run);
        let mut rest = Rest { visit, skip: self.passed, passed: self.passed };
        let mut flow = ControlFlow::Continue(());
        if let (Some(below), Some(metadata)) = (below, located.metadata()) {
            let mut seen = 0;
            let scanned = below.scan(metadata, |key, value| {
                seen += 1;
                if seen % STRIDE == 0 {
                    run.counter.add_rows(STRIDE);
                    if run.cancel.is_cancelled() {
                        return ControlFlow::Break(());
                    }
                }
                if pass.covers(key) {
                    flow = merge.below(key, value, &mut rest);
                }
                flow
            });
            run.counter.add_rows(seen % STRIDE);
            self.passed = rest.passed;
            scanned.map_err(bad_file)?;
            run.cancel.check()?;
        }
        if flow.is_continue() {
            flow = merge.rest(&mut rest);
        }
        self.passed = rest.passed;
        Ok(flow)
    }

    /// Takes the logs of one pass into memory.
    fn overlay<K: Keep>(
        &self,
        located: &Located,
        has_families: bool,
        keep: &K,
    ) -> Result<Overlay<K::Kept>, Stop> {
        let mut overlay = Overlay::default();
        let checksums = self.store.lists.checksums;
        let intake = Intake { checksums, pass: self.pass, budget: OVERLAY_BUDGET };
        for (path, file) in located.replayed() {
            self.run.cancel.check().map_err(|cancelled| Stop::Bad(cancelled.into()))?;
            let failed =
                |reason: String| Stop::Bad(Bad::File(path.clone(), FaultKind::Log(reason)));
            let mut reader = logs::reader(&self.store.storage, &path, file.kind).map_err(failed)?;
            if reader.format().has_families() && !has_families {
                let reason = "its records belong to column families, which only a snapshot names, \
                              and no snapshot of this store is readable";
                return Err(failed(reason.to_owned()));
            }
            let version = (file.kind != FileKind::Snapshot).then_some(file.version);
            match overlay.apply(&mut reader, version, intake, keep) {
                Ok(()) => {}
                Err(ReplayError::OverBudget) => return Err(Stop::OverBudget),
                Err(ReplayError::Io(error)) => return Err(failed(error.to_string())),
            }
        }
        Ok(overlay)
    }
}

/// Why the logs of a pass were not taken.
enum Stop {
    OverBudget,
    Bad(Bad),
}

/// A visitor that has seen the first rows already.
struct Rest<'a, V> {
    visit: &'a mut V,
    skip: u64,
    passed: u64,
}

impl<V: Keep> Keep for Rest<'_, V> {
    type Kept = V::Kept;

    fn keep(&self, key: &[u8], value: &[u8]) -> Self::Kept {
        self.visit.keep(key, value)
    }

    fn append(&self, older: Self::Kept, newer: Self::Kept) -> Self::Kept {
        self.visit.append(older, newer)
    }

    fn cost(kept: &Self::Kept) -> Bytes {
        V::cost(kept)
    }
}

impl<V: Visit> Visit for Rest<'_, V> {
    fn families(&mut self, mapping: &Mapping) {
        self.visit.families(mapping);
    }

    fn row(&mut self, key: &[u8], value: Found<'_, Self::Kept>) -> ControlFlow<()> {
        if self.skip > 0 {
            self.skip -= 1;
            return ControlFlow::Continue(());
        }
        self.passed += 1;
        self.visit.row(key, value)
    }
}

fn bad_file(bad: BadFile) -> Bad {
    let is_zip = DataFile::of_path(&bad.file).is_some_and(|file| file.kind == FileKind::Zip);
    let kind = match bad.problem {
        FileProblem::Damaged(reason) if is_zip => FaultKind::Snapshot(reason),
        problem => FaultKind::Sst(problem),
    };
    Bad::File(bad.file, kind)
}
