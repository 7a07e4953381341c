//! The table files that a store has, by its `MANIFEST`: a log of version edits.
//!
//! Read so far as to be sure which files are live; whatever Spark's stores do not have (more
//! column families, blob files, tags of newer versions) is unsupported. See `RocksDB`'s
//! `db/version_edit.cc` and `db/log_format.h`.

use std::collections::BTreeSet;

use super::TableError;
use super::block::{masked_crc32c, varint};

/// Bytes of a block of the log; no record's head crosses it.
const BLOCK: usize = 32 << 10;
/// Tags with this bit may be passed over by those who do not know them.
const IGNORABLE: u64 = 1 << 13;

/// The numbers of the live table files.
pub(super) fn live_files(manifest: &[u8]) -> Result<BTreeSet<u64>, TableError> {
    let mut live = BTreeSet::new();
    for edit in records(manifest)? {
        apply(&edit, &mut live)?;
    }
    Ok(live)
}

/// The records of a log, put together from their fragments.
fn records(log: &[u8]) -> Result<Vec<Vec<u8>>, TableError> {
    const HEAD: usize = 7;
    let mut found = Vec::new();
    let mut open: Option<Vec<u8>> = None;
    for block in log.chunks(BLOCK) {
        let mut rest = block;
        while let Some((head, after)) = rest.split_at_checked(HEAD) {
            let [c0, c1, c2, c3, l0, l1, kind] = *head else { break };
            let length = usize::from(u16::from_le_bytes([l0, l1]));
            if kind == 0 && length == 0 {
                break;
            }
            let (data, next) =
                after.split_at_checked(length).ok_or(TableError::Damaged("the manifest is cut"))?;
            let checked: Vec<u8> = std::iter::once(kind).chain(data.iter().copied()).collect();
            if masked_crc32c(&checked) != u32::from_le_bytes([c0, c1, c2, c3]) {
                return Err(TableError::Damaged("a record of the manifest has a wrong checksum"));
            }
            match (kind, &mut open) {
                (1, None) => found.push(data.to_vec()),
                (2, None) => open = Some(data.to_vec()),
                (3, Some(record)) => record.extend_from_slice(data),
                (4, Some(record)) => {
                    record.extend_from_slice(data);
                    found.extend(open.take());
                }
                _ => return Err(TableError::Unsupported),
            }
            rest = next;
        }
    }
    match open {
        None => Ok(found),
        Some(_) => Err(TableError::Damaged("the manifest ends in a record")),
    }
}

/// Applies one edit.
fn apply(mut edit: &[u8], live: &mut BTreeSet<u64>) -> Result<(), TableError> {
    let rest = &mut edit;
    while !rest.is_empty() {
        match varint(rest)? {
            // Comparator.
            1 => {
                if slice(rest)? != b"leveldb.BytewiseComparator" {
                    return Err(TableError::Unsupported);
                }
            }
            // Log number, next file number, last sequence, previous log, oldest log to keep,
            // largest column family, edits left in an atomic group.
            2 | 3 | 4 | 9 | 10 | 203 | 300 => {
                varint(rest)?;
            }
            // Compaction cursor: level and key.
            5 => {
                varint(rest)?;
                slice(rest)?;
            }
            // Deleted file: level and number.
            6 => {
                varint(rest)?;
                live.remove(&varint(rest)?);
            }
            103 => {
                live.insert(new_file(rest)?);
            }
            // Column family: the default one only.
            200 if varint(rest)? == 0 => {}
            tag if tag & IGNORABLE != 0 => {
                slice(rest)?;
            }
            _ => return Err(TableError::Unsupported),
        }
    }
    Ok(())
}

/// A new file: level, number, size, least and greatest key and sequence, then fields by tag.
fn new_file(rest: &mut &[u8]) -> Result<u64, TableError> {
    const END: u64 = 1;
    const OLDEST_BLOB: u64 = 4;
    varint(rest)?;
    let number = varint(rest)?;
    varint(rest)?;
    slice(rest)?;
    slice(rest)?;
    varint(rest)?;
    varint(rest)?;
    loop {
        match varint(rest)? {
            END => return Ok(number),
            OLDEST_BLOB => return Err(TableError::Unsupported),
            _ => {
                slice(rest)?;
            }
        }
    }
}

fn slice<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], TableError> {
    let length = usize::try_from(varint(rest)?).unwrap_or(usize::MAX);
    let (found, after) =
        rest.split_at_checked(length).ok_or(TableError::Damaged("the manifest is cut"))?;
    *rest = after;
    Ok(found)
}
