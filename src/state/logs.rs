//! Opens changelogs and deltas, wherever the checkpoint is.

use std::io::{Cursor, Read};

use crate::storage::Storage;
use crate::units::Bytes;

/// Largest remote log that is read into memory, compressed.
const MAX_REMOTE_LOG: Bytes = Bytes(256 << 20);

/// The raw bytes of a log: streamed from a disk, fetched whole from a cloud store.
///
/// # Errors
/// A sentence saying why it cannot be read.
pub(super) fn open(storage: &Storage, path: &str) -> Result<Box<dyn Read>, String> {
    if let Some(file) = storage.open_local(path).map_err(|error| error.to_string())? {
        return Ok(Box::new(file));
    }
    let bytes = storage.read(path, MAX_REMOTE_LOG).map_err(|error| error.to_string())?;
    Ok(Box::new(Cursor::new(bytes)))
}
