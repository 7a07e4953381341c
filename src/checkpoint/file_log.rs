//! The log of a file source (`sources/<id>/`) or a file sink (`_spark_metadata/`): one text file
//! per batch, and now and then one `<N>.compact` that holds everything up to batch N.
//!
//! These logs grow with the number of files ever read, so lines are counted as they stream by.

use super::names;
use crate::storage::{Entry, EntryKind, Storage, StorageError};
use crate::task::{Cancel, Cancelled};
use crate::units::Bytes;

/// What a file log says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileLogSummary {
    /// The log's last batch at or below the one asked for. It counts on its own: not a batch of
    /// the query.
    pub last: Option<u64>,
    /// The compacted file that counting began with.
    pub compact: Option<u64>,
    /// Entries in all batches up to `last`; `None` when files are missing, unreadable or together
    /// larger than the limit.
    pub entries: Option<u64>,
}

/// Why a file log could not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum FileLogError {
    /// It cannot be listed or read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Given up at the caller's request.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// The files to count, from the listing of a log.
#[derive(Debug, Default, PartialEq, Eq)]
struct Parts {
    compact: Option<(u64, Bytes)>,
    plain: Vec<(u64, Bytes)>,
}

/// Counts the entries of the log in `dir` up to and including batch `upto` (all when `None`),
/// reading at most `limit` bytes.
///
/// # Errors
/// When the directory or one of its files cannot be read.
pub fn summarise(
    storage: &Storage,
    dir: &str,
    upto: Option<u64>,
    limit: Bytes,
    cancel: &Cancel,
) -> Result<FileLogSummary, FileLogError> {
    let parts = Parts::choose(&storage.list(dir)?, upto.unwrap_or(u64::MAX));
    let summary = FileLogSummary {
        last: parts.last(),
        compact: parts.compact.map(|(batch, _)| batch),
        entries: None,
    };
    let size: Bytes = parts.files().map(|(_, bytes)| bytes).sum();
    if !parts.is_complete() || size > limit {
        return Ok(summary);
    }
    let mut entries: u64 = 0;
    for (name, bytes) in parts.files() {
        let counted = count_entries(storage, &format!("{dir}/{name}"), bytes, cancel)?;
        let Some(counted) = counted else { return Ok(summary) };
        entries = entries.saturating_add(counted);
    }
    Ok(FileLogSummary { entries: Some(entries), ..summary })
}

impl Parts {
    /// The latest compacted file at or below `upto`, and the plain files after it.
    fn choose(entries: &[Entry], upto: u64) -> Self {
        let files = || entries.iter().filter(|entry| entry.kind == EntryKind::File);
        let compact = files().filter_map(|entry| {
            let batch = names::batch(entry.name.strip_suffix(".compact")?)?;
            (batch.0 <= upto).then_some((batch.0, entry.bytes))
        });
        let compact = compact.max_by_key(|(batch, _)| *batch);
        let after = compact.map_or(0, |(batch, _)| batch.saturating_add(1));
        let plain = files().filter_map(|entry| Some((names::batch(&entry.name)?.0, entry.bytes)));
        let mut plain: Vec<(u64, Bytes)> =
            plain.filter(|(batch, _)| (after..=upto).contains(batch)).collect();
        plain.sort_unstable();
        Self { compact, plain }
    }

    fn last(&self) -> Option<u64> {
        self.plain.last().or(self.compact.as_ref()).map(|(batch, _)| *batch)
    }

    /// Whether the plain files follow the compacted one (or the beginning) without a hole.
    fn is_complete(&self) -> bool {
        let first = self.compact.map_or(0, |(batch, _)| batch.saturating_add(1));
        self.last().is_some() && (first..).zip(&self.plain).all(|(id, (batch, _))| id == *batch)
    }

    fn files(&self) -> impl Iterator<Item = (String, Bytes)> + '_ {
        let compact =
            self.compact.iter().map(|(batch, bytes)| (format!("{batch}.compact"), *bytes));
        compact.chain(self.plain.iter().map(|(batch, bytes)| (batch.to_string(), *bytes)))
    }
}

/// The lines of a log file after its version line; `None` when that line is not `v1`.
fn count_entries(
    storage: &Storage,
    file: &str,
    bytes: Bytes,
    cancel: &Cancel,
) -> Result<Option<u64>, FileLogError> {
    const PIECE: u64 = 1 << 20;
    let mut newlines: u64 = 0;
    let mut last = b'\n';
    let mut offset: u64 = 0;
    while offset < bytes.0 {
        cancel.check()?;
        let length = PIECE.min(bytes.0 - offset);
        let piece = storage.read_range(file, offset, length)?;
        if offset == 0 && !is_version_1(&piece) {
            return Ok(None);
        }
        newlines += piece.iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
        last = piece.last().copied().unwrap_or(last);
        offset += length;
    }
    // The last line has no newline after it, and the first is the version.
    let lines = newlines + u64::from(last != b'\n');
    Ok(lines.checked_sub(1))
}

fn is_version_1(start: &[u8]) -> bool {
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.trim_ascii_end() == b"v1"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with the log `log/`, and the storage that serves it.
    fn log(files: &[(&str, &str)]) -> (tempfile::TempDir, Storage) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("log")).unwrap();
        for (name, content) in files {
            std::fs::write(dir.path().join("log").join(name), content).unwrap();
        }
        let storage = Storage::open(dir.path().to_str().unwrap()).unwrap();
        (dir, storage)
    }

    fn count(files: &[(&str, &str)], upto: Option<u64>, limit: u64) -> FileLogSummary {
        let (_dir, storage) = log(files);
        summarise(&storage, "log", upto, Bytes(limit), &Cancel::default()).unwrap()
    }

    #[test]
    fn a_compacted_file_stands_for_everything_before_it() {
        let files = [
            ("8", "v1\n{}"),
            ("9.compact", "v1\n{}\n{}\n{}\n{}"),
            ("10", "v1\n{}\n{}"),
            ("11", "v1"),
            (".11.crc", "x"),
        ];
        let all = count(&files, None, 1000);
        assert_eq!(all, FileLogSummary { last: Some(11), compact: Some(9), entries: Some(6) });
        assert_eq!(count(&files, Some(10), 1000).entries, Some(6));
        assert_eq!(count(&files, Some(9), 1000).entries, Some(4));
    }

    #[test]
    fn what_cannot_be_counted_is_unknown() {
        let files = [("0", "v1\n{}"), ("2", "v1\n{}")];
        assert_eq!(
            count(&files, None, 1000),
            FileLogSummary { last: Some(2), compact: None, entries: None }
        );
        assert_eq!(count(&[("0", "v1\n{}")], None, 4).entries, None);
        assert_eq!(count(&[("0", "v2\n{}")], None, 1000).entries, None);
        assert_eq!(count(&[("0", "")], None, 1000).entries, None);
        assert_eq!(count(&[], None, 1000), FileLogSummary::default());
    }
}
