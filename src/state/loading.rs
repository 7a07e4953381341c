//! What Spark 4.2 and later would make of loading one partition, step by step, told from names,
//! sizes and small files: nothing of a table file is read.
//!
//! This is not how this program reads a store ([`super::store`] tries every way there is); it is
//! how the engine does: without changelogs in the session, only the newest snapshot; with them,
//! older ones too, but only in state checkpoint format 1.

use std::collections::BTreeMap;

use super::directory::Directory;
use super::files::{DataFile, FileKind, Target};
use super::logs;
use super::rocks::changelog::Reader;
use super::rocks::{snapshot, sst_path};
use super::store::{Run, Store};
use super::verify::compare_checksum;
use crate::codec;
use crate::figures;
use crate::task::Cancelled;
use crate::units::{Bytes, PartitionId, StateVersion};

/// How the engine loads in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadRules {
    /// Whether an older snapshot replaces a damaged one.
    pub repair: bool,
    /// How many changelogs may be replayed for that.
    pub most_changelogs: u64,
    /// Whether Spark's checksum files are compared (state checkpoint format 2 only).
    pub checksums: bool,
}

/// What loading would come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadOutcome {
    /// It loads.
    Loads {
        /// Bytes of the files that are read.
        bytes: Bytes,
        /// The damaged snapshot that an older one replaces.
        repaired: Option<String>,
    },
    /// It fails.
    Fails(LoadFailure),
}

/// Why loading would fail. Paths are relative to the checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadFailure {
    /// A file of a version is not there.
    NoFile(String),
    /// A table file has another size than its snapshot says.
    Size {
        /// The table file.
        file: String,
        /// What the snapshot says.
        expected: Bytes,
        /// What is there.
        found: Bytes,
    },
    /// A file is damaged, or a table file missing: file and reason.
    Damaged(String, String),
    /// No snapshot that is left can be loaded: the newest, and those that were tried.
    RepairFailed {
        /// The newest version that has one.
        newest: StateVersion,
        /// The versions that were tried after it.
        tried: Vec<StateVersion>,
        /// All older versions that have one.
        eligible: Vec<StateVersion>,
        /// What was wrong with the newest.
        file: String,
    },
    /// The lineage leads to no snapshot; the pairs of version and id.
    NoBase(Vec<(StateVersion, String)>),
    /// A file name has an id, where names without one are expected.
    NameWithId(String),
}

impl LoadFailure {
    /// The file at fault.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::NoFile(file)
            | Self::Size { file, .. }
            | Self::Damaged(file, _)
            | Self::RepairFailed { file, .. }
            | Self::NameWithId(file) => Some(file),
            Self::NoBase(_) => None,
        }
    }

    /// What is wrong with it, in a sentence without a full stop.
    pub fn reason(&self) -> String {
        match self {
            Self::NoFile(_) => "it is missing".to_owned(),
            Self::Size { expected, found, .. } => {
                format!(
                    "it has {}, its snapshot says {}",
                    figures::bytes(*found),
                    figures::bytes(*expected)
                )
            }
            Self::Damaged(_, reason) => reason.clone(),
            Self::RepairFailed { .. } => {
                "it cannot be loaded, nor can any older snapshot that is near enough".to_owned()
            }
            Self::NoBase(_) => "no snapshot is in the lineage of this version".to_owned(),
            Self::NameWithId(_) => {
                "its name has an id, and the commit names none: the engine does not expect it"
                    .to_owned()
            }
        }
    }
}

impl Store {
    /// What loading `target` of a partition would come to.
    ///
    /// # Errors
    /// Only when cancelled.
    pub fn load_as_engine(
        &self,
        partition: PartitionId,
        target: &Target,
        rules: LoadRules,
        run: Run<'_>,
    ) -> Result<LoadOutcome, Cancelled> {
        run.cancel.check()?;
        let path = self.dir(partition);
        let (files, dir) = match Directory::read(&self.storage, &path) {
            Ok(dir) => (dir.data_files().into_iter().map(|(_, file)| file).collect(), Some(dir)),
            // The engine takes a directory that is not there for an empty one.
            Err(_) => (Vec::new(), None),
        };
        let loading = Loading { store: self, path, files, dir, rules };
        let loaded = match &target.id {
            None => loading.by_version(target.version),
            Some(id) => loading.by_lineage(target.version, id),
        };
        let outcome = loaded.unwrap_or_else(LoadOutcome::Fails);
        if let LoadOutcome::Loads { bytes, .. } = outcome {
            run.counter.add_bytes(bytes);
        }
        Ok(outcome)
    }
}

struct Loading<'a> {
    store: &'a Store,
    path: String,
    files: Vec<DataFile>,
    dir: Option<Directory>,
    rules: LoadRules,
}

impl Loading<'_> {
    /// State checkpoint format 1: the newest snapshot up to the version, and what follows it.
    fn by_version(&self, version: StateVersion) -> Result<LoadOutcome, LoadFailure> {
        let zips = || self.files.iter().filter(|file| file.kind == FileKind::Zip);
        if let Some(strange) = zips().find(|file| file.id.is_some()) {
            return Err(LoadFailure::NameWithId(self.path_of(strange)));
        }
        let mut eligible: Vec<StateVersion> =
            zips().map(|file| file.version).filter(|found| *found <= version).collect();
        eligible.push(StateVersion(0));
        eligible.sort_unstable();
        eligible.dedup();
        eligible.reverse();
        let newest = eligible.first().copied().unwrap_or(StateVersion(0));
        let (from, bytes, repaired) = match self.snapshot(newest, None) {
            Ok(bytes) => (newest, bytes, None),
            Err(failure) if !self.rules.repair => return Err(failure),
            Err(failure) => {
                let file = failure.file().unwrap_or_default().to_owned();
                let (from, bytes) = self.repair(version, &eligible, newest, &file)?;
                (from, bytes, Some(file))
            }
        };
        let versions = (from.0 + 1..=version.0).map(|at| (StateVersion(at), None));
        let replayed = self.replay(versions)?;
        Ok(LoadOutcome::Loads { bytes: bytes + replayed, repaired })
    }

    fn repair(
        &self,
        version: StateVersion,
        eligible: &[StateVersion],
        newest: StateVersion,
        file: &str,
    ) -> Result<(StateVersion, Bytes), LoadFailure> {
        let older: Vec<StateVersion> = eligible.iter().copied().skip(1).collect();
        let near = |from: &&StateVersion| version.0 - from.0 <= self.rules.most_changelogs;
        let tried: Vec<StateVersion> = older.iter().filter(near).copied().collect();
        let found = tried.iter().find_map(|from| Some((*from, self.snapshot(*from, None).ok()?)));
        found.ok_or_else(|| LoadFailure::RepairFailed {
            newest,
            tried,
            eligible: older,
            file: file.to_owned(),
        })
    }

    /// State checkpoint format 2: the ids of the commit and of the newest changelog decide.
    fn by_lineage(&self, version: StateVersion, id: &str) -> Result<LoadOutcome, LoadFailure> {
        let name = |version, id: &str, kind| DataFile { version, id: Some(id.to_owned()), kind };
        if self.has(&name(version, id, FileKind::Zip)) {
            let bytes = self.snapshot(version, Some(id))?;
            return Ok(LoadOutcome::Loads { bytes, repaired: None });
        }
        let newest = name(version, id, FileKind::Changelog);
        if !self.has(&newest) {
            return Err(LoadFailure::NoFile(self.path_of(&newest)));
        }
        let mut lineage: BTreeMap<StateVersion, String> = self.lineage(&newest)?;
        lineage.insert(version, id.to_owned());
        let base = lineage.iter().rev().find(|(v, id)| self.has(&name(**v, id, FileKind::Zip)));
        let first = lineage.keys().next().copied();
        let (from, bytes) = match base {
            Some((from, id)) => (*from, self.snapshot(*from, Some(id))?),
            None if first == Some(StateVersion(1)) => (StateVersion(0), Bytes(0)),
            None => return Err(LoadFailure::NoBase(lineage.into_iter().collect())),
        };
        let versions = lineage.iter().filter(|(at, _)| **at > from);
        let versions = versions.map(|(at, id)| (*at, Some(id.clone())));
        let replayed = self.replay(versions)?;
        Ok(LoadOutcome::Loads { bytes: bytes + replayed, repaired: None })
    }

    fn lineage(&self, file: &DataFile) -> Result<BTreeMap<StateVersion, String>, LoadFailure> {
        let path = self.path_of(file);
        let damaged = |reason: String| LoadFailure::Damaged(path.clone(), reason);
        let input = logs::open(&self.store.storage, &path).map_err(damaged)?;
        let input = codec::decompress(input).map_err(|error| damaged(error.to_string()))?;
        let reader = Reader::changelog(input).map_err(|error| damaged(error.to_string()))?;
        let pairs = reader.lineage().iter();
        Ok(pairs.map(|pair| (pair.state_version(), pair.checkpoint_unique_id.clone())).collect())
    }

    /// Reads changelogs to their ends, in order.
    fn replay(
        &self,
        versions: impl Iterator<Item = (StateVersion, Option<String>)>,
    ) -> Result<Bytes, LoadFailure> {
        let mut total = Bytes(0);
        for (version, id) in versions {
            let file = DataFile { version, id, kind: FileKind::Changelog };
            let path = self.path_of(&file);
            if !self.has(&file) {
                return Err(LoadFailure::NoFile(path));
            }
            self.compare_checksum(&file, &path)?;
            let read = self.store.records(&path, &file, &mut |_| {});
            read.map_err(|reason| LoadFailure::Damaged(path.clone(), reason))?;
            total = total + self.size(&path);
        }
        Ok(total)
    }

    /// Reads a descriptor, and compares the sizes of its table files.
    fn snapshot(&self, version: StateVersion, id: Option<&str>) -> Result<Bytes, LoadFailure> {
        if version.0 == 0 {
            return Ok(Bytes(0));
        }
        let file = DataFile { version, id: id.map(str::to_owned), kind: FileKind::Zip };
        let path = self.path_of(&file);
        self.compare_checksum(&file, &path)?;
        let damaged = |reason: String| LoadFailure::Damaged(path.clone(), reason);
        let storage = &self.store.storage;
        let mut zip = snapshot::open_zip(storage, &path).map_err(damaged)?;
        let metadata = snapshot::read_metadata(&mut zip).map_err(damaged)?;
        snapshot::check_entries(&mut zip).map_err(damaged)?;
        let mut total = self.size(&path);
        for sst in &metadata.sst_files {
            let path = sst_path(&self.path, sst);
            let expected = Bytes(sst.size_bytes);
            let entry = storage.stat(&path).map_err(|error| {
                let missing = error.is_not_found();
                let reason = if missing { "it is missing".to_owned() } else { error.to_string() };
                LoadFailure::Damaged(path.clone(), reason)
            })?;
            if entry.bytes != expected {
                return Err(LoadFailure::Size { file: path, expected, found: entry.bytes });
            }
            total = total + expected;
        }
        Ok(total)
    }

    fn compare_checksum(&self, file: &DataFile, path: &str) -> Result<(), LoadFailure> {
        let has = self.dir.as_ref().is_some_and(|dir| dir.has_checksum(file));
        if !self.rules.checksums || file.id.is_none() || !has {
            return Ok(());
        }
        compare_checksum(&self.store.storage, path)
            .map_err(|problem| LoadFailure::Damaged(path.to_owned(), problem.into_sentence()))
    }

    fn size(&self, path: &str) -> Bytes {
        self.store.storage.stat(path).map_or(Bytes(0), |entry| entry.bytes)
    }

    fn has(&self, file: &DataFile) -> bool {
        self.files.binary_search(file).is_ok()
    }

    fn path_of(&self, file: &DataFile) -> String {
        format!("{}/{}", self.path, file.name())
    }
}
