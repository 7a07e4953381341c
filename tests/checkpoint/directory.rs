//! Builds small checkpoint directories.

use std::fs;
use std::path::PathBuf;

use statetop::checkpoint::{Checkpoint, LoadError};
use statetop::storage::Storage;
use statetop::task::Cancel;
use tempfile::TempDir;

/// A directory that is filled like a checkpoint and removed at the end of the test.
pub(crate) struct Directory(TempDir);

impl Directory {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// One with a query id.
    pub(crate) fn started() -> Self {
        Self::new().with("metadata", r#"{"id":"2f8a9b10-3c4d-4e5f-8a9b-0c1d2e3f4a5b"}"#)
    }

    /// Adds or replaces a file.
    pub(crate) fn with(self, path: &str, content: &str) -> Self {
        let file = self.path(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
        self
    }

    /// Adds an empty directory.
    pub(crate) fn with_dir(self, path: &str) -> Self {
        fs::create_dir_all(self.path(path)).unwrap();
        self
    }

    /// Plans a batch with this partition count.
    pub(crate) fn planned(self, batch: u64, partitions: u32) -> Self {
        let content = format!(
            "v1\n{{\"batchWatermarkMs\":0,\"batchTimestampMs\":1000,\"conf\":{{\
             \"spark.sql.shuffle.partitions\":\"{partitions}\"}}}}\n{{\"logOffset\":{batch}}}"
        );
        self.with(&format!("offsets/{batch}"), &content)
    }

    /// Commits a batch.
    pub(crate) fn committed(self, batch: u64) -> Self {
        self.with(&format!("commits/{batch}"), "v1\n{\"nextBatchWatermarkMs\":0}")
    }

    /// Plans and commits batches with this partition count.
    pub(crate) fn batches(self, batches: std::ops::Range<u64>, partitions: u32) -> Self {
        batches.fold(self, |dir, batch| dir.planned(batch, partitions).committed(batch))
    }

    /// Removes a file.
    pub(crate) fn without(self, path: &str) -> Self {
        fs::remove_file(self.path(path)).unwrap();
        self
    }

    /// Where something inside is.
    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.0.path().join(inside)
    }

    /// The storage that serves it.
    pub(crate) fn storage(&self) -> Storage {
        Storage::open(self.0.path().to_str().unwrap()).unwrap()
    }

    /// Reads it.
    pub(crate) fn load(&self) -> Checkpoint {
        self.try_load().unwrap()
    }

    /// Reads it, if it can be.
    pub(crate) fn try_load(&self) -> Result<Checkpoint, LoadError> {
        Checkpoint::load(&self.storage(), &Cancel::default())
    }
}
