//! A snapshot opened as a read-only `RocksDB` in a scratch directory.
//!
//! The zip's entries are unpacked there; table files of a local checkpoint are linked, not
//! copied, and those of a remote one are fetched. The checkpoint itself is never written
//! to: `RocksDB` puts its own files beside the links, and the directory goes when the store
//! is closed.

use std::collections::HashSet;
use std::fs::Permissions;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::OnceLock;

use rocksdb::{BlockBasedOptions, DB, DBRawIteratorWithThreadMode, MergeOperands, Options};
use tempfile::TempDir;
use zip::ZipArchive;

use super::snapshot::{self, MAX_ENTRY, SnapshotMetadata, SstFile, ZipSource};
use crate::storage::Storage;
use crate::units::Bytes;

/// Bytes of a table file read at a time; by itself `RocksDB` would begin with single blocks.
const READAHEAD: usize = 512 << 10;
/// Table files kept open at a time; bounds descriptors and index memory of stores with many.
const MAX_OPEN_FILES: i32 = 64;

/// What stands between the operands of Spark's list merges (`StringAppendOperator`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeDelimiter {
    /// Merge operator version 1: a comma.
    Comma,
    /// Merge operator version 2: nothing.
    Nothing,
}

impl MergeDelimiter {
    /// The delimiter's bytes.
    pub fn bytes(self) -> &'static [u8] {
        match self {
            Self::Comma => b",",
            Self::Nothing => b"",
        }
    }
}

/// A file that keeps a store from being opened or read, relative to the checkpoint, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadFile {
    /// The file.
    pub file: String,
    /// What is wrong with it.
    pub problem: FileProblem,
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileProblem {
    /// It is not there.
    Missing,
    /// Its size differs from what the snapshot says.
    Size {
        /// As the snapshot has it.
        expected: Bytes,
        /// As it is.
        found: Bytes,
    },
    /// Its content is not as expected; a sentence.
    Damaged(String),
}

/// An open snapshot.
pub struct RocksStore {
    // Declared before the directory: the database must be closed before its files go.
    db: DB,
    _scratch: TempDir,
    store_dir: String,
}

impl RocksStore {
    /// Opens the snapshot whose descriptor is `zip`, found at `zip_path`.
    ///
    /// # Errors
    /// The file at fault and what is wrong with it.
    pub fn open(
        storage: &Storage,
        store_dir: &str,
        zip_path: &str,
        zip: &mut ZipArchive<ZipSource>,
        metadata: &SnapshotMetadata,
        delimiter: MergeDelimiter,
    ) -> Result<Self, BadFile> {
        let damaged = |file: &str, reason: String| BadFile {
            file: file.to_owned(),
            problem: FileProblem::Damaged(reason),
        };
        let scratch = scratch(storage).map_err(|error| {
            damaged(zip_path, format!("no scratch directory to unpack it into: {error}"))
        })?;
        unpack(zip, scratch.path()).map_err(|reason| damaged(zip_path, reason))?;
        for sst in &metadata.sst_files {
            place(storage, store_dir, sst, scratch.path())?;
        }
        let db = DB::open_for_read_only(options(delimiter), scratch.path(), false)
            .map_err(|error| blame(store_dir, zip_path, metadata, error.as_ref()))?;
        all_live(&db, metadata).map_err(|reason| damaged(zip_path, reason))?;
        Ok(Self { db, _scratch: scratch, store_dir: store_dir.to_owned() })
    }

    /// Visits every key in key order until `visit` breaks; the second argument looks up the value.
    ///
    /// # Errors
    /// When a table file turns out to be damaged on the way.
    pub fn scan(
        &self,
        metadata: &SnapshotMetadata,
        mut visit: impl for<'a> FnMut(&'a [u8], &'a dyn Fn() -> &'a [u8]) -> ControlFlow<()>,
    ) -> Result<(), BadFile> {
        let mut read = rocksdb::ReadOptions::default();
        read.fill_cache(false);
        read.set_verify_checksums(true);
        read.set_readahead_size(READAHEAD);
        let mut rows: DBRawIteratorWithThreadMode<'_, DB> = self.db.raw_iterator_opt(read);
        rows.seek_to_first();
        while let Some(key) = rows.key() {
            if visit(key, &|| rows.value().unwrap_or_default()).is_break() {
                return Ok(());
            }
            rows.next();
        }
        rows.status()
            .map_err(|error| blame(&self.store_dir, &self.store_dir, metadata, error.as_ref()))
    }
}

/// Every table file of a snapshot is part of the store. A manifest that ends early opens without
/// an error, since to `RocksDB` it is one that was being written: rows would be missing unseen.
fn all_live(db: &DB, metadata: &SnapshotMetadata) -> Result<(), String> {
    let live = db.live_files().map_err(|error| format!("its manifest cannot be read: {error}"))?;
    let live: HashSet<&str> = live.iter().map(|file| file.name.trim_start_matches('/')).collect();
    let gone = metadata.sst_files.iter().find(|sst| !live.contains(sst.local_file_name.as_str()));
    gone.map_or(Ok(()), |sst| {
        Err(format!(
            "its manifest does not have the table file {}, which the snapshot lists: it ends early \
             or is of another snapshot",
            sst.local_file_name
        ))
    })
}

impl std::fmt::Debug for RocksStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RocksStore").field("store_dir", &self.store_dir).finish_non_exhaustive()
    }
}

/// A directory for one store's files. With table files only linked it holds a few KiB, for
/// which a file system in memory is several times faster; fetched ones belong on a disk.
fn scratch(storage: &Storage) -> io::Result<TempDir> {
    let mut directory = tempfile::Builder::new();
    let directory = directory.prefix("statetop-store-").permissions(Permissions::from_mode(0o700));
    if storage.is_local()
        && std::env::var_os("TMPDIR").is_none()
        && let Ok(in_memory) = directory.tempdir_in("/dev/shm")
    {
        return Ok(in_memory);
    }
    directory.tempdir()
}

/// Unpacks the descriptor's `RocksDB` files. The write-ahead log is left out: Spark
/// flushes before each snapshot, and a read-only opener would have to replay it.
fn unpack(zip: &mut ZipArchive<ZipSource>, into: &Path) -> Result<(), String> {
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).map_err(|error| format!("a damaged entry: {error}"))?;
        let Ok(name) = entry.name().map(std::borrow::Cow::into_owned) else { continue };
        let wanted = name == "CURRENT" || name.starts_with("MANIFEST-");
        if !wanted || !snapshot::is_plain_name(&name) {
            continue;
        }
        let mut file = std::fs::File::create(into.join(&name))
            .map_err(|error| format!("entry `{name}` cannot be unpacked: {error}"))?;
        let copied = io::copy(&mut entry.by_ref().take(MAX_ENTRY), &mut file)
            .map_err(|error| format!("entry `{name}` is damaged: {error}"))?;
        if copied == MAX_ENTRY {
            return Err(format!("entry `{name}` is larger than {MAX_ENTRY} bytes"));
        }
    }
    Ok(())
}

/// Puts one table file into the scratch directory: a link, or a copy of a remote object.
fn place(storage: &Storage, store_dir: &str, sst: &SstFile, into: &Path) -> Result<(), BadFile> {
    let path = sst_path(store_dir, sst);
    let local = into.join(&sst.local_file_name);
    let damaged =
        |reason: String| BadFile { file: path.clone(), problem: FileProblem::Damaged(reason) };
    match storage.local_path(&path) {
        Some(source) => std::os::unix::fs::symlink(source, local)
            .map_err(|error| damaged(format!("it cannot be linked: {error}"))),
        None => storage
            .copy_to(&path, &local, Bytes(sst.size_bytes))
            .map(|_| ())
            .map_err(|error| damaged(error.to_string())),
    }
}

/// Where a table file is kept, relative to the checkpoint.
pub fn sst_path(store_dir: &str, sst: &SstFile) -> String {
    format!("{store_dir}/SSTs/{}", sst.dfs_sst_file_name)
}

/// `RocksDB` names table files by their local number; finds the file that a message is about.
fn blame(store_dir: &str, otherwise: &str, metadata: &SnapshotMetadata, message: &str) -> BadFile {
    let file = metadata
        .sst_files
        .iter()
        .find(|sst| message.contains(&sst.local_file_name))
        .or_else(|| metadata.sst_files.first().filter(|_| metadata.sst_files.len() == 1))
        .map_or_else(|| otherwise.to_owned(), |sst| sst_path(store_dir, sst));
    // The scratch path inside the message would mislead: only its file names help.
    let reason = message.split_whitespace().map(shorten_path).collect::<Vec<_>>().join(" ");
    BadFile { file, problem: FileProblem::Damaged(format!("RocksDB cannot read it: {reason}")) }
}

fn shorten_path(word: &str) -> &str {
    if word.starts_with('/') { word.rsplit('/').next().unwrap_or(word) } else { word }
}

/// The options to open with, made once: making them costs as much as opening a small store.
fn options(delimiter: MergeDelimiter) -> &'static Options {
    static COMMA: OnceLock<Options> = OnceLock::new();
    static NOTHING: OnceLock<Options> = OnceLock::new();
    match delimiter {
        MergeDelimiter::Comma => COMMA.get_or_init(|| new_options(delimiter)),
        MergeDelimiter::Nothing => NOTHING.get_or_init(|| new_options(delimiter)),
    }
}

fn new_options(delimiter: MergeDelimiter) -> Options {
    let mut table = BlockBasedOptions::default();
    // Every row is read once: a cache would only cost memory.
    table.disable_cache();
    let mut options = Options::default();
    options.set_block_based_table_factory(&table);
    options.set_max_open_files(MAX_OPEN_FILES);
    // One thread is cheaper than starting the default 16 for a handful of files.
    options.set_max_file_opening_threads(1);
    options.set_skip_stats_update_on_db_open(true);
    options.set_log_level(rocksdb::LogLevel::Fatal);
    options.set_keep_log_file_num(1);
    options.set_merge_operator_associative("StringAppendOperator", move |_, existing, operands| {
        Some(append(existing, operands, delimiter.bytes()))
    });
    options
}

fn append(existing: Option<&[u8]>, operands: &MergeOperands, delimiter: &[u8]) -> Vec<u8> {
    let mut joined = existing.map(<[u8]>::to_vec);
    for operand in operands {
        match &mut joined {
            None => joined = Some(operand.to_vec()),
            Some(joined) => {
                joined.extend_from_slice(delimiter);
                joined.extend_from_slice(operand);
            }
        }
    }
    joined.unwrap_or_default()
}
