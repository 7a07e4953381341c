//! The first line: what is looked at, of which batch, and whether that is the newest.

use super::super::format;
use super::super::look::{Role, Symbols};
use super::super::state::{Freshness, Screen, State};
use super::super::text::{Row, cut_middle, spread};

/// Columns that the target keeps.
const LEAST_TARGET: usize = 10;

/// The header.
pub(super) fn row(state: &State, symbols: &Symbols, columns: usize) -> Row {
    let right = right(state);
    let room = columns.saturating_sub(right.width() + 1);
    spread(left(state, symbols, room), right, columns, symbols.ellipsis)
}

fn left(state: &State, symbols: &Symbols, room: usize) -> Row {
    let target = |columns| {
        let name = cut_middle(&state.settings.target, columns, symbols.ellipsis);
        Row::of(" ", Role::Text).with(name, Role::Title)
    };
    let store = state.store().filter(|_| state.screen == Screen::Partitions);
    let Some(store) = store else { return target(room.saturating_sub(1)) };
    let operator = format!(" > op {}", store.key.operator);
    let place = |name: &str| {
        Row::of(format!("{operator}{name}"), Role::Muted)
            .with(" > ", Role::Muted)
            .with(&store.key.store, Role::Strong)
    };
    // The store is what one needs to know here: the operator's name goes first, then the
    // target gives way.
    let full = place(&format!(" {}", store.operator_name));
    let place = if full.width() + LEAST_TARGET <= room { full } else { place("") };
    target(room.saturating_sub(place.width() + 1).max(LEAST_TARGET)).joined(place)
}

fn right(state: &State) -> Row {
    let mut row = batch(state);
    let (word, role) = match state.freshness() {
        Freshness::Loading => ("LOADING", Role::Paused),
        Freshness::Failed(_) => ("NO DATA", Role::Stale),
        Freshness::Live => ("LIVE", Role::Live),
        Freshness::Paused => ("PAUSED", Role::Paused),
        Freshness::Stale(_) => ("STALE", Role::Stale),
    };
    row.push("  ", Role::Text);
    match role {
        Role::Live => row.push(word, role),
        _ => row.push(format!(" {word} "), role),
    }
    row.with(" ", Role::Text)
}

/// `batch 1841 committed 4 s ago`, and how far behind the newest that is.
fn batch(state: &State) -> Row {
    let Some(data) = state.data() else { return Row::new() };
    let inspect = data.inspect();
    let Some(batch) = inspect.batch else {
        return Row::of("no committed batch", Role::Warning);
    };
    let mut row = Row::of("batch ", Role::Muted).with(batch.to_string(), Role::Strong);
    let newest =
        state.reading.seen().and_then(|mark| mark.committed).filter(|_| state.hold.is_none());
    let newest = newest.max(inspect.last_committed_batch).filter(|newest| *newest > batch);
    match (newest, inspect.last_commit_at) {
        (Some(newest), _) => row.push(format!(" of {newest}"), Role::Warning),
        (None, Some(at)) => {
            let age = format::age(at.until(state.shown_now()));
            row.push(format!(" committed {age:>4} ago"), Role::Muted);
        }
        (None, None) => {}
    }
    row
}
