//! The snapshot descriptor of a `RocksDB` store: `<V>.zip` and its `metadata` entry.
//!
//! Reading the metadata touches only the zip's directory and that one entry, so a count
//! of 10,000 partitions stays cheap on a disk and on an object store. Names found inside
//! are checked before they can become paths.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, Seek, SeekFrom};

use serde::Deserialize;
use zip::ZipArchive;

use crate::storage::Storage;
use crate::units::Bytes;

/// Newest version of the metadata entry that is understood.
const METADATA_VERSION: &str = "v1";
/// Largest metadata entry that is read: about 100,000 SST files.
const MAX_METADATA: u64 = 16 << 20;
/// Largest entry that is unpacked. Manifests are rewritten at 1 GiB by `RocksDB` itself and are a
/// few KiB in Spark's stores.
pub(super) const MAX_ENTRY: u64 = 1 << 30;
/// Local descriptors up to this size are read whole; Spark's have a few KiB.
const WHOLE: u64 = 256 << 10;
/// Bytes fetched at a time from a remote zip; most whole descriptors fit in one.
const REMOTE_BLOCK: u64 = 64 << 10;

/// What a snapshot says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotMetadata {
    /// Table files of the store.
    #[serde(default)]
    pub sst_files: Vec<SstFile>,
    /// Keys in non-internal families; -1 when not tracked.
    pub num_keys: i64,
    /// Keys in internal families (4.0+).
    #[serde(default)]
    pub num_internal_keys: Option<i64>,
    /// Family name to virtual id (4.0+); empty when the store has no families.
    #[serde(default)]
    pub column_family_mapping: BTreeMap<String, u16>,
    /// Family name to whether it is internal (4.0+).
    #[serde(default)]
    pub column_family_type_map: BTreeMap<String, bool>,
}

/// One table file, under its name in `SSTs/` and the one that the store knows it by.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SstFile {
    /// `000008.sst`
    pub local_file_name: String,
    /// `000008-<uuid>.sst`
    pub dfs_sst_file_name: String,
    /// Its size.
    pub size_bytes: u64,
}

impl SnapshotMetadata {
    /// Parses the metadata entry: a version line, then one JSON object.
    ///
    /// # Errors
    /// A sentence with what was expected and found.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(text).map_err(|_| "the metadata entry is not UTF-8")?;
        let (version, json) = text.split_once('\n').ok_or("the metadata entry is one line")?;
        if version.trim() != METADATA_VERSION {
            let version: String = version.chars().take(20).collect();
            return Err(format!("metadata version {version:?}, expected {METADATA_VERSION:?}"));
        }
        let metadata: Self = serde_json::from_str(json)
            .map_err(|error| format!("the metadata entry is not as expected: {error}"))?;
        metadata.check_names()?;
        Ok(metadata)
    }

    /// The tracked number of keys of non-internal families, or `None` when not tracked.
    pub fn keys(&self) -> Option<u64> {
        u64::try_from(self.num_keys).ok()
    }

    /// Size of the table files.
    pub fn sst_bytes(&self) -> Bytes {
        self.sst_files.iter().map(|file| Bytes(file.size_bytes)).sum()
    }

    fn check_names(&self) -> Result<(), String> {
        let good = |name: &str| is_plain_name(name) && name.strip_suffix(".sst").is_some();
        self.sst_files
            .iter()
            .flat_map(|file| [&file.local_file_name, &file.dfs_sst_file_name])
            .find(|name| !good(name))
            .map_or(Ok(()), |name| Err(format!("{name:?} is no name of an SST file")))
    }
}

/// Whether a name has only letters, digits, dashes and single dots inside: nothing that
/// could leave a directory or upset a terminal.
pub(super) fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && name.len() <= 255
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Opens the zip at `path` of the checkpoint, through the file system or ranged reads.
///
/// # Errors
/// A sentence saying what is wrong with the zip, or why it cannot be read.
pub fn open_zip(storage: &Storage, path: &str) -> Result<ZipArchive<ZipSource>, String> {
    let source = ZipSource::open(storage, path)?;
    ZipArchive::new(source).map_err(|error| format!("it is no readable zip archive: {error}"))
}

/// Reads every entry of a descriptor to its end, where its checksum is compared.
///
/// # Errors
/// A sentence saying which entry is damaged, and how.
pub fn check_entries(zip: &mut ZipArchive<ZipSource>) -> Result<(), String> {
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).map_err(|error| format!("a damaged entry: {error}"))?;
        let name = match entry.name() {
            Ok(name) if is_plain_name(&name) => format!("entry `{name}`"),
            _ => format!("entry {index}"),
        };
        let read = io::copy(&mut entry.by_ref().take(MAX_ENTRY), &mut io::sink())
            .map_err(|error| format!("{name} is damaged: {error}"))?;
        if read == MAX_ENTRY {
            return Err(format!("{name} is larger than {MAX_ENTRY} bytes"));
        }
    }
    Ok(())
}

/// Reads the `metadata` entry of an opened snapshot.
///
/// # Errors
/// A sentence saying what is wrong with it.
pub fn read_metadata(zip: &mut ZipArchive<ZipSource>) -> Result<SnapshotMetadata, String> {
    let entry = zip.by_name("metadata").map_err(|error| format!("entry `metadata`: {error}"))?;
    if entry.size() > MAX_METADATA {
        return Err(format!(
            "entry `metadata` has {} bytes, expected at most {MAX_METADATA}",
            entry.size()
        ));
    }
    let mut text = Vec::new();
    entry
        .take(MAX_METADATA)
        .read_to_end(&mut text)
        .map_err(|error| format!("entry `metadata` is damaged: {error}"))?;
    SnapshotMetadata::parse(&text)
}

/// The bytes of a zip: a local file, or blocks of a remote object fetched when asked for.
#[derive(Debug)]
pub enum ZipSource {
    /// A small local file, read with one call: a zip is read in many small pieces.
    Memory(Cursor<Vec<u8>>),
    /// A large local file.
    Local(std::fs::File),
    /// An object read by ranges.
    Remote(RemoteFile),
}

impl ZipSource {
    fn open(storage: &Storage, path: &str) -> Result<Self, String> {
        if let Some(mut file) = storage.open_local(path).map_err(|error| error.to_string())? {
            let length = file.metadata().map_err(|error| error.to_string())?.len();
            if length > WHOLE {
                return Ok(Self::Local(file));
            }
            let mut bytes = Vec::new();
            (&mut file).take(WHOLE).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
            return Ok(Self::Memory(Cursor::new(bytes)));
        }
        let length = storage.stat(path).map_err(|error| error.to_string())?.bytes.0;
        Ok(Self::Remote(RemoteFile {
            storage: storage.clone(),
            path: path.to_owned(),
            length,
            position: 0,
            block: Vec::new(),
            block_start: 0,
        }))
    }
}

impl Read for ZipSource {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Memory(bytes) => bytes.read(out),
            Self::Local(file) => file.read(out),
            Self::Remote(file) => file.read(out),
        }
    }
}

impl Seek for ZipSource {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Memory(bytes) => bytes.seek(to),
            Self::Local(file) => file.seek(to),
            Self::Remote(file) => file.seek(to),
        }
    }
}

/// A remote object with one block of it in memory.
#[derive(Debug)]
pub struct RemoteFile {
    storage: Storage,
    path: String,
    length: u64,
    position: u64,
    block: Vec<u8>,
    block_start: u64,
}

impl RemoteFile {
    /// The fetched bytes at the position, empty when it lies outside the block.
    fn available(&self) -> &[u8] {
        self.position
            .checked_sub(self.block_start)
            .and_then(|offset| usize::try_from(offset).ok())
            .and_then(|offset| self.block.get(offset..))
            .unwrap_or_default()
    }

    /// Fetches the block around the position. Blocks end at multiples counted from the
    /// end of the object, since a zip is read from its end.
    fn fetch(&mut self) -> io::Result<()> {
        let from_end = (self.length - self.position).div_ceil(REMOTE_BLOCK) * REMOTE_BLOCK;
        self.block_start = self.length.saturating_sub(from_end);
        let length = REMOTE_BLOCK.min(self.length - self.block_start);
        self.block = self
            .storage
            .read_range(&self.path, self.block_start, length)
            .map_err(|error| io::Error::other(error.to_string()))?;
        Ok(())
    }
}

impl Read for RemoteFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.length || out.is_empty() {
            return Ok(0);
        }
        if self.available().is_empty() {
            self.fetch()?;
        }
        let count = {
            let from = self.available();
            let count = from.len().min(out.len());
            if let (Some(to), Some(from)) = (out.get_mut(..count), from.get(..count)) {
                to.copy_from_slice(from);
            }
            count
        };
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for RemoteFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => self.length.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = target.ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "seek before the start of the object")
        })?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_of_3_5_has_no_families() {
        let text = b"v1\n{\"sstFiles\":[{\"localFileName\":\"000008.sst\",\"dfsSstFileName\":\"000008-9f1d2c3b-0000-4000-8000-000000000001.sst\",\"sizeBytes\":14638}],\"numKeys\":12}";
        let metadata = SnapshotMetadata::parse(text).unwrap();
        assert_eq!(metadata.keys(), Some(12));
        assert_eq!(metadata.sst_bytes(), Bytes(14638));
        assert!(metadata.column_family_mapping.is_empty());
    }

    #[test]
    fn untracked_counts_are_unknown() {
        let metadata = SnapshotMetadata::parse(b"v1\n{\"sstFiles\":[],\"numKeys\":-1}").unwrap();
        assert_eq!(metadata.keys(), None);
    }

    #[test]
    fn names_that_leave_the_directory_are_refused() {
        for name in ["../../etc/passwd.sst", "/x.sst", "a\u{1b}[31m.sst", ".sst", "000001.txt"] {
            let text = format!(
                "v1\n{{\"sstFiles\":[{{\"localFileName\":\"000008.sst\",\"dfsSstFileName\":{},\"sizeBytes\":1}}],\"numKeys\":1}}",
                serde_json::Value::from(name)
            );
            assert!(SnapshotMetadata::parse(text.as_bytes()).is_err(), "{name}");
        }
    }

    #[test]
    fn other_versions_are_refused() {
        assert!(SnapshotMetadata::parse(b"v2\n{}").unwrap_err().contains("v2"));
        assert!(SnapshotMetadata::parse(b"").is_err());
    }
}
