//! The lines below the bars: rates, backlog, watermark lag, state, over the same batches.

use super::super::super::format;
use super::super::super::look::{Role, Symbols};
use super::super::super::msg::Size;
use super::super::super::paint::Canvas;
use super::super::super::places::Batches;
use super::super::super::text::{Row, cut};
use super::chart::Chart;
use crate::telemetry::timeline::{Batch, Column, QueryTimeline};
use crate::telemetry::{Lag, Rows};
use crate::units::Bytes;

/// Sources that get a line each on a tall screen.
const SOURCES: usize = 4;
/// From this height on there is room for them.
const TALL: u16 = 34;

/// A line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Series {
    InputRate,
    ProcessedRate,
    Behind,
    /// How far one of several sources is behind, by its place.
    Source(usize),
    WatermarkLag,
    StateRows,
    Memory,
    Dropped,
}

/// What a value is told in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Rate,
    Count,
    Bytes,
    Millis,
}

/// The lines in the order of their weight: where there is little room the last are left out.
pub(super) fn series(query: &QueryTimeline, size: Size) -> Vec<Series> {
    let mut series = vec![
        Series::InputRate,
        Series::Behind,
        Series::WatermarkLag,
        Series::ProcessedRate,
        Series::StateRows,
        Series::Memory,
        Series::Dropped,
    ];
    let newest = query.newest().and_then(|place| query.batch(place)?.progress());
    let sources = newest.map_or(0, |progress| progress.sources.len());
    if size.height >= TALL && sources > 1 {
        series.splice(2..2, (0..sources.min(SOURCES)).map(Series::Source));
    }
    series
}

impl Series {
    fn label(self, chart: &Chart<'_>) -> String {
        match self {
            Self::InputRate => "rows/s in".to_owned(),
            Self::ProcessedRate => "rows/s done".to_owned(),
            Self::Behind => "behind".to_owned(),
            Self::Source(at) => {
                let named = chart
                    .batches()
                    .rev()
                    .find_map(|batch| batch.progress()?.sources.get(at)?.description.as_deref());
                format!(
                    " {}",
                    named
                        .map_or_else(|| format!("source {at}"), |name| short_name(name).to_owned())
                )
            }
            Self::WatermarkLag => "watermark".to_owned(),
            Self::StateRows => "state rows".to_owned(),
            Self::Memory => "memory".to_owned(),
            Self::Dropped => "dropped".to_owned(),
        }
    }

    fn unit(self, chart: &Chart<'_>) -> Unit {
        match self {
            Self::InputRate | Self::ProcessedRate => Unit::Rate,
            Self::StateRows | Self::Dropped => Unit::Count,
            Self::Memory => Unit::Bytes,
            Self::WatermarkLag => Unit::Millis,
            Self::Behind => unit_behind(chart.batches().map(|batch| batch.numbers.behind)),
            Self::Source(at) => unit_behind(
                chart.batches().filter_map(|batch| Some(batch.progress()?.sources.get(at)?.lag)),
            ),
        }
    }

    fn of(self, batch: &Batch, unit: Unit) -> Option<f64> {
        let numbers = &batch.numbers;
        let whole = |value: Option<u64>| value.map(format::float);
        match self {
            Self::InputRate => numbers.input_rate,
            Self::ProcessedRate => numbers.processed_rate,
            Self::Behind => whole(behind(numbers.behind, unit)),
            Self::Source(at) => whole(behind(batch.progress()?.sources.get(at)?.lag, unit)),
            Self::WatermarkLag => whole(numbers.watermark_lag()),
            Self::StateRows => match numbers.state_rows {
                Rows::Known(rows) => Some(format::float(rows)),
                Rows::Untracked | Rows::Unknown => None,
            },
            Self::Memory => whole(numbers.memory.map(|bytes| bytes.0)),
            Self::Dropped => whole(numbers.dropped),
        }
        .filter(|value| value.is_finite() && *value >= 0.0)
    }
}

/// Sources tell a backlog in offsets, bytes or files.
fn unit_behind(lags: impl Iterator<Item = Lag>) -> Unit {
    let mut bytes = false;
    for lag in lags {
        if lag.offsets.or(lag.files).is_some() {
            return Unit::Count;
        }
        bytes |= lag.bytes.is_some();
    }
    if bytes { Unit::Bytes } else { Unit::Count }
}

fn behind(lag: Lag, unit: Unit) -> Option<u64> {
    match unit {
        Unit::Bytes => lag.bytes,
        _ => lag.offsets.or(lag.files).or(lag.worst),
    }
}

/// `KafkaV2[Subscribe[orders]]` as `orders`, `FileStreamSource[s3://bucket/landing]` as `landing`.
pub(super) fn short_name(description: &str) -> &str {
    let inner = description.rsplit('[').next().unwrap_or(description).trim_end_matches(']');
    let inner = inner.trim_end_matches('/');
    let last = inner.rsplit('/').next().unwrap_or(inner);
    if last.is_empty() { description } else { last }
}

fn text(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Rate => format::rate(value),
        Unit::Count => format::compact(format::whole(value)),
        Unit::Bytes => format::bytes(Bytes(format::whole(value))),
        Unit::Millis => format::millis(format::whole(value)),
    }
}

/// Draws the lines that there is room for.
pub(super) fn draw(canvas: &mut Canvas<'_>, chart: &Chart<'_>, series: &[Series], plan: &Batches) {
    let symbols = canvas.symbols();
    let rows: Vec<Row> = series
        .iter()
        .take(usize::from(plan.lines.height))
        .map(|series| line(*series, chart, plan, symbols))
        .collect();
    canvas.rows(plan.lines, &rows);
}

fn line(series: Series, chart: &Chart<'_>, plan: &Batches, symbols: &Symbols) -> Row {
    let unit = series.unit(chart);
    let range = Range::of(chart.batches().filter_map(|batch| series.of(batch, unit)), series);
    let label = usize::from(plan.label);
    let name = cut(&series.label(chart), label.saturating_sub(2), symbols.ellipsis);
    let mut row = Row::of(format!(" {name}"), Role::Muted);
    row.pad_to(label, Role::Muted);
    for x in 0..chart.width {
        let (mark, role) = match chart.cell(x) {
            Some(Column::Batch(_, batch)) => range.mark(series.of(batch, unit), symbols),
            Some(Column::Seam(_)) => (symbols.seam, Role::Border),
            Some(Column::Gap { .. }) | None => (" ", Role::Text),
        };
        row.push(mark, role);
    }
    let here = chart.chosen().and_then(|batch| series.of(batch, unit));
    let here = here.map_or_else(|| "-".to_owned(), |value| text(value, unit));
    row.push(format!(" {here:>8}"), Role::Strong);
    if plan.has_words() {
        row.push(format!(" {:>8}", text(range.most, unit)), Role::Muted);
    }
    row
}

/// What the heights of a line reach over.
#[derive(Debug, Clone, Copy)]
struct Range {
    least: f64,
    most: f64,
}

impl Range {
    /// What flows is drawn from nothing up; what stands (state, memory, lag) from its least on
    /// view, since only its changes can be seen.
    fn of(values: impl Iterator<Item = f64>, series: Series) -> Self {
        let stands = matches!(series, Series::StateRows | Series::Memory | Series::WatermarkLag);
        let none = Self { least: f64::INFINITY, most: 0.0 };
        let range = values.fold(none, |range, value| Self {
            least: range.least.min(value),
            most: range.most.max(value),
        });
        if stands && range.least.is_finite() { range } else { Self { least: 0.0, ..range } }
    }

    /// A value as one of eight heights.
    fn mark(self, value: Option<f64>, symbols: &Symbols) -> (&'static str, Role) {
        let Some(value) = value else { return (" ", Role::Text) };
        if value <= 0.0 || self.most <= 0.0 {
            return (symbols.empty, Role::Muted);
        }
        let levels = symbols.levels.len();
        let spread = self.most - self.least;
        let level = if self.least <= 0.0 {
            (value / self.most * format::float(levels as u64)).ceil()
        } else if spread < self.most * STILL {
            // Nothing that moves: a line in the middle.
            format::float(levels as u64 / 2)
        } else {
            1.0 + (value - self.least) / spread * format::float(levels as u64 - 1)
        };
        let level = usize::try_from(format::whole(level)).unwrap_or(levels).clamp(1, levels);
        (symbols.levels.get(level - 1).copied().unwrap_or(" "), Role::Bar)
    }
}

/// What changes by less than this part of itself stands still.
const STILL: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_flows_is_drawn_from_nothing_and_what_stands_from_its_least() {
        let symbols = crate::console::look::Charset::Utf8.symbols();
        let drawn = |series, values: &[f64]| -> String {
            let range = Range::of(values.iter().copied(), series);
            values.iter().map(|value| range.mark(Some(*value), symbols).0).collect()
        };
        assert_eq!(drawn(Series::InputRate, &[0.0, 1.0, 4.0, 8.0]), "·▁▄█");
        assert_eq!(drawn(Series::StateRows, &[700.0, 800.0, 1_400.0]), "▁▂█");
        assert_eq!(drawn(Series::Memory, &[1_000.0, 1_001.0]), "▄▄", "a thousandth is nothing");
        assert_eq!(drawn(Series::WatermarkLag, &[0.0, 8.0]), "·█");
    }

    #[test]
    fn sources_are_named_by_what_they_read() {
        let names = [
            "KafkaV2[Subscribe[orders]]",
            "FileStreamSource[s3://example-bucket/landing/ledger]",
            "RateStreamV2[rowsPerSecond=10]",
            "DeltaSource[dbfs:/tables/x/]",
            "[]",
        ];
        assert_eq!(names.map(short_name), ["orders", "ledger", "rowsPerSecond=10", "x", "[]"]);
    }
}
