//! The one table of commands. Key dispatch, the bottom bar, the help and the key reference
//! in the docs are all made from it, so they cannot disagree.
//!
//! No command needs Control, Alt, a function key or the mouse: multiplexers and window
//! managers take those.

mod availability;
mod table;

use std::cmp::Reverse;

use super::Above;
use super::heat::Scale;
use super::msg::Key;
use super::reading::Counting;
use super::state::{Focus, Screen, State, Subject};
use crate::report::Reveal;

pub use availability::{Availability, availability};
pub use table::COMMANDS;

/// Something that the operator can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Leave the program at once.
    Interrupt,
    /// Go back; leave from the top.
    Quit,
    /// One level up.
    Back,
    /// Show or hide the help.
    Help,
    /// Show a screen by its number.
    Screen(u8),
    /// Type a filter.
    Filter,
    /// Hold the view, or go on.
    Pause,
    /// Read again now.
    Reload,
    /// Exact counts on or off.
    Exact,
    /// Take the mouse, or give it back.
    Mouse,
    /// Move up.
    Up,
    /// Move down.
    Down,
    /// Move left.
    Left,
    /// Move right.
    Right,
    /// Move a page up.
    PageUp,
    /// Move a page down.
    PageDown,
    /// Move to the first.
    First,
    /// Move to the last.
    Last,
    /// Open what is selected.
    Open,
    /// Give the keys to the other part of the screen.
    Focus,
    /// The next store.
    NextStore,
    /// The store before.
    PreviousStore,
    /// Sort by the next column.
    Sort,
    /// Sort the other way round.
    Reverse,
    /// Choose what partitions are compared by.
    Metric,
    /// Cut the heat scale the other way.
    Scale,
    /// All about the selected partition.
    Details,
    /// The rows of what is selected.
    Rows,
    /// The next choice of columns that make a key.
    By,
    /// Type the columns that make a key.
    TypeBy,
    /// The next weight.
    Weigh,
    /// All partitions, not only one.
    Whole,
    /// Show keys and values, or mask them.
    Reveal,
    /// Type a condition on rows.
    Where,
    /// What the last batches did to a key.
    History,
    /// Half the count.
    Halve,
    /// Twice the count.
    Double,
    /// The present count.
    Present,
    /// The recommended count.
    Recommended,
    /// Type the number of nodes.
    Nodes,
    /// Look at the batch before.
    Earlier,
    /// Look at the next batch.
    Later,
    /// How the sources of the running query are doing.
    Sources,
    /// Paste an error, and see what it means.
    Explain,
}

/// Where a command applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// Everywhere.
    Anywhere,
    /// On every screen, with nothing laid over it.
    Screens,
    /// On one screen.
    On(Screen),
    /// On what is laid over a screen.
    Overlay,
    /// In the chooser of metrics.
    Chooser,
}

impl Context {
    /// Its heading in the help.
    pub fn title(self) -> &'static str {
        match self {
            Self::Anywhere => "Everywhere",
            Self::Screens => "On every screen",
            Self::On(Screen::Overview) => "Overview",
            Self::On(Screen::Partitions) => "Partitions",
            Self::On(Screen::Keys) => "Keys",
            Self::On(Screen::Rows) => "Rows",
            Self::On(Screen::WhatIf) => "What-if",
            Self::On(Screen::Batches) => "Batches",
            Self::On(Screen::Pauses) => "Pauses",
            Self::On(Screen::Diagnosis) => "Diagnosis",
            Self::Chooser => "In the chooser of metrics",
            Self::Overlay => "In a window",
        }
    }

    fn applies(self, state: &State) -> bool {
        match (self, &state.overlay) {
            (Self::Anywhere, _) | (Self::Screens, None) => true,
            (Self::Chooser, Some(overlay)) => overlay.subject == Subject::Metrics,
            (Self::Overlay, Some(overlay)) => overlay.subject != Subject::Metrics,
            (Self::On(screen), None) => screen == state.screen,
            _ => false,
        }
    }
}

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// What is asked for.
    pub action: Action,
    /// Where.
    pub context: Context,
    /// The keys that ask for it.
    pub keys: &'static [Key],
    /// The keys as help and bar name them.
    pub label: &'static str,
    /// What it does, for the help.
    pub title: &'static str,
    /// Its weight on the bottom bar; 0 keeps it off.
    pub weight: u8,
}

/// The command that a key asks for in this state.
pub fn lookup(key: Key, state: &State) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.keys.contains(&key) && command.context.applies(state))
}

/// What a command would do now, in as few words as the bottom bar has room for.
pub fn hint(action: Action, state: &State) -> &'static str {
    let partitions = &state.partitions;
    match action {
        Action::Help => "help",
        Action::Quit if state.screen == Screen::Overview && state.overlay.is_none() => {
            match state.settings.above {
                Above::Nothing => "quit",
                Above::List => "to the list",
            }
        }
        Action::Quit => "back",
        Action::Filter => "filter",
        Action::Pause if state.hold.is_some() => "resume",
        Action::Pause => "pause",
        Action::Exact if state.reading.counting() == Counting::Exact => "exact off",
        Action::Exact => "count exactly",
        Action::Open => match (&state.overlay, state.screen) {
            (Some(_), _) => "close",
            (None, Screen::Partitions) => "keys",
            (None, Screen::Overview) => "open",
            (None, Screen::Keys) => "rows",
            (None, Screen::Rows) => "in full",
            (None, Screen::WhatIf | Screen::Diagnosis) => "type a count",
            (None, Screen::Batches) => "all fields",
            (None, Screen::Pauses) => "",
        },
        Action::Focus => match (state.screen, partitions.focus) {
            (Screen::Partitions, Focus::Map) => "to table",
            (Screen::Partitions, Focus::Table) => "to heatmap",
            (Screen::Pauses, _) => "other plots",
            _ => "findings",
        },
        Action::Details => "details",
        Action::Rows => "rows",
        Action::By => "columns",
        Action::Weigh => "weight",
        Action::Whole => "all partitions",
        Action::Reveal => match state.reveal {
            Reveal::Masked => "show data",
            Reveal::Shown => "mask data",
        },
        Action::Where => "condition",
        Action::History => "history",
        Action::Earlier => "earlier",
        Action::Later if state.chosen.is_some() => "later",
        Action::Later => "newest",
        Action::Sources => "sources",
        Action::Explain => "explain an error",
        Action::Left => "less",
        Action::Right => "more",
        Action::Halve => "halve",
        Action::Double => "double",
        Action::Present => "present",
        Action::Recommended => "recommended",
        Action::Nodes => "nodes",
        Action::Sort => "sort",
        Action::Metric if state.overlay.is_some() => "next",
        Action::Metric => "metric",
        Action::Scale => match partitions.scale.other() {
            Scale::Log => "log",
            Scale::Linear => "linear",
        },
        Action::NextStore if state.screen == Screen::WhatIf => "next operator",
        Action::NextStore => "next store",
        _ => "",
    }
}

/// The commands for the bottom bar, in the order of the table, that fit `room` columns: the
/// weightiest are kept. `cost` says how many columns a key and its words take.
pub fn bar(
    state: &State,
    room: usize,
    cost: impl Fn(&str, &str) -> usize,
) -> Vec<&'static Command> {
    let mut wanted: Vec<&Command> = COMMANDS
        .iter()
        .filter(|command| command.weight > 0 && command.context.applies(state))
        .filter(|command| availability(command.action, state) == Availability::Ready)
        .filter(|command| is_of_use(command.action, state.screen))
        .collect();
    wanted.sort_by_key(|command| Reverse(command.weight));
    let mut used = 0;
    wanted.retain(|command| {
        let columns = cost(command.label, hint(command.action, state));
        let fits = used + columns <= room;
        if fits {
            used += columns;
        }
        fits
    });
    wanted
}

/// Whether a command is worth a place on the bar of a screen. Rows are always read exactly, and
/// the past is gone through where it is drawn.
fn is_of_use(action: Action, screen: Screen) -> bool {
    let counts = matches!(screen, Screen::Overview | Screen::Partitions);
    match action {
        Action::Exact => counts,
        Action::Earlier | Action::Later => screen == Screen::Batches,
        Action::Explain => screen == Screen::Diagnosis,
        _ => true,
    }
}

/// Whether the help is what is laid over the screen.
pub fn help_is_open(state: &State) -> bool {
    state.overlay.as_ref().is_some_and(|overlay| overlay.subject == Subject::Help)
}

/// The contexts in the order of the help.
pub const CONTEXTS: [Context; 12] = [
    Context::Anywhere,
    Context::Screens,
    Context::On(Screen::Overview),
    Context::On(Screen::Partitions),
    Context::On(Screen::Keys),
    Context::On(Screen::Rows),
    Context::On(Screen::WhatIf),
    Context::On(Screen::Batches),
    Context::On(Screen::Pauses),
    Context::On(Screen::Diagnosis),
    Context::Overlay,
    Context::Chooser,
];

/// The key reference for the docs, as Markdown.
pub fn help_markdown() -> String {
    CONTEXTS.into_iter().map(context_markdown).collect::<Vec<_>>().join("\n")
}

fn context_markdown(context: Context) -> String {
    let head = format!("### {}\n\n| key | does |\n| --- | --- |\n", context.title());
    let commands = COMMANDS.iter().filter(|command| command.context == context);
    let lines = commands.map(|command| {
        let keys = command.label.replace(' ', "`, `");
        format!("| `{keys}` | {} |\n", command.title)
    });
    std::iter::once(head).chain(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things_in_one_place() {
        for (at, one) in COMMANDS.iter().enumerate() {
            for other in COMMANDS.iter().skip(at + 1) {
                let together = one.context == other.context
                    || one.context == Context::Anywhere
                    || other.context == Context::Anywhere
                    || matches!(
                        (one.context, other.context),
                        (Context::Screens, Context::On(_)) | (Context::On(_), Context::Screens)
                    );
                let shared = one.keys.iter().find(|key| other.keys.contains(key));
                assert!(!together || shared.is_none(), "{shared:?}: {one:?} {other:?}");
            }
        }
    }

    #[test]
    fn every_command_on_the_bar_has_words() {
        let state = State::new(
            super::super::state::Settings::default(),
            super::super::msg::Size { width: 80, height: 24 },
            crate::units::UnixMillis(0),
        );
        for command in COMMANDS.iter().filter(|command| command.weight > 0) {
            assert_ne!(hint(command.action, &state), "", "{command:?}");
        }
    }
}
