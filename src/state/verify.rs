//! Checks every data file that a partition of a store still has, whether or not the present
//! version needs it: checksums, sizes, blocks, end marks, and that every retained batch can be
//! put together.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;

use crc_fast::{CrcAlgorithm, checksum};
use serde::Deserialize;

use super::directory::Directory;
use super::fault::{FaultKind, Outcome, StateFault};
use super::files::{DataFile, FileKind, Target};
use super::rocks::snapshot::{self, SnapshotMetadata};
use super::rocks::{FileProblem, RocksStore, sst_path};
use super::store::{Run, Store};
use crate::storage::Storage;
use crate::task::Cancelled;
use crate::units::{Bytes, PartitionId, StateVersion};

/// Largest file that a checksum of Spark's is compared with: it is of a whole file, and only
/// descriptors, logs and HDFS files have one.
const MAX_CHECKED: Bytes = Bytes(1 << 30);
/// Largest checksum file that is read.
const MAX_SIDECAR: Bytes = Bytes(64 << 10);

/// What was looked at, and what was wrong.
#[derive(Debug, Default)]
pub struct FilesVerified {
    /// Files that were read to their end.
    pub files: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// File checksums that were compared.
    pub checksums: u64,
    /// What was wrong.
    pub faults: Vec<StateFault>,
}

/// Spark's checksum file, `<name>.crc` (4.1+).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sidecar {
    algorithm: String,
    value: i64,
    main_file_size: u64,
}

impl Store {
    /// Checks the files of one partition. `now` is the version that was read, `known` are files
    /// whose faults have been told already; `targets` are the versions that retained batches need.
    ///
    /// # Errors
    /// Only when cancelled.
    pub fn verify_files(
        &self,
        partition: PartitionId,
        now: &Target,
        targets: &[Target],
        known: &HashSet<String>,
        run: Run<'_>,
    ) -> Result<FilesVerified, Cancelled> {
        let mut verified = FilesVerified::default();
        let Ok(dir) = Directory::read(&self.storage, &self.dir(partition)) else {
            // The walk over the partition has told this.
            return Ok(verified);
        };
        let needed = self.needed(&dir, now);
        let verified_so_far = &mut verified;
        let mut check =
            Check { store: self, partition, needed, known, run, verified: verified_so_far };
        let mut tables = HashSet::new();
        for (path, file) in dir.data_files() {
            run.cancel.check()?;
            check.file(&path, &file, dir.has_checksum(&file), &mut tables)?;
        }
        check.lineages(&dir, targets);
        Ok(verified)
    }
}

/// What there is to read of a snapshot's table files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tables {
    /// Some are missing or of the wrong size.
    Incomplete,
    /// All have been read with another snapshot.
    Known,
    /// Some have not been read.
    Fresh,
}

struct Check<'a> {
    store: &'a Store,
    partition: PartitionId,
    /// Files that the version that was read is put together from.
    needed: HashSet<String>,
    known: &'a HashSet<String>,
    run: Run<'a>,
    verified: &'a mut FilesVerified,
}

impl Check<'_> {
    fn blame(&mut self, file: String, kind: FaultKind) {
        let told = self.known.contains(&file)
            || self.verified.faults.iter().any(|fault| fault.file == file);
        if !told {
            let outcome =
                if self.needed.contains(&file) { Outcome::Lost } else { Outcome::Unneeded };
            let fault = self.store.fault(self.partition, file, kind);
            self.verified.faults.push(StateFault { outcome, ..fault });
        }
    }

    fn count(&mut self, bytes: Bytes) {
        self.verified.files += 1;
        self.verified.bytes = self.verified.bytes + bytes;
        self.run.counter.add_bytes(bytes);
    }

    fn file(
        &mut self,
        path: &str,
        file: &DataFile,
        has_checksum: bool,
        tables: &mut HashSet<String>,
    ) -> Result<(), Cancelled> {
        match self.store.storage.stat(path) {
            Ok(entry) if entry.bytes.0 == 0 => {
                self.blame(path.to_owned(), FaultKind::Empty);
                return Ok(());
            }
            Ok(entry) => self.count(entry.bytes),
            Err(error) => {
                self.blame(path.to_owned(), FaultKind::Unreadable(error.to_string()));
                return Ok(());
            }
        }
        if has_checksum && let Err(reason) = self.checksum(path) {
            self.blame(path.to_owned(), FaultKind::FileChecksum(reason));
        }
        match file.kind {
            FileKind::Zip => self.snapshot(path, tables),
            FileKind::Changelog | FileKind::Snapshot | FileKind::Delta => {
                if let Err(reason) = self.store.records(path, file, &mut |_| {}) {
                    self.blame(path.to_owned(), FaultKind::Log(reason));
                }
                Ok(())
            }
        }
    }

    /// Compares a file with its checksum file.
    fn checksum(&mut self, path: &str) -> Result<(), String> {
        let compared = compare_checksum(&self.store.storage, path);
        if matches!(compared, Ok(()) | Err(ChecksumProblem::Differs(_))) {
            self.verified.checksums += 1;
        }
        compared.map_err(ChecksumProblem::into_sentence)
    }

    /// Opens a snapshot, and reads all blocks where it has table files that no snapshot before it
    /// had.
    fn snapshot(&mut self, path: &str, tables: &mut HashSet<String>) -> Result<(), Cancelled> {
        let storage = &self.store.storage;
        let opened = snapshot::open_zip(storage, path)
            .and_then(|mut zip| Ok((snapshot::read_metadata(&mut zip)?, zip)));
        let (metadata, mut zip) = match opened {
            Ok(opened) => opened,
            Err(reason) => {
                self.blame(path.to_owned(), FaultKind::Snapshot(reason));
                return Ok(());
            }
        };
        if let Err(reason) = snapshot::check_entries(&mut zip) {
            self.blame(path.to_owned(), FaultKind::Snapshot(reason));
        }
        self.run.cancel.check()?;
        let dir = self.store.dir(self.partition);
        let tables = self.tables(&dir, &metadata, tables);
        if tables == Tables::Incomplete {
            return Ok(());
        }
        let delimiter = self.store.lists.delimiter;
        let read = RocksStore::open(storage, &dir, path, &mut zip, &metadata, delimiter).and_then(
            |store| {
                if tables == Tables::Known {
                    return Ok(());
                }
                let mut seen = 0_u64;
                store.scan(&metadata, |_, _| {
                    seen += 1;
                    if seen.is_multiple_of(4096) && self.run.cancel.is_cancelled() {
                        return ControlFlow::Break(());
                    }
                    ControlFlow::Continue(())
                })
            },
        );
        self.run.cancel.check()?;
        if let Err(bad) = read {
            let is_zip = bad.file == path;
            let kind = match bad.problem {
                FileProblem::Damaged(reason) if is_zip => FaultKind::Snapshot(reason),
                problem => FaultKind::Sst(problem),
            };
            self.blame(bad.file, kind);
        }
        Ok(())
    }

    /// Compares the sizes of a snapshot's table files, and tells which are still to be read.
    fn tables(
        &mut self,
        dir: &str,
        metadata: &SnapshotMetadata,
        known: &mut HashSet<String>,
    ) -> Tables {
        let (mut fresh, mut whole) = (false, true);
        for sst in &metadata.sst_files {
            let path = sst_path(dir, sst);
            let problem = match self.store.storage.stat(&path) {
                Ok(entry) if entry.bytes.0 == sst.size_bytes => None,
                Ok(entry) => {
                    Some(FileProblem::Size { expected: Bytes(sst.size_bytes), found: entry.bytes })
                }
                Err(error) if error.is_not_found() => Some(FileProblem::Missing),
                Err(error) => Some(FileProblem::Damaged(error.to_string())),
            };
            match problem {
                Some(problem) => {
                    whole = false;
                    self.blame(path, FaultKind::Sst(problem));
                }
                None if known.insert(sst.dfs_sst_file_name.clone()) => {
                    fresh = true;
                    self.count(Bytes(sst.size_bytes));
                }
                None => {}
            }
        }
        match (whole, fresh) {
            (false, _) => Tables::Incomplete,
            (true, true) => Tables::Fresh,
            (true, false) => Tables::Known,
        }
    }

    /// Checks that every version that a retained batch needs, from the oldest snapshot on, can
    /// be put together.
    fn lineages(&mut self, dir: &Directory, targets: &[Target]) {
        let oldest = dir
            .data_files()
            .into_iter()
            .filter(|(_, file)| matches!(file.kind, FileKind::Zip | FileKind::Snapshot));
        let oldest = oldest.map(|(_, file)| file.version).min().unwrap_or(StateVersion(0));
        let mut told: BTreeSet<String> = BTreeSet::new();
        for target in targets.iter().filter(|target| target.version >= oldest) {
            if let Err((file, kind)) = self.store.selectable(dir, target)
                && told.insert(file.clone())
            {
                self.blame(file, kind);
            }
        }
    }
}

/// Why a file is not as its checksum file says; sentences.
pub(super) enum ChecksumProblem {
    /// They could not be compared.
    Incomparable(String),
    /// They were, and differ.
    Differs(String),
}

impl ChecksumProblem {
    /// What is wrong.
    pub(super) fn into_sentence(self) -> String {
        match self {
            Self::Incomparable(sentence) | Self::Differs(sentence) => sentence,
        }
    }
}

/// Compares a file with Spark's checksum file beside it.
pub(super) fn compare_checksum(storage: &Storage, path: &str) -> Result<(), ChecksumProblem> {
    let not = |error: String| ChecksumProblem::Incomparable(error);
    let sidecar = storage.read(&format!("{path}.crc"), MAX_SIDECAR);
    let sidecar = sidecar.map_err(|error| not(error.to_string()))?;
    let sidecar: Sidecar = serde_json::from_slice(&sidecar)
        .map_err(|error| not(format!("its checksum file is not as expected: {error}")))?;
    if sidecar.algorithm != "CRC32C" {
        return Err(not(format!(
            "its checksum file has the algorithm {:?}, expected \"CRC32C\"",
            sidecar.algorithm
        )));
    }
    let bytes = storage.read(path, MAX_CHECKED).map_err(|error| not(error.to_string()))?;
    if bytes.len() as u64 != sidecar.main_file_size {
        return Err(ChecksumProblem::Differs(format!(
            "its checksum file says {} bytes, found {}",
            sidecar.main_file_size,
            bytes.len()
        )));
    }
    let found = checksum(CrcAlgorithm::Crc32Iscsi, &bytes);
    // Spark writes the 32 bits as a signed number.
    let wanted = u64::from(i32::try_from(sidecar.value).unwrap_or_default().cast_unsigned());
    if found == wanted {
        return Ok(());
    }
    Err(ChecksumProblem::Differs(format!(
        "its checksum file says CRC-32C {wanted:08x}, found {found:08x}"
    )))
}
