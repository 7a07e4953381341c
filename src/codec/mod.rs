//! The compressed streams around changelogs, deltas, HDFS snapshots and event logs.
//!
//! A file carries no mark of its codec besides the first bytes of its own framing, which
//! are looked at here: the pinned conf is a claim, the bytes are the fact. Every reader
//! below decodes as it goes, one block at a time, with lengths checked before memory is
//! taken. [`Unpacker`] is for files that still grow: it is given bytes instead of asking for
//! them. Nothing here knows what the bytes mean.

mod lz4_block;
mod lzf_chunks;
mod snappy_java;
mod unpacker;

use std::fmt;
use std::io::{self, BufReader, Read};

pub use lz4_block::Lz4BlockReader;
pub use lzf_chunks::LzfReader;
pub use snappy_java::SnappyReader;
pub use unpacker::Unpacker;

/// Largest block or chunk that a reader accepts, compressed or not. Spark's codecs write
/// 32 or 64 KiB; the bound leaves room for any block size that could be configured.
const MAX_BLOCK: usize = 64 << 20;

/// Zstd frames may ask for a window of up to 2^n bytes; 27 is the library's own limit for
/// streams without the long-distance flag and bounds memory at 128 MiB.
const MAX_ZSTD_WINDOW_LOG: u32 = 27;

/// The first bytes of every zstd frame.
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// A stream codec, by the short names that Spark gives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Codec {
    /// lz4-java's `LZ4Block` stream, Spark's default. Not the LZ4 frame format.
    Lz4,
    /// Ordinary zstd frames.
    Zstd,
    /// snappy-java's stream of length-prefixed blocks.
    Snappy,
    /// compress-lzf's chunks.
    Lzf,
}

impl Codec {
    /// All of them.
    const ALL: [Self; 4] = [Self::Lz4, Self::Zstd, Self::Snappy, Self::Lzf];

    /// The codec whose framing starts with `head` (8 bytes suffice), or `None`.
    pub fn sniff(head: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|codec| head.starts_with(codec.magic()))
    }

    /// The first bytes of its framing.
    fn magic(self) -> &'static [u8] {
        match self {
            Self::Lz4 => lz4_block::MAGIC,
            Self::Zstd => ZSTD_MAGIC,
            Self::Snappy => snappy_java::MAGIC,
            Self::Lzf => lzf_chunks::MAGIC,
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
            Self::Snappy => "snappy",
            Self::Lzf => "lzf",
        })
    }
}

/// A reader of the decompressed bytes of `input`, whatever its codec.
///
/// # Errors
/// [`io::ErrorKind::UnexpectedEof`] for an empty input, [`io::ErrorKind::InvalidData`] when
/// the first bytes belong to no known codec. Later reads fail with `InvalidData` or
/// `UnexpectedEof` where the stream is damaged or cut.
pub fn decompress<'a>(input: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut input = BufReader::with_capacity(64 << 10, input);
    let mut head = [0_u8; 8];
    let length = read_up_to(&mut input, &mut head)?;
    let head = head.get(..length).unwrap_or_default();
    if head.is_empty() {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file is empty"));
    }
    let codec = Codec::sniff(head).ok_or_else(|| {
        invalid(format!("its first bytes {} are those of no known codec", hex(head)))
    })?;
    let input = io::Cursor::new(head.to_vec()).chain(input);
    Ok(match codec {
        Codec::Lz4 => Box::new(Lz4BlockReader::new(input)),
        Codec::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::new(input)?;
            decoder.window_log_max(MAX_ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
        Codec::Snappy => Box::new(SnappyReader::new(input)),
        Codec::Lzf => Box::new(LzfReader::new(input)),
    })
}

/// Reads until `buffer` is full or the input ends; returns how many bytes were read.
fn read_up_to(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match input.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Reads exactly `length` bytes into `buffer`, whose old content is dropped.
fn read_block(input: &mut impl Read, buffer: &mut Vec<u8>, length: usize) -> io::Result<()> {
    buffer.clear();
    let read = input.take(length as u64).read_to_end(buffer)?;
    if read == length { Ok(()) } else { Err(cut(&format!("{length} bytes of a block"), read)) }
}

/// A block length as found in a file, refused when negative or beyond [`MAX_BLOCK`].
fn block_length(found: i32, what: &str) -> io::Result<usize> {
    usize::try_from(found)
        .ok()
        .filter(|length| *length <= MAX_BLOCK)
        .ok_or_else(|| invalid(format!("{what} is {found}, expected 0 to {MAX_BLOCK}")))
}

fn invalid(message: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message.into())
}

fn cut(expected: &str, found: usize) -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        format!("the file ends early: expected {expected}, found {found} bytes"),
    )
}

fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A decoded block and how much of it has been handed out.
#[derive(Debug, Default)]
struct Block {
    bytes: Vec<u8>,
    used: usize,
}

impl Block {
    /// Copies what fits into `out`; 0 when the block is used up.
    fn take(&mut self, out: &mut [u8]) -> usize {
        let rest = self.bytes.get(self.used..).unwrap_or_default();
        let count = rest.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.used += count;
        count
    }

    fn is_used_up(&self) -> bool {
        self.used >= self.bytes.len()
    }
}

#[cfg(test)]
mod tests;
