//! Logs as people have them (`tests/telemetry/samples`), each with what is wrong in it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{json as explained, run};

fn sample(name: &str) -> String {
    format!("{}/tests/telemetry/samples/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The errors of a sample, in the order of the report.
fn errors(name: &str) -> Vec<Value> {
    let (report, code) = explained(&["explain", &sample(name)]);
    assert_eq!(code, 0, "{name}");
    report["errors"].as_array().unwrap().clone()
}

/// What says most of each failure: its name, and its values.
fn deepest(errors: &[Value]) -> Vec<(String, BTreeMap<String, String>)> {
    let deepest = errors.iter().filter(|error| error["deepest"] == true);
    deepest
        .map(|error| {
            let name = error["message"].as_str().or(error["class"].as_str()).unwrap().to_owned();
            (name, serde_json::from_value(error["parameters"].clone()).unwrap())
        })
        .collect()
}

fn names(errors: &[Value]) -> Vec<String> {
    let name =
        |error: &Value| error["message"].as_str().or(error["class"].as_str()).unwrap().to_owned();
    errors.iter().map(name).collect()
}

fn only(name: &str) -> (String, BTreeMap<String, String>) {
    let errors = errors(name);
    let deepest = deepest(&errors);
    let [only] = deepest.as_slice() else { panic!("{name}: {deepest:?}") };
    only.clone()
}

#[test]
fn two_runs_on_one_checkpoint() {
    let (class, values) = only("driverlog-concurrent-stream-log-update-new-style.log");
    assert_eq!(
        (class.as_str(), values["batchId"].as_str()),
        ("CONCURRENT_STREAM_LOG_UPDATE", "53")
    );
    let errors = errors("driverlog-concurrent-stream-log-update-new-style.log");
    assert_eq!(errors[0]["sqlstate"], "40000");
    assert_eq!(errors[0]["explanation"]["data_lost"], "not-yet");
}

#[test]
fn a_conflict_inside_an_internal_error() {
    let all = errors("driverlog-internal-error-nested-commit-log-conflict.log");
    let told = deepest(&all);
    assert_eq!(told[0].0, "concurrent-log-update");
    assert_eq!(told[0].1["batchId"], "0");
    assert_eq!(all[0]["class"], "CONCURRENT_STREAM_LOG_UPDATE");
    assert_eq!(all[0]["recognised_by"], "words");
    assert!(names(&all).contains(&"INTERNAL_ERROR".to_owned()));
}

#[test]
fn an_unfinished_control_batch() {
    let (class, values) = only("driverlog-dbr18-unresumable-control-batch.log");
    assert_eq!(class, "STREAMING_UNRESUMABLE_CONTROL_BATCH_DETECTED.REPARTITION");
    assert_eq!((&*values["batchId"], &*values["unfinishedNumPartition"]), ("4821", "400"));
}

#[test]
fn a_topic_that_was_made_again() {
    let (id, values) = only("driverlog-kafka-offset-changed-data-missed.log");
    assert_eq!(id, "kafka-offset-changed");
    let told = ["topicPartition", "prevOffset", "newOffset"].map(|name| values[name].as_str());
    assert_eq!(told, ["ledger-events-0", "500", "300"]);
}

#[test]
fn a_missing_delta_without_a_class() {
    let all = errors("driverlog-oss-3.5.8-old-style-delta-file-does-not-exist.log");
    let told = deepest(&all);
    let [(id, values)] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(id, "delta-file-missing");
    let place = ["operatorId", "partitionId", "version"].map(|name| values[name].as_str());
    assert_eq!(place, ["0", "1", "1"]);
    assert_eq!(all[0]["class"], "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS");
    let cause = all[0]["cause"].as_str().unwrap();
    assert!(cause.starts_with("java.io.FileNotFoundException: File s3://"), "{cause}");
    let wrappers: Vec<String> = names(&all)[1..].to_vec();
    assert_eq!(wrappers, ["job-aborted", "query-terminated"]);
}

#[test]
fn a_wait_that_hides_the_cause() {
    let all = errors("driverlog-oss-4.2.1-awaitresult-hides-commit-validation.log");
    let told = deepest(&all);
    assert!(
        told.iter().all(|(name, _)| {
            name == "STATE_STORE_COMMIT_VALIDATION_FAILED" || name == "state-commits-missing"
        }),
        "{told:?}"
    );
    let values = &all[0]["parameters"];
    assert_eq!((&values["expectedCommits"], &values["actualCommits"]), (&json!("5"), &json!("1")));
    assert_eq!(values["batchId"], "0");
    assert!(values["missingCommits"].as_str().unwrap().ends_with("partition=4, store=default)"));
}

#[test]
fn a_changed_key_schema() {
    let all = errors("driverlog-oss-4.2.1-key-schema-not-compatible.log");
    assert_eq!(all[0]["class"], "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE");
    assert_eq!(all[0]["sqlstate"], "XXKST");
    assert_eq!(names(&all), ["STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", "STREAM_FAILED"]);
    let schema = &all[0]["schemas"][0];
    assert_eq!((&schema["part"], &schema["rule"]), (&json!("key"), &json!("change-grouping-keys")));
    assert_eq!(schema["ways_out"].as_array().unwrap().len(), 3);
    let fields: Vec<(&Value, &Value, &str)> = schema["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|field| (&field["stored"], &field["new"], field["difference"].as_str().unwrap()))
        .collect();
    let window = json!("window: struct<start: timestamp, end: timestamp>");
    let account = json!("account_id: string");
    assert_eq!(
        fields,
        [
            (&window, &window, "same"),
            (&account, &account, "same"),
            (&Value::Null, &json!("amount: double"), "added"),
        ]
    );
}

#[test]
fn five_refusals_of_a_repartition() {
    let all = errors("driverlog-oss-4.2.1-repartition-refusals.log");
    let told: BTreeMap<String, BTreeMap<String, String>> = deepest(&all).into_iter().collect();
    let short: Vec<&str> = told.keys().map(|name| name.rsplit('.').next().unwrap()).collect();
    assert_eq!(
        short,
        [
            "LAST_BATCH_ABANDONED_REPARTITION",
            "LAST_BATCH_FAILED",
            "NO_COMMITTED_BATCH",
            "UNSUPPORTED_PROVIDER",
            "STATE_CHECKPOINT_FORMAT_VERSION_MISMATCH",
        ]
    );
    let of = |short: &str| told.iter().find(|(name, _)| name.ends_with(short)).unwrap().1;
    let abandoned = of("LAST_BATCH_ABANDONED_REPARTITION");
    let counts = ["lastBatchId", "lastBatchShufflePartitions", "numPartitions"];
    assert_eq!(counts.map(|name| abandoned[name].as_str()), ["9", "8", "16"]);
    assert_eq!(of("LAST_BATCH_FAILED")["lastBatchId"], "1");
    assert!(of("UNSUPPORTED_PROVIDER")["provider"].ends_with(".HDFSBackedStateStoreProvider"));
    assert!(of("NO_COMMITTED_BATCH")["checkpointLocation"].ends_with("/nothing"));
    let mismatch = of("FORMAT_VERSION_MISMATCH");
    assert_eq!((&*mismatch["expectedVersion"], &*mismatch["actualVersion"]), ("2", "1"));
    assert_eq!(mismatch["sqlConfKey"], "spark.sql.streaming.stateStore.checkpointFormatVersion");
    let deepest = all.iter().filter(|error| error["deepest"] == true);
    assert!(deepest.clone().all(|error| error["sqlstate"] == "55019"));
    let lines: Vec<u64> = deepest.map(|error| error["first_line"].as_u64().unwrap()).collect();
    assert!(lines.is_sorted_by(|one, other| one > other), "the newest first: {lines:?}");
}

#[test]
fn ends_of_queries_as_listeners_tell_them() {
    let all = errors("eventlog-queryterminated-exceptions-4.2.1.jsonl");
    let told: BTreeMap<String, BTreeMap<String, String>> = deepest(&all).into_iter().collect();
    let names: Vec<&str> = told.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS",
            "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE",
            "FOREACH_BATCH_USER_FUNCTION_ERROR",
            "STATE_STORE_COMMIT_VALIDATION_FAILED",
            "source-count-changed",
        ]
    );
    let counts = &told["source-count-changed"];
    assert_eq!((&*counts["stored"], &*counts["requested"]), ("1", "2"));
    let changelog = &told["CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE"];
    let place = ["operatorId", "partitionId", "version"].map(|name| changelog[name].as_str());
    assert_eq!(place, ["0", "2", "1"]);
    let foreach = all.iter().find(|error| error["class"] == "FOREACH_BATCH_USER_FUNCTION_ERROR");
    assert_eq!(foreach.unwrap()["cause"], "ValueError: downstream table LEDGER_DAILY is locked");
}

#[test]
fn an_end_without_a_reason_behind_a_progress_bar() {
    let all = errors("driverlog-console-progress-bar-glued-to-error-line.log");
    let told = deepest(&all);
    let [(id, values)] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((id.as_str(), values["name"].as_str()), ("query-terminated", "failing"));
    assert_eq!(all[0]["kind"], "wrapper");
}

#[test]
fn what_is_no_error_is_told_as_such() {
    let all = errors("driverlog-conf-restored-from-offset-log.log");
    let told: Vec<[&str; 3]> = all
        .iter()
        .map(|error| {
            ["key", "asked", "kept"].map(|name| error["parameters"][name].as_str().unwrap())
        })
        .collect();
    assert!(
        all.iter().all(|error| error["kind"] == "notice" && error["message"] == "conf-restored")
    );
    assert_eq!(told.len(), 3);
    assert!(told.contains(&["spark.sql.shuffle.partitions", "12", "5"]), "{told:?}");
    let all = errors("driverlog-oss-4.2.1-benign-first-batch-maintenance-warn.log");
    assert!(all.iter().all(|error| error["kind"] == "notice"));
    assert_eq!(names(&all), ["state-version-not-in-memory", "maintenance-no-directory"]);
    for healthy in [
        "driverlog-oss-4.2.1-query-made-progress-multiline.log",
        "progress-oss-4.2.1-batch-id-gap-at-repartition.jsonl",
    ] {
        let (page, code) = run(&["explain", &sample(healthy)]);
        assert_eq!(code, 1, "{healthy}: {page}");
        assert!(page.starts_with("No error was found."), "{page}");
    }
}

#[test]
fn structured_logs_are_read() {
    let (report, _) = explained(&["explain", &sample("driverlog-oss-4.3.0-structured.jsonl")]);
    let errors = report["errors"].as_array().unwrap();
    assert!(!errors.is_empty());
    assert!(errors.iter().all(|error| error["first_line"].as_u64().is_some()));
}

#[test]
fn what_spark_4_3_said_to_broken_checkpoints() {
    let (report, code) =
        explained(&["explain", &sample("driverlog-oss-4.3.0-refusals-and-starts.log")]);
    assert_eq!(code, 0);
    let mut told = deepest(report["errors"].as_array().unwrap());
    told.reverse();
    let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_ABANDONED_REPARTITION",
            "STATE_REPARTITION_INVALID_CHECKPOINT.UNSUPPORTED_PROVIDER",
            "STATE_REPARTITION_INVALID_CHECKPOINT.SHUFFLE_PARTITIONS_ALREADY_MATCH",
            "STATE_REPARTITION_INVALID_CHECKPOINT.NO_COMMITTED_BATCH",
            "STATE_REPARTITION_INVALID_PARAMETER.IS_NOT_GREATER_THAN_ZERO",
            "STATE_REPARTITION_INVALID_PARAMETER.IS_EMPTY",
            "STATE_REWRITER_INVALID_CHECKPOINT.STATE_CHECKPOINT_FORMAT_VERSION_MISMATCH",
            "STATE_REPARTITION_INVALID_CHECKPOINT.UNSUPPORTED_STATEFUL_OPERATOR",
            "STATE_REWRITER_INVALID_CHECKPOINT.MISSING_OPERATOR_METADATA",
            "STDS_FAILED_TO_READ_STATE_SCHEMA",
            "STDS_COMMITTED_BATCH_UNAVAILABLE",
            "STDS_INVALID_OPTION_VALUE.IS_NEGATIVE",
            "STREAMING_UNFINISHED_REPARTITION_DETECTED",
            "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
            "STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
            "source-count-changed",
            "file-source-moved",
            "log-file-incomplete",
            "log-entry-cut",
        ]
    );
    let of = |name: &str| &told.iter().find(|(id, _)| id.ends_with(name)).unwrap().1;
    assert_eq!(of("UNSUPPORTED_STATEFUL_OPERATOR")["operatorName"], "globalLimit");
    assert_eq!(of("ALREADY_MATCH")["numPartitions"], "5");
    let unfinished = of("UNFINISHED_REPARTITION_DETECTED");
    assert_eq!((&*unfinished["batchId"], &*unfinished["lastCommittedBatchId"]), ("5", "4"));
    assert_eq!(
        of("KEY_SCHEMA_NOT_COMPATIBLE")["newKeySchema"],
        "StructType(StructField(k,StringType,true))"
    );
}
