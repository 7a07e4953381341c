//! Values as JSON, exact: what `docs/json.md` promises of keys and values.
//!
//! Timestamps are ISO 8601 in UTC with microseconds, binary is base64, decimals are texts,
//! intervals are Spark's literals. Must not know the terminal.

use std::cell::Cell;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, SerializeStruct, Serializer};

use super::calendar::{self, Fraction};
use super::value::{Undecodable, Value};
use super::variant::Variant;

/// A value as JSON.
///
/// - a struct is an object with its columns in order, repeated names repeated;
/// - a map is an object where all keys are texts (also when it is empty), else a list of
///   `{"key", "value"}`;
/// - floats that are no numbers are `"NaN"`, `"Infinity"` and `"-Infinity"`;
/// - decimals are texts with all digits of their scale;
/// - a `time` outside of a day is its number of nanoseconds;
/// - a variant is the JSON that it stands for, its scalars written as above.
#[derive(Debug, Clone, Copy)]
pub struct Json<'v, 'a>(pub &'v Value<'a>);

impl Serialize for Json<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null => serializer.serialize_unit(),
            Value::Boolean(value) => serializer.serialize_bool(*value),
            Value::Integer(value) => serializer.serialize_i64(*value),
            Value::Float(value) if value.is_finite() => serializer.serialize_f32(*value),
            Value::Float(value) => serializer.serialize_str(not_finite(f64::from(*value))),
            Value::Double(value) if value.is_finite() => serializer.serialize_f64(*value),
            Value::Double(value) => serializer.serialize_str(not_finite(*value)),
            Value::String(value) => serializer.serialize_str(value),
            Value::Binary(value) => serializer.collect_str(&Base64Display::new(value, &STANDARD)),
            Value::Time(nanos) => match calendar::time(*nanos) {
                Some(text) => serializer.serialize_str(&text),
                None => serializer.serialize_i64(*nanos),
            },
            Value::Variant { value, metadata } => {
                let budget = Cell::new(value.len());
                Variant::new(value, metadata, &budget).serialize(serializer)
            }
            Value::Struct(fields, values) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (field, value) in fields.iter().zip(values) {
                    map.serialize_entry(&field.name, &Json(value))?;
                }
                map.end()
            }
            Value::Array(values) => serializer.collect_seq(values.iter().map(Json)),
            Value::Map(entries) => serialize_map(entries, serializer),
            other => serializer.serialize_str(&scalar(other)),
        }
    }
}

fn serialize_map<S: Serializer>(
    entries: &[(Value<'_>, Value<'_>)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if entries.iter().any(|(key, _)| !matches!(key, Value::String(_))) {
        let mut list = serializer.serialize_seq(Some(entries.len()))?;
        for entry in entries {
            list.serialize_element(&Entry(entry))?;
        }
        return list.end();
    }
    let mut map = serializer.serialize_map(Some(entries.len()))?;
    for (key, value) in entries {
        if let Value::String(key) = key {
            map.serialize_entry(key.as_ref(), &Json(value))?;
        }
    }
    map.end()
}

struct Entry<'v, 'a>(&'v (Value<'a>, Value<'a>));

impl Serialize for Entry<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut entry = serializer.serialize_struct("entry", 2)?;
        entry.serialize_field("key", &Json(&self.0.0))?;
        entry.serialize_field("value", &Json(&self.0.1))?;
        entry.end()
    }
}

/// `{"undecodable": REASON, "bytes": HEX}` in place of the value.
impl Serialize for Undecodable<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut value = serializer.serialize_struct("undecodable", 2)?;
        value.serialize_field("undecodable", &self.reason)?;
        value.serialize_field("bytes", &hex(self.bytes))?;
        value.end()
    }
}

/// Bytes as lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let digit = |number: u8| char::from_digit(u32::from(number), 16).unwrap_or('?');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The text of a value that has no parts and is no text, number or binary itself.
pub(super) fn scalar(value: &Value<'_>) -> String {
    match value {
        Value::Decimal { unscaled, scale } => decimal(*unscaled, *scale),
        Value::Date(days) => calendar::date(i64::from(*days)),
        Value::Timestamp(micros) => calendar::moment(*micros, Fraction::Micros) + "Z",
        Value::TimestampNtz(micros) => calendar::moment(*micros, Fraction::Micros),
        Value::TimestampNanos { micros, nanos } => {
            calendar::moment(*micros, Fraction::Nanos(*nanos)) + "Z"
        }
        Value::TimestampNtzNanos { micros, nanos } => {
            calendar::moment(*micros, Fraction::Nanos(*nanos))
        }
        Value::YearMonthInterval(months, units) => calendar::year_month(*months, *units),
        Value::DayTimeInterval(micros, units) => calendar::day_time(*micros, *units),
        Value::CalendarInterval { months, days, micros } => {
            calendar::calendar_interval(*months, *days, *micros)
        }
        _ => String::new(),
    }
}

/// The names of what is no number, as Spark writes them.
pub(super) fn not_finite(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

/// `-1234` of scale 2 as `-12.34`.
pub(super) fn decimal(unscaled: i128, scale: u8) -> String {
    let sign = if unscaled < 0 { "-" } else { "" };
    let scale = usize::from(scale);
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let point = if scale == 0 { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}

#[cfg(test)]
mod tests {
    use super::super::types::{DataType, Field, IntervalUnit, IntervalUnits};
    use super::*;

    fn json(value: &Value<'_>) -> String {
        serde_json::to_string(&Json(value)).unwrap()
    }

    #[test]
    fn scalars_are_exact() {
        let units = IntervalUnits { start: IntervalUnit::Day, end: IntervalUnit::Second };
        for (value, expected) in [
            (Value::Null, "null"),
            (Value::Integer(i64::MIN), "-9223372036854775808"),
            (Value::Float(0.1), "0.1"),
            (Value::Double(-0.0), "-0.0"),
            (Value::Double(f64::NAN), "\"NaN\""),
            (Value::Float(f32::NEG_INFINITY), "\"-Infinity\""),
            (Value::Decimal { unscaled: -5, scale: 2 }, "\"-0.05\""),
            (Value::Decimal { unscaled: 1200, scale: 2 }, "\"12.00\""),
            (Value::Decimal { unscaled: 7, scale: 0 }, "\"7\""),
            (
                Value::Decimal { unscaled: i128::MIN, scale: 38 },
                "\"-1.70141183460469231731687303715884105728\"",
            ),
            (Value::String("a\u{1b}[0m\"".into()), "\"a\\u001b[0m\\\"\""),
            (Value::Binary((&b"\xff\x00"[..]).into()), "\"/wA=\""),
            (Value::Date(-1), "\"1969-12-31\""),
            (Value::Timestamp(1_767_226_566_000_000), "\"2026-01-01T00:16:06.000000Z\""),
            (Value::TimestampNtz(1), "\"1970-01-01T00:00:00.000001\""),
            (Value::TimestampNanos { micros: 1, nanos: 2 }, "\"1970-01-01T00:00:00.000001002Z\""),
            (Value::Time(1000), "\"00:00:00.000001\""),
            (Value::Time(-5), "-5"),
            (Value::DayTimeInterval(0, units), "\"INTERVAL '0 00:00:00' DAY TO SECOND\""),
        ] {
            assert_eq!(json(&value), expected);
        }
    }

    #[test]
    fn structs_repeat_names_and_maps_depend_on_their_keys() {
        let field = |name: &str| Field { name: name.to_owned(), data_type: DataType::Long };
        let fields = [field("first"), field("set"), field("first")];
        let values = vec![Value::Integer(1), Value::Null, Value::Array(vec![Value::Integer(2)])];
        assert_eq!(json(&Value::Struct(&fields, values)), r#"{"first":1,"set":null,"first":[2]}"#);
        let texts = Value::Map(vec![(Value::String("a".into()), Value::Integer(1))]);
        assert_eq!(json(&texts), r#"{"a":1}"#);
        let numbers = Value::Map(vec![(Value::Integer(3), Value::Null)]);
        assert_eq!(json(&numbers), r#"[{"key":3,"value":null}]"#);
        assert_eq!(json(&Value::Map(vec![])), "{}");
    }

    #[test]
    fn what_cannot_be_decoded_is_hexadecimal() {
        let bytes = Undecodable { reason: "3 bytes are no row".to_owned(), bytes: &[0, 0xab, 1] };
        assert_eq!(
            serde_json::to_string(&bytes).unwrap(),
            r#"{"undecodable":"3 bytes are no row","bytes":"00ab01"}"#
        );
    }
}
