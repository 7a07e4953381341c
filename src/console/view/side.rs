//! Beside the heatmap: statistics, and how many partitions each step of the scale has. The
//! histogram is the heatmap's legend too.

use std::ops::Range;

use ratatui::layout::Rect;

use super::super::compared::Compared;
use super::super::data::StoreData;
use super::super::format;
use super::super::heat::{CLASSES, Heat, HeatScale, Metric};
use super::super::look::{HEAT_STEPS, Role, Symbols};
use super::super::paint::{Canvas, bar};
use super::super::text::Row;
use super::map::heat_cell;
use crate::analysis::{Distribution, Spread};

/// Lines that the statistics take.
const STATISTICS: usize = 4;

/// Draws statistics and histogram.
pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    store: &StoreData,
    compared: &Compared,
    scale: &HeatScale,
    area: Rect,
) {
    let symbols = canvas.symbols();
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let metric = compared.metric;
    let mut rows = match &compared.distribution {
        Some(distribution) => statistics(distribution, metric, symbols),
        None => vec![Row::of(format!("{} not known", metric.word()), Role::HeatUnknown)],
    };
    rows.resize(STATISTICS, Row::new());
    let room = usize::from(area.height).saturating_sub(STATISTICS + 1);
    rows.extend(histogram(store, compared, scale, symbols, room, usize::from(area.width)));
    canvas.rows(area, &rows);
}

fn statistics(d: &Distribution, metric: Metric, symbols: &Symbols) -> Vec<Row> {
    let number = |n: Option<f64>| n.map_or_else(|| "-".to_owned(), |n| format!("{n:.2}"));
    let pair = |row: &mut Row, at: usize, label: &str, text: String, role: Role| {
        row.pad_to(at, Role::Text);
        row.push(format!("{label} "), Role::Muted);
        row.push(text, role);
    };
    let mut total = Row::new();
    let label = if d.unknown == 0 { "total" } else { "known" };
    pair(&mut total, 0, label, metric.value(d.total), Role::Strong);
    pair(&mut total, 19, "mean", metric.value(format::whole(d.mean)), Role::Text);
    let mut most = Row::new();
    let at = d.largest.first().map(|largest| format!(" ({})", largest.partition));
    pair(&mut most, 0, "max", metric.value(d.max) + &at.unwrap_or_default(), Role::Strong);
    let over = format!("max{}mean", symbols.over);
    let (ratio, role) = match d.max_over_mean {
        Some(ratio) if metric.judge(d) == Spread::Skewed => {
            (format!("{} !", format::ratio(ratio)), Role::Warning)
        }
        Some(ratio) => (format::ratio(ratio), Role::Text),
        None => ("-".to_owned(), Role::Muted),
    };
    pair(&mut most, 19, &over, ratio, role);
    let mut ranks = Row::new();
    pair(&mut ranks, 0, "p50", metric.short(d.p50), Role::Text);
    pair(&mut ranks, 12, "p95", metric.short(d.p95), Role::Text);
    pair(&mut ranks, 24, "p99", metric.short(d.p99), Role::Text);
    let mut shape = Row::new();
    pair(&mut shape, 0, "min", metric.short(d.min), Role::Text);
    pair(&mut shape, 12, "gini", number(d.gini), Role::Text);
    pair(&mut shape, 24, "cv", number(d.cv), Role::Text);
    vec![total, most, ranks, shape]
}

/// One line for every class of marks, or for every step where there is room; then what is
/// empty and what is unknown.
fn histogram(
    store: &StoreData,
    compared: &Compared,
    scale: &HeatScale,
    symbols: &Symbols,
    room: usize,
    columns: usize,
) -> Vec<Row> {
    let metric = compared.metric;
    let mut steps = [0_u64; HEAT_STEPS];
    let (mut empty, mut unknown) = (0_u64, 0_u64);
    for (_, value) in compared.each(store) {
        match scale.heat(value) {
            Heat::Empty => empty += 1,
            Heat::Unknown => unknown += 1,
            Heat::Step(step) => {
                if let Some(count) = steps.get_mut(step) {
                    *count += 1;
                }
            }
        }
    }
    let bars: Vec<Range<usize>> = if room >= HEAT_STEPS {
        (0..HEAT_STEPS).map(|step| step..step + 1).collect()
    } else {
        CLASSES.to_vec()
    };
    let counts: Vec<u64> =
        bars.iter().map(|bar| steps.get(bar.clone()).unwrap_or_default().iter().sum()).collect();
    let most = counts.iter().copied().max().unwrap_or(0);
    let digits = format::count(most).len();
    let mut rows: Vec<Row> = bars
        .iter()
        .zip(counts)
        .map(|(steps, count)| {
            let mut row = swatch(steps, symbols);
            row.push(format!(" {:>13} ", range(scale, steps, metric)), Role::Muted);
            row.push(format!("{:>digits$} ", format::count(count)), Role::Text);
            let part = format::float(count) / format::float(most.max(1));
            let width = columns.saturating_sub(row.width());
            let middle = usize::midpoint(steps.start, steps.end - 1);
            row.with(bar(symbols, part, width), Role::heat(middle))
        })
        .collect();
    let (mark, role) = heat_cell(Heat::Empty, symbols);
    let mut last =
        Row::of(mark, role).with(format!("  empty {}   ", format::count(empty)), Role::Muted);
    let (mark, role) = heat_cell(Heat::Unknown, symbols);
    last.push(mark, role);
    let weight = if unknown > 0 { Role::HeatUnknown } else { Role::Muted };
    last.push(format!(" unknown {}", format::count(unknown)), weight);
    rows.push(last);
    rows
}

fn swatch(steps: &Range<usize>, symbols: &Symbols) -> Row {
    let mut row = Row::new();
    for step in [steps.start, steps.end - 1] {
        let (symbol, role) = heat_cell(Heat::Step(step), symbols);
        row.push(symbol, role);
    }
    row
}

fn range(scale: &HeatScale, steps: &Range<usize>, metric: Metric) -> String {
    let (from, to) = (scale.begins(steps.start), scale.begins(steps.end));
    if steps.start == 0 {
        format!("under {}", metric.short(to))
    } else if steps.end == HEAT_STEPS {
        format!("from {}", metric.short(from))
    } else {
        format!("{}-{}", metric.short(from), metric.short(to))
    }
}
