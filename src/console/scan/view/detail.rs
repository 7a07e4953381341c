//! Why the selected line stands where it does: below the table, and in full in a window.

use ratatui::layout::Rect;

use super::super::super::format;
use super::super::super::look::{Role, Symbols};
use super::super::super::overlay::{Content, labelled};
use super::super::super::paint::Canvas;
use super::super::super::text::{Row, cut_middle, width, wrap};
use super::super::model::{Model, Tab};
use super::table::{kind, standing};
use crate::diagnosis::candidate::Standing;
use crate::report::{ScannedCheckpoint, Unreadable, UnreadableKind, scan_words};

/// Draws the pane: a rule with the path in it, and as much as fits.
pub(super) fn draw(canvas: &mut Canvas<'_>, model: &Model, area: Rect) {
    let symbols = canvas.symbols();
    let columns = usize::from(area.width);
    canvas.line_of(area, symbols.line, Role::Border);
    let Some(path) = path(model) else { return };
    let name = cut_middle(&path, columns.saturating_sub(6), symbols.ellipsis);
    let heading = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    canvas.row(heading, &Row::of(" ", Role::Text).with(name, Role::Strong).with(" ", Role::Text));
    let mut rows = selected(model, columns.saturating_sub(1));
    let room = usize::from(area.height).saturating_sub(1);
    if rows.len() > room {
        let kept = room.saturating_sub(1);
        let more = format!(" {} more lines: ", rows.len() - kept);
        rows.truncate(kept);
        rows.push(Row::of(more, Role::Muted).with("d", Role::Key).with(" shows all", Role::Muted));
    }
    let below = Rect { y: area.y.saturating_add(1), height: area.height.saturating_sub(1), ..area };
    canvas.rows(below, &rows);
}

/// The same for a window.
pub(super) fn content(model: &Model, columns: usize, _: &Symbols) -> Content {
    let mut rows = Vec::new();
    if let Some(path) = path(model) {
        rows.extend(wrap(&path, columns).into_iter().map(|line| Row::of(line, Role::Strong)));
        rows.push(Row::new());
    }
    rows.extend(selected(model, columns));
    let title = match model.tab {
        Tab::Checkpoints => "checkpoint",
        Tab::Unreadable => "not read",
    };
    Content { title: title.to_owned(), rows }
}

fn path(model: &Model) -> Option<String> {
    match model.tab {
        Tab::Checkpoints => model.checkpoint().map(|one| one.path.clone()),
        Tab::Unreadable => model.unread().map(|one| one.path.clone()),
    }
}

fn selected(model: &Model, columns: usize) -> Vec<Row> {
    match model.tab {
        Tab::Checkpoints => model.checkpoint().map_or_else(Vec::new, |one| told(one, columns)),
        Tab::Unreadable => model.unread().map_or_else(Vec::new, |one| unread(one, columns)),
    }
}

fn unread(one: &Unreadable, columns: usize) -> Vec<Row> {
    let (role, after) = match one.kind {
        UnreadableKind::Link => (Role::Muted, "This is no fault."),
        UnreadableKind::Root | UnreadableKind::Directory => {
            (Role::Error, "Checkpoints in it are not in the list.")
        }
        UnreadableKind::Checkpoint => (Role::Error, "It is a checkpoint by its names."),
    };
    let mut rows = Vec::new();
    labelled(&mut rows, kind(one.kind), role, &one.reason, columns);
    labelled(&mut rows, "", role, after, columns);
    rows
}

/// What forbids a resize and what speaks for one, then what is known besides.
fn told(one: &ScannedCheckpoint, columns: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut say = |label: &str, role: Role, text: &str| {
        labelled(&mut rows, label, role, text, columns);
    };
    for obstacle in &one.obstacles {
        let word = scan_words::word(obstacle.kind).0;
        say(&format!("no: {word}"), standing(one), &obstacle.text);
    }
    for reason in &one.reasons {
        say(scan_words::word(reason.kind).0, Role::Warning, &reason.text);
    }
    if one.standing == Standing::Healthy {
        say("nothing", Role::Ok, "Nothing speaks for a resize, and nothing forbids it.");
    }
    let errors = (one.errors > 0).then(|| format::plural(one.errors, "error", "errors"));
    let warnings = (one.warnings > 0).then(|| format::plural(one.warnings, "warning", "warnings"));
    let role = if errors.is_some() { Role::Error } else { Role::Warning };
    let found: Vec<String> = errors.into_iter().chain(warnings).collect();
    if !found.is_empty() {
        say("findings", role, &format!("{}: Enter shows what", found.join(", ")));
    }
    let operators = scan_words::operators(one);
    if operators != "-" {
        say("operators", Role::Muted, &operators);
    }
    let mut line = String::new();
    // Facts are kept in one piece each.
    for fact in facts(one) {
        if !line.is_empty() && width(&line) + width(&fact) + 2 > columns.saturating_sub(14) {
            say("", Role::Muted, &line);
            line.clear();
        }
        if !line.is_empty() {
            line.push_str(", ");
        }
        line.push_str(&fact);
    }
    say("", Role::Muted, &line);
    rows
}

fn facts(one: &ScannedCheckpoint) -> Vec<String> {
    let mut facts = vec![
        scan_words::provider(one.provider).to_owned(),
        scan_words::status(one.status).to_owned(),
    ];
    facts.retain(|fact| fact != "-");
    if one.first_batch.is_some() || one.last_batch.is_some() {
        facts.push(format!("batches {}", scan_words::batches(one)));
    }
    if let Some(at) = format::told(one.last_commit_at) {
        facts.push(format!("committed {} UTC", format::moment(at)));
    }
    if let Some(id) = &one.query_id {
        facts.push(format!("query {id}"));
    }
    facts
}
