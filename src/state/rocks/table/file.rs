//! One table file, read from front to back.
//!
//! The footer names two blocks: the metaindex, through which the properties are found, and the
//! index, which has the handle of every data block. See `RocksDB`'s `table/format.cc` and
//! `table/block_based/block_based_table_reader.cc`. What Spark's stores do not have (partitioned
//! or hashed indexes, range deletions, ingested files, formats from 6 on) is unsupported.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::TableError;
use super::block::{Checksum, Handle, TRAILER, entries_end, entry, unpack, varint};

/// Bytes of the footer of formats 1 to 5.
const FOOTER: usize = 53;
const MAGIC: u64 = 0x88e2_41b7_85f4_cff7;
/// Bytes behind each user key: sequence number and kind.
const PACKED: usize = 8;

/// An open table file.
#[derive(Debug)]
pub(super) struct TableFile {
    file: File,
    checksum: Checksum,
    blocks: Vec<Handle>,
}

impl TableFile {
    /// Opens a file of that many bytes.
    pub(super) fn open(file: File, size: u64) -> Result<Self, TableError> {
        let start =
            size.checked_sub(FOOTER as u64).ok_or(TableError::Damaged("it is too short"))?;
        let mut footer = [0; FOOTER];
        file.read_exact_at(&mut footer, start).map_err(|_| TableError::Unreadable)?;
        let (handles, ending) = footer.split_last_chunk::<12>().ok_or(TableError::Unreadable)?;
        let [v0, v1, v2, v3, magic @ ..] = *ending;
        if u64::from_le_bytes(magic) != MAGIC {
            return Err(TableError::Unsupported);
        }
        if !(2..=5).contains(&u32::from_le_bytes([v0, v1, v2, v3])) {
            return Err(TableError::Unsupported);
        }
        let (kind, mut handles) = handles.split_first().ok_or(TableError::Unreadable)?;
        let checksum = Checksum::of(*kind)?;
        let (metaindex, index) = (Handle::read(&mut handles)?, Handle::read(&mut handles)?);
        let mut table = Self { file, checksum, blocks: Vec::new() };
        let mut block = Vec::new();
        table.read(metaindex, start, &mut block)?;
        let properties = meta_entry(&block, b"rocksdb.properties")?;
        let properties = Handle::read(&mut properties.ok_or(TableError::Unsupported)?)?;
        table.read(properties, start, &mut block)?;
        let encoded = index_values(&block)?;
        table.read(index, start, &mut block)?;
        table.blocks = handles_of(&block, encoded)?;
        let inside = |handle: &Handle| handle.end().is_some_and(|end| end <= start);
        let ascending = table.blocks.windows(2).all(|pair| match pair {
            [a, b] => a.end().is_some_and(|end| end <= b.offset),
            _ => true,
        });
        if !ascending || !table.blocks.iter().all(inside) {
            return Err(TableError::Damaged("its blocks do not lie behind each other"));
        }
        Ok(table)
    }

    /// Reads and unpacks one block that ends before `limit`.
    fn read(&self, handle: Handle, limit: u64, into: &mut Vec<u8>) -> Result<(), TableError> {
        if handle.end().is_none_or(|end| end > limit) {
            return Err(TableError::Damaged("a block ends beyond its file"));
        }
        let mut stored = vec![0; handle.size + TRAILER];
        self.file.read_exact_at(&mut stored, handle.offset).map_err(|_| TableError::Unreadable)?;
        unpack(&stored, self.checksum, into)
    }
}

/// The value of a key of a meta block.
fn meta_entry<'b>(block: &'b [u8], wanted: &[u8]) -> Result<Option<&'b [u8]>, TableError> {
    let (end, mut at, mut key) = (entries_end(block)?, 0, Vec::new());
    while at < end {
        let entry = entry(block, at, end)?;
        key.truncate(entry.shared);
        key.extend_from_slice(block.get(entry.key.0..entry.key.1).unwrap_or_default());
        if key == wanted {
            return Ok(block.get(entry.value.0..entry.value.1));
        }
        at = entry.value.1;
    }
    Ok(None)
}

/// How handles are written in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IndexValues {
    Whole,
    Differences,
}

/// Refuses tables that have what is not read here; says how the index is written.
fn index_values(properties: &[u8]) -> Result<IndexValues, TableError> {
    let number = |name: &[u8]| -> Result<u64, TableError> {
        meta_entry(properties, name)?.map_or(Ok(0), |mut value| varint(&mut value))
    };
    let is_plain_index = meta_entry(properties, b"rocksdb.block.based.table.index.type")?
        .is_none_or(|kind| kind.iter().all(|byte| *byte == 0));
    let comparator = meta_entry(properties, b"rocksdb.comparator")?;
    let is_ingested = meta_entry(properties, b"rocksdb.external_sst_file.version")?.is_some();
    if !is_plain_index
        || is_ingested
        || comparator.is_some_and(|name| name != b"leveldb.BytewiseComparator")
        || number(b"rocksdb.num.range-deletions")? > 0
    {
        return Err(TableError::Unsupported);
    }
    Ok(match number(b"rocksdb.index.value.is.delta.encoded")? {
        0 => IndexValues::Whole,
        _ => IndexValues::Differences,
    })
}

/// The handles in an index block. Where differences are written, entries have no length of the
/// value: a whole handle where nothing is shared with the key before, else the signed difference
/// of its size to the one before, right behind which the block begins.
fn handles_of(index: &[u8], encoded: IndexValues) -> Result<Vec<Handle>, TableError> {
    const CUT: TableError = TableError::Damaged("its index is cut");
    let end = entries_end(index)?;
    let mut found: Vec<Handle> = Vec::new();
    let mut rest = index.get(..end).ok_or(CUT)?;
    while !rest.is_empty() {
        let (shared, own) = (varint(&mut rest)?, varint(&mut rest)?);
        if encoded == IndexValues::Whole {
            varint(&mut rest)?;
        }
        let own = usize::try_from(own).map_err(|_| CUT)?;
        rest = rest.get(own..).ok_or(CUT)?;
        let handle = match (encoded, found.last()) {
            (IndexValues::Differences, Some(before)) if shared > 0 => {
                let zigzag = varint(&mut rest)?;
                let half = usize::try_from(zigzag >> 1).map_err(|_| CUT)?;
                let size = match zigzag & 1 {
                    0 => before.size.checked_add(half),
                    _ => before.size.checked_sub(half).and_then(|size| size.checked_sub(1)),
                };
                Handle { offset: before.end().ok_or(CUT)?, size: size.ok_or(CUT)? }
            }
            _ => Handle::read(&mut rest)?,
        };
        found.push(handle);
    }
    Ok(found)
}

/// A reader of the entries of a table file, at one of them.
#[derive(Debug)]
pub(super) struct Cursor<'t> {
    table: &'t TableFile,
    /// The next block to read.
    next: usize,
    /// Bytes of the file read ahead.
    ahead: Vec<u8>,
    ahead_at: u64,
    most_ahead: usize,
    block: Vec<u8>,
    at: usize,
    end: usize,
    /// The user key with sequence number and kind behind it.
    key: Vec<u8>,
    value: (usize, usize),
    repeats: bool,
}

impl<'t> Cursor<'t> {
    /// Before the first entry. Reads `most_ahead` bytes at a time, or a block where that is more.
    pub(super) fn new(table: &'t TableFile, most_ahead: usize) -> Self {
        Self {
            table,
            next: 0,
            ahead: Vec::new(),
            ahead_at: 0,
            most_ahead,
            block: Vec::new(),
            at: 0,
            end: 0,
            key: Vec::new(),
            value: (0, 0),
            repeats: false,
        }
    }

    /// Goes to the next entry; whether there is one.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<bool, TableError> {
        while self.at >= self.end {
            if !self.next_block()? {
                return Ok(false);
            }
        }
        let entry = entry(&self.block, self.at, self.end)?;
        let own = self.block.get(entry.key.0..entry.key.1).unwrap_or_default();
        if entry.shared > self.key.len() || (self.at == 0 && entry.shared > 0) {
            return Err(TableError::Damaged("a key shares more than there is"));
        }
        let before = self.key.len();
        let length = entry.shared + own.len();
        if length < PACKED {
            return Err(TableError::Damaged("a key has no sequence number"));
        }
        // What is shared is all that the two have in common, but at restart points.
        self.repeats = length == before
            && match entry.shared {
                0 => own.get(..length - PACKED) == self.key.get(..length - PACKED),
                shared => shared >= length - PACKED,
            };
        self.key.truncate(entry.shared);
        self.key.extend_from_slice(own);
        self.value = entry.value;
        self.at = entry.value.1;
        Ok(true)
    }

    /// The user key.
    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        self.key.split_at_checked(self.key.len().saturating_sub(PACKED)).map_or(&[], |(key, _)| key)
    }

    /// Whether the user key is that of the entry before in this file.
    #[inline]
    pub(super) fn repeats(&self) -> bool {
        self.repeats
    }

    /// Sequence number and kind, as one number: greater is newer.
    #[inline]
    pub(super) fn packed(&self) -> u64 {
        self.key.last_chunk::<PACKED>().map_or(0, |packed| u64::from_le_bytes(*packed))
    }

    /// The value.
    pub(super) fn value(&self) -> &[u8] {
        self.block.get(self.value.0..self.value.1).unwrap_or_default()
    }

    fn next_block(&mut self) -> Result<bool, TableError> {
        let Some(handle) = self.table.blocks.get(self.next).copied() else { return Ok(false) };
        let whole = handle.size + TRAILER;
        let has = |cursor: &Self| {
            let from = usize::try_from(handle.offset.checked_sub(cursor.ahead_at)?).ok()?;
            cursor.ahead.get(from..from.checked_add(whole)?).map(|_| from)
        };
        let from = if let Some(from) = has(self) {
            from
        } else {
            self.read_ahead(handle)?;
            0
        };
        let stored = self.ahead.get(from..from + whole).ok_or(TableError::Unreadable)?;
        unpack(stored, self.table.checksum, &mut self.block)?;
        self.next += 1;
        self.at = 0;
        self.end = entries_end(&self.block)?;
        Ok(true)
    }

    /// Reads the block at `first` and as many behind it as fit.
    fn read_ahead(&mut self, first: Handle) -> Result<(), TableError> {
        let most = first.offset.saturating_add(u64::try_from(self.most_ahead).unwrap_or(u64::MAX));
        let rest = self.table.blocks.get(self.next..).unwrap_or_default();
        let ends = rest.iter().filter_map(|handle| handle.end());
        let end = ends.take_while(|end| *end <= most).last();
        let end = end.or_else(|| first.end()).unwrap_or(first.offset);
        let length = usize::try_from(end - first.offset).map_err(|_| TableError::Unreadable)?;
        self.ahead.resize(length, 0);
        self.ahead_at = first.offset;
        let read = self.table.file.read_exact_at(&mut self.ahead, first.offset);
        read.map_err(|_| TableError::Unreadable)
    }
}
