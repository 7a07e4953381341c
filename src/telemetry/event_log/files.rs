//! Which files make up the event logs in a directory, by the names that Spark gives them.
//!
//! ```text
//!  app-1, app-1.zstd, app-1_1.lz4             a finished log, of an attempt, compressed
//!  app-1.zstd.inprogress                      one that is being written
//!  eventlog_v2_app-1/                         a rolling log
//!    appstatus_app-1[.inprogress]             whether it is being written
//!    events_1_app-1.zstd, events_2_…          its files, in order
//!    events_2_app-1.zstd.compact              what the history server kept of the files up to 2
//! ```
//! Pure: from names to names. Must not read anything.

use crate::storage::{Entry, EntryKind};
use crate::units::UnixMillis;

/// The end of the name of a log that is being written.
const IN_PROGRESS: &str = ".inprogress";

/// The beginning of the name of a rolling log's directory.
const ROLLING: &str = "eventlog_v2_";

/// How a log lies on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// One file.
    Single,
    /// A directory of files.
    Rolling,
}

/// A log in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Its name, the same while it is written and when it is finished.
    pub(super) name: String,
    pub(super) layout: Layout,
    /// When it was last written, as far as the directory tells.
    pub(super) modified: Option<UnixMillis>,
}

/// A file of a rolling log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rolled {
    /// Its place, counted from 1.
    pub(super) index: u64,
    pub(super) name: String,
    pub(super) modified: Option<UnixMillis>,
    /// Whether it stands for all files up to its place.
    pub(super) compact: bool,
}

/// The layout of a log of this name and kind; `None` for what cannot be one.
pub(super) fn layout(name: &str, kind: EntryKind) -> Option<Layout> {
    match kind {
        EntryKind::Directory if name.starts_with(ROLLING) => Some(Layout::Rolling),
        EntryKind::File if !name.starts_with(['.', '_']) => Some(Layout::Single),
        _ => None,
    }
}

/// The name of a log without the mark of being written.
pub(super) fn final_name(name: &str) -> &str {
    name.strip_suffix(IN_PROGRESS).unwrap_or(name)
}

/// The name of a single log while it is written.
pub(super) fn growing_name(name: &str) -> String {
    format!("{name}{IN_PROGRESS}")
}

/// The logs of many applications in one directory, those written last at the end. A file may
/// turn out to be something else.
pub(super) fn logs(entries: &[Entry]) -> Vec<Found> {
    let found = |entry: &Entry| {
        let layout = layout(&entry.name, entry.kind)?;
        let name = final_name(&entry.name).to_owned();
        Some(Found { name, layout, modified: entry.modified })
    };
    let mut logs: Vec<Found> = entries.iter().filter_map(found).collect();
    // In the moment of the renaming both names may be there.
    logs.sort_by(|a, b| a.name.cmp(&b.name));
    logs.dedup_by(|a, b| a.name == b.name);
    logs.sort_by(|a, b| a.modified.cmp(&b.modified).then_with(|| a.name.cmp(&b.name)));
    logs
}

/// The files of a rolling log that are to be read, in order: the newest compact one instead of
/// all before it.
pub(super) fn rolled(entries: &[Entry]) -> Vec<Rolled> {
    let found = |entry: &Entry| {
        let (name, compact) = match entry.name.strip_suffix(".compact") {
            Some(name) => (name, true),
            None => (entry.name.as_str(), false),
        };
        let (index, _) = name.strip_prefix("events_")?.split_once('_')?;
        (entry.kind == EntryKind::File).then_some(())?;
        Some(Rolled {
            index: index.parse().ok()?,
            name: entry.name.clone(),
            modified: entry.modified,
            compact,
        })
    };
    let mut files: Vec<Rolled> = entries.iter().filter_map(found).collect();
    files.sort_by_key(|file| (file.index, !file.compact));
    let start = files.iter().rfind(|file| file.compact).map_or(0, |file| file.index);
    files.retain(|file| file.index > start || (file.index == start && file.compact));
    files
}

/// Whether a rolling log is finished, by its status file; `false` while there is none.
pub(super) fn is_finished(entries: &[Entry]) -> bool {
    let status = |entry: &&Entry| entry.name.starts_with("appstatus_");
    entries.iter().filter(status).any(|entry| !entry.name.ends_with(IN_PROGRESS))
}

/// Whether a directory with these entries is itself a rolling log, whatever its name.
pub(super) fn is_rolling(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| entry.name.starts_with("appstatus_")) || !rolled(entries).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    fn entry(name: &str, kind: EntryKind, modified: i64) -> Entry {
        Entry { name: name.to_owned(), kind, bytes: Bytes(1), modified: Some(UnixMillis(modified)) }
    }

    fn files(names: &[&str]) -> Vec<Entry> {
        names.iter().map(|name| entry(name, EntryKind::File, 1)).collect()
    }

    fn indices(names: &[&str]) -> Vec<(u64, bool)> {
        rolled(&files(names)).into_iter().map(|file| (file.index, file.compact)).collect()
    }

    #[test]
    fn logs_are_found_by_their_names_last_written_last() {
        let entries = [
            entry("app-2.zstd.inprogress", EntryKind::File, 30),
            entry("eventlog_v2_app-1", EntryKind::Directory, 20),
            entry("app-0_1", EntryKind::File, 10),
            entry(".app-0_1.crc", EntryKind::File, 10),
            entry("other", EntryKind::Directory, 10),
            entry("pipe", EntryKind::Other, 10),
        ];
        let found: Vec<(String, Layout)> =
            logs(&entries).into_iter().map(|log| (log.name, log.layout)).collect();
        let expected = [
            ("app-0_1", Layout::Single),
            ("eventlog_v2_app-1", Layout::Rolling),
            ("app-2.zstd", Layout::Single),
        ];
        assert_eq!(found, expected.map(|(name, layout)| (name.to_owned(), layout)));
    }

    #[test]
    fn a_log_that_is_just_renamed_is_one() {
        assert_eq!(logs(&files(&["a", "a.inprogress"])).len(), 1);
        assert_eq!(growing_name(final_name("a.zstd.inprogress")), "a.zstd.inprogress");
    }

    #[test]
    fn rolled_files_come_in_the_order_of_their_numbers() {
        let names = ["appstatus_a", "events_10_a.zstd", "events_9_a.zstd", "events_x_a", "x"];
        assert_eq!(indices(&names), [(9, false), (10, false)]);
    }

    #[test]
    fn a_compact_file_stands_for_all_before_it() {
        let names = [
            "events_1_a",
            "events_2_a",
            "events_2_a.compact",
            "events_3_a",
            "events_3_a.compact",
            "events_4_a",
        ];
        assert_eq!(indices(&names), [(3, true), (4, false)]);
    }

    #[test]
    fn the_status_tells_whether_a_rolling_log_is_finished() {
        assert!(is_finished(&files(&["appstatus_a"])));
        assert!(!is_finished(&files(&["appstatus_a.inprogress"])));
        assert!(!is_finished(&files(&["events_1_a"])));
        assert!(is_rolling(&files(&["events_1_a"])) && !is_rolling(&files(&["app-1"])));
    }
}
