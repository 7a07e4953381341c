//! A root on this machine, straight on `std::fs`.
//!
//! The root itself may be, or lie behind, a symbolic link: the operator chose it. Below the
//! root a symbolic link is followed only when it leads to something inside the root, because
//! whoever wrote the checkpoint must not choose which other files of this machine appear in a
//! report. Links are looked at before opening, so this guards against what a checkpoint
//! contains, not against someone who swaps links while it is read.

use std::borrow::Cow;
use std::fs::{self, File, FileType, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Entry, EntryKind, Name, StorageError, tidy};
use crate::units::{Bytes, UnixMillis};

/// Names kept of one directory; far above what any checkpoint directory holds.
const MAX_NAMES: usize = 4_000_000;

#[derive(Debug, Clone)]
pub(super) struct Local {
    root: Arc<Path>,
}

impl Local {
    /// Made absolute: links to its files are put elsewhere, where a relative path leads astray.
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root: std::path::absolute(&root).unwrap_or(root).into() }
    }

    pub(super) fn below(&self, dir: &str) -> Self {
        Self { root: self.root.join(dir).into() }
    }

    pub(super) fn is_link(&self, path: &str) -> bool {
        fs::symlink_metadata(self.root.join(path)).is_ok_and(|found| found.is_symlink())
    }

    pub(super) fn list(&self, dir: &str) -> Result<Vec<Entry>, StorageError> {
        self.each(dir, |entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            match entry.metadata() {
                Ok(found) if found.is_symlink() => Some(self.linked(entry, name)),
                Ok(found) => Some(described(name, &found)),
                // Deleted between the listing and this look at it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(_) => Some(unreadable(name)),
            }
        })
    }

    pub(super) fn names(&self, dir: &str) -> Result<Vec<Name>, StorageError> {
        let entries = self.each(dir, |entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() => Some(self.linked(entry, name)),
                Ok(kind) => Some(Entry { kind: kind_of(kind), ..unreadable(name) }),
                Err(_) => Some(unreadable(name)),
            }
        })?;
        Ok(entries.into_iter().map(|entry| Name { name: entry.name, kind: entry.kind }).collect())
    }

    pub(super) fn stat(&self, path: &str) -> Result<Entry, StorageError> {
        let (_, found) = self.look(path)?;
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        Ok(described(name, &found))
    }

    /// Stats files of one directory, whose own path is looked at once.
    pub(super) fn stat_in(&self, dir: &str, names: &[String]) -> Vec<Result<Entry, StorageError>> {
        let folder = self.resolve(dir);
        let stat = |name: &String| {
            let path = || format!("{dir}/{name}");
            let Ok(folder) = &folder else { return self.stat(&path()) };
            let found = fs::symlink_metadata(folder.join(name));
            match found.map_err(|error| StorageError::io(&path(), error))? {
                found if found.is_symlink() => self.stat(&path()),
                found => Ok(described(name.clone(), &found)),
            }
        };
        names.iter().map(stat).collect()
    }

    pub(super) fn read(&self, path: &str, limit: Bytes) -> Result<Vec<u8>, StorageError> {
        let (file, found) = self.open(path)?;
        let too_large = |bytes| StorageError::TooLarge { path: path.to_owned(), bytes, limit };
        if found.len() > limit.0 {
            return Err(too_large(Bytes(found.len())));
        }
        let mut content = Vec::with_capacity(usize::try_from(found.len()).unwrap_or(0));
        // One byte more than allowed: a file that grows meanwhile is noticed, not read on.
        let read = file.take(limit.0.saturating_add(1)).read_to_end(&mut content);
        let read = read.map_err(|error| StorageError::io(path, error))?;
        let read = Bytes(read.try_into().unwrap_or(u64::MAX));
        if read > limit { Err(too_large(read)) } else { Ok(content) }
    }

    pub(super) fn read_range(
        &self,
        path: &str,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, StorageError> {
        let (mut file, found) = self.open(path)?;
        let short = || StorageError::Short { path: path.to_owned(), offset, length };
        let end = offset.checked_add(length).ok_or_else(short)?;
        if end > found.len() {
            return Err(short());
        }
        let io = |error| StorageError::io(path, error);
        file.seek(SeekFrom::Start(offset)).map_err(io)?;
        let mut content = vec![0; usize::try_from(length).map_err(|_| short())?];
        match file.read_exact(&mut content) {
            Ok(()) => Ok(content),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(short()),
            Err(error) => Err(io(error)),
        }
    }

    pub(super) fn copy_to(
        &self,
        path: &str,
        into: &Path,
        limit: Bytes,
    ) -> Result<Bytes, StorageError> {
        let (file, found) = self.open(path)?;
        let too_large = |bytes| StorageError::TooLarge { path: path.to_owned(), bytes, limit };
        if found.len() > limit.0 {
            return Err(too_large(Bytes(found.len())));
        }
        let written = |error| StorageError::io(&into.to_string_lossy(), error);
        let mut target = File::create(into).map_err(written)?;
        let copied = io::copy(&mut file.take(limit.0.saturating_add(1)), &mut target);
        let copied = Bytes(copied.map_err(written)?);
        if copied > limit { Err(too_large(copied)) } else { Ok(copied) }
    }

    /// Opens a regular file. Looks before opening: opening a pipe would wait for its writer.
    pub(super) fn open(&self, path: &str) -> Result<(File, Metadata), StorageError> {
        let io = |error| StorageError::io(path, error);
        let (resolved, found) = self.look(path)?;
        regular(path, &found)?;
        let file = File::open(&resolved).map_err(io)?;
        let found = file.metadata().map_err(io)?;
        regular(path, &found)?;
        Ok((file, found))
    }

    /// The path below the root, once every symbolic link on the way leads inside.
    pub(super) fn resolve(&self, path: &str) -> Result<PathBuf, StorageError> {
        Ok(self.walk(path)?.0)
    }

    /// As [`Local::resolve`], with what is there.
    fn look(&self, path: &str) -> Result<(PathBuf, Metadata), StorageError> {
        let (resolved, found) = self.walk(path)?;
        let found = match found {
            Some(found) => found,
            None => fs::metadata(&resolved)
                .map_err(|error| StorageError::io(&self.shown(path), error))?,
        };
        Ok((resolved, found))
    }

    /// Looks at every segment of `path`, the last one's look included where it is the file's own.
    fn walk(&self, path: &str) -> Result<(PathBuf, Option<Metadata>), StorageError> {
        let mut resolved = self.root.to_path_buf();
        let (mut linked, mut last) = (false, None);
        for segment in path.split('/').filter(|segment| !segment.is_empty()) {
            resolved.push(segment);
            let found = fs::symlink_metadata(&resolved);
            let found = found.map_err(|error| StorageError::io(path, error))?;
            linked |= found.is_symlink();
            last = Some(found);
        }
        if !linked {
            return Ok((resolved, last));
        }
        let inside = self.inside(&resolved).map_err(|error| StorageError::io(path, error))?;
        let inside = inside.ok_or_else(|| StorageError::Outside { path: path.to_owned() })?;
        Ok((inside, None))
    }

    /// A path for messages: the root has no name of its own.
    fn shown<'a>(&'a self, path: &'a str) -> Cow<'a, str> {
        if path.is_empty() { self.root.to_string_lossy() } else { path.into() }
    }

    /// Lists `dir`, describing each entry with `describe`; `None` leaves it out.
    fn each(
        &self,
        dir: &str,
        describe: impl Fn(&fs::DirEntry) -> Option<Entry>,
    ) -> Result<Vec<Entry>, StorageError> {
        let io = |error| StorageError::io(&self.shown(dir), error);
        let mut entries = Vec::new();
        for entry in fs::read_dir(self.resolve(dir)?).map_err(io)? {
            let entry = entry.map_err(io)?;
            if entries.len() == MAX_NAMES {
                return Err(StorageError::TooManyNames { path: dir.to_owned(), limit: MAX_NAMES });
            }
            let utf8 = entry.file_name().to_str().is_some();
            entries.extend(describe(&entry).map(|mut described| {
                if !utf8 {
                    described.kind = EntryKind::Other;
                }
                described
            }));
        }
        tidy(&mut entries);
        Ok(entries)
    }

    /// What a symbolic link leads to, if that is inside the root.
    fn linked(&self, entry: &fs::DirEntry, name: String) -> Entry {
        match self.inside(&entry.path()) {
            Ok(Some(target)) => match fs::metadata(target) {
                Ok(found) => described(name, &found),
                Err(_) => unreadable(name),
            },
            Ok(None) | Err(_) => unreadable(name),
        }
    }

    /// Where `path` really is; `None` when that is outside the root.
    fn inside(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let root = self.root.canonicalize()?;
        let real = path.canonicalize()?;
        Ok(real.starts_with(root).then_some(real))
    }
}

fn regular(path: &str, found: &Metadata) -> Result<(), StorageError> {
    if found.is_file() {
        return Ok(());
    }
    let found = if found.is_dir() { "a directory" } else { "a pipe, socket or device" };
    Err(StorageError::NotAFile { path: path.to_owned(), found })
}

fn described(name: String, found: &Metadata) -> Entry {
    let kind = kind_of(found.file_type());
    Entry {
        name,
        kind,
        bytes: if kind == EntryKind::File { Bytes(found.len()) } else { Bytes(0) },
        modified: found.modified().ok().map(UnixMillis::from),
    }
}

fn unreadable(name: String) -> Entry {
    Entry { name, kind: EntryKind::Other, bytes: Bytes(0), modified: None }
}

fn kind_of(file_type: FileType) -> EntryKind {
    match file_type {
        kind if kind.is_file() => EntryKind::File,
        kind if kind.is_dir() => EntryKind::Directory,
        _ => EntryKind::Other,
    }
}
