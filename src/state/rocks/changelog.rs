//! Records of a changelog, format v1 to v4, and of the HDFS provider's delta and snapshot
//! files, which have the body of v1.
//!
//! Integers are big-endian (Java's data streams). Works on decompressed bytes; knows
//! neither files nor what keys and values mean.

use std::io::{self, Read};

use serde::Deserialize;

use crate::units::StateVersion;

/// Longest key or value that is accepted. `RocksDB` itself stops at 4 GiB; a state row of
/// this size would not survive Spark's own task memory.
const MAX_PART: i32 = 256 << 20;
/// Keys and values up to this size are read into memory taken beforehand.
const SMALL_PART: usize = 64 << 10;
const END_OF_FILE: i32 = -1;
const DELETED: i32 = -1;

/// How the records of a file are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// No header, puts and deletes only (also HDFS files).
    V1,
    /// Typed records.
    V2,
    /// Lineage, then records as in v1.
    V3,
    /// Lineage, then typed records.
    V4,
}

impl Format {
    /// Whether keys begin with the id of a column family.
    pub fn has_families(self) -> bool {
        matches!(self, Self::V2 | Self::V4)
    }
}

/// One earlier version of a store with the id of the files that hold it (state checkpoint format 2).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineageEntry {
    /// The version.
    pub version: u64,
    /// The unique id in the file names of that version.
    pub checkpoint_unique_id: String,
}

impl LineageEntry {
    /// The version as a state version.
    pub fn state_version(&self) -> StateVersion {
        StateVersion(self.version)
    }
}

/// What one record does. Keys are raw store keys, family prefix included.
#[derive(Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// Sets a key.
    Put {
        /// The key.
        key: &'a [u8],
        /// Its new value.
        value: &'a [u8],
    },
    /// Removes a key. With row checksums the key follows 4 bytes of checksum; see [`Reader::record`].
    Delete {
        /// The key as stored in the file.
        key: &'a [u8],
    },
    /// Appends to a key's list.
    Merge {
        /// The key.
        key: &'a [u8],
        /// The elements to append.
        value: &'a [u8],
    },
    /// Removes all keys from `start` (inclusive) to `end` (exclusive).
    DeleteRange {
        /// First key removed.
        start: &'a [u8],
        /// First key kept, as stored in the file.
        end: &'a [u8],
    },
}

/// Reads the records of one file in order.
pub struct Reader<R> {
    input: R,
    format: Format,
    lineage: Vec<LineageEntry>,
    /// First bytes of a headerless body, read while looking for a header.
    pending: io::Cursor<Vec<u8>>,
    key: Vec<u8>,
    value: Vec<u8>,
    done: bool,
}

impl<R: Read> Reader<R> {
    /// A reader of a changelog, whose header (or its absence) tells the format.
    ///
    /// # Errors
    /// When the input ends early, names a version above v4 or holds a bad lineage.
    pub fn changelog(input: R) -> io::Result<Self> {
        let mut reader = Self::headerless(input);
        let mut head = [0_u8; 4];
        reader.exactly(&mut head, "the first 4 bytes")?;
        reader.format = match head {
            [0, 2, b'v', b'2'] => Format::V2,
            [0, 2, b'v', b'3'] => Format::V3,
            [0, 2, b'v', b'4'] => Format::V4,
            [0, 2, b'v', digit @ b'5'..=b'9'] => {
                return Err(invalid(format!(
                    "changelog format v{}, expected v4 or below",
                    char::from(digit)
                )));
            }
            _ => {
                reader.pending = io::Cursor::new(head.to_vec());
                Format::V1
            }
        };
        if matches!(reader.format, Format::V3 | Format::V4) {
            reader.lineage = reader.read_lineage()?;
        }
        Ok(reader)
    }

    /// A reader of records without any header: an HDFS delta or snapshot.
    pub fn headerless(input: R) -> Self {
        Self {
            input,
            format: Format::V1,
            lineage: Vec::new(),
            pending: io::Cursor::new(Vec::new()),
            key: Vec::new(),
            value: Vec::new(),
            done: false,
        }
    }

    /// The format found.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The versions before this one, back to the last uploaded snapshot, ascending; empty for v1 and v2.
    pub fn lineage(&self) -> &[LineageEntry] {
        &self.lineage
    }

    /// The next record, or `None` after the end mark.
    ///
    /// # Errors
    /// When the file ends without its end mark, a length is impossible or a record type unknown.
    pub fn record(&mut self) -> io::Result<Option<Record<'_>>> {
        if self.done {
            return Ok(None);
        }
        match self.format {
            Format::V1 | Format::V3 => self.next_plain(),
            Format::V2 | Format::V4 => self.next_typed(),
        }
    }

    fn next_plain(&mut self) -> io::Result<Option<Record<'_>>> {
        let length = self.int("a key length")?;
        if length == END_OF_FILE {
            self.done = true;
            return Ok(None);
        }
        self.read_key(length)?;
        match self.int("a value length")? {
            DELETED => Ok(Some(Record::Delete { key: &self.key })),
            length => {
                self.read_value(length)?;
                Ok(Some(Record::Put { key: &self.key, value: &self.value }))
            }
        }
    }

    fn next_typed(&mut self) -> io::Result<Option<Record<'_>>> {
        let mut kind = [0_u8; 1];
        self.exactly(&mut kind, "a record type")?;
        let [kind] = kind;
        if kind == 0x00 {
            self.done = true;
            return Ok(None);
        }
        if !matches!(kind, 0x01 | 0x10 | 0x11 | 0x20) {
            return Err(invalid(format!("unknown record type {kind:#04x}")));
        }
        let length = self.int("a key length")?;
        self.read_key(length)?;
        let length = self.int("a value length")?;
        if kind == 0x10 {
            return match length {
                DELETED => Ok(Some(Record::Delete { key: &self.key })),
                other => Err(invalid(format!("a delete with value length {other}, expected -1"))),
            };
        }
        self.read_value(length)?;
        Ok(Some(match kind {
            0x01 => Record::Put { key: &self.key, value: &self.value },
            0x11 => Record::Merge { key: &self.key, value: &self.value },
            _ => Record::DeleteRange { start: &self.key, end: &self.value },
        }))
    }

    fn read_lineage(&mut self) -> io::Result<Vec<LineageEntry>> {
        let mut length = [0_u8; 2];
        self.exactly(&mut length, "the length of the lineage")?;
        let mut text = vec![0_u8; usize::from(u16::from_be_bytes(length))];
        self.exactly(&mut text, "the lineage")?;
        serde_json::from_slice(&text).map_err(|error| invalid(format!("bad lineage: {error}")))
    }

    fn int(&mut self, what: &str) -> io::Result<i32> {
        let mut bytes = [0_u8; 4];
        self.exactly(&mut bytes, what)?;
        Ok(i32::from_be_bytes(bytes))
    }

    fn read_key(&mut self, length: i32) -> io::Result<()> {
        let mut key = std::mem::take(&mut self.key);
        let read = self.part(&mut key, length, "key");
        self.key = key;
        read
    }

    fn read_value(&mut self, length: i32) -> io::Result<()> {
        let mut value = std::mem::take(&mut self.value);
        let read = self.part(&mut value, length, "value");
        self.value = value;
        read
    }

    /// Reads `length` bytes into `buffer`, which grows only as bytes arrive.
    fn part(&mut self, buffer: &mut Vec<u8>, length: i32, what: &str) -> io::Result<()> {
        let wanted =
            usize::try_from(length).ok().filter(|_| length <= MAX_PART).ok_or_else(|| {
                invalid(format!("a {what} of {length} bytes, expected 0 to {MAX_PART}"))
            })?;
        buffer.clear();
        if wanted <= SMALL_PART {
            buffer.resize(wanted, 0);
            return self.exactly(buffer, what);
        }
        let read = Read::chain(&mut self.pending, &mut self.input)
            .take(wanted as u64)
            .read_to_end(buffer)?;
        if read == wanted { Ok(()) } else { Err(cut(&format!("a {what} of {wanted} bytes"))) }
    }

    fn exactly(&mut self, buffer: &mut [u8], what: &str) -> io::Result<()> {
        let read = if self.pending.position() < self.pending.get_ref().len() as u64 {
            Read::chain(&mut self.pending, &mut self.input).read_exact(buffer)
        } else {
            self.input.read_exact(buffer)
        };
        read.map_err(
            |error| {
                if error.kind() == io::ErrorKind::UnexpectedEof { cut(what) } else { error }
            },
        )
    }
}

impl<R> std::fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("format", &self.format).finish_non_exhaustive()
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

fn cut(expected: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        format!("the file ends without its end mark: expected {expected}"),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn part(bytes: &[u8]) -> Vec<u8> {
        [&u32::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat()
    }

    #[test]
    fn v1_puts_and_deletes() {
        let file = [part(b"k1"), part(b"v1"), part(b"k2"), vec![0xff; 4], vec![0xff; 4]].concat();
        let mut reader = Reader::changelog(file.as_slice()).unwrap();
        assert_eq!(reader.format(), Format::V1);
        assert_eq!(reader.record().unwrap(), Some(Record::Put { key: b"k1", value: b"v1" }));
        assert_eq!(reader.record().unwrap(), Some(Record::Delete { key: b"k2" }));
        assert_eq!(reader.record().unwrap(), None);
        assert_eq!(reader.record().unwrap(), None);
    }

    #[test]
    fn an_empty_v1_is_one_end_mark() {
        let mut reader = Reader::changelog(&[0xff_u8; 4][..]).unwrap();
        assert_eq!(reader.record().unwrap(), None);
    }

    #[test]
    fn v4_has_lineage_and_types() {
        let lineage = br#"[{"version":3,"checkpointUniqueId":"abc"}]"#;
        let mut file = b"\x00\x02v4".to_vec();
        file.extend(u16::try_from(lineage.len()).unwrap().to_be_bytes());
        file.extend(lineage);
        file.extend([vec![1], part(b"k"), part(b"v")].concat());
        file.extend([vec![0x11], part(b"k"), part(b"w")].concat());
        file.extend([vec![0x20], part(b"a"), part(b"b")].concat());
        file.extend([vec![0x10], part(b"k"), vec![0xff; 4]].concat());
        file.push(0);
        let mut reader = Reader::changelog(file.as_slice()).unwrap();
        assert_eq!(reader.format(), Format::V4);
        assert_eq!(reader.lineage()[0].state_version(), StateVersion(3));
        assert_eq!(reader.record().unwrap(), Some(Record::Put { key: b"k", value: b"v" }));
        assert_eq!(reader.record().unwrap(), Some(Record::Merge { key: b"k", value: b"w" }));
        assert_eq!(reader.record().unwrap(), Some(Record::DeleteRange { start: b"a", end: b"b" }));
        assert_eq!(reader.record().unwrap(), Some(Record::Delete { key: b"k" }));
        assert_eq!(reader.record().unwrap(), None);
    }

    #[test]
    fn a_file_without_end_mark_is_cut() {
        let file = [part(b"k1"), part(b"v1")].concat();
        let mut reader = Reader::changelog(file.as_slice()).unwrap();
        reader.record().unwrap();
        assert_eq!(reader.record().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn impossible_lengths_are_refused() {
        let mut reader = Reader::changelog(&[0x7f, 0xff, 0xff, 0xff, 1][..]).unwrap();
        assert_eq!(reader.record().unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    proptest! {
        #[test]
        fn no_input_panics(head in 0..5_usize, body in prop::collection::vec(any::<u8>(), 0..120)) {
            let head: &[u8] = [&b""[..], b"\x00\x02v2", b"\x00\x02v3", b"\x00\x02v4\x00\x02[]", b"\x00\x02v9"][head];
            let file = [head, &body].concat();
            if let Ok(mut reader) = Reader::changelog(file.as_slice()) {
                while let Ok(Some(_)) = reader.record() {}
            }
        }
    }
}
