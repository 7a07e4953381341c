use serde_json::json;

use super::*;
use crate::telemetry::event::{Custom, Measure, OperatorProgress, Rows};
use crate::units::Bytes;

fn progress(value: Value) -> Progress {
    let Value::Object(object) = value else { panic!("an object") };
    parse(object)
}

#[test]
fn an_empty_object_is_a_progress_that_says_nothing() {
    let nothing = progress(json!({}));
    assert_eq!(nothing.query, QueryRef::default());
    assert_eq!((nothing.batch, nothing.duration_ms, nothing.rows_in), (None, None, None));
    assert_eq!(nothing.watermark, Watermark::None);
    assert!(nothing.operators.is_empty() && nothing.other.is_empty());
}

#[test]
fn odd_values_do_not_lose_the_rest() {
    let odd = progress(json!({
        "id": "q",
        "batchId": "12",
        "timestamp": 5,
        "numInputRows": "600",
        "inputRowsPerSecond": "NaN",
        "processedRowsPerSecond": "Infinity",
        "durationMs": {"addBatch": 10.4, "walCommit": "7", "x": null, "getBatch": "soon"},
        "eventTime": {"watermark": "later", "max": "2026-11-20T10:00:00Z"},
        "stateOperators": [{"numRowsTotal": "692", "memoryUsedBytes": 12.0}, 3],
        "sources": "none",
        "sink": null,
        "observedMetrics": {"a": 1},
    }));
    assert_eq!(odd.batch, Some(BatchId(12)));
    assert_eq!(odd.timestamp, Some(UnixMillis(5)));
    assert_eq!((odd.rows_in, odd.input_rate, odd.processed_rate), (Some(600), None, None));
    assert_eq!(odd.phases, [("addBatch".to_owned(), 10), ("walCommit".to_owned(), 7)]);
    assert_eq!(odd.watermark, Watermark::None);
    let operator = odd.operators.first().unwrap();
    assert_eq!((operator.rows, operator.memory), (Rows::Known(692), Some(Bytes(12))));
    let kept = json!({
        "durationMs": {"getBatch": "soon"},
        "eventTime": {"watermark": "later"},
        "stateOperators": [3],
        "sources": "none",
        "observedMetrics": {"a": 1},
    });
    assert_eq!(Value::Object(odd.other), kept);
}

#[test]
fn the_batch_took_what_it_says_else_its_trigger() {
    let phases = json!({"triggerExecution": 922, "controlBatch.REPARTITION": 43_912});
    let old = progress(json!({"durationMs": phases}));
    assert_eq!(old.duration_ms, Some(922));
    assert!(old.phases.contains(&("controlBatch.REPARTITION".to_owned(), 43_912)));
    let new = progress(json!({"batchDuration": 930, "durationMs": phases}));
    assert_eq!(new.duration_ms, Some(930));
}

#[test]
fn event_logs_have_rows_and_rates_of_sources_alone() {
    let source = |rows: u64, rate: f64| json!({"numInputRows": rows, "inputRowsPerSecond": rate, "endOffset": "{\"a\": 1}"});
    let seen = progress(json!({"sources": [source(300, 1.5), source(0, 0.0)]}));
    assert_eq!((seen.rows_in, seen.input_rate, seen.processed_rate), (Some(300), Some(1.5), None));
    assert_eq!(seen.sources[0].end, Some(json!({"a": 1})));
    let none = progress(json!({"sources": [{"description": "x"}]}));
    assert_eq!((none.rows_in, progress(json!({})).rows_in), (None, None));
}

#[test]
fn a_watermark_of_1970_is_not_set() {
    let at = |text: &str| progress(json!({"eventTime": {"watermark": text}})).watermark;
    assert_eq!(at("1970-01-01T00:00:00.000Z"), Watermark::NotSet);
    assert_eq!(at("1970-01-01T00:00:00.001Z"), Watermark::At(UnixMillis(1)));
}

#[test]
fn custom_metrics_of_a_partition_are_apart() {
    let metrics = json!({"rocksdbGetCount": "222", "odd": [], "S.partition_3_left-a": -1});
    let seen = progress(json!({"stateOperators": [{"customMetrics": metrics}]}));
    let Some(OperatorProgress { custom, labelled, .. }) = seen.operators.first() else {
        panic!("an operator")
    };
    let value = Some(Measure::Whole(222));
    let expected = [
        Custom { name: "rocksdbGetCount".to_owned(), value },
        Custom { name: "odd".to_owned(), value: None },
    ];
    assert_eq!(custom[..], expected);
    assert_eq!((labelled[0].name.as_str(), labelled[0].store.as_str()), ("S", "left-a"));
    assert_eq!(labelled[0].value, Some(Measure::Whole(-1)));
}

#[test]
fn what_event_logs_leave_out_is_the_sum_over_sources() {
    let source = |rows: u64, rate: f64| json!({"numInputRows": rows, "inputRowsPerSecond": rate, "processedRowsPerSecond": rate});
    let both = progress(json!({"sources": [source(16, 0.5), source(14, 1.25)]}));
    assert_eq!(both.rows_in, Some(30));
    assert_eq!((both.input_rate, both.processed_rate), (Some(1.75), Some(1.75)));
    let one = progress(json!({"sources": [source(16, 0.5), {}]}));
    assert_eq!((one.rows_in, one.input_rate), (None, None));
    assert_eq!(progress(json!({"sources": []})).rows_in, None);
    let told = progress(json!({"numInputRows": 7, "sources": [source(16, 0.5)]}));
    assert_eq!(told.rows_in, Some(7));
}
