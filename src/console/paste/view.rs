//! Draws the area: the text with its cursor, and the explanation below it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use tui_textarea::DataCursor;

use super::super::look::{Look, Role};
use super::super::paint::Canvas;
use super::super::text::{Row, cut, head, width};
use super::{Focus, LONGEST, Paste, rows};

/// Lines of text that are kept, whatever the explanation needs.
const LEAST: u16 = 3;

/// Draws the area into a part of the screen.
pub fn draw(buffer: &mut Buffer, area: Rect, paste: &Paste, look: &Look) {
    let mut canvas = Canvas::over(buffer, look);
    canvas.clear(area);
    let upper = (area.height / 3).max(LEAST).min(area.height);
    let text = Rect { height: upper, ..area };
    let below = Rect { y: area.y + upper, height: area.height - upper, ..area };
    draw_text(&mut canvas, text, paste);
    draw_explanation(&mut canvas, below, paste);
}

/// The part of a box inside its border.
fn inside(area: Rect) -> Rect {
    Rect {
        x: area.x.saturating_add(2),
        y: area.y.saturating_add(1),
        width: area.width.saturating_sub(4),
        height: area.height.saturating_sub(2),
    }
}

fn border(paste: &Paste, focus: Focus) -> Role {
    if paste.focus == focus { Role::BorderFocus } else { Role::Border }
}

fn draw_text(canvas: &mut Canvas<'_>, area: Rect, paste: &Paste) {
    let title = Row::of("paste a stack trace or log", Role::Title);
    let keys = if paste.full {
        let size = LONGEST >> 20;
        Row::of(format!("cut at {size} MB: statetop explain FILE takes more"), Role::Warning)
    } else {
        Row::of("Tab", Role::Key)
            .with(" explanation  ", Role::Muted)
            .with("Esc", Role::Key)
            .with(" leaves it", Role::Muted)
    };
    canvas.frame(area, border(paste, Focus::Text), &title, &keys);
    let inner = inside(area);
    let DataCursor(line, column) = paste.text.cursor();
    let lines = usize::from(inner.height);
    let first = (line + 1).saturating_sub(lines);
    let ellipsis = canvas.symbols().ellipsis;
    let shown = paste.text.lines().iter().enumerate().skip(first).take(lines);
    let rows: Vec<Row> = shown
        .map(|(at, text)| {
            if at == line && paste.focus == Focus::Text {
                with_cursor(text, column, usize::from(inner.width))
            } else {
                Row::of(cut(text, usize::from(inner.width), ellipsis), Role::Text)
            }
        })
        .collect();
    canvas.rows(inner, &rows);
}

/// The line that is typed into, moved so that the cursor is on view.
fn with_cursor(text: &str, column: usize, columns: usize) -> Row {
    let at = text.char_indices().nth(column).map_or(text.len(), |(at, _)| at);
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    // No more characters than columns can be on view, however long the line is.
    let near = before.char_indices().rev().take(columns).last().map_or(before.len(), |(at, _)| at);
    let mut before = before.get(near..).unwrap_or_default();
    while width(before) + 1 > columns {
        let Some(first) = before.chars().next() else { break };
        before = before.get(first.len_utf8()..).unwrap_or_default();
    }
    let mut rest = after.chars();
    let under = rest.next().map_or(" ".to_owned(), |c| c.to_string());
    let room = columns.saturating_sub(width(before) + width(&under));
    Row::of(before, Role::Text)
        .with(under, Role::Cursor)
        .with(head(rest.as_str(), room), Role::Text)
}

fn draw_explanation(canvas: &mut Canvas<'_>, area: Rect, paste: &Paste) {
    let inner = inside(area);
    let rows = match &paste.report {
        Some(report) if !paste.is_empty() => rows::report(report, usize::from(inner.width)),
        _ => vec![Row::of("What it means appears here.", Role::Muted)],
    };
    let most = rows.len().saturating_sub(usize::from(inner.height));
    let from = paste.scroll.min(most);
    let keys = match paste.focus {
        Focus::Explanation => Row::of("j k", Role::Key)
            .with(" scroll  ", Role::Muted)
            .with("c", Role::Key)
            .with(" clear  ", Role::Muted)
            .with("Tab", Role::Key)
            .with(" text", Role::Muted),
        Focus::Text if most > 0 => Row::of(format!("{most} more lines"), Role::Muted),
        Focus::Text => Row::new(),
    };
    let title = Row::of("what it means", Role::Title);
    canvas.frame(area, border(paste, Focus::Explanation), &title, &keys);
    canvas.rows(inner, rows.iter().skip(from));
}
