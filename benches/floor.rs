//! The floor: how fast a checkpoint's last version could be read if reading were all.
//!
//!     cargo run --example floor -- CHECKPOINT [--threads N] [--operator N]
//!
//! What it does: for each store of one operator it finds the newest snapshot and the
//! changelogs above it, reads those files whole, decompresses every data block of the
//! `RocksDB` table files and every block of the changelogs, and counts bytes. Threads take
//! the next store until none is left.
//!
//! What it leaves out: checksums, filters, keys and values (no block is looked into), the
//! merge of table files, the replay of changelogs over them, decoding. So nothing that
//! answers a question about rows can be faster on the same files, decompressor and disk.
//! Data blocks are decompressed by `lz4_flex`; `RocksDB` itself uses the C library, which is
//! faster by a part of the time spent here.
//!
//! Table format: footer of 53 bytes (checksum kind, two block handles, `format_version`,
//! magic number); the index block gives the handles of all data blocks; a block is its
//! bytes and then five more, compression kind and checksum; a compressed block begins with
//! its decompressed length as a varint (`format_version` 2 and newer). See `RocksDB`'s
//! `table/format.cc` and `table/block_based/block_builder.cc`.
#![allow(clippy::print_stdout, reason = "a program of its own")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use serde_json::json;
use statetop::codec;
use statetop::state::files::{DataFile, FileKind};
use statetop::state::rocks::snapshot;
use statetop::storage::Storage;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const FOOTER: usize = 53;
const MAGIC: u64 = 0x88e2_41b7_85f4_cff7;
/// Compression kind and checksum after each block.
const TRAILER: usize = 5;
/// More than any block or changelog that a benchmark has.
const MOST: usize = 1 << 30;

/// What was read and what came out of it, in bytes where not said otherwise.
#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    table_files: u64,
    table_bytes: u64,
    blocks: u64,
    block_bytes: u64,
    changelogs: u64,
    changelog_bytes: u64,
    record_bytes: u64,
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.table_files += other.table_files;
        self.table_bytes += other.table_bytes;
        self.blocks += other.blocks;
        self.block_bytes += other.block_bytes;
        self.changelogs += other.changelogs;
        self.changelog_bytes += other.changelog_bytes;
        self.record_bytes += other.record_bytes;
    }
}

/// Buffers that a thread keeps from file to file.
#[derive(Default)]
struct Buffers {
    file: Vec<u8>,
    block: Vec<u8>,
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mut checkpoint = None;
    let mut threads = std::thread::available_parallelism()?.get();
    let mut operator = 0_u32;
    while let Some(argument) = arguments.next() {
        let mut number = || -> Result<u32, Failure> {
            Ok(arguments.next().ok_or("a number is missing")?.parse()?)
        };
        match argument.as_str() {
            "--threads" => threads = number()? as usize,
            "--operator" => operator = number()?,
            _ => checkpoint = Some(PathBuf::from(argument)),
        }
    }
    let checkpoint = checkpoint.ok_or("usage: floor CHECKPOINT [--threads N] [--operator N]")?;
    let begun = Instant::now();
    let storage = Storage::open(&checkpoint.to_string_lossy())?;
    let root = storage.local_path("").ok_or("not a local checkpoint")?;
    let stores = stores(&root.join("state").join(operator.to_string()))?;
    let count = stores.len();
    let queue = Mutex::new(stores);
    let sum = Mutex::new(Sum::default());
    std::thread::scope(|scope| -> Result<(), Failure> {
        let workers: Vec<_> =
            (0..threads.max(1)).map(|_| scope.spawn(|| work(&storage, &queue, &sum))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a thread panicked")?)
    })?;
    let sum = *sum.lock().map_err(|_| "a thread panicked")?;
    println!(
        "{}",
        json!({
            "stores": count, "threads": threads, "seconds": begun.elapsed().as_secs_f64(),
            "table_files": sum.table_files, "table_bytes": sum.table_bytes,
            "blocks": sum.blocks, "block_bytes": sum.block_bytes,
            "changelogs": sum.changelogs, "changelog_bytes": sum.changelog_bytes,
            "record_bytes": sum.record_bytes,
        })
    );
    Ok(())
}

fn work(storage: &Storage, queue: &Mutex<Vec<PathBuf>>, sum: &Mutex<Sum>) -> Result<(), Failure> {
    let mut buffers = Buffers::default();
    let mut mine = Sum::default();
    loop {
        let next = queue.lock().map_err(|_| "a thread panicked")?.pop();
        let Some(store) = next else { break };
        mine.add(read_store(storage, &store, &mut buffers)?);
    }
    sum.lock().map_err(|_| "a thread panicked")?.add(mine);
    Ok(())
}

/// Directories with state files: partitions, and below them named stores.
fn stores(operator: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    let partitions = entries(operator)?;
    for partition in partitions.into_iter().filter(|path| name(path).parse::<u32>().is_ok()) {
        let inside = entries(&partition)?;
        let is_data = |path: &PathBuf| DataFile::parse(&name(path)).is_some();
        if inside.iter().any(is_data) {
            found.push(partition);
        } else {
            found.extend(
                inside.into_iter().filter(|path| path.is_dir() && !name(path).starts_with('_')),
            );
        }
    }
    Ok(found)
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect()
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Newest snapshot and the changelogs above it. (With state checkpoint format 2 and failed
/// attempts there may be files too many; the benchmark has none.)
fn read_store(storage: &Storage, store: &Path, buffers: &mut Buffers) -> Result<Sum, Failure> {
    let root = storage.local_path("").ok_or("not a local checkpoint")?;
    let place = store.strip_prefix(root)?.to_string_lossy().into_owned();
    let files: Vec<DataFile> =
        entries(store)?.iter().filter_map(|path| DataFile::parse(&name(path))).collect();
    let snapshots = files.iter().filter(|file| file.kind == FileKind::Zip);
    let newest = snapshots.max_by_key(|file| file.version);
    let mut sum = Sum::default();
    if let Some(snapshot) = newest {
        let path = format!("{place}/{}", snapshot.name());
        let mut zip = snapshot::open_zip(storage, &path)?;
        let metadata = snapshot::read_metadata(&mut zip)?;
        for table in &metadata.sst_files {
            read_whole(&store.join("SSTs").join(&table.dfs_sst_file_name), &mut buffers.file)?;
            sum.add(read_table(&buffers.file, &mut buffers.block)?);
        }
    }
    let above: BTreeSet<_> = files
        .iter()
        .filter(|file| file.kind == FileKind::Changelog)
        .filter(|file| newest.is_none_or(|snapshot| file.version > snapshot.version))
        .map(DataFile::name)
        .collect();
    for changelog in above {
        read_whole(&store.join(changelog), &mut buffers.file)?;
        buffers.block.clear();
        let records =
            codec::decompress(buffers.file.as_slice())?.read_to_end(&mut buffers.block)?;
        sum.changelogs += 1;
        sum.changelog_bytes += buffers.file.len() as u64;
        sum.record_bytes += records as u64;
    }
    Ok(sum)
}

fn read_whole(path: &Path, into: &mut Vec<u8>) -> Result<(), Failure> {
    into.clear();
    File::open(path)?.read_to_end(into)?;
    Ok(())
}

/// Decompresses every data block of a table file.
fn read_table(table: &[u8], block: &mut Vec<u8>) -> Result<Sum, Failure> {
    let start = table.len().checked_sub(FOOTER).ok_or("no footer")?;
    let footer = part(table, start, FOOTER)?;
    let magic: [u8; 8] = part(footer, FOOTER - 8, 8)?.try_into()?;
    if u64::from_le_bytes(magic) != MAGIC {
        return Err("not a block-based table".into());
    }
    let mut handles = part(footer, 1, FOOTER - 1)?;
    let _metaindex = (varint(&mut handles)?, varint(&mut handles)?);
    let index = Handle { offset: varint(&mut handles)?, size: varint(&mut handles)? };
    decompress(table, index, block)?;
    let data = data_blocks(block)?;
    let mut sum = Sum { table_files: 1, table_bytes: table.len() as u64, ..Sum::default() };
    for handle in data {
        decompress(table, handle, block)?;
        sum.blocks += 1;
        sum.block_bytes += block.len() as u64;
    }
    Ok(sum)
}

#[derive(Debug, Clone, Copy)]
struct Handle {
    offset: usize,
    size: usize,
}

/// The handles in an index block. Entries: shared and own length of the key, the key, then the
/// handle: whole where nothing is shared, else the signed difference of its size to the one
/// before, right after which the block begins.
fn data_blocks(index: &[u8]) -> Result<Vec<Handle>, Failure> {
    let restarts: [u8; 4] = part(index, index.len().saturating_sub(4), 4)?.try_into()?;
    let restarts = u32::from_le_bytes(restarts) as usize;
    let end = index.len().checked_sub(4 + 4 * restarts).ok_or("a bad index block")?;
    let mut rest = part(index, 0, end)?;
    let mut found: Vec<Handle> = Vec::new();
    while !rest.is_empty() {
        let shared = varint(&mut rest)?;
        let own = varint(&mut rest)?;
        rest = rest.get(own..).ok_or("a bad index entry")?;
        let handle = match found.last() {
            Some(before) if shared > 0 => {
                let zigzag = varint(&mut rest)?;
                let half = zigzag >> 1;
                let size = if zigzag & 1 == 0 {
                    before.size.checked_add(half)
                } else {
                    before.size.checked_sub(half + 1)
                };
                Handle {
                    offset: before.offset + before.size + TRAILER,
                    size: size.ok_or("a bad handle")?,
                }
            }
            _ => Handle { offset: varint(&mut rest)?, size: varint(&mut rest)? },
        };
        found.push(handle);
    }
    Ok(found)
}

/// Decompresses one block into `into`.
fn decompress(table: &[u8], handle: Handle, into: &mut Vec<u8>) -> Result<(), Failure> {
    let stored = part(table, handle.offset, handle.size)?;
    let kind = part(table, handle.offset + handle.size, 1)?;
    let mut rest = stored;
    match kind {
        [0] => {
            into.clear();
            into.extend_from_slice(stored);
        }
        // LZ4 and LZ4HC
        [4 | 5] => {
            into.resize(length(&mut rest)?, 0);
            let size = lz4_flex::block::decompress_into(rest, into)?;
            into.truncate(size);
        }
        [7] => {
            into.resize(length(&mut rest)?, 0);
            let size = zstd::bulk::decompress_to_buffer(rest, into.as_mut_slice())?;
            into.truncate(size);
        }
        other => return Err(format!("compression kind {other:?} is not known here").into()),
    }
    Ok(())
}

fn length(rest: &mut &[u8]) -> Result<usize, Failure> {
    let length = varint(rest)?;
    if length > MOST { Err("a block is too long".into()) } else { Ok(length) }
}

fn part(bytes: &[u8], offset: usize, size: usize) -> Result<&[u8], Failure> {
    let end = offset.checked_add(size).ok_or("a bad handle")?;
    Ok(bytes.get(offset..end).ok_or("a block ends beyond its file")?)
}

fn varint(bytes: &mut &[u8]) -> Result<usize, Failure> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first().ok_or("a number is cut")?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Ok(usize::try_from(value)?);
        }
    }
    Err("a number is too long".into())
}
