//! Logs that are JSON: one object per entry.
//!
//! Since entries have a context, they tell of which query messages are that do not name one.
//! Spark 4 writes `{"ts", "level", "msg", "context", "exception", "logger"}`
//! (`spark.log.structuredLogging.enabled`, `SparkLayout.json`); `pyspark` and log shippers
//! write much the same under other names.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::telemetry::event::QueryRef;
use crate::telemetry::number;
use crate::units::UnixMillis;

const TIMES: [&str; 4] = ["ts", "timestamp", "@timestamp", "time"];
const MESSAGES: [&str; 2] = ["msg", "message"];

/// An entry of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Entry {
    /// When.
    pub(crate) timestamp: Option<UnixMillis>,
    /// Of which query.
    pub(crate) query: QueryRef,
    /// What it says, perhaps after its logger.
    pub(crate) message: String,
    /// The exception with it, as a stack trace.
    pub(crate) exception: Option<String>,
}

impl Entry {
    /// Reads an object; `None` when it is no entry of a log.
    pub(crate) fn of(object: &Map<String, Value>) -> Option<Self> {
        object.get("level")?.as_str()?;
        let message = MESSAGES.iter().find_map(|name| object.get(*name)?.as_str())?;
        let timestamp = TIMES.iter().find_map(|name| object.get(*name).and_then(number::time));
        let query = object.get("context").map(query).unwrap_or_default();
        let exception = object.get("exception").and_then(exception);
        Some(Self { timestamp, query, message: message.to_owned(), exception })
    }
}

/// The query of a context: `QUERY_ID` and `RUN_ID`, in small letters before Spark 4.3.
fn query(context: &Value) -> QueryRef {
    let text = |name: &str| {
        let mut fields = context.as_object().into_iter().flatten();
        let (_, value) = fields.find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        number::text(value).map(Arc::from)
    };
    QueryRef { id: text("query_id"), run: text("run_id"), name: None }
}

/// An exception as Java prints one. Spark's layout has the outermost one only, without causes.
fn exception(value: &Value) -> Option<String> {
    let Value::Object(fields) = value else { return number::text(value).map(str::to_owned) };
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let mut printed = match (text("class"), text("msg")) {
        (Some(class), Some(message)) => format!("{class}: {message}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => return None,
    };
    match fields.get("stacktrace") {
        Some(Value::Array(frames)) => {
            for frame in frames {
                let part = |name: &str| match frame.get(name) {
                    Some(Value::String(text)) => text.clone(),
                    Some(other) => other.to_string(),
                    None => "?".to_owned(),
                };
                let [class, method, file, line] = ["class", "method", "file", "line"].map(part);
                // Writing to memory does not fail.
                let _ = write!(printed, "\n\tat {class}.{method}({file}:{line})");
            }
        }
        Some(Value::String(frames)) => printed = format!("{printed}\n{frames}"),
        _ => {}
    }
    Some(printed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(value: &Value) -> Option<Entry> {
        Entry::of(value.as_object().unwrap())
    }

    #[test]
    fn entries_have_a_level_and_a_message() {
        let spark = json!({
            "ts": "1970-01-01T00:00:01.000Z", "level": "ERROR", "msg": "it failed",
            "context": {"QUERY_ID": "a", "run_id": "b"}, "logger": "MicroBatchExecution",
            "exception": {
                "class": "org.x.E", "msg": "[A_B] no",
                "stacktrace": [{"class": "a.B", "method": "c", "file": "B.scala", "line": 7}],
            },
        });
        let expected = Entry {
            timestamp: Some(UnixMillis(1000)),
            query: QueryRef { id: Some("a".into()), run: Some("b".into()), name: None },
            message: "it failed".to_owned(),
            exception: Some("org.x.E: [A_B] no\n\tat a.B.c(B.scala:7)".to_owned()),
        };
        assert_eq!(entry(&spark), Some(expected));
        assert_eq!(entry(&json!({"level": "INFO"})), None);
        assert_eq!(entry(&json!({"level": 3, "msg": "x"})), None);
        assert_eq!(entry(&json!({"msg": "x"})), None);
    }
}
