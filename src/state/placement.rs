//! From a stored key to the hash of its grouping key, without making values on the way.
//!
//! Every key of every store is hashed when state is read, so this is the hottest code there is.

use super::grouping::GroupingColumn;
use super::hash::{KeyHash, SEED};
use super::row::key::{KeyColumn, KeyView};
use super::row::types::{DataType, Field};
use super::row::unsafe_row;
use super::row::value::Value;
use super::row::view::RowView;

/// The hash of a grouping key: its columns chained, from the seed on.
///
/// # Errors
/// A sentence when the key is malformed or has a type that cannot be hashed.
#[inline]
pub fn hash(view: &KeyView<'_>, columns: &[GroupingColumn]) -> Result<KeyHash, String> {
    let mut hash = SEED;
    for column in columns {
        let data_type = &column.field.data_type;
        hash = match slot(view, column) {
            Some((row, at)) => hash_slot(hash, row, at, data_type)?,
            None => match find(view, &column.path)? {
                KeyColumn::Slot(row, at) => hash_slot(hash, &row, at, data_type)?,
                KeyColumn::Word(word) => hash_word(hash, word, data_type)?,
                KeyColumn::Null => hash,
            },
        };
    }
    Ok(hash)
}

/// The row and slot of a column that is a whole column of the key, as nearly all are.
#[inline]
pub(super) fn slot<'k, 'a>(
    view: &'k KeyView<'a>,
    column: &GroupingColumn,
) -> Option<(&'k RowView<'a>, usize)> {
    match column.path.as_slice() {
        [at] => view.slot(*at),
        _ => None,
    }
}

/// The column at a path: a key column, then columns of nested structs.
pub(super) fn find<'a>(view: &KeyView<'a>, path: &[usize]) -> Result<KeyColumn<'a>, String> {
    let (first, inner) = path.split_first().ok_or("an empty path")?;
    let mut found = view.column(*first)?;
    let mut fields: &[Field] = view.fields();
    let mut last = *first;
    for at in inner {
        let Some(DataType::Struct(nested)) = fields.get(last).map(|field| &field.data_type) else {
            return Err("a path into something that is no struct".to_owned());
        };
        found = match found {
            KeyColumn::Slot(row, slot) if row.is_null(slot) => KeyColumn::Null,
            KeyColumn::Slot(row, slot) => {
                let nested = row.nested(slot, nested.len()).map_err(|wrong| wrong.to_string())?;
                KeyColumn::Slot(nested, *at)
            }
            KeyColumn::Null => KeyColumn::Null,
            KeyColumn::Word(_) => return Err("a path into a number".to_owned()),
        };
        (fields, last) = (nested, *at);
    }
    Ok(found)
}

fn hash_slot(
    seed: KeyHash,
    row: &RowView<'_>,
    at: usize,
    data_type: &DataType,
) -> Result<KeyHash, String> {
    if row.is_null(at) {
        return Ok(seed);
    }
    match data_type {
        DataType::String | DataType::Binary => {
            Ok(seed.bytes(row.bytes(at).map_err(|wrong| wrong.to_string())?))
        }
        DataType::Struct(fields) => {
            let nested = row.nested(at, fields.len()).map_err(|wrong| wrong.to_string())?;
            fields
                .iter()
                .enumerate()
                .try_fold(seed, |seed, (at, field)| hash_slot(seed, &nested, at, &field.data_type))
        }
        DataType::Decimal { precision: 19.., .. }
        | DataType::CalendarInterval
        | DataType::TimestampNanos
        | DataType::TimestampNtzNanos
        | DataType::Array(_)
        | DataType::Map(..)
        | DataType::Variant
        | DataType::Other(_) => {
            let value = unsafe_row::column(*row, at, data_type)?;
            seed.value(&value, data_type).ok_or_else(|| not_hashable(data_type))
        }
        _ => hash_word(seed, row.word(at), data_type),
    }
}

/// Small types lie in the low bytes of the word.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "the type says how many bytes are in use"
)]
#[inline]
fn hash_word(seed: KeyHash, word: u64, data_type: &DataType) -> Result<KeyHash, String> {
    Ok(match data_type {
        DataType::Void => seed,
        DataType::Boolean => seed.int(i32::from(word as u8 != 0)),
        DataType::Byte => seed.int(i32::from(word as i8)),
        DataType::Short => seed.int(i32::from(word as i16)),
        DataType::Integer | DataType::Date | DataType::YearMonthInterval(_) => {
            seed.int(word as i32)
        }
        DataType::Float => seed.float(f32::from_bits(word as u32)),
        DataType::Double => seed.double(f64::from_bits(word)),
        DataType::Long
        | DataType::Timestamp
        | DataType::TimestampNtz
        | DataType::Time
        | DataType::DayTimeInterval(_)
        | DataType::Decimal { precision: 0..=18, .. } => seed.long(word as i64),
        other => return Err(not_hashable(other)),
    })
}

fn not_hashable(data_type: &DataType) -> String {
    format!("a grouping key of type {data_type:?} is not known to be possible")
}

/// As [`hash`], of decoded key columns.
///
/// # Errors
/// As [`hash`].
pub fn hash_values(values: &[Value<'_>], columns: &[GroupingColumn]) -> Result<KeyHash, String> {
    columns.iter().try_fold(SEED, |seed, column| {
        let value = value_at(values, &column.path)?;
        let data_type = &column.field.data_type;
        seed.value(value, data_type).ok_or_else(|| not_hashable(data_type))
    })
}

/// The value at a path: a column, then columns of nested structs. Null inside of a null.
///
/// # Errors
/// When there is none.
pub fn value_at<'v, 'a>(values: &'v [Value<'a>], path: &[usize]) -> Result<&'v Value<'a>, String> {
    let mut inside = values;
    let mut found = None;
    for at in path {
        let value = inside.get(*at).ok_or("a path to no column")?;
        inside = match value {
            Value::Struct(_, nested) => nested,
            Value::Null => return Ok(value),
            _ => &[],
        };
        found = Some(value);
    }
    found.ok_or_else(|| "an empty path".to_owned())
}
