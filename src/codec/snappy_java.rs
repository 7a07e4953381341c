//! snappy-java's `SnappyOutputStream` framing.
//!
//! A 16-byte header (magic, version, lowest compatible version), then blocks of a
//! big-endian 32-bit compressed length and one raw snappy block. Concatenated streams
//! repeat the header between blocks.

use std::io::{self, Read};

use super::{Block, MAX_BLOCK, block_length, cut, invalid, read_block, read_up_to};

/// The first bytes of every stream.
pub(super) const MAGIC: &[u8] = b"\x82SNAPPY\x00";

/// Magic, version and lowest compatible version.
const HEADER: usize = 8 + 4 + 4;

/// Newest stream version that this reader knows.
const VERSION: i32 = 1;

/// Decodes a snappy-java stream.
#[derive(Debug)]
pub struct SnappyReader<R> {
    input: R,
    compressed: Vec<u8>,
    decoder: snap::raw::Decoder,
    block: Block,
}

/// How long the header or block that starts `bytes` is; `None` when they are too few to tell.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] when they are neither.
pub(super) fn block_size(bytes: &[u8]) -> io::Result<Option<usize>> {
    match bytes.first_chunk::<4>() {
        None => Ok(None),
        Some(head) if MAGIC.starts_with(head) => Ok(Some(HEADER)),
        Some(head) => {
            let length = block_length(i32::from_be_bytes(*head), "compressed length")?;
            Ok(Some(head.len() + length))
        }
    }
}

impl<R: Read> SnappyReader<R> {
    /// A reader that starts at the header of `input`.
    pub fn new(input: R) -> Self {
        Self {
            input,
            compressed: Vec::new(),
            decoder: snap::raw::Decoder::new(),
            block: Block::default(),
        }
    }

    fn next_block(&mut self) -> io::Result<bool> {
        loop {
            let mut length = [0_u8; 4];
            match read_up_to(&mut self.input, &mut length)? {
                0 => return Ok(false),
                4 => {}
                read => return Err(cut("4 bytes of a block length", read)),
            }
            if MAGIC.starts_with(&length) {
                self.header()?;
                continue;
            }
            let length = block_length(i32::from_be_bytes(length), "compressed length")?;
            read_block(&mut self.input, &mut self.compressed, length)?;
            self.decode()?;
            if !self.block.bytes.is_empty() {
                return Ok(true);
            }
        }
    }

    /// The rest of a header whose first four bytes have been read.
    fn header(&mut self) -> io::Result<()> {
        let mut rest = [0_u8; HEADER - 4];
        let read = read_up_to(&mut self.input, &mut rest)?;
        if read < rest.len() {
            return Err(cut("16 bytes of a snappy stream header", read + 4));
        }
        let [m4, m5, m6, m7, _, _, _, _, c0, c1, c2, c3] = rest;
        let compatible = i32::from_be_bytes([c0, c1, c2, c3]);
        if !MAGIC.ends_with(&[m4, m5, m6, m7]) || compatible > VERSION {
            return Err(invalid(format!("snappy stream version {compatible}, expected {VERSION}")));
        }
        Ok(())
    }

    fn decode(&mut self) -> io::Result<()> {
        let damaged = |error: snap::Error| invalid(format!("damaged snappy block: {error}"));
        let length = snap::raw::decompress_len(&self.compressed).map_err(damaged)?;
        if length > MAX_BLOCK {
            return Err(invalid(format!(
                "a snappy block of {length} bytes, expected at most {MAX_BLOCK}"
            )));
        }
        self.block.used = 0;
        self.block.bytes.resize(length, 0);
        self.decoder.decompress(&self.compressed, &mut self.block.bytes).map_err(damaged)?;
        Ok(())
    }
}

impl<R: Read> Read for SnappyReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.block.is_used_up() && !self.next_block()? {
            return Ok(0);
        }
        Ok(self.block.take(out))
    }
}
