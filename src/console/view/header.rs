//! The first line: what is looked at, of which batch, and whether that is the newest.

use super::super::format;
use super::super::look::{Role, Symbols};
use super::super::state::{Freshness, Screen, State};
use super::super::text::{Row, cut_middle, spread};
use crate::report::Reveal;
use crate::units::{OperatorId, PartitionId};

/// The least columns that a target can be told by.
const LEAST_TARGET: usize = 10;

/// From this width on there is room for whole words.
const WORDS: usize = 76;

/// The header.
pub(super) fn row(state: &State, symbols: &Symbols, columns: usize) -> Row {
    let right = right(state, columns);
    let room = columns.saturating_sub(right.width() + 1);
    spread(left(state, symbols, room), right, columns, symbols.ellipsis)
}

fn left(state: &State, symbols: &Symbols, room: usize) -> Row {
    let target = |columns| {
        let name = cut_middle(&state.settings.target, columns, symbols.ellipsis);
        Row::of(" ", Role::Text).with(name, Role::Title)
    };
    let Some((operator, parts)) = place(state) else { return target(room.saturating_sub(1)) };
    let words = |name: &str| {
        let mut row = Row::of(format!(" > op {operator}{name}"), Role::Muted);
        for part in &parts {
            row.push(" > ", Role::Muted);
            row.push(part, Role::Strong);
        }
        row
    };
    // The last part is what one needs to know here: the operator's name goes first, then the
    // target gives way.
    let stores = state.data().map_or(&[][..], |data| &data.stores);
    let name = stores.iter().find(|store| store.key.operator == operator);
    let full = words(&name.map_or_else(String::new, |store| format!(" {}", store.operator_name)));
    let place = if full.width() + LEAST_TARGET < room { full } else { words("") };
    let left = room.saturating_sub(place.width() + 1);
    if left < LEAST_TARGET { place } else { target(left).joined(place) }
}

/// The operator that a screen is about, and what of it.
fn place(state: &State) -> Option<(OperatorId, Vec<String>)> {
    let partition = |id: &PartitionId| format!("partition {id}");
    match state.screen {
        Screen::Overview | Screen::Batches | Screen::Pauses | Screen::Diagnosis => None,
        Screen::Partitions => {
            let key = &state.store()?.key;
            Some((key.operator, vec![key.store.clone()]))
        }
        // What there is no room for is cut off at the end: the store, which the screen tells too.
        Screen::Keys => {
            let scope = state.hot_keys.scope.as_ref()?;
            let parts = scope.partition.as_ref().map(partition).into_iter();
            Some((scope.operator, parts.chain(scope.store.clone()).collect()))
        }
        Screen::Rows => {
            let scope = state.rows.scope.as_ref()?;
            let key = scope.key.as_ref().map(|_| "one key".to_owned());
            let parts = scope.partition.as_ref().map(partition).into_iter().chain(key);
            Some((scope.operator, parts.chain(scope.store.clone()).collect()))
        }
        Screen::WhatIf => Some((state.what_if.operator?, Vec::new())),
    }
}

fn right(state: &State, columns: usize) -> Row {
    let mut row = batch(state, columns);
    let (word, role) = match state.freshness() {
        Freshness::Loading => ("LOADING", Role::Paused),
        Freshness::Failed(_) => ("NO DATA", Role::Stale),
        Freshness::Live if state.chosen.is_some() => ("PAST", Role::Paused),
        Freshness::Live => ("LIVE", Role::Live),
        Freshness::Paused => ("PAUSED", Role::Paused),
        Freshness::Stale(_) => ("STALE", Role::Stale),
    };
    if matches!(state.screen, Screen::Keys | Screen::Rows | Screen::WhatIf) {
        match state.reveal {
            Reveal::Masked => row.push("  MASKED", Role::Muted),
            Reveal::Shown => row.push("  REVEALED", Role::Warning),
        }
    }
    row.push("  ", Role::Text);
    match role {
        Role::Live => row.push(word, role),
        _ => row.push(format!(" {word} "), role),
    }
    row.with(" ", Role::Text)
}

/// `batch 1841 committed 4 s ago`, and how far behind the newest that is.
fn batch(state: &State, columns: usize) -> Row {
    if state.screen == Screen::Batches
        && let Some(row) = told(state, columns)
    {
        return row;
    }
    let Some(data) = state.data() else { return Row::new() };
    let inspect = data.inspect();
    let Some(batch) = inspect.batch else {
        return Row::of("no committed batch", Role::Warning);
    };
    let label = if columns < WORDS { "" } else { "batch " };
    let mut row = Row::of(label, Role::Muted).with(batch.to_string(), Role::Strong);
    let seen = state.reading.seen().and_then(|mark| mark.committed);
    let seen = seen.filter(|_| state.hold.is_none());
    let newest = seen.max(inspect.last_committed_batch).filter(|newest| *newest > batch);
    if let Some(newest) = newest {
        row.push(format!(" of {newest}"), Role::Warning);
    }
    if state.reading.pinned().is_some() {
        // The time of the newest commit says nothing about another batch.
        let at = data.observation.observed_at;
        row.push(
            format!(", read {:>4} ago", format::age(at.until(state.shown_now()))),
            Role::Muted,
        );
    } else if let Some(at) = format::told(inspect.last_commit_at) {
        let roomy = columns >= WORDS && state.screen == Screen::Overview && newest.is_none();
        let verb = if roomy { " committed" } else { "," };
        let age = format::age(at.until(state.shown_now()));
        row.push(format!("{verb} {age:>4} ago"), Role::Muted);
    }
    row
}

/// `batch 1801 of 1841 told 4 s ago`: of the running query.
fn told(state: &State, columns: usize) -> Option<Row> {
    let query = state.query()?;
    let (place, newest) = (state.place()?, query.newest()?);
    let label = if columns < WORDS { "" } else { "batch " };
    let mut row = Row::of(label, Role::Muted).with(place.batch.to_string(), Role::Strong);
    if place != newest {
        row.push(format!(" of {}", newest.batch), Role::Warning);
    }
    if let Some(heard) = query.current().and_then(crate::telemetry::timeline::Run::heard) {
        let age = format::age(heard.until(state.shown_now()));
        row.push(format!(", told {age:>4} ago"), Role::Muted);
    }
    Some(row)
}
