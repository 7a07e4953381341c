//! Finds the files that make up a version in one store directory, with their sizes.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};

use zip::ZipArchive;

use crate::codec;
use crate::state::fault::FaultKind;
use crate::state::files::{self, DataFile, FileKind, Plan, SelectError, Target};
use crate::state::logs;
use crate::state::rocks::changelog::{LineageEntry, Reader};
use crate::state::rocks::snapshot::{self, SnapshotMetadata, ZipSource};
use crate::state::rocks::{FileProblem, sst_path};
use crate::storage::{Entry, EntryKind, Storage, StorageError};
use crate::units::{Bytes, StateVersion, UnixMillis};

/// A file at fault, relative to the checkpoint, and what is wrong with it.
pub(in crate::state) type Problem = (String, FaultKind);

/// The data files of one store in one partition.
#[derive(Debug)]
pub(in crate::state) struct Directory {
    /// Where it is, relative to the checkpoint.
    pub(in crate::state) path: String,
    files: Vec<DataFile>,
    /// The data files that have a checksum file beside them.
    checksums: HashSet<String>,
    /// Sizes that came with the listing; empty where a look at each file is cheaper.
    listed: HashMap<String, Entry>,
    tables: OnceCell<HashMap<String, Entry>>,
}

impl Directory {
    /// Lists `path`.
    pub(in crate::state) fn read(storage: &Storage, path: &str) -> Result<Self, Problem> {
        let failed = |error: StorageError| {
            let kind = match error {
                StorageError::NotFound { .. } => FaultKind::MissingDirectory,
                other => FaultKind::Unreadable(other.to_string()),
            };
            (path.to_owned(), kind)
        };
        let (names, listed): (Vec<String>, HashMap<String, Entry>) = if storage.is_local() {
            let names = storage.names(path).map_err(failed)?;
            (names.into_iter().map(|name| name.name).collect(), HashMap::new())
        } else {
            let entries = storage.list(path).map_err(failed)?;
            let names = entries.iter().map(|entry| entry.name.clone()).collect();
            (names, entries.into_iter().map(|entry| (entry.name.clone(), entry)).collect())
        };
        let mut files: Vec<_> = names.iter().filter_map(|name| DataFile::parse(name)).collect();
        files.sort_unstable();
        let checksums = names.iter().filter_map(|name| name.strip_suffix(".crc"));
        let checksums = checksums.map(str::to_owned).collect();
        Ok(Self { path: path.to_owned(), files, checksums, listed, tables: OnceCell::new() })
    }

    /// All data files with their paths, by version.
    pub(in crate::state) fn data_files(&self) -> Vec<(String, DataFile)> {
        self.files.iter().map(|file| (self.path_of(file), file.clone())).collect()
    }

    /// Whether a checksum file of Spark's is beside a data file.
    pub(in crate::state) fn has_checksum(&self, file: &DataFile) -> bool {
        self.checksums.contains(&file.name())
    }

    /// Paths of the files that `target` is put together from, table files left out.
    pub(in crate::state) fn needed(
        &self,
        storage: &Storage,
        target: &Target,
        kinds: (FileKind, FileKind),
    ) -> HashSet<String> {
        let lineage = |file: &DataFile| self.lineage(storage, file);
        let plan = files::select(&self.files, target, kinds, 0, lineage);
        let files = plan.into_iter().flat_map(|plan| plan.snapshot.into_iter().chain(plan.logs));
        files.map(|file| self.path_of(&file)).collect()
    }

    /// Whether there is a way to put `target` together, by names alone.
    pub(in crate::state) fn selectable(
        &self,
        storage: &Storage,
        target: &Target,
        kinds: (FileKind, FileKind),
    ) -> Result<(), Problem> {
        let lineage = |file: &DataFile| self.lineage(storage, file);
        match files::select(&self.files, target, kinds, 0, lineage) {
            Err(SelectError::Missing(file)) => {
                let version = file.version;
                Err((self.path_of(&file), FaultKind::MissingVersion(version)))
            }
            Err(SelectError::Lineage(file, reason)) => {
                Err((self.path_of(&file), FaultKind::Log(reason)))
            }
            Ok(_) | Err(SelectError::Exhausted) => Ok(()),
        }
    }

    /// The `skip`-th best set of files for `target`; `Err(None)` when there is no further one.
    pub(in crate::state) fn locate(
        &self,
        storage: &Storage,
        target: &Target,
        kinds: (FileKind, FileKind),
        skip: usize,
    ) -> Result<Located, Option<Problem>> {
        let lineage = |file: &DataFile| self.lineage(storage, file);
        let plan =
            files::select(&self.files, target, kinds, skip, lineage).map_err(
                |error| match error {
                    SelectError::Missing(file) => {
                        let version = file.version;
                        Some((self.path_of(&file), FaultKind::MissingVersion(version)))
                    }
                    SelectError::Lineage(file, reason) => {
                        Some((self.path_of(&file), FaultKind::Log(reason)))
                    }
                    SelectError::Exhausted => None,
                },
            )?;
        Ok(self.look_at(storage, plan))
    }

    /// The newest version up to `version` that has a changelog, of whatever id.
    pub(in crate::state) fn newest_changelog(&self, version: StateVersion) -> Option<StateVersion> {
        let changelogs = self.files.iter().filter(|file| file.kind == FileKind::Changelog);
        changelogs.map(|file| file.version).filter(|found| *found <= version).max()
    }

    /// Paths and files of the logs that led to `target`, newest first, as far back as they go.
    pub(in crate::state) fn history(
        &self,
        storage: &Storage,
        target: &Target,
        log_kind: FileKind,
    ) -> Vec<(String, DataFile)> {
        let lineage = |file: &DataFile| self.lineage(storage, file);
        let logs = files::history(&self.files, target, log_kind, lineage);
        logs.into_iter().map(|log| (self.path_of(&log), log)).collect()
    }

    /// How many files each version from `first` to `last` added.
    pub(in crate::state) fn written(
        &self,
        storage: &Storage,
        first: StateVersion,
        last: StateVersion,
    ) -> Vec<(StateVersion, u64)> {
        let mut known: Option<HashSet<String>> = None;
        let mut written = Vec::new();
        for file in self.files.iter().filter(|file| file.version <= last) {
            let inside = file.version >= first;
            let mut files = u64::from(inside);
            // Of older snapshots only the newest matters: what it has is not new later.
            let next_is_older = self.files.iter().any(|other| {
                other.kind == FileKind::Zip && other.version > file.version && other.version < first
            });
            if file.kind == FileKind::Zip && (inside || !next_is_older) {
                let tables = snapshot::open_zip(storage, &self.path_of(file))
                    .and_then(|mut zip| snapshot::read_metadata(&mut zip))
                    .map(|metadata| metadata.sst_files)
                    .unwrap_or_default();
                let tables: HashSet<String> =
                    tables.into_iter().map(|sst| sst.dfs_sst_file_name).collect();
                if inside {
                    let before = known.take().unwrap_or_default();
                    files += tables.difference(&before).count() as u64;
                }
                known = Some(tables);
            }
            if inside {
                written.push((file.version, files));
            }
        }
        written
    }

    /// The newest version that has a file.
    pub(in crate::state) fn newest_file(&self) -> Option<StateVersion> {
        self.files.iter().map(|file| file.version).max()
    }

    /// The oldest version that has a file.
    pub(in crate::state) fn oldest_file(&self) -> Option<StateVersion> {
        self.files.iter().map(|file| file.version).min()
    }

    /// How many data files there are, of all versions.
    pub(in crate::state) fn number(&self) -> u64 {
        self.files.len() as u64
    }

    /// The newest snapshot up to `version`, of whatever id.
    pub(in crate::state) fn newest_snapshot(&self, version: StateVersion) -> Option<Target> {
        let full = |file: &&DataFile| matches!(file.kind, FileKind::Zip | FileKind::Snapshot);
        let snapshots = self.files.iter().filter(full).filter(|file| file.version <= version);
        let newest = snapshots.max_by_key(|file| file.version)?;
        Some(Target { version: newest.version, id: newest.id.clone() })
    }

    fn path_of(&self, file: &DataFile) -> String {
        format!("{}/{}", self.path, file.name())
    }

    fn lineage(&self, storage: &Storage, file: &DataFile) -> Result<Vec<LineageEntry>, String> {
        let input = logs::open(storage, &self.path_of(file))?;
        let input = codec::decompress(input).map_err(|error| error.to_string())?;
        let reader = Reader::changelog(input).map_err(|error| error.to_string())?;
        Ok(reader.lineage().to_vec())
    }

    /// Gathers sizes, and what is wrong at first sight: absent and empty files, a bad
    /// descriptor, table files that are not as it says.
    fn look_at(&self, storage: &Storage, plan: Plan) -> Located {
        let mut located = Located {
            dir: self.path.clone(),
            plan,
            entries: Vec::new(),
            snapshot: None,
            problem: None,
        };
        let files: Vec<_> =
            located.plan.snapshot.iter().chain(&located.plan.logs).cloned().collect();
        let names: Vec<String> = files.iter().map(DataFile::name).collect();
        for (file, found) in files.iter().zip(self.stat(storage, &names)) {
            match found {
                Ok(entry) if entry.bytes.0 == 0 => {
                    located.blame(self.path_of(file), FaultKind::Empty);
                    located.entries.push(entry);
                }
                Ok(entry) => located.entries.push(entry),
                Err(error) => {
                    located.blame(self.path_of(file), FaultKind::Unreadable(error.to_string()));
                }
            }
        }
        if located.problem.is_none() {
            self.open_snapshot(storage, &mut located);
        }
        located
    }

    fn open_snapshot(&self, storage: &Storage, located: &mut Located) {
        let zip = located.plan.snapshot.as_ref().filter(|file| file.kind == FileKind::Zip);
        let Some(zip_path) = zip.map(|file| self.path_of(file)) else { return };
        let opened = snapshot::open_zip(storage, &zip_path)
            .and_then(|mut zip| Ok((snapshot::read_metadata(&mut zip)?, zip)));
        match opened {
            Err(reason) => located.blame(zip_path, FaultKind::Snapshot(reason)),
            Ok((metadata, zip)) => {
                for (sst, found) in metadata.sst_files.iter().zip(self.tables(storage, &metadata)) {
                    let path = sst_path(&self.path, sst);
                    match found {
                        Ok(entry) if entry.bytes.0 == sst.size_bytes => located.entries.push(entry),
                        Ok(entry) => {
                            let problem = FileProblem::Size {
                                expected: Bytes(sst.size_bytes),
                                found: entry.bytes,
                            };
                            located.blame(path, FaultKind::Sst(problem));
                            located.entries.push(entry);
                        }
                        Err(problem) => located.blame(path, FaultKind::Sst(problem)),
                    }
                }
                located.snapshot = Some((zip_path, metadata, RefCell::new(zip)));
            }
        }
    }

    /// Sizes of data files, from the listing where it had them.
    fn stat(&self, storage: &Storage, names: &[String]) -> Vec<Result<Entry, StorageError>> {
        let listed: Option<Vec<_>> =
            names.iter().map(|name| self.listed.get(name).cloned().map(Ok)).collect();
        listed.unwrap_or_else(|| storage.stat_in(&self.path, names))
    }

    /// The table files of a snapshot: looked at one by one on a disk, listed with all others
    /// in a cloud store.
    fn tables(
        &self,
        storage: &Storage,
        metadata: &SnapshotMetadata,
    ) -> Vec<Result<Entry, FileProblem>> {
        let names: Vec<String> =
            metadata.sst_files.iter().map(|sst| sst.dfs_sst_file_name.clone()).collect();
        let dir = format!("{}/SSTs", self.path);
        let found: Vec<Result<Entry, FileProblem>> = if storage.is_local() {
            let missing = |error: StorageError| match error {
                StorageError::NotFound { .. } => FileProblem::Missing,
                other => FileProblem::Damaged(other.to_string()),
            };
            let found = storage.stat_in(&dir, &names);
            found.into_iter().map(|entry| entry.map_err(missing)).collect()
        } else {
            let tables = self.tables.get_or_init(|| {
                let entries = storage.list(&dir).unwrap_or_default();
                entries.into_iter().map(|entry| (entry.name.clone(), entry)).collect()
            });
            names.iter().map(|name| tables.get(name).cloned().ok_or(FileProblem::Missing)).collect()
        };
        let regular = |entry: Entry| match entry.kind {
            EntryKind::File => Ok(entry),
            _ => Err(FileProblem::Damaged("it is not a regular file inside the checkpoint".into())),
        };
        found.into_iter().map(|entry| entry.and_then(regular)).collect()
    }
}

/// The files of one way to put a version together.
pub(in crate::state) struct Located {
    dir: String,
    plan: Plan,
    entries: Vec<Entry>,
    /// The opened descriptor of a `RocksDB` snapshot.
    pub(in crate::state) snapshot:
        Option<(String, SnapshotMetadata, RefCell<ZipArchive<ZipSource>>)>,
    problem: Option<Problem>,
}

impl Located {
    fn blame(&mut self, file: String, kind: FaultKind) {
        self.problem.get_or_insert((file, kind));
    }

    /// The first thing found wrong.
    pub(in crate::state) fn problem(&self) -> Option<Problem> {
        self.problem.clone()
    }

    /// What the snapshot says of itself; `None` without one and for HDFS snapshots.
    pub(in crate::state) fn metadata(&self) -> Option<&SnapshotMetadata> {
        self.snapshot.as_ref().map(|(_, metadata, _)| metadata)
    }

    /// Version of the snapshot to start from.
    pub(in crate::state) fn snapshot_version(&self) -> Option<StateVersion> {
        self.plan.snapshot.as_ref().map(|file| file.version)
    }

    /// Whether there is nothing to load: version 0.
    pub(in crate::state) fn is_empty_store(&self) -> bool {
        self.plan.snapshot.is_none() && self.plan.logs.is_empty()
    }

    /// Where the store is.
    pub(in crate::state) fn dir(&self) -> &str {
        &self.dir
    }

    /// Paths of the logs to replay, ascending.
    pub(in crate::state) fn logs(&self) -> impl Iterator<Item = String> {
        self.plan.logs.iter().map(|log| format!("{}/{}", self.dir, log.name()))
    }

    /// The files whose records are replayed, with their versions: an HDFS snapshot is one.
    pub(in crate::state) fn replayed(&self) -> impl Iterator<Item = (String, &DataFile)> {
        let full = self.plan.snapshot.iter().filter(|file| file.kind == FileKind::Snapshot);
        full.chain(&self.plan.logs).map(|file| (format!("{}/{}", self.dir, file.name()), file))
    }

    /// Bytes of all files.
    pub(in crate::state) fn bytes(&self) -> Bytes {
        self.entries.iter().map(|entry| entry.bytes).sum()
    }

    /// Number of files.
    pub(in crate::state) fn count(&self) -> u64 {
        self.entries.len() as u64
    }

    /// When the newest of them was written.
    pub(in crate::state) fn last_written(&self) -> Option<UnixMillis> {
        self.entries.iter().filter_map(|entry| entry.modified).max()
    }
}
