//! Streams built here by the rules of each framing; real ones come with the fixtures.

use proptest::prelude::*;

use super::*;

fn lz4_stream(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for chunk in text.chunks(32 << 10) {
        let packed = lz4_flex::block::compress(chunk);
        let (method, body) =
            if packed.len() < chunk.len() { (0x25, packed.as_slice()) } else { (0x15, chunk) };
        out.extend_from_slice(b"LZ4Block");
        out.push(method);
        out.extend_from_slice(&u32::try_from(body.len()).unwrap().to_le_bytes());
        out.extend_from_slice(&u32::try_from(chunk.len()).unwrap().to_le_bytes());
        let sum = xxhash_rust::xxh32::xxh32(chunk, 0x9747_b28c) & 0x0fff_ffff;
        out.extend_from_slice(&sum.to_le_bytes());
        out.extend_from_slice(body);
    }
    out.extend_from_slice(b"LZ4Block\x15");
    out.extend_from_slice(&[0; 12]);
    out
}

fn snappy_stream(text: &[u8]) -> Vec<u8> {
    let mut out = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01".to_vec();
    for chunk in text.chunks(32 << 10) {
        let packed = snap::raw::Encoder::new().compress_vec(chunk).unwrap();
        out.extend_from_slice(&u32::try_from(packed.len()).unwrap().to_be_bytes());
        out.extend_from_slice(&packed);
    }
    out
}

fn lzf_stream(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for chunk in text.chunks(60_000) {
        let length = u16::try_from(chunk.len()).unwrap().to_be_bytes();
        match lzf::compress(chunk) {
            Ok(packed) if packed.len() < chunk.len() => {
                out.extend_from_slice(b"ZV\x01");
                out.extend_from_slice(&u16::try_from(packed.len()).unwrap().to_be_bytes());
                out.extend_from_slice(&length);
                out.extend_from_slice(&packed);
            }
            _ => {
                out.extend_from_slice(b"ZV\x00");
                out.extend_from_slice(&length);
                out.extend_from_slice(chunk);
            }
        }
    }
    out
}

fn read(stream: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    decompress(stream)?.read_to_end(&mut out)?;
    Ok(out)
}

fn sample() -> Vec<u8> {
    (0..200_000_u32).flat_map(|n| (n / 7).wrapping_mul(n).to_le_bytes()).collect()
}

#[test]
fn every_codec_gives_back_what_was_written() {
    let text = sample();
    assert_eq!(read(&lz4_stream(&text)).unwrap(), text);
    assert_eq!(read(&snappy_stream(&text)).unwrap(), text);
    assert_eq!(read(&lzf_stream(&text)).unwrap(), text);
    assert_eq!(read(&zstd::encode_all(text.as_slice(), 1).unwrap()).unwrap(), text);
}

#[test]
fn concatenated_streams_are_read_to_the_end() {
    let twice = |stream: Vec<u8>| read(&[stream.clone(), stream].concat()).unwrap();
    assert_eq!(twice(lz4_stream(b"abc")), b"abcabc");
    assert_eq!(twice(snappy_stream(b"abc")), b"abcabc");
    assert_eq!(twice(lzf_stream(b"abc")), b"abcabc");
    assert_eq!(twice(zstd::encode_all(&b"abc"[..], 1).unwrap()), b"abcabc");
}

#[test]
fn a_cut_stream_is_an_error_not_a_short_result() {
    let text = sample();
    for stream in [
        lz4_stream(&text),
        snappy_stream(&text),
        lzf_stream(&text),
        zstd::encode_all(text.as_slice(), 1).unwrap(),
    ] {
        let cut = stream.len() / 2 + 3;
        assert!(read(&stream[..cut]).is_err());
    }
}

#[test]
fn a_flipped_byte_in_an_lz4_block_is_noticed() {
    let mut stream = lz4_stream(&sample());
    let middle = stream.len() / 2;
    stream[middle] ^= 0x40;
    assert!(read(&stream).is_err());
}

#[test]
fn lengths_are_checked_before_memory_is_taken() {
    let mut stream = lz4_stream(b"abc");
    stream[9..13].copy_from_slice(&i32::MAX.to_le_bytes());
    assert_eq!(read(&stream).unwrap_err().kind(), io::ErrorKind::InvalidData);
    let mut stream = snappy_stream(b"abc");
    stream[16..20].copy_from_slice(&(-5_i32).to_be_bytes());
    assert_eq!(read(&stream).unwrap_err().kind(), io::ErrorKind::InvalidData);
}

#[test]
fn empty_and_unknown_inputs_are_named() {
    assert_eq!(read(b"").unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    assert!(read(b"PK\x03\x04").unwrap_err().to_string().contains("504b0304"));
}

/// What an unpacker makes of `stream` cut into pieces of `size`, and whether it waits for more.
fn unpack(stream: &[u8], size: usize) -> (Vec<u8>, io::Result<()>, bool) {
    let (mut unpacker, mut out) = (Unpacker::new(), Vec::new());
    let fed = stream
        .chunks(size)
        .try_for_each(|piece| unpacker.feed(piece, &mut |bytes| out.extend_from_slice(bytes)));
    (out, fed, unpacker.is_unfinished())
}

#[test]
fn pieces_of_any_size_give_the_whole() {
    let text = sample();
    for stream in [
        lz4_stream(&text),
        snappy_stream(&text),
        lzf_stream(&text),
        zstd::encode_all(text.as_slice(), 1).unwrap(),
        [
            zstd::encode_all(&text[..70_000], 1).unwrap(),
            zstd::encode_all(&text[70_000..], 1).unwrap(),
        ]
        .concat(),
        text.clone(),
    ] {
        for size in [1, 7, 4096, 1 << 20] {
            let (out, fed, unfinished) = unpack(&stream, size);
            fed.unwrap();
            assert!(out == text && !unfinished, "pieces of {size}");
        }
    }
}

#[test]
fn what_a_cut_stream_has_is_handed_out_and_the_rest_waited_for() {
    let text = sample();
    for stream in [
        lz4_stream(&text),
        snappy_stream(&text),
        lzf_stream(&text),
        zstd::encode_all(text.as_slice(), 1).unwrap(),
    ] {
        let (out, fed, unfinished) = unpack(&stream[..stream.len() / 2 + 3], 1000);
        fed.unwrap();
        assert!(unfinished && text.starts_with(&out));
        assert!(out.len() > text.len() / 4, "{} of {}", out.len(), text.len());
    }
}

#[test]
fn a_damaged_stream_given_in_pieces_is_an_error_after_what_was_good() {
    let mut stream = lz4_stream(&sample());
    let middle = stream.len() / 2;
    stream[middle] ^= 0x40;
    let (out, fed, _) = unpack(&stream, 1000);
    assert!(fed.is_err() && sample().starts_with(&out) && !out.is_empty());
}

proptest! {
    #[test]
    fn no_input_panics(head in 0..4_usize, body in prop::collection::vec(any::<u8>(), 0..200)) {
        let magic: &[u8] = [lz4_block::MAGIC, snappy_java::MAGIC, lzf_chunks::MAGIC, &[0x28, 0xb5, 0x2f, 0xfd]][head];
        let _ = read(&[magic, &body].concat());
        let _ = read(&body);
        let _ = unpack(&[magic, &body].concat(), 13);
    }
}
