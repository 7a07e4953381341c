//! What keys do. Which key asks for what is in `commands`; here is only what follows.

use std::sync::Arc;

use super::super::commands::{self, Action, Availability};
use super::super::compared::Compared;
use super::super::data::StoreData;
use super::super::effect::Effect;
use super::super::filter::{PARTITION_FILTERS, PartitionFilter};
use super::super::geometry::{self, Grid};
use super::super::heat::Metric;
use super::super::msg::Key;
use super::super::overlay;
use super::super::paste::{PasteEffect, PasteMsg};
use super::super::reading::Counting;
use super::super::state::{
    Direction, Focus, Hold, Item, Overlay, Pasting, Screen, SortBy, State, Subject,
};
use super::super::{Above, ConsoleExit};
use super::{asks, choose_store, past, prompt, pump, screens, shown_data_changed};
use crate::report::Reveal;
use crate::units::PartitionId;

/// The longest filter that is kept.
const LONGEST_FILTER: usize = 60;

/// A key was pressed.
pub(super) fn press(state: &mut State, key: Key) -> Vec<Effect> {
    state.notice = None;
    if key == Key::Interrupt {
        return vec![Effect::Exit(ConsoleExit::Quit)];
    }
    if state.pasting == Pasting::Open {
        into_paste(state, PasteMsg::Key(key));
        return Vec::new();
    }
    if state.prompt.is_some() {
        prompt::press(state, key);
        return Vec::new();
    }
    if state.typing {
        type_key(state, key);
        return Vec::new();
    }
    match commands::lookup(key, state) {
        Some(command) => run(state, command.action),
        None => Vec::new(),
    }
}

/// The terminal passed a paste on: it goes where there is room for text. Elsewhere its letters
/// are no commands.
pub(super) fn pasted(state: &mut State, text: String) {
    if state.pasting == Pasting::Open {
        into_paste(state, PasteMsg::Pasted(text));
    } else if state.typing {
        for character in text.lines().next().unwrap_or_default().chars() {
            type_key(state, Key::Char(character));
        }
    } else if state.prompt.is_some() {
        for character in text.lines().next().unwrap_or_default().chars() {
            prompt::press(state, Key::Char(character));
        }
    } else {
        state.notice = Some("E takes a pasted error and says what it means".to_owned());
    }
}

fn into_paste(state: &mut State, msg: PasteMsg) {
    match state.paste.update(msg) {
        // What was pasted stays for the next time.
        Some(PasteEffect::Leave) => state.pasting = Pasting::Closed,
        None => {}
    }
}

/// A key goes into the filter.
fn type_key(state: &mut State, key: Key) {
    let screen = state.screen;
    let Some(filter) = state.filter_mut() else {
        state.typing = false;
        return;
    };
    match key {
        Key::Char(c) if filter.chars().count() < LONGEST_FILTER && !c.is_control() => {
            filter.push(c);
        }
        Key::Backspace if filter.pop().is_none() => state.typing = false,
        Key::Enter => {
            let understood =
                screen != Screen::Partitions || PartitionFilter::parse(filter).is_some();
            state.typing = false;
            if !understood {
                state.notice = Some(format!(
                    "{:?} is not a filter, everything is shown; try {PARTITION_FILTERS}",
                    state.partitions.filter
                ));
            }
        }
        Key::Esc => {
            filter.clear();
            state.typing = false;
        }
        _ => {}
    }
    state.refresh_order();
}

/// Does what was asked for, if it can be done now.
pub(super) fn run(state: &mut State, action: Action) -> Vec<Effect> {
    if let Availability::Not(why) = commands::availability(action, state) {
        state.notice = Some(why.to_owned());
        return Vec::new();
    }
    match action {
        Action::Interrupt => return vec![Effect::Exit(ConsoleExit::Quit)],
        Action::Quit => return quit(state),
        Action::Back => return back(state),
        Action::Reload => return reload(state),
        Action::Exact => return toggle_exact(state),
        Action::Mouse => {
            state.mouse = !state.mouse;
            let word = if state.mouse { "on: clicks select; M gives it back" } else { "off" };
            state.notice = Some(format!("mouse {word}"));
            return vec![Effect::CaptureMouse(state.mouse)];
        }
        Action::Help => toggle_help(state),
        Action::Screen(number) => {
            let screen = Screen::ALL.get(usize::from(number).saturating_sub(1));
            if let Some(screen) = screen.copied().filter(|screen| *screen != state.screen) {
                screens::go(state, screen);
            }
        }
        Action::Reveal => {
            state.reveal = match state.reveal {
                Reveal::Masked => Reveal::Shown,
                Reveal::Shown => Reveal::Masked,
            };
        }
        Action::Details => {
            if let Some(id) = state.partitions.selected {
                state.overlay = Some(Overlay { subject: Subject::Partition(id), scroll: 0 });
            }
        }
        Action::Rows => screens::rows_of_partition(state),
        Action::Earlier => past::step(state, -1),
        Action::Later => past::step(state, 1),
        Action::Sources => {
            state.overlay = Some(Overlay { subject: Subject::Sources, scroll: 0 });
        }
        Action::Explain => state.pasting = Pasting::Open,
        Action::Filter => state.typing = true,
        Action::Pause => toggle_pause(state),
        Action::Open => open(state),
        _ => move_or_change(state, action),
    }
    Vec::new()
}

fn move_or_change(state: &mut State, action: Action) {
    let window = state.overlay.as_ref().map(|overlay| &overlay.subject);
    match (window, state.screen) {
        (Some(Subject::Metrics), _) => step_metric(state, action),
        (Some(_), _) => scroll(state, action),
        (None, Screen::Overview) => move_in_overview(state, action),
        (None, Screen::Partitions) => on_partitions(state, action),
        (None, Screen::Keys) => screens::on_keys(state, action),
        (None, Screen::Rows) => screens::on_rows(state, action),
        (None, Screen::WhatIf) => screens::on_what_if(state, action),
        (None, Screen::Batches) => past::on_batches(state, action),
        (None, Screen::Pauses) => screens::on_pauses(state, action),
        (None, Screen::Diagnosis) => screens::on_diagnosis(state, action),
    }
}

fn quit(state: &mut State) -> Vec<Effect> {
    if state.overlay.take().is_some() {
        return Vec::new();
    }
    match (screens::leave(state), state.settings.above) {
        (true, _) => Vec::new(),
        (false, Above::Nothing) => vec![Effect::Exit(ConsoleExit::Quit)],
        (false, Above::List) => vec![Effect::Exit(ConsoleExit::Back)],
    }
}

/// One level up: what was opened last closes first.
fn back(state: &mut State) -> Vec<Effect> {
    if asks::is_ours(state) && state.asking.asked().is_some_and(|asked| !asked.stopping) {
        state.notice = Some("stopping: what was read until now will be shown".to_owned());
        return state.asking.stop();
    }
    if state.overlay.take().is_some() {
        return Vec::new();
    }
    if state.reading.exact_run().is_some() {
        state.notice = Some("counting stopped; the snapshots' own counts are shown".to_owned());
        let mut effects = state.reading.set_counting(Counting::Snapshot);
        effects.extend(pump(state));
        return effects;
    }
    if let Some(filter) = state.filter_mut().filter(|filter| !filter.is_empty()) {
        filter.clear();
        state.refresh_order();
    } else if past::to_newest(state) {
    } else if !screens::leave(state) {
        if state.settings.above == Above::List {
            return vec![Effect::Exit(ConsoleExit::Back)];
        }
        state.notice = Some("this is the top: q quits".to_owned());
    }
    Vec::new()
}

fn reload(state: &mut State) -> Vec<Effect> {
    asks::again(state);
    let mut effects = state.reading.reload();
    effects.extend(pump(state));
    effects
}

fn toggle_exact(state: &mut State) -> Vec<Effect> {
    let counting = match state.reading.counting() {
        Counting::Snapshot => Counting::Exact,
        Counting::Exact => Counting::Snapshot,
    };
    let mut effects = state.reading.set_counting(counting);
    effects.extend(pump(state));
    effects
}

fn toggle_help(state: &mut State) {
    state.overlay = if commands::help_is_open(state) {
        None
    } else {
        Some(Overlay { subject: Subject::Help, scroll: 0 })
    };
}

fn toggle_pause(state: &mut State) {
    if state.hold.take().is_none() {
        let data = state.newest.as_ref().map(Arc::clone);
        let timeline = state.timeline.as_ref().map(Arc::clone);
        state.hold = Some(Hold { data, timeline, at: state.now, newer: 0 });
    }
    shown_data_changed(state);
}

fn open(state: &mut State) {
    if state.overlay.take().is_some() {
        return;
    }
    match state.screen {
        Screen::Overview => match state.selected_item() {
            Some(Item::Store(key)) => {
                choose_store(state, key);
                screens::go(state, Screen::Partitions);
            }
            Some(Item::Finding(key)) => {
                state.overlay = Some(Overlay { subject: Subject::Finding(key), scroll: 0 });
            }
            None => {}
        },
        Screen::Partitions => screens::keys_of_partition(state),
        Screen::Keys => screens::on_keys(state, Action::Open),
        Screen::Rows => screens::on_rows(state, Action::Open),
        Screen::WhatIf => screens::on_what_if(state, Action::Open),
        Screen::Batches => {
            state.overlay = Some(Overlay { subject: Subject::Batch, scroll: 0 });
        }
        Screen::Pauses => {}
        Screen::Diagnosis => screens::on_diagnosis(state, Action::Open),
    }
}

fn scroll(state: &mut State, action: Action) {
    let most = overlay::most_scroll(state);
    let page = overlay::page(state.size);
    if let Some(overlay) = &mut state.overlay {
        overlay.scroll = stepped(overlay.scroll, most + 1, page, action);
    }
}

/// The place after a move in a list of `length`, which ends at its ends.
pub(super) fn stepped(at: usize, length: usize, page: usize, action: Action) -> usize {
    let last = length.saturating_sub(1);
    let to = match action {
        Action::Up => at.saturating_sub(1),
        Action::Down => at.saturating_add(1),
        Action::PageUp => at.saturating_sub(page),
        Action::PageDown => at.saturating_add(page),
        Action::First => 0,
        Action::Last => last,
        _ => at,
    };
    to.min(last)
}

fn move_in_overview(state: &mut State, action: Action) {
    let items = state.items();
    let selected = state.selected_item();
    let at = items.iter().position(|item| Some(item) == selected.as_ref()).unwrap_or(0);
    let to = match action {
        Action::Focus => other_list(&items, at),
        _ => stepped(at, items.len(), 5, action),
    };
    match items.get(to).cloned() {
        Some(Item::Store(key)) => choose_store(state, key),
        other => state.overview.selected = other,
    }
}

/// The first line of the list that the selection is not in.
fn other_list(items: &[Item], at: usize) -> usize {
    let is_store = |item: &Item| matches!(item, Item::Store(_));
    let here = items.get(at).is_some_and(is_store);
    items.iter().position(|item| is_store(item) != here).unwrap_or(at)
}

fn on_partitions(state: &mut State, action: Action) {
    let view = &mut state.partitions;
    match action {
        Action::Focus => {
            view.focus = match view.focus {
                Focus::Map => Focus::Table,
                Focus::Table => Focus::Map,
            };
        }
        Action::Metric => open_metrics(state),
        Action::Scale => view.scale = view.scale.other(),
        Action::Sort => {
            view.sort = view.sort.next(view.metric);
            view.direction = view.sort.usual();
            state.refresh_order();
        }
        Action::Reverse => {
            view.direction = match view.direction {
                Direction::Up => Direction::Down,
                Direction::Down => Direction::Up,
            };
            state.refresh_order();
        }
        Action::NextStore => step_store(state, 1),
        Action::PreviousStore => step_store(state, -1),
        _ if view.focus == Focus::Map => move_in_map(state, action),
        _ => move_in_table(state, action),
    }
}

/// The chooser opens on the next metric that can be used, and takes it.
fn open_metrics(state: &mut State) {
    state.overlay = Some(Overlay { subject: Subject::Metrics, scroll: 0 });
    step_metric(state, Action::Metric);
}

/// Up and down in the chooser: past those that cannot be used now.
fn step_metric(state: &mut State, action: Action) {
    let all = Metric::ALL;
    let ready = |metric: &Metric| state.metric_availability(*metric) == Availability::Ready;
    let at = all.iter().position(|metric| *metric == state.partitions.metric).unwrap_or(0);
    let (before, from) = all.split_at(at);
    let after = from.get(1..).unwrap_or_default();
    let to = match action {
        Action::Up => before.iter().rev().find(|metric| ready(metric)),
        Action::Down => after.iter().find(|metric| ready(metric)),
        Action::First | Action::PageUp => all.iter().find(|metric| ready(metric)),
        Action::Last | Action::PageDown => all.iter().rev().find(|metric| ready(metric)),
        // The key that opened it goes round.
        _ => after.iter().chain(before).find(|metric| ready(metric)),
    };
    if let Some(metric) = to.copied() {
        change_metric(state, metric);
    }
}

/// The table follows, where it was sorted by what was compared until now. Whoever compares by
/// something else looks for the partition that has most of it.
fn change_metric(state: &mut State, metric: Metric) {
    let view = &mut state.partitions;
    if view.sort == SortBy::of(view.metric) || view.sort == SortBy::Compared {
        view.sort = SortBy::of(metric);
        view.direction = view.sort.usual();
    }
    view.metric = metric;
    view.selected = None;
    state.refresh_order();
}

fn step_store(state: &mut State, by: isize) {
    let Some(data) = state.data() else { return };
    let shown = state.store().map(|store| &store.key);
    let at = data.stores.iter().position(|store| Some(&store.key) == shown).unwrap_or(0);
    let to = at.checked_add_signed(by).unwrap_or(data.stores.len().saturating_sub(1));
    let next = data.stores.get(to).or(data.stores.first());
    if let Some(key) = next.map(|store| store.key.clone()) {
        choose_store(state, key);
    }
}

/// Where the selected partition stands in the table; the first line when it is filtered out.
pub(super) fn place_in_table(state: &State) -> usize {
    let selected = state.partitions.selected;
    let order = &state.partitions.order;
    order.iter().position(|id| Some(*id) == selected).unwrap_or(0)
}

fn move_in_table(state: &mut State, action: Action) {
    let length = state.partitions.order.len();
    let at = place_in_table(state);
    let partitions = state.store().map_or(0, |store| store.partitions().len());
    let plan = geometry::partitions_plan(state.size, partitions);
    let page = plan.map_or(1, |plan| usize::from(plan.table.height.saturating_sub(1)));
    // A selection that the filter hides is first brought to the top of the list.
    let hidden = state.partitions.order.get(at) != state.partitions.selected.as_ref();
    let to = if hidden { at } else { stepped(at, length, page, action) };
    if let Some(id) = state.partitions.order.get(to) {
        state.partitions.selected = Some(*id);
    }
}

fn move_in_map(state: &mut State, action: Action) {
    let Some(store) = state.store() else { return };
    let Some(plan) = geometry::partitions_plan(state.size, store.partitions().len()) else {
        return;
    };
    let grid = plan.grid;
    let at = state.partitions.selected.map_or(0, |id| grid.cell_of(id));
    let last = grid.cells().saturating_sub(1);
    let to = match action {
        Action::Left => at.saturating_sub(1),
        Action::Right => at.saturating_add(1).min(last),
        Action::Up => at.checked_sub(grid.columns).unwrap_or(at),
        Action::Down if at + grid.columns <= last => at + grid.columns,
        Action::Down => at,
        _ => stepped(at, grid.cells(), grid.columns * 4, action),
    };
    if to != at
        && let Some(id) = shown_by(store, &state.compared(store), &grid, to)
    {
        state.partitions.selected = Some(id);
    }
}

/// The partition that a cell shows: the one with the greatest value of its group.
pub(super) fn shown_by(
    store: &StoreData,
    compared: &Compared,
    grid: &Grid,
    cell: usize,
) -> Option<PartitionId> {
    let hottest = grid.group_of(cell).rev().max_by_key(|place| compared.at(*place))?;
    store.partitions().get(hottest).map(|part| part.partition)
}
