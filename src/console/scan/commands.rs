//! The one table of the list's commands: keys, bar, help and reference are made from it.

use std::cmp::Reverse;

use super::super::msg::Key;
use super::model::{Model, Overlay, Run, Tab};

/// Something that the operator can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Leave the program at once.
    Interrupt,
    /// Close what is laid over the list, or leave.
    Quit,
    /// One step back.
    Back,
    /// Show or hide the help.
    Help,
    /// Open the selected checkpoint.
    Open,
    /// All about the selected line.
    Details,
    /// Checkpoints, or what could not be read.
    Switch,
    /// Sort by the next column.
    Sort,
    /// Sort the other way round.
    Reverse,
    /// Type a filter.
    Filter,
    /// Scan again.
    Again,
    /// Stop the scan.
    Stop,
    /// Move up.
    Up,
    /// Move down.
    Down,
    /// Move a page up.
    PageUp,
    /// Move a page down.
    PageDown,
    /// Move to the first.
    First,
    /// Move to the last.
    Last,
}

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// What is asked for.
    pub action: Action,
    /// The keys that ask for it.
    pub keys: &'static [Key],
    /// The keys as help and bar name them.
    pub label: &'static str,
    /// What it does, for the help.
    pub title: &'static str,
    /// Its weight on the bottom bar; 0 keeps it off.
    pub weight: u8,
}

const fn command(
    action: Action,
    label: &'static str,
    keys: &'static [Key],
    title: &'static str,
    weight: u8,
) -> Command {
    Command { action, keys, label, title, weight }
}

/// Every command, in the order of the help and the bar.
pub const COMMANDS: &[Command] = {
    use Action as A;
    use Key::Char as C;
    &[
        command(A::Open, "Enter", &[Key::Enter], "open the checkpoint; Esc comes back", 100),
        command(
            A::Switch,
            "Tab u",
            &[Key::Tab, Key::BackTab, C('u')],
            "what could not be read, and back to the checkpoints",
            70,
        ),
        command(A::Details, "d", &[C('d')], "all about the selected line", 55),
        command(A::Sort, "s", &[C('s')], "sort by the next column", 65),
        command(A::Reverse, "S", &[C('S')], "sort the other way round", 0),
        command(A::Filter, "/", &[C('/')], "filter: part of any column", 75),
        command(A::Stop, "c", &[C('c')], "stop the scan; what was read stays", 95),
        command(A::Again, "r", &[C('r')], "scan again", 60),
        command(A::Down, "j Down", &[C('j'), Key::Down], "down", 0),
        command(A::Up, "k Up", &[C('k'), Key::Up], "up", 0),
        command(A::First, "g Home", &[C('g'), Key::Home], "to the first", 0),
        command(A::Last, "G End", &[C('G'), Key::End], "to the last", 0),
        command(A::PageDown, "PgDn", &[Key::PageDown], "a page down", 0),
        command(A::PageUp, "PgUp", &[Key::PageUp], "a page up", 0),
        command(A::Help, "?", &[C('?')], "show or hide these keys", 90),
        command(
            A::Back,
            "Esc",
            &[Key::Esc],
            "close, stop the scan, clear the filter, or back to the checkpoints",
            0,
        ),
        command(A::Quit, "q", &[C('q')], "close; from the list: quit", 80),
        command(A::Interrupt, "Ctrl-C", &[Key::Interrupt], "quit at once", 0),
    ]
};

/// The command that a key asks for.
pub fn lookup(key: Key) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.keys.contains(&key))
}

/// Why a command cannot be used now; `None` when it can.
pub fn obstacle(action: Action, model: &Model) -> Option<&'static str> {
    let stopping = matches!(model.run, Run::Scanning { stopping: true, .. });
    match action {
        Action::Open if model.tab == Tab::Unreadable => {
            Some("what cannot be read cannot be opened")
        }
        Action::Open if model.checkpoint().is_none() => Some("no checkpoint is selected"),
        Action::Details if model.lines() == 0 => Some("nothing is selected"),
        Action::Sort | Action::Reverse if model.tab == Tab::Unreadable => {
            Some("these are in the order of their paths")
        }
        Action::Switch if model.unreadable.is_empty() && model.tab == Tab::Checkpoints => {
            Some(if model.is_scanning() {
                "everything was read so far"
            } else {
                "everything was read"
            })
        }
        Action::Again if model.is_scanning() => Some("a scan is running; Esc stops it"),
        Action::Stop if !model.is_scanning() => Some("no scan is running"),
        Action::Stop if stopping => Some("it is stopping: open reads are waited for"),
        _ => None,
    }
}

/// What a command would do now, in as few words as the bottom bar has room for.
pub fn hint(action: Action, model: &Model) -> &'static str {
    match action {
        Action::Open => "open",
        Action::Switch => match model.tab {
            Tab::Checkpoints => "not read",
            Tab::Unreadable => "checkpoints",
        },
        Action::Details => "details",
        Action::Sort => "sort",
        Action::Filter => "filter",
        Action::Again => "scan again",
        Action::Stop => "stop",
        Action::Help => "help",
        Action::Quit => "quit",
        _ => "",
    }
}

/// The commands for the bottom bar that fit `room` columns: the weightiest are kept. `cost` says
/// how many columns a key and its words take.
pub fn bar(
    model: &Model,
    room: usize,
    cost: impl Fn(&str, &str) -> usize,
) -> Vec<&'static Command> {
    let mut kept: Vec<&Command> = COMMANDS
        .iter()
        .filter(|command| command.weight > 0 && obstacle(command.action, model).is_none())
        .collect();
    let mut by_weight = kept.clone();
    by_weight.sort_by_key(|command| Reverse(command.weight));
    let mut used = 0;
    let fitting: Vec<Action> = by_weight
        .iter()
        .filter(|command| {
            let columns = cost(command.label, hint(command.action, model));
            let fits = used + columns <= room;
            used += if fits { columns } else { 0 };
            fits
        })
        .map(|command| command.action)
        .collect();
    kept.retain(|command| fitting.contains(&command.action));
    kept
}

/// Whether the help is what is laid over the list.
pub(super) fn help_is_open(model: &Model) -> bool {
    matches!(model.overlay, Some(Overlay::Help(_)))
}

/// The key reference for the docs, as Markdown.
pub fn help_markdown() -> String {
    let head = "### The list of checkpoints\n\n| key | does |\n| --- | --- |\n".to_owned();
    let lines = COMMANDS.iter().map(|command| {
        let keys = command.label.replace(' ', "`, `");
        format!("| `{keys}` | {} |\n", command.title)
    });
    std::iter::once(head).chain(lines).collect()
}
