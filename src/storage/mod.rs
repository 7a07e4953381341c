//! Bytes by address: listing, whole and ranged reads, on a local disk or in a cloud store.
//!
//! Every path given to a [`Storage`] is relative to its root, uses `/`, and can neither be
//! absolute nor contain `..`. Nothing here writes to the root. This module must not know
//! what Spark is; it knows only that whoever wrote the directory is not trusted.
//!
//! Calls block. Callers run them on worker threads, at most [`Storage::workers`] at a time.

mod error;
mod local;
mod names;
mod remote;
mod target;

use std::fs::File;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::ObjectStore;

use crate::task::Crew;
use crate::units::{Bytes, UnixMillis};

pub use error::StorageError;
pub use names::is_plain_name;

use local::Local;
use remote::Remote;
use target::Target;

/// A directory whose files can be listed and read; cheap to clone, shared between threads.
#[derive(Debug, Clone)]
pub struct Storage {
    address: Arc<str>,
    backend: Backend,
    /// The threads that this storage is read by together with others.
    crew: Option<Crew>,
}

#[derive(Debug, Clone)]
enum Backend {
    Local(Local),
    Remote(Remote),
}

/// What a name in a directory stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// A regular file (or a symbolic link to one inside the root).
    File,
    /// A directory (or a symbolic link to one inside the root).
    Directory,
    /// Anything that is never read: a pipe, a device, a socket, a dangling symbolic link,
    /// one that leads out of the root, or a name that no path can be made of.
    Other,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name without its directory. Bytes that are not UTF-8 are replaced, and the kind is
    /// then [`EntryKind::Other`].
    pub name: String,
    /// What it stands for.
    pub kind: EntryKind,
    /// Size of a file; 0 for anything else.
    pub bytes: Bytes,
    /// When it was last written; `None` where the store does not say.
    pub modified: Option<UnixMillis>,
}

/// A name in a directory and what it stands for, without size and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// As in [`Entry::name`].
    pub name: String,
    /// As in [`Entry::kind`].
    pub kind: EntryKind,
}

impl Storage {
    /// Opens a plain path, a `file:` URL, or an `s3:`, `s3a:`, `abfs:`, `abfss:` or `gs:` URL.
    ///
    /// Touches neither disk nor network: a directory that is not there is reported by the first
    /// listing. Credentials of cloud stores come from the environment (`AWS_…`, `AZURE_…`,
    /// `GOOGLE_…`), as the `object_store` crate reads it, or from the machine's own identity.
    ///
    /// # Errors
    /// [`StorageError::Unsupported`] for other kinds of address, saying what to use instead;
    /// [`StorageError::InvalidTarget`] for malformed ones.
    pub fn open(target: &str) -> Result<Self, StorageError> {
        let backend = match Target::parse(target)? {
            Target::Local(path) => Backend::Local(Local::new(path)),
            Target::Cloud(cloud) => Backend::Remote(Remote::connect(target, &cloud)?),
        };
        Ok(Self { address: target.into(), backend, crew: None })
    }

    /// Serves the directory `prefix` of any object store, for stores that [`Storage::open`] has no
    /// address for (an in-memory one in tests).
    ///
    /// # Errors
    /// [`StorageError::InvalidTarget`] when `prefix` is not a legal path.
    pub fn from_object_store(
        store: Arc<dyn ObjectStore>,
        prefix: &str,
        address: &str,
    ) -> Result<Self, StorageError> {
        let remote = Remote::new(store, prefix, address)?;
        Ok(Self { address: address.into(), backend: Backend::Remote(remote), crew: None })
    }

    /// The root as the caller named it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Whether files are on this machine.
    pub fn is_local(&self) -> bool {
        matches!(self.backend, Backend::Local(_))
    }

    /// How many calls should be in flight at once: one per core locally, 32 over a network.
    pub fn workers(&self) -> NonZeroUsize {
        match self.backend {
            Backend::Local(_) => std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            Backend::Remote(_) => remote::WORKERS,
        }
    }

    /// The threads that read this storage: those it was given, else [`Storage::workers`] of its own.
    pub fn crew(&self) -> Crew {
        self.crew.clone().unwrap_or_else(|| Crew::new(self.workers()))
    }

    /// The same storage, read by `crew` together with others.
    #[must_use]
    pub fn with_crew(self, crew: Crew) -> Self {
        Self { crew: Some(crew), ..self }
    }

    /// The directory `dir` below the root as a root of its own: links out of it are not followed,
    /// connection and crew are shared. Looks at nothing yet.
    ///
    /// # Errors
    /// When `dir` is not a path inside the root.
    pub fn below(&self, dir: &str) -> Result<Self, StorageError> {
        names::check(dir)?;
        if dir.is_empty() {
            return Ok(self.clone());
        }
        let address = format!("{}/{dir}", self.address.trim_end_matches('/'));
        let backend = match &self.backend {
            Backend::Local(local) => Backend::Local(local.below(dir)),
            Backend::Remote(remote) => Backend::Remote(remote.below(dir, &address)?),
        };
        Ok(Self { address: address.into(), backend, crew: self.crew.clone() })
    }

    /// Whether `path` itself is a symbolic link; cloud stores have none.
    pub fn is_link(&self, path: &str) -> bool {
        match &self.backend {
            Backend::Local(local) => names::check(path).is_ok() && local.is_link(path),
            Backend::Remote(_) => false,
        }
    }

    /// The names in `dir` (`""` is the root) with sizes and times, one level, sorted by name.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] when there is no such directory. Object stores have no empty
    /// directories, so an empty one is not found there.
    pub fn list(&self, dir: &str) -> Result<Vec<Entry>, StorageError> {
        names::check(dir)?;
        match &self.backend {
            Backend::Local(local) => local.list(dir),
            Backend::Remote(remote) => remote.list(dir),
        }
    }

    /// As [`Storage::list`], without sizes and times: locally this costs no look at each file.
    ///
    /// # Errors
    /// As [`Storage::list`].
    pub fn names(&self, dir: &str) -> Result<Vec<Name>, StorageError> {
        names::check(dir)?;
        match &self.backend {
            Backend::Local(local) => local.names(dir),
            Backend::Remote(remote) => {
                let named = |entry: Entry| Name { name: entry.name, kind: entry.kind };
                Ok(remote.list(dir)?.into_iter().map(named).collect())
            }
        }
    }

    /// What `path` stands for, its size and time.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] when there is nothing.
    pub fn stat(&self, path: &str) -> Result<Entry, StorageError> {
        names::check(path)?;
        match &self.backend {
            Backend::Local(local) => local.stat(path),
            Backend::Remote(remote) => remote.stat(path),
        }
    }

    /// As [`Storage::stat`] for several files of `dir`, in the order of `names`; locally the
    /// directory itself is looked at once.
    pub fn stat_in(&self, dir: &str, names: &[String]) -> Vec<Result<Entry, StorageError>> {
        let paths: Vec<String> = names.iter().map(|name| format!("{dir}/{name}")).collect();
        match &self.backend {
            Backend::Local(local) if paths.iter().all(|path| names::check(path).is_ok()) => {
                local.stat_in(dir, names)
            }
            Backend::Local(_) | Backend::Remote(_) => {
                paths.iter().map(|path| self.stat(path)).collect()
            }
        }
    }

    /// The whole content of a file that is at most `limit` long; the size is looked at before
    /// anything is allocated.
    ///
    /// # Errors
    /// [`StorageError::TooLarge`] above the limit, [`StorageError::NotAFile`] for anything but
    /// a regular file.
    pub fn read(&self, path: &str, limit: Bytes) -> Result<Vec<u8>, StorageError> {
        names::check(path)?;
        match &self.backend {
            Backend::Local(local) => local.read(path, limit),
            Backend::Remote(remote) => remote.read(path, limit),
        }
    }

    /// Exactly `length` bytes from `offset`.
    ///
    /// # Errors
    /// [`StorageError::Short`] when the file ends earlier; as [`Storage::read`] otherwise.
    pub fn read_range(
        &self,
        path: &str,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, StorageError> {
        names::check(path)?;
        match &self.backend {
            Backend::Local(local) => local.read_range(path, offset, length),
            Backend::Remote(remote) => remote.read_range(path, offset, length),
        }
    }

    /// A local file, opened for reading; `None` where files are not local.
    ///
    /// # Errors
    /// As [`Storage::read`].
    pub fn open_local(&self, path: &str) -> Result<Option<File>, StorageError> {
        names::check(path)?;
        match &self.backend {
            Backend::Local(local) => Ok(Some(local.open(path)?.0)),
            Backend::Remote(_) => Ok(None),
        }
    }

    /// Where a file is on this machine; `None` where files are not local, where nothing is, or
    /// where `path` leads out of the root.
    pub fn local_path(&self, path: &str) -> Option<PathBuf> {
        names::check(path).ok()?;
        match &self.backend {
            Backend::Local(local) => local.resolve(path).ok(),
            Backend::Remote(_) => None,
        }
    }

    /// Copies a file of at most `limit` bytes to the local file `into`, piece by piece, and
    /// returns its size. `into` is replaced, and removed again when the copy fails.
    ///
    /// # Errors
    /// As [`Storage::read`], and [`StorageError::Io`] when `into` cannot be written.
    pub fn copy_to(&self, path: &str, into: &Path, limit: Bytes) -> Result<Bytes, StorageError> {
        names::check(path)?;
        let copied = match &self.backend {
            Backend::Local(local) => local.copy_to(path, into, limit),
            Backend::Remote(remote) => remote.copy_to(path, into, limit),
        };
        if copied.is_err() {
            // A half copy must not be taken for a whole one; that it may not exist is fine.
            let _ = std::fs::remove_file(into);
        }
        copied
    }
}

/// Sorts by name and refuses to trust names that no path can be made of.
fn tidy(entries: &mut [Entry]) {
    for entry in &mut *entries {
        if !is_plain_name(&entry.name) {
            entry.kind = EntryKind::Other;
        }
    }
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
}

#[cfg(test)]
mod tests;
