//! The words that findings are made of.

use super::*;

fn unreadable(batch: u64) -> Fault {
    Fault::UnreadableEntry {
        log: Log::Offsets,
        batch: BatchId(batch),
        problem: Problem::Format(FormatError::NoVersion { found: "x".to_owned() }),
        readable_before: None,
        need: Need::History,
    }
}

#[test]
fn the_most_severe_comes_first_and_repetition_is_counted() {
    let mut faults: Vec<Fault> = (0..13).map(unreadable).collect();
    faults.insert(0, Fault::Pending { batch: BatchId(20) });
    faults.push(Fault::MissingMetadata);
    let found = findings(faults.iter());
    assert_eq!(found.first().unwrap().id, FindingId("missing-metadata"));
    assert_eq!(found.last().unwrap().id, FindingId("pending-batch"));
    let unreadable: Vec<_> =
        found.iter().filter(|one| one.id == FindingId("unreadable-offset")).collect();
    assert_eq!(unreadable.len(), 11);
    assert_eq!(unreadable[10].summary, "3 more findings of the kind unreadable-offset");
    assert_eq!(unreadable[0].file.as_deref(), Some("offsets/0"));
}

#[test]
fn an_unfinished_repartition_names_the_only_count_that_can_be_retried() {
    let fault = Fault::UnfinishedRepartition { batch: BatchId(9), from: 5, to: 8 };
    let found = finding(&fault);
    assert_eq!(found.severity, Severity::Error);
    assert!(found.remedy.contains("repartition to 8 partitions again"), "{}", found.remedy);
}

#[test]
fn empty_files_and_newer_versions_are_kinds_of_their_own() {
    let kind = |problem| {
        let log = Log::Commits;
        let (batch, readable_before, need) = (BatchId(4), Some(BatchId(3)), Need::Restart);
        finding(&Fault::UnreadableEntry { log, batch, problem, readable_before, need })
    };
    let empty = kind(Problem::Format(FormatError::Empty { expected: "a commit entry" }));
    assert_eq!(empty.id, FindingId("zero-byte-file"));
    assert!(empty.detail.contains("that of batch 3"), "{}", empty.detail);
    let newer = kind(Problem::Format(FormatError::UnsupportedVersion { found: 4, newest: 3 }));
    assert_eq!(newer.id, FindingId("unsupported-version"));
    assert!(newer.detail.contains("version 3 or lower"), "{}", newer.detail);
}

#[test]
fn ranges_read_as_words() {
    let range = |first, last| BatchRange { first: BatchId(first), last: BatchId(last) };
    assert_eq!(named(range(5, 5)), "batch 5");
    assert_eq!(named(range(5, 7)), "batches 5 to 7");
}
