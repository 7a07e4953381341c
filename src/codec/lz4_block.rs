//! lz4-java's `LZ4BlockOutputStream` framing.
//!
//! Blocks of: `LZ4Block`, a token (method in the high half, log2 of the block size minus 10
//! in the low half), three little-endian 32-bit numbers (compressed length, original
//! length, checksum), the payload. Two zero lengths end a stream; another may follow.

use std::io::{self, Read};

use super::{Block, block_length, cut, invalid, read_block, read_up_to};

/// The first bytes of every block.
pub(super) const MAGIC: &[u8] = b"LZ4Block";

const HEADER: usize = 8 + 1 + 4 + 4 + 4;
const METHOD_STORED: u8 = 0x10;
const METHOD_LZ4: u8 = 0x20;
/// Seed that lz4-java gives xxHash32; it keeps the low 28 bits of the result.
const CHECKSUM_SEED: u32 = 0x9747_b28c;
const CHECKSUM_MASK: u32 = 0x0fff_ffff;

/// Decodes a stream of `LZ4Block` blocks, verifying each block's checksum.
#[derive(Debug)]
pub struct Lz4BlockReader<R> {
    input: R,
    compressed: Vec<u8>,
    block: Block,
}

/// A parsed block header.
struct Header {
    method: u8,
    compressed: usize,
    original: usize,
    checksum: u32,
}

impl Header {
    fn parse(bytes: [u8; HEADER]) -> io::Result<Self> {
        let [magic @ .., t, c0, c1, c2, c3, o0, o1, o2, o3, s0, s1, s2, s3] = bytes;
        if magic != *MAGIC {
            return Err(invalid("a block does not start with LZ4Block"));
        }
        let header = Self {
            method: t & 0xf0,
            compressed: block_length(i32::from_le_bytes([c0, c1, c2, c3]), "compressed length")?,
            original: block_length(i32::from_le_bytes([o0, o1, o2, o3]), "original length")?,
            checksum: u32::from_le_bytes([s0, s1, s2, s3]),
        };
        let limit = 1_usize << (10 + (t & 0x0f));
        if header.original > limit {
            return Err(invalid(format!(
                "a block of {} bytes is larger than its own limit of {limit}",
                header.original
            )));
        }
        if (header.original == 0) != (header.compressed == 0) {
            return Err(invalid("a block has one zero length, expected both or none"));
        }
        Ok(header)
    }
}

/// How long the block that starts `bytes` is with its header; `None` when they are too few to
/// tell.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] when they are no block.
pub(super) fn block_size(bytes: &[u8]) -> io::Result<Option<usize>> {
    match bytes.first_chunk::<HEADER>() {
        Some(header) => Ok(Some(HEADER + Header::parse(*header)?.compressed)),
        None => Ok(None),
    }
}

impl<R: Read> Lz4BlockReader<R> {
    /// A reader that starts at the first block of `input`.
    pub fn new(input: R) -> Self {
        Self { input, compressed: Vec::new(), block: Block::default() }
    }

    /// Decodes the next block with content; false at the end of the input.
    fn next_block(&mut self) -> io::Result<bool> {
        while let Some(header) = self.header()? {
            if header.original == 0 {
                // The end mark of one stream; a concatenated one may follow.
                continue;
            }
            read_block(&mut self.input, &mut self.compressed, header.compressed)?;
            self.decode(&header)?;
            return Ok(true);
        }
        Ok(false)
    }

    fn header(&mut self) -> io::Result<Option<Header>> {
        let mut bytes = [0_u8; HEADER];
        match read_up_to(&mut self.input, &mut bytes)? {
            0 => Ok(None),
            HEADER => Header::parse(bytes).map(Some),
            read => Err(cut("21 bytes of an LZ4Block header", read)),
        }
    }

    fn decode(&mut self, header: &Header) -> io::Result<()> {
        self.block.used = 0;
        match header.method {
            METHOD_STORED if header.compressed == header.original => {
                std::mem::swap(&mut self.block.bytes, &mut self.compressed);
            }
            METHOD_LZ4 => {
                self.block.bytes.resize(header.original, 0);
                let length =
                    lz4_flex::block::decompress_into(&self.compressed, &mut self.block.bytes)
                        .map_err(|error| invalid(format!("damaged LZ4 block: {error}")))?;
                if length != header.original {
                    return Err(invalid(format!(
                        "an LZ4 block holds {length} bytes, its header says {}",
                        header.original
                    )));
                }
            }
            method => return Err(invalid(format!("unknown LZ4Block method {method:#04x}"))),
        }
        let sum = xxhash_rust::xxh32::xxh32(&self.block.bytes, CHECKSUM_SEED) & CHECKSUM_MASK;
        if sum == header.checksum {
            Ok(())
        } else {
            Err(invalid(format!(
                "block checksum {sum:#010x} differs from the stored {:#010x}",
                header.checksum
            )))
        }
    }
}

impl<R: Read> Read for Lz4BlockReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.block.is_used_up() && !self.next_block()? {
            return Ok(0);
        }
        Ok(self.block.take(out))
    }
}
