//! Whatever a file holds, parsers return: a value or an error, never a panic.

use proptest::prelude::*;
use serde_json::{Value, json};
use statetop::checkpoint::{
    parse_commit_entry, parse_offset_entry, parse_operator_metadata, parse_query_id, sources,
};

/// All parsers on the same bytes.
fn parse_all(bytes: &[u8]) {
    let _ = parse_query_id(bytes);
    let _ = parse_commit_entry(bytes);
    let _ = parse_operator_metadata(bytes);
    if let Ok(entry) = parse_offset_entry(bytes) {
        for value in entry.offsets.iter().filter_map(statetop::checkpoint::SourceOffset::value) {
            let described = sources::describe(&value);
            assert!(!described.summary.contains(char::is_control));
        }
    }
}

/// JSON of any shape, with the names that parsers look for.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        ".*".prop_map(Value::from),
    ];
    let name = prop_oneof![
        prop::sample::select(vec![
            "0",
            "1",
            "conf",
            "stateUniqueIds",
            "operatorInfo",
            "operatorId",
            "operatorName",
            "stateStoreInfo",
            "storeName",
            "numPartitions",
            "numColsPrefixKey",
            "logOffset",
            "seqNum",
            "sourceVersion",
            "reservoirId",
            "reservoirVersion",
            "index",
            "metadata",
            "streamName",
            "shardId-0",
            "shard",
            "partitionToSeqNos",
            "value",
            "runTimeMs",
            "activeSourceName",
            "offset",
            "timestamp",
            "nextBatchWatermarkMs",
            "id",
        ])
        .prop_map(str::to_owned),
        ".*",
    ];
    leaf.prop_recursive(5, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        parse_all(&bytes);
    }

    #[test]
    fn random_lines(text in "(v[0-9]{0,3}\n)?([ -~]{0,40}\n?){0,6}") {
        parse_all(text.as_bytes());
    }

    #[test]
    fn random_json(version in 1..4_u32, first in any_json(), second in any_json()) {
        parse_all(format!("v{version}\n{first}\n{second}\n0:{second}").as_bytes());
        parse_all(first.to_string().as_bytes());
        let described = sources::describe(&second);
        prop_assert!(!described.summary.contains(char::is_control));
    }

    /// Cutting a valid entry anywhere gives a value or an error that names a place in it.
    #[test]
    fn cut_entries(length in 0..200_usize) {
        let whole = "v1\n{\"batchWatermarkMs\":5,\"conf\":{\"spark.sql.shuffle.partitions\":\"5\"}}\n\
                     {\"orders\":{\"0\":2992,\"1\":2054}}\n-";
        parse_all(&whole.as_bytes()[..length.min(whole.len())]);
    }
}
