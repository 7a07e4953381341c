//! The events of Spark's `StreamingQueryListener`, as event logs and listeners write them.
//!
//! The objects carry the event's name in the field `Event`. Must not know files.

use serde_json::{Map, Value};

use super::error_class;
use super::event::{EventKind, QueryRef, Started, Terminated};
use super::fields::Fields;
use super::{number, progress};

/// Reads a listener event by its name, `QueryProgressEvent` with or without package and class
/// before it. `None` for events of anything else than streaming queries.
///
/// Names and fields are those of `StreamingQueryListener` in Spark 3.5 to 4.3; the event log
/// writes a progress under `progress`.
pub fn listener_event(name: &str, object: Map<String, Value>) -> Option<EventKind> {
    let short = name.rsplit(['$', '.']).next().unwrap_or(name);
    let mut fields = Fields::of(object);
    match short {
        "QueryStartedEvent" => Some(started(fields)),
        "QueryProgressEvent" => {
            let progress = progress::parse(fields.object("progress")?);
            Some(EventKind::Progress(Box::new(progress)))
        }
        "QueryIdleEvent" => Some(idle(fields)),
        "QueryTerminatedEvent" => Some(terminated(fields)),
        _ => None,
    }
}

/// A query was started. Event logs have the time; only drivers' logs have the checkpoint.
pub(super) fn started(mut fields: Fields) -> EventKind {
    let query = progress::query(&mut fields);
    let timestamp = fields.read("timestamp", number::time);
    EventKind::Started(Started { query, timestamp, checkpoint: None })
}

/// A query waits for data.
pub(super) fn idle(mut fields: Fields) -> EventKind {
    let query = progress::query(&mut fields);
    EventKind::Idle { query, timestamp: fields.read("timestamp", number::time) }
}

/// A query ended.
pub(super) fn terminated(mut fields: Fields) -> EventKind {
    let query = progress::query(&mut fields);
    let mut text = |name| fields.read(name, |value| number::text(value).map(str::to_owned));
    let (exception, error_class) = (text("exception"), text("errorClassOnException"));
    let mut ended = ended(query, exception);
    ended.timestamp = fields.read("timestamp", number::time);
    ended.error_class = error_class;
    EventKind::Terminated(ended)
}

/// The end of a query, with the class that its exception's text has.
pub(super) fn ended(query: QueryRef, exception: Option<String>) -> Terminated {
    let class_in_text = exception.as_deref().and_then(error_class::in_text).map(str::to_owned);
    Terminated { query, timestamp: None, exception, error_class: None, class_in_text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::units::UnixMillis;

    fn event(name: &str, value: Value) -> Option<EventKind> {
        let Value::Object(object) = value else { panic!("an object") };
        listener_event(name, object)
    }

    const PACKAGE: &str = "org.apache.spark.sql.streaming.StreamingQueryListener$";

    #[test]
    fn a_query_starts_works_waits_and_ends() {
        let query = || QueryRef { id: Some("a".into()), run: Some("b".into()), name: None };
        let at =
            json!({"id": "a", "runId": "b", "name": null, "timestamp": "1970-01-01T00:00:01Z"});
        let timestamp = Some(UnixMillis(1000));
        assert_eq!(
            event(&format!("{PACKAGE}QueryStartedEvent"), at.clone()),
            Some(EventKind::Started(Started { query: query(), timestamp, checkpoint: None }))
        );
        assert_eq!(
            event("QueryIdleEvent", at),
            Some(EventKind::Idle { query: query(), timestamp })
        );
        let progress = json!({"progress": {"id": "a", "runId": "b", "batchId": 3}});
        let Some(EventKind::Progress(progress)) =
            event(&format!("{PACKAGE}QueryProgressEvent"), progress)
        else {
            panic!("a progress")
        };
        assert_eq!((progress.query, progress.batch.map(|batch| batch.0)), (query(), Some(3)));
        let failed = json!({
            "id": "a", "runId": "b",
            "exception": "x.E: [A_B] outer\nCaused by: x.E: [C_D] inner",
            "errorClassOnException": "A_B",
        });
        let Some(EventKind::Terminated(failed)) = event("QueryTerminatedEvent", failed) else {
            panic!("an end")
        };
        assert_eq!(failed.error_class.as_deref(), Some("A_B"));
        assert_eq!(failed.class_in_text.as_deref(), Some("C_D"));
    }

    #[test]
    fn other_events_are_none() {
        assert_eq!(event("SparkListenerTaskEnd", json!({})), None);
        assert_eq!(event("QueryProgressEvent", json!({"progress": 3})), None);
    }
}
