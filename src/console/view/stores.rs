//! The overview's table of operators and stores, with a strip of each store's partitions.

use ratatui::layout::Rect;

use super::super::data::StoreData;
use super::super::format;
use super::super::geometry::window;
use super::super::heat::{Heat, HeatScale, Scale};
use super::super::look::{Role, Symbols};
use super::super::paint::Canvas;
use super::super::state::{Item, State};
use super::super::text::{Row, width};
use super::columns::{self, Column};
use super::map::heat_cell;
use crate::analysis::Spread;
use crate::report::Grade;

/// The least columns that a strip of partitions is worth.
const STRIP: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Id {
    Operator,
    Name,
    Store,
    Partitions,
    Rows,
    Grade,
    Bytes,
    Ratio,
}

/// Draws head and lines.
pub(super) fn draw(canvas: &mut Canvas<'_>, state: &State, selected: Option<&Item>, area: Rect) {
    let symbols = canvas.symbols();
    let stores = state.listed_stores();
    let room = usize::from(area.width).saturating_sub(3);
    let columns = columns::fit(all_columns(&stores, symbols), room);
    let strip = columns::rest(&columns, room);
    let mut head = Row::of("  ", Role::Text).joined(columns::head(&columns, symbols));
    if strip >= STRIP {
        head.push("  by partition", Role::Muted);
    }
    canvas.row(area, &head);
    let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    if stores.is_empty() {
        let text = if state.overview.filter.is_empty() {
            "  no stores"
        } else {
            "  no store fits the filter"
        };
        canvas.row(below, &Row::of(text, Role::Muted));
        return;
    }
    let is_selected =
        |store: &StoreData| matches!(selected, Some(Item::Store(key)) if *key == store.key);
    let at = stores.iter().position(|store| is_selected(store)).unwrap_or(0);
    let shown = window(at, stores.len(), usize::from(below.height));
    let mut rows = Vec::new();
    for store in stores.get(shown).unwrap_or_default() {
        let mark = if is_selected(store) { "> " } else { "  " };
        let cells = columns::line(&columns, symbols, |id| cell(store, id, symbols));
        let mut row = Row::of(mark, Role::Strong).joined(cells);
        if strip < STRIP {
            row.pad_to(usize::from(below.width), Role::Text);
        }
        if is_selected(store) {
            row = row.in_role(Role::Selection);
        }
        if strip >= STRIP {
            row.push("  ", Role::Text);
            row.append(strip_of(store, strip, symbols));
        }
        rows.push(row);
    }
    canvas.rows(below, &rows);
}

fn all_columns(stores: &[&StoreData], symbols: &Symbols) -> Vec<Column<Id>> {
    let widest = |text: &dyn Fn(&StoreData) -> String| {
        stores.iter().map(|store| width(&text(store))).max().unwrap_or(0)
    };
    let text = |id: Id| widest(&|store| cell(store, id, symbols).0);
    let same = stores.windows(2).all(|pair| match pair {
        [a, b] => a.partitions == b.partitions,
        _ => true,
    });
    let mut columns = vec![
        Column::number(Id::Operator, "op", text(Id::Operator), 95),
        Column::words(Id::Name, "operator", text(Id::Name), 8, 50),
        Column::words(Id::Store, "store", text(Id::Store), 14, 90),
        Column::number(Id::Rows, "rows", text(Id::Rows), 85),
        Column::words(Id::Grade, "grade", text(Id::Grade).max(7), 7, 80),
        Column::number(Id::Bytes, "bytes", text(Id::Bytes).max(6), 70),
        Column::number(Id::Ratio, format!("max{}mean", symbols.over), text(Id::Ratio), 88),
    ];
    // The count is among the facts above; here it matters where stores differ.
    if !same {
        columns.insert(3, Column::number(Id::Partitions, "parts", text(Id::Partitions), 60));
    }
    columns
}

fn cell(store: &StoreData, id: Id, _symbols: &Symbols) -> (String, Role) {
    match id {
        Id::Operator => (store.key.operator.to_string(), Role::Text),
        Id::Name if store.name_inferred => {
            (format!("{} (inferred)", store.operator_name), Role::Text)
        }
        Id::Name => (store.operator_name.clone(), Role::Text),
        Id::Store => (store.key.store.clone(), Role::Strong),
        Id::Partitions => (format::count(store.partitions.into()), Role::Text),
        Id::Rows => match store.rows {
            Some(rows) => (format::count(rows), Role::Strong),
            None if store.spread.is_none() => ("-".to_owned(), Role::Muted),
            None => ("?".to_owned(), Role::HeatUnknown),
        },
        Id::Grade if store.spread.is_none() && store.rows.is_none() => {
            ("not yet".to_owned(), Role::Muted)
        }
        Id::Grade => grade(store),
        Id::Bytes => match store.bytes {
            Some(bytes) => (format::bytes(bytes), Role::Text),
            None => ("-".to_owned(), Role::Muted),
        },
        Id::Ratio => match store.max_over_mean {
            Some(ratio) if store.judged() == Spread::Skewed => {
                (format!("{} !", format::ratio(ratio)), Role::Warning)
            }
            Some(ratio) => (format!("{}  ", format::ratio(ratio)), Role::Text),
            None => ("-  ".to_owned(), Role::Muted),
        },
    }
}

fn grade(store: &StoreData) -> (String, Role) {
    let role = match store.grade {
        Grade::Exact => Role::Ok,
        Grade::Snapshot => Role::Muted,
        Grade::Unknown => Role::HeatUnknown,
    };
    (format::grade(store.grade, store.changelogs), role)
}

/// A store's partitions in `columns` cells, several to a cell where needed.
fn strip_of(store: &StoreData, columns: usize, symbols: &Symbols) -> Row {
    let parts = store.partitions();
    let distribution = store.spread.as_ref().and_then(|spread| spread.skew.rows.as_ref());
    let scale = HeatScale::of(distribution, Scale::Log);
    let group = parts.len().div_ceil(columns.max(1)).max(1);
    let mut row = Row::new();
    for chunk in parts.chunks(group) {
        let heat = chunk.iter().map(|part| scale.heat(part.rows)).max();
        let (symbol, role) = heat_cell(heat.unwrap_or(Heat::Unknown), symbols);
        row.push(symbol, role);
    }
    row
}
