//! The only place where the state changes: `update(state, message) -> effects`.
//!
//! No I/O, no clock, no terminal types; no message in any order makes it panic.

mod asks;
mod keys;
mod past;
mod prompt;
mod remember;
mod screens;

use std::sync::Arc;

use super::ConsoleExit;
use super::data::{Data, StoreKey};
use super::effect::Effect;
use super::geometry;
use super::msg::{Mouse, Msg, Outcome, Size, Ticket};
use super::reading::Accepted;
use super::state::{Focus, Item, Pasting, Screen, State};
use crate::report::Here;
use crate::units::UnixMillis;

/// What to do when the console begins.
pub fn start(state: &mut State) -> Vec<Effect> {
    state.reading.pump(None, state.now)
}

/// Applies a message.
pub fn update(state: &mut State, msg: Msg) -> Vec<Effect> {
    let effects = apply(state, msg);
    state.judge();
    effects
}

/// Makes ready what is too much work for every message: once before each frame.
pub fn settle(state: &mut State) {
    if state.pasting == Pasting::Open {
        // What is true of the checkpoint now, whatever batch is looked at.
        let seen = state.newest.as_ref().map(|data| &data.observation);
        let here = seen.map(|seen| Here { inspect: &seen.inspect, batches: &seen.batches });
        state.paste.settle(here);
    }
    if state.screen == Screen::Pauses {
        state.pauses.settle(&state.remembered.pauses);
    }
}

fn apply(state: &mut State, msg: Msg) -> Vec<Effect> {
    match msg {
        Msg::Now(now) => {
            clock(state, now);
            Vec::new()
        }
        Msg::Key(key) => {
            state.dirty = true;
            then_ask(state, |state| keys::press(state, key))
        }
        Msg::Pasted(text) => {
            state.dirty = true;
            keys::pasted(state, text);
            Vec::new()
        }
        Msg::Mouse(mouse) => {
            state.dirty = true;
            then_ask(state, |state| pointer(state, mouse))
        }
        Msg::Resize(size) => {
            state.dirty |= size != state.size;
            state.size = size;
            Vec::new()
        }
        Msg::Marked(looked) => marked(state, looked),
        Msg::Progress(ticket, progress) => {
            state.dirty |= state.reading.progressed(ticket, progress);
            Vec::new()
        }
        Msg::Read(ticket, outcome) => then_ask(state, |state| finished(state, ticket, *outcome)),
        Msg::Asking(ticket, progress) => {
            asks::progressed(state, ticket, progress);
            Vec::new()
        }
        Msg::Checked(ticket, check) => {
            asks::checked(state, ticket, *check);
            Vec::new()
        }
        Msg::Answer(ticket, reply) => asks::answered(state, ticket, *reply),
        Msg::Told(source, news) => {
            past::told(state, source, news);
            Vec::new()
        }
        Msg::Remembered(news) => remember::answered(state, news),
        Msg::Signal(signal) => vec![Effect::Exit(ConsoleExit::Signal(signal))],
    }
}

/// Does something, then asks what the screen needs.
fn then_ask(state: &mut State, change: impl FnOnce(&mut State) -> Vec<Effect>) -> Vec<Effect> {
    let mut effects = change(state);
    if !effects.iter().any(|effect| matches!(effect, Effect::Exit(_))) {
        effects.extend(past::follow(state));
        effects.extend(asks::pump(state));
    }
    effects
}

/// Time passes. Only a text that reads differently now is a reason to draw.
fn clock(state: &mut State, now: UnixMillis) {
    let due = state.next_change();
    state.now = now;
    state.dirty |= due.is_some_and(|due| due <= now);
}

fn marked(state: &mut State, looked: Result<crate::reader::Mark, String>) -> Vec<Effect> {
    let before = (state.freshness(), state.reading.seen(), state.reading.trouble().is_some());
    let newest = state.newest.clone();
    state.reading.marked(looked, newest.as_deref(), state.now);
    let after = (state.freshness(), state.reading.seen(), state.reading.trouble().is_some());
    state.dirty |= before != after;
    pump(state)
}

fn finished(state: &mut State, ticket: Ticket, outcome: Outcome) -> Vec<Effect> {
    state.dirty = true;
    let newest = state.newest.clone();
    let accepted = state.reading.finished(ticket, outcome, newest.as_deref(), state.now);
    if let Some(Accepted { observation, mark, asked }) = accepted {
        let data = Arc::new(Data::new(observation, mark, asked, newest.as_deref()));
        state.newest = Some(data);
        match &mut state.hold {
            Some(hold) => hold.newer = hold.newer.saturating_add(1),
            None => shown_data_changed(state),
        }
        let mut effects = remember::observed(state);
        effects.extend(pump(state));
        return effects;
    }
    pump(state)
}

/// Starts the read that is missing.
fn pump(state: &mut State) -> Vec<Effect> {
    let newest = state.newest.clone();
    let effects = state.reading.pump(newest.as_deref(), state.now);
    state.dirty |= !effects.is_empty();
    effects
}

/// Other data is on screen than before.
fn shown_data_changed(state: &mut State) {
    if state.partitions.store.is_none() {
        preselect(state);
    }
    state.refresh_order();
}

/// Chooses the store that the operator asked for on the command line, else the most
/// skewed one: that is the one to look at.
fn preselect(state: &mut State) {
    let Some(data) = state.data() else { return };
    let (operator, store) = (state.settings.operator, state.settings.store.as_deref());
    let asked = operator.is_some() || store.is_some();
    let fits = |key: &StoreKey| {
        operator.is_none_or(|id| key.operator == id) && store.is_none_or(|name| key.store == name)
    };
    let mut fitting = data.stores.iter().filter(|store| fits(&store.key));
    let chosen = if asked { fitting.next() } else { most_skewed(data) };
    let chosen = chosen.map(|store| store.key.clone());
    if asked && chosen.is_none() && !data.stores.is_empty() {
        state.notice = Some("the operator or store asked for is not in this checkpoint".to_owned());
    }
    // Before partitions were looked at nothing is known about skew: choose again then.
    if let Some(key) = chosen.filter(|_| asked || state.has_partitions()) {
        choose_store(state, key);
    }
}

/// The overview and the partitions screen are about one store.
fn choose_store(state: &mut State, key: StoreKey) {
    if state.partitions.store.as_ref() != Some(&key) {
        state.partitions.selected = None;
    }
    state.partitions.store = Some(key.clone());
    state.overview.selected = Some(Item::Store(key));
    state.refresh_order();
}

fn most_skewed(data: &Data) -> Option<&super::data::StoreData> {
    let rank = |store: &&super::data::StoreData| store.max_over_mean.unwrap_or(0.0);
    let mut best = data.stores.first()?;
    for store in &data.stores {
        if rank(&store).total_cmp(&rank(&best)).is_gt() {
            best = store;
        }
    }
    Some(best)
}

/// A click selects what is under it; the wheel moves the selection.
fn pointer(state: &mut State, mouse: Mouse) -> Vec<Effect> {
    match mouse {
        Mouse::ScrollUp => keys::run(state, super::commands::Action::Up),
        Mouse::ScrollDown => keys::run(state, super::commands::Action::Down),
        Mouse::Click(x, y) if state.overlay.is_none() => {
            click(state, x, y);
            Vec::new()
        }
        Mouse::Click(..) => {
            state.overlay = None;
            Vec::new()
        }
    }
}

fn click(state: &mut State, x: u16, y: u16) {
    let Some(chrome) = geometry::chrome(state.size) else { return };
    if y == chrome.tabs.y {
        if let Some(screen) = super::view::tab_at(state, x) {
            state.prompt = None;
            screens::go(state, screen);
        }
        return;
    }
    match state.screen {
        Screen::Partitions => click_partitions(state, x, y),
        Screen::Batches => past::click(state, x, y),
        _ => {}
    }
}

fn click_partitions(state: &mut State, x: u16, y: u16) {
    let Some(store) = state.store() else { return };
    let Some(plan) = geometry::partitions_plan(state.size, store.partitions().len()) else {
        return;
    };
    if let Some(cell) = plan.grid.at(x, y, plan.cells) {
        let id = keys::shown_by(store, &state.compared(store), &plan.grid, cell);
        state.partitions.selected = id.or(state.partitions.selected);
        state.partitions.focus = Focus::Map;
        return;
    }
    let Some(line) = y.checked_sub(plan.table.y + 1) else { return };
    if y < plan.table.bottom() {
        let order = &state.partitions.order;
        let at = keys::place_in_table(state);
        let shown = geometry::window(at, order.len(), usize::from(plan.table.height - 1));
        let row = shown.start + usize::from(line);
        if let Some(id) = order.get(row).filter(|_| row < shown.end).copied() {
            state.partitions.selected = Some(id);
            state.partitions.focus = Focus::Table;
        }
    }
}

/// The size below which nothing is drawn but a notice.
pub fn fits(size: Size) -> bool {
    geometry::chrome(size).is_some()
}
