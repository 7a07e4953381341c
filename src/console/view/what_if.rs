//! What-if: would another partition count help?
//!
//! ```text
//!  200 now → [ 400 ]  Left Right change it
//!  ┌ now: 200 ─────────────┐ ┌ at 400 ───────────────┐  max÷mean by count
//!  │ ░░░░▒░░░░░░░░░░░░░░░░ │ │ ░░░░░░░░░░░░░░░░░░░░░ │  22.8┤      [o] ·
//!  └───────────────────────┘ └───────────────────────┘       200
//!  ░▒ <2.1k ▒▒ 2.1k …
//!                          now        at 400
//!  largest              48,013        47,820
//! ```

use ratatui::layout::Rect;

use super::super::format;
use super::super::geometry::Grid;
use super::super::heat::{Heat, HeatScale, Metric, Scale};
use super::super::hiding;
use super::super::look::{Role, Symbols};
use super::super::paint::Canvas;
use super::super::places;
use super::super::state::{PromptKind, State};
use super::super::text::{Row, width, wrap};
use super::asked;
use super::curve::{self, Curve, Point};
use super::map::{heat_cell, legend};
use crate::analysis::consequences::Change;
use crate::analysis::verdict::{VerdictKind, WrongKnob};
use crate::analysis::{Distribution, Spread};
use crate::report::{LayoutReport, PartitionLoad, PlanReport};
use crate::units::PartitionId;

/// Columns of the names of the numbers.
const NAME: usize = 20;
/// From this height on there is room for every number.
const ROOMY: u16 = 30;
/// From this mean on the steps of the scale are whole rows.
const LEGIBLE: f64 = 4.0;
/// From this width on there is room for what there is to say of a number.
const NOTES: u16 = 74;
/// Columns of a number.
const NUMBER: usize = 13;

/// Draws the what-if screen.
pub(super) fn draw(canvas: &mut Canvas<'_>, state: &State) {
    let Some(plan) = places::what_if(state.size) else { return };
    let what_if = &state.what_if;
    if let Some(why) = what_if.trouble() {
        let hint = "r tries again, o another operator, Esc goes back.";
        asked::trouble(canvas, why, hint, plan.chrome.body);
        return;
    }
    let (Some(report), Some(basis)) = (&what_if.report, what_if.basis()) else {
        let operator = what_if.operator.map_or_else(String::new, |id| format!(" of op {id}"));
        let what = format!("the keys{operator} once, to rehash them for any count");
        asked::waiting(canvas, state, &what, plan.chrome.body);
        return;
    };
    let symbols = canvas.symbols();
    canvas.row(plan.counts, &counts(state, report, symbols));
    let scale = common_scale(report);
    let unknown: &[PartitionId] = if has_grouping_key(report) { &report.unreadable } else { &[] };
    map(canvas, (&report.before, unknown), &format!("now: {}", report.from), &scale, plan.before);
    map(canvas, (&report.after, &[]), &format!("at {}", report.to), &scale, plan.after);
    let points: Vec<Point> = basis
        .curve
        .iter()
        .filter_map(|point| Some(Point { count: point.partitions, ratio: point.max_over_mean? }))
        .collect();
    let point = |count, layout: &LayoutReport| Some(Point { count, ratio: ratio(layout)? });
    let curve = Curve {
        points: &points,
        now: point(report.from, &report.before),
        chosen: point(report.to, &report.after).filter(|_| report.to != report.from),
    };
    curve::draw(canvas, curve, plan.curve);
    // Between steps of less than a row there is nothing to tell.
    if rows_of(&report.before).is_some_and(|rows| rows.mean >= LEGIBLE) {
        let words = Row::of(" ", Role::Text).joined(legend(&scale, Metric::Rows, symbols));
        canvas.row(plan.legend, &words.with(" rows, both maps", Role::Muted));
    }
    table(canvas, state, report, plan.table);
}

fn counts(state: &State, report: &PlanReport, symbols: &Symbols) -> Row {
    let typed = state.prompt.as_ref().filter(|prompt| prompt.kind == PromptKind::Count);
    let chosen = match typed {
        Some(prompt) => format!("[ {}_ ]", prompt.text),
        None => format!("[ {} ]", format::count(report.to.into())),
    };
    let mut row = Row::of(format!(" {} now ", format::count(report.from.into())), Role::Strong);
    row.push(format!("{} ", symbols.arrow), Role::Muted);
    row.push(chosen, Role::Input);
    if report.partial {
        row.push("   PARTIAL: not all keys were read; r reads them", Role::Warning);
    } else if !report.unreadable.is_empty() && has_grouping_key(report) {
        let missing = format::plural(report.unreadable.len() as u64, "partition", "partitions");
        row.push(format!("   X {missing} could not be read"), Role::Error);
    } else if let Some(bad) = super::worst(&report.findings) {
        row.push("  ", Role::Text);
        row.append(bad);
    } else {
        let keys = format::plural(report.keys, "key", "keys");
        row.push(format!("   exact: {keys} rehashed,"), Role::Muted);
        row.append(super::batch_read(state, report.batch));
    }
    row
}

/// Without one, partitions other than 0 are never written: that they are not there means nothing.
fn has_grouping_key(report: &PlanReport) -> bool {
    report.verdict.evidence.wrong_knob != Some(WrongKnob::NoGroupingKey)
}

fn rows_of(layout: &LayoutReport) -> Option<&Distribution> {
    layout.skew.rows.as_ref()
}

fn ratio(layout: &LayoutReport) -> Option<f64> {
    rows_of(layout)?.max_over_mean
}

/// One scale for both maps: around the present mean, up to the largest of both.
fn common_scale(report: &PlanReport) -> HeatScale {
    let mean = rows_of(&report.before).map_or(0.0, |rows| rows.mean);
    let most = [&report.before, &report.after].map(|layout| rows_of(layout).map_or(0, |r| r.max));
    let most = format::float(most.into_iter().max().unwrap_or(0));
    HeatScale::around(mean, if mean > 0.0 { most / mean } else { 1.0 }, Scale::Log)
}

fn map(
    canvas: &mut Canvas<'_>,
    (layout, unknown): (&LayoutReport, &[PartitionId]),
    title: &str,
    scale: &HeatScale,
    area: Rect,
) {
    let inner = Rect {
        x: area.x + 2,
        y: area.y + 1,
        width: area.width.saturating_sub(4),
        height: area.height.saturating_sub(2),
    };
    let grid = Grid::bare(layout.partitions.len(), inner.width, inner.height);
    let mut title = Row::of(title, Role::Strong);
    let shared = Row::of(format!(", {} a cell", grid.group), Role::Muted);
    if grid.group > 1 && title.width() + shared.width() <= usize::from(inner.width) {
        title.append(shared);
    }
    canvas.frame(area, Role::Border, &title, &Row::new());
    for cell in 0..grid.cells() {
        let group: &[PartitionLoad] =
            layout.partitions.get(grid.group_of(cell)).unwrap_or_default();
        let rows =
            |load: &PartitionLoad| Some(load.rows).filter(|_| !unknown.contains(&load.partition));
        let heat = group.iter().map(|load| scale.heat(rows(load))).max();
        let (symbol, role) = heat_cell(heat.unwrap_or(Heat::Empty), canvas.symbols());
        if let Some(place) = grid.place_bare(cell, inner) {
            canvas.cells(place, symbol, role);
        }
    }
}

/// One line of the table: a name, both numbers, and what there is to say.
struct Line {
    name: String,
    before: String,
    after: String,
    note: Row,
}

fn table(canvas: &mut Canvas<'_>, state: &State, report: &PlanReport, area: Rect) {
    let symbols = canvas.symbols();
    let head = format!(" {:NAME$}{:>NUMBER$}{:>NUMBER$}", "", "now", format!("at {}", report.to));
    let mut rows = vec![Row::of(head, Role::Muted)];
    for line in layout_lines(report, symbols).into_iter().chain(cost_lines(state, report)) {
        let mut row = Row::of(" ", Role::Text).with(&line.name, Role::Text);
        row.pad_to(NAME + 1, Role::Text);
        row.push(format!("{:>NUMBER$}", line.before), Role::Text);
        row.push(format!("{:>NUMBER$}", line.after), Role::Strong);
        if area.width >= NOTES || line.note.width() < 3 {
            row.push("   ", Role::Text);
            row.append(line.note);
        }
        rows.push(row);
    }
    let columns = usize::from(area.width).saturating_sub(2);
    let lines = |text: &str, role: Role| -> Vec<Row> {
        wrap(text, columns).into_iter().map(|line| Row::of(format!(" {line}"), role)).collect()
    };
    // What follows from the numbers, where there is room below them.
    for instead in &report.verdict.evidence.instead {
        rows.extend(lines(&format!("instead: {instead}"), Role::Info));
    }
    canvas.rows(area, &rows);
}

fn layout_lines(report: &PlanReport, symbols: &Symbols) -> Vec<Line> {
    let of = |layout: &LayoutReport, show: &dyn Fn(&Distribution) -> String| {
        rows_of(layout).map_or_else(|| "-".to_owned(), show)
    };
    let line = |name: &str, show: &dyn Fn(&Distribution) -> String, note: Row| Line {
        name: name.to_owned(),
        before: of(&report.before, show),
        after: of(&report.after, show),
        note,
    };
    let id = |layout: &LayoutReport| {
        let largest = rows_of(layout).and_then(|rows| rows.largest.first().copied());
        largest.map_or_else(|| "-".to_owned(), |largest| largest.partition.to_string())
    };
    let places = format!(
        "rows, in partition {} {} {}",
        id(&report.before),
        symbols.arrow,
        id(&report.after)
    );
    let ratio_note = match rows_of(&report.after).map(Spread::of_rows) {
        Some(Spread::Skewed) => Row::of("!", Role::Warning),
        _ => Row::new(),
    };
    let over = format!("max{}mean", symbols.over);
    vec![
        line("largest", &|rows| format::count(rows.max), Row::of(places, Role::Muted)),
        line("mean", &|rows| decimal(rows.mean), Row::new()),
        line("p99", &|rows| format::count(rows.p99), Row::new()),
        line(
            &over,
            &|rows| rows.max_over_mean.map_or_else(|| "-".to_owned(), format::ratio),
            ratio_note,
        ),
        line("empty", &|rows| format::count(rows.empty), Row::new()),
    ]
}

fn cost_lines(state: &State, report: &PlanReport) -> Vec<Line> {
    let numbers = &report.consequences.numbers;
    let line = |name: &str, change: Option<Change<String>>, note: Row| {
        let Change { before, after } =
            change.unwrap_or_else(|| Change { before: "?".to_owned(), after: "?".to_owned() });
        Line { name: name.to_owned(), before, after, note }
    };
    let mut lines = vec![line("instances", Some(numbers.instances.map(format::count)), Row::new())];
    match state.what_if.nodes {
        None => lines.push(line(
            "instances per node",
            None,
            Row::of("n", Role::Key).with(" tells how many nodes", Role::Muted),
        )),
        Some(nodes) => {
            let note = Row::of(format::plural(nodes.into(), "node", "nodes"), Role::Muted);
            let per_node = numbers.instances_per_node.map(|n| n.map(format::count));
            lines.push(line("instances per node", per_node, note));
            let memory = numbers.memory_unbounded.map(|n| n.map(format::bytes));
            let note = Row::of("RocksDB at most, unbounded", Role::Muted);
            lines.push(line("memory per node", memory, note));
        }
    }
    let measured = match &numbers.measured {
        Some(measured) if numbers.objects_per_day.is_some() => {
            format!("by batches {} to {}", measured.first, measured.last)
        }
        Some(measured) => format!("by batch {}: no pace known", measured.last),
        None => "no batch to measure by".to_owned(),
    };
    let objects = |change: Option<Change<f64>>| change.map(|n| n.map(decimal));
    if state.size.height >= ROOMY {
        lines.push(line("objects per batch", objects(numbers.objects_per_batch), Row::new()));
    }
    let note = Row::of(measured, Role::Muted);
    lines.push(line("objects per day", objects(numbers.objects_per_day), note));
    lines
}

/// A number with one decimal below ten, without from there on.
fn decimal(value: f64) -> String {
    if value < 9.95 { format!("{value:.1}") } else { format::count(format::whole(value)) }
}

/// The answer: whether the count in question helps, in as few words as fit beside the numbers.
pub(super) fn answer(state: &State, symbols: &Symbols) -> Row {
    let what_if = &state.what_if;
    if what_if.trouble().is_some() {
        return Row::of("What another count would do cannot be told.", Role::Warning);
    }
    let Some(report) = &what_if.report else { return Row::of("Reading keys.", Role::Muted) };
    let room = usize::from(state.size.width).saturating_sub(2);
    let (text, role) = verdict(state, report, symbols);
    // Where the whole sentence fits it is the better one.
    let whole = &report.verdict.text;
    let is_named = report.verdict.kind == VerdictKind::HotKey;
    if width(whole) < room && !is_named && report.verdict.kind != VerdictKind::WrongKnob {
        return Row::of(format!("{whole}."), role);
    }
    Row::of(text, role)
}

fn verdict(state: &State, report: &PlanReport, symbols: &Symbols) -> (String, Role) {
    let evidence = &report.verdict.evidence;
    let arrow = symbols.arrow;
    let times = |ratio: Option<f64>| ratio.map_or_else(|| "?".to_owned(), format::ratio);
    let ratios = format!(
        "{} {arrow} {} {} the mean",
        times(evidence.max_over_mean_before),
        times(evidence.max_over_mean_after),
        symbols.times
    );
    let rows = format!(
        "{} {arrow} {} rows",
        format::count(evidence.max_before),
        format::count(evidence.max_after)
    );
    let partition = evidence.partition.map_or_else(|| "?".to_owned(), |id| id.to_string());
    match report.verdict.kind {
        VerdictKind::HotKey => {
            let key = match &evidence.key {
                Some(key) => hiding::words(key, state.reveal, symbols),
                None => "one key".to_owned(),
            };
            let share = evidence.share.map_or_else(String::new, format::share);
            let is = format!("No help: {key} is {share} of partition {partition}");
            let text = format!("{is}; largest {ratios}.");
            let fits = width(&text) + 2 <= usize::from(state.size.width);
            (if fits { text } else { is + "." }, Role::Warning)
        }
        VerdictKind::Collision if evidence.separate == Some(true) => {
            let keys = format::plural(evidence.keys.unwrap_or(0), "key", "keys");
            (format!("It helps: {keys} of partition {partition} separate; {rows}."), Role::Ok)
        }
        VerdictKind::Collision => {
            let keys = format::plural(evidence.keys.unwrap_or(0), "key", "keys");
            let at = evidence.separate_at.map_or_else(String::new, |at| format!("; at {at} not"));
            (format!("No help: {keys} still share a partition{at}; {rows}."), Role::Warning)
        }
        VerdictKind::UniformGrowth if evidence.max_after < evidence.max_before => {
            (format!("It helps: the largest partition goes {rows}."), Role::Ok)
        }
        VerdictKind::UniformGrowth => {
            (format!("No help: the largest partition goes {rows}."), Role::Warning)
        }
        VerdictKind::Balanced => (format!("Nothing to gain: largest {ratios}."), Role::Ok),
        VerdictKind::WrongKnob if evidence.wrong_knob == Some(WrongKnob::SameCount) => {
            let ratio = times(ratio(&report.before));
            let id = rows_of(&report.before).and_then(|rows| rows.largest.first().copied());
            let id = id.map_or_else(|| "?".to_owned(), |largest| largest.partition.to_string());
            let text =
                format!("As it is now: partition {id} holds {ratio} {} the mean.", symbols.times);
            (text, Role::Text)
        }
        VerdictKind::WrongKnob => (format!("{}.", report.verdict.text), Role::Warning),
    }
}
