//! Spark's `UnsafeRow`: from its bytes and a schema to values.
//!
//! Nothing is trusted: every offset and length is checked, recursion is as deep as the
//! schema, and parts that overlap cannot make more values than a row of that size has room
//! for. Values borrow from the bytes.

use std::borrow::Cow;

use super::types::{DataType, Field};
use super::value::{MAX_ELEMENTS, Undecodable, Value};
use super::variant;
use super::view::RowView;

/// The row of these columns.
///
/// # Errors
/// With the reason and all bytes when any part of it is malformed.
pub fn decode<'a>(bytes: &'a [u8], fields: &'a [Field]) -> Result<Value<'a>, Undecodable<'a>> {
    let mut budget = Budget::of(bytes);
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
    Budget::of(row.all_bytes()).value(row, at, data_type)
}

/// Bytes of the row that no value has claimed yet. In rows that Spark writes no two parts
/// overlap, so all slots and variable parts together are never larger than the row.
struct Budget {
    bytes: usize,
    elements: usize,
}

impl Budget {
    fn of(row: &[u8]) -> Self {
        Self { bytes: row.len(), elements: MAX_ELEMENTS }
    }

    fn claim(&mut self, bytes: usize) -> Result<(), String> {
        self.bytes = self.bytes.checked_sub(bytes).ok_or("parts of the row overlap")?;
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
        self.elements = self.elements.checked_sub(array.len()).ok_or("too many elements")?;
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

#[cfg(test)]
#[allow(clippy::decimal_bitwise_operands, clippy::needless_pass_by_value)]
mod tests {
    use proptest::prelude::*;

    use super::super::types::{IntervalUnit, IntervalUnits};
    use super::*;

    fn field(name: &str, data_type: DataType) -> Field {
        Field { name: name.to_owned(), data_type }
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn values<'a>(bytes: &'a [u8], fields: &'a [Field]) -> Vec<Value<'a>> {
        match decode(bytes, fields).unwrap() {
            Value::Struct(_, values) => values,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn maps_intervals_variants_and_nanoseconds() {
        let map = DataType::Map(Box::new(DataType::Integer), Box::new(DataType::String));
        let fields = [
            field("m", map),
            field("i", DataType::CalendarInterval),
            field("v", DataType::Variant),
            field("t", DataType::TimestampNtzNanos),
        ];
        // One key, 7, in a word; one value, "x", at offset 24 of its array.
        let keys = words(&[1, 0, 7]);
        let texts = words(&[1, 0, 24 << 32 | 1, u64::from(b'x')]);
        let map = [&words(&[keys.len() as u64])[..], &keys, &texts].concat();
        let interval = words(&[(3_u64 << 32) | u64::from((-2_i32).cast_unsigned()), 5]);
        // The variant `true` of an empty dictionary: a value of 1 byte, then 3 of metadata.
        let variant = [1, 0, 0, 0, 4, 1, 0, 0];
        let nanos = words(&[9, 8]);
        let mut at = 40_u64;
        let mut slots = vec![0];
        for part in [map.len(), interval.len(), variant.len(), nanos.len()] {
            slots.push(at << 32 | part as u64);
            at += part as u64;
        }
        let bytes = [&words(&slots)[..], &map, &interval, &variant, &nanos].concat();
        let expected = vec![
            Value::Map(vec![(Value::Integer(7), Value::String("x".into()))]),
            Value::CalendarInterval { months: -2, days: 3, micros: 5 },
            Value::Variant { value: (&[4][..]).into(), metadata: (&[1, 0, 0][..]).into() },
            Value::TimestampNtzNanos { micros: 9, nanos: 8 },
        ];
        assert_eq!(values(&bytes, &fields), expected);
    }

    #[test]
    fn wide_decimals_are_signed() {
        assert_eq!(wide_integer(&[0xff]), Ok(-1));
        assert_eq!(wide_integer(&[0x00, 0xff]), Ok(255));
        assert_eq!(wide_integer(&[0x7f; 16]), Ok(0x7f7f_7f7f_7f7f_7f7f_7f7f_7f7f_7f7f_7f7f));
        assert!(wide_integer(&[]).is_err());
        assert!(wide_integer(&[0; 17]).is_err());
    }

    #[test]
    fn the_reason_names_the_column() {
        let inner = field("text", DataType::String);
        let fields = [field("outer", DataType::Struct(vec![inner]))];
        let bytes = words(&[0, 16 << 32 | 24, 0, 16 << 32 | 2, 0xfffe]);
        let error = decode(&bytes, &fields).unwrap_err();
        assert!(error.reason.contains("\"outer\": column \"text\": text is no UTF-8"), "{error}");
        assert_eq!(error.bytes, bytes);
        let other = [field("g", DataType::Other("geometry(1)".to_owned()))];
        assert!(decode(&bytes, &other).unwrap_err().reason.contains("geometry(1)"));
        assert!(decode(&bytes[..12], &fields).unwrap_err().reason.contains("multiple of 8"));
    }

    #[test]
    fn overlapping_parts_do_not_multiply() {
        // 100 texts that are all the same 800 bytes.
        let mut array = words(&[100, 0, 0]);
        array.extend(words(&[0; 100].map(|_: u64| 24 << 32 | 800)));
        let size = array.len() as u64;
        let bytes = [words(&[0, 16 << 32 | size]), array].concat();
        let fields = [field("a", DataType::Array(Box::new(DataType::String)))];
        assert!(decode(&bytes, &fields).unwrap_err().reason.contains("overlap"));
    }

    /// Any type of limited depth.
    fn any_type() -> impl Strategy<Value = DataType> {
        let units = IntervalUnits { start: IntervalUnit::Day, end: IntervalUnit::Day };
        let leaf = prop::sample::select(vec![
            DataType::Void,
            DataType::Boolean,
            DataType::Short,
            DataType::Double,
            DataType::String,
            DataType::Binary,
            DataType::Variant,
            DataType::CalendarInterval,
            DataType::TimestampNanos,
            DataType::DayTimeInterval(units),
            DataType::Decimal { precision: 30, scale: 2 },
        ]);
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(|types| {
                    DataType::Struct(types.into_iter().map(|t| field("x", t)).collect())
                }),
                inner.clone().prop_map(|t| DataType::Array(Box::new(t))),
                (inner.clone(), inner).prop_map(|(k, v)| DataType::Map(Box::new(k), Box::new(v))),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_row_panics(
            types in prop::collection::vec(any_type(), 0..4),
            small in prop::collection::vec(0..80_u64, 0..24),
            sizes in prop::collection::vec(0..80_u64, 0..24),
            tail in prop::collection::vec(any::<u8>(), 0..9),
        ) {
            let fields: Vec<Field> = types.into_iter().map(|t| field("c", t)).collect();
            let slots = small.iter().zip(&sizes).flat_map(|(at, size)| [at << 32 | size, *size]);
            let bytes = [words(&slots.collect::<Vec<_>>()), tail].concat();
            if let Ok(value) = decode(&bytes, &fields) {
                serde_json::to_string(&super::super::render::Json(&value)).unwrap();
            }
        }
    }
}
