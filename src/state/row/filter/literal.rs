//! From a literal to a value of its column's type.

use super::ast::Literal;
use super::time::{self, Moment};
use crate::state::row::types::DataType;
use crate::state::row::value::Value;

/// The most digits that a number is read with where it must be exact.
const DIGITS: usize = 38;

/// Why a literal is no value of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Misfit {
    /// What is wrong.
    pub(super) message: String,
    /// What to write instead.
    pub(super) hint: String,
}

impl Misfit {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

/// What can be compared with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Boolean,
    Number,
    Text,
    Bytes,
    Date,
    Timestamp,
    TimestampNtz,
    Time,
    /// Only `is null` can be asked.
    Opaque,
}

impl Class {
    /// The class of a type.
    pub(super) fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Boolean => Self::Boolean,
            DataType::Byte
            | DataType::Short
            | DataType::Integer
            | DataType::Long
            | DataType::Float
            | DataType::Double
            | DataType::Decimal { .. } => Self::Number,
            DataType::String => Self::Text,
            DataType::Binary => Self::Bytes,
            DataType::Date => Self::Date,
            DataType::Timestamp | DataType::TimestampNanos => Self::Timestamp,
            DataType::TimestampNtz | DataType::TimestampNtzNanos => Self::TimestampNtz,
            DataType::Time => Self::Time,
            DataType::Void
            | DataType::YearMonthInterval(_)
            | DataType::DayTimeInterval(_)
            | DataType::CalendarInterval
            | DataType::Variant
            | DataType::Struct(_)
            | DataType::Array(_)
            | DataType::Map(..)
            | DataType::Other(_) => Self::Opaque,
        }
    }

    /// How a literal of this class is written, for hints.
    fn example(self) -> &'static str {
        match self {
            Self::Boolean => "write true or false",
            Self::Number => "write a number such as 42 or -0.5",
            Self::Text => "write text between quotes, such as 'acct-7'",
            Self::Bytes => "write binary as hexadecimal digits, such as x'00ff'",
            Self::Date => "write a date such as '2026-11-01'",
            Self::Timestamp => "write a time such as '2026-11-01T10:00:00Z'",
            Self::TimestampNtz => "write a time without zone, such as '2026-11-01T10:00:00'",
            Self::Time => "write a time of day such as '10:00:00'",
            Self::Opaque => "only `is null` and `is not null` can be asked of it",
        }
    }
}

/// The type with its article, as messages say it.
pub(super) fn called(data_type: &DataType) -> String {
    let name = match data_type {
        DataType::Void => "void",
        DataType::Boolean => "boolean",
        DataType::Byte => "byte",
        DataType::Short => "short",
        DataType::Integer => return "an integer".to_owned(),
        DataType::Long => "long",
        DataType::Float => "float",
        DataType::Double => "double",
        DataType::Decimal { precision, scale } => return format!("a decimal({precision},{scale})"),
        DataType::String => "string",
        DataType::Binary => return "binary".to_owned(),
        DataType::Date => "date",
        DataType::Timestamp | DataType::TimestampNanos => "timestamp",
        DataType::TimestampNtz | DataType::TimestampNtzNanos => "timestamp_ntz",
        DataType::Time => "time",
        DataType::YearMonthInterval(_)
        | DataType::DayTimeInterval(_)
        | DataType::CalendarInterval => return "an interval".to_owned(),
        DataType::Variant => "variant",
        DataType::Struct(_) => "struct",
        DataType::Array(_) => return "an array".to_owned(),
        DataType::Map(..) => "map",
        DataType::Other(_) => return "of a type that is not known".to_owned(),
    };
    format!("a {name}")
}

/// What a type can be compared with, for hints.
pub(super) fn advice(data_type: &DataType) -> String {
    match data_type {
        DataType::Struct(fields) => {
            let names: Vec<String> =
                fields.iter().take(8).map(|field| format!(".{}", quoted(&field.name))).collect();
            format!("compare one of its fields: {}", names.join(", "))
        }
        DataType::Array(_) => "compare one of its elements: [0] is the first".to_owned(),
        DataType::Map(..) => "compare the value of one of its keys, such as ['eu']".to_owned(),
        other => Class::of(other).example().to_owned(),
    }
}

/// A name as it must be written.
pub(super) fn quoted(name: &str) -> String {
    use super::lexer::{continues_name, starts_name};
    let plain = name.chars().next().is_some_and(starts_name)
        && name.chars().all(continues_name)
        && !super::parser::is_keyword(name);
    let name = super::error::shown(name);
    if plain { name } else { format!("`{}`", name.replace('`', "``")) }
}

/// `literal` as a value that [`compare`](super::compare::compare) knows how to compare with
/// values of `data_type`. A number that the type cannot hold stays exact and is merely never
/// equal; what is written for a `float` or `double` with a point becomes the nearest one.
pub(super) fn typed(literal: &Literal, data_type: &DataType) -> Result<Value<'static>, Misfit> {
    let class = Class::of(data_type);
    let value = match (class, literal) {
        (Class::Opaque, _) => {
            let message = format!("it is {}, which has no order", called(data_type));
            return Err(Misfit::new(message, advice(data_type)));
        }
        (_, Literal::Null) => {
            let hint = "write `is null` or `is not null`";
            return Err(Misfit::new("nothing is equal or unequal to null", hint));
        }
        (Class::Boolean, Literal::Boolean(value)) => Some(Value::Boolean(*value)),
        (Class::Number, Literal::Number(text)) => return number(text, data_type),
        (Class::Number, Literal::Text(text)) => special(text, data_type),
        (Class::Text, Literal::Text(text)) => Some(Value::String(text.clone().into())),
        (Class::Bytes, Literal::Bytes(bytes)) => Some(Value::Binary(bytes.clone().into())),
        (Class::Date, Literal::Text(text)) => {
            return when(time::day(text).map(Value::Date), class, text);
        }
        (Class::Time, Literal::Text(text)) => {
            return when(time::time_of_day(text).map(Value::Time), class, text);
        }
        (Class::Timestamp, Literal::Text(text)) => {
            let value = moment(text, data_type).map(|Moment { micros, nanos, .. }| match nanos {
                0 => Value::Timestamp(micros),
                nanos => Value::TimestampNanos { micros, nanos },
            });
            return when(value, class, text);
        }
        (Class::TimestampNtz, Literal::Text(text)) => {
            let moment = moment(text, data_type);
            if moment.is_some_and(|moment| moment.zoned) {
                let message = "it is a timestamp_ntz, which has no zone";
                return Err(Misfit::new(message, class.example()));
            }
            let value = moment.map(|Moment { micros, nanos, .. }| match nanos {
                0 => Value::TimestampNtz(micros),
                nanos => Value::TimestampNtzNanos { micros, nanos },
            });
            return when(value, class, text);
        }
        _ => None,
    };
    value.ok_or_else(|| {
        let message = format!("it is {}, not {}", called(data_type), literal.what());
        let hint = match (class, literal) {
            (Class::Text, Literal::Number(number)) => format!("write '{number}'"),
            (Class::Number, Literal::Text(text)) if text.parse::<f64>().is_ok() => {
                format!("write {} without quotes", super::error::shown(text))
            }
            _ => class.example().to_owned(),
        };
        Misfit::new(message, hint)
    })
}

fn when(value: Option<Value<'static>>, class: Class, text: &str) -> Result<Value<'static>, Misfit> {
    value.ok_or_else(|| {
        let what = match class {
            Class::Date => "date",
            Class::Time => "time of day",
            _ => "time",
        };
        Misfit::new(format!("'{}' is no {what}", super::error::shown(text)), class.example())
    })
}

/// `'NaN'`, `'Infinity'` and `'-Infinity'`, which floating-point columns may hold.
fn special(text: &str, data_type: &DataType) -> Option<Value<'static>> {
    let value = match text.to_ascii_lowercase().as_str() {
        "nan" => f64::NAN,
        "infinity" => f64::INFINITY,
        "-infinity" => f64::NEG_INFINITY,
        _ => return None,
    };
    matches!(data_type, DataType::Float | DataType::Double).then_some(Value::Double(value))
}

fn number(text: &str, data_type: &DataType) -> Result<Value<'static>, Misfit> {
    let whole = !text.contains(['.', 'e', 'E']);
    let exact = exact(text);
    let nearest = match data_type {
        DataType::Float if !whole || exact.is_none() => {
            text.parse().ok().filter(|number: &f32| number.is_finite()).map(Value::Float)
        }
        DataType::Double if !whole || exact.is_none() => {
            text.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::Double)
        }
        _ => exact,
    };
    nearest.ok_or_else(|| match data_type {
        DataType::Float | DataType::Double => {
            Misfit::new(format!("no {} is that large", called(data_type).replace("a ", "")), "")
        }
        _ => Misfit::new(
            format!("the number has more than {DIGITS} digits"),
            "no whole number or decimal is that long",
        ),
    })
}

/// The number without loss, an integer where it is one.
fn exact(text: &str) -> Option<Value<'static>> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let (sign, whole) = whole.strip_prefix('-').map_or((1, whole), |rest| (-1, rest));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(Value::Integer(0));
    }
    let significant = digits.trim_end_matches('0');
    let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
    let exponent = exponent.parse::<i64>().ok()?;
    let after = i64::try_from(fraction.len()).ok()?;
    // The number is `significant` times ten to the power of `shift`.
    let shift = exponent.checked_add(zeros)?.checked_sub(after)?;
    if significant.len() > DIGITS {
        return None;
    }
    let unscaled = significant.parse::<i128>().ok()?.checked_mul(sign)?;
    if let Ok(up) = u32::try_from(shift) {
        let unscaled = unscaled.checked_mul(10_i128.checked_pow(up)?)?;
        let short = unscaled.unsigned_abs() < 10_u128.pow(38);
        return Some(
            i64::try_from(unscaled).map_or(Value::Decimal { unscaled, scale: 0 }, Value::Integer),
        )
        .filter(|_| short);
    }
    let scale =
        u8::try_from(shift.checked_neg()?).ok().filter(|scale| usize::from(*scale) <= DIGITS)?;
    Some(Value::Decimal { unscaled, scale })
}

/// Nothing is rounded: between two microseconds there is no timestamp of microseconds.
fn moment(text: &str, data_type: &DataType) -> Option<Moment> {
    let fine = matches!(data_type, DataType::TimestampNanos | DataType::TimestampNtzNanos);
    time::moment(text).filter(|moment| fine || moment.nanos == 0)
}

/// `value`, which was made by [`typed`], as a row of this type would hold it; `None` where it
/// cannot.
pub(super) fn stored(value: &Value<'static>, data_type: &DataType) -> Option<Value<'static>> {
    let within = |low: i64, high: i64| match value {
        Value::Integer(number) if (low..=high).contains(number) => Some(value.clone()),
        _ => None,
    };
    match data_type {
        DataType::Byte => within(i8::MIN.into(), i8::MAX.into()),
        DataType::Short => within(i16::MIN.into(), i16::MAX.into()),
        DataType::Integer => within(i32::MIN.into(), i32::MAX.into()),
        DataType::Long => within(i64::MIN, i64::MAX),
        DataType::Decimal { precision, scale } => rescaled(value, *precision, *scale),
        DataType::Float => float(value),
        DataType::Double => double(value),
        DataType::TimestampNanos => match value {
            Value::Timestamp(micros) => Some(Value::TimestampNanos { micros: *micros, nanos: 0 }),
            other => Some(other.clone()),
        },
        DataType::TimestampNtzNanos => match value {
            Value::TimestampNtz(micros) => {
                Some(Value::TimestampNtzNanos { micros: *micros, nanos: 0 })
            }
            other => Some(other.clone()),
        },
        _ => Some(value.clone()),
    }
}

fn rescaled(value: &Value<'static>, precision: u8, scale: u8) -> Option<Value<'static>> {
    let (unscaled, have) = match value {
        Value::Integer(number) => (i128::from(*number), 0),
        Value::Decimal { unscaled, scale } => (*unscaled, *scale),
        _ => return None,
    };
    // Literals have no zeros at their end, so digits that do not fit are not zeros.
    let unscaled = unscaled.checked_mul(10_i128.checked_pow(scale.checked_sub(have)?.into())?)?;
    let fits = unscaled.unsigned_abs() < 10_u128.checked_pow(precision.into())?;
    fits.then_some(Value::Decimal { unscaled, scale })
}

/// Whole literals stay exact for comparing; here they must be a float.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "checked after")]
fn float(value: &Value<'static>) -> Option<Value<'static>> {
    let number = match value {
        Value::Float(number) => *number,
        Value::Double(special) => *special as f32,
        Value::Integer(number) => *number as f32,
        _ => return None,
    };
    let candidate = Value::Float(number);
    super::compare::compare(&candidate, value)?.is_eq().then_some(candidate)
}

#[expect(clippy::cast_precision_loss, reason = "checked after")]
fn double(value: &Value<'static>) -> Option<Value<'static>> {
    let number = match value {
        Value::Double(number) => *number,
        Value::Integer(number) => *number as f64,
        _ => return None,
    };
    let candidate = Value::Double(number);
    super::compare::compare(&candidate, value)?.is_eq().then_some(candidate)
}
