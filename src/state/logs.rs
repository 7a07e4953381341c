//! Opens changelogs and deltas, wherever the checkpoint is.

use std::io::{BufReader, Cursor, Read};

use super::files::FileKind;
use super::rocks::changelog::Reader;
use crate::codec;
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

/// A reader of the records of a log of this kind.
pub(super) fn reader(
    storage: &Storage,
    path: &str,
    kind: FileKind,
) -> Result<Reader<BufReader<Box<dyn Read>>>, String> {
    let input = codec::decompress(open(storage, path)?).map_err(|error| error.to_string())?;
    let input = BufReader::new(input);
    match kind {
        FileKind::Changelog | FileKind::Zip => {
            Reader::changelog(input).map_err(|error| error.to_string())
        }
        FileKind::Snapshot | FileKind::Delta => Ok(Reader::headerless(input)),
    }
}
