//! The table of partitions.

use ratatui::layout::Rect;

use super::super::compared::Compared;
use super::super::data::StoreData;
use super::super::format;
use super::super::geometry::window;
use super::super::look::{Role, Symbols};
use super::super::paint::{Canvas, bar};
use super::super::state::{Direction, Focus, PartitionsState, SortBy, State};
use super::super::text::{Row, width};
use super::columns::{self, Column};
use crate::report::{Grade, PartitionReport};
use crate::units::PartitionId;

/// The least columns that a bar is worth.
const BAR: usize = 6;
/// Beyond this a bar says nothing more.
const LONGEST_BAR: usize = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Id {
    Partition,
    Rows,
    Grade,
    Change,
    Bytes,
    Files,
    Snapshot,
    Changelogs,
    /// What is compared, unless it has a column anyway.
    Compared,
    Share,
    /// The bar: takes what is left on the right.
    Bar,
}

impl Id {
    fn sort(self) -> Option<SortBy> {
        match self {
            Self::Partition => Some(SortBy::Partition),
            Self::Rows => Some(SortBy::Rows),
            Self::Change => Some(SortBy::Change),
            Self::Bytes => Some(SortBy::Bytes),
            Self::Snapshot => Some(SortBy::Snapshot),
            Self::Changelogs => Some(SortBy::Changelogs),
            Self::Compared => Some(SortBy::Compared),
            Self::Grade | Self::Files | Self::Share | Self::Bar => None,
        }
    }
}

/// Draws head and the lines around the selection.
pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    state: &State,
    store: &StoreData,
    compared: &Compared,
    area: Rect,
) {
    let symbols = canvas.symbols();
    let view = &state.partitions;
    let room = usize::from(area.width).saturating_sub(3);
    let mut columns = columns::fit(all_columns(store, compared, view, symbols), room);
    // The bar is drawn by itself, in all the room that is left.
    let bar_width = match columns.pop_if(|last| last.id == Id::Bar) {
        Some(_) => columns::rest(&columns, room).min(LONGEST_BAR),
        None => 0,
    };
    canvas.row(area, &head(&columns, view, symbols));
    let below = Rect { y: area.y.saturating_add(1), height: area.height.saturating_sub(1), ..area };
    if view.order.is_empty() && !store.partitions().is_empty() {
        canvas.row(below, &Row::of("  no partition fits the filter; Esc clears it", Role::Muted));
        return;
    }
    let selected = view.selected;
    let at = view.order.iter().position(|id| Some(*id) == selected).unwrap_or(0);
    let shown = window(at, view.order.len(), usize::from(below.height));
    let rows: Vec<Row> = view
        .order
        .get(shown)
        .unwrap_or_default()
        .iter()
        .filter_map(|id| store.partition(*id))
        .map(|part| line(store, compared, part, view, &columns, bar_width, symbols))
        .collect();
    canvas.rows(below, &rows);
}

fn all_columns(
    store: &StoreData,
    compared: &Compared,
    view: &PartitionsState,
    symbols: &Symbols,
) -> Vec<Column<Id>> {
    let parts = store.partitions();
    let most = |value: &dyn Fn(&PartitionReport) -> u64| parts.iter().map(value).max().unwrap_or(0);
    let rows = format::count(most(&|part| part.rows.unwrap_or(0))).len();
    let id = most(&|part| part.partition.0.into()).to_string().len();
    let version =
        most(&|part| part.snapshot_version.map_or(0, |version| version.0)).to_string().len();
    let change = store.changes.iter().flatten().map(|change| change.unsigned_abs()).max();
    let title = |id: Id, name: &str| {
        let mark = match view.direction {
            Direction::Down => "v",
            Direction::Up => "^",
        };
        if id.sort() == Some(view.sort) { format!("{name} {mark}") } else { name.to_owned() }
    };
    let number = |id: Id, name: &str, columns: usize, rank: u8| {
        // Room for the sort mark is kept, so that sorting moves nothing.
        let room = if id.sort().is_some() { width(name) + 2 } else { width(name) };
        Column::number(id, title(id, name), columns.max(room), rank)
    };
    let uniform = uniform_grade(parts);
    let rows_title = match uniform {
        Some(Grade::Exact) => "rows exact",
        Some(Grade::Snapshot) => "rows snap",
        _ => "rows",
    };
    let mut columns =
        vec![number(Id::Partition, "part", id, 100), number(Id::Rows, rows_title, rows, 99)];
    if uniform.is_none() {
        columns.push(Column::words(Id::Grade, "grade", 7, 7, 85));
    }
    if SortBy::of(compared.metric) == SortBy::Compared {
        let most = compared.distribution.as_ref().map_or(0, |d| d.max);
        let wide = width(&compared.metric.value(most));
        columns.push(number(Id::Compared, compared.metric.title(), wide, 97));
    }
    if let Some(change) = change {
        columns.push(number(Id::Change, symbols.delta, format::count(change).len() + 1, 90));
    }
    columns.extend([
        number(Id::Bytes, "bytes", 6, 80),
        number(Id::Files, "files", 5, 20),
        number(Id::Snapshot, "snapshot", version, 30),
        number(Id::Changelogs, "changelogs", 4, 45),
        number(Id::Share, "share", 6, 70),
        Column::words(Id::Bar, "", BAR, BAR, 50),
    ]);
    columns
}

/// The grade of all rows; `None` when they differ and each needs its own.
fn uniform_grade(parts: &[PartitionReport]) -> Option<Grade> {
    let first = parts.first()?.rows_grade;
    parts.iter().all(|part| part.rows_grade == first).then_some(first)
}

fn head(columns: &[Column<Id>], view: &PartitionsState, symbols: &Symbols) -> Row {
    let focused = view.focus == Focus::Table;
    let mut row = Row::of("  ", Role::Text);
    row.append(columns::line(columns, symbols, |id| {
        let title =
            columns.iter().find(|column| column.id == id).map(|column| column.title.clone());
        let sorted = id.sort() == Some(view.sort);
        let role = if sorted || focused { Role::Strong } else { Role::Muted };
        (title.unwrap_or_default(), role)
    }));
    row
}

fn line(
    store: &StoreData,
    compared: &Compared,
    part: &PartitionReport,
    view: &PartitionsState,
    columns: &[Column<Id>],
    bar_width: usize,
    symbols: &Symbols,
) -> Row {
    let selected = view.selected == Some(part.partition);
    let cells = columns::line(columns, symbols, |id| cell(store, compared, part, id));
    let mut row = Row::of(if selected { "> " } else { "  " }, Role::Strong).joined(cells);
    if selected {
        let role = match view.focus {
            Focus::Table => Role::Selection,
            Focus::Map => Role::SelectionIdle,
        };
        row = row.in_role(role);
    }
    if bar_width > 0 {
        row.push("  ", Role::Text);
        row.push(bar(symbols, relative(store, compared, part), bar_width), Role::Bar);
    }
    row
}

/// A partition's value as a part of the largest.
fn relative(store: &StoreData, compared: &Compared, part: &PartitionReport) -> f64 {
    let most = compared.distribution.as_ref().map_or(0, |d| d.max);
    let value = compared.of(store, part.partition).unwrap_or(0);
    format::float(value) / format::float(most.max(1))
}

fn cell(store: &StoreData, compared: &Compared, part: &PartitionReport, id: Id) -> (String, Role) {
    let dash = || ("-".to_owned(), Role::Muted);
    match id {
        Id::Partition => (part.partition.to_string(), Role::Text),
        Id::Rows => match part.rows {
            Some(rows) => (format::count(rows), Role::Strong),
            None => ("?".to_owned(), Role::HeatUnknown),
        },
        Id::Grade => {
            let role = match part.rows_grade {
                Grade::Exact => Role::Ok,
                Grade::Snapshot => Role::Muted,
                Grade::Unknown => Role::HeatUnknown,
            };
            (format::grade(part.rows_grade, part.changelogs), role)
        }
        Id::Change => match store.change(part.partition) {
            Some(0) => ("0".to_owned(), Role::Muted),
            Some(change) => (format::change(change), Role::Info),
            None => dash(),
        },
        Id::Bytes => (format::bytes(part.bytes), Role::Text),
        Id::Files => (format::count(part.files), Role::Text),
        Id::Snapshot => part.snapshot_version.map_or_else(dash, |v| (v.to_string(), Role::Text)),
        Id::Changelogs => (format::count(part.changelogs), Role::Text),
        Id::Compared => match compared.of(store, part.partition) {
            Some(value) => (compared.metric.value(value), Role::Strong),
            None => ("?".to_owned(), Role::HeatUnknown),
        },
        Id::Share => match (compared.of(store, part.partition), &compared.distribution) {
            (Some(value), Some(d)) if d.total > 0 => {
                (format::share(format::float(value) / format::float(d.total)), Role::Text)
            }
            _ => dash(),
        },
        Id::Bar => (String::new(), Role::Text),
    }
}

/// A partition's part of its store and its multiple of the mean, for the detail line.
pub(super) fn weight(
    store: &StoreData,
    id: PartitionId,
    compared: &Compared,
) -> Option<(f64, f64)> {
    let d = compared.distribution.as_ref().filter(|d| d.total > 0)?;
    let value = format::float(compared.of(store, id)?);
    Some((value / format::float(d.total), value / d.mean))
}
