//! Windows about a row: all of it, and what the last batches did to its key.

use super::super::asking::Question;
use super::super::format;
use super::super::hiding;
use super::super::look::{Role, Symbols};
use super::super::state::State;
use super::super::text::{Row, wrap};
use super::super::view;
use super::{Content, labelled};
use crate::reader::{Change, HistoryRequest, KeyHistory};

/// A row of the page in full.
pub(super) fn row(state: &State, place: usize, columns: usize, symbols: &Symbols) -> Content {
    let Some(row) = state.rows.page().and_then(|page| page.rows.get(place)) else {
        let gone = Row::of("This row is gone: other rows are shown now.", Role::Text);
        return Content { title: "row".to_owned(), rows: vec![gone] };
    };
    let number = format::count(place as u64 + 1);
    let title = format!("row {number}: {}", view::whereabouts(row));
    Content { title, rows: view::full_row(row, state.reveal, symbols, columns) }
}

/// What the last batches did to a key.
pub(super) fn history(
    state: &State,
    of: &HistoryRequest,
    columns: usize,
    symbols: &Symbols,
) -> Content {
    let key = hiding::half_words(&of.key, state.reveal, symbols);
    let title = "history of a key".to_owned();
    let mut rows: Vec<Row> =
        wrap(&key, columns).into_iter().map(|line| Row::of(line, Role::Strong)).collect();
    rows.push(Row::new());
    match state.rows.history.as_ref().filter(|(known, _)| known == of) {
        Some((_, Ok(history))) => rows.extend(changes(state, history, columns, symbols)),
        Some((_, Err(why))) => {
            rows.extend(wrap(why, columns).into_iter().map(|line| Row::of(line, Role::Error)));
        }
        None => rows.push(reading(state, of)),
    }
    Content { title, rows }
}

fn reading(state: &State, of: &HistoryRequest) -> Row {
    let mut row =
        Row::of(format!("Reading the changelogs of partition {}", of.partition), Role::Info);
    let asked = state.asking.asked();
    let asked = asked.filter(|asked| matches!(asked.question, Question::History(_)));
    if let Some((_, progress)) = asked.and_then(|asked| asked.progress) {
        row.push(format!(", {} of {}", progress.done, progress.total), Role::Strong);
    }
    row.with(".", Role::Info)
}

fn changes(state: &State, history: &KeyHistory, columns: usize, symbols: &Symbols) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut say = |text: &str, role: Role| {
        rows.extend(wrap(text, columns).into_iter().map(|line| Row::of(line, role)));
    };
    let Some((first, last)) = history.looked_at else {
        let why = "No changelogs lead to this batch: the query runs without changelog \
                   checkpointing, or the batch is a repartition.";
        say(history.findings.first().map_or(why, |finding| &finding.summary), Role::Warning);
        return rows;
    };
    let number = history.changes.len() as u64;
    let changes = format::plural(number, "change", "changes");
    let sentence = match number {
        0 => format!("No change in batches {first} to {last}: the row is older."),
        1 => format!("{changes} in batches {first} to {last}."),
        _ => format!("{changes} in batches {first} to {last}, newest first."),
    };
    say(&sentence, Role::Text);
    if history.partial {
        say("PARTIAL: not all changelogs were read.", Role::Warning);
    }
    if let Some(finding) = history.findings.first() {
        say(&finding.summary, Role::Warning);
    }
    rows.push(Row::new());
    for change in &history.changes {
        let word = match change.change {
            Change::Put => "put",
            Change::Merge => "appended",
            Change::Remove | Change::RemoveRange => "removed",
        };
        let label = format!("{} {word}", change.batch);
        let value = match change.change {
            Change::Remove | Change::RemoveRange => String::new(),
            Change::Put | Change::Merge => hiding::half_words(&change.value, state.reveal, symbols),
        };
        if value.is_empty() {
            rows.push(Row::of(format!(" {label}"), Role::Warning));
        } else {
            labelled(&mut rows, &label, Role::Muted, &value, columns);
        }
    }
    rows
}
