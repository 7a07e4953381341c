//! Blocks of a table file: their checksums, their compression, their entries.
//!
//! A block is its bytes and then five more: compression kind and checksum. An entry begins
//! with three varints (bytes shared with the key before, own bytes of the key, bytes of the
//! value); restart points, at which nothing is shared, stand at the end. See `RocksDB`'s
//! `table/format.cc`, `table/block_based/block_builder.cc`, `util/compression.h`.

use super::TableError;

/// Compression kind and checksum after each block.
pub(super) const TRAILER: usize = 5;
/// A block larger than this is no block: Spark's are 4 KiB, and a single value makes one larger.
const MOST: usize = 1 << 30;

/// Where a block lies in its file, without its trailer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Handle {
    pub(super) offset: u64,
    pub(super) size: usize,
}

impl Handle {
    /// Reads offset and size.
    pub(super) fn read(bytes: &mut &[u8]) -> Result<Self, TableError> {
        let offset = varint(bytes)?;
        let size = usize::try_from(varint(bytes)?).ok().filter(|size| *size <= MOST);
        Ok(Self { offset, size: size.ok_or(TableError::Damaged("a block is too long"))? })
    }

    /// Where the block after it begins.
    pub(super) fn end(self) -> Option<u64> {
        self.offset.checked_add(u64::try_from(self.size + TRAILER).ok()?)
    }
}

/// How blocks are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checksum {
    None,
    Crc32c,
    XxHash32,
    XxHash64,
    Xxh3,
}

impl Checksum {
    pub(super) fn of(kind: u8) -> Result<Self, TableError> {
        match kind {
            0 => Ok(Self::None),
            1 => Ok(Self::Crc32c),
            2 => Ok(Self::XxHash32),
            3 => Ok(Self::XxHash64),
            4 => Ok(Self::Xxh3),
            _ => Err(TableError::Unsupported),
        }
    }

    /// Of a block and its compression kind. `None` where files have none.
    #[expect(clippy::cast_possible_truncation, reason = "the low half is what is stored")]
    fn value(self, bytes: &[u8]) -> Option<u32> {
        Some(match self {
            Self::None => return None,
            Self::Crc32c => masked_crc32c(bytes),
            Self::XxHash32 => xxhash_rust::xxh32::xxh32(bytes, 0),
            Self::XxHash64 => xxhash_rust::xxh64::xxh64(bytes, 0) as u32,
            Self::Xxh3 => {
                // The last byte is mixed in by itself, so that a compressor's output can be
                // hashed before its kind is known.
                let (last, rest) = bytes.split_last()?;
                let hash = xxhash_rust::xxh3::xxh3_64(rest) as u32;
                hash ^ u32::from(*last).wrapping_mul(0x6b90_83d9)
            }
        })
    }
}

/// CRC-32C as `RocksDB` stores it: rotated and shifted, since data may hold checksums itself.
#[expect(clippy::cast_possible_truncation, reason = "a 32-bit checksum in a wider type")]
pub(super) fn masked_crc32c(bytes: &[u8]) -> u32 {
    let crc = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32;
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Checks the block whose bytes and trailer are `stored`, and puts its content into `into`.
pub(super) fn unpack(
    stored: &[u8],
    checksum: Checksum,
    into: &mut Vec<u8>,
) -> Result<(), TableError> {
    let (checked, expected) =
        stored.split_last_chunk::<4>().ok_or(TableError::Damaged("a block is cut"))?;
    if checksum.value(checked).is_some_and(|found| found != u32::from_le_bytes(*expected)) {
        return Err(TableError::Damaged("a block's checksum does not match its bytes"));
    }
    let (kind, block) = checked.split_last().ok_or(TableError::Damaged("a block is cut"))?;
    let mut rest = block;
    let failed = TableError::Damaged("a block cannot be decompressed");
    match kind {
        0 => {
            into.clear();
            into.extend_from_slice(block);
        }
        1 => {
            let length = snap::raw::decompress_len(block).map_err(|_| failed.clone())?;
            resize(into, length)?;
            snap::raw::Decoder::new().decompress(block, into).map_err(|_| failed)?;
        }
        // LZ4 and LZ4HC
        4 | 5 => {
            resize(into, length(&mut rest)?)?;
            let size = lz4_flex::block::decompress_into(rest, into).map_err(|_| failed.clone())?;
            if size != into.len() {
                return Err(failed);
            }
        }
        7 => {
            resize(into, length(&mut rest)?)?;
            let size = zstd::bulk::decompress_to_buffer(rest, into.as_mut_slice());
            if size.map_err(|_| failed.clone())? != into.len() {
                return Err(failed);
            }
        }
        _ => return Err(TableError::Unsupported),
    }
    Ok(())
}

fn length(rest: &mut &[u8]) -> Result<usize, TableError> {
    usize::try_from(varint(rest)?).map_err(|_| TableError::Damaged("a block is too long"))
}

fn resize(into: &mut Vec<u8>, length: usize) -> Result<(), TableError> {
    if length > MOST {
        return Err(TableError::Damaged("a block is too long"));
    }
    into.resize(length, 0);
    Ok(())
}

/// Where the entries of a block end and its restart points begin.
pub(super) fn entries_end(block: &[u8]) -> Result<usize, TableError> {
    let (_, restarts) =
        block.split_last_chunk::<4>().ok_or(TableError::Damaged("a block is cut"))?;
    let restarts = u32::from_le_bytes(*restarts);
    // The highest bit marks a block with a hash index behind its entries.
    if restarts >> 31 != 0 {
        return Err(TableError::Unsupported);
    }
    let points = usize::try_from(restarts).unwrap_or(usize::MAX).saturating_mul(4);
    let end = block.len().checked_sub(4).and_then(|end| end.checked_sub(points));
    end.ok_or(TableError::Damaged("a block's restart points do not fit"))
}

/// An entry's first bytes: lengths, and where key and value begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) shared: usize,
    pub(super) key: (usize, usize),
    pub(super) value: (usize, usize),
}

/// Reads the entry at `at` of the entries `block[..end]`.
#[inline]
pub(super) fn entry(block: &[u8], at: usize, end: usize) -> Result<Entry, TableError> {
    const CUT: TableError = TableError::Damaged("an entry of a block is cut");
    let bytes = block.get(at..end).ok_or(CUT)?;
    // Nearly all lengths are below 128.
    let (shared, own, value, head) =
        if let [shared @ ..0x80, own @ ..0x80, value @ ..0x80, ..] = bytes {
            (usize::from(*shared), usize::from(*own), usize::from(*value), 3)
        } else {
            let mut rest = bytes;
            let (shared, own) = (length(&mut rest)?, length(&mut rest)?);
            (shared, own, length(&mut rest)?, bytes.len() - rest.len())
        };
    let key = at + head;
    let key_end = key.checked_add(own).filter(|to| *to <= end).ok_or(CUT)?;
    let value_end = key_end.checked_add(value).filter(|to| *to <= end).ok_or(CUT)?;
    Ok(Entry { shared, key: (key, key_end), value: (key_end, value_end) })
}

/// A number of seven bits a byte, lowest first.
pub(super) fn varint(bytes: &mut &[u8]) -> Result<u64, TableError> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first().ok_or(TableError::Damaged("a number is cut"))?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(TableError::Damaged("a number is too long"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_seven_bits_a_byte() {
        let mut bytes: &[u8] = &[0x05, 0xac, 0x02];
        assert_eq!((varint(&mut bytes), varint(&mut bytes)), (Ok(5), Ok(300)));
        assert!(varint(&mut bytes).is_err());
        assert!(varint(&mut [0xff; 11].as_slice()).is_err());
    }

    #[test]
    fn checksums_are_as_published() {
        // RocksDB's util/crc32c_test.cc: 32 zero bytes; masked as Mask() has it.
        let masked = 0x8a91_36aa_u32.rotate_right(15).wrapping_add(0xa282_ead8);
        assert_eq!(masked_crc32c(&[0; 32]), masked);
    }

    #[test]
    fn a_flipped_bit_is_seen() {
        let mut stored = b"some bytes\0".to_vec();
        let sum = Checksum::Xxh3.value(&stored).unwrap();
        stored.extend(sum.to_le_bytes());
        let mut into = Vec::new();
        unpack(&stored, Checksum::Xxh3, &mut into).unwrap();
        assert_eq!(into, b"some bytes");
        stored[3] ^= 1;
        assert!(unpack(&stored, Checksum::Xxh3, &mut into).is_err());
    }
}
