//! Events as comma-separated values: what fits into one line, summed over operators and sources.

use std::io;

use super::super::csv::or_empty;
use super::super::text::clean;
use crate::report::{LineKind, ProgressLine, TellerWord};
use crate::units::{Bytes, UnixMillis};

const HEADING: [&str; 22] = [
    "kind",
    "source",
    "source_line",
    "query_id",
    "run_id",
    "name",
    "batch_id",
    "timestamp",
    "rows_in",
    "batch_duration_ms",
    "input_rate",
    "processed_rate",
    "state_rows",
    "memory_bytes",
    "partitions",
    "watermark",
    "watermark_lag_ms",
    "lag_offsets",
    "lag_bytes",
    "error_class",
    "text",
    "told_by",
];

/// Makes records; before the first one stands the heading.
#[derive(Debug, Default)]
pub(super) struct CsvLines {
    headed: bool,
}

impl CsvLines {
    /// The bytes of a line.
    pub(super) fn record(&mut self, line: &ProgressLine) -> io::Result<Vec<u8>> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        if !std::mem::replace(&mut self.headed, true) {
            csv.write_record(HEADING)?;
        }
        csv.write_record(fields(line))?;
        csv.into_inner().map_err(io::Error::other)
    }
}

fn fields(line: &ProgressLine) -> [String; 22] {
    let text = |text: &Option<String>| clean(text.as_deref().unwrap_or_default()).into_owned();
    let time = |moment: Option<UnixMillis>| or_empty(moment.and_then(UnixMillis::iso));
    let memory: Option<Vec<Bytes>> = line.operators.iter().map(|one| one.memory_bytes).collect();
    let memory = memory.filter(|all| !all.is_empty());
    let partitions = line.operators.iter().filter_map(|operator| operator.partitions).max();
    let lag = |of: fn(&crate::report::LagLine) -> Option<u64>| {
        let lags: Vec<u64> = line.sources.iter().filter_map(|source| of(&source.lag)).collect();
        or_empty((!lags.is_empty()).then(|| lags.into_iter().fold(0, u64::saturating_add)))
    };
    [
        kind(line.kind).to_owned(),
        clean(&line.source).into_owned(),
        or_empty(line.source_line),
        text(&line.query_id),
        text(&line.run_id),
        text(&line.name),
        or_empty(line.batch_id),
        time(line.timestamp),
        or_empty(line.rows_in),
        or_empty(line.batch_duration_ms),
        or_empty(line.input_rate),
        or_empty(line.processed_rate),
        or_empty(line.state_rows()),
        or_empty(memory.map(|all| all.into_iter().sum::<Bytes>())),
        or_empty(partitions),
        time(line.watermark.filter(|moment| moment.0 != 0)),
        or_empty(line.watermark_lag_ms()),
        lag(|lag| lag.offsets),
        lag(|lag| lag.bytes),
        text(&line.error_class),
        text(&line.text),
        or_empty(line.told_by.map(teller)),
    ]
}

/// Who tells, as JSON names it.
fn teller(teller: TellerWord) -> &'static str {
    match teller {
        TellerWord::Query => "query",
        TellerWord::Plan => "plan",
    }
}

/// The kind as JSON names it.
fn kind(kind: LineKind) -> &'static str {
    match kind {
        LineKind::Started => "started",
        LineKind::Progress => "progress",
        LineKind::Idle => "idle",
        LineKind::Terminated => "terminated",
        LineKind::PartitionLoad => "partition_load",
        LineKind::Gap => "gap",
        LineKind::Unreadable => "unreadable",
        LineKind::Restart => "restart",
        LineKind::Repartition => "repartition",
        LineKind::ConfRestored => "conf_restored",
        LineKind::Environment => "environment",
        LineKind::Interrupted => "interrupted",
    }
}
