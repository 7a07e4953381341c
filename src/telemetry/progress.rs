//! One `StreamingQueryProgress` as JSON, of any version and vendor, into a [`Progress`].
//!
//! A pure function that never fails: what is missing is unknown, what is odd or unknown is kept
//! in `other`. Field names are those of Spark's `StreamingQueryProgress.json`, which are the same
//! from 3.5 to 4.3 and on Databricks; the event log leaves out
//! totals and has offsets as texts. Must not know where the object was found.

mod operators;
mod sources;

pub(super) use operators::rows as state_rows;

use std::sync::Arc;

use serde_json::{Map, Value};

use super::event::{EventTime, Progress, QueryRef, SourceProgress, Teller, Watermark};
use super::fields::Fields;
use super::number;
use crate::units::{BatchId, UnixMillis};

/// Reads a progress object.
pub fn parse(object: Map<String, Value>) -> Progress {
    let mut fields = Fields::of(object);
    let query = query(&mut fields);
    let batch = fields.read("batchId", number::count).map(BatchId);
    let timestamp = fields.read("timestamp", number::time);
    let phases = phases(&mut fields);
    let duration_ms = fields
        .read("batchDuration", number::count)
        .or_else(|| phases.iter().find(|(name, _)| name == "triggerExecution").map(|(_, ms)| *ms));
    let (event_time, watermark) = event_time(&mut fields);
    let sources: Vec<_> = fields.objects("sources").into_iter().map(sources::parse).collect();
    let (rows_in, input_rate, processed_rate) = rates(&mut fields, &sources);
    Progress {
        told_by: Teller::Query,
        query,
        batch,
        timestamp,
        duration_ms,
        phases,
        rows_in,
        input_rate,
        processed_rate,
        event_time,
        watermark,
        operators: fields.objects("stateOperators").into_iter().map(operators::parse).collect(),
        sources,
        sink: fields.object("sink").map(sources::sink),
        other: fields.rest(),
    }
}

/// Which query an object with `id`, `runId` and `name` is about.
pub(super) fn query(fields: &mut Fields) -> QueryRef {
    QueryRef {
        id: fields.read("id", shared),
        run: fields.read("runId", shared),
        name: fields.read("name", shared),
    }
}

fn shared(value: &Value) -> Option<Arc<str>> {
    number::text(value).map(Arc::from)
}

/// Rows and rates over all sources. Event logs have those of the sources alone, of which Spark
/// makes its totals as sums.
fn rates(
    fields: &mut Fields,
    sources: &[SourceProgress],
) -> (Option<u64>, Option<f64>, Option<f64>) {
    let rate = |of: fn(&SourceProgress) -> Option<f64>| -> Option<f64> {
        sources.iter().map(of).sum::<Option<f64>>().filter(|_| !sources.is_empty())
    };
    let add = |sum: u64, source: &SourceProgress| Some(sum.saturating_add(source.rows_in?));
    let rows = sources.iter().try_fold(0, add);
    let rows = rows.filter(|_| !sources.is_empty());
    (
        fields.read("numInputRows", number::count).or(rows),
        fields
            .read("inputRowsPerSecond", number::real)
            .or_else(|| rate(|source| source.input_rate)),
        fields
            .read("processedRowsPerSecond", number::real)
            .or_else(|| rate(|source| source.processed_rate)),
    )
}

/// `durationMs`: an open set of names, which may contain dots.
fn phases(fields: &mut Fields) -> Vec<(String, u64)> {
    let (mut phases, mut odd) = (Vec::new(), Map::new());
    for (name, value) in fields.object("durationMs").unwrap_or_default() {
        match number::count(&value) {
            Some(ms) => phases.push((name, ms)),
            None if number::is_unknown(&value) => {}
            None => _ = odd.insert(name, value),
        }
    }
    fields.put_back::<()>("durationMs", Value::Object(odd));
    phases
}

/// `eventTime`: missing without a watermark; with no rows it has the watermark alone.
fn event_time(fields: &mut Fields) -> (EventTime, Watermark) {
    let mut times = Fields::of(fields.object("eventTime").unwrap_or_default());
    let watermark = match times.read("watermark", number::time) {
        Some(UnixMillis(0)) => Watermark::NotSet,
        Some(moment) => Watermark::At(moment),
        None => Watermark::None,
    };
    let event_time = EventTime {
        min: times.read("min", number::time),
        avg: times.read("avg", number::time),
        max: times.read("max", number::time),
    };
    fields.put_back::<()>("eventTime", Value::Object(times.rest()));
    (event_time, watermark)
}

#[cfg(test)]
mod tests;
