//! What a snapshot holds: its rows, by whichever way is quickest.

use std::ops::ControlFlow;

use zip::ZipArchive;

use super::snapshot::{SnapshotMetadata, ZipSource};
use super::store::{BadFile, MergeDelimiter, RocksStore};
use super::table::Tables;
use crate::storage::Storage;

/// An open snapshot.
#[derive(Debug)]
pub enum Contents {
    /// Its table files, read one beside the other.
    Tables(Tables),
    /// A database over them.
    Database(RocksStore),
}

impl Contents {
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
        match Tables::open(storage, store_dir, zip, metadata, delimiter) {
            Some(tables) => Ok(Self::Tables(tables)),
            None => RocksStore::open(storage, store_dir, zip_path, zip, metadata, delimiter)
                .map(Self::Database),
        }
    }

    /// Visits every key in key order until `visit` breaks; the second argument looks up the value.
    ///
    /// # Errors
    /// When a table file turns out to be damaged on the way.
    pub fn scan(
        &self,
        metadata: &SnapshotMetadata,
        visit: impl for<'a> FnMut(&'a [u8], &'a dyn Fn() -> &'a [u8]) -> ControlFlow<()>,
    ) -> Result<(), BadFile> {
        match self {
            Self::Tables(tables) => tables.scan(visit),
            Self::Database(database) => database.scan(metadata, visit),
        }
    }
}
