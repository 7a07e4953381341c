//! Names of the files in one store's directory, and which of them make up a version.
//!
//! Pure but for one callback that reads the lineage of a changelog (state checkpoint
//! format 2). Does not open anything itself.

use std::collections::BTreeMap;

use super::rocks::changelog::LineageEntry;
use crate::units::StateVersion;

/// The kinds of data files of both providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// `RocksDB` snapshot descriptor, `<V>[_<id>].zip`.
    Zip,
    /// `RocksDB` changes from V-1 to V, `<V>[_<id>].changelog`.
    Changelog,
    /// HDFS-backed full map at V, `<V>.snapshot`.
    Snapshot,
    /// HDFS-backed changes from V-1 to V, `<V>.delta`.
    Delta,
}

impl FileKind {
    fn extension(self) -> &'static str {
        match self {
            Self::Zip => "zip",
            Self::Changelog => "changelog",
            Self::Snapshot => "snapshot",
            Self::Delta => "delta",
        }
    }

    fn of(extension: &str) -> Option<Self> {
        [Self::Zip, Self::Changelog, Self::Snapshot, Self::Delta]
            .into_iter()
            .find(|kind| kind.extension() == extension)
    }
}

/// One data file, by what its name says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataFile {
    /// The state version it belongs to.
    pub version: StateVersion,
    /// The unique id, in state checkpoint format 2.
    pub id: Option<String>,
    /// What it holds.
    pub kind: FileKind,
}

impl DataFile {
    /// Parses a file name; `None` for anything that is not a data file.
    pub fn parse(name: &str) -> Option<Self> {
        let (stem, extension) = name.rsplit_once('.')?;
        let kind = FileKind::of(extension)?;
        let (version, id) = match stem.split_once('_') {
            None => (stem, None),
            Some((version, id)) => (version, Some(id)),
        };
        let digits = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
        let id_fits = id.is_none_or(is_unique_id);
        (digits && id_fits).then_some(())?;
        Some(Self { version: StateVersion(version.parse().ok()?), id: id.map(str::to_owned), kind })
    }

    /// Parses the last part of a path.
    pub fn of_path(path: &str) -> Option<Self> {
        Self::parse(path.rsplit('/').next()?)
    }

    /// The file's name in the store directory.
    pub fn name(&self) -> String {
        let Self { version, id, kind } = self;
        match id {
            Some(id) => format!("{version}_{id}.{}", kind.extension()),
            None => format!("{version}.{}", kind.extension()),
        }
    }
}

/// Whether `id` can be a checkpoint unique id: letters, digits and dashes only, so that a
/// name made from it cannot leave its directory.
pub fn is_unique_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// The version wanted of one store in one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The version.
    pub version: StateVersion,
    /// Its unique id as the commit log names it; `None` in state checkpoint format 1.
    pub id: Option<String>,
}

/// The files that make up a version: load the snapshot, then replay the logs in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The snapshot to start from; `None` to start from the empty store.
    pub snapshot: Option<DataFile>,
    /// Changelogs or deltas to replay, ascending.
    pub logs: Vec<DataFile>,
}

/// Why no set of files makes up the version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectError {
    /// The file that should hold a version is not there, and no newer snapshot replaces it.
    Missing(DataFile),
    /// A changelog whose lineage is needed cannot be read.
    Lineage(DataFile, String),
    /// There is no (further) way to put the version together.
    Exhausted,
}

/// The `skip`-th best way to put `target` together out of `files`: the newest snapshot at
/// or below it first, older ones (and the empty store last) as long as every log above is there.
///
/// # Errors
/// [`SelectError`], naming the file whose absence ends the search.
pub fn select(
    files: &[DataFile],
    target: &Target,
    kinds: (FileKind, FileKind),
    skip: usize,
    lineage_of: impl Fn(&DataFile) -> Result<Vec<LineageEntry>, String>,
) -> Result<Plan, SelectError> {
    if target.version.0 == 0 {
        return if skip == 0 {
            Ok(Plan { snapshot: None, logs: Vec::new() })
        } else {
            Err(SelectError::Exhausted)
        };
    }
    match &target.id {
        None => by_version(files, target.version, kinds, skip),
        Some(id) => by_lineage(files, target.version, id, kinds, skip, lineage_of),
    }
}

/// State checkpoint format 1: files are named by version alone.
fn by_version(
    files: &[DataFile],
    version: StateVersion,
    (snapshot_kind, log_kind): (FileKind, FileKind),
    mut skip: usize,
) -> Result<Plan, SelectError> {
    let has = |version: u64, kind| {
        let file = DataFile { version: StateVersion(version), id: None, kind };
        files.binary_search(&file).is_ok().then_some(file)
    };
    let mut logs = Vec::new();
    let mut found_any = false;
    for at in (0..=version.0).rev() {
        let snapshot = has(at, snapshot_kind);
        if at == 0 || snapshot.is_some() {
            if skip == 0 {
                logs.reverse();
                return Ok(Plan { snapshot, logs });
            }
            skip -= 1;
            found_any = true;
        }
        if at == 0 {
            break;
        }
        match has(at, log_kind) {
            Some(log) => logs.push(log),
            None if found_any => break,
            None => {
                return Err(SelectError::Missing(DataFile {
                    version: StateVersion(at),
                    id: None,
                    kind: if has_logs(files, log_kind) { log_kind } else { snapshot_kind },
                }));
            }
        }
    }
    Err(SelectError::Exhausted)
}

fn has_logs(files: &[DataFile], log_kind: FileKind) -> bool {
    files.iter().any(|file| file.kind == log_kind)
}

/// State checkpoint format 2: the commit names the newest file, each changelog its ancestors.
fn by_lineage(
    files: &[DataFile],
    version: StateVersion,
    id: &str,
    (snapshot_kind, log_kind): (FileKind, FileKind),
    mut skip: usize,
    lineage_of: impl Fn(&DataFile) -> Result<Vec<LineageEntry>, String>,
) -> Result<Plan, SelectError> {
    let file = |version: u64, id: &str, kind| DataFile {
        version: StateVersion(version),
        id: Some(id.to_owned()),
        kind,
    };
    let present = |file: &DataFile| files.binary_search(file).is_ok();

    // Ancestors known so far, by version; grows when the oldest one's changelog is read.
    let mut known: BTreeMap<u64, String> = BTreeMap::from([(version.0, id.to_owned())]);
    let mut logs = Vec::new();
    let mut found_any = false;
    let mut at = version.0;
    loop {
        if at == 0 {
            // Every version down to the first has a changelog: start from the empty store.
            return if skip == 0 {
                logs.reverse();
                Ok(Plan { snapshot: None, logs })
            } else {
                Err(SelectError::Exhausted)
            };
        }
        let Some(id) = known.get(&at).cloned() else { return Err(SelectError::Exhausted) };
        let snapshot = file(at, &id, snapshot_kind);
        if present(&snapshot) {
            if skip == 0 {
                logs.reverse();
                return Ok(Plan { snapshot: Some(snapshot), logs });
            }
            skip -= 1;
            found_any = true;
        }
        let log = file(at, &id, log_kind);
        if !present(&log) {
            return Err(if found_any {
                SelectError::Exhausted
            } else {
                SelectError::Missing(if has_logs(files, log_kind) { log } else { snapshot })
            });
        }
        if at > 1 && !known.contains_key(&(at - 1)) {
            let lineage =
                lineage_of(&log).map_err(|reason| SelectError::Lineage(log.clone(), reason))?;
            known.extend(
                lineage
                    .into_iter()
                    .filter(|entry| is_unique_id(&entry.checkpoint_unique_id))
                    .map(|entry| (entry.version, entry.checkpoint_unique_id)),
            );
            if !known.contains_key(&(at - 1)) {
                let reason = format!("it names no version {} before it", at - 1);
                return Err(SelectError::Lineage(log, reason));
            }
        }
        logs.push(log);
        at -= 1;
    }
}

/// The logs that led to `target`, newest first, as far back as each is there, whatever
/// snapshots lie between: what each batch changed. Ends early where a lineage is not readable.
pub fn history(
    files: &[DataFile],
    target: &Target,
    log_kind: FileKind,
    lineage_of: impl Fn(&DataFile) -> Result<Vec<LineageEntry>, String>,
) -> Vec<DataFile> {
    let mut ids: BTreeMap<u64, String> = BTreeMap::new();
    ids.extend(target.id.clone().map(|id| (target.version.0, id)));
    let mut logs = Vec::new();
    for at in (1..=target.version.0).rev() {
        let id = match &target.id {
            None => None,
            Some(_) => match ids.get(&at) {
                Some(id) => Some(id.clone()),
                None => break,
            },
        };
        let log = DataFile { version: StateVersion(at), id, kind: log_kind };
        if files.binary_search(&log).is_err() {
            break;
        }
        if target.id.is_some() && !ids.contains_key(&(at - 1)) {
            let lineage = lineage_of(&log).unwrap_or_default().into_iter();
            ids.extend(
                lineage
                    .filter(|entry| is_unique_id(&entry.checkpoint_unique_id))
                    .map(|entry| (entry.version, entry.checkpoint_unique_id)),
            );
        }
        logs.push(log);
    }
    logs
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROCKS: (FileKind, FileKind) = (FileKind::Zip, FileKind::Changelog);

    fn files(names: &[&str]) -> Vec<DataFile> {
        let mut files: Vec<_> = names.iter().filter_map(|name| DataFile::parse(name)).collect();
        files.sort();
        files
    }

    fn names(plan: &Plan) -> Vec<String> {
        plan.snapshot.iter().chain(&plan.logs).map(DataFile::name).collect()
    }

    fn plain(names: &[&str], version: u64, skip: usize) -> Result<Plan, SelectError> {
        let target = Target { version: StateVersion(version), id: None };
        select(&files(names), &target, ROCKS, skip, |_| Ok(Vec::new()))
    }

    #[test]
    fn only_whole_names_are_data_files() {
        for name in ["12.zip", "3_0a-b.changelog", "1.delta", "7.snapshot"] {
            assert_eq!(DataFile::parse(name).unwrap().name(), name);
        }
        for name in [
            ".12.zip.crc",
            "12.zip.crc",
            "x.zip",
            "1_a/b.zip",
            "1_.zip",
            "-1.zip",
            "1.tmp",
            "+1.zip",
        ] {
            assert_eq!(DataFile::parse(name), None, "{name}");
        }
    }

    #[test]
    fn the_newest_snapshot_and_the_changelogs_above_it() {
        let dir =
            ["1.zip", "1.changelog", "2.changelog", "3.changelog", "3.zip", "4.changelog", "9.zip"];
        assert_eq!(names(&plain(&dir, 4, 0).unwrap()), ["3.zip", "4.changelog"]);
        assert_eq!(names(&plain(&dir, 3, 0).unwrap()), ["3.zip"]);
        assert_eq!(
            names(&plain(&dir, 4, 1).unwrap()),
            ["1.zip", "2.changelog", "3.changelog", "4.changelog"]
        );
        assert_eq!(plain(&dir, 4, 2).unwrap().snapshot, None, "from the empty store");
        assert_eq!(plain(&dir, 4, 3), Err(SelectError::Exhausted));
    }

    #[test]
    fn a_gap_above_the_newest_snapshot_names_the_missing_file() {
        let missing = |dir: &[&str], version| match plain(dir, version, 0) {
            Err(SelectError::Missing(file)) => file.name(),
            other => panic!("{other:?}"),
        };
        assert_eq!(missing(&["1.zip", "2.changelog", "4.changelog"], 4), "3.changelog");
        assert_eq!(missing(&["1.zip", "2.zip"], 3), "3.zip", "no changelogs here at all");
        assert_eq!(missing(&[], 3), "3.zip");
    }

    #[test]
    fn a_gap_below_the_newest_snapshot_does_no_harm() {
        let dir = ["1.zip", "2.changelog", "4.changelog", "4.zip", "5.changelog"];
        assert_eq!(names(&plain(&dir, 5, 0).unwrap()), ["4.zip", "5.changelog"]);
        assert_eq!(plain(&dir, 5, 1), Err(SelectError::Exhausted));
    }

    #[test]
    fn version_zero_is_the_empty_store() {
        assert_eq!(names(&plain(&[], 0, 0).unwrap()), Vec::<String>::new());
    }

    #[test]
    fn lineage_picks_the_committed_ids_and_no_others() {
        let dir = files(&[
            "1_a.zip",
            "1_a.changelog",
            "2_b.changelog",
            "2_x.zip",
            "3_c.changelog",
            "3_y.changelog",
        ]);
        let entry =
            |version, id: &str| LineageEntry { version, checkpoint_unique_id: id.to_owned() };
        let lineage = |file: &DataFile| {
            Ok(match file.version.0 {
                3 => vec![entry(1, "a"), entry(2, "b")],
                _ => Vec::new(),
            })
        };
        let target = Target { version: StateVersion(3), id: Some("c".into()) };
        let plan = select(&dir, &target, ROCKS, 0, lineage).unwrap();
        assert_eq!(names(&plan), ["1_a.zip", "2_b.changelog", "3_c.changelog"]);
        let older = select(&dir, &target, ROCKS, 1, lineage).unwrap();
        assert_eq!(names(&older), ["1_a.changelog", "2_b.changelog", "3_c.changelog"]);
        let target = Target { version: StateVersion(3), id: Some("z".into()) };
        assert!(matches!(select(&dir, &target, ROCKS, 0, lineage), Err(SelectError::Missing(_))));
    }
}
