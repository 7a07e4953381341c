//! Counts one store, partition by partition.
//!
//! The cheap way reads a listing, the sizes of the files that make up the version and the
//! newest snapshot's own count. The exact way walks over all rows and counts keys.

mod tally;

use std::collections::BTreeMap;

use super::directory::{Directory, Located};
use super::families::DEFAULT;
use super::fault::{FaultKind, StateFault};
use super::files::Target;
use super::store::{Run, Store};
use super::walk::Walker;
use crate::report::{FamilyCount, Grade, PartitionReport};
use crate::task::Cancelled;
use crate::units::{Bytes, PartitionId, StateVersion};

use self::tally::Tally;

/// How to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// From the newest snapshot's own count.
    Snapshot,
    /// By opening the store and replaying.
    Exact,
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
    /// Counts `partition` at the version wanted.
    ///
    /// # Errors
    /// Only when cancelled: a bad file is a fault in the result.
    pub fn census(
        &self,
        partition: PartitionId,
        target: &Target,
        method: Method,
        run: Run<'_>,
    ) -> Result<Census, Cancelled> {
        run.cancel.check()?;
        if self.is_unused(partition) {
            self.census_of_unused(partition, target, method, run)
        } else {
            self.census_of_used(partition, target, method, run)
        }
    }

    /// A partition that the operator never reads has no files, or stale ones, and is empty.
    /// Rows in it are lost to the query: an offline repartition puts them there.
    fn census_of_unused(
        &self,
        partition: PartitionId,
        target: &Target,
        method: Method,
        run: Run<'_>,
    ) -> Result<Census, Cancelled> {
        let mut census = self.census_of_used(partition, target, method, run)?;
        let mut rows = census.report.rows;
        if rows.is_none() && census.faults.iter().all(StateFault::is_absence) {
            census = finish(partition, None, Count::empty(), Vec::new());
            // The engine writes no version here after the one that a repartition left.
            let dir = Directory::read(&self.storage, &self.dir(partition)).ok();
            if let Some(left) = dir.and_then(|dir| dir.newest_snapshot(target.version)) {
                rows = self.census_of_used(partition, &left, method, run)?.report.rows;
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
        method: Method,
        run: Run<'_>,
    ) -> Result<Census, Cancelled> {
        let dir = match Directory::read(&self.storage, &self.dir(partition)) {
            Ok(dir) => dir,
            Err((file, kind)) => {
                let fault = self.fault(partition, file, kind);
                return Ok(finish(partition, None, Count::unknown(), vec![fault]));
            }
        };
        let newest_changelog = dir.newest_changelog(target.version);
        let newest_file = dir.newest_file();
        let mut census = self.count_in(&dir, partition, target, method, run)?;
        census.report.oldest_version = dir.oldest_file();
        census.report.files_listed = dir.number();
        Ok(Census { newest_changelog, newest_file, ..census })
    }

    fn count_in(
        &self,
        dir: &Directory,
        partition: PartitionId,
        target: &Target,
        method: Method,
        run: Run<'_>,
    ) -> Result<Census, Cancelled> {
        let mut tally = Tally::new(self);
        let mut walker = Walker::new(self, run);
        let way = self.first_way(dir, partition, target, run, |located, newest| match method {
            Method::Snapshot => Ok(self.snapshot_count(located)),
            Method::Exact => {
                let last_changed = walker.attempt(located, newest, &mut tally)?;
                Ok(std::mem::replace(&mut tally, Tally::new(self)).finish(last_changed))
            }
        })?;
        run.counter.add_bytes(way.located.as_ref().map_or(Bytes(0), Located::bytes));
        let count =
            way.result.map_or_else(Count::unknown, |count| count.with_schema_families(self));
        Ok(finish(partition, way.located.as_ref(), count, way.faults))
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
        oldest_version: None,
        files_listed: 0,
        last_written: located.and_then(Located::last_written),
        last_changed: count.last_changed,
    };
    Census { report, newest_changelog: None, newest_file: None, faults }
}
