//! What is laid over a screen: the keys, a finding in full, all about a partition.
//!
//! Content is rows of text made from the state, so that `update` knows how far one can
//! scroll and the view only has to draw.

mod batch;
mod rows;
mod running;

use ratatui::layout::Rect;

use super::commands::{self, COMMANDS, CONTEXTS, Context};
use super::filter::PARTITION_FILTERS;
use super::format;
use super::heat::Metric;
use super::look::{Charset, Role, Symbols};
use super::msg::Size;
use super::paste;
use super::state::{FindingKey, Screen, State, Subject};
use super::text::{Row, width, wrap};
use crate::analysis::consequences::FORMULAS;
use crate::diagnosis::{Finding, Severity};
use crate::report::PartitionReport;
use crate::telemetry::timeline::task_of;
use crate::units::PartitionId;

/// Columns of labels and keys.
const LABEL: usize = 14;

/// Where the chooser of metrics is drawn: over the table, so that the heatmap shows what is
/// chosen.
fn chooser(size: Size) -> Rect {
    let lines = u16::try_from(Metric::ALL.len()).unwrap_or(u16::MAX);
    let height = (lines + 2).min(size.height.saturating_sub(4));
    let width = size.width.min(76);
    let y = size.height.saturating_sub(height + 1);
    Rect::new((size.width - width) / 2, y, width, height)
}

/// Where an overlay is drawn.
pub(super) fn area_of(subject: &Subject, size: Size) -> Rect {
    match subject {
        Subject::Metrics => chooser(size),
        _ => area(size),
    }
}

/// Where most overlays are drawn.
pub(super) fn area(size: Size) -> Rect {
    let width = size.width.min(96);
    let height = size.height.saturating_sub(4);
    Rect::new((size.width - width) / 2, 2, width, height)
}

/// Lines of content on view.
pub(super) fn page(size: Size) -> usize {
    usize::from(area(size).height.saturating_sub(2))
}

/// Columns of content.
pub(super) fn columns(size: Size) -> usize {
    usize::from(area(size).width.saturating_sub(4))
}

/// How far one can scroll.
pub(super) fn most_scroll(state: &State) -> usize {
    content(state, Charset::Utf8.symbols())
        .map_or(0, |content| content.rows.len().saturating_sub(page(state.size)))
}

/// What is to be shown.
pub(super) struct Content {
    /// Its heading.
    pub(super) title: String,
    /// All of it.
    pub(super) rows: Vec<Row>,
}

/// The content of the open overlay.
pub(super) fn content(state: &State, symbols: &Symbols) -> Option<Content> {
    let overlay = state.overlay.as_ref()?;
    let columns = usize::from(area_of(&overlay.subject, state.size).width.saturating_sub(4));
    Some(match &overlay.subject {
        Subject::Help => Content { title: "keys".to_owned(), rows: help(state, columns, symbols) },
        Subject::Finding(key) => finding(state, key, columns),
        Subject::Partition(id) => partition(state, *id, columns),
        Subject::Metrics => running::metrics(state, columns),
        Subject::Batch => batch::content(state, columns, symbols),
        Subject::Sources => running::sources(state, columns),
        Subject::Row(place) => rows::row(state, *place, columns, symbols),
        Subject::History(of) => rows::history(state, of, columns, symbols),
    })
}

fn help(state: &State, columns: usize, symbols: &Symbols) -> Vec<Row> {
    let mut rows = Vec::new();
    let here = Context::On(state.screen);
    let mut contexts = CONTEXTS;
    contexts.sort_by_key(|context| *context != here);
    for context in contexts {
        rows.push(Row::of(context.title(), Role::Strong));
        for command in COMMANDS.iter().filter(|command| command.context == context) {
            let mut title = command.title.to_owned();
            if let commands::Availability::Not(why) = commands::availability(command.action, state)
                && state.overlay.is_none()
            {
                title = format!("{title} (not now: {why})");
            }
            labelled(&mut rows, command.label, Role::Key, &title, columns);
        }
        rows.push(Row::new());
    }
    if state.screen == Screen::WhatIf {
        rows.push(Row::of("Formulas", Role::Strong));
        for (name, formula) in FORMULAS {
            labelled_below(&mut rows, &name.replace('_', " "), formula, columns);
        }
        rows.push(Row::new());
    }
    rows.push(Row::of("Filters", Role::Strong));
    labelled(
        &mut rows,
        "overview",
        Role::Key,
        "part of the name of an operator, store or finding",
        columns,
    );
    labelled(&mut rows, "partitions", Role::Key, PARTITION_FILTERS, columns);
    labelled(&mut rows, "keys, rows", Role::Key, "part of what is shown, or would be", columns);
    rows.push(Row::new());
    rows.push(Row::of("Words and marks", Role::Strong));
    for (label, text) in LEGEND {
        let label = label.replace('…', symbols.ellipsis).replace('•', symbols.hidden);
        let label = label.replace('±', symbols.give_or_take);
        labelled(&mut rows, &label, Role::Key, text, columns);
    }
    rows
}

const LEGEND: [(&str, &str); 12] = [
    ("exact", "the store was opened, its changelogs replayed, its keys counted"),
    ("snap 3", "the newest snapshot's own count; up to 3 changelogs after it are not in it"),
    ("unknown ?", "not tracked, not readable, or not read yet: never shown as 0"),
    (
        "underlined",
        "changed since the batch before; if over a quarter of them did, only those that changed more than twice the average",
    ),
    ("!", "the largest partition holds more than twice the mean"),
    ("X ! i", "findings: error, warning, worth knowing"),
    ("81,204 ± 9", "a key's true weight is that or at most 9 more: not all keys fit the memory"),
    ("…7 •••", "masked: the last character of a value, or none of a short one; m shows it"),
    ("~ 10 s", "about: the median distance of two triggers; no source tells the interval"),
    ("sources", "as a phase of a batch: latestOffset, getBatch; logs: walCommit, commitOffsets"),
    ("PAST", "a batch of the past is looked at; Esc follows the newest again"),
    ("STALE", "the checkpoint does not answer: the numbers are the last that were read"),
];

/// A label and a text beside it, on as many lines as the text needs.
pub(super) fn labelled(rows: &mut Vec<Row>, label: &str, role: Role, text: &str, columns: usize) {
    let mut label = Row::of(" ", Role::Text).with(label, role);
    let beside = LABEL.max(label.width() + 1);
    for line in wrap(text, columns.saturating_sub(beside)) {
        label.pad_to(beside, Role::Text);
        rows.push(std::mem::take(&mut label).with(line, Role::Text));
    }
}

/// A label that is longer than the others, and its text below it.
fn labelled_below(rows: &mut Vec<Row>, label: &str, text: &str, columns: usize) {
    rows.push(Row::of(" ", Role::Text).with(label, Role::Key));
    labelled(rows, "", Role::Key, text, columns);
}

/// The mark and role of a severity.
pub(super) fn severity(severity: Severity) -> (&'static str, Role) {
    match severity {
        Severity::Error => ("X", Role::Error),
        Severity::Warning => ("!", Role::Warning),
        Severity::Info => ("i", Role::Info),
    }
}

fn finding(state: &State, key: &FindingKey, columns: usize) -> Content {
    let findings = state.found.shown();
    let Some(finding) = findings.iter().find(|finding| key.names(finding)) else {
        let gone =
            Row::of("This finding is gone: the newest observation does not have it.", Role::Ok);
        return Content { title: "finding".to_owned(), rows: vec![gone] };
    };
    Content { title: format!("finding {}", finding.id.0), rows: finding_rows(finding, columns) }
}

fn finding_rows(finding: &Finding, columns: usize) -> Vec<Row> {
    let (mark, role) = severity(finding.severity);
    let word = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "worth knowing",
    };
    let mut rows = vec![Row::of(format!("{mark} {word}"), role), Row::new()];
    rows.extend(
        wrap(&finding.summary, columns).into_iter().map(|line| Row::of(line, Role::Strong)),
    );
    for (heading, text) in [("", finding.detail.as_str()), ("What to do", &finding.remedy)] {
        if text.is_empty() {
            continue;
        }
        rows.push(Row::new());
        if !heading.is_empty() {
            rows.push(Row::of(heading, Role::Strong));
        }
        rows.extend(wrap(text, columns).into_iter().map(|line| Row::of(line, Role::Text)));
    }
    // What the engine says of it, explained at hand.
    for entry in paste::of_text(&finding.detail) {
        rows.push(Row::new());
        rows.extend(paste::explanation(entry, columns));
    }
    if let Some(file) = &finding.file {
        rows.push(Row::new());
        rows.push(Row::of("File", Role::Strong));
        rows.extend(wrap(file, columns).into_iter().map(|line| Row::of(line, Role::Text)));
    }
    rows.push(Row::new());
    rows.push(Row::of(finding.id.documentation(), Role::Muted));
    rows
}

fn partition(state: &State, id: PartitionId, columns: usize) -> Content {
    let title = format!("partition {id}");
    let store = state.store();
    let Some((store, part)) = store.and_then(|store| Some((store, store.partition(id)?))) else {
        let gone = Row::of("This partition is gone: the store has fewer now.", Role::Text);
        return Content { title, rows: vec![gone] };
    };
    let mut rows = Vec::new();
    let mut line = |label: &str, text: String| {
        labelled(&mut rows, label, Role::Muted, &text, columns);
    };
    line("store", format!("op {} {} {}", store.key.operator, store.operator_name, store.key.store));
    line("rows", rows_text(part));
    if let Some(change) = store.change(id) {
        line("change", format!("{} rows since the batch before", format::change(change)));
    }
    line(
        "bytes",
        format!("{} in {}", format::bytes(part.bytes), format::plural(part.files, "file", "files")),
    );
    line(
        "snapshot",
        match part.snapshot_version {
            Some(version) => format!("version {version}"),
            None => "none".to_owned(),
        },
    );
    line("changelogs", format!("{} to replay on top of it", format::count(part.changelogs)));
    if let Some(written) = format::told(part.last_written) {
        line("written", format!("{} UTC, the newest of its files", format::moment(written)));
    }
    line(
        "changed",
        match part.last_changed.map(|version| (version, version.batch())) {
            Some((_, Some(batch))) => format!("last by batch {batch}"),
            Some((version, None)) => format!("never (version {version})"),
            None => "not known: counting exactly (x) shows it".to_owned(),
        },
    );
    rows.push(Row::new());
    families(&mut rows, part, columns);
    let span = state.tasks(store.key.operator, store.partitions);
    if let Some((batch, load)) = span.and_then(|span| span.batches.first().copied())
        && let Some(task) = task_of(load, id)
    {
        rows.push(Row::new());
        batch::task(&mut rows, batch, task, columns);
    }
    Content { title, rows }
}

fn rows_text(part: &PartitionReport) -> String {
    match part.rows {
        Some(rows) => {
            format!("{} {}", format::count(rows), format::grade(part.rows_grade, part.changelogs))
        }
        None => "unknown: not tracked, not readable, or not read".to_owned(),
    }
}

fn families(rows: &mut Vec<Row>, part: &PartitionReport, columns: usize) {
    let longest = part.families.keys().map(|name| width(name)).max().unwrap_or(0).max(6);
    let name_width = longest.min(columns.saturating_sub(32));
    let number = |value: Option<u64>| value.map_or_else(|| "?".to_owned(), format::count);
    let mut head = Row::of(" family", Role::Muted);
    head.pad_to(name_width + 1, Role::Muted);
    rows.push(head.with(format!("{:>14}{:>14}", "keys", "elements"), Role::Muted));
    for (name, count) in &part.families {
        let mut row = Row::of(" ", Role::Text).with(name, Role::Text).cut(name_width + 1, "..");
        row.pad_to(name_width + 1, Role::Text);
        row.push(format!("{:>14}{:>14}", number(count.rows), number(count.elements)), Role::Text);
        if count.internal {
            row.push("  Spark's own", Role::Muted);
        }
        rows.push(row);
    }
}
