//! compress-lzf's chunk framing.
//!
//! Chunks of `ZV`, a type byte, a big-endian 16-bit length of the payload, for compressed
//! chunks another of the original, and the payload. The stream ends with the input.

use std::io::{self, Read};

use super::{Block, cut, invalid, read_block, read_up_to};

/// The first bytes of every chunk.
pub(super) const MAGIC: &[u8] = b"ZV";

const TYPE_STORED: u8 = 0;
const TYPE_COMPRESSED: u8 = 1;

/// Decodes a stream of LZF chunks.
#[derive(Debug)]
pub struct LzfReader<R> {
    input: R,
    compressed: Vec<u8>,
    block: Block,
}

/// How long the chunk that starts `bytes` is with its header; `None` when they are too few to
/// tell.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] when they are no chunk.
pub(super) fn block_size(bytes: &[u8]) -> io::Result<Option<usize>> {
    let Some([z, v, kind, l0, l1]) = bytes.first_chunk::<5>() else {
        return Ok(None);
    };
    if [*z, *v] != *MAGIC {
        return Err(invalid("a chunk does not start with ZV"));
    }
    let length = usize::from(u16::from_be_bytes([*l0, *l1]));
    match *kind {
        TYPE_STORED => Ok(Some(5 + length)),
        TYPE_COMPRESSED => Ok(Some(7 + length)),
        kind => Err(invalid(format!("unknown LZF chunk type {kind}"))),
    }
}

impl<R: Read> LzfReader<R> {
    /// A reader that starts at the first chunk of `input`.
    pub fn new(input: R) -> Self {
        Self { input, compressed: Vec::new(), block: Block::default() }
    }

    fn next_block(&mut self) -> io::Result<bool> {
        loop {
            let mut header = [0_u8; 5];
            match read_up_to(&mut self.input, &mut header)? {
                0 => return Ok(false),
                5 => {}
                read => return Err(cut("5 bytes of an LZF chunk header", read)),
            }
            let [z, v, kind, l0, l1] = header;
            if [z, v] != *MAGIC {
                return Err(invalid("a chunk does not start with ZV"));
            }
            let length = usize::from(u16::from_be_bytes([l0, l1]));
            self.block.used = 0;
            match kind {
                TYPE_STORED => read_block(&mut self.input, &mut self.block.bytes, length)?,
                TYPE_COMPRESSED => self.compressed_chunk(length)?,
                kind => return Err(invalid(format!("unknown LZF chunk type {kind}"))),
            }
            if !self.block.bytes.is_empty() {
                return Ok(true);
            }
        }
    }

    fn compressed_chunk(&mut self, length: usize) -> io::Result<()> {
        let mut original = [0_u8; 2];
        let read = read_up_to(&mut self.input, &mut original)?;
        if read < original.len() {
            return Err(cut("2 bytes of an LZF chunk's original length", read));
        }
        let original = usize::from(u16::from_be_bytes(original));
        read_block(&mut self.input, &mut self.compressed, length)?;
        self.block.bytes = lzf::decompress(&self.compressed, original)
            .map_err(|error| invalid(format!("damaged LZF chunk: {error}")))?;
        if self.block.bytes.len() == original {
            Ok(())
        } else {
            Err(invalid(format!(
                "an LZF chunk holds {} bytes, its header says {original}",
                self.block.bytes.len()
            )))
        }
    }
}

impl<R: Read> Read for LzfReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.block.is_used_up() && !self.next_block()? {
            return Ok(0);
        }
        Ok(self.block.take(out))
    }
}
