//! The samples, damaged at random: nothing ends the reading, and chunks make no difference.

use proptest::prelude::*;
use statetop::telemetry::text::TextReader;
use statetop::telemetry::{Event, EventKind};

use crate::{events, sample};

const NAMES: [&str; 5] = [
    "driverlog-oss-4.2.1-query-made-progress-multiline.log",
    "driverlog-oss-4.2.1-repartition-refusals.log",
    "driverlog-oss-4.2.1-key-schema-not-compatible.log",
    "progress-dbr-kafka-agg-dedupe-join-partition-labels.json",
    "eventlog-queryterminated-exceptions-4.2.1.jsonl",
];
const WHOLE: &str = "{\"id\": \"a\", \"runId\": \"whole\", \"batchId\": 1}";

/// Samples one after the other, with bytes replaced, removed and put in.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let samples = prop::collection::vec(prop::sample::select(&NAMES[..]), 1..3);
    let bytes = prop_oneof![prop::sample::select(&b"{}[]\",:\\\n\r 0x"[..]), any::<u8>()];
    let changes = prop::collection::vec((any::<prop::sample::Index>(), bytes, 0..3_usize), 0..12);
    (samples, changes).prop_map(|(names, changes)| {
        let mut source: Vec<u8> = names.into_iter().flat_map(sample).collect();
        for (at, byte, kind) in changes {
            let at = at.index(source.len());
            match kind {
                0 => source[at] = byte,
                1 => source.insert(at, byte),
                _ => drop(source.drain(at..source.len().min(at + 40))),
            }
        }
        source
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damage_ends_nothing(source in damaged(), chunk in 1_usize..5000) {
        let expected = events(&source);
        prop_assert!(expected.is_sorted_by_key(|event| event.place.line));
        let mut reader = TextReader::new("sample".into());
        let mut found: Vec<Event> =
            source.chunks(chunk).flat_map(|bytes| reader.feed(bytes)).collect();
        found.extend(reader.finish());
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn what_is_whole_on_a_line_of_its_own_is_found_after_any_damage(source in damaged()) {
        let source = [&source[..], b"\n\n", WHOLE.as_bytes(), b"\n"].concat();
        let is_whole = |event: &Event| match &event.kind {
            EventKind::Progress(progress) => progress.query.run.as_deref() == Some("whole"),
            _ => false,
        };
        prop_assert!(events(&source).iter().any(is_whole));
    }
}
