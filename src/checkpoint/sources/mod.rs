//! How far each source has been read, in one line for people.
//!
//! An offset is opaque: only the source knows what it means, and offsets do not name their
//! source. The known shapes are told apart by their fields ([`describe`]); where two sources write
//! the same shape, the source's own directory in the checkpoint may tell ([`reports`]).

mod kafka;
mod shapes;

use serde_json::Value;

use super::file_log;
use super::format::visible;
use super::offset::{OffsetEntry, SourceOffset};
use crate::report::SourceReport;
use crate::storage::{Storage, is_plain_name};
use crate::task::Cancel;
use crate::units::Bytes;

/// What an offset seems to be, and how far it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// `kafka`, `file`, `rate`, …; `number` for a bare number, which several sources write;
    /// `unknown` for shapes that are not known.
    pub kind: &'static str,
    /// One line for people, without control characters.
    pub summary: String,
}

/// The largest file read to tell which source a directory belongs to.
const MAX_HINT: Bytes = Bytes(1 << 20);

/// Describes an offset by its shape alone. The map `{topic: {partition: number}}` is taken for
/// Kafka's, although the Event Hubs connector writes the same, except where a number is negative:
/// that is Event Hubs' "nothing read yet", which Kafka never logs.
pub fn describe(offset: &Value) -> Described {
    let known = match offset {
        Value::Number(number) => Some(shapes::number(number)),
        Value::Array(items) => shapes::kinesis_list(items),
        Value::Object(fields) => {
            shapes::object(fields).or_else(|| kafka::topics(fields, kafka::Numbers::NextOffsets))
        }
        _ => None,
    };
    known.unwrap_or_else(|| Described { kind: "unknown", summary: short(&offset.to_string()) })
}

/// One report per source of an offset entry, in the entry's order. Looks into `sources/<id>/` of
/// file and rate sources; what cannot be read there only makes the summary shorter.
pub fn reports(storage: &Storage, entry: &OffsetEntry) -> Vec<SourceReport> {
    entry.offsets.iter().map(|source| report(storage, source)).collect()
}

fn report(storage: &Storage, source: &SourceOffset) -> SourceReport {
    let offset = source.value();
    let described = match &offset {
        None => Described { kind: "unknown", summary: "no offset yet".to_owned() },
        Some(offset) => refine(storage, &source.id, offset),
    };
    SourceReport {
        id: source.id.clone(),
        kind: described.kind.to_owned(),
        summary: described.summary,
        offset,
    }
}

/// Describes an offset with the help of the source's own directory.
fn refine(storage: &Storage, id: &str, offset: &Value) -> Described {
    let described = describe(offset);
    // A source's name comes from the log; only a plain one is a directory.
    if !is_plain_name(id) {
        return described;
    }
    let dir = format!("sources/{id}");
    match described.kind {
        "number" if is_rate_source(storage, &dir) => {
            let summary = format!("{} s since start", described.summary);
            Described { kind: "rate", summary }
        }
        "file" => {
            let last = offset.get("logOffset").and_then(Value::as_u64);
            let files = last.and_then(|last| files(storage, &dir, last));
            let summary = match files {
                Some(files) => format!("{}, {files}", described.summary),
                None => described.summary,
            };
            Described { summary, ..described }
        }
        _ => described,
    }
}

/// The rate source keeps its start time there: `v1` and a number.
fn is_rate_source(storage: &Storage, dir: &str) -> bool {
    let start = storage.read(&format!("{dir}/0"), MAX_HINT).unwrap_or_default();
    let lines = str::from_utf8(&start).unwrap_or_default().split_once('\n');
    lines.is_some_and(|(version, time)| version == "v1" && time.trim().parse::<i64>().is_ok())
}

/// `12 files in 4 batches`: what the file source has taken up to entry `last` of its log.
fn files(storage: &Storage, dir: &str, last: u64) -> Option<String> {
    // A refresh every two seconds must not stream a large log over a network.
    let limit = if storage.is_local() { Bytes(32 << 20) } else { Bytes(4 << 20) };
    let log = file_log::summarise(storage, dir, Some(last), limit, &Cancel::default()).ok()?;
    let entries = log.entries?;
    let batches = log.last?.saturating_add(1);
    Some(format!("{} in {}", count(entries, "file"), count_batches(batches)))
}

/// `1 file`, `2 files`.
fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

fn count_batches(number: u64) -> String {
    if number == 1 { "1 batch".to_owned() } else { format!("{number} batches") }
}

/// Text from a file, made short and printable.
fn short(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut short: String = text.chars().take(LONGEST).map(visible).collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests;
