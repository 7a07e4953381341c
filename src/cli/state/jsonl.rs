//! Rows as lines of JSON: exact, in characters that cannot steer a terminal.

use std::fmt::Display;
use std::io::{self, Write};

use serde::Serialize;

use super::super::json::Guarded;
use super::{Half, StateRow, Whereabouts};
use crate::state::row::render::{Json, hex};
use crate::units::{OperatorId, PartitionId};

/// What the lines of one family of one partition have in common, serialised once.
#[derive(Debug, Clone)]
pub(crate) struct Prefix(Vec<u8>);

impl Prefix {
    /// `{"partition":…,"operator":…,"store":…,"family":…`
    pub(crate) fn new(at: Whereabouts<'_>) -> io::Result<Self> {
        let mut text = Vec::new();
        write!(text, "{{\"partition\":{},\"operator\":{}", at.partition, at.operator)?;
        member(&mut text, "store", at.store)?;
        member(&mut text, "family", at.family)?;
        Ok(Self(text))
    }
}

/// Appends one row as a line to `out`. Pure, for threads that fill buffers of their own.
///
/// Errors are those of writing to memory: none.
pub(crate) fn push(prefix: &Prefix, row: &StateRow<'_>, out: &mut Vec<u8>) -> io::Result<()> {
    out.extend_from_slice(&prefix.0);
    if let Some(change) = row.change {
        write!(out, ",\"change\":\"{}\"", change.word())?;
    }
    half(out, "key", &row.key)?;
    half(out, "value", &row.value)?;
    let reasons: Vec<String> = [("key", &row.key), ("value", &row.value)]
        .into_iter()
        .filter_map(|(name, half)| match half {
            Half::Undecodable(bytes) => Some(format!("{name}: {}", bytes.reason)),
            Half::Decoded(_) | Half::None => None,
        })
        .collect();
    if !reasons.is_empty() {
        member(out, "undecodable", &reasons.join("; "))?;
    }
    out.extend_from_slice(b"}\n");
    Ok(())
}

/// The decoded half; or null, and its bytes in a member of their own.
fn half(out: &mut Vec<u8>, name: impl Display, half: &Half<'_>) -> io::Result<()> {
    match half {
        Half::Decoded(value) => {
            write!(out, ",\"{name}\":")?;
            value_json(value, out)
        }
        Half::Undecodable(bytes) => {
            write!(out, ",\"{name}\":null,\"{name}_hex\":\"{}\"", hex(bytes.bytes))
        }
        Half::None => write!(out, ",\"{name}\":null"),
    }
}

/// Rows as lines; what consecutive ones have in common is serialised once.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    family: Option<(PartitionId, OperatorId, String, String)>,
    prefix: Option<Prefix>,
}

impl Lines {
    /// Appends one row as a line to `out`.
    pub(crate) fn push(&mut self, row: &StateRow<'_>, out: &mut Vec<u8>) {
        let at = row.at;
        let same = self.family.as_ref().is_some_and(|(partition, operator, store, family)| {
            *partition == at.partition
                && *operator == at.operator
                && store == at.store
                && family == at.family
        });
        if !same {
            self.family =
                Some((at.partition, at.operator, at.store.to_owned(), at.family.to_owned()));
            self.prefix = Prefix::new(at).ok();
        }
        if let Some(prefix) = &self.prefix {
            // Writing to memory does not fail.
            let _ = push(prefix, row, out);
        }
    }
}

/// A value as compact JSON.
pub(crate) fn value_json(
    value: &crate::state::row::value::Value<'_>,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    compact(&Json(value), out)
}

fn member(out: &mut Vec<u8>, name: &str, text: &str) -> io::Result<()> {
    write!(out, ",\"{name}\":")?;
    compact(text, out)
}

fn compact(value: &(impl Serialize + ?Sized), out: &mut Vec<u8>) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(out, Guarded::compact());
    value.serialize(&mut serializer).map_err(io::Error::from)
}
