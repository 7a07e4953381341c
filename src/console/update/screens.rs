//! What commands do on the screens that read rows: keys, rows, what-if. And how one gets there.

use super::super::commands::Action;
use super::super::state::{
    Item, KeysScope, Overlay, Prompt, PromptKind, RowsScope, Screen, State, Subject, step_down,
    step_up,
};
use super::super::{places, view};
use super::keys::stepped;
use crate::analysis::layout::MAX_PARTITIONS;
use crate::reader::{HistoryRequest, Weighing};
use crate::units::OperatorId;

/// Whole numbers in the values that the weight goes through.
const NUMBERS: usize = 8;
/// Batches that a history looks back.
const HISTORY: u64 = 20;

/// Shows a screen by its number. What it is about follows from where one comes from.
pub(super) fn go(state: &mut State, screen: Screen) {
    let operator = match (state.screen, state.selected_item()) {
        (Screen::Overview, Some(Item::Store(key))) => Some(key.operator),
        _ => state.operator(),
    };
    let from_above = matches!(state.screen, Screen::Overview | Screen::Partitions);
    if let Some(operator) = operator {
        match screen {
            Screen::Keys => {
                let scope = state.hot_keys.scope.as_ref();
                if from_above || scope.is_none_or(|scope| scope.operator != operator) {
                    choose_keys(state, KeysScope { operator, store: None, partition: None });
                }
            }
            Screen::WhatIf => choose_operator(state, operator),
            _ => {}
        }
    }
    state.trail.clear();
    state.screen = screen;
}

/// Shows a screen for what is selected on this one, to come back to.
fn enter(state: &mut State, screen: Screen) {
    state.trail.push(state.screen);
    state.screen = screen;
}

/// One screen back; whether there was one.
pub(super) fn leave(state: &mut State) -> bool {
    let here = state.screen;
    state.screen = state.trail.pop().unwrap_or_default();
    here != state.screen
}

/// Whose keys; another operator has other columns.
fn choose_keys(state: &mut State, scope: KeysScope) {
    let keys = &mut state.hot_keys;
    if keys.scope.as_ref().is_none_or(|before| before.operator != scope.operator) {
        keys.by.clear();
        keys.weigh = Weighing::Rows;
        keys.offers = crate::report::KeyOffers::default();
    }
    if keys.scope.as_ref() != Some(&scope) {
        keys.selected = None;
        keys.filter.clear();
    }
    keys.scope = Some(scope);
}

fn choose_operator(state: &mut State, operator: OperatorId) {
    let what_if = &mut state.what_if;
    if what_if.operator != Some(operator) {
        what_if.operator = Some(operator);
        what_if.to = 0;
        what_if.report = None;
    }
}

fn choose_rows(state: &mut State, scope: RowsScope) {
    let rows = &mut state.rows;
    if rows.scope.as_ref() != Some(&scope) {
        rows.scope = Some(scope);
        rows.condition.clear();
        rows.filter.clear();
        rows.selected = 0;
    }
    enter(state, Screen::Rows);
}

/// The heaviest keys of the selected partition.
pub(super) fn keys_of_partition(state: &mut State) {
    let Some(operator) = state.store().map(|store| store.key.operator) else { return };
    let partition = state.partitions.selected;
    choose_keys(state, KeysScope { operator, store: None, partition });
    enter(state, Screen::Keys);
}

/// The rows of the selected partition.
pub(super) fn rows_of_partition(state: &mut State) {
    let Some(key) = state.store().map(|store| store.key.clone()) else { return };
    let partition = state.partitions.selected;
    let store = Some(key.store);
    choose_rows(state, RowsScope { operator: key.operator, store, partition, key: None });
}

/// The rows of the selected key.
fn rows_of_key(state: &mut State) {
    let (Some(scope), Some(pin)) = (state.hot_keys.scope.clone(), state.selected_pin()) else {
        return;
    };
    let KeysScope { operator, store, partition } = scope;
    choose_rows(state, RowsScope { operator, store, partition, key: Some(pin) });
}

/// On the keys screen.
pub(super) fn on_keys(state: &mut State, action: Action) {
    match action {
        Action::Open => rows_of_key(state),
        Action::By => next_by(state),
        Action::TypeBy => {
            let text = state.hot_keys.by.join(",");
            ask_for(state, PromptKind::By, text);
        }
        Action::Weigh => next_weight(state),
        Action::Whole => {
            if let Some(scope) = state.hot_keys.scope.clone() {
                choose_keys(state, KeysScope { partition: None, ..scope });
            }
        }
        Action::NextStore => step_store(state, 1),
        Action::PreviousStore => step_store(state, -1),
        _ => {
            let listed = state.hot_keys.listed();
            let selected = state.selected_key().map(|key| &key.key);
            let at = listed.iter().position(|key| Some(&key.key) == selected).unwrap_or(0);
            let page = places::keys(state.size).map_or(1, |plan| plan.page());
            let to = stepped(at, listed.len(), page, action);
            state.hot_keys.selected = listed.get(to).map(|key| key.key.clone());
        }
    }
}

/// All columns, then each alone.
fn next_by(state: &mut State) {
    let keys = &mut state.hot_keys;
    let columns = &keys.offers.columns;
    let next = match keys.by.as_slice() {
        [] => columns.first(),
        [one] => {
            let at = columns.iter().position(|column| column == one);
            at.and_then(|at| columns.get(at + 1))
        }
        _ => None,
    };
    keys.by = next.into_iter().cloned().collect();
}

/// Rows, bytes, updates, then each whole number.
fn next_weight(state: &mut State) {
    let keys = &mut state.hot_keys;
    let numbers = keys.offers.numbers.iter().take(NUMBERS).cloned().map(Weighing::Value);
    let all: Vec<Weighing> =
        [Weighing::Rows, Weighing::Bytes, Weighing::Updates].into_iter().chain(numbers).collect();
    let at = all.iter().position(|weighing| *weighing == keys.weigh);
    let next = at.and_then(|at| all.get(at + 1));
    keys.weigh = next.cloned().unwrap_or_default();
}

/// All stores of the operator, then each alone.
fn step_store(state: &mut State, by: isize) {
    let Some(scope) = state.hot_keys.scope.clone() else { return };
    let stores: Vec<String> =
        state.stores_of(scope.operator).map(|store| store.key.store.clone()).collect();
    let choices = stores.len() + 1;
    // 0 is all of them.
    let at = scope.store.as_ref().and_then(|name| stores.iter().position(|store| store == name));
    let at = at.map_or(0, |at| at + 1);
    let to = at.checked_add_signed(by).unwrap_or(choices - 1) % choices;
    let store = to.checked_sub(1).and_then(|at| stores.get(at)).cloned();
    choose_keys(state, KeysScope { store, ..scope });
}

/// On the rows screen.
pub(super) fn on_rows(state: &mut State, action: Action) {
    match action {
        Action::Open => {
            if let Some(place) = state.selected_place() {
                state.overlay = Some(Overlay { subject: Subject::Row(place), scroll: 0 });
            }
        }
        Action::History => history(state),
        Action::Where => {
            let text = state.rows.condition.clone();
            ask_for(state, PromptKind::Where, text);
        }
        _ => {
            let listed = state.rows.listed();
            let selected = state.selected_place();
            let at = listed.iter().position(|place| Some(*place) == selected).unwrap_or(0);
            let page = places::rows(state.size).map_or(1, |plan| plan.page());
            let to = stepped(at, listed.len(), page, action);
            state.rows.selected = listed.get(to).copied().unwrap_or(0);
        }
    }
}

fn history(state: &mut State) {
    let batch = state.rows.page().and_then(|page| page.summary.batch);
    let Some(row) = state.selected_row() else { return };
    let request = HistoryRequest {
        batch,
        operator: row.operator,
        store: row.store.clone(),
        family: row.family.clone(),
        partition: row.partition,
        key: row.key.clone(),
        batches: HISTORY,
    };
    state.rows.history = None;
    state.overlay = Some(Overlay { subject: Subject::History(request), scroll: 0 });
}

/// On the pauses screen.
pub(super) fn on_pauses(state: &mut State, action: Action) {
    let length = state.pauses.listed().count();
    let plan = places::pauses(state.size, length);
    if action == Action::Focus {
        let shown = plan.map_or(1, |plan| plan.plots.len());
        let next = state.pauses.plots + shown;
        state.pauses.plots = if next < view::plots() { next } else { 0 };
        return;
    }
    let page = plan.map_or(1, |plan| plan.page());
    state.pauses.selected = stepped(state.pauses.selected, length, page, action);
}

/// On the what-if screen.
pub(super) fn on_what_if(state: &mut State, action: Action) {
    let to = state.what_if.to;
    match action {
        Action::Left | Action::Up => state.what_if.go(step_down(to)),
        Action::Right | Action::Down => state.what_if.go(step_up(to)),
        Action::Halve | Action::PageUp => state.what_if.go(to / 2),
        Action::Double | Action::PageDown => {
            state.what_if.go(to.saturating_mul(2).min(MAX_PARTITIONS));
        }
        Action::Present => {
            if let Some(from) = state.what_if.basis().map(|basis| basis.plan.from()) {
                state.what_if.go(from);
            }
        }
        Action::Recommended => {
            if let Some(count) = state.what_if.recommended() {
                state.what_if.go(count);
            }
        }
        Action::Open => ask_for(state, PromptKind::Count, String::new()),
        Action::Nodes => {
            let text = state.what_if.nodes.map_or_else(String::new, |nodes| nodes.to_string());
            ask_for(state, PromptKind::Nodes, text);
        }
        Action::NextStore => step_operator(state, 1),
        Action::PreviousStore => step_operator(state, -1),
        _ => {}
    }
}

/// On the diagnosis screen.
pub(super) fn on_diagnosis(state: &mut State, action: Action) {
    let to = state.diagnosis.to;
    match action {
        Action::Left => state.diagnosis.go(step_down(to)),
        Action::Right => state.diagnosis.go(step_up(to)),
        Action::Halve => state.diagnosis.go(to / 2),
        Action::Double => state.diagnosis.go(to.saturating_mul(2).min(MAX_PARTITIONS)),
        Action::Present => {
            let from = state.data().and_then(|data| data.inspect().partitions);
            state.diagnosis.go(from.unwrap_or(to));
        }
        Action::Open => ask_for(state, PromptKind::Count, String::new()),
        Action::Nodes => {
            let text = state.what_if.nodes.map_or_else(String::new, |nodes| nodes.to_string());
            ask_for(state, PromptKind::Nodes, text);
        }
        _ => {
            let page = places::diagnosis(state.size).map_or(1, |plan| plan.page());
            let diagnosis = &mut state.diagnosis;
            let at = stepped(diagnosis.at(), diagnosis.checks.len(), page, action);
            diagnosis.selected = diagnosis.checks.get(at).map(|check| check.id);
        }
    }
}

fn step_operator(state: &mut State, by: isize) {
    let operators = state.operators();
    let at = operators.iter().position(|id| Some(*id) == state.what_if.operator).unwrap_or(0);
    let to = at.checked_add_signed(by).unwrap_or(operators.len().saturating_sub(1));
    if let Some(operator) = operators.get(to).or(operators.first()).copied() {
        choose_operator(state, operator);
    }
}

fn ask_for(state: &mut State, kind: PromptKind, text: String) {
    state.prompt = Some(Prompt { kind, text, error: None });
}
