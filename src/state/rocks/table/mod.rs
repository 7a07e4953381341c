//! The table files of a snapshot, read without opening a database.
//!
//! ```text
//!  MANIFEST ── which files are live
//!  000008.sst ── cursor ─┐
//!  000011.sst ── cursor ─┼─ merge by key, newest first ── deletions, merges ── rows
//!  000014.sst ── cursor ─┘
//! ```
//!
//! A snapshot is read once, from front to back, which is most of what this program does; a
//! database opens its files, allocates and makes itself ready for everything else as well, which
//! takes longer than the rows. `RocksDB` remains the judge: whatever is unusual, remote or
//! damaged at the start is left to it, and every fixture is read both ways by test.

mod block;
mod file;
mod manifest;

use std::cmp::Ordering;
use std::io::Read;
use std::ops::ControlFlow;

use zip::ZipArchive;

use self::file::{Cursor, TableFile};
use super::snapshot::{SnapshotMetadata, ZipSource};
use super::store::{BadFile, FileProblem, MergeDelimiter, sst_path};
use crate::storage::Storage;

/// More files than this are left to `RocksDB`, which opens them one after the other.
const MOST_FILES: usize = 64;
/// Largest manifest that is read here.
const MOST_MANIFEST: u64 = 16 << 20;
/// Bytes read ahead for all files of a store, and for one of them.
const AHEAD: usize = 8 << 20;
const AHEAD_EACH: usize = 512 << 10;

/// Kinds of entries.
const DELETION: u8 = 0;
const VALUE: u8 = 1;
const MERGE: u8 = 2;
const SINGLE_DELETION: u8 = 7;

/// Why a table file is not read here.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TableError {
    /// It has something that Spark's stores do not have.
    Unsupported,
    /// It could not be read from the disk.
    Unreadable,
    /// It is not as it should be; a sentence about it.
    Damaged(&'static str),
}

/// The live table files of a snapshot.
#[derive(Debug)]
pub struct Tables {
    /// With their paths relative to the checkpoint.
    files: Vec<(String, TableFile)>,
    delimiter: MergeDelimiter,
}

impl Tables {
    /// Opens the table files of a local snapshot; `None` where `RocksDB` has to.
    pub fn open(
        storage: &Storage,
        store_dir: &str,
        zip: &mut ZipArchive<ZipSource>,
        metadata: &SnapshotMetadata,
        delimiter: MergeDelimiter,
    ) -> Option<Self> {
        if !storage.is_local() || metadata.sst_files.len() > MOST_FILES {
            return None;
        }
        let mut live = manifest::live_files(&manifest_of(zip)?).ok()?;
        let mut files = Vec::with_capacity(metadata.sst_files.len());
        for sst in &metadata.sst_files {
            let number: u64 = sst.local_file_name.strip_suffix(".sst")?.parse().ok()?;
            // Files that are not live hold what a compaction has done away with.
            if !live.remove(&number) {
                return None;
            }
            let path = sst_path(store_dir, sst);
            let file = storage.open_local(&path).ok()??;
            if file.metadata().ok()?.len() != sst.size_bytes {
                return None;
            }
            files.push((path, TableFile::open(file, sst.size_bytes).ok()?));
        }
        live.is_empty().then_some(Self { files, delimiter })
    }

    /// Visits every key in key order until `visit` breaks; the second argument looks up the value.
    ///
    /// # Errors
    /// When a table file turns out to be damaged on the way.
    pub fn scan(
        &self,
        mut visit: impl for<'a> FnMut(&'a [u8], &'a dyn Fn() -> &'a [u8]) -> ControlFlow<()>,
    ) -> Result<(), BadFile> {
        let ahead = (AHEAD / self.files.len().max(1)).clamp(64 << 10, AHEAD_EACH);
        let mut merge = Merging::new(self, ahead)?;
        let mut key = Vec::new();
        while let Some(newest) = merge.newest() {
            match kind_of(newest.packed()) {
                VALUE => {
                    if visit(newest.key(), &|| newest.value()).is_break() {
                        return Ok(());
                    }
                    merge.pass()?;
                }
                DELETION | SINGLE_DELETION => merge.pass()?,
                MERGE => {
                    key.clear();
                    key.extend_from_slice(newest.key());
                    let value = merge.join(self.delimiter)?;
                    if visit(&key, &|| &value).is_break() {
                        return Ok(());
                    }
                }
                _ => return Err(merge.bad(&TableError::Damaged("an entry is of an unknown kind"))),
            }
        }
        Ok(())
    }
}

fn kind_of(packed: u64) -> u8 {
    let [kind, ..] = packed.to_le_bytes();
    kind
}

/// The manifest that `CURRENT` names.
fn manifest_of(zip: &mut ZipArchive<ZipSource>) -> Option<Vec<u8>> {
    let current = String::from_utf8(content(zip, "CURRENT", 256)?).ok()?;
    content(zip, current.trim_end(), MOST_MANIFEST)
}

fn content(zip: &mut ZipArchive<ZipSource>, name: &str, most: u64) -> Option<Vec<u8>> {
    let entry = zip.by_name(name).ok().filter(|entry| entry.size() <= most)?;
    let mut bytes = Vec::new();
    let read = entry.take(most + 1).read_to_end(&mut bytes).ok()?;
    (read as u64 <= most).then_some(bytes)
}

/// Cursors over all files, the one with the next entry first.
struct Merging<'t> {
    tables: &'t Tables,
    cursors: Vec<Cursor<'t>>,
    /// Cursors that are at an entry, in the order of these, last one first.
    order: Vec<usize>,
    /// The cursor that was moved last, for blame.
    last: usize,
    /// How the next entry stands to the one after it.
    next: Next,
}

/// How the next entry stands to the first of another file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Its key is in no other file, or no other file is left.
    Alone,
    /// The other file has an older entry of the same key.
    Repeated,
}

impl<'t> Merging<'t> {
    fn new(tables: &'t Tables, ahead: usize) -> Result<Self, BadFile> {
        let cursors = tables.files.iter().map(|(_, file)| Cursor::new(file, ahead)).collect();
        let mut merge = Self { tables, cursors, order: Vec::new(), last: 0, next: Next::Alone };
        for at in 0..tables.files.len() {
            if merge.step(at)? {
                merge.insert(at);
            }
        }
        merge.look_ahead();
        Ok(merge)
    }

    /// The cursor at the next entry.
    #[inline]
    fn newest(&self) -> Option<&Cursor<'t>> {
        self.cursors.get(*self.order.last()?)
    }

    /// Goes behind the next entry; whether the new next one is of the same key.
    #[inline]
    fn advance(&mut self) -> Result<bool, BadFile> {
        let Some(at) = self.order.last().copied() else { return Ok(false) };
        let repeated = self.next == Next::Repeated;
        if self.step(at)? {
            let same = self.newest().is_some_and(Cursor::repeats);
            self.settle();
            return Ok(repeated || same);
        }
        self.order.pop();
        self.look_ahead();
        Ok(repeated)
    }

    /// Goes behind all entries of the next entry's key.
    #[inline]
    fn pass(&mut self) -> Result<(), BadFile> {
        while self.advance()? {}
        Ok(())
    }

    /// Puts together what was merged into the next entry's key, and goes behind all its entries.
    fn join(&mut self, delimiter: MergeDelimiter) -> Result<Vec<u8>, BadFile> {
        let mut parts: Vec<Vec<u8>> = Vec::new();
        while let Some(cursor) = self.newest() {
            let kind = kind_of(cursor.packed());
            if [VALUE, MERGE].contains(&kind) {
                parts.push(cursor.value().to_vec());
            }
            if kind != MERGE {
                self.pass()?;
                break;
            }
            if !self.advance()? {
                break;
            }
        }
        parts.reverse();
        Ok(parts.join(delimiter.bytes()))
    }

    /// Moves a cursor to its next entry; whether there is one.
    #[inline]
    fn step(&mut self, at: usize) -> Result<bool, BadFile> {
        self.last = at;
        let Some(cursor) = self.cursors.get_mut(at) else { return Ok(false) };
        cursor.advance().map_err(|error| self.bad(&error))
    }

    /// Puts the cursor that was first, and has moved, into its place. Mostly it stays: keys that
    /// follow each other lie in one file.
    #[inline]
    fn settle(&mut self) {
        let Some((first, second)) = self.first_two() else {
            self.next = Next::Alone;
            return;
        };
        match first.key().cmp(second.key()) {
            Ordering::Less => self.next = Next::Alone,
            Ordering::Equal if first.packed() > second.packed() => self.next = Next::Repeated,
            Ordering::Equal | Ordering::Greater => {
                if let Some(at) = self.order.pop() {
                    self.insert(at);
                }
                self.look_ahead();
            }
        }
    }

    /// Puts a cursor that is not in the order into its place there.
    fn insert(&mut self, at: usize) {
        let Self { cursors, order, .. } = self;
        let Some(moved) = cursors.get(at) else { return };
        let comes_later = |other: &usize| {
            let Some(other) = cursors.get(*other) else { return false };
            let keys = other.key().cmp(moved.key());
            keys.then_with(|| moved.packed().cmp(&other.packed())) == Ordering::Greater
        };
        let place = order.partition_point(comes_later);
        order.insert(place, at);
    }

    /// Compares the next entry with the one of another file that comes after it.
    fn look_ahead(&mut self) {
        let repeated = self.first_two().is_some_and(|(first, second)| first.key() == second.key());
        self.next = if repeated { Next::Repeated } else { Next::Alone };
    }

    /// The cursors at the next entry and at the first one of the other files.
    #[inline]
    fn first_two(&self) -> Option<(&Cursor<'t>, &Cursor<'t>)> {
        let (first, rest) = self.order.split_last()?;
        Some((self.cursors.get(*first)?, self.cursors.get(*rest.last()?)?))
    }

    fn bad(&self, error: &TableError) -> BadFile {
        let file =
            self.tables.files.get(self.last).map_or_else(String::new, |(path, _)| path.clone());
        let reason = match error {
            TableError::Unsupported => "it has something that Spark's stores do not have",
            TableError::Unreadable => "it cannot be read to its end",
            TableError::Damaged(what) => what,
        };
        BadFile { file, problem: FileProblem::Damaged(reason.to_owned()) }
    }
}
