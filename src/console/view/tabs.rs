//! The second line: the screens, and what is going on.

use super::super::format;
use super::super::look::{Charset, Role, Symbols};
use super::super::reading::Counting;
use super::super::state::{Freshness, Screen, State};
use super::super::text::{Row, spread, width};
use crate::reader::Depth;

/// How the screens that are not shown are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    Full,
    /// By their numbers only.
    Short,
}

/// The tabs line. What goes on needs room more than the names of other screens do.
pub(super) fn row(state: &State, symbols: &Symbols, columns: usize) -> Row {
    let going_on = going_on(state, symbols);
    let tabs = tabs(state.screen, names(state, going_on.width(), columns));
    let room = columns.saturating_sub(tabs.width() + 2);
    spread(tabs, going_on.cut(room, symbols.ellipsis), columns, symbols.ellipsis)
}

fn names(state: &State, going_on: usize, columns: usize) -> Names {
    let full = tabs(state.screen, Names::Full).width();
    let gap = if going_on > 0 { 2 } else { 0 };
    if full + gap + going_on <= columns { Names::Full } else { Names::Short }
}

fn label(number: usize, screen: Screen, shown: Screen, names: Names) -> String {
    match (screen, names) {
        // Rows have no number.
        (Screen::Rows, _) if shown == Screen::Rows => format!(" {} ", screen.title()),
        (Screen::Rows, _) => String::new(),
        (_, Names::Short) if screen != shown => format!(" {number} "),
        _ => format!(" {number} {} ", screen.title()),
    }
}

fn tabs(shown: Screen, names: Names) -> Row {
    let mut row = Row::new();
    for (number, screen) in (1..).zip(Screen::ALL) {
        let role = if screen == shown { Role::TabActive } else { Role::Tab };
        row.push(label(number, screen, shown, names), role);
    }
    row
}

/// The screen whose tab is at a column.
pub(in crate::console) fn tab_at(state: &State, x: u16) -> Option<Screen> {
    let symbols = Charset::Utf8.symbols();
    let going_on = going_on(state, symbols).width();
    let names = names(state, going_on, usize::from(state.size.width));
    let mut end = 0;
    for (number, screen) in (1..).zip(Screen::ALL) {
        end += width(&label(number, screen, state.screen, names));
        if usize::from(x) < end {
            return Some(screen);
        }
    }
    None
}

/// Held, counting or not read: the one thing that matters most.
fn going_on(state: &State, symbols: &Symbols) -> Row {
    if let Some(hold) = &state.hold {
        let newer = match hold.newer {
            0 => "nothing newer yet".to_owned(),
            1 => "1 newer waits".to_owned(),
            newer => format!("{} newer wait", format::count(newer.into())),
        };
        let at = format::clock(hold.at);
        return Row::of(format!(" space resumes; {newer}; since {at} "), Role::Paused);
    }
    if let Some(row) = counting(state) {
        return row;
    }
    if let Some(row) = super::asked::short(state, symbols) {
        return row;
    }
    if let Some(row) = chosen(state) {
        return row;
    }
    if matches!(state.freshness(), Freshness::Stale(_)) {
        let again = Row::of("tried again by itself; ", Role::Muted);
        return again.with("r", Role::Key).with(" tries at once ", Role::Muted);
    }
    if let Some(why) = state.reading.trouble().filter(|_| state.newest.is_some()) {
        return Row::of(format!("not read: {why} "), Role::Error);
    }
    if let Some(row) = state.timeline().and_then(super::running::trouble) {
        return row;
    }
    match state.remembered.trouble() {
        Some((what, _)) => Row::of(format!("{what} "), Role::Warning),
        None => Row::new(),
    }
}

/// A batch of the past is looked at.
fn chosen(state: &State) -> Option<Row> {
    let chosen = state.chosen?;
    if state.not_retained().is_some() && state.screen != Screen::Batches {
        let shown = state.data().and_then(crate::console::data::Data::batch);
        let shown = shown.map_or_else(String::new, |batch| format!(", {batch} shown"));
        let words = format!("state of batch {} not retained{shown} ", chosen.batch);
        return Some(Row::of(words, Role::Warning));
    }
    let shown = state.data().and_then(|data| data.asked);
    if state.screen != Screen::Batches && shown != Some(chosen.batch) {
        return Some(Row::of(format!("reading batch {} ", chosen.batch), Role::Info));
    }
    let row = Row::of("[ ] ", Role::Key).with("other batches  ", Role::Muted);
    Some(row.with("Esc", Role::Key).with(" newest ", Role::Muted))
}

fn counting(state: &State) -> Option<Row> {
    let run = state.reading.run()?;
    let shown = state.newest.as_ref()?;
    let words = match run.depth {
        Depth::Exact => "counting",
        // A quick read is worth a word only while there is nothing to look at.
        _ if shown.depth() == Depth::Logs => "looking at partitions",
        _ => return None,
    };
    let mut row = Row::of(words, Role::Info);
    if let Some(progress) = run.progress {
        let (done, total) = (format::count(progress.done), format::count(progress.total));
        row.push(format!(" {done} of {total}"), Role::Strong);
        if progress.rows > 0 {
            row.push(format!(", {} rows", format::compact(progress.rows)), Role::Text);
        }
    }
    if state.reading.counting() == Counting::Exact {
        row.push("  Esc", Role::Key);
        row.push(" stops", Role::Muted);
    }
    Some(row.with(" ", Role::Text))
}
