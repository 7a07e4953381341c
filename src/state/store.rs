//! One store of one operator: where its partitions lie, and the ways to put a version of one
//! together.
//!
//! Where a file is bad, the next older snapshot is tried, as Spark 4.2+ does; what was bad is
//! reported either way. What is done with the files is the caller's.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};

use super::directory::{Directory, Located};
use super::families::{DEFAULT, Families, Mapping};
use super::fault::{FaultKind, Outcome, StateFault};
use super::files::{DataFile, FileKind, Target};
use super::lists::ListLayout;
use super::logs;
use super::rocks::changelog::Record;
use crate::report::Provider;
use crate::storage::Storage;
use crate::task::{Cancel, Cancelled};
use crate::units::{Bytes, OperatorId, PartitionId, StateVersion};

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

/// A run over many partitions, which all of its workers share.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Gives the run up.
    pub cancel: &'a Cancel,
    /// Counts what was read, for progress.
    pub counter: &'a Counter,
}

/// What all workers have read so far, for progress.
#[derive(Debug, Default)]
pub struct Counter {
    rows: AtomicU64,
    bytes: AtomicU64,
}

impl Counter {
    /// Adds rows.
    pub fn add_rows(&self, rows: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// Adds the bytes of files that have been read.
    pub fn add_bytes(&self, bytes: Bytes) {
        self.bytes.fetch_add(bytes.0, Ordering::Relaxed);
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Bytes so far.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.bytes.load(Ordering::Relaxed))
    }
}

/// The way that led to a result, and what was wrong before it did.
pub(super) struct Way<T> {
    /// The files used; those of the first way tried when none led anywhere, `None` when there
    /// was none.
    pub(super) located: Option<Located>,
    /// The result.
    pub(super) result: Option<T>,
    /// What was wrong.
    pub(super) faults: Vec<StateFault>,
}

/// Why a way to put the version together did not lead to a result.
pub(super) enum Bad {
    /// A file, relative to the checkpoint, and what is wrong with it.
    File(String, FaultKind),
    /// The same, after so much was passed on that no other way can take over.
    Final(String, FaultKind),
    /// Given up at the caller's request.
    Cancelled(Cancelled),
}

impl From<Cancelled> for Bad {
    fn from(cancelled: Cancelled) -> Self {
        Self::Cancelled(cancelled)
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

    /// Tries one way after the other to put the version together, newest snapshot first.
    /// `attempt` gets the files and the families of the newest readable snapshot; beside its
    /// result it returns oddities, which do not spoil it.
    pub(super) fn first_way<T>(
        &self,
        dir: &Directory,
        partition: PartitionId,
        target: &Target,
        run: Run<'_>,
        mut attempt: impl FnMut(&Located, Option<&Mapping>) -> Result<(T, Vec<FaultKind>), Bad>,
    ) -> Result<Way<T>, Cancelled> {
        let mut faults: Vec<StateFault> = Vec::new();
        let mut first: Option<Located> = None;
        let mut newest: Option<Mapping> = None;
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
                None => attempt(&located, newest.as_ref()),
            };
            let (file, kind, is_final) = match result {
                Ok((result, oddities)) => {
                    let from = located.snapshot_version().unwrap_or(StateVersion(0));
                    for fault in &mut faults {
                        fault.outcome = Outcome::Recovered(from);
                    }
                    faults.extend(oddities.into_iter().map(|kind| StateFault {
                        outcome: Outcome::Harmless,
                        ..self.fault(partition, dir.path.clone(), kind)
                    }));
                    let (located, result) = (Some(located), Some(result));
                    return Ok(Way { located, result, faults });
                }
                Err(Bad::Cancelled(cancelled)) => return Err(cancelled),
                Err(Bad::File(file, kind)) => (file, kind, false),
                Err(Bad::Final(file, kind)) => (file, kind, true),
            };
            // Every older snapshot needs this log too.
            let in_log = matches!(kind, FaultKind::Log(_)) || located.logs().any(|log| log == file);
            faults.push(self.fault(partition, file, kind));
            first.get_or_insert(located);
            if in_log || is_final {
                break;
            }
        }
        Ok(Way { located: first, result: None, faults })
    }

    /// The logs that led to `target`, newest first, as far back as each is there.
    ///
    /// # Errors
    /// When the partition's directory cannot be listed.
    pub fn history(
        &self,
        partition: PartitionId,
        target: &Target,
    ) -> Result<Vec<(String, DataFile)>, StateFault> {
        if self.is_unused(partition) {
            return Ok(Vec::new());
        }
        let dir = Directory::read(&self.storage, &self.dir(partition))
            .map_err(|(file, kind)| self.fault(partition, file, kind))?;
        Ok(dir.history(&self.storage, target, self.kinds().1))
    }

    /// Whether the operator never reads this partition.
    pub(super) fn is_unused(&self, partition: PartitionId) -> bool {
        self.single_partition && partition.0 > 0
    }

    /// The column families at `target` by the newest readable snapshot; none without families.
    pub fn mapping(&self, partition: PartitionId, target: &Target) -> Mapping {
        let Ok(dir) = Directory::read(&self.storage, &self.dir(partition)) else {
            return Mapping::new();
        };
        let ways = (0..=MAX_FALLBACKS)
            .map_while(|skip| dir.locate(&self.storage, target, self.kinds(), skip).ok());
        let mut metadata = ways.filter_map(|way| way.metadata().cloned());
        metadata.next().map_or_else(Mapping::new, |metadata| metadata.column_family_mapping)
    }

    /// Shows every record of a log to `see`, in order.
    ///
    /// # Errors
    /// A sentence when the file cannot be read to its end.
    pub fn records(
        &self,
        path: &str,
        file: &DataFile,
        see: &mut dyn FnMut(&Record<'_>),
    ) -> Result<(), String> {
        let mut reader = logs::reader(&self.storage, path, file.kind)?;
        while let Some(record) = reader.record().map_err(|error| error.to_string())? {
            see(&record);
        }
        Ok(())
    }

    /// How many files each version from `first` to `last` added to a partition: logs, snapshots,
    /// and the table files that a snapshot has beyond the one before it.
    pub fn written(
        &self,
        partition: PartitionId,
        first: StateVersion,
        last: StateVersion,
    ) -> Vec<(StateVersion, u64)> {
        let Ok(dir) = Directory::read(&self.storage, &self.dir(partition)) else {
            return Vec::new();
        };
        dir.written(&self.storage, first, last)
    }

    /// Paths of the snapshot descriptor and logs that `target` is put together from first.
    pub(super) fn needed(&self, dir: &Directory, target: &Target) -> HashSet<String> {
        dir.needed(&self.storage, target, self.kinds())
    }

    /// Whether the names of the files allow `target` to be put together; else the file at fault.
    pub(super) fn selectable(
        &self,
        dir: &Directory,
        target: &Target,
    ) -> Result<(), (String, FaultKind)> {
        dir.selectable(&self.storage, target, self.kinds())
    }

    /// The fault of a log that cannot be read.
    pub fn log_fault(&self, partition: PartitionId, file: String, reason: String) -> StateFault {
        self.fault(partition, file, FaultKind::Log(reason))
    }

    fn kinds(&self) -> (FileKind, FileKind) {
        match self.provider {
            Provider::Hdfs => (FileKind::Snapshot, FileKind::Delta),
            Provider::Rocksdb | Provider::Other => (FileKind::Zip, FileKind::Changelog),
        }
    }

    pub(super) fn fault(
        &self,
        partition: PartitionId,
        file: String,
        kind: FaultKind,
    ) -> StateFault {
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
