//! `statetop state`: the rows of state stores, as a table, as lines of JSON, or as CSV.
//!
//! A [`StateRow`] is one decoded row. [`jsonl::push`] is a pure function into a buffer, for
//! threads that decode; [`table::TableWriter`] and [`csv::CsvWriter`] take rows one by one.
//! Must not know where rows come from.

pub(crate) mod args;
pub(crate) mod csv;
pub(crate) mod jsonl;
pub(crate) mod table;

use crate::state::row::value::{Undecodable, Value};
use crate::units::{OperatorId, PartitionId};

/// Where a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Whereabouts<'a> {
    pub(crate) partition: PartitionId,
    pub(crate) operator: OperatorId,
    pub(crate) store: &'a str,
    pub(crate) family: &'a str,
}

/// One row, or one element of a list: with the same key then.
#[derive(Debug)]
pub(crate) struct StateRow<'a> {
    pub(crate) at: Whereabouts<'a>,
    /// What a batch did to it, for `--changed-in`.
    pub(crate) change: Option<Change>,
    pub(crate) key: Half<'a>,
    pub(crate) value: Half<'a>,
}

/// The key or the value of a row.
#[derive(Debug)]
pub(crate) enum Half<'a> {
    Decoded(Value<'a>),
    Undecodable(Undecodable<'a>),
    /// There is none: the value of a removed row.
    None,
}

/// What a changelog's record does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Put,
    Remove,
    /// Appends to a list.
    Merge,
    /// Removes all keys from this one up to another.
    RemoveRange,
}

impl Change {
    /// The word in JSON and tables.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Remove => "remove",
            Self::Merge => "merge",
            Self::RemoveRange => "remove_range",
        }
    }
}

/// Whether key and value data are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mask {
    Shown,
    Hidden,
}

#[cfg(test)]
mod tests;
