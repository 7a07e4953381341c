//! Values of JSON as vendors and languages write them: numbers as texts, whole numbers with a
//! fraction, `NaN`, `null`, times with and without a zone.
//!
//! Each function gives `None` for what is no such value, and never fails. Must not know which
//! field a value stands in.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::{Number, Value};

use super::event::Measure;
use crate::units::UnixMillis;

/// 2^63: the first whole number that no longer fits an `i64`.
const TOO_LARGE: f64 = 9_223_372_036_854_775_808.0;

/// A whole number; one with a fraction is rounded.
pub fn whole(value: &Value) -> Option<i64> {
    match measure(value)? {
        Measure::Whole(number) => Some(number),
        Measure::Real(number) => rounded(number),
    }
}

/// A whole number that is not negative. Spark writes -1 for *unknown*: `None`.
pub fn count(value: &Value) -> Option<u64> {
    whole(value).and_then(|number| u64::try_from(number).ok())
}

/// A finite number.
pub fn real(value: &Value) -> Option<f64> {
    match measure(value)? {
        #[expect(clippy::cast_precision_loss, reason = "rates, which have fewer digits")]
        Measure::Whole(number) => Some(number as f64),
        Measure::Real(number) => Some(number),
    }
}

/// A number, whole where it is written as one.
pub fn measure(value: &Value) -> Option<Measure> {
    match value {
        Value::Number(number) => of_number(number),
        Value::String(text) => of_text(text.trim()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Whether a value says that it is not known: `null`, -1, `NaN` or an infinity.
pub fn is_unknown(value: &Value) -> bool {
    let not_finite =
        |text: &str| text.trim().parse::<f64>().is_ok_and(|number| !number.is_finite());
    value.is_null() || whole(value) == Some(-1) || value.as_str().is_some_and(not_finite)
}

/// A text that is not empty.
pub fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// A moment: an ISO text (see [`moment`]), or milliseconds since 1970.
pub fn time(value: &Value) -> Option<UnixMillis> {
    match value {
        Value::String(text) => moment(text).or_else(|| whole(value).map(UnixMillis)),
        _ => whole(value).map(UnixMillis),
    }
}

/// A moment in ISO 8601. Without a zone it is taken as UTC, which is what drivers run on.
pub fn moment(text: &str) -> Option<UnixMillis> {
    let text = text.trim();
    let is_zoned = text.get("2026-11-30".len()..)?.contains(['Z', 'z', '+', '-']);
    let moment = if is_zoned {
        text.parse::<Timestamp>().ok()?
    } else {
        TimeZone::UTC.to_timestamp(text.parse::<DateTime>().ok()?).ok()?
    };
    Some(UnixMillis(moment.as_millisecond()))
}

fn of_number(number: &Number) -> Option<Measure> {
    match number.as_i64() {
        Some(whole) => Some(Measure::Whole(whole)),
        None => number.as_f64().filter(|number| number.is_finite()).map(Measure::Real),
    }
}

fn of_text(text: &str) -> Option<Measure> {
    let real = || text.parse::<f64>().ok().filter(|number| number.is_finite());
    text.parse().ok().map(Measure::Whole).or_else(|| real().map(Measure::Real))
}

#[expect(clippy::cast_possible_truncation, reason = "within the bounds of an i64")]
fn rounded(number: f64) -> Option<i64> {
    let number = number.round();
    (-TOO_LARGE..TOO_LARGE).contains(&number).then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn whole_numbers_come_in_many_clothes() {
        for (value, expected) in [
            (json!(600), Some(600)),
            (json!("600"), Some(600)),
            (json!(" 600 "), Some(600)),
            (json!(600.0), Some(600)),
            (json!("600.0"), Some(600)),
            (json!(599.6), Some(600)),
            (json!("1.5E3"), Some(1500)),
            (json!(-1), Some(-1)),
            (json!(i64::MAX), Some(i64::MAX)),
            (json!(u64::MAX), None),
            (json!(1e300), None),
            (json!(null), None),
            (json!("NaN"), None),
            (json!("Infinity"), None),
            (json!("-Infinity"), None),
            (json!(""), None),
            (json!("many"), None),
            (json!(true), None),
            (json!([1]), None),
        ] {
            assert_eq!(whole(&value), expected, "{value}");
        }
    }

    #[test]
    fn counts_are_not_negative() {
        assert_eq!(count(&json!(-1)), None);
        assert_eq!(count(&json!("0")), Some(0));
    }

    #[test]
    fn sources_say_in_several_ways_that_they_do_not_know() {
        let unknown = [json!(null), json!(-1), json!("-1"), json!("NaN"), json!("-Infinity")];
        assert!(unknown.iter().all(is_unknown));
        let known = [json!(0), json!(-2), json!("many"), json!(""), json!([])];
        assert!(!known.iter().any(is_unknown));
    }

    #[test]
    fn measures_keep_whether_they_are_whole() {
        assert_eq!(measure(&json!("0.0")), Some(Measure::Real(0.0)));
        assert_eq!(measure(&json!("0")), Some(Measure::Whole(0)));
        assert_eq!(measure(&json!(u64::MAX)), Some(Measure::Real(18_446_744_073_709_551_615.0)));
        assert_eq!(real(&json!("13.65")), Some(13.65));
    }

    #[test]
    fn moments_have_a_zone_or_are_utc() {
        // 2026-11-20 is day 20,777 since 1970: 56 years of 365 days, 14 leap days, and 323 days.
        let midnight = 20_777 * 86_400_000;
        let ten = midnight + 36_000_000;
        for (text, expected) in [
            ("2026-11-20T10:00:00.000Z", Some(ten)),
            ("2026-11-20T10:00:00Z", Some(ten)),
            ("2026-11-20T10:00:00.123456789Z", Some(ten + 123)),
            ("2026-11-20T12:00:00+02:00", Some(ten)),
            ("2026-11-20T12:00:00.000+0200", Some(ten)),
            ("2026-11-20 10:00:00", Some(ten)),
            ("2026-11-20T10:00:00.5", Some(ten + 500)),
            ("2026-11-20", Some(midnight)),
            ("1970-01-01T00:00:00.000Z", Some(0)),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(moment(text), expected.map(UnixMillis), "{text}");
        }
        assert_eq!(time(&json!(ten)), Some(UnixMillis(ten)));
        assert_eq!(time(&json!(ten.to_string())), Some(UnixMillis(ten)));
        assert_eq!(time(&json!(null)), None);
    }
}
