//! What a row holds: typed values that borrow from its bytes and its schema.

use std::borrow::Cow;

use super::types::{Field, IntervalUnits};

/// Most array elements and map entries that one row is decoded into. A value takes some 60
/// bytes of memory, an element on disk may take one.
pub(super) const MAX_ELEMENTS: usize = 4 << 20;

/// One decoded value. Borrows from the row's bytes and from the schema.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// No value.
    Null,
    /// `boolean`
    Boolean(bool),
    /// `byte`, `short`, `integer` and `long`.
    Integer(i64),
    /// `float`
    Float(f32),
    /// `double`
    Double(f64),
    /// `decimal`: the unscaled value and the digits after the point.
    Decimal {
        /// The digits without the point.
        unscaled: i128,
        /// How many of them stand after the point.
        scale: u8,
    },
    /// `string`. Bytes that are no UTF-8 make the value undecodable instead.
    String(Cow<'a, str>),
    /// `binary`
    Binary(Cow<'a, [u8]>),
    /// `date`: days since 1970-01-01.
    Date(i32),
    /// `timestamp`: microseconds since 1970-01-01T00:00:00Z.
    Timestamp(i64),
    /// `timestamp_ntz`: microseconds since 1970-01-01T00:00:00 of no zone.
    TimestampNtz(i64),
    /// `timestamp_ltz(7)` to `(9)`: microseconds since 1970-01-01T00:00:00Z, and nanoseconds
    /// within the microsecond.
    TimestampNanos {
        /// Microseconds.
        micros: i64,
        /// 0 to 999.
        nanos: u16,
    },
    /// `timestamp_ntz(7)` to `(9)`.
    TimestampNtzNanos {
        /// Microseconds.
        micros: i64,
        /// 0 to 999.
        nanos: u16,
    },
    /// `time`: nanoseconds of the day.
    Time(i64),
    /// Months.
    YearMonthInterval(i32, IntervalUnits),
    /// Microseconds.
    DayTimeInterval(i64, IntervalUnits),
    /// `interval`
    CalendarInterval {
        /// Months.
        months: i32,
        /// Days.
        days: i32,
        /// Microseconds.
        micros: i64,
    },
    /// `variant`, as Spark's binary encoding has it.
    Variant {
        /// The value bytes.
        value: Cow<'a, [u8]>,
        /// The metadata bytes: the dictionary of keys.
        metadata: Cow<'a, [u8]>,
    },
    /// A struct, or a whole row: its columns and their values, in order and of equal number.
    Struct(&'a [Field], Vec<Value<'a>>),
    /// An array.
    Array(Vec<Value<'a>>),
    /// A map's entries in stored order.
    Map(Vec<(Value<'a>, Value<'a>)>),
}

/// A key, value or list element that cannot be decoded: shown as hexadecimal bytes with the
/// reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Undecodable<'a> {
    /// What was expected and found, as a sentence.
    pub reason: String,
    /// All bytes of the key, value or element.
    pub bytes: &'a [u8],
}
