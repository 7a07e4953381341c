//! Which of two values is greater, exactly: no number goes through a type that cannot hold it.

use std::cmp::Ordering;

use crate::state::row::value::Value;

/// The most digits that a decimal has.
const DIGITS: u32 = 38;

/// How two values stand to each other; `None` where one is null, or where their types have no
/// common order.
///
/// As in Spark, NaN equals itself and is greater than every other number, and −0.0 equals 0.0.
/// Strings and binary go byte by byte, which is Spark's order without a collation.
pub fn compare(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    match (left, right) {
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Boolean(a), Value::Boolean(b)) => Some(a.cmp(b)),
        (Value::Binary(a), Value::Binary(b)) => Some(a.cmp(b)),
        (Value::Date(a), Value::Date(b)) => Some(a.cmp(b)),
        (Value::Integer(a), Value::Integer(b))
        | (Value::Timestamp(a), Value::Timestamp(b))
        | (Value::TimestampNtz(a), Value::TimestampNtz(b))
        | (Value::Time(a), Value::Time(b)) => Some(a.cmp(b)),
        (a, b) => match (moment(a), moment(b)) {
            (Some((a, true)), Some((b, true))) | (Some((a, false)), Some((b, false))) => {
                Some(a.cmp(&b))
            }
            _ => Some(numbers(Number::of(a)?, Number::of(b)?)),
        },
    }
}

/// A timestamp of any precision as microseconds and nanoseconds, and whether it has a zone.
fn moment(value: &Value<'_>) -> Option<((i64, u16), bool)> {
    match value {
        Value::Timestamp(micros) => Some(((*micros, 0), true)),
        Value::TimestampNanos { micros, nanos } => Some(((*micros, *nanos), true)),
        Value::TimestampNtz(micros) => Some(((*micros, 0), false)),
        Value::TimestampNtzNanos { micros, nanos } => Some(((*micros, *nanos), false)),
        _ => None,
    }
}

/// A number of any type, without loss.
#[derive(Debug, Clone, Copy)]
enum Number {
    /// Unscaled digits, and how many of them stand after the point.
    Exact(i128, u32),
    Binary(f64),
}

impl Number {
    fn of(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Integer(number) => Some(Self::Exact(i128::from(*number), 0)),
            Value::Decimal { unscaled, scale } => {
                Some(Self::Exact(*unscaled, u32::from(*scale).min(DIGITS)))
            }
            Value::Float(number) => Some(Self::Binary(f64::from(*number))),
            Value::Double(number) => Some(Self::Binary(*number)),
            _ => None,
        }
    }
}

fn numbers(left: Number, right: Number) -> Ordering {
    match (left, right) {
        (Number::Exact(a, p), Number::Exact(b, q)) => decimals((a, p), (b, q)),
        (Number::Exact(a, p), Number::Binary(b)) => decimal_and_double((a, p), b),
        (Number::Binary(a), Number::Exact(b, q)) => decimal_and_double((b, q), a).reverse(),
        (Number::Binary(a), Number::Binary(b)) => doubles(a, b),
    }
}

/// In Spark's order: NaN is the greatest.
fn doubles(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

/// Whole parts first, then the digits after the point, brought to 38: nothing overflows.
fn decimals((a, p): (i128, u32), (b, q): (i128, u32)) -> Ordering {
    if p == q {
        return a.cmp(&b);
    }
    let split = |unscaled: i128, scale: u32| {
        let one = 10_i128.pow(scale);
        (unscaled.div_euclid(one), unscaled.rem_euclid(one) * 10_i128.pow(DIGITS - scale))
    };
    split(a, p).cmp(&split(b, q))
}

fn decimal_and_double((unscaled, scale): (i128, u32), double: f64) -> Ordering {
    if double.is_nan() {
        return Ordering::Less;
    }
    let negative = (unscaled < 0, double < 0.0);
    match negative {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => magnitudes((unscaled.unsigned_abs(), scale), double),
        (true, true) => magnitudes((unscaled.unsigned_abs(), scale), -double).reverse(),
    }
}

/// Compares a decimal and a double that are not negative: their whole parts, then their
/// fractions bit by bit. Doubling a fraction is exact in both forms.
fn magnitudes((unscaled, scale): (u128, u32), double: f64) -> Ordering {
    /// 2^127, above every decimal.
    const TOP: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    if double >= TOP {
        // A decimal of this size is -2^127 at most, which no double exceeds below TOP.
        return if double > TOP || unscaled < 1 << 127 || scale > 0 {
            Ordering::Less
        } else {
            Ordering::Equal
        };
    }
    let one = 10_u128.pow(scale);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 2^127")]
    let whole = double.trunc() as u128;
    let mut fraction = double.fract();
    let mut rest = unscaled % one;
    let mut order = (unscaled / one).cmp(&whole);
    // A double has 1074 bits after the point at most; each round takes one.
    while order.is_eq() && fraction > 0.0 && rest > 0 {
        rest *= 2;
        fraction *= 2.0;
        let bits = (rest >= one, fraction >= 1.0);
        order = bits.0.cmp(&bits.1);
        rest %= one;
        fraction = fraction.fract();
    }
    order.then_with(|| (rest > 0).cmp(&(fraction > 0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn decimal(unscaled: i128, scale: u8) -> Value<'static> {
        Value::Decimal { unscaled, scale }
    }

    #[test]
    fn numbers_of_different_types_compare_without_rounding() {
        let max = 10_i128.pow(38) - 1;
        let ordered: [&[Value<'_>]; 12] = [
            &[Value::Double(f64::NEG_INFINITY), Value::Float(f32::NEG_INFINITY)],
            &[decimal(-max, 0)],
            &[Value::Integer(i64::MIN), Value::Double(-9_223_372_036_854_775_808.0)],
            // Just below and above one tenth: 0.1 as a double is above, as a float further.
            &[decimal(-1, 1)],
            &[Value::Integer(0), Value::Double(-0.0), Value::Float(0.0), decimal(0, 38)],
            &[Value::Double(5e-324)],
            &[decimal(1, 38)],
            &[decimal(1, 1), decimal(10, 2)],
            &[Value::Double(0.1)],
            &[Value::Float(0.1)],
            &[Value::Integer(i64::MAX), decimal(9_223_372_036_854_775_807, 0)],
            &[Value::Double(9_223_372_036_854_775_808.0), decimal(92_233_720_368_547_758_080, 1)],
        ];
        for (i, these) in ordered.iter().enumerate() {
            for (j, those) in ordered.iter().enumerate() {
                for (a, b) in these.iter().flat_map(|a| those.iter().map(move |b| (a, b))) {
                    assert_eq!(compare(a, b), Some(i.cmp(&j)), "{a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn the_largest_numbers() {
        let max = decimal(10_i128.pow(38) - 1, 0);
        // The double nearest to 10^38 is 2,251,190,176,543,965,970,432 below it.
        assert_eq!(compare(&max, &Value::Double(1e38)), Some(Ordering::Greater));
        assert_eq!(compare(&max, &Value::Double(f64::MAX)), Some(Ordering::Less));
        let minimum = decimal(i128::MIN, 0);
        assert_eq!(compare(&minimum, &Value::Double(-(2_f64.powi(127)))), Some(Ordering::Equal));
        assert_eq!(compare(&minimum, &Value::Double(-(2_f64.powi(126)))), Some(Ordering::Less));
        assert_eq!(compare(&max, &Value::Double(f64::NAN)), Some(Ordering::Less));
        let nan = Value::Double(f64::NAN);
        assert_eq!(compare(&nan, &Value::Float(f32::NAN)), Some(Ordering::Equal));
        assert_eq!(compare(&nan, &Value::Double(f64::INFINITY)), Some(Ordering::Greater));
    }

    #[test]
    fn null_and_unlike_types_have_no_order() {
        assert_eq!(compare(&Value::Null, &Value::Null), None);
        assert_eq!(compare(&Value::Integer(1), &Value::String("1".into())), None);
        assert_eq!(compare(&Value::Timestamp(1), &Value::TimestampNtz(1)), None);
        let fine = Value::TimestampNanos { micros: 1, nanos: 1 };
        assert_eq!(compare(&Value::Timestamp(1), &fine), Some(Ordering::Less));
        assert_eq!(compare(&Value::TimestampNtz(1), &fine), None);
    }
}
