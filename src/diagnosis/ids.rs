//! Every kind of finding there is. Configuration names them, and each has its section in
//! `docs/findings.md`.

/// All of them, by name.
pub const ALL: [&str; 57] = [
    "avro-fast-reader",
    "backlog-growing",
    "batch-gap",
    "changelog-off",
    "confs-from-older-entry",
    "damaged-changelog",
    "damaged-snapshot",
    "damaged-sst",
    "empty-state-file",
    "few-batches-retained",
    "file-checksum",
    "files-piling-up",
    "ignored-count",
    "implausible-partition-count",
    "internal-rows-counted",
    "late-rows",
    "link-not-followed",
    "lost-commits",
    "memory-near-bound",
    "memory-unbounded",
    "misplaced-keys",
    "missing-commit",
    "missing-metadata",
    "missing-offset",
    "missing-operator-directory",
    "missing-operator-metadata",
    "missing-partition-directory",
    "missing-sst",
    "missing-state-file",
    "no-partition-count",
    "older-entries-not-read",
    "partitions-moved",
    "pending-batch",
    "query-failed",
    "row-checksum",
    "schema-files-elsewhere",
    "slow-batches",
    "slow-task",
    "snapshot-lag",
    "stale-operator-count",
    "state-ahead-of-logs",
    "state-schema",
    "strange-names",
    "two-on-one-checkpoint",
    "unbounded-state",
    "undecodable-rows",
    "unexpected-rows",
    "unfinished-repartition",
    "unreadable-commit",
    "unreadable-metadata",
    "unreadable-offset",
    "unreadable-operator-metadata",
    "unreadable-source-offset",
    "unreadable-state-file",
    "unsupported-provider",
    "unsupported-version",
    "zero-byte-file",
];

/// Whether there is such a kind.
pub fn is_known(id: &str) -> bool {
    ALL.binary_search(&id).is_ok()
}

/// The known kinds that `id` may be meant for: those that have a word of it.
pub fn alike(id: &str) -> Vec<&'static str> {
    let words: Vec<&str> = id.split(['-', '_', ' ']).filter(|word| word.len() > 2).collect();
    let has_one =
        |known: &&&str| words.iter().any(|word| known.split('-').any(|part| part == *word));
    ALL.iter().filter(has_one).copied().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, into);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                into.push(path);
            }
        }
    }

    /// The names in the code: behind the constructors of findings, and in the table of those of
    /// state files.
    fn in_code() -> BTreeSet<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/diagnosis");
        let mut files = Vec::new();
        sources(&root, &mut files);
        let mut found = BTreeSet::new();
        for file in files {
            if file.ends_with("ids.rs") {
                continue;
            }
            let text = fs::read_to_string(&file).unwrap();
            for mark in ["FindingId(\"", "id_for(problem, \"", "into_finding(\""] {
                for (at, _) in text.match_indices(mark) {
                    let rest = &text[at + mark.len()..];
                    found.insert(rest[..rest.find('"').unwrap()].to_owned());
                }
            }
            if let Some(at) = text.find("fn id(kind: &FaultKind)") {
                let table = &text[at..at + text[at..].find("\n}").unwrap()];
                for line in table.lines() {
                    if let Some((_, rest)) = line.split_once("=> \"") {
                        found.insert(rest[..rest.find('"').unwrap()].to_owned());
                    }
                }
            }
        }
        found
    }

    #[test]
    fn all_that_the_code_makes_are_listed_in_order() {
        let listed: BTreeSet<String> = ALL.iter().map(|id| (*id).to_owned()).collect();
        assert_eq!(in_code(), listed);
        assert!(ALL.is_sorted());
    }

    #[test]
    fn each_has_its_section_and_no_section_is_without_one() {
        let page = include_str!("../../docs/findings.md");
        let sections: BTreeSet<&str> =
            page.lines().filter_map(|line| line.strip_prefix("### ")).collect();
        assert_eq!(sections, ALL.into_iter().collect());
    }

    #[test]
    fn a_mistyped_name_is_told_what_it_may_mean() {
        assert!(is_known("missing-sst") && !is_known("sst-missing"));
        assert!(alike("sst-missing").contains(&"missing-sst"));
        assert!(alike("qqq").is_empty());
    }
}
