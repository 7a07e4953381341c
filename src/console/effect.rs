//! What the console wants done, as data. Only the runtime acts on it.

use super::ConsoleExit;
use super::asking::Question;
use super::msg::Ticket;
use crate::reader::Request;

/// The kinds of reads: at most one of each runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Logs and snapshot counts: quick.
    Quick,
    /// Exact counts: may take long, shows progress, can be given up.
    Exact,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Read, and answer with this ticket.
    Read(Lane, Ticket, Request),
    /// Give up the read that runs in this lane.
    Cancel(Lane),
    /// Ask about rows, and answer with this ticket.
    Ask(Ticket, Box<Question>),
    /// Give up what is being asked.
    StopAsking,
    /// Look at the newest log entries now, not at the next interval.
    Poll,
    /// Take the mouse from the terminal, or give it back.
    CaptureMouse(bool),
    /// Leave.
    Exit(ConsoleExit),
}
