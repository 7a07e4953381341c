//! The second line: the screens, and what is going on.

use super::super::format;
use super::super::look::{Role, Symbols};
use super::super::reading::Counting;
use super::super::state::{Freshness, Screen, State};
use super::super::text::{Row, spread, width};
use crate::reader::Depth;

/// The tabs line.
pub(super) fn row(state: &State, symbols: &Symbols, columns: usize) -> Row {
    let tabs = tabs(state.screen);
    let room = columns.saturating_sub(tabs.width() + 2);
    let going_on = going_on(state).cut(room, symbols.ellipsis);
    spread(tabs, going_on, columns, symbols.ellipsis)
}

fn label(number: usize, screen: Screen) -> String {
    format!(" {number} {} ", screen.title())
}

fn tabs(shown: Screen) -> Row {
    let mut row = Row::new();
    for (number, screen) in (1..).zip(Screen::ALL) {
        let role = if screen == shown { Role::TabActive } else { Role::Tab };
        row.push(label(number, screen), role);
    }
    row
}

/// The screen whose tab is at a column.
pub(in crate::console) fn tab_at(x: u16) -> Option<Screen> {
    let mut end = 0;
    for (number, screen) in (1..).zip(Screen::ALL) {
        end += width(&label(number, screen));
        if usize::from(x) < end {
            return Some(screen);
        }
    }
    None
}

/// Held, counting or not read: the one thing that matters most.
fn going_on(state: &State) -> Row {
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
    if matches!(state.freshness(), Freshness::Stale(_)) {
        let again = Row::of("tried again by itself; ", Role::Muted);
        return again.with("r", Role::Key).with(" tries at once ", Role::Muted);
    }
    if let Some(why) = state.reading.trouble().filter(|_| state.newest.is_some()) {
        return Row::of(format!("not read: {why} "), Role::Error);
    }
    Row::new()
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
