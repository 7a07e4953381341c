//! Counts one store, partition by partition.
//!
//! The cheap way reads a listing, the sizes of the files that make up the version and the
//! newest snapshot's own count. The exact way opens that snapshot, replays what came after
//! and counts keys. Where a file is bad, the next older snapshot is tried, as Spark 4.2+
//! does; what was bad is reported either way.

mod exact;
mod files;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::families::{DEFAULT, Families};
use super::fault::{FaultKind, Outcome, StateFault};
use super::files::{FileKind, Target};
use super::lists::ListLayout;
use crate::report::{FamilyCount, Grade, PartitionReport, Provider};
use crate::storage::Storage;
use crate::task::{Cancel, Cancelled};
use crate::units::{Bytes, OperatorId, PartitionId, StateVersion};

use self::files::Located;

/// Memory for the changes of one partition, per worker.
const OVERLAY_BUDGET: Bytes = Bytes(48 << 20);
/// Older snapshots tried after a bad one.
const MAX_FALLBACKS: usize = 8;

/// One store of one operator and all that is needed to read it.
#[derive(Debug, Clone)]
pub struct Store {
    /// The checkpoint's files.
    pub storage: Storage,
    /// The operator.
    pub operator: OperatorId,
    /// The store's name, `default` or one of a join's four.
    pub name: String,
    /// Whose files these are.
    pub provider: Provider,
    /// How list values are laid out.
    pub lists: ListLayout,
    /// What kind of families it has.
    pub families: Families,
    /// The families that its schema file lists; a store need not have created each.
    pub schema_families: Vec<String>,
    /// Whether only partition 0 is used: a global limit, an aggregate without keys.
    pub single_partition: bool,
}

/// How to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// From the newest snapshot's own count.
    Snapshot,
    /// By opening the store and replaying.
    Exact,
}

/// A run over many partitions, which all of its workers share.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// How to count.
    pub method: Method,
    /// Gives the run up.
    pub cancel: &'a Cancel,
    /// Counts the rows seen, for progress.
    pub counter: &'a Counter,
}

/// The count of one partition, and what was wrong on the way.
#[derive(Debug, Clone)]
pub struct Census {
    /// The numbers.
    pub report: PartitionReport,
    /// The newest version up to the one wanted that has a changelog.
    pub newest_changelog: Option<StateVersion>,
    /// The newest version that any file of the partition belongs to.
    pub newest_file: Option<StateVersion>,
    /// What was wrong.
    pub faults: Vec<StateFault>,
}

/// Rows counted so far by all workers, for progress.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds rows.
    pub fn add(&self, rows: u64) {
        self.0.fetch_add(rows, Ordering::Relaxed);
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Keys by family, and where they come from.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Count {
    rows: Option<u64>,
    grade: Grade,
    families: BTreeMap<String, FamilyCount>,
    last_changed: Option<StateVersion>,
}

impl Count {
    /// Adds the families of the schema file that the store never created: they are empty.
    fn with_schema_families(mut self, store: &Store) -> Self {
        let kinds = store.families.completed(self.families.keys());
        let zero = (self.grade == Grade::Exact).then_some(0);
        for name in &store.schema_families {
            let internal = kinds.is_internal(name);
            let count = FamilyCount { internal, rows: zero, elements: zero };
            self.families.entry(name.clone()).or_insert(count);
        }
        self
    }

    fn unknown() -> Self {
        Self { rows: None, grade: Grade::Unknown, families: BTreeMap::new(), last_changed: None }
    }

    fn empty() -> Self {
        let default = FamilyCount { internal: false, rows: Some(0), elements: Some(0) };
        Self {
            rows: Some(0),
            grade: Grade::Exact,
            families: BTreeMap::from([(DEFAULT.to_owned(), default)]),
            last_changed: None,
        }
    }
}

impl Store {
    /// The store's directory in a partition, relative to the checkpoint. The store called
    /// `default` has no directory level of its own.
    pub fn dir(&self, partition: PartitionId) -> String {
        let Self { operator, name, .. } = self;
        if name == DEFAULT {
            format!("state/{operator}/{partition}")
        } else {
            format!("state/{operator}/{partition}/{name}")
        }
    }

    fn kinds(&self) -> (FileKind, FileKind) {
        match self.provider {
            Provider::Hdfs => (FileKind::Snapshot, FileKind::Delta),
            Provider::Rocksdb | Provider::Other => (FileKind::Zip, FileKind::Changelog),
        }
    }

    /// Counts `partition` at the version wanted.
    ///
    /// # Errors
    /// Only when cancelled: a bad file is a fault in the result.
    pub fn census(
        &self,
        partition: PartitionId,
        target: &Target,
        run: Run<'_>,
    ) -> Result<Census, Cancelled> {
        run.cancel.check()?;
        if self.single_partition && partition.0 > 0 {
            self.census_of_unused(partition, target, run)
        } else {
            self.census_of_used(partition, target, run)
        }
    }

    /// A partition that the operator never reads has no files, or stale ones, and is empty.
    /// Rows in it are lost to the query: an offline repartition puts them there.
    fn census_of_unused(
        &self,
        partition: PartitionId,
        target: &Target,
        run: Run<'_>,
    ) -> Result<Census, Cancelled> {
        let mut census = self.census_of_used(partition, target, run)?;
        let absent = |fault: &StateFault| {
            matches!(fault.kind, FaultKind::MissingDirectory | FaultKind::MissingVersion(_))
        };
        let mut rows = census.report.rows;
        if rows.is_none() && census.faults.iter().all(absent) {
            census = finish(partition, None, Count::empty(), Vec::new());
            // The engine writes no version here after the one that a repartition left.
            let dir = files::Directory::read(&self.storage, &self.dir(partition)).ok();
            if let Some(left) = dir.and_then(|dir| dir.newest_snapshot(target.version)) {
                rows = self.census_of_used(partition, &left, run)?.report.rows;
            }
        }
        if let Some(rows @ 1..) = rows {
            let what =
                "lie in a partition that this operator, which has no grouping key, never reads";
            let kind = FaultKind::Rows(rows, what);
            census.faults.push(self.fault(partition, self.dir(partition), kind));
        }
        Ok(census)
    }

    fn census_of_used(
        &self,
        partition: PartitionId,
        target: &Target,
        run: Run<'_>,
    ) -> Result<Census, Cancelled> {
        let dir = match files::Directory::read(&self.storage, &self.dir(partition)) {
            Ok(dir) => dir,
            Err((file, kind)) => {
                let fault = self.fault(partition, file, kind);
                return Ok(finish(partition, None, Count::unknown(), vec![fault]));
            }
        };
        let newest_changelog = dir.newest_changelog(target.version);
        let newest_file = dir.newest_file();
        let census = self.count_in(&dir, partition, target, run)?;
        Ok(Census { newest_changelog, newest_file, ..census })
    }

    /// Tries one way after the other to put the version together, newest snapshot first.
    fn count_in(
        &self,
        dir: &files::Directory,
        partition: PartitionId,
        target: &Target,
        run: Run<'_>,
    ) -> Result<Census, Cancelled> {
        let mut faults: Vec<StateFault> = Vec::new();
        let mut best: Option<Located> = None;
        let mut newest: Option<exact::Mapping> = None;
        for skip in 0..=MAX_FALLBACKS {
            run.cancel.check()?;
            let located = match dir.locate(&self.storage, target, self.kinds(), skip) {
                Ok(located) => located,
                Err(Some((file, kind))) => {
                    faults.push(self.fault(partition, file, kind));
                    break;
                }
                Err(None) => break,
            };
            if let Some(metadata) = located.metadata() {
                newest.get_or_insert_with(|| metadata.column_family_mapping.clone());
            }
            let result = match located.problem() {
                Some((file, kind)) => Err(Bad::File(file, kind)),
                None => match run.method {
                    Method::Snapshot => Ok(self.snapshot_count(&located)),
                    Method::Exact => self.exact_count(&located, newest.as_ref(), run),
                },
            };
            match result {
                Ok((count, oddities)) => {
                    let from = located.snapshot_version().unwrap_or(StateVersion(0));
                    for fault in &mut faults {
                        fault.outcome = Outcome::Recovered(from);
                    }
                    faults.extend(oddities.into_iter().map(|kind| StateFault {
                        outcome: Outcome::Harmless,
                        ..self.fault(partition, dir.path.clone(), kind)
                    }));
                    let count = count.with_schema_families(self);
                    return Ok(finish(partition, Some(&located), count, faults));
                }
                Err(Bad::Cancelled(cancelled)) => return Err(cancelled),
                Err(Bad::File(file, kind)) => {
                    let in_log =
                        matches!(kind, FaultKind::Log(_)) || located.logs().any(|log| log == file);
                    faults.push(self.fault(partition, file, kind));
                    best.get_or_insert(located);
                    // Every older snapshot needs this log too.
                    if in_log {
                        break;
                    }
                }
            }
        }
        Ok(finish(partition, best.as_ref(), Count::unknown(), faults))
    }

    /// The newest snapshot's own count. HDFS snapshots have none.
    fn snapshot_count(&self, located: &Located) -> (Count, Vec<FaultKind>) {
        let Some(metadata) = located.metadata() else {
            let empty = located.is_empty_store();
            let count = if empty { Count::empty() } else { Count::unknown() };
            return (count, Vec::new());
        };
        let rows = metadata.keys();
        let mapping = &metadata.column_family_mapping;
        let kinds = self.families.completed(mapping.keys());
        let families = if mapping.is_empty() {
            let default = FamilyCount { internal: false, rows, elements: None };
            BTreeMap::from([(DEFAULT.to_owned(), default)])
        } else {
            let unknown = |name: &String| FamilyCount {
                internal: kinds.is_internal(name),
                rows: None,
                elements: None,
            };
            mapping.keys().map(|name| (name.clone(), unknown(name))).collect()
        };
        let grade = if rows.is_some() { Grade::Snapshot } else { Grade::Unknown };
        let types = metadata.column_family_type_map.iter();
        let mut internal = types.filter(|(name, _)| kinds.is_internal(name));
        let oddities = if internal.any(|(_, internal)| !internal) {
            vec![FaultKind::InternalCounted]
        } else {
            Vec::new()
        };
        (Count { rows, grade, families, last_changed: None }, oddities)
    }

    fn fault(&self, partition: PartitionId, file: String, kind: FaultKind) -> StateFault {
        StateFault {
            operator: self.operator,
            store: self.name.clone(),
            partition: Some(partition),
            file,
            kind,
            outcome: Outcome::Lost,
        }
    }
}

fn finish(
    partition: PartitionId,
    located: Option<&Located>,
    count: Count,
    faults: Vec<StateFault>,
) -> Census {
    let report = PartitionReport {
        partition,
        rows: count.rows,
        rows_grade: count.grade,
        families: count.families,
        bytes: located.map_or(Bytes(0), Located::bytes),
        files: located.map_or(0, Located::count),
        snapshot_version: located.and_then(Located::snapshot_version),
        changelogs: located.map_or(0, |located| located.logs().count() as u64),
        last_written: located.and_then(Located::last_written),
        last_changed: count.last_changed,
    };
    Census { report, newest_changelog: None, newest_file: None, faults }
}

/// Why a way to put the version together did not lead to a count.
enum Bad {
    File(String, FaultKind),
    Cancelled(Cancelled),
}
