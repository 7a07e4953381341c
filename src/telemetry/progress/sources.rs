//! The sources and the sink of a progress object, and how far a source is behind.

use serde_json::{Map, Value};

use crate::telemetry::event::{Lag, SinkProgress, SourceProgress};
use crate::telemetry::fields::Fields;
use crate::telemetry::number;

/// Bytes that are still to be read: Delta and Auto Loader; Kafka on Databricks.
const BYTES: [&str; 2] = ["numBytesOutstanding", "estimatedTotalBytesBehindLatest"];

/// Reads one of `sources`.
pub(super) fn parse(object: Map<String, Value>) -> SourceProgress {
    let mut fields = Fields::of(object);
    let start = fields.take("startOffset").map(unquoted);
    let end = fields.take("endOffset").map(unquoted);
    let latest = fields.take("latestOffset").map(unquoted);
    let metrics = fields.object("metrics").unwrap_or_default();
    let lag = lag(&metrics, end.as_ref(), latest.as_ref());
    SourceProgress {
        description: fields.read("description", description),
        start,
        end,
        latest,
        rows_in: fields.read("numInputRows", number::count),
        input_rate: fields.read("inputRowsPerSecond", number::real),
        processed_rate: fields.read("processedRowsPerSecond", number::real),
        metrics: metrics.into_iter().collect(),
        lag,
        other: fields.rest(),
    }
}

/// Reads `sink`.
pub(super) fn sink(object: Map<String, Value>) -> SinkProgress {
    let mut fields = Fields::of(object);
    SinkProgress {
        description: fields.read("description", description),
        rows_out: fields.read("numOutputRows", number::count),
        other: fields.rest(),
    }
}

fn description(value: &Value) -> Option<String> {
    number::text(value).map(str::to_owned)
}

/// An offset. The event log and Python's listener have it as a text of JSON, Spark's own JSON as
/// JSON.
fn unquoted(offset: Value) -> Value {
    let inside = offset.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    inside.unwrap_or(offset)
}

/// How far a source is behind: by its own metrics, else by its offsets.
fn lag(metrics: &Map<String, Value>, end: Option<&Value>, latest: Option<&Value>) -> Lag {
    let metric = |name: &str| metrics.get(name).and_then(number::count);
    let behind = end.zip(latest).and_then(|(end, latest)| Behind::of(end, latest));
    Lag {
        offsets: behind.as_ref().map(|behind| behind.total).or_else(|| from_mean(metrics, end)),
        worst: metric("maxOffsetsBehindLatest").or(behind.map(|behind| behind.worst)),
        bytes: BYTES.into_iter().find_map(metric),
        files: metric("numFilesOutstanding"),
    }
}

/// Latest − end of a source with numbered offsets.
#[derive(Debug, PartialEq, Eq)]
struct Behind {
    total: u64,
    worst: u64,
}

impl Behind {
    /// From offsets of the form `{topic: {partition: number}}`, as Kafka and Event Hubs have
    /// them; `None` for any other. A partition that the end does not know yet is not counted:
    /// where it begins is not known.
    fn of(end: &Value, latest: &Value) -> Option<Self> {
        let (end, latest) = (end.as_object()?, latest.as_object()?);
        let mut behind = Self { total: 0, worst: 0 };
        for (topic, partitions) in latest {
            let ends = match end.get(topic) {
                Some(ends) => Some(ends.as_object()?),
                None => None,
            };
            for (partition, latest) in partitions.as_object()? {
                let latest = number::whole(latest)?;
                let Some(end) = ends.and_then(|ends| ends.get(partition)) else { continue };
                let left = latest.saturating_sub(number::whole(end)?).max(0).unsigned_abs();
                behind.total = behind.total.saturating_add(left);
                behind.worst = behind.worst.max(left);
            }
        }
        (!latest.is_empty()).then_some(behind)
    }
}

/// The total behind Kafka's `avgOffsetsBehindLatest`, a mean over the partitions of the end.
fn from_mean(metrics: &Map<String, Value>, end: Option<&Value>) -> Option<u64> {
    let mean = metrics.get("avgOffsetsBehindLatest").and_then(number::real)?;
    let topics = end?.as_object()?.values();
    let partitions: Option<usize> = topics.map(|one| one.as_object().map(Map::len)).sum();
    #[expect(clippy::cast_precision_loss, reason = "partitions of topics are few")]
    let total = Value::from(mean * partitions? as f64);
    number::count(&total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn lag_of(source: Value) -> Lag {
        let Value::Object(source) = source else { panic!("an object") };
        parse(source).lag
    }

    #[test]
    fn kafka_is_behind_by_its_offsets() {
        let lag = lag_of(json!({
            "endOffset": {"orders": {"0": 100, "1": 200}, "refunds": {"0": 7}},
            "latestOffset": {"orders": {"0": 130, "1": 200, "2": 5}, "refunds": {"0": 17}},
        }));
        assert_eq!(lag, Lag { offsets: Some(40), worst: Some(30), ..Lag::default() });
    }

    #[test]
    fn offsets_may_be_texts_of_json() {
        let lag = lag_of(json!({
            "endOffset": "{\"orders\": {\"0\": 100}}",
            "latestOffset": "{\"orders\": {\"0\": 130}}",
        }));
        assert_eq!(lag.offsets, Some(30));
    }

    #[test]
    fn metrics_are_texts() {
        let lag = lag_of(json!({
            "endOffset": {"orders": {"0": 100, "1": 100}},
            "metrics": {
                "avgOffsetsBehindLatest": "12.5",
                "maxOffsetsBehindLatest": "20",
                "minOffsetsBehindLatest": "5",
                "estimatedTotalBytesBehindLatest": "4096.0",
            },
        }));
        let expected = Lag { offsets: Some(25), worst: Some(20), bytes: Some(4096), files: None };
        assert_eq!(lag, expected);
    }

    #[test]
    fn tables_and_files_are_behind_in_bytes_and_files() {
        let lag = lag_of(json!({
            "startOffset": {"reservoirVersion": 3216, "index": 3214},
            "endOffset": {"reservoirVersion": 3216, "index": 3214},
            "latestOffset": null,
            "metrics": {"numBytesOutstanding": "1234", "numFilesOutstanding": "7"},
        }));
        let expected = Lag { bytes: Some(1234), files: Some(7), ..Lag::default() };
        assert_eq!(lag, expected);
    }

    #[test]
    fn offsets_that_are_no_rows_are_no_lag() {
        for (end, latest) in [
            (json!({"logOffset": 3}), json!({"logOffset": 5})),
            (json!(3), json!(5)),
            (json!({}), json!({})),
            (json!([1]), json!([2])),
            (json!({"orders": 1}), json!({"orders": {"0": 3}})),
        ] {
            assert_eq!(lag_of(json!({"endOffset": end, "latestOffset": latest})), Lag::default());
        }
    }

    #[test]
    fn an_end_beyond_the_latest_is_not_behind() {
        let source = json!({"endOffset": {"a": {"0": 9}}, "latestOffset": {"a": {"0": 5}}});
        assert_eq!(lag_of(source).offsets, Some(0));
    }
}
