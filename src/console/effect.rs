//! What the console wants done, as data. Only the runtime acts on it.

use super::ConsoleExit;
use super::asking::Question;
use super::msg::Ticket;
use crate::memory::Sample;
use crate::reader::Request;

/// The kinds of reads: at most one of each runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Logs and snapshot counts: quick.
    Quick,
    /// Exact counts: may take long, shows progress, can be given up.
    Exact,
}

/// What is to be remembered.
#[derive(Debug, Clone, PartialEq)]
pub enum Remember {
    /// Open the memory of the query with this id.
    Open(String),
    /// How the query is now.
    Add(Sample),
    /// The repartitions that the checkpoint shows.
    Resizes,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Read, and answer with this ticket.
    Read(Lane, Ticket, Request),
    /// Give up the read that runs in this lane.
    Cancel(Lane),
    /// Ask about rows, and answer with this ticket.
    Ask(Ticket, Box<Question>),
    /// Give up what is being asked.
    StopAsking,
    /// Remember something of the query.
    Remember(Remember),
    /// Look at the newest log entries now, not at the next interval.
    Poll,
    /// Take the mouse from the terminal, or give it back.
    CaptureMouse(bool),
    /// Leave.
    Exit(ConsoleExit),
}
