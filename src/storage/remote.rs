//! A root in an object store, through `object_store` on a small runtime of its own.

use std::fs::File;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path as LocalPath;
use std::sync::Arc;

use futures::StreamExt;
use object_store::path::Path;
use object_store::{GetResult, ObjectMeta, ObjectStore, ObjectStoreExt};
use tokio::runtime::Runtime;

use super::target::{Cloud, Service};
use super::{Entry, EntryKind, StorageError, tidy};
use crate::units::{Bytes, UnixMillis};

/// Requests in flight: enough to hide the latency of an object store behind each other, few
/// enough not to be throttled by it.
pub(super) const WORKERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(31);

#[derive(Debug, Clone)]
pub(super) struct Remote {
    store: Arc<dyn ObjectStore>,
    /// The root as the operator named it, for messages.
    address: Arc<str>,
    prefix: Path,
    runtime: Arc<Runtime>,
}

impl Remote {
    pub(super) fn connect(target: &str, cloud: &Cloud) -> Result<Self, StorageError> {
        let store = match cloud.service {
            Service::S3 => s3(target, &cloud.root),
            Service::Azure => azure(target, &cloud.root),
            Service::Google => google(target, &cloud.root),
        }?;
        Self::new(store, &cloud.prefix, target)
    }

    pub(super) fn new(
        store: Arc<dyn ObjectStore>,
        prefix: &str,
        target: &str,
    ) -> Result<Self, StorageError> {
        let invalid = |reason| StorageError::InvalidTarget { target: target.to_owned(), reason };
        let prefix = Path::parse(prefix).map_err(|error| invalid(error.to_string()))?;
        // Two threads are enough to wait for sockets; the callers' threads do the work.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("storage")
            .enable_all()
            .build()
            .map_err(|source| StorageError::Io { path: target.to_owned(), source })?;
        Ok(Self { store, address: target.into(), prefix, runtime: Arc::new(runtime) })
    }

    pub(super) fn below(&self, dir: &str, address: &str) -> Result<Self, StorageError> {
        Ok(Self { prefix: self.path(dir)?, address: address.into(), ..self.clone() })
    }

    pub(super) fn list(&self, dir: &str) -> Result<Vec<Entry>, StorageError> {
        let prefix = self.path(dir)?;
        let listing = self.runtime.block_on(self.store.list_with_delimiter(Some(&prefix)));
        let shown = if dir.is_empty() { &self.address } else { dir };
        let listing = listing.map_err(|error| StorageError::remote(shown, &error))?;
        let directories = listing.common_prefixes.iter().filter_map(Path::filename);
        let mut entries: Vec<Entry> = directories.map(directory).collect();
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let directories = entries.len();
        for object in listing.objects {
            // Some tools mark a directory by an empty object of its name.
            let marks = |name: &str| {
                let directories = entries.get(..directories).unwrap_or_default();
                directories.binary_search_by(|entry| entry.name.as_str().cmp(name)).is_ok()
            };
            match object.location.filename() {
                Some(name) if object.location != prefix && !marks(name) => {
                    entries.push(file(name.to_owned(), &object));
                }
                _ => {}
            }
        }
        if entries.is_empty() {
            return Err(StorageError::NotFound { path: shown.to_owned() });
        }
        tidy(&mut entries);
        Ok(entries)
    }

    pub(super) fn stat(&self, path: &str) -> Result<Entry, StorageError> {
        let location = self.path(path)?;
        let name = path.rsplit('/').next().unwrap_or_default();
        match self.runtime.block_on(self.store.head(&location)) {
            Ok(object) => Ok(file(name.to_owned(), &object)),
            Err(object_store::Error::NotFound { .. }) => {
                let mut below = self.store.list(Some(&location));
                match self.runtime.block_on(below.next()) {
                    Some(Ok(_)) => Ok(directory(name)),
                    Some(Err(error)) => Err(StorageError::remote(path, &error)),
                    None => Err(StorageError::NotFound { path: path.to_owned() }),
                }
            }
            Err(error) => Err(StorageError::remote(path, &error)),
        }
    }

    pub(super) fn read(&self, path: &str, limit: Bytes) -> Result<Vec<u8>, StorageError> {
        let found = self.get(path, limit)?;
        let content = self.runtime.block_on(found.bytes());
        Ok(content.map_err(|error| StorageError::remote(path, &error))?.into())
    }

    pub(super) fn read_range(
        &self,
        path: &str,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, StorageError> {
        let short = || StorageError::Short { path: path.to_owned(), offset, length };
        if length == 0 {
            return Ok(Vec::new());
        }
        let end = offset.checked_add(length).ok_or_else(short)?;
        let location = self.path(path)?;
        let content = self.runtime.block_on(self.store.get_range(&location, offset..end));
        let content = match content {
            Ok(content) => content,
            // A range that begins behind the end is an error of the store's own making; only
            // the size tells it from other errors.
            Err(error) => match self.runtime.block_on(self.store.head(&location)) {
                Ok(found) if found.size < end => return Err(short()),
                _ => return Err(StorageError::remote(path, &error)),
            },
        };
        // Stores answer a range that passes the end with what there is.
        if u64::try_from(content.len()) == Ok(length) { Ok(content.into()) } else { Err(short()) }
    }

    pub(super) fn copy_to(
        &self,
        path: &str,
        into: &LocalPath,
        limit: Bytes,
    ) -> Result<Bytes, StorageError> {
        let found = self.get(path, limit)?;
        let written = |error| StorageError::io(&into.to_string_lossy(), error);
        let mut target = File::create(into).map_err(written)?;
        let mut copied = Bytes(0);
        let mut pieces = found.into_stream();
        while let Some(piece) = self.runtime.block_on(pieces.next()) {
            let piece = piece.map_err(|error| StorageError::remote(path, &error))?;
            copied = copied + Bytes(piece.len().try_into().unwrap_or(u64::MAX));
            if copied > limit {
                return Err(too_large(path, copied, limit));
            }
            target.write_all(&piece).map_err(written)?;
        }
        Ok(copied)
    }

    /// Begins to read an object, refusing it by its size before its content arrives.
    fn get(&self, path: &str, limit: Bytes) -> Result<GetResult, StorageError> {
        let location = self.path(path)?;
        let found = self.runtime.block_on(self.store.get(&location));
        let found = found.map_err(|error| StorageError::remote(path, &error))?;
        if found.meta.size > limit.0 {
            return Err(too_large(path, Bytes(found.meta.size), limit));
        }
        Ok(found)
    }

    fn path(&self, path: &str) -> Result<Path, StorageError> {
        let joined = match path {
            "" => return Ok(self.prefix.clone()),
            _ if self.prefix.is_root() => path.to_owned(),
            _ => format!("{}/{path}", self.prefix),
        };
        Path::parse(&joined).map_err(|_| StorageError::InvalidPath {
            path: path.to_owned(),
            reason: "an object store cannot hold this name",
        })
    }
}

fn too_large(path: &str, bytes: Bytes, limit: Bytes) -> StorageError {
    StorageError::TooLarge { path: path.to_owned(), bytes, limit }
}

fn file(name: String, object: &ObjectMeta) -> Entry {
    Entry {
        name,
        kind: EntryKind::File,
        bytes: Bytes(object.size),
        modified: Some(UnixMillis(object.last_modified.timestamp_millis())),
    }
}

fn directory(name: &str) -> Entry {
    Entry { name: name.to_owned(), kind: EntryKind::Directory, bytes: Bytes(0), modified: None }
}

type Connected = Result<Arc<dyn ObjectStore>, StorageError>;

/// A few quick retries: someone waits in front of the screen, and the next refresh tries again.
#[cfg(any(feature = "s3", feature = "azure", feature = "gcs"))]
fn retries() -> object_store::RetryConfig {
    object_store::RetryConfig {
        max_retries: 3,
        retry_timeout: std::time::Duration::from_secs(20),
        ..Default::default()
    }
}

#[cfg(any(feature = "s3", feature = "azure", feature = "gcs"))]
fn connected<S: ObjectStore>(target: &str, built: object_store::Result<S>) -> Connected {
    match built {
        Ok(store) => Ok(Arc::new(store)),
        Err(error) => Err(StorageError::InvalidTarget {
            target: target.to_owned(),
            reason: error.to_string(),
        }),
    }
}

#[cfg(feature = "s3")]
fn s3(target: &str, root: &str) -> Connected {
    let builder = object_store::aws::AmazonS3Builder::from_env();
    connected(target, builder.with_url(root).with_retry(retries()).build())
}

#[cfg(feature = "azure")]
fn azure(target: &str, root: &str) -> Connected {
    let builder = object_store::azure::MicrosoftAzureBuilder::from_env();
    connected(target, builder.with_url(root).with_retry(retries()).build())
}

#[cfg(feature = "gcs")]
fn google(target: &str, root: &str) -> Connected {
    let builder = object_store::gcp::GoogleCloudStorageBuilder::from_env();
    connected(target, builder.with_url(root).with_retry(retries()).build())
}

#[cfg(not(all(feature = "s3", feature = "azure", feature = "gcs")))]
fn left_out(target: &str, feature: &str) -> Connected {
    Err(StorageError::InvalidTarget {
        target: target.to_owned(),
        reason: format!("this build leaves that cloud out; build with `--features {feature}`"),
    })
}

#[cfg(not(feature = "s3"))]
fn s3(target: &str, _root: &str) -> Connected {
    left_out(target, "s3")
}

#[cfg(not(feature = "azure"))]
fn azure(target: &str, _root: &str) -> Connected {
    left_out(target, "azure")
}

#[cfg(not(feature = "gcs"))]
fn google(target: &str, _root: &str) -> Connected {
    left_out(target, "gcs")
}
