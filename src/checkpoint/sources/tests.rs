//! Offsets as real sources write them.

use super::*;

/// Asserts how an offset is described.
fn is(json: &str, kind: &str, summary: &str) {
    let described = describe(&serde_json::from_str(json).unwrap());
    assert_eq!((described.kind, described.summary.as_str()), (kind, summary), "{json}");
}

#[test]
fn kafka() {
    is(
        r#"{"orders":{"0":2992,"1":2054,"2":2074}}"#,
        "kafka",
        "orders 3 partitions, next offsets 2054..2992",
    );
    is(
        r#"{"my.topic":{"2":2021,"1":1021,"3":3021,"0":21}, "my.other.topic":{"0":0}}"#,
        "kafka",
        "my.other.topic 1 partition, next offset 0; my.topic 4 partitions, next offsets 21..3021",
    );
    is(
        r#"{"a":{"0":5},"b":{"0":1,"1":9},"c":{"0":3},"d":{"0":4}}"#,
        "kafka",
        "4 topics, 5 partitions, next offsets 1..9",
    );
}

#[test]
fn event_hubs() {
    is(r#"{"hub":{"0":-1,"1":-1}}"#, "event-hubs", "hub 2 partitions, nothing read yet");
    is(
        r#"{"hub":{"0":-1,"1":7}}"#,
        "event-hubs",
        "hub 2 partitions, sequence number 7, nothing read yet from 1",
    );
    is(
        r#"{"partitionToSeqNos":{"hub":{"0":3,"1":7}}}"#,
        "event-hubs",
        "hub 2 partitions, sequence numbers 3..7",
    );
    is(
        r#"{"partitionToSeqNos":{"{\"ehName\":\"hub\",\"partitionId\":0}":3}}"#,
        "event-hubs",
        "hub 1 partition, sequence number 3",
    );
    is(
        r#"{"partitionToSeqNos":{"hub-0":3,"hub-1":-1}}"#,
        "event-hubs",
        "hub 2 partitions, sequence number 3, nothing read yet from 1",
    );
}

#[test]
fn files_and_generators() {
    is(r#"{"logOffset":10}"#, "file", "log entry 10");
    is(r#"{"logOffset":-1}"#, "file", "no file yet");
    is("5", "number", "5");
    is(r#"{"offset":5,"timestamp":1000}"#, "rate-micro-batch", "5 rows read");
    is(
        r#"{"0":{"value":-2,"runTimeMs":1796054789166},"1":{"value":7,"runTimeMs":1796054789166}}"#,
        "continuous-rate",
        "2 partitions, highest value 7",
    );
}

#[test]
fn delta() {
    let offset = |index: i64, initial: bool| {
        format!(
            r#"{{"sourceVersion":1,"reservoirId":"84590dac-0000-4e0f-8eda-662019860003","reservoirVersion":3216,"index":{index},"isStartingVersion":{initial}}}"#
        )
    };
    is(
        &offset(3214, true),
        "delta",
        "table version 3216, action 3214, still in the initial snapshot",
    );
    is(&offset(-1, false), "delta", "table version 3216, from its beginning");
    is(&offset(-100, false), "delta", "table version 3216, mark -100");
}

#[test]
fn auto_loader() {
    is(
        r#"{"seqNum":234,"sourceVersion":1,"lastBackfillStartTimeMs":1667453455118,"lastBackfillFinishTimeMs":1667453456546}"#,
        "auto-loader",
        "sequence number 234",
    );
    is(
        r#"{"seqNum":5,"sourceVersion":3,"lastInputPath":"s3://bucket/in/part-0001.json"}"#,
        "auto-loader",
        "sequence number 5, last file part-0001.json",
    );
}

#[test]
fn kinesis() {
    is(
        r#"{"metadata":{"streamName":"orders","batchId":"3"},"shardId-000000000000":{"iteratorType":"AFTER_SEQUENCE_NUMBER","iteratorPosition":"49652","subSequenceNumber":"-1","isLast":"true"}}"#,
        "kinesis",
        "orders 1 shard",
    );
    is(
        r#"[{"shard":{"stream":"orders","shardId":"shardId-000000000000"},"closed":false,"msBehindLatest":"12"},{"shard":{"stream":"orders","shardId":"shardId-000000000001"},"closed":true,"msBehindLatest":"0"}]"#,
        "kinesis",
        "orders 2 shards, 1 of them closed, at most 12 ms behind the latest",
    );
}

#[test]
fn sequential_union() {
    is(
        r#"{"activeSourceName":"live","allSourceNames":["history","live"],"completedSourceNames":["history"]}"#,
        "sequential-union",
        "reading live, 1 of 2 sources done",
    );
}

#[test]
fn anything_else_is_shown_as_it_is() {
    is("{}", "unknown", "{}");
    is("[]", "unknown", "[]");
    is(r#""text""#, "unknown", r#""text""#);
    is(r#"{"topic":{"x":1}}"#, "unknown", r#"{"topic":{"x":1}}"#);
    is("null", "unknown", "null");
    is(r#"{"\u001b[2J":{"0":1}}"#, "kafka", "\u{fffd}[2J 1 partition, next offset 1");
}
