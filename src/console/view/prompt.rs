//! A line being typed on the bottom line, and what is wrong with it above.

use ratatui::layout::Rect;

use super::super::geometry::Chrome;
use super::super::look::{Role, Symbols};
use super::super::paint::Canvas;
use super::super::state::{Prompt, PromptKind, State};
use super::super::text::{Row, sanitise, width};

/// Columns that the line being typed keeps, whatever else there is to say.
const LEAST: usize = 24;

/// The line.
pub(super) fn row(prompt: &Prompt, columns: usize, symbols: &Symbols) -> Row {
    let (label, enter, hint) = match prompt.kind {
        PromptKind::Where => ("where", "reads", "account_id = 'acct-7' and value.count > 100"),
        PromptKind::By => ("by", "reads", "columns: account_id,window.start; none for all"),
        PromptKind::Count => ("count", "takes it", "partitions"),
        PromptKind::Nodes => ("nodes", "takes it", "of the cluster; none for not known"),
    };
    let mut tail = Row::of("  Enter", Role::Key).with(format!(" {enter}  "), Role::Muted);
    tail.append(Row::of("Esc", Role::Key).with(" leaves it", Role::Muted));
    let head = Row::of(format!(" {label}: "), Role::Key);
    let room = columns.saturating_sub(head.width() + tail.width() + 1).max(LEAST);
    let mut row = head.with(end(&prompt.text, room, symbols), Role::Input).with("_", Role::Input);
    if row.width() + tail.width() <= columns {
        row.append(tail);
    }
    if prompt.text.is_empty() && row.width() + width(hint) + 4 <= columns {
        row.push(format!("  ({hint})"), Role::Muted);
    }
    row
}

/// The end of a text is what is being typed.
fn end(text: &str, columns: usize, symbols: &Symbols) -> String {
    let text = sanitise(text);
    if width(&text) <= columns {
        return text.into_owned();
    }
    let mut rest: &str = &text;
    while width(rest) + width(symbols.ellipsis) > columns {
        let Some(first) = rest.chars().next() else { break };
        rest = rest.get(first.len_utf8()..).unwrap_or_default();
    }
    format!("{}{rest}", symbols.ellipsis)
}

/// What is wrong with the line, in a box above it.
pub(super) fn draw_error(canvas: &mut Canvas<'_>, state: &State, chrome: Chrome) {
    let Some(error) = state.prompt.as_ref().and_then(|prompt| prompt.error.as_ref()) else {
        return;
    };
    // A mark stands below a place of the condition: these lines must not be wrapped.
    let rows: Vec<Row> = error.lines().map(|line| Row::of(line, Role::Text)).collect();
    let height = u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(2);
    let height = height.min(chrome.body.height);
    let area = Rect { y: chrome.bar.y.saturating_sub(height), height, ..chrome.body };
    canvas.clear(area);
    canvas.frame(area, Role::BorderFocus, &Row::of("not understood", Role::Error), &Row::new());
    let inner = Rect {
        x: area.x + 2,
        y: area.y + 1,
        width: area.width.saturating_sub(4),
        height: area.height.saturating_sub(2),
    };
    canvas.rows(inner, &rows);
}
