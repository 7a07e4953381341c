//! What a JSON object tells, whoever wrote it.
//!
//! ```text
//!  {"Event": "…QueryProgressEvent", "progress": {…}}       Spark's event log
//!  {"id", "runId", "batchId", …}                           a progress: a listener, `recentProgress`
//!  {"progress": {…}}                                       a listener's whole event
//!  {"details": {"stream_progress": {"progress_json": "…"}}}   a pipeline's event log (Databricks)
//!  {"id", "runId", "name", "timestamp"}                    a listener's other events
//!  {"ts", "level", "msg", …}                               an entry of a structured log
//!  {"statetop_event": {…}, …}                              a line of a recording
//! ```
//! Must not know where the objects were found.

use serde_json::{Map, Value};

use super::driver_log::structured::Entry;
use super::event::{Event, EventKind};
use super::fields::Fields;
use super::listener::{self, listener_event};
use super::progress;
use super::recording::{self, Recorded};

/// A field that every progress has, and nothing else has beside a run id.
const OF_PROGRESS: [&str; 5] =
    ["batchId", "durationMs", "numInputRows", "stateOperators", "sources"];
/// Fields in which an event may stand, as an object or as a text of JSON.
const WRAPPERS: [&str; 4] = ["progress", "progress_json", "details", "stream_progress"];
/// They are looked for within each other this deep.
const DEPTH: u8 = 4;

/// What an object is.
#[derive(Debug, PartialEq)]
pub(super) enum Told {
    /// An event of a query.
    Event(EventKind),
    /// An event of a recording, with the place where it stood before that.
    Recorded(Box<Event>),
    /// An entry of a log.
    Entry(Entry),
    /// Something else.
    Nothing,
}

/// Reads an object.
pub(super) fn read(object: Map<String, Value>) -> Told {
    match recording::read(object) {
        Ok(Recorded::Beginning) => Told::Nothing,
        Ok(Recorded::Event(event)) => Told::Recorded(event),
        Ok(Recorded::Unreadable(why)) => Told::Event(EventKind::Unreadable(why)),
        Err(object) => within(object, DEPTH),
    }
}

fn within(mut object: Map<String, Value>, depth: u8) -> Told {
    if let Some(name) = object.get("Event").and_then(Value::as_str) {
        let name = name.to_owned();
        return listener_event(&name, object).map_or(Told::Nothing, Told::Event);
    }
    // An entry of a log may have a run id in its context.
    if object.contains_key("runId") && !object.contains_key("level") {
        return Told::Event(of_query(object));
    }
    for name in WRAPPERS.into_iter().filter(|_| depth > 0) {
        let inner = object.get_mut(name).map(Value::take).and_then(into_object);
        match inner.map(|inner| within(inner, depth - 1)) {
            Some(Told::Nothing) | None => {}
            Some(told) => return told,
        }
    }
    Entry::of(&object).map_or(Told::Nothing, Told::Entry)
}

/// An object with a run id: a progress, or one of a listener's other events, which bear no name.
fn of_query(object: Map<String, Value>) -> EventKind {
    let has = |name: &str| object.contains_key(name);
    if OF_PROGRESS.into_iter().any(has) {
        EventKind::Progress(Box::new(progress::parse(object)))
    } else if has("exception") {
        listener::terminated(Fields::of(object))
    } else if has("name") || has("jobTags") {
        listener::started(Fields::of(object))
    } else {
        listener::idle(Fields::of(object))
    }
}

/// An object, or a text that is the JSON of one.
fn into_object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(object) => Some(object),
        Value::String(text) => serde_json::from_str(&text).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::units::BatchId;

    fn told(value: Value) -> Told {
        let Value::Object(object) = value else { panic!("an object") };
        read(object)
    }

    /// The batch of the progress that an object tells of.
    fn batch(value: Value) -> Option<BatchId> {
        match told(value) {
            Told::Event(EventKind::Progress(progress)) => progress.batch,
            other => panic!("a progress: {other:?}"),
        }
    }

    #[test]
    fn a_progress_comes_in_many_wrappings() {
        let progress = json!({"id": "a", "runId": "b", "batchId": 3});
        let text = progress.to_string();
        for object in [
            progress.clone(),
            json!({"progress": progress}),
            json!({"event": "progress", "progress": text}),
            json!({"Event": "x$QueryProgressEvent", "progress": progress}),
            json!({
                "id": "e", "timestamp": "2026-11-30T16:22:36Z", "level": "METRICS", "message": "m",
                "event_type": "stream_progress",
                "details": {"stream_progress": {"progress_json": text}},
            }),
            json!({"details": json!({"stream_progress": progress}).to_string()}),
        ] {
            assert_eq!(batch(object.clone()), Some(BatchId(3)), "{object}");
        }
    }

    #[test]
    fn events_of_a_listener_are_told_apart_by_their_fields() {
        let of = |value| match told(value) {
            Told::Event(EventKind::Started(_)) => "started",
            Told::Event(EventKind::Idle { .. }) => "idle",
            Told::Event(EventKind::Terminated(_)) => "terminated",
            _ => "other",
        };
        assert_eq!(of(json!({"id": "a", "runId": "b", "name": null, "timestamp": "x"})), "started");
        assert_eq!(of(json!({"id": "a", "runId": "b", "timestamp": "x"})), "idle");
        assert_eq!(of(json!({"id": "a", "runId": "b", "exception": null})), "terminated");
    }

    #[test]
    fn other_objects_tell_nothing() {
        for object in [
            json!({}),
            json!({"Event": "SparkListenerJobStart", "runId": "b"}),
            json!({"details": {"flow_progress": {"status": "RUNNING"}}}),
            json!({"progress": "none"}),
        ] {
            assert_eq!(told(object.clone()), Told::Nothing, "{object}");
        }
        let mut deep = json!({"runId": "b"});
        for _ in 0..20 {
            deep = json!({"progress": deep});
        }
        assert_eq!(told(deep), Told::Nothing);
    }

    #[test]
    fn entries_of_a_log_stay_entries() {
        let entry =
            json!({"ts": "2026-11-30T16:22:36Z", "level": "INFO", "msg": "m", "context": {}});
        assert!(matches!(told(entry), Told::Entry(entry) if entry.message == "m"));
    }
}
