//! The report behind `statetop offsets`: where a query stands in its sources.

use serde::Serialize;

use super::{InspectReport, SourceReport};
use crate::units::{BatchId, UnixMillis};

/// How far each source is read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OffsetsReport {
    /// The checkpoint as the operator named it.
    pub checkpoint: String,
    /// The query's id from `metadata`.
    pub query_id: Option<String>,
    /// The committed batch whose ends these are.
    pub batch: Option<BatchId>,
    /// A later batch that is planned and not committed.
    pub pending_batch: Option<BatchId>,
    /// Processing-time clock of the batch.
    pub batch_timestamp: Option<UnixMillis>,
    /// Event-time watermark in force for the batch; 0 means not set yet.
    pub watermark: Option<UnixMillis>,
    /// Whether the query keeps state, which a new checkpoint begins without.
    pub stateful: bool,
    /// One per source, in the entry's order.
    pub sources: Vec<SourceOffsets>,
}

/// How far a source is read, and what a new checkpoint can do with it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceOffsets {
    /// Position (offset log v1) or source id or name (v2).
    pub id: String,
    /// `kafka`, `file`, `rate`, `delta`, … or `unknown`.
    pub kind: String,
    /// One line for people.
    pub summary: String,
    /// The offset exactly as logged; `None` where the log has `-`.
    pub offset: Option<serde_json::Value>,
    /// The value of Kafka's option `startingOffsets` that goes on from here; `None` for other
    /// sources.
    pub starting_offsets: Option<String>,
    /// How a new checkpoint goes on from here.
    pub new_checkpoint: String,
}

impl OffsetsReport {
    /// The offsets of the batch that an overview is about.
    pub fn of(seen: &InspectReport) -> Self {
        let pending = seen.last_planned_batch.filter(|planned| Some(*planned) > seen.batch);
        Self {
            checkpoint: seen.checkpoint.clone(),
            query_id: seen.query_id.clone(),
            batch: seen.batch,
            pending_batch: pending.filter(|_| seen.batch == seen.last_committed_batch),
            batch_timestamp: seen.batch_timestamp,
            watermark: seen.watermark,
            stateful: seen.stateful,
            sources: seen.sources.iter().map(source).collect(),
        }
    }
}

fn source(source: &SourceReport) -> SourceOffsets {
    let starting_offsets = match (&source.offset, source.kind.as_str()) {
        (Some(offset), "kafka") => Some(offset.to_string()),
        _ => None,
    };
    SourceOffsets {
        id: source.id.clone(),
        kind: source.kind.clone(),
        summary: source.summary.clone(),
        offset: source.offset.clone(),
        starting_offsets,
        new_checkpoint: new_checkpoint(source),
    }
}

/// What an option of the source can do; of those that have none, what else is possible.
fn new_checkpoint(source: &SourceReport) -> String {
    if source.offset.is_none() {
        return "nothing was read yet: begin as for a new query".to_owned();
    }
    let field = |name: &str| source.offset.as_ref()?.get(name)?.as_i64();
    match source.kind.as_str() {
        "kafka" => "option startingOffsets, with the JSON of --starting-offsets; partitions that \
                    are new since then begin at the earliest offset"
            .to_owned(),
        "event-hubs" => "option eventhubs.startingPositions with these sequence numbers, each \
                         with isInclusive false where it was the last one read"
            .to_owned(),
        "delta" => match (field("reservoirVersion"), field("index")) {
            (Some(version), Some(-1)) => {
                format!("option startingVersion={version}: everything before it is read")
            }
            (Some(version), _) => format!(
                "option startingVersion={version}: the version is read in part, so its first \
                 files come again; startingVersion={} skips the rest of it",
                version.saturating_add(1)
            ),
            _ => "option startingVersion with the version in the offset".to_owned(),
        },
        "file" => "no option begins in the middle: a new checkpoint reads every file that is \
                   there. Move the files that are done away, or set maxFileAge or a path filter; \
                   `sources/<id>` lists what was taken"
            .to_owned(),
        "auto-loader" => {
            "option cloudFiles.includeExistingFiles=false takes only what comes after \
                          the start; modifiedAfter with a moment before the last batch repeats a \
                          little instead of skipping"
                .to_owned()
        }
        "kinesis" => "option initialPosition with at_timestamp, a little before the batch's time; \
                      the connector takes no sequence numbers per shard from outside"
            .to_owned(),
        "rate" | "rate-micro-batch" | "continuous-rate" => {
            "a source for tests: it begins anew".to_owned()
        }
        _ => "only the source knows; look for an option that sets where it starts, and compare \
              with the offset as logged"
            .to_owned(),
    }
}
