//! Spark's data types, as the `StructType` JSON of a schema file names them.

use serde_json::Value as Json;

/// Deepest nesting of structs, arrays and maps that a schema may have. Decoding recurses as
/// deep as its schema; no query has tables of this depth.
const MAX_DEPTH: usize = 48;

/// A column: its name and type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The column's name. Value schemas may repeat one.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
}

/// The type of a column, array element, map key or map value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataType {
    /// `void`: always null.
    Void,
    /// `boolean`
    Boolean,
    /// `byte`
    Byte,
    /// `short`
    Short,
    /// `integer`
    Integer,
    /// `long`
    Long,
    /// `float`
    Float,
    /// `double`
    Double,
    /// `decimal(precision,scale)`
    Decimal {
        /// Digits in all, 1 to 38.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// `string`, also with a collation, `char(n)` and `varchar(n)`.
    String,
    /// `binary`
    Binary,
    /// `date`: days since 1970-01-01.
    Date,
    /// `timestamp`: microseconds since 1970-01-01T00:00:00Z.
    Timestamp,
    /// `timestamp_ntz`: microseconds since 1970-01-01T00:00:00 of no zone.
    TimestampNtz,
    /// `timestamp_ltz(p)` of more than 6 digits (4.3+): microseconds, and nanoseconds within.
    TimestampNanos,
    /// `timestamp_ntz(p)` of more than 6 digits (4.3+).
    TimestampNtzNanos,
    /// `time(n)` (4.1+): nanoseconds of the day.
    Time,
    /// An interval of years and months, in months.
    YearMonthInterval(IntervalUnits),
    /// An interval of days to seconds, in microseconds.
    DayTimeInterval(IntervalUnits),
    /// `interval`: months, days and microseconds.
    CalendarInterval,
    /// `variant` (4.0+)
    Variant,
    /// A struct of columns.
    Struct(Vec<Field>),
    /// An array; the type of its elements.
    Array(Box<DataType>),
    /// A map; the types of its keys and values.
    Map(Box<DataType>, Box<DataType>),
    /// A type that is not known; its name. Values of it cannot be decoded.
    Other(String),
}

/// The first and last unit of an ANSI interval type, in Spark's order of units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntervalUnits {
    /// The largest unit.
    pub start: IntervalUnit,
    /// The smallest unit.
    pub end: IntervalUnit,
}

/// A unit of an ANSI interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum IntervalUnit {
    /// Years.
    Year,
    /// Months.
    Month,
    /// Days.
    Day,
    /// Hours.
    Hour,
    /// Minutes.
    Minute,
    /// Seconds with their fraction.
    Second,
}

impl DataType {
    /// The columns of a `StructType` JSON.
    ///
    /// # Errors
    /// A sentence with what was expected and found.
    pub fn columns(schema: &Json) -> Result<Vec<Field>, String> {
        match parse(schema, 0)? {
            Self::Struct(fields) => Ok(fields),
            other => Err(format!("a schema of type {other:?}, expected a struct")),
        }
    }

    /// The type that a `type` of a `StructType` JSON names. Unknown names are [`Self::Other`].
    ///
    /// # Errors
    /// A sentence with what was expected and found.
    pub fn parse(json: &Json) -> Result<Self, String> {
        parse(json, 0)
    }

    /// Bytes that an element of this type takes in an array: its natural width, or 8 where
    /// the slot holds an offset (`UnsafeArrayData`).
    pub fn width(&self) -> usize {
        match self {
            Self::Boolean | Self::Byte => 1,
            Self::Short => 2,
            Self::Integer | Self::Float | Self::Date | Self::YearMonthInterval(_) => 4,
            _ => 8,
        }
    }
}

fn parse(json: &Json, depth: usize) -> Result<DataType, String> {
    if depth > MAX_DEPTH {
        return Err(format!("types nested deeper than {MAX_DEPTH}"));
    }
    let object = match json {
        Json::String(name) => return Ok(named(name)),
        Json::Object(object) => object,
        other => return Err(format!("a type is {}, expected a name or an object", kind(other))),
    };
    let part = |name: &str| {
        object.get(name).ok_or_else(|| format!("a type without {name:?}, found {object:?}"))
    };
    let nested = |name: &str| parse(part(name)?, depth + 1);
    match part("type")?.as_str() {
        Some("struct") => {
            let fields = part("fields")?.as_array().ok_or("the fields of a struct are no list")?;
            fields.iter().map(|field| column(field, depth)).collect::<Result<_, _>>()
        }
        .map(DataType::Struct),
        Some("array") => Ok(DataType::Array(Box::new(nested("elementType")?))),
        Some("map") => {
            Ok(DataType::Map(Box::new(nested("keyType")?), Box::new(nested("valueType")?)))
        }
        // A user's own type lies in rows as the SQL type it stands for.
        Some("udt") => nested("sqlType"),
        Some(name) => Ok(DataType::Other(name.to_owned())),
        None => Err(format!("the \"type\" of a type is {}, expected a name", kind(part("type")?))),
    }
}

fn column(field: &Json, depth: usize) -> Result<Field, String> {
    let name = field.get("name").and_then(Json::as_str).ok_or("a column without a name")?;
    let data_type =
        field.get("type").ok_or_else(|| format!("the column {name:?} without a type"))?;
    let data_type = parse(data_type, depth + 1).map_err(|e| format!("column {name:?}: {e}"))?;
    Ok(Field { name: name.to_owned(), data_type })
}

/// A type that is given by its name alone (`DataType.nameToType`).
fn named(name: &str) -> DataType {
    let (word, arguments) = match name.split_once('(') {
        Some((word, rest)) => match rest.trim_end().strip_suffix(')') {
            Some(arguments) => (word.trim(), Some(arguments)),
            None => return DataType::Other(name.to_owned()),
        },
        None => (name, None),
    };
    match (word, arguments) {
        ("void" | "null", None) => DataType::Void,
        ("boolean", None) => DataType::Boolean,
        ("byte", None) => DataType::Byte,
        ("short", None) => DataType::Short,
        ("integer", None) => DataType::Integer,
        ("long", None) => DataType::Long,
        ("float", None) => DataType::Float,
        ("double", None) => DataType::Double,
        ("string", None) | ("char" | "varchar", Some(_)) => DataType::String,
        ("binary", None) => DataType::Binary,
        ("date", None) => DataType::Date,
        ("timestamp" | "timestamp_ltz", None) => DataType::Timestamp,
        ("timestamp_ntz", None) => DataType::TimestampNtz,
        ("timestamp_ltz", Some(digits)) => {
            fractions(digits, DataType::Timestamp, DataType::TimestampNanos)
        }
        ("timestamp_ntz", Some(digits)) => {
            fractions(digits, DataType::TimestampNtz, DataType::TimestampNtzNanos)
        }
        ("time", _) => DataType::Time,
        ("interval", None) => DataType::CalendarInterval,
        ("variant", None) => DataType::Variant,
        // `DecimalType.USER_DEFAULT`
        ("decimal", None) => DataType::Decimal { precision: 10, scale: 0 },
        ("decimal", Some(arguments)) => {
            decimal(arguments).unwrap_or_else(|| DataType::Other(name.to_owned()))
        }
        _ if is_collated(name) => DataType::String,
        _ => interval(name).unwrap_or_else(|| DataType::Other(name.to_owned())),
    }
}

/// Timestamps of up to 6 digits are held in microseconds alone.
fn fractions(digits: &str, micros: DataType, nanos: DataType) -> DataType {
    match digits.trim().parse::<u8>() {
        Ok(0..=6) => micros,
        Ok(7..=9) => nanos,
        _ => DataType::Other(format!("a timestamp of {digits} digits")),
    }
}

fn decimal(arguments: &str) -> Option<DataType> {
    let (precision, scale) = arguments.split_once(',')?;
    let (precision, scale) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
    ((1..=38).contains(&precision) && scale <= 38).then_some(DataType::Decimal { precision, scale })
}

fn is_collated(name: &str) -> bool {
    let mut words = name.split_whitespace();
    (words.next(), words.next(), words.next().is_some(), words.next())
        == (Some("string"), Some("collate"), true, None)
}

fn interval(name: &str) -> Option<DataType> {
    let unit = |word: &str| {
        Some(match word {
            "year" => IntervalUnit::Year,
            "month" => IntervalUnit::Month,
            "day" => IntervalUnit::Day,
            "hour" => IntervalUnit::Hour,
            "minute" => IntervalUnit::Minute,
            "second" => IntervalUnit::Second,
            _ => return None,
        })
    };
    let units = name.strip_prefix("interval ")?;
    let (start, end) = units.split_once(" to ").unwrap_or((units, units));
    let units = IntervalUnits { start: unit(start)?, end: unit(end)? };
    match (units.start, units.end) {
        _ if units.start > units.end => None,
        (_, IntervalUnit::Year | IntervalUnit::Month) => Some(DataType::YearMonthInterval(units)),
        (IntervalUnit::Year | IntervalUnit::Month, _) => None,
        _ => Some(DataType::DayTimeInterval(units)),
    }
}

fn kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "a truth value",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

#[cfg(test)]
#[allow(clippy::decimal_bitwise_operands, clippy::needless_pass_by_value)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(data_type: Json) -> DataType {
        DataType::parse(&data_type).unwrap()
    }

    #[test]
    fn every_name_that_spark_writes_is_known() {
        let units = |start, end| IntervalUnits { start, end };
        let cases = [
            ("void", DataType::Void),
            ("integer", DataType::Integer),
            ("decimal(10,2)", DataType::Decimal { precision: 10, scale: 2 }),
            ("decimal(38, 18)", DataType::Decimal { precision: 38, scale: 18 }),
            ("string collate UTF8_LCASE", DataType::String),
            ("varchar(20)", DataType::String),
            ("char( 3 )", DataType::String),
            ("timestamp_ntz", DataType::TimestampNtz),
            ("timestamp_ntz(9)", DataType::TimestampNtzNanos),
            ("timestamp_ltz(7)", DataType::TimestampNanos),
            ("time(6)", DataType::Time),
            ("variant", DataType::Variant),
            ("interval", DataType::CalendarInterval),
            (
                "interval day to second",
                DataType::DayTimeInterval(units(IntervalUnit::Day, IntervalUnit::Second)),
            ),
            (
                "interval hour",
                DataType::DayTimeInterval(units(IntervalUnit::Hour, IntervalUnit::Hour)),
            ),
            (
                "interval year to month",
                DataType::YearMonthInterval(units(IntervalUnit::Year, IntervalUnit::Month)),
            ),
            (
                "interval month",
                DataType::YearMonthInterval(units(IntervalUnit::Month, IntervalUnit::Month)),
            ),
        ];
        for (name, expected) in cases {
            assert_eq!(one(json!(name)), expected, "{name}");
        }
    }

    #[test]
    fn unknown_names_are_kept_and_not_guessed() {
        for name in [
            "geometry(4326)",
            "interval second to day",
            "interval month to day",
            "decimal(99,1)",
            "decimal(3",
            "timestamp_ntz(12)",
            "string collate",
            "",
        ] {
            assert!(matches!(one(json!(name)), DataType::Other(_)), "{name}");
        }
    }

    #[test]
    fn nested_types_and_repeated_names() {
        let schema = json!({"type": "struct", "fields": [
            {"name": "first", "type": {"type": "array", "elementType": "short", "containsNull": true}},
            {"name": "first", "type": {"type": "map", "keyType": "string", "valueType": "binary"}},
            {"name": "point", "type": {"type": "udt", "class": "x.Point", "sqlType": "double"}},
        ]});
        let columns = DataType::columns(&schema).unwrap();
        assert_eq!(columns[0].data_type, DataType::Array(Box::new(DataType::Short)));
        assert_eq!(
            columns[1].data_type,
            DataType::Map(Box::new(DataType::String), Box::new(DataType::Binary))
        );
        assert_eq!(columns[1].name, "first");
        assert_eq!(columns[2].data_type, DataType::Double);
    }

    #[test]
    fn what_is_no_schema_says_why() {
        for (json, word) in [
            (json!("long"), "expected a struct"),
            (json!({"type": "struct"}), "fields"),
            (json!({"type": "struct", "fields": [{"name": "a"}]}), "\"a\" without a type"),
            (json!([1]), "a list"),
        ] {
            let error = DataType::columns(&json).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
        let mut deep = json!("long");
        for _ in 0..=MAX_DEPTH {
            deep = json!({"type": "array", "elementType": deep});
        }
        assert!(DataType::parse(&deep).unwrap_err().contains("deeper"));
    }
}
