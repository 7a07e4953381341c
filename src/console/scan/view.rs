//! The list onto the screen. Read-only.
//!
//! ```text
//!  header     root                                     scanned 10:34:00 UTC  COMPLETE
//!  tabs       checkpoints 13   not read 2              (scanning 120 directories, 11 of 13 read)
//!  answer     13 checkpoints: a resize may help 2; something forbids it for 8.
//!  table
//!  detail     why the selected one stands where it does
//!  bar        keys, a notice, or the filter being typed
//! ```

mod detail;
mod help;
mod table;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::format;
use super::super::geometry::{self, Chrome};
use super::super::look::{Charset, Look, Role, Symbols};
use super::super::msg::Size;
use super::super::overlay::{self, Content};
use super::super::paint::Canvas;
use super::super::text::{Row, cut_middle, spread, width};
use super::super::view::{message, too_small, window};
use super::commands;
use super::model::{Ended, Model, Overlay, Run, Tab};
use crate::diagnosis::candidate::Standing;
use crate::report::Extent;

/// From this width on there is room for whole words.
const WORDS: usize = 76;

/// Lines of the detail pane, its heading included.
fn detail_height(body: u16) -> u16 {
    (body * 2 / 5).clamp(4, 12)
}

/// The table and the pane below it.
fn places(chrome: Chrome) -> (Rect, Rect) {
    let body = chrome.body;
    let height = detail_height(body.height).min(body.height);
    let table = Rect { height: body.height - height, ..body };
    (table, Rect { y: table.bottom(), height, ..body })
}

/// Lines of the table on view.
pub(super) fn page(size: Size) -> usize {
    geometry::chrome(size)
        .map_or(1, |chrome| usize::from(places(chrome).0.height.saturating_sub(1)).max(1))
}

/// Draws the whole screen.
pub fn draw(model: &Model, look: &Look, buffer: &mut Buffer) {
    let mut canvas = Canvas::new(buffer, look);
    let Some(chrome) = geometry::chrome(model.size) else {
        too_small(&mut canvas, model.size);
        return;
    };
    let columns = usize::from(model.size.width);
    let symbols = canvas.symbols();
    canvas.row(chrome.header, &header(model, symbols, columns));
    canvas.row(chrome.tabs, &tabs(model, symbols, columns));
    canvas.row(chrome.answer, &answer(model));
    body(&mut canvas, model, chrome);
    if let Some((content, scroll)) = laid_over(model, symbols) {
        window(&mut canvas, overlay::area(model.size), scroll, &content);
    }
    canvas.row(chrome.bar, &bar(model, columns));
}

fn body(canvas: &mut Canvas<'_>, model: &Model, chrome: Chrome) {
    if model.tab == Tab::Checkpoints && model.checkpoints.is_empty() {
        match &model.run {
            Run::Scanning { .. } => message(canvas, chrome.body, &["Looking for checkpoints."]),
            Run::Failed(why) => {
                let mut paragraphs = vec!["Nothing can be scanned.", ""];
                paragraphs.extend(why.lines());
                paragraphs.extend(["", "r tries again, q quits."]);
                message(canvas, chrome.body, &paragraphs);
            }
            Run::Ended(ended) => nothing(canvas, model, *ended, chrome.body),
        }
        return;
    }
    let (table, detail) = places(chrome);
    table::draw(canvas, model, table);
    detail::draw(canvas, model, detail);
}

fn nothing(canvas: &mut Canvas<'_>, model: &Model, ended: Ended, area: Rect) {
    let listed = format::plural(ended.directories, "directory", "directories");
    let mut paragraphs = vec![format!("No checkpoint was found in {listed}."), String::new()];
    let deeper = "A checkpoint is a folder with offsets/, commits/ and metadata in it; --depth says \
                  how many levels below a root are looked at.";
    paragraphs.push(deeper.to_owned());
    if !model.unreadable.is_empty() {
        let lost = format::plural(model.unreadable.len() as u64, "place", "places");
        paragraphs.extend([String::new(), format!("{lost} not read: u shows why.")]);
    }
    let paragraphs: Vec<&str> = paragraphs.iter().map(String::as_str).collect();
    message(canvas, area, &paragraphs);
}

fn header(model: &Model, symbols: &Symbols, columns: usize) -> Row {
    let (when, word, role) = match &model.run {
        Run::Scanning { stopping: false, .. } => (None, "SCANNING", Role::Paused),
        Run::Scanning { stopping: true, .. } => (None, "STOPPING", Role::Paused),
        Run::Failed(_) => (None, "FAILED", Role::Stale),
        Run::Ended(ended) => match ended.extent {
            Extent::Complete => (Some(ended.began), "COMPLETE", Role::Live),
            Extent::Cancelled | Extent::TooManyDirectories => {
                (Some(ended.began), "PARTIAL", Role::Stale)
            }
        },
    };
    let mut right = Row::new();
    if let Some(when) = when {
        right.push(format!("scanned {} UTC", format::clock(when)), Role::Muted);
    }
    right.push("  ", Role::Text);
    match role {
        Role::Live => right.push(word, role),
        _ => right.push(format!(" {word} "), role),
    }
    right.push(" ", Role::Text);
    let room = columns.saturating_sub(right.width() + 2);
    let roots = cut_middle(&model.roots.join("  "), room, symbols.ellipsis);
    spread(Row::of(" ", Role::Text).with(roots, Role::Title), right, columns, symbols.ellipsis)
}

fn tabs(model: &Model, symbols: &Symbols, columns: usize) -> Row {
    let tab = |tab: Tab| if model.tab == tab { Role::TabActive } else { Role::Tab };
    let found = format::count(model.checkpoints.len() as u64);
    let lost = format::count(model.unreadable.len() as u64);
    let mut left = Row::of(format!(" checkpoints {found} "), tab(Tab::Checkpoints));
    // The one word on this line that asks for a look.
    let role = match model.tab {
        Tab::Checkpoints if model.faults() > 0 => Role::Error,
        _ => tab(Tab::Unreadable),
    };
    left.push(format!(" not read {lost} "), role);
    spread(left, going_on(model, columns), columns, symbols.ellipsis)
}

fn going_on(model: &Model, columns: usize) -> Row {
    let Run::Scanning { progress, stopping } = model.run else { return Row::new() };
    let mut row = Row::new();
    if columns >= WORDS {
        row.push(format::compact(progress.directories), Role::Strong);
        row.push(" directories, ", Role::Info);
    }
    let read = format!("{} of {}", format::count(progress.read), format::count(progress.found));
    row.push(read, Role::Strong);
    row.push(" read", Role::Info);
    if !stopping {
        row.push("  Esc", Role::Key);
        row.push(" stops", Role::Muted);
    }
    row.with(" ", Role::Text)
}

/// What is missing first, then what a resize would bring.
fn answer(model: &Model) -> Row {
    let row = Row::of(" ", Role::Text);
    if let Some(partial) = partial(model) {
        return row.with(partial, Role::Warning);
    }
    if model.tab == Tab::Unreadable {
        let links = model.unreadable.len() - model.faults();
        let mut row = row.with(
            format!(
                "{} not readable",
                format::plural(model.faults() as u64, "place is", "places are")
            ),
            if model.faults() > 0 { Role::Error } else { Role::Text },
        );
        if links > 0 {
            let links = format::plural(links as u64, "link is", "links are");
            row.push(format!("; {links} not followed"), Role::Muted);
        }
        return row.with(".", Role::Muted);
    }
    if model.checkpoints.is_empty() {
        return row;
    }
    let of = |standing| model.checkpoints.values().filter(|one| one.standing == standing).count();
    let all = format::plural(model.checkpoints.len() as u64, "checkpoint", "checkpoints");
    let mut row = row.with(all, Role::Strong);
    row.push(if model.is_scanning() { " so far: " } else { ": " }, Role::Text);
    match of(Standing::Gain) as u64 {
        0 => row.push("a resize would bring nothing", Role::Ok),
        gain => row.push(format!("a resize may help {}", format::count(gain)), Role::Warning),
    }
    match of(Standing::Forbidden) as u64 {
        0 => {}
        no => row.push(format!("; forbidden for {}", format::count(no)), Role::Text),
    }
    if let Run::Ended(Ended { too_deep: deeper @ 1.., .. }) = model.run {
        row.push(format!("; {} deeper than --depth", format::count(deeper)), Role::Muted);
    }
    row.with(".", Role::Text)
}

/// What the list lacks, where it is not the whole truth.
fn partial(model: &Model) -> Option<String> {
    let earlier = model.earlier.filter(|_| !model.is_scanning());
    let earlier = earlier
        .map_or_else(String::new, |began| format!("; others are of {}", format::clock(began)));
    match &model.run {
        Run::Failed(why) if !model.checkpoints.is_empty() => {
            let why = why.lines().next().unwrap_or_default();
            Some(format!("Not scanned again{earlier}: {why}"))
        }
        Run::Ended(Ended { extent: Extent::Cancelled, directories, found, read, .. }) => {
            Some(format!(
                "Partial: {} of {} found are read, in {}{earlier}.",
                format::count(*read),
                format::count(*found),
                format::plural(*directories, "directory", "directories")
            ))
        }
        Run::Ended(Ended { extent: Extent::TooManyDirectories, directories, .. }) => Some(format!(
            "Partial: stopped after {} directories; scan fewer or deeper roots.",
            format::count(*directories)
        )),
        Run::Ended(Ended { too_deep, .. }) if *too_deep > 0 && model.checkpoints.is_empty() => {
            let deeper = format::plural(*too_deep, "directory lies", "directories lie");
            Some(format!("{deeper} deeper than --depth and were not looked into."))
        }
        _ => None,
    }
}

/// What is laid over the list, and how far it is scrolled.
fn laid_over(model: &Model, symbols: &Symbols) -> Option<(Content, usize)> {
    let columns = overlay::columns(model.size);
    match model.overlay? {
        Overlay::Help(scroll) => Some((help::content(model, columns), scroll)),
        Overlay::Details(scroll) => Some((detail::content(model, columns, symbols), scroll)),
    }
}

/// Lines of what is laid over the list.
pub(super) fn overlay_rows(model: &Model) -> usize {
    laid_over(model, Charset::Utf8.symbols()).map_or(0, |(content, _)| content.rows.len())
}

fn bar(model: &Model, columns: usize) -> Row {
    if model.typing {
        return Row::of(" /", Role::Key)
            .with(&model.filter, Role::Input)
            .with("_", Role::Input)
            .with("   Enter", Role::Key)
            .with(" keeps  ", Role::Muted)
            .with("Esc", Role::Key)
            .with(" clears  (part of any column)", Role::Muted);
    }
    if let Some(notice) = &model.notice {
        return Row::of(" ", Role::Text).with(notice, Role::Warning);
    }
    let mut row = Row::new();
    if !model.filter.is_empty() {
        row.push(format!(" /{}", model.filter), Role::Input);
        row.push("  Esc", Role::Key);
        row.push(" clears ", Role::Muted);
    }
    let first = |label: &'static str| label.split(' ').next().unwrap_or(label);
    let room = columns.saturating_sub(row.width() + 1);
    let cost =
        |label: &str, hint: &str| width(label.split(' ').next().unwrap_or(label)) + width(hint) + 3;
    for command in commands::bar(model, room, cost) {
        row.push("  ", Role::Text);
        row.push(first(command.label), Role::Key);
        row.push(" ", Role::Text);
        row.push(commands::hint(command.action, model), Role::Muted);
    }
    row
}
