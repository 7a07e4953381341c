//! The shapes of offsets that can be told apart by their fields, one function per source.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use super::kafka::{self, Numbers};
use super::{Described, count, short};
use crate::checkpoint::names;

type Fields = Map<String, Value>;

/// A bare number: rate (seconds since start), socket and memory sources all write one.
pub(super) fn number(number: &Number) -> Described {
    Described { kind: "number", summary: number.to_string() }
}

/// An object with the fields of a known source.
pub(super) fn object(fields: &Fields) -> Option<Described> {
    const KNOWN: [fn(&Fields) -> Option<Described>; 8] = [
        file,
        rate_micro_batch,
        delta,
        auto_loader,
        event_hubs,
        sequential_union,
        kinesis_shards,
        continuous_rate,
    ];
    KNOWN.into_iter().find_map(|known| known(fields))
}

/// The file source: an index into its own log; -1 before the first file.
fn file(fields: &Fields) -> Option<Described> {
    let last = fields.get("logOffset")?.as_i64()?;
    let summary = match last {
        ..0 => "no file yet".to_owned(),
        last => format!("log entry {last}"),
    };
    Some(Described { kind: "file", summary })
}

fn rate_micro_batch(fields: &Fields) -> Option<Described> {
    let offset = fields.get("offset")?.as_i64()?;
    fields.get("timestamp")?.as_i64()?;
    Some(Described { kind: "rate-micro-batch", summary: format!("{} read", count_rows(offset)) })
}

fn count_rows(rows: i64) -> String {
    count(u64::try_from(rows).unwrap_or(0), "row")
}

/// Delta Lake: a table version and an action inside it. Everything before is read; index -1 is
/// the version's beginning, other negative ones are marks of newer writers.
fn delta(fields: &Fields) -> Option<Described> {
    fields.get("reservoirId")?;
    let version = fields.get("reservoirVersion")?.as_i64()?;
    let place = match fields.get("index").and_then(Value::as_i64) {
        None => String::new(),
        Some(-1) => ", from its beginning".to_owned(),
        Some(index @ ..-1) => format!(", mark {index}"),
        Some(index) => format!(", action {index}"),
    };
    let initial = match fields.get("isStartingVersion").and_then(Value::as_bool) {
        Some(true) => ", still in the initial snapshot",
        _ => "",
    };
    Some(Described { kind: "delta", summary: format!("table version {version}{place}{initial}") })
}

/// Auto Loader: a sequence number of its own; it says nothing about rows or files behind.
fn auto_loader(fields: &Fields) -> Option<Described> {
    let sequence = fields.get("seqNum")?.as_i64()?;
    fields.get("sourceVersion")?;
    let last = fields.get("lastInputPath").and_then(Value::as_str);
    let last = last.map(|path| path.rsplit('/').next().unwrap_or_default());
    let file = last.filter(|name| !name.is_empty());
    let file = file.map(|name| format!(", last file {}", short(name))).unwrap_or_default();
    Some(Described { kind: "auto-loader", summary: format!("sequence number {sequence}{file}") })
}

fn event_hubs(fields: &Fields) -> Option<Described> {
    let hubs = fields.get("partitionToSeqNos")?.as_object()?;
    let nested = kafka::topics(hubs, Numbers::Sequence).or_else(|| event_hubs_flat(hubs));
    let summary = nested.map_or_else(|| short(&fields_text(fields)), |nested| nested.summary);
    Some(Described { kind: "event-hubs", summary })
}

/// Event Hubs with one key per hub and partition, `{"name":…,"partition":…}` as text or
/// `name-partition`, straight to a number.
fn event_hubs_flat(fields: &Fields) -> Option<Described> {
    let mut hubs = Fields::new();
    for (key, number) in fields {
        number.as_i64()?;
        let (name, partition) = hub_and_partition(key)?;
        let hub = hubs.entry(name).or_insert_with(|| Value::Object(Fields::new()));
        hub.as_object_mut()?.insert(partition, number.clone());
    }
    kafka::topics(&hubs, Numbers::Sequence).map(|told| Described { kind: "event-hubs", ..told })
}

fn hub_and_partition(key: &str) -> Option<(String, String)> {
    if let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(key) {
        let text = |names: [&str; 2]| names.into_iter().find_map(|name| fields.get(name));
        let name = text(["ehName", "name"])?.as_str()?.to_owned();
        let partition = text(["partitionId", "partition"])?.as_u64()?;
        return Some((name, partition.to_string()));
    }
    let (name, partition) = key.rsplit_once('-')?;
    names::decimal::<u32>(partition)?;
    Some((name.to_owned(), partition.to_owned()))
}

fn sequential_union(fields: &Fields) -> Option<Described> {
    let active = fields.get("activeSourceName")?.as_str()?;
    let length = |name: &str| fields.get(name).and_then(Value::as_array).map_or(0, Vec::len);
    let (done, all) = (length("completedSourceNames"), length("allSourceNames"));
    let summary = format!("reading {}, {done} of {all} sources done", short(active));
    Some(Described { kind: "sequential-union", summary })
}

/// Kinesis through the AWS Labs or the Qubole connector: one field per shard, and `metadata`.
fn kinesis_shards(fields: &Fields) -> Option<Described> {
    let stream = fields.get("metadata").and_then(|metadata| metadata.get("streamName"));
    let mut shards = 0;
    for (name, shard) in fields.iter().filter(|(name, _)| *name != "metadata") {
        let is_shard = name.starts_with("shardId-") || shard.get("iteratorType").is_some();
        if !is_shard || !shard.is_object() {
            return None;
        }
        shards += 1;
    }
    if shards == 0 && stream.is_none() {
        return None;
    }
    let stream = stream.and_then(Value::as_str).map_or(String::new(), |name| short(name) + " ");
    Some(Described { kind: "kinesis", summary: format!("{stream}{}", count(shards, "shard")) })
}

/// Kinesis on Databricks: a list of shards.
pub(super) fn kinesis_list(items: &[Value]) -> Option<Described> {
    let mut streams = BTreeSet::new();
    let (mut shards, mut closed, mut behind) = (0_u64, 0_u64, None::<u64>);
    for item in items {
        let shard = item.get("shard")?;
        shard.get("shardId")?;
        streams.extend(shard.get("stream").and_then(Value::as_str));
        shards += 1;
        closed += u64::from(item.get("closed").and_then(Value::as_bool) == Some(true));
        behind = behind.max(item.get("msBehindLatest").and_then(millis));
    }
    let stream = match streams.len() {
        1 => streams.first().map_or(String::new(), |name| short(name) + " "),
        0 => return None,
        many => format!("{many} streams, "),
    };
    let closed = if closed > 0 { format!(", {closed} of them closed") } else { String::new() };
    let behind = behind.map(|ms| format!(", at most {ms} ms behind the latest"));
    let summary =
        format!("{stream}{}{closed}{}", count(shards, "shard"), behind.unwrap_or_default());
    Some(Described { kind: "kinesis", summary })
}

/// A number, or a number as text.
fn millis(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// The rate source in continuous mode: one object per partition.
fn continuous_rate(fields: &Fields) -> Option<Described> {
    let mut highest = None;
    for (partition, progress) in fields {
        names::decimal::<u32>(partition)?;
        progress.get("runTimeMs")?;
        highest = highest.max(Some(progress.get("value")?.as_i64()?));
    }
    let partitions = u64::try_from(fields.len()).unwrap_or(u64::MAX);
    let summary = format!("{}, highest value {}", count(partitions, "partition"), highest?);
    Some(Described { kind: "continuous-rate", summary })
}

fn fields_text(fields: &Fields) -> String {
    Value::Object(fields.clone()).to_string()
}
