//! State onto the screen: one file per region. Read-only.
//!
//! ```text
//!  header     target > operator > store            batch 1841 committed 4 s ago  LIVE
//!  tabs       1 overview  2 partitions                     (counting, paused, stale)
//!  answer     Partition 37 holds 5.7 % of the rows: 11.4 × the mean.
//!  overview   or  partitions (map, side, table, detail)
//!             or  hot_keys, rows, what_if (with curve): each asks for what it shows (asked)
//!             or  pauses (with plot): past resizes
//!             or  batches: what the running query told (and running, on the overview)
//!  bar        keys, a notice, the filter or another line (prompt) being typed
//! ```
//!
//! Each file first makes rows of text and role (functions that can be tested without a
//! terminal), then puts them in their places.

mod answer;
mod asked;
mod bar;
mod batches;
pub(super) mod columns;
mod curve;
mod diagnosis;
mod header;
mod hot_keys;
mod map;
mod overview;
mod partitions;
mod past;
mod pauses;
mod plot;
mod prompt;
mod rows;
mod running;
mod side;
mod stores;
mod table;
mod tabs;
mod what_if;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::format;
use super::geometry::{self, Chrome, MIN_HEIGHT, MIN_WIDTH};
use super::look::{Look, Role};
use super::msg::Size;
use super::overlay;
use super::paint::Canvas;
use super::paste;
use super::state::{Freshness, Pasting, Screen, State};
use super::text::{Row, wrap};

use crate::diagnosis::{Finding, Severity};
use crate::units::BatchId;

pub(super) use batches::batch_at;
pub(super) use pauses::plots;
pub(super) use rows::{full as full_row, whereabouts};
pub(super) use running::condition;
pub(super) use tabs::tab_at;

/// Draws the whole screen.
pub fn draw(state: &State, look: &Look, buffer: &mut Buffer) {
    let mut canvas = Canvas::new(buffer, look);
    let Some(chrome) = geometry::chrome(state.size) else {
        too_small(&mut canvas, state.size);
        return;
    };
    let columns = usize::from(state.size.width);
    let symbols = canvas.symbols();
    canvas.row(chrome.header, &header::row(state, symbols, columns));
    canvas.row(chrome.tabs, &tabs::row(state, symbols, columns));
    canvas.row(chrome.answer, &answer::row(state, symbols));
    if state.pasting == Pasting::Open {
        canvas.row(chrome.bar, &Row::new());
        let area = Rect { height: state.size.height.saturating_sub(chrome.body.y), ..chrome.body };
        paste::draw(buffer, area, &state.paste, look);
        return;
    }
    body(&mut canvas, state, chrome);
    if let Some(content) = overlay::content(state, symbols) {
        let (area, scroll) = match &state.overlay {
            Some(overlay) => (overlay::area_of(&overlay.subject, state.size), overlay.scroll),
            None => (overlay::area(state.size), 0),
        };
        window(&mut canvas, area, scroll, &content);
    }
    prompt::draw_error(&mut canvas, state, chrome);
    canvas.row(chrome.bar, &bar::row(state, symbols, columns));
}

fn body(canvas: &mut Canvas<'_>, state: &State, chrome: Chrome) {
    // What a running query told does not hang on its checkpoint.
    let told = state.screen == Screen::Batches;
    match state.freshness() {
        Freshness::Loading if !told => {
            message(canvas, chrome.body, &["Reading the checkpoint's logs."]);
        }
        Freshness::Failed(why) if !told => {
            let again = "It is tried again by itself; r tries at once, q quits.";
            message(canvas, chrome.body, &["This checkpoint cannot be read.", "", &why, "", again]);
        }
        freshness => {
            match state.screen {
                Screen::Overview => overview::draw(canvas, state, chrome),
                Screen::Partitions => partitions::draw(canvas, state),
                Screen::Keys | Screen::Rows | Screen::WhatIf if is_stateless(state) => {
                    let why = "This query keeps no state: there are no keys and no rows.";
                    message(canvas, chrome.body, &[why, "", "1 goes back to the overview."]);
                }
                Screen::Keys | Screen::Rows | Screen::WhatIf if state.operator().is_none() => {
                    let why = "No store was found: no batch has committed state yet.";
                    message(canvas, chrome.body, &[why, "", "1 goes back to the overview."]);
                }
                Screen::Pauses if is_stateless(state) => {
                    let why = "This query keeps no state: there is nothing to resize.";
                    message(canvas, chrome.body, &[why, "", "1 goes back to the overview."]);
                }
                Screen::Keys => hot_keys::draw(canvas, state),
                Screen::Rows => rows::draw(canvas, state),
                Screen::WhatIf => what_if::draw(canvas, state),
                Screen::Batches => batches::draw(canvas, state),
                Screen::Pauses => pauses::draw(canvas, state),
                Screen::Diagnosis => diagnosis::draw(canvas, state),
            }
            if matches!(freshness, Freshness::Stale(_)) && !told {
                canvas.lay_over(chrome.body, Role::Dimmed);
            }
        }
    }
}

fn is_stateless(state: &State) -> bool {
    state.data().is_some_and(|data| !data.inspect().stateful)
}

/// The worst of what was found while rows were read, unless that is only worth knowing.
fn worst(findings: &[Finding]) -> Option<Row> {
    let worst = findings.iter().max_by_key(|finding| finding.severity)?;
    if worst.severity == Severity::Info {
        return None;
    }
    let (mark, role) = overlay::severity(worst.severity);
    Some(Row::of(format!(" {mark} {}", worst.summary), role))
}

/// The batch that was read for a screen, and how many are newer.
fn batch_read(state: &State, read: Option<BatchId>) -> Row {
    let Some(read) = read else { return Row::new() };
    let newest = state.data().and_then(super::data::Data::batch).unwrap_or(read);
    match newest.0.checked_sub(read.0) {
        None | Some(0) => Row::of(format!(" batch {read}"), Role::Muted),
        Some(newer) => {
            Row::of(format!(" batch {read}; {} newer: ", format::count(newer)), Role::Muted)
                .with("r", Role::Key)
                .with(" reads again", Role::Muted)
        }
    }
}

/// Paragraphs in the middle of an area.
pub(super) fn message(canvas: &mut Canvas<'_>, area: Rect, paragraphs: &[&str]) {
    let width = usize::from(area.width).saturating_sub(8).min(90);
    let lines: Vec<Row> = paragraphs
        .iter()
        .flat_map(|text| if text.is_empty() { vec![String::new()] } else { wrap(text, width) })
        .map(|line| Row::of(line, Role::Text))
        .collect();
    let top = area.y + 1 + area.height.saturating_sub(u16::try_from(lines.len()).unwrap_or(0)) / 4;
    let place = Rect {
        x: area.x + 4,
        y: top,
        width: area.width.saturating_sub(8),
        height: area.bottom().saturating_sub(top),
    };
    canvas.rows(place, &lines);
}

/// What is laid over a screen, in its frame.
pub(super) fn window(
    canvas: &mut Canvas<'_>,
    area: Rect,
    scroll: usize,
    content: &overlay::Content,
) {
    let page = usize::from(area.height.saturating_sub(2));
    let scroll = scroll.min(content.rows.len().saturating_sub(page));
    canvas.clear(area);
    let below = content.rows.len().saturating_sub(scroll + page);
    let lower = match below {
        0 => Row::of("Esc closes", Role::Muted),
        more => Row::of(format!("j: {more} more lines; Esc closes"), Role::Muted),
    };
    canvas.frame(area, Role::BorderFocus, &Row::of(&content.title, Role::Strong), &lower);
    let inner = Rect {
        x: area.x + 2,
        y: area.y + 1,
        width: area.width.saturating_sub(4),
        height: area.height.saturating_sub(2),
    };
    canvas.rows(inner, content.rows.iter().skip(scroll));
}

/// What is drawn where nothing fits.
pub(super) fn too_small(canvas: &mut Canvas<'_>, size: Size) {
    let rows = [
        Row::of(format!("needs {MIN_WIDTH}x{MIN_HEIGHT},"), Role::Strong),
        Row::of(format!("this is {}x{}", size.width, size.height), Role::Text),
        Row::of("q quits", Role::Muted),
    ];
    canvas.rows(Rect::new(0, 0, size.width, size.height), &rows);
}
