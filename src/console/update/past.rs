//! The running query: what is told of it, and the way through its past. All screens follow the
//! batch that was chosen there, as far as the checkpoint retains its state.

use std::sync::Arc;

use super::super::commands::Action;
use super::super::effect::Effect;
use super::super::state::{Chosen, Screen, State};
use super::super::{places, view};
use super::{asks, pump};
use crate::telemetry::attach::News;
use crate::telemetry::timeline::{Place, QueryTimeline};

/// A source tells something.
pub(super) fn told(state: &mut State, source: usize, news: News) {
    let Some(timeline) = &mut state.timeline else { return };
    state.pauses.hear(source, &news);
    // While the view is held still, what it shows stays as it was.
    Arc::make_mut(timeline).hear(source, news);
    if state.hold.is_some() {
        return;
    }
    state.dirty = true;
    if state.screen == Screen::Partitions && state.partitions.metric.is_of_tasks() {
        state.refresh_order();
    }
}

/// Sees to it that the state of the batch that is looked at is read, once a screen shows state.
pub(super) fn follow(state: &mut State) -> Vec<Effect> {
    if state.screen == Screen::Batches || state.hold.is_some() {
        return Vec::new();
    }
    let wanted = state.wanted_batch();
    if wanted == state.reading.pinned() {
        return Vec::new();
    }
    asks::another_batch(state);
    let mut effects = state.reading.look_at(wanted);
    effects.extend(pump(state));
    effects
}

/// So many batches on, or back.
pub(super) fn step(state: &mut State, by: isize) {
    if let Some(chosen) = state.neighbour(by) {
        choose(state, chosen);
    }
}

/// Chooses a batch. The newest is not chosen but followed.
fn choose(state: &mut State, chosen: Chosen) {
    state.chosen = Some(chosen).filter(|chosen| !state.is_newest(*chosen));
    state.refresh_order();
}

/// Follows the newest again; whether another was chosen.
pub(super) fn to_newest(state: &mut State) -> bool {
    let chosen = state.chosen.take().is_some();
    if chosen {
        state.refresh_order();
    }
    chosen
}

/// On the batches screen.
pub(super) fn on_batches(state: &mut State, action: Action) {
    let page = places::batches(state.size, 0).map_or(1, |plan| plan.columns());
    let page = isize::try_from(page).unwrap_or(1);
    match action {
        Action::Left | Action::Up => step(state, -1),
        Action::Right | Action::Down => step(state, 1),
        Action::PageUp => step(state, -page),
        Action::PageDown => step(state, page),
        Action::Last => {
            to_newest(state);
        }
        Action::First => {
            let oldest = state.query().and_then(QueryTimeline::oldest);
            if let Some(Place { run, batch }) = oldest {
                choose(state, Chosen { batch, run: Some(run) });
            }
        }
        _ => {}
    }
}

/// A click on a bar chooses its batch.
pub(super) fn click(state: &mut State, x: u16, y: u16) {
    if let Some(Place { run, batch }) = view::batch_at(state, x, y) {
        choose(state, Chosen { batch, run: Some(run) });
    }
}
