//! Rows: what is in it?
//!
//! ```text
//!  1,000 rows, the first of more   batch 1841   where value.count > 100
//!    account_id  window               count
//!  > …7          …                       …3
//!  ─ row 1 of 1,000: partition 37, store default ──────
//!  key    "account_id": …7
//!  value  "count": …3
//! ```

use ratatui::layout::Rect;

use super::super::format;
use super::super::geometry::window;
use super::super::hiding;
use super::super::look::{Role, Symbols};
use super::super::page::{PageColumn, RowsPage};
use super::super::paint::Canvas;
use super::super::places;
use super::super::state::State;
use super::super::text::{Row, width};
use super::asked;
use super::columns::{self, Align, Column};
use crate::reader::OwnedRow;
use crate::report::Reveal;

/// Columns of the words before key and value in the detail.
const LABEL: usize = 7;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Id {
    Partition,
    Store,
    Family,
    Cell(usize),
}

/// Draws the rows screen.
pub(super) fn draw(canvas: &mut Canvas<'_>, state: &State) {
    let Some(plan) = places::rows(state.size) else { return };
    let rows = &state.rows;
    if let Some(why) = rows.trouble() {
        let hint = "f changes the condition, r tries again, Esc goes back.";
        asked::trouble(canvas, why, hint, plan.chrome.body);
        return;
    }
    let Some(page) = rows.page() else {
        asked::waiting(canvas, state, "rows", plan.chrome.body);
        return;
    };
    canvas.row(plan.facts, &facts(state, page));
    table(canvas, state, page, plan.table);
    detail(canvas, state, page, plan.detail);
}

fn facts(state: &State, page: &RowsPage) -> Row {
    let summary = &page.summary;
    let mut row = Row::new();
    if !state.rows.condition.is_empty() {
        row.push(" where ", Role::Muted);
        row.push(&state.rows.condition, Role::Strong);
        row.push("  ", Role::Text);
    }
    if summary.partial {
        row.push(" PARTIAL: rows may be missing", Role::Warning);
        if let Some(finding) = summary.findings.first() {
            row.push(format!("; {}", finding.summary), Role::Warning);
        }
        return row;
    }
    if let Some(bad) = super::worst(&summary.findings) {
        return row.joined(bad);
    }
    if summary.not_compared > 0 {
        let rows = format::plural(summary.not_compared, "row", "rows");
        row.push(format!(" {rows} not decoded, so not compared"), Role::Warning);
        return row;
    }
    row.joined(super::batch_read(state, summary.batch))
}

fn table(canvas: &mut Canvas<'_>, state: &State, page: &RowsPage, area: Rect) {
    let symbols = canvas.symbols();
    let listed = state.rows.listed();
    let room = usize::from(area.width).saturating_sub(3);
    let columns = columns::fit(all_columns(page, state.reveal), room);
    let head = columns::line(&columns, symbols, |id| {
        let title = columns.iter().find(|column| column.id == id).map(|c| c.title.clone());
        let of_key = matches!(id, Id::Cell(at) if page.columns.get(at).is_some_and(|c| c.of_key));
        (title.unwrap_or_default(), if of_key { Role::Strong } else { Role::Muted })
    });
    canvas.row(area, &Row::of("  ", Role::Text).joined(head));
    let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    if listed.is_empty() {
        let text = match (page.rows.is_empty(), state.rows.condition.is_empty()) {
            (false, _) => "  no row fits the filter; Esc clears it",
            (true, false) => "  no row fits the condition; f changes it",
            (true, true) if state.rows.scope.as_ref().is_some_and(|scope| scope.key.is_some()) => {
                "  this key has no rows (any more)"
            }
            (true, true) => "  no rows: nothing is kept here",
        };
        canvas.row(below, &Row::of(text, Role::Muted));
        return;
    }
    let selected = state.selected_place();
    let at = listed.iter().position(|place| Some(*place) == selected).unwrap_or(0);
    let shown = window(at, listed.len(), usize::from(below.height));
    let mut lines = Vec::new();
    for place in listed.get(shown).unwrap_or_default() {
        let Some(row) = page.rows.get(*place) else { continue };
        let is_selected = Some(*place) == selected;
        let cells = columns::line(&columns, symbols, |id| {
            (cell(page, row, *place, id, state.reveal, symbols), Role::Text)
        });
        let mut line = Row::of(if is_selected { "> " } else { "  " }, Role::Strong).joined(cells);
        if is_selected {
            line.pad_to(usize::from(below.width), Role::Text);
            line = line.in_role(Role::Selection);
        }
        lines.push(line);
    }
    canvas.rows(below, &lines);
}

fn all_columns(page: &RowsPage, reveal: Reveal) -> Vec<Column<Id>> {
    let widest = |text: &dyn Fn(&OwnedRow) -> String| {
        page.rows.iter().map(|row| width(&text(row))).max().unwrap_or(0)
    };
    let mut columns = Vec::new();
    if page.differ.partition {
        let widest = widest(&|row| row.partition.to_string());
        columns.push(Column::number(Id::Partition, "part", widest, 200));
    }
    if page.differ.store {
        columns.push(Column::words(Id::Store, "store", widest(&|row| row.store.clone()), 16, 60));
    }
    if page.differ.family {
        let widest = widest(&|row| row.family.clone());
        columns.push(Column::words(Id::Family, "family", widest, 8, 190));
    }
    // The first columns of keys and of values say most: what comes later goes first.
    for (at, column) in page.columns.iter().enumerate() {
        let rank = 150_u8.saturating_sub(u8::try_from(at).unwrap_or(u8::MAX).saturating_mul(2));
        columns.push(page_column(at, column, rank, reveal));
    }
    columns
}

fn page_column(at: usize, column: &PageColumn, rank: u8, reveal: Reveal) -> Column<Id> {
    let [masked, shown] = column.widths;
    let widest = match reveal {
        Reveal::Masked => masked,
        Reveal::Shown => shown,
    };
    let title = super::super::text::sanitise(&column.title).into_owned();
    let mut made = Column::words(Id::Cell(at), title, widest, 10, rank);
    if column.numbers {
        made.align = Align::Right;
        made.least = made.width;
    }
    made
}

fn cell(
    page: &RowsPage,
    row: &OwnedRow,
    place: usize,
    id: Id,
    reveal: Reveal,
    symbols: &Symbols,
) -> String {
    match id {
        Id::Partition => row.partition.to_string(),
        Id::Store => row.store.clone(),
        Id::Family => row.family.clone(),
        Id::Cell(at) => {
            let cell = page.columns.get(at).and_then(|column| column.cells.get(place));
            let Some([masked, shown]) = cell else { return String::new() };
            match reveal {
                Reveal::Masked if symbols.ellipsis != "…" => {
                    masked.replace('…', symbols.ellipsis).replace('•', symbols.hidden)
                }
                Reveal::Masked => masked.clone(),
                Reveal::Shown => shown.clone(),
            }
        }
    }
}

/// The selected row, as far as there is room.
fn detail(canvas: &mut Canvas<'_>, state: &State, page: &RowsPage, area: Rect) {
    let symbols = canvas.symbols();
    let Some((place, row)) = state.selected_place().zip(state.selected_row()) else { return };
    canvas.line_of(area, symbols.line, Role::Border);
    let number = format::count(place as u64 + 1);
    let all = format::count(page.rows.len() as u64);
    let title = format!(" row {number} of {all}: {} ", whereabouts(row));
    canvas.row(Rect { x: area.x + 1, ..area }, &Row::of(title, Role::Strong));
    let columns = usize::from(area.width).saturating_sub(2);
    let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let mut rows = full(row, state.reveal, symbols, columns);
    let room = usize::from(below.height);
    if rows.len() > room {
        let more = rows.len() - room + 1;
        rows.truncate(room.saturating_sub(1));
        let more = format::plural(more as u64, "more line", "more lines");
        rows.push(
            Row::of(format!(" {}{more}: ", " ".repeat(LABEL)), Role::Muted)
                .with("Enter", Role::Key)
                .with(" shows all", Role::Muted),
        );
    }
    canvas.rows(below, &rows);
}

/// `partition 37, store default, family count`.
pub(in crate::console) fn whereabouts(row: &OwnedRow) -> String {
    let mut text = format!("partition {}, store {}", row.partition, row.store);
    if row.family != row.store && row.family != "default" {
        text = format!("{text}, family {}", row.family);
    }
    text
}

/// Key and value of a row, every line of them.
pub(in crate::console) fn full(
    row: &OwnedRow,
    reveal: Reveal,
    symbols: &Symbols,
    columns: usize,
) -> Vec<Row> {
    let mut rows = Vec::new();
    let room = columns.saturating_sub(LABEL + 1).max(8);
    for (label, half) in [("key", &row.key), ("value", &row.value)] {
        let mut first = Row::of(format!(" {label:<LABEL$}"), Role::Muted);
        for line in hiding::full(half, reveal, symbols, room) {
            first.pad_to(LABEL + 1, Role::Text);
            rows.push(std::mem::take(&mut first).with(line, Role::Text));
        }
    }
    rows
}

/// The answer: what is on the page.
pub(super) fn answer(state: &State, symbols: &Symbols) -> Row {
    let rows = &state.rows;
    if rows.trouble().is_some() {
        return Row::of("The rows cannot be shown.", Role::Warning);
    }
    let Some(page) = rows.page() else { return Row::of("Reading rows.", Role::Muted) };
    let number = page.rows.len() as u64;
    let key = match rows.scope.as_ref().and_then(|scope| scope.key.as_ref()) {
        Some(pin) => format!(" of {}", hiding::words(&pin.key, state.reveal, symbols)),
        None => String::new(),
    };
    let text = match (number, page.more) {
        (0, _) => format!("There are no rows{key}."),
        (_, true) => format!("The first {} rows{key}; there are more.", format::count(number)),
        (1, false) => format!("The one row{key}."),
        (_, false) => format!("All {} rows{key}.", format::count(number)),
    };
    let text = if page.summary.partial { text.replace("All ", "At least ") } else { text };
    let mut row = Row::of(text, if page.more { Role::Info } else { Role::Text });
    let listed = rows.listed().len() as u64;
    if listed < number {
        row.push(format!(" {} fit the filter.", format::count(listed)), Role::Info);
    }
    row
}
