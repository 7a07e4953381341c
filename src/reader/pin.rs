//! Whether a row is of one key: its grouping columns have the values that a report names.
//!
//! Reports name keys as JSON, so that is what is compared; once a row fits, the bytes of its
//! columns are remembered, and rows with the same bytes need no JSON.

use super::keyed::{identity, restore};
use crate::state::grouping::GroupingColumn;
use crate::state::row::decoder::KeyColumns;
use crate::state::row::types::Field;

/// The key that is asked for, by where its columns are in one family.
pub(super) struct Pin<'a> {
    by: &'a [GroupingColumn],
    fields: Vec<Field>,
    key: &'a serde_json::Value,
    known: Option<Vec<u8>>,
    bytes: Vec<u8>,
}

impl<'a> Pin<'a> {
    pub(super) fn new(by: &'a [GroupingColumn], key: &'a serde_json::Value) -> Self {
        let fields = by.iter().map(|column| column.field.clone()).collect();
        Self { by, fields, key, known: None, bytes: Vec::new() }
    }

    /// Whether a row with these key columns is of that key.
    pub(super) fn fits(&mut self, columns: &KeyColumns<'_>) -> bool {
        if identity(columns, self.by, &mut self.bytes).is_err() {
            return false;
        }
        if let Some(known) = &self.known {
            return *known == self.bytes;
        }
        let is_json = matches!(columns, KeyColumns::Values(_));
        let fits = same(&restore(&self.bytes, &self.fields, is_json), self.key);
        if fits {
            self.known = Some(self.bytes.clone());
        }
        fits
    }
}

/// Families may call the same column by different names: only values and their order count.
fn same(one: &serde_json::Value, other: &serde_json::Value) -> bool {
    match (one.as_object(), other.as_object()) {
        (Some(one), Some(other)) => one.values().eq(other.values()),
        _ => one == other,
    }
}
