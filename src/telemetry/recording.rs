//! Recordings: what sources told, as lines of JSON that can be taken home and told again.
//!
//! ```text
//!  {"statetop_recording": 1, "statetop": "0.3.0", "begun": …, "sources": […], "text": "masked"}
//!  {"heard": …, "source": "driver.log", "line": 17, "statetop_event": {"progress": {…}}}
//! ```
//! The first line says what it is and which version of the form; each other line is one event of
//! [`super::event`] with the place where it stood. A recording is read like any text, so that one
//! that is still being written, cut or damaged needs nothing of its own: what cannot be read is
//! told with its line, and reading goes on. What looks secret or personal is left out while it is
//! written, by `mask`. Must not know the screen.

mod mask;
mod pace;
mod write;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::event::{Event, EventKind, Place};
use crate::units::UnixMillis;

pub use pace::{Replay, told_at};
pub use write::Recorder;

/// The version of the form.
const VERSION: u64 = 1;
/// The field that makes a line the first of a recording; its value is the version.
const HEADER: &str = "statetop_recording";
/// The field that makes a line an event.
const EVENT: &str = "statetop_event";

/// What becomes of texts that people wrote, or that may quote data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Texts {
    /// Of exceptions classes and stack traces stay, messages go; observed metrics go.
    Masked,
    /// They stay, but for what looks like a password, a token or an address of mail.
    Kept,
}

/// The first line.
#[derive(Debug, Serialize)]
struct Header<'a> {
    statetop_recording: u64,
    statetop: &'a str,
    begun: UnixMillis,
    sources: Vec<String>,
    text: Texts,
}

/// An event.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    /// When it was recorded.
    heard: Option<UnixMillis>,
    /// The source that told it.
    source: String,
    /// The line in that source.
    line: Option<u64>,
    /// The event.
    statetop_event: EventKind,
}

/// What an object of a recording is.
#[derive(Debug, PartialEq)]
pub(super) enum Recorded {
    /// The first line.
    Beginning,
    /// An event, as it was told.
    Event(Box<Event>),
    /// Neither, and why.
    Unreadable(String),
}

/// Reads an object of a recording; gives it back where it is something else.
pub(super) fn read(object: Map<String, Value>) -> Result<Recorded, Map<String, Value>> {
    if let Some(version) = object.get(HEADER) {
        return Ok(match version.as_u64() {
            Some(VERSION) => Recorded::Beginning,
            _ => Recorded::Unreadable(format!(
                "a recording of version {version}: expected {VERSION}; a newer statetop made it"
            )),
        });
    }
    if !object.contains_key(EVENT) {
        return Err(object);
    }
    Ok(match serde_json::from_value::<Entry>(Value::Object(object)) {
        Ok(Entry { source, line, statetop_event: kind, heard: _ }) => {
            let place = Place { source: source.into(), line };
            Recorded::Event(Box::new(Event { place, kind }))
        }
        Err(error) => Recorded::Unreadable(format!("a damaged line of a recording: {error}")),
    })
}

/// The names of the sources that a recording is of, by its first line; none where it is no
/// recording.
pub fn sources(first_line: &str) -> Vec<String> {
    let header: Option<Value> = serde_json::from_str(first_line).ok();
    let header = header.filter(|header| header.get(HEADER).is_some());
    let names = header.as_ref().and_then(|header| header.get("sources")?.as_array());
    let names = names.into_iter().flatten().filter_map(Value::as_str);
    names.map(str::to_owned).collect()
}

/// Whether a text begins as a recording does.
pub(super) fn begins(head: &[u8]) -> bool {
    head.strip_prefix(b"{\"").is_some_and(|rest| rest.starts_with(HEADER.as_bytes()))
}
