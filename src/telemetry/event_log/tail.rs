//! One file that may still grow, read piece by piece from a disk or a cloud store.
//!
//! Must not know what is in it.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;

use crate::storage::{Storage, StorageError};

/// Bytes that are read at once.
pub(super) const PIECE: usize = 1 << 20;

/// A file and how far it has been read. A local file stays open, so that it can be read to its
/// end after it was renamed or removed.
#[derive(Debug)]
pub(super) struct Tail {
    storage: Storage,
    path: String,
    local: Option<File>,
    position: u64,
}

/// What became of a file since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is where it was, perhaps longer.
    Same,
    /// It is shorter than what was read of it.
    Shorter,
    /// Another file has its name.
    Replaced,
    /// Nothing has its name.
    Gone,
}

impl Tail {
    /// Opens a file, to be read from its start.
    ///
    /// # Errors
    /// When there is no such file, or it cannot be opened.
    pub(super) fn open(storage: &Storage, path: &str) -> Result<Self, StorageError> {
        let local = storage.open_local(path)?;
        if local.is_none() {
            storage.stat(path)?;
        }
        Ok(Self { storage: storage.clone(), path: path.to_owned(), local, position: 0 })
    }

    /// The path below the root of its storage.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// How far it has been read.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// The file has got another name.
    pub(super) fn moved_to(&mut self, path: &str) {
        path.clone_into(&mut self.path);
    }

    /// How long the file is now.
    ///
    /// # Errors
    /// When that cannot be found out.
    pub(super) fn size(&self) -> Result<u64, StorageError> {
        match &self.local {
            Some(file) => Ok(file.metadata().map_err(|error| self.failed(error))?.len()),
            None => Ok(self.storage.stat(&self.path)?.bytes.0),
        }
    }

    /// Goes on reading at `position`.
    pub(super) fn seek(&mut self, position: u64) {
        self.position = position;
    }

    /// Reads the next piece into `buffer`, whose old content is dropped; empty at the present
    /// end.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn read(&mut self, buffer: &mut Vec<u8>) -> Result<(), StorageError> {
        self.read_at(self.position, buffer)?;
        self.position += buffer.len() as u64;
        Ok(())
    }

    /// As [`Tail::read`], at any place and without moving on.
    ///
    /// # Errors
    /// As [`Tail::read`].
    pub(super) fn read_at(&self, position: u64, buffer: &mut Vec<u8>) -> Result<(), StorageError> {
        buffer.clear();
        let Some(mut file) = self.local.as_ref() else {
            let left = self.size()?.saturating_sub(position).min(PIECE as u64);
            *buffer = self.storage.read_range(&self.path, position, left)?;
            return Ok(());
        };
        file.seek(SeekFrom::Start(position)).map_err(|error| self.failed(error))?;
        buffer.resize(PIECE, 0);
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match file.read(rest) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        buffer.truncate(filled);
        Ok(())
    }

    /// What became of the file. A file that cannot be looked at is taken to be the same: reading
    /// it will tell.
    pub(super) fn fate(&self) -> Fate {
        let shorter = |size: u64| if size < self.position { Fate::Shorter } else { Fate::Same };
        match (&self.local, self.storage.open_local(&self.path)) {
            (_, Err(error)) if error.is_not_found() => Fate::Gone,
            (Some(ours), Ok(Some(there))) => match (ours.metadata(), there.metadata()) {
                (Ok(ours), Ok(there)) if identity(&ours) != identity(&there) => Fate::Replaced,
                (Ok(ours), Ok(_)) => shorter(ours.len()),
                _ => Fate::Same,
            },
            (None, Ok(_)) => match self.storage.stat(&self.path) {
                Ok(found) => shorter(found.bytes.0),
                Err(error) if error.is_not_found() => Fate::Gone,
                Err(_) => Fate::Same,
            },
            _ => Fate::Same,
        }
    }

    fn failed(&self, source: io::Error) -> StorageError {
        StorageError::Io { path: self.path.clone(), source }
    }
}

/// What tells one file from another of the same name: device and inode.
fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}
