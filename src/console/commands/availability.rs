//! What can be used now, and why not where it cannot. Commands that cannot be used stay listed
//! in the help and give their reason.

use super::super::state::{Focus, Screen, State};
use super::Action;

/// Whether a command can be used now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// It can.
    Ready,
    /// It cannot; the text says why.
    Not(&'static str),
}

/// Whether a command can be used now, or why not.
pub fn availability(action: Action, state: &State) -> Availability {
    use Availability::{Not, Ready};
    let stores = state.data().map_or(0, |data| data.stores.len());
    match action {
        Action::Earlier => state.scrub_availability(-1),
        Action::Later => state.scrub_availability(1),
        Action::Sources if state.timeline.is_none() => {
            Not("no running query is attached (--events PATH)")
        }
        _ if state.screen == Screen::Batches && state.overlay.is_none() => {
            on_batches(action, state)
        }
        Action::Filter if state.screen == Screen::Diagnosis && state.overlay.is_none() => {
            Not("there is nothing to filter here")
        }
        Action::Exact if state.screen == Screen::Diagnosis && state.overlay.is_none() => {
            Not("every key is read already")
        }
        Action::Left
        | Action::Right
        | Action::Halve
        | Action::Double
        | Action::Present
        | Action::Open
            if state.screen == Screen::Diagnosis
                && state.overlay.is_none()
                && state.diagnosis.to == 0 =>
        {
            Not("the count in force is not known yet")
        }
        Action::Filter if state.screen == Screen::Pauses && state.overlay.is_none() => {
            Not("there is nothing to filter here")
        }
        Action::Exact if state.screen == Screen::Pauses && state.overlay.is_none() => {
            Not("past resizes are counted as exactly as the files allow")
        }
        Action::Exact | Action::Pause | Action::Filter | Action::Open | Action::Focus
            if state.newest.is_none() && state.overlay.is_none() =>
        {
            Not("nothing is read yet")
        }
        Action::Exact if state.newest.as_ref().is_some_and(|data| !data.inspect().stateful) => {
            Not("this query keeps no state: there is nothing to count")
        }
        Action::Sort | Action::Reverse | Action::Metric | Action::Scale | Action::Focus
            if state.screen == Screen::Partitions
                && state.store().is_none_or(|store| store.partitions().is_empty()) =>
        {
            Not("there are no partitions to show")
        }
        Action::Focus if state.screen == Screen::Overview && state.listed_findings().is_empty() => {
            Not("there are no findings to go to")
        }
        Action::NextStore | Action::PreviousStore
            if stores < 2 && matches!(state.screen, Screen::Partitions | Screen::Keys) =>
        {
            Not("there is only one store")
        }
        Action::Screen(_) => screen_availability(action, state),
        Action::Open | Action::Details | Action::Rows
            if state.screen == Screen::Partitions && state.overlay.is_none() =>
        {
            match state.selected_partition() {
                Some(_) => Ready,
                None => Not("no partition is selected"),
            }
        }
        _ if matches!(state.screen, Screen::Keys | Screen::Rows | Screen::WhatIf)
            && state.overlay.is_none() =>
        {
            inside(action, state)
        }
        Action::Left | Action::Right
            if state.screen == Screen::Partitions && state.partitions.focus == Focus::Table =>
        {
            Not("left and right move in the heatmap: Tab gives it the keys")
        }
        _ => Ready,
    }
}

/// The screens that read rows have nothing to show where no state is kept.
fn screen_availability(action: Action, state: &State) -> Availability {
    let stateless = state.newest.as_ref().is_some_and(|data| !data.inspect().stateful);
    match action {
        Action::Screen(3 | 4 | 6) if state.newest.is_none() => {
            Availability::Not("nothing is read yet")
        }
        Action::Screen(3 | 4) if stateless => {
            Availability::Not("this query keeps no state: there are no keys")
        }
        Action::Screen(6) if stateless => {
            Availability::Not("this query keeps no state: there is nothing to resize")
        }
        _ => Availability::Ready,
    }
}

/// On the batches screen.
fn on_batches(action: Action, state: &State) -> Availability {
    use Availability::{Not, Ready};
    match action {
        Action::Left | Action::Up | Action::PageUp => state.scrub_availability(-1),
        Action::Right | Action::Down | Action::PageDown => state.scrub_availability(1),
        Action::Open | Action::First if state.told_batch().is_none() => Not("no batch was told of"),
        Action::Pause if state.newest.is_none() && state.query().is_none() => {
            Not("nothing is read yet")
        }
        Action::Filter => Not("there is nothing to filter here"),
        Action::Exact => Not("exact counts are of the state: 2 shows the partitions"),
        Action::Screen(_) => screen_availability(action, state),
        _ => Ready,
    }
}

/// On the screens that read rows.
fn inside(action: Action, state: &State) -> Availability {
    use Availability::{Not, Ready};
    match (state.screen, action) {
        (Screen::Keys, Action::Open) if state.selected_key().is_none() => Not("no key is selected"),
        (Screen::Keys, Action::By | Action::TypeBy) if state.hot_keys.offers.columns.is_empty() => {
            Not("the grouping columns are not known yet")
        }
        (Screen::Keys, Action::By) if state.hot_keys.offers.columns.len() < 2 => {
            Not("there is only one grouping column; B types a column inside of it")
        }
        (Screen::Keys, Action::Whole)
            if state.hot_keys.scope.as_ref().is_none_or(|scope| scope.partition.is_none()) =>
        {
            Not("all partitions are looked at already")
        }
        (Screen::Rows, Action::Open | Action::History) if state.selected_row().is_none() => {
            Not("no row is selected")
        }
        (
            Screen::WhatIf,
            Action::Left
            | Action::Right
            | Action::Halve
            | Action::Double
            | Action::Present
            | Action::Recommended
            | Action::Nodes
            | Action::Open,
        ) if state.what_if.report.is_none() => Not("the keys are not read yet"),
        (Screen::WhatIf, Action::Recommended) if state.what_if.recommended().is_none() => {
            Not("no count that was looked at is within the bound")
        }
        (Screen::WhatIf, Action::NextStore | Action::PreviousStore)
            if state.operators().len() < 2 =>
        {
            Not("there is only one operator")
        }
        (Screen::WhatIf, Action::Filter) => Not("there is nothing to filter here"),
        _ => Ready,
    }
}
