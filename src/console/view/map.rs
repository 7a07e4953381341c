//! The heatmap: a cell for every partition, or for a group of them.

use ratatui::layout::Rect;

use super::super::compared::{Compared, Span};
use super::super::data::StoreData;
use super::super::filter::PartitionFilter;
use super::super::format;
use super::super::geometry::{Grid, PartitionsPlan, Room};
use super::super::heat::{CLASSES, Heat, HeatScale, Metric};
use super::super::look::{Role, Symbols};
use super::super::paint::Canvas;
use super::super::state::{Focus, PartitionsState, State};
use super::super::text::Row;

/// The mark and role of a heat.
pub(super) fn heat_cell(heat: Heat, symbols: &Symbols) -> (&'static str, Role) {
    let [cool, mild, warm, hot] = symbols.heat;
    match heat {
        Heat::Unknown => (symbols.unknown, Role::HeatUnknown),
        Heat::Empty => (symbols.empty, Role::HeatEmpty),
        Heat::Step(step) => {
            let class = CLASSES.iter().position(|steps| steps.contains(&step));
            let symbol = match class {
                Some(0) => cool,
                Some(1) => mild,
                Some(2) => warm,
                _ => hot,
            };
            (symbol, Role::heat(step))
        }
    }
}

/// Draws title, frame, labels and cells.
pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    state: &State,
    store: &StoreData,
    compared: &Compared,
    scale: &HeatScale,
    plan: &PartitionsPlan,
) {
    let view = &state.partitions;
    let symbols = canvas.symbols();
    let focused = view.focus == Focus::Map;
    let title = title(view, compared, &plan.grid, focused);
    match plan.room {
        Room::Ample => {
            let role = if focused { Role::BorderFocus } else { Role::Border };
            let lower =
                if plan.side.is_some() { Row::new() } else { legend(scale, view.metric, symbols) };
            canvas.frame(plan.map, role, &title, &lower);
        }
        Room::Tight => {
            // The legend says more than the number of partitions, which the cells show.
            let words = format!(" {}, {}  ", view.metric.word(), view.scale.word());
            let words =
                if plan.grid.group == 1 { words } else { format!(" cell = {}  ", plan.grid.group) };
            let line = Row::of(words, if focused { Role::Strong } else { Role::Text });
            canvas.row(plan.map, &line.joined(legend(scale, view.metric, symbols)));
        }
    }
    labels(canvas, &plan.grid, plan.cells, view);
    let marked = Marked::of(store);
    let filter = view.parsed_filter();
    for cell in 0..plan.grid.cells() {
        let Some(place) = plan.grid.place(cell, plan.cells) else { continue };
        let seen = Seen { store, compared, scale, view, filter: &filter, marked };
        draw_cell(canvas, &seen, &plan.grid, cell, place);
    }
}

/// What a cell's look comes from.
struct Seen<'a> {
    store: &'a StoreData,
    compared: &'a Compared,
    scale: &'a HeatScale,
    view: &'a PartitionsState,
    filter: &'a PartitionFilter,
    marked: Marked,
}

fn draw_cell(canvas: &mut Canvas<'_>, seen: &Seen<'_>, grid: &Grid, cell: usize, place: Rect) {
    let Seen { store, compared, scale, view, filter, marked } = *seen;
    let places = grid.group_of(cell);
    let group = store.partitions().get(places.clone()).unwrap_or_default();
    let heat = places.clone().map(|place| scale.heat(compared.at(place))).max();
    let (symbol, role) = heat_cell(heat.unwrap_or(Heat::Unknown), canvas.symbols());
    let selected = view.selected.is_some_and(|id| grid.cell_of(id) == cell);
    let admitted = *filter == PartitionFilter::All
        || places.zip(group).any(|(place, part)| {
            filter.admits(part.partition, compared.at(place), store.change(part.partition))
        });
    let role = if admitted || selected { role } else { Role::Dimmed };
    canvas.cells(place, symbol, role);
    if selected {
        // A cross in the cell's own colour, for a reversed block would be a hole; beside it
        // the cell still shows its heat.
        let cross = Rect { width: 1, ..place };
        canvas.cells(cross, "+", role);
        canvas.lay_over(cross, Role::Cursor);
    }
    if group.iter().any(|part| marked.marks(store.change(part.partition))) {
        canvas.lay_over(place, Role::Changed);
    }
}

/// How large a change must be to be marked. Where many partitions change with every batch a
/// mark on each says nothing: then only those that changed more than twice the average.
#[derive(Debug, Clone, Copy)]
struct Marked {
    above: u64,
}

impl Marked {
    fn of(store: &StoreData) -> Self {
        let sizes = store.changes.iter().flatten().map(|change| change.unsigned_abs());
        let (mut changed, mut sum) = (0_u64, 0_u64);
        for size in sizes.filter(|size| *size > 0) {
            changed += 1;
            sum = sum.saturating_add(size);
        }
        let many = changed > store.changes.len() as u64 / 4;
        Self { above: if many { sum / changed.max(1) * 2 } else { 0 } }
    }

    fn marks(self, change: Option<i64>) -> bool {
        change.is_some_and(|change| change.unsigned_abs() > self.above)
    }
}

/// `10 batches to 1841`.
pub(super) fn span_words(span: Span) -> String {
    match span.batches {
        1 => format!("batch {}", span.to),
        number => format!("{} batches to {}", format::count(number as u64), span.to),
    }
}

fn title(view: &PartitionsState, compared: &Compared, grid: &Grid, focused: bool) -> Row {
    let role = if focused { Role::Strong } else { Role::Text };
    let partitions = format::plural(grid.partitions as u64, "partition", "partitions");
    if grid.group == 1 {
        let (metric, scale) = (view.metric.word(), view.scale.word());
        let words = match compared.span {
            // Of when they are matters more than how the scale is cut.
            Some(span) => format!("{metric}, {}", span_words(span)),
            None => format!("{partitions} by {metric}, {scale}"),
        };
        return Row::of(words, role);
    }
    let words = format!(", cell = hottest of {}, by {}", grid.group, view.metric.word());
    Row::of(partitions, role).with(words, Role::Info)
}

/// The values that the four marks stand for.
pub(super) fn legend(scale: &HeatScale, metric: Metric, symbols: &Symbols) -> Row {
    let value = |value: u64| metric.short(value);
    let mut row = Row::new();
    for (steps, symbol) in CLASSES.into_iter().zip(symbols.heat) {
        let text = match steps.start {
            0 => format!(" <{} ", value(scale.begins(steps.end))),
            start => format!(" {} ", value(scale.begins(start))),
        };
        row.push(symbol, Role::heat(steps.start));
        row.push(symbol, Role::heat(steps.end - 1));
        row.push(text, Role::Muted);
    }
    row
}

/// The partition that each row begins with; the selected one's row in bold.
fn labels(canvas: &mut Canvas<'_>, grid: &Grid, area: Rect, view: &PartitionsState) {
    let selected = view.selected.map(|id| grid.cell_of(id) / grid.columns.max(1));
    for row in 0..grid.rows() {
        let first = grid.group_of(usize::from(row) * grid.columns).start;
        let (mark, role) = match selected {
            Some(selected) if selected == usize::from(row) => (">", Role::Strong),
            _ => (" ", Role::Muted),
        };
        let line = Rect { y: area.y.saturating_add(row), height: 1, ..area };
        if line.y < area.bottom() {
            canvas.row(line, &Row::of(format!("{first:>5}{mark}"), role));
        }
    }
}
