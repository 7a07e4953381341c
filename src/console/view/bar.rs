//! The last line: keys, a word to the operator, or the filter being typed.

use super::super::commands;
use super::super::filter::PARTITION_FILTERS;
use super::super::look::{Role, Symbols};
use super::super::state::{Screen, State};
use super::super::text::{Row, width};

/// The bottom line.
pub(super) fn row(state: &State, symbols: &Symbols, columns: usize) -> Row {
    if let Some(prompt) = &state.prompt {
        return super::prompt::row(prompt, columns, symbols);
    }
    if state.typing {
        return typing(state);
    }
    if let Some(notice) = &state.notice {
        return Row::of(" ", Role::Text).with(notice, Role::Warning);
    }
    keys(state, symbols, columns)
}

fn typing(state: &State) -> Row {
    let hint = match state.screen {
        Screen::Overview => "operator, store or finding",
        Screen::Partitions => PARTITION_FILTERS,
        Screen::Keys => "part of a key",
        Screen::Rows => "part of a row",
        Screen::WhatIf | Screen::Batches | Screen::Pauses | Screen::Diagnosis => "",
    };
    Row::of(" /", Role::Key)
        .with(state.filter(), Role::Input)
        .with("_", Role::Input)
        .with("   Enter", Role::Key)
        .with(" keeps  ", Role::Muted)
        .with("Esc", Role::Key)
        .with(format!(" clears  ({hint})"), Role::Muted)
}

/// The first key of a label: help has them all.
fn first_key(label: &str) -> &str {
    label.split(' ').next().unwrap_or(label)
}

fn keys(state: &State, _symbols: &Symbols, columns: usize) -> Row {
    let filter = state.filter();
    let mut row = Row::new();
    if !filter.is_empty() {
        row.push(format!(" /{filter}"), Role::Input);
        row.push("  Esc", Role::Key);
        row.push(" clears", Role::Muted);
        row.push(" ", Role::Text);
    }
    let room = columns.saturating_sub(row.width() + 1);
    let cost = |label: &str, hint: &str| width(first_key(label)) + width(hint) + 3;
    for command in commands::bar(state, room, cost) {
        row.push("  ", Role::Text);
        row.push(first_key(command.label), Role::Key);
        row.push(" ", Role::Text);
        row.push(commands::hint(command.action, state), Role::Muted);
    }
    row
}
