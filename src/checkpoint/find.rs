//! Which directories are checkpoints, and where to look for more, by names alone.
//!
//! Spark makes `metadata`, `offsets` and `commits` when a query first starts, so a directory that
//! has two of them (or a log and `state`) is a checkpoint, however little is left of it. One of
//! them alone is not enough: many systems have a directory or file of such a name. Pure.

use super::metadata::parse_query_id;
use super::root::{Part, Root};
use crate::storage::{EntryKind, Name};
use crate::units::Bytes;

/// The largest `metadata` that is read to find out whether a directory is a checkpoint; Spark's
/// is 45 bytes.
pub const MAX_METADATA_ALONE: Bytes = Bytes(1024);

/// What a directory is, by the names in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A checkpoint, or what is left of one.
    Checkpoint,
    /// A checkpoint if its file `metadata` names a query ([`names_a_query`]): object stores have
    /// no empty directories, so a query that has not planned a batch leaves nothing else there.
    Undecided,
    /// Something else.
    Other,
}

/// What the directory with these names is.
pub fn kind(names: &[Name]) -> Kind {
    let root = Root::of(names);
    let has = |part| root.has(part) || root.not_followed.iter().any(|name| name == dir_name(part));
    let logs = [Part::Offsets, Part::Commits].into_iter().filter(|part| has(*part)).count();
    let beside = [Part::Metadata, Part::State].into_iter().filter(|part| has(*part)).count();
    match (logs, beside) {
        (2, _) | (1, 1..) => Kind::Checkpoint,
        (0, _) if root.has(Part::Metadata) => Kind::Undecided,
        _ => Kind::Other,
    }
}

/// Whether a file `metadata` is the one of a checkpoint.
pub fn names_a_query(metadata: &[u8]) -> bool {
    parse_query_id(metadata).is_ok()
}

/// The directories among `names` that may hold checkpoints.
///
/// Left out are the parts of a checkpoint (`state` alone has a directory per partition), the logs
/// and the partitions of tables, and what tools keep for themselves (`.snapshot` holds older
/// copies of everything).
pub fn worth_a_look(kind: Kind, names: &[Name]) -> impl Iterator<Item = &str> {
    const NEVER: [&str; 11] = [
        "_delta_log",
        "_delta_index",
        "_change_data",
        "_spark_metadata",
        "_temporary",
        "SSTs",
        ".git",
        ".hoodie",
        ".snapshot",
        ".snapshots",
        ".Trash",
    ];
    let checkpoint = matches!(kind, Kind::Checkpoint);
    let table = names.iter().any(|name| {
        matches!(name.name.as_str(), "_delta_log" | "_spark_metadata" | ".hoodie" | "_SUCCESS")
    });
    names
        .iter()
        .filter(|name| name.kind == EntryKind::Directory)
        .map(|name| name.name.as_str())
        .filter(|name| !NEVER.contains(name))
        .filter(move |name| !(checkpoint && is_part(name)))
        // `date=2026-11-30`: a table has thousands of them, and nothing but data in them.
        .filter(move |name| !(table && name.contains('=')))
}

/// Whether a name in a checkpoint's directory is one of its own parts.
pub fn is_part(name: &str) -> bool {
    let parts = [Part::Metadata, Part::Offsets, Part::Commits, Part::State, Part::Sources];
    parts.into_iter().any(|part| dir_name(part) == name)
}

fn dir_name(part: Part) -> &'static str {
    match part {
        Part::Metadata => "metadata",
        Part::Offsets => "offsets",
        Part::Commits => "commits",
        Part::State => "state",
        Part::Sources => "sources",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<Name> {
        let name = |name: &&str| match name.split_at(name.len() - 1) {
            (name, "/") => Name { name: name.to_owned(), kind: EntryKind::Directory },
            (name, "@") => Name { name: name.to_owned(), kind: EntryKind::Other },
            _ => Name { name: (*name).to_owned(), kind: EntryKind::File },
        };
        names.iter().map(name).collect()
    }

    #[test]
    fn two_parts_make_a_checkpoint() {
        let kind = |list: &[&str]| kind(&names(list));
        for list in [
            &["commits/", "metadata", "offsets/", "sources/", "state/"][..],
            &["offsets/", "commits/"],
            &["offsets/", "metadata"],
            &["commits/", "metadata"],
            &["commits/", "state/"],
            // Broken, and all the more worth a line.
            &["offsets", "commits/", "metadata"],
            &["offsets@", "commits@"],
        ] {
            assert_eq!(kind(list), Kind::Checkpoint, "{list:?}");
        }
        for list in [
            &[][..],
            &["offsets/"],
            // What the repartition call leaves at a mistyped path.
            &["commits/"],
            &["state/"],
            &["offsets", "commits"],
            // A table, a file sink, a saved model, an Iceberg table, another Git.
            &["_delta_log/", "part-0.parquet"],
            &["_spark_metadata/", "part-0.json"],
            &["metadata/", "stages/"],
            &["metadata/", "data/"],
        ] {
            assert_eq!(kind(list), Kind::Other, "{list:?}");
        }
        assert_eq!(kind(&["metadata"]), Kind::Undecided);
        assert_eq!(kind(&["metadata", "state/"]), Kind::Undecided);
        assert!(names_a_query(b"{\"id\":\"2f8a9b10-3c4d-4e5f-8a9b-0c1d2e3f4a5b\"}"));
        assert!(!names_a_query(b"{\"version\": 3}") && !names_a_query(b""));
    }

    #[test]
    fn parts_and_tables_are_not_searched() {
        let look = |list: &[&str]| -> Vec<String> {
            let names = names(list);
            worth_a_look(kind(&names), &names).map(str::to_owned).collect()
        };
        assert_eq!(
            look(&["commits/", "metadata", "offsets/", "sources/", "state/", "other/"]),
            ["other"]
        );
        assert_eq!(look(&["state/", "team/", "sources/", "x@", "y"]), ["state", "team", "sources"]);
        let table = ["_delta_log/", "_checkpoints/", "date=2026-11-30/", "part-0.parquet"];
        assert_eq!(look(&table), ["_checkpoints"]);
        assert_eq!(look(&["env=prod/", ".snapshot/"]), ["env=prod"]);
    }
}
