//! Spark's `UnsafeRow`: from its bytes and a schema to values.
//!
//! Nothing is trusted: every offset and length is checked, recursion is as deep as the
//! schema, and parts that overlap cannot make more values than a row of that size has room
//! for. Values borrow from the bytes.

use std::borrow::Cow;

use super::types::{DataType, Field};
use super::value::{Undecodable, Value};
use super::variant;
use super::view::RowView;

/// The row of these columns.
///
/// # Errors
/// With the reason and all bytes when any part of it is malformed.
pub fn decode<'a>(bytes: &'a [u8], fields: &'a [Field]) -> Result<Value<'a>, Undecodable<'a>> {
    let mut budget = Budget(bytes.len());
    let row = RowView::row(bytes, fields.len()).map_err(|wrong| wrong.to_string());
    row.and_then(|row| budget.columns(row, fields))
        .map(|values| Value::Struct(fields, values))
        .map_err(|reason| Undecodable { reason, bytes })
}

/// One column of a row, or one element of an array.
///
/// # Errors
/// A sentence when it is malformed.
pub fn column<'a>(
    row: RowView<'a>,
    at: usize,
    data_type: &'a DataType,
) -> Result<Value<'a>, String> {
    Budget(row.all_bytes().len()).value(row, at, data_type)
}

/// Bytes of the row that no value has claimed yet. In rows that Spark writes no two parts
/// overlap, so all slots and variable parts together are never larger than the row.
struct Budget(usize);

impl Budget {
    fn claim(&mut self, bytes: usize) -> Result<(), String> {
        self.0 = self.0.checked_sub(bytes).ok_or("parts of the row overlap")?;
        Ok(())
    }

    fn columns<'a>(
        &mut self,
        row: RowView<'a>,
        fields: &'a [Field],
    ) -> Result<Vec<Value<'a>>, String> {
        self.claim(row.slot_bytes())?;
        let mut values = Vec::with_capacity(fields.len());
        for (at, field) in fields.iter().enumerate() {
            let value = self.value(row, at, &field.data_type);
            values.push(value.map_err(|reason| format!("column {:?}: {reason}", field.name))?);
        }
        Ok(values)
    }

    fn elements<'a>(
        &mut self,
        array: RowView<'a>,
        data_type: &'a DataType,
    ) -> Result<Vec<Value<'a>>, String> {
        self.claim(array.slot_bytes())?;
        (0..array.len()).map(|at| self.value(array, at, data_type)).collect()
    }

    /// The variable part of a column that is a leaf.
    fn leaf<'a>(&mut self, row: RowView<'a>, at: usize) -> Result<&'a [u8], String> {
        let bytes = row.bytes(at).map_err(|wrong| wrong.to_string())?;
        self.claim(bytes.len())?;
        Ok(bytes)
    }

    fn value<'a>(
        &mut self,
        row: RowView<'a>,
        at: usize,
        data_type: &'a DataType,
    ) -> Result<Value<'a>, String> {
        if row.is_null(at) {
            return Ok(Value::Null);
        }
        let word = row.word(at);
        // Slots hold small types in their low bytes; the rest is padding.
        #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
        Ok(match data_type {
            DataType::Void => Value::Null,
            DataType::Boolean => Value::Boolean(word as u8 != 0),
            DataType::Byte => Value::Integer(i64::from(word as i8)),
            DataType::Short => Value::Integer(i64::from(word as i16)),
            DataType::Integer => Value::Integer(i64::from(word as i32)),
            DataType::Long => Value::Integer(word as i64),
            DataType::Float => Value::Float(f32::from_bits(word as u32)),
            DataType::Double => Value::Double(f64::from_bits(word)),
            DataType::Date => Value::Date(word as i32),
            DataType::Timestamp => Value::Timestamp(word as i64),
            DataType::TimestampNtz => Value::TimestampNtz(word as i64),
            DataType::Time => Value::Time(word as i64),
            DataType::YearMonthInterval(units) => Value::YearMonthInterval(word as i32, *units),
            DataType::DayTimeInterval(units) => Value::DayTimeInterval(word as i64, *units),
            DataType::Decimal { precision: 0..=18, scale } => {
                Value::Decimal { unscaled: i128::from(word as i64), scale: *scale }
            }
            DataType::Decimal { scale, .. } => {
                Value::Decimal { unscaled: wide_integer(self.leaf(row, at)?)?, scale: *scale }
            }
            DataType::String => {
                let text = std::str::from_utf8(self.leaf(row, at)?);
                Value::String(Cow::Borrowed(text.map_err(|e| format!("text is no UTF-8: {e}"))?))
            }
            DataType::Binary => Value::Binary(Cow::Borrowed(self.leaf(row, at)?)),
            DataType::CalendarInterval => interval(self.leaf(row, at)?)?,
            DataType::TimestampNanos => {
                let (micros, nanos) = nanoseconds(self.leaf(row, at)?)?;
                Value::TimestampNanos { micros, nanos }
            }
            DataType::TimestampNtzNanos => {
                let (micros, nanos) = nanoseconds(self.leaf(row, at)?)?;
                Value::TimestampNtzNanos { micros, nanos }
            }
            DataType::Variant => variant_value(self.leaf(row, at)?)?,
            DataType::Struct(fields) => {
                let nested = row.nested(at, fields.len()).map_err(|wrong| wrong.to_string())?;
                Value::Struct(fields, self.columns(nested, fields)?)
            }
            DataType::Array(element) => {
                let array = row.array(at, element.width()).map_err(|wrong| wrong.to_string())?;
                Value::Array(self.elements(array, element)?)
            }
            DataType::Map(key, value) => {
                let parts = row.map(at, key.width(), value.width());
                let (keys, values) = parts.map_err(|wrong| wrong.to_string())?;
                let keys = self.elements(keys, key)?;
                Value::Map(keys.into_iter().zip(self.elements(values, value)?).collect())
            }
            DataType::Other(name) => return Err(format!("the type {name:?} is not known")),
        })
    }
}

/// A two's complement of 1 to 16 bytes, the highest first: the unscaled value of decimals.
pub(super) fn wide_integer(bytes: &[u8]) -> Result<i128, String> {
    let wrong = || format!("a decimal of {} bytes, expected 1 to 16", bytes.len());
    let sign = bytes.first().ok_or_else(wrong)? >> 7;
    let mut wide = [if sign == 1 { 0xff } else { 0 }; 16];
    let start = 16_usize.checked_sub(bytes.len()).ok_or_else(wrong)?;
    wide.get_mut(start..).ok_or_else(wrong)?.copy_from_slice(bytes);
    Ok(i128::from_be_bytes(wide))
}

fn interval(bytes: &[u8]) -> Result<Value<'static>, String> {
    let wrong = || format!("an interval of {} bytes, expected 16", bytes.len());
    let (months, rest) = bytes.split_first_chunk().ok_or_else(wrong)?;
    let (days, rest) = rest.split_first_chunk().ok_or_else(wrong)?;
    let micros = rest.try_into().map_err(|_| wrong())?;
    Ok(Value::CalendarInterval {
        months: i32::from_le_bytes(*months),
        days: i32::from_le_bytes(*days),
        micros: i64::from_le_bytes(micros),
    })
}

/// Microseconds, then nanoseconds within them (`TimestampNanosRowValues` of 4.3).
fn nanoseconds(bytes: &[u8]) -> Result<(i64, u16), String> {
    let wrong = || format!("a timestamp of {} bytes, expected 16", bytes.len());
    let bytes: &[u8; 16] = bytes.try_into().map_err(|_| wrong())?;
    let (micros, rest) = bytes.split_first_chunk().ok_or_else(wrong)?;
    let (nanos, _) = rest.split_first_chunk().ok_or_else(wrong)?;
    let nanos = u16::from_le_bytes(*nanos);
    if nanos > 999 {
        return Err(format!("{nanos} nanoseconds within a microsecond"));
    }
    Ok((i64::from_le_bytes(*micros), nanos))
}

/// The value's size, the value, and the metadata up to the end (`VariantVal`).
fn variant_value(bytes: &[u8]) -> Result<Value<'_>, String> {
    let wrong = || format!("a variant of {} bytes", bytes.len());
    let (size, rest) = bytes.split_first_chunk().ok_or_else(wrong)?;
    let size = usize::try_from(i32::from_le_bytes(*size)).map_err(|_| wrong())?;
    let (value, metadata) = rest.split_at_checked(size).ok_or_else(wrong)?;
    variant::check(value, metadata)?;
    Ok(Value::Variant { value: Cow::Borrowed(value), metadata: Cow::Borrowed(metadata) })
}
