//! The one table of commands. Key dispatch, the bottom bar, the help and the key reference
//! in the docs are all made from it, so they cannot disagree.
//!
//! No command needs Control, Alt, a function key or the mouse: multiplexers and window
//! managers take those.

use std::cmp::Reverse;

use super::heat::{Metric, Scale};
use super::msg::Key;
use super::reading::Counting;
use super::state::{Focus, Screen, State, Subject};

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
    /// Compare the other quantity.
    Metric,
    /// Cut the heat scale the other way.
    Scale,
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
}

impl Context {
    /// Its heading in the help.
    pub fn title(self) -> &'static str {
        match self {
            Self::Anywhere => "Everywhere",
            Self::Screens => "On every screen",
            Self::On(Screen::Overview) => "Overview",
            Self::On(Screen::Partitions) => "Partitions",
            Self::Overlay => "In a window",
        }
    }

    fn applies(self, state: &State) -> bool {
        match (self, &state.overlay) {
            (Self::Anywhere, _) | (Self::Overlay, Some(_)) | (Self::Screens, None) => true,
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

/// Whether a command can be used now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// It can.
    Ready,
    /// It cannot; the text says why.
    Not(&'static str),
}

const fn command(
    context: Context,
    action: Action,
    label: &'static str,
    keys: &'static [Key],
    title: &'static str,
    weight: u8,
) -> Command {
    Command { action, context, keys, label, title, weight }
}

/// Every command. The first that fits a key wins.
pub const COMMANDS: &[Command] = {
    use Action as A;
    use Context::{Anywhere, On, Overlay, Screens};
    use Key::Char as C;
    &[
        command(Anywhere, A::Help, "?", &[C('?')], "show or hide these keys", 90),
        command(
            Anywhere,
            A::Back,
            "Esc",
            &[Key::Esc],
            "close, stop counting, clear the filter, or go back",
            0,
        ),
        command(Anywhere, A::Quit, "q", &[C('q')], "close or go back; from the overview: quit", 60),
        command(Anywhere, A::Interrupt, "Ctrl-C", &[Key::Interrupt], "quit at once", 0),
        command(Anywhere, A::Down, "j Down", &[C('j'), Key::Down], "down", 0),
        command(Anywhere, A::Up, "k Up", &[C('k'), Key::Up], "up", 0),
        command(Anywhere, A::First, "g Home", &[C('g'), Key::Home], "to the first", 0),
        command(Anywhere, A::Last, "G End", &[C('G'), Key::End], "to the last", 0),
        command(Anywhere, A::PageDown, "PgDn", &[Key::PageDown], "a page down", 0),
        command(Anywhere, A::PageUp, "PgUp", &[Key::PageUp], "a page up", 0),
        command(
            Screens,
            A::Screen(1),
            "1",
            &[C('1')],
            "overview: is anything wrong, and where?",
            0,
        ),
        command(Screens, A::Screen(2), "2", &[C('2')], "partitions: how is the state spread?", 0),
        command(
            Screens,
            A::Pause,
            "space",
            &[C(' ')],
            "hold the view still (reading goes on), or follow again",
            50,
        ),
        command(Screens, A::Filter, "/", &[C('/')], "filter; Enter keeps it, Esc clears it", 55),
        command(
            Screens,
            A::Exact,
            "x",
            &[C('x')],
            "count exactly: open every store and replay its changelogs; again for each batch",
            65,
        ),
        command(Screens, A::Reload, "r", &[C('r')], "read again now", 0),
        command(
            Screens,
            A::Mouse,
            "M",
            &[C('M')],
            "mouse on or off (off: the terminal selects text)",
            0,
        ),
        command(
            On(Screen::Overview),
            A::Open,
            "Enter l",
            &[Key::Enter, C('l'), Key::Right],
            "open: a store's partitions, a finding in full",
            80,
        ),
        command(
            On(Screen::Overview),
            A::Focus,
            "Tab",
            &[Key::Tab, Key::BackTab],
            "from stores to findings and back",
            40,
        ),
        command(
            On(Screen::Partitions),
            A::Open,
            "Enter",
            &[Key::Enter],
            "all about the selected partition",
            75,
        ),
        command(
            On(Screen::Partitions),
            A::Focus,
            "Tab",
            &[Key::Tab, Key::BackTab],
            "keys to the heatmap or to the table",
            70,
        ),
        command(
            On(Screen::Partitions),
            A::Left,
            "h Left",
            &[C('h'), Key::Left],
            "left in the heatmap",
            0,
        ),
        command(
            On(Screen::Partitions),
            A::Right,
            "l Right",
            &[C('l'), Key::Right],
            "right in the heatmap",
            0,
        ),
        command(On(Screen::Partitions), A::NextStore, "o ]", &[C('o'), C(']')], "next store", 45),
        command(
            On(Screen::Partitions),
            A::PreviousStore,
            "O [",
            &[C('O'), C('[')],
            "store before",
            0,
        ),
        command(On(Screen::Partitions), A::Sort, "s", &[C('s')], "sort by the next column", 68),
        command(On(Screen::Partitions), A::Reverse, "S", &[C('S')], "sort the other way round", 0),
        command(On(Screen::Partitions), A::Metric, "m", &[C('m')], "compare rows or bytes", 67),
        command(
            On(Screen::Partitions),
            A::Scale,
            "L",
            &[C('L')],
            "heat scale logarithmic or linear",
            30,
        ),
        command(Overlay, A::Open, "Enter", &[Key::Enter], "close", 80),
    ]
};

/// The command that a key asks for in this state.
pub fn lookup(key: Key, state: &State) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.keys.contains(&key) && command.context.applies(state))
}

/// Whether a command can be used now, or why not.
pub fn availability(action: Action, state: &State) -> Availability {
    use Availability::{Not, Ready};
    let stores = state.data().map_or(0, |data| data.stores.len());
    match action {
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
        Action::NextStore | Action::PreviousStore if stores < 2 => Not("there is only one store"),
        Action::Open if state.screen == Screen::Partitions && state.overlay.is_none() => {
            match state.selected_partition() {
                Some(_) => Ready,
                None => Not("no partition is selected"),
            }
        }
        Action::Left | Action::Right
            if state.screen == Screen::Partitions && state.partitions.focus == Focus::Table =>
        {
            Not("left and right move in the heatmap: Tab gives it the keys")
        }
        _ => Ready,
    }
}

/// What a command would do now, in as few words as the bottom bar has room for.
pub fn hint(action: Action, state: &State) -> &'static str {
    let partitions = &state.partitions;
    match action {
        Action::Help => "help",
        Action::Quit if state.screen == Screen::Overview && state.overlay.is_none() => "quit",
        Action::Quit => "back",
        Action::Filter => "filter",
        Action::Pause if state.hold.is_some() => "resume",
        Action::Pause => "pause",
        Action::Exact if state.reading.counting() == Counting::Exact => "exact off",
        Action::Exact => "count exactly",
        Action::Open => match (&state.overlay, state.screen) {
            (Some(_), _) => "close",
            (None, Screen::Partitions) => "details",
            (None, Screen::Overview) => "open",
        },
        Action::Focus => match (state.screen, partitions.focus) {
            (Screen::Overview, _) => "findings",
            (Screen::Partitions, Focus::Map) => "to table",
            (Screen::Partitions, Focus::Table) => "to heatmap",
        },
        Action::Sort => "sort",
        Action::Metric => match partitions.metric.other() {
            Metric::Rows => "by rows",
            Metric::Bytes => "by bytes",
        },
        Action::Scale => match partitions.scale.other() {
            Scale::Log => "log",
            Scale::Linear => "linear",
        },
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

/// Whether the help is what is laid over the screen.
pub fn help_is_open(state: &State) -> bool {
    state.overlay.as_ref().is_some_and(|overlay| overlay.subject == Subject::Help)
}

/// The contexts in the order of the help.
pub const CONTEXTS: [Context; 5] = [
    Context::Anywhere,
    Context::Screens,
    Context::On(Screen::Overview),
    Context::On(Screen::Partitions),
    Context::Overlay,
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
