//! The bars: a batch each, its phases stacked. Beside them the axis, and how batch times are
//! distributed.

use ratatui::layout::Rect;

use super::super::super::format;
use super::super::super::look::{Role, Symbols};
use super::super::super::paint::{Canvas, bar};
use super::super::super::places::Batches;
use super::super::super::state::State;
use super::super::super::text::{Row, width};
use super::chart::{Chart, drawn};
use crate::analysis::times::{Cadence, Times};
use crate::telemetry::timeline::{Batch, Column, Phase};
use crate::units::BatchId;

/// Stands for batches that were not told.
pub(super) const GAP: &str = "/";
/// Stands for a repartition, which reports nothing.
pub(super) const REPARTITION: &str = "R";
/// Stands for the end of a bar that is longer than the chart is high.
pub(super) const CUT: &str = "+";
/// A chart of this height has room for a histogram beside it.
const TALL: usize = 11;
/// Lines of the percentiles.
const PERCENTILES: usize = 5;
/// The most lines of a histogram.
const HISTOGRAM: usize = 10;

/// The role of a phase.
pub(super) fn role(phase: Phase) -> Role {
    match phase {
        Phase::Execute => Role::PhaseExecute,
        Phase::Plan => Role::PhasePlan,
        Phase::Sources => Role::PhaseSources,
        Phase::Logs => Role::PhaseLogs,
        Phase::Control => Role::PhaseControl,
        Phase::Other => Role::PhaseOther,
    }
}

/// Draws bars, axis and distribution.
pub(super) fn draw(canvas: &mut Canvas<'_>, state: &State, chart: &Chart<'_>, plan: &Batches) {
    let symbols = canvas.symbols();
    let height = usize::from(plan.chart.height);
    let trigger = state.query().map(|query| super::cadence(query, state.place()));
    let trigger = match trigger {
        Some(Cadence::About(every)) => Some(every),
        _ => None,
    };
    let label = usize::from(plan.label);
    let line = trigger.and_then(|every| line_at(every, chart.top, height));
    let rows: Vec<Row> = (0..height)
        .map(|row| {
            // Counted from below, as bars stand.
            let level = height - 1 - row;
            let text = match (line, trigger) {
                (Some(at), Some(every)) if at == level => format!("~ {}", format::millis(every)),
                _ if row == 0 => format::millis(chart.top),
                _ if level == 0 => "0".to_owned(),
                _ => String::new(),
            };
            let mut row = Row::of(format!("{text:>0$}", label - 2), Role::Muted);
            row.push(format!(" {}", symbols.wall), Role::Border);
            let thread = state.chosen.is_some();
            row.append(cells(chart, level, height, line == Some(level), thread, symbols));
            row
        })
        .collect();
    canvas.rows(plan.chart, &rows);
    canvas.row(plan.axis, &axis(state, chart, plan));
    let side = Rect {
        x: plan.chart.right().saturating_sub(plan.values),
        width: plan.values,
        ..plan.chart
    };
    if let Some(times) = state.query().and_then(|query| super::times(query, state.place())) {
        canvas.rows(side, &distribution(&times, height, plan, symbols));
    }
}

/// The level at which a time is, counted from below; none above the chart.
fn line_at(millis: u64, top: u64, height: usize) -> Option<usize> {
    if millis > top || top == 0 {
        return None;
    }
    let level = u128::from(millis) * height as u128 / u128::from(top);
    usize::try_from(level).ok().map(|level| level.min(height.saturating_sub(1)))
}

/// One line of the chart.
fn cells(
    chart: &Chart<'_>,
    level: usize,
    height: usize,
    line: bool,
    thread: bool,
    symbols: &Symbols,
) -> Row {
    let mut row = Row::new();
    let chosen = thread.then(|| chart.chosen_x()).flatten();
    for x in 0..chart.width {
        let column = chart.cell(x);
        let drawn = column.and_then(|column| match column {
            Column::Batch(_, batch) => cell(batch, level, height, chart.top, symbols),
            Column::Seam(_) => Some((symbols.seam, Role::Border)),
            Column::Gap { .. } => None,
        });
        let (mark, role) = drawn.unwrap_or(match (line, chosen == Some(x)) {
            (true, _) => (symbols.dash, Role::Info),
            // A thread from the bar up, to find it by.
            (false, true) => (symbols.point, Role::Muted),
            (false, false) => (" ", Role::Text),
        });
        row.push(mark, role);
    }
    row
}

/// What a batch shows at a level: the phase that takes most of what the cell stands for.
fn cell(
    batch: &Batch,
    level: usize,
    height: usize,
    top: u64,
    symbols: &Symbols,
) -> Option<(&'static str, Role)> {
    let total = drawn(batch);
    if total == 0 {
        let unknown = batch.numbers.took.is_none();
        let mark = if unknown { symbols.unknown } else { symbols.empty };
        let role = if unknown { Role::HeatUnknown } else { Role::Muted };
        return (level == 0).then_some((mark, role));
    }
    if total > top && level + 1 == height {
        return Some((CUT, Role::Warning));
    }
    let step = |level: usize| {
        let at = u128::from(top) * level as u128 / (height as u128).max(1);
        u64::try_from(at).unwrap_or(u64::MAX)
    };
    let (from, to) = (step(level), step(level + 1));
    let end = total.min(to);
    if end <= from && level > 0 {
        return None;
    }
    let phase = dominant(batch, from, end.max(from.saturating_add(1)));
    let eighths = (end.saturating_sub(from)).saturating_mul(8) / (to.saturating_sub(from)).max(1);
    let eighths = usize::try_from(eighths).unwrap_or(8).min(8);
    let mark = match (phase, eighths) {
        (_, 8..) => mark(phase, symbols),
        // Only a full block has shorter ones.
        (Phase::Execute, _) => {
            let least = usize::from(level == 0);
            symbols.rising.get(eighths.max(least).checked_sub(1)?).copied()?
        }
        (_, 4..) => mark(phase, symbols),
        _ if level == 0 => mark(phase, symbols),
        _ => return None,
    };
    Some((mark, role(phase)))
}

fn mark(phase: Phase, symbols: &Symbols) -> &'static str {
    let marks = Phase::ALL.into_iter().zip(symbols.phases);
    marks.into_iter().find(|(known, _)| *known == phase).map_or(" ", |(_, mark)| mark)
}

/// The phase that has most of the time between two heights of a bar.
fn dominant(batch: &Batch, from: u64, to: u64) -> Phase {
    let mut below = 0_u64;
    let mut best = (0_u64, Phase::Other);
    for phase in Phase::ALL {
        let above = below.saturating_add(batch.numbers.phases.of_phase(phase));
        let part = above.min(to).saturating_sub(below.max(from));
        if part > best.0 {
            best = (part, phase);
        }
        below = above;
    }
    best.1
}

/// The ids of the first and the last batch, and of the one that is looked at. Where batches are
/// missing, that is marked; above the values, what they are.
fn axis(state: &State, chart: &Chart<'_>, plan: &Batches) -> Row {
    let mut axis = Axis { cells: vec![None; chart.width] };
    if let (Some(x), Some(batch)) = (chart.chosen_x(), chart.chosen()) {
        let id = batch.id.to_string();
        // The id stands on the side that has room.
        if x + 1 + width(&id) <= chart.width {
            axis.write(x, &format!("^{id}"), Role::Strong);
        } else {
            axis.write(x.saturating_sub(width(&id)), &format!("{id}^"), Role::Strong);
        }
    }
    for (at, column) in chart.columns().iter().enumerate() {
        if let Column::Gap { after, before } = *column {
            let (mark, role) = match repartition_between(state, after, before) {
                Some(_) => (REPARTITION, Role::PhaseControl),
                None => (GAP, Role::Warning),
            };
            axis.write(chart.x_of(at), mark, role);
        }
    }
    let id = |batch: Option<&Batch>| batch.map(|batch| batch.id.to_string()).unwrap_or_default();
    axis.write(0, &id(chart.batches().next()), Role::Muted);
    let last = id(chart.batches().next_back());
    let end = chart.x_of(chart.columns().len().saturating_sub(1));
    axis.write(end.saturating_sub(width(&last).saturating_sub(1)), &last, Role::Muted);
    let mut row = Row::of(" batch", Role::Muted);
    row.pad_to(usize::from(plan.label), Role::Muted);
    row.append(axis.row());
    row.push(format!(" {:>8}", "here"), Role::Muted);
    if plan.has_words() {
        row.push(format!(" {:>8}", "most"), Role::Muted);
    }
    row
}

/// A line on which words keep clear of each other: whoever comes first has the place.
struct Axis {
    cells: Vec<Option<(char, Role)>>,
}

impl Axis {
    /// Writes words unless they would touch others.
    fn write(&mut self, x: usize, text: &str, role: Role) {
        let end = x + text.chars().count();
        let around = x.saturating_sub(1)..(end + 1).min(self.cells.len());
        let taken = self.cells.get(around).is_none_or(|cells| cells.iter().any(Option::is_some));
        if taken || end > self.cells.len() {
            return;
        }
        for (cell, c) in self.cells.iter_mut().skip(x).zip(text.chars()) {
            *cell = Some((c, role));
        }
    }

    fn row(self) -> Row {
        let mut row = Row::new();
        for cell in self.cells {
            let (c, role) = cell.unwrap_or((' ', Role::Muted));
            row.push(c.to_string(), role);
        }
        row
    }
}

/// Percentiles, and a histogram where there is room.
fn distribution(times: &Times, height: usize, plan: &Batches, symbols: &Symbols) -> Vec<Row> {
    let percentile = |label: &str, millis: u64| {
        Row::of(format!("  {label:<4}"), Role::Muted)
            .with(format!("{:>6}", format::millis(millis)), Role::Strong)
    };
    let of = if plan.has_words() {
        format!("  of {}", format::plural(times.count(), "batch", "batches"))
    } else {
        format!("  of {}", format::count(times.count()))
    };
    let mut rows = vec![
        percentile("p50", times.percentile(50.0)),
        percentile("p95", times.percentile(95.0)),
        percentile("p99", times.percentile(99.0)),
        percentile("max", times.max()),
        Row::of(of, Role::Muted),
    ];
    if height >= TALL && plan.has_words() {
        rows.push(Row::new());
        rows.extend(histogram(times, height - PERCENTILES - 1, plan, symbols));
    }
    rows
}

/// How many batches are in each class of times. A few slow ones are one class, so that they do
/// not press all others into one.
fn histogram(times: &Times, lines: usize, plan: &Batches, symbols: &Symbols) -> Vec<Row> {
    let lines = lines.min(HISTOGRAM);
    let end = times.max().min(times.percentile(95.0).saturating_mul(2));
    let classes = times.classes(lines, end);
    let most = classes.iter().copied().max().unwrap_or(0).max(1);
    let number = classes.len() as u64;
    let room = usize::from(plan.values).saturating_sub(10);
    let class = |(at, count): (u64, &u64)| {
        let to = u128::from(end) * u128::from(at) / u128::from(number.max(1));
        let to = format::millis(u64::try_from(to).unwrap_or(u64::MAX));
        let beyond = at == number && times.max() > end;
        let label = if beyond { "more".to_owned() } else { to };
        let part = format::float(*count) / format::float(most);
        Row::of(format!("{label:>8} "), Role::Muted).with(bar(symbols, part, room), Role::Bar)
    };
    (1_u64..).zip(&classes).map(class).collect()
}

/// Whether a batch between two others was a repartition, by the checkpoint's log.
pub(super) fn repartition_between(
    state: &State,
    after: BatchId,
    before: BatchId,
) -> Option<(BatchId, Option<u32>)> {
    let mut entries = state.retained().iter();
    let entry =
        entries.find(|entry| entry.repartition && entry.batch > after && entry.batch < before)?;
    Some((entry.batch, entry.partitions))
}
