//! Rows that outlive the reading: key and value as JSON values, for screens that keep a page.

use super::rows::{Half, StateRow};
use crate::state::row::render::{Json, hex};
use crate::state::row::value::Value;
use crate::units::{OperatorId, PartitionId};

/// A row, kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedRow {
    /// Its operator.
    pub operator: OperatorId,
    /// Its store.
    pub store: String,
    /// Its column family.
    pub family: String,
    /// Its partition.
    pub partition: PartitionId,
    /// Its key.
    pub key: OwnedHalf,
    /// Its value.
    pub value: OwnedHalf,
}

/// A key or a value, kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnedHalf {
    /// Columns by name, in order; names may repeat.
    Columns(Vec<(String, serde_json::Value)>),
    /// One value without columns.
    Single(serde_json::Value),
    /// Not as the schema says.
    Undecodable {
        /// Why.
        reason: String,
        /// All bytes, as hexadecimal digits.
        hex: String,
    },
    /// There is none: the value of a removed row.
    None,
}

impl OwnedRow {
    /// Keeps a row.
    pub fn of(row: &StateRow<'_>) -> Self {
        Self {
            operator: row.at.operator,
            store: row.at.store.to_owned(),
            family: row.at.family.to_owned(),
            partition: row.at.partition,
            key: OwnedHalf::of(&row.key),
            value: OwnedHalf::of(&row.value),
        }
    }
}

impl OwnedHalf {
    /// Keeps a key or a value.
    pub fn of(half: &Half<'_>) -> Self {
        match half {
            Half::Decoded(Value::Struct(fields, values)) => Self::Columns(
                fields
                    .iter()
                    .zip(values)
                    .map(|(field, value)| (field.name.clone(), json(value)))
                    .collect(),
            ),
            Half::Decoded(value) => Self::Single(json(value)),
            Half::Undecodable(why) => {
                Self::Undecodable { reason: why.reason.clone(), hex: hex(why.bytes) }
            }
            Half::None => Self::None,
        }
    }
}

/// As [`Json`], but for maps, which are lists of `{"key", "value"}` whatever their keys are: the
/// keys of a map are data, and must not be taken for names when data is hidden.
fn json(value: &Value<'_>) -> serde_json::Value {
    match value {
        Value::Struct(fields, values) => {
            let fields = fields.iter().zip(values);
            fields.map(|(field, value)| (field.name.clone(), json(value))).collect()
        }
        Value::Array(values) => values.iter().map(json).collect(),
        Value::Map(entries) => entries
            .iter()
            .map(|(key, value)| serde_json::json!({ "key": json(key), "value": json(value) }))
            .collect(),
        other => serde_json::to_value(Json(other)).unwrap_or_default(),
    }
}
