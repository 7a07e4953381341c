//! Decoding a stream that comes in pieces: a file that still grows, or that is read in ranges.
//!
//! The readers beside this ask for bytes, and fail where there are none. Here bytes are given,
//! cut anywhere, and what they do not complete waits for the next ones. Only whole blocks are
//! decoded, so nothing is handed out that was not checked.

use std::io::{self, Read};

use zstd::stream::raw::{DParameter, Decoder, Operation};

use super::{
    Codec, Lz4BlockReader, LzfReader, MAX_ZSTD_WINDOW_LOG, SnappyReader, invalid, lz4_block,
    lzf_chunks, snappy_java,
};

/// Decoded bytes that are handed out at once.
const PIECE: usize = 128 << 10;

/// Decodes a stream of any [`Codec`], or of none, that comes in pieces.
#[derive(Debug, Default)]
pub struct Unpacker(State);

#[derive(Debug)]
enum State {
    /// Too few bytes came to tell the codec.
    Unknown(Vec<u8>),
    /// Not compressed.
    Plain,
    Zstd(Box<Frames>),
    Blocks(Blocks),
}

impl Default for State {
    fn default() -> Self {
        Self::Unknown(Vec::new())
    }
}

impl Unpacker {
    /// One that finds out the codec from the first bytes.
    pub fn new() -> Self {
        Self::default()
    }

    /// One for a stream that is known not to be compressed, whatever it begins with.
    pub fn plain() -> Self {
        Self(State::Plain)
    }

    /// Takes the next bytes of the stream and hands decoded ones to `out`, in several calls.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] where the stream is damaged. What came before has been
    /// handed out; nothing after it can be decoded.
    pub fn feed(&mut self, bytes: &[u8], out: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        match &mut self.0 {
            State::Plain => out(bytes),
            State::Zstd(frames) => return frames.feed(bytes, out),
            State::Blocks(blocks) => return blocks.feed(bytes, out),
            State::Unknown(head) => {
                head.extend_from_slice(bytes);
                let Some(state) = State::told_by(head)? else { return Ok(()) };
                let head = std::mem::take(head);
                self.0 = state;
                return self.feed(&head, out);
            }
        }
        Ok(())
    }

    /// The codec, once the first bytes have told it; `None` also for a stream without one.
    pub fn codec(&self) -> Option<Codec> {
        match &self.0 {
            State::Unknown(_) | State::Plain => None,
            State::Zstd(_) => Some(Codec::Zstd),
            State::Blocks(blocks) => Some(blocks.framing.codec()),
        }
    }

    /// Whether the stream is in the middle of a block or frame: where it ends here, it was cut
    /// or is still being written.
    pub fn is_unfinished(&self) -> bool {
        match &self.0 {
            State::Unknown(head) => !head.is_empty(),
            State::Plain => false,
            State::Zstd(frames) => frames.inside,
            State::Blocks(blocks) => !blocks.waiting.is_empty(),
        }
    }
}

impl State {
    /// The state for a stream that begins with `head`; `None` while it could still be one of
    /// several.
    fn told_by(head: &[u8]) -> io::Result<Option<Self>> {
        let blocks = |framing| Self::Blocks(Blocks { framing, waiting: Vec::new() });
        Ok(match Codec::sniff(head) {
            Some(Codec::Zstd) => Some(Self::Zstd(Box::new(Frames::new()?))),
            Some(Codec::Lz4) => Some(blocks(Framing::Lz4)),
            Some(Codec::Snappy) => Some(blocks(Framing::Snappy)),
            Some(Codec::Lzf) => Some(blocks(Framing::Lzf)),
            None if Codec::ALL.iter().any(|codec| codec.magic().starts_with(head)) => None,
            None => Some(Self::Plain),
        })
    }
}

/// Zstd frames, decoded as far as their blocks are there.
struct Frames {
    decoder: Decoder<'static>,
    decoded: Vec<u8>,
    inside: bool,
}

impl Frames {
    fn new() -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(MAX_ZSTD_WINDOW_LOG))?;
        Ok(Self { decoder, decoded: vec![0; PIECE], inside: false })
    }

    fn feed(&mut self, bytes: &[u8], out: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let mut rest = bytes;
        loop {
            let step = self.decoder.run_on_buffers(rest, &mut self.decoded)?;
            if step.bytes_read == 0 && step.bytes_written == 0 {
                return if rest.is_empty() { Ok(()) } else { Err(invalid("a zstd frame stalls")) };
            }
            self.inside = step.remaining != 0;
            rest = rest.get(step.bytes_read..).unwrap_or_default();
            out(self.decoded.get(..step.bytes_written).unwrap_or_default());
            if rest.is_empty() && step.bytes_written < PIECE {
                return Ok(());
            }
        }
    }
}

impl std::fmt::Debug for Frames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frames").field("inside", &self.inside).finish_non_exhaustive()
    }
}

/// A stream of blocks that tell their length.
#[derive(Debug)]
struct Blocks {
    framing: Framing,
    /// What begins a block and does not complete it.
    waiting: Vec<u8>,
}

/// How blocks are laid out.
#[derive(Debug, Clone, Copy)]
enum Framing {
    Lz4,
    Snappy,
    Lzf,
}

impl Blocks {
    fn feed(&mut self, bytes: &[u8], out: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        self.waiting.extend_from_slice(bytes);
        let mut rest = self.waiting.as_slice();
        let mut decoded = Vec::new();
        while let Some(size) = self.framing.block_size(rest)? {
            let Some((block, after)) = rest.split_at_checked(size) else { break };
            rest = after;
            decoded.clear();
            self.framing.decode(block, &mut decoded)?;
            out(&decoded);
        }
        let done = self.waiting.len() - rest.len();
        self.waiting.drain(..done);
        Ok(())
    }
}

impl Framing {
    fn codec(self) -> Codec {
        match self {
            Self::Lz4 => Codec::Lz4,
            Self::Snappy => Codec::Snappy,
            Self::Lzf => Codec::Lzf,
        }
    }

    /// How long the block that starts `bytes` is, header included; `None` when they are too few
    /// to tell.
    fn block_size(self, bytes: &[u8]) -> io::Result<Option<usize>> {
        match self {
            Self::Lz4 => lz4_block::block_size(bytes),
            Self::Snappy => snappy_java::block_size(bytes),
            Self::Lzf => lzf_chunks::block_size(bytes),
        }
    }

    /// Decodes one whole block with its header.
    fn decode(self, block: &[u8], decoded: &mut Vec<u8>) -> io::Result<usize> {
        match self {
            Self::Lz4 => Lz4BlockReader::new(block).read_to_end(decoded),
            Self::Snappy => SnappyReader::new(block).read_to_end(decoded),
            Self::Lzf => LzfReader::new(block).read_to_end(decoded),
        }
    }
}
