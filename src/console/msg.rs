//! Everything that can happen to the console, as data. Time is one of them.

use super::asking::Reply;
use crate::analysis::pauses::Pause;
use crate::memory::Sample;
use crate::reader::{Mark, Observation};
use crate::report::PreflightCheck;
use crate::task::Progress;
use crate::telemetry::attach::News;
use crate::units::UnixMillis;

/// Something that happened.
#[derive(Debug, Clone)]
pub enum Msg {
    /// It is now this late. Sent before other messages, and when a text on screen is due to age.
    Now(UnixMillis),
    /// A key was pressed.
    Key(Key),
    /// The terminal passed a whole paste on.
    Pasted(String),
    /// The mouse did something; only while the operator has switched it on.
    Mouse(Mouse),
    /// The terminal has this many columns and rows.
    Resize(Size),
    /// The watcher looked at the newest log entries.
    Marked(Result<Mark, String>),
    /// A read has come this far.
    Progress(Ticket, Progress),
    /// A read ended.
    Read(Ticket, Box<Outcome>),
    /// A question has come this far.
    Asking(Ticket, Progress),
    /// A preflight has made a check.
    Checked(Ticket, Box<PreflightCheck>),
    /// A question is answered.
    Answer(Ticket, Box<Reply>),
    /// The source of a running query at this place of the list tells something.
    Told(usize, News),
    /// The memory of the query answers.
    Remembered(MemoryNews),
    /// The process was asked to end by this signal.
    Signal(i32),
}

/// What becomes known of the memory of a query.
#[derive(Debug, Clone)]
pub enum MemoryNews {
    /// It is open.
    Opened {
        /// How the query was, oldest first.
        samples: Vec<Sample>,
        /// The repartitions that were seen, oldest first.
        pauses: Vec<Pause>,
        /// Why nothing is added to it; `None` when this console does.
        read_only: Option<String>,
    },
    /// This was added.
    Added(Sample),
    /// These are the repartitions that are remembered now.
    Resizes(Vec<Pause>),
    /// It cannot be used (any more); the text says why.
    Failed(String),
}

/// How a read ended.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// With reports.
    Done(Observation),
    /// Without; the text says why.
    Failed(String),
    /// Given up because the console asked for it.
    Cancelled,
}

/// Names one read, so that an answer is never taken for that of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ticket(pub u64);

/// Columns and rows of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

/// A key, free of terminal types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// A character, with shift already applied.
    Char(char),
    /// Enter or Return.
    Enter,
    /// Escape.
    Esc,
    /// Tab.
    Tab,
    /// Shift and Tab.
    BackTab,
    /// Backspace.
    Backspace,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
    /// Control and C: always quits.
    Interrupt,
}

/// What the mouse did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mouse {
    /// Pressed at this column and row.
    Click(u16, u16),
    /// Wheel away from the operator.
    ScrollUp,
    /// Wheel towards the operator.
    ScrollDown,
}
