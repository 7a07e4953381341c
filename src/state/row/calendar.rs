//! Dates, times and intervals as text: ISO 8601 and Spark's interval literals.
//!
//! All of Spark's values have a text here: years beyond 9999 or before 0 get a sign and at
//! least four digits (`+10000-01-01`, `-0001-12-31`), as ISO 8601 expands them.

use std::fmt::Write as _;

use super::types::{IntervalUnit, IntervalUnits};

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;
const MICROS_PER_DAY: i64 = 24 * MICROS_PER_HOUR;
const NANOS_PER_DAY: i64 = MICROS_PER_DAY * 1000;

/// `2026-01-01` of days since 1970-01-01.
pub(super) fn date(days: i64) -> String {
    let mut text = String::with_capacity(32);
    push_date(&mut text, days);
    text
}

/// How many digits a second's fraction gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fraction {
    /// Always six.
    Micros,
    /// Microseconds and the nanoseconds within: nine.
    Nanos(u16),
    /// As many as are needed, none for whole seconds.
    Shortest,
}

/// `2026-01-01T00:16:06.000000` of microseconds since 1970-01-01T00:00:00, without a zone.
pub(super) fn moment(micros: i64, fraction: Fraction) -> String {
    let mut text = String::with_capacity(40);
    push_date(&mut text, micros.div_euclid(MICROS_PER_DAY));
    text.push('T');
    push_time(&mut text, micros.rem_euclid(MICROS_PER_DAY), fraction);
    text
}

/// `00:16:06.5` of nanoseconds of the day, with as many digits as it takes, as Spark writes
/// times. `None` for what is no time of a day.
pub(super) fn time(nanos: i64) -> Option<String> {
    if !(0..NANOS_PER_DAY).contains(&nanos) {
        return None;
    }
    let within = u16::try_from(nanos % 1000).unwrap_or_default();
    let fraction = if within == 0 { Fraction::Shortest } else { Fraction::Nanos(within) };
    let mut text = String::with_capacity(20);
    push_time(&mut text, nanos / 1000, fraction);
    if within != 0 {
        text.truncate(text.trim_end_matches('0').len());
    }
    Some(text)
}

fn push_date(text: &mut String, days: i64) {
    let (year, month, day) = civil(days);
    if !(0..=9999).contains(&year) {
        text.push(if year < 0 { '-' } else { '+' });
    }
    push_digits(text, year.unsigned_abs(), 4);
    text.push('-');
    push_digits(text, month, 2);
    text.push('-');
    push_digits(text, day, 2);
}

/// Year, month and day in the proleptic Gregorian calendar. The year is counted from March,
/// so that the leap day is its last (Howard Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms", `civil_from_days`).
fn civil(days: i64) -> (i64, u64, u64) {
    let days = days.saturating_add(719_468);
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month.unsigned_abs(), day.unsigned_abs())
}

fn push_time(text: &mut String, micros: i64, fraction: Fraction) {
    let parts = [
        micros / MICROS_PER_HOUR,
        micros / MICROS_PER_MINUTE % 60,
        micros / MICROS_PER_SECOND % 60,
    ];
    for (at, part) in parts.into_iter().enumerate() {
        if at > 0 {
            text.push(':');
        }
        push_digits(text, part.unsigned_abs(), 2);
    }
    let micros = (micros % MICROS_PER_SECOND).unsigned_abs();
    match fraction {
        Fraction::Shortest if micros == 0 => {}
        Fraction::Micros | Fraction::Shortest => {
            text.push('.');
            push_digits(text, micros, 6);
            if fraction == Fraction::Shortest {
                text.truncate(text.trim_end_matches('0').len());
            }
        }
        Fraction::Nanos(nanos) => {
            text.push('.');
            push_digits(text, micros * 1000 + u64::from(nanos), 9);
        }
    }
}

/// The number with zeros before it up to `width` digits. Rows are written by the million;
/// the formatting machinery would be most of the time.
fn push_digits(text: &mut String, number: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    let mut rest = number;
    for (position, digit) in digits.iter_mut().enumerate().rev() {
        if rest == 0 && digits_done(position, width) {
            break;
        }
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
        at = position;
    }
    text.extend(digits.get(at..).unwrap_or_default().iter().map(|digit| char::from(*digit)));
}

fn digits_done(position: usize, width: usize) -> bool {
    20 - (position + 1) >= width
}

/// Spark's literal of an interval of years and months: `INTERVAL '13-5' YEAR TO MONTH`
/// (`IntervalUtils.toYearMonthIntervalString`).
pub(super) fn year_month(months: i32, units: IntervalUnits) -> String {
    let sign = if months < 0 { "-" } else { "" };
    let all = months.unsigned_abs();
    let (years, rest) = (all / 12, all % 12);
    match (units.start, units.end) {
        (IntervalUnit::Year, IntervalUnit::Year) => format!("INTERVAL '{sign}{years}' YEAR"),
        (IntervalUnit::Month, IntervalUnit::Month) => format!("INTERVAL '{months}' MONTH"),
        _ => format!("INTERVAL '{sign}{years}-{rest}' YEAR TO MONTH"),
    }
}

/// Spark's literal of an interval of days to seconds: `INTERVAL '1 01:02:03.000004' DAY TO
/// SECOND` (`IntervalUtils.toDayTimeIntervalString`).
pub(super) fn day_time(micros: i64, units: IntervalUnits) -> String {
    let mut text = String::from("INTERVAL '");
    if micros < 0 {
        text.push('-');
    }
    let mut rest = micros.unsigned_abs();
    let days = [IntervalUnit::Day, IntervalUnit::Hour, IntervalUnit::Minute, IntervalUnit::Second];
    for unit in days.into_iter().filter(|unit| (units.start..=units.end).contains(unit)) {
        let size = size(unit).unsigned_abs();
        match unit {
            _ if unit == units.start => {}
            IntervalUnit::Hour => text.push(' '),
            _ => text.push(':'),
        }
        let width = if unit == IntervalUnit::Day { 1 } else { 2 };
        push_digits(&mut text, rest / size, width);
        rest %= size;
    }
    if units.end == IntervalUnit::Second && rest > 0 {
        text.push('.');
        push_digits(&mut text, rest, 6);
        text.truncate(text.trim_end_matches('0').len());
    }
    let (start, end) = (name(units.start), name(units.end));
    let _ = write!(text, "' {start}");
    if start != end {
        let _ = write!(text, " TO {end}");
    }
    text
}

fn size(unit: IntervalUnit) -> i64 {
    match unit {
        IntervalUnit::Day => MICROS_PER_DAY,
        IntervalUnit::Hour => MICROS_PER_HOUR,
        IntervalUnit::Minute => MICROS_PER_MINUTE,
        _ => MICROS_PER_SECOND,
    }
}

fn name(unit: IntervalUnit) -> &'static str {
    match unit {
        IntervalUnit::Year => "YEAR",
        IntervalUnit::Month => "MONTH",
        IntervalUnit::Day => "DAY",
        IntervalUnit::Hour => "HOUR",
        IntervalUnit::Minute => "MINUTE",
        IntervalUnit::Second => "SECOND",
    }
}

/// `1 years 2 months 3 days 4 hours 5 minutes 6.5 seconds` (`CalendarInterval.toString`).
pub(super) fn calendar_interval(months: i32, days: i32, micros: i64) -> String {
    let mut parts = Vec::new();
    let mut push = |value: i64, unit: &str| {
        if value != 0 {
            parts.push(format!("{value} {unit}"));
        }
    };
    push(i64::from(months / 12), "years");
    push(i64::from(months % 12), "months");
    push(i64::from(days), "days");
    push(micros / MICROS_PER_HOUR, "hours");
    push(micros % MICROS_PER_HOUR / MICROS_PER_MINUTE, "minutes");
    let rest = micros % MICROS_PER_MINUTE;
    if rest != 0 {
        let sign = if rest < 0 { "-" } else { "" };
        let rest = rest.unsigned_abs();
        let mut seconds = format!("{sign}{}.{:06}", rest / 1_000_000, rest % 1_000_000);
        seconds.truncate(seconds.trim_end_matches('0').trim_end_matches('.').len());
        parts.push(seconds + " seconds");
    }
    if parts.is_empty() { "0 seconds".to_owned() } else { parts.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(start: IntervalUnit, end: IntervalUnit) -> IntervalUnits {
        IntervalUnits { start, end }
    }

    #[test]
    fn dates_of_all_years() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (19_782, "2024-02-29"),
            (11_016, "2000-02-29"),
            (-719_528, "0000-01-01"),
            (-719_529, "-0001-12-31"),
            (2_932_896, "9999-12-31"),
            (2_932_897, "+10000-01-01"),
        ] {
            assert_eq!(date(days), expected);
        }
        assert!(date(i64::from(i32::MAX)).starts_with("+5881580-"));
        assert!(date(i64::from(i32::MIN)).starts_with("-5877641-"));
    }

    #[test]
    fn moments_and_times() {
        let micros = 1_767_226_566_000_000; // 2026-01-01T00:16:06Z
        assert_eq!(moment(micros, Fraction::Micros), "2026-01-01T00:16:06.000000");
        assert_eq!(moment(micros, Fraction::Shortest), "2026-01-01T00:16:06");
        assert_eq!(moment(micros + 20, Fraction::Shortest), "2026-01-01T00:16:06.00002");
        assert_eq!(moment(micros + 1, Fraction::Nanos(7)), "2026-01-01T00:16:06.000001007");
        assert_eq!(moment(-1, Fraction::Micros), "1969-12-31T23:59:59.999999");
        assert!(moment(i64::MAX, Fraction::Micros).starts_with("+294247-01-10T04:00:54"));
        assert!(moment(i64::MIN, Fraction::Micros).starts_with("-290308-12-21T19:59:05"));
        assert_eq!(time(3_723_000_004_005).as_deref(), Some("01:02:03.000004005"));
        assert_eq!(time(100).as_deref(), Some("00:00:00.0000001"));
        assert_eq!(time(0).as_deref(), Some("00:00:00"));
        assert_eq!(time(NANOS_PER_DAY), None);
        assert_eq!(time(-1), None);
    }

    /// Texts of Spark's own tests of these functions, and of its fixtures.
    #[test]
    fn intervals_are_spark_literals() {
        use IntervalUnit::{Day, Hour, Minute, Month, Second, Year};
        assert_eq!(year_month(-19, units(Year, Month)), "INTERVAL '-1-7' YEAR TO MONTH");
        assert_eq!(year_month(161, units(Year, Year)), "INTERVAL '13' YEAR");
        assert_eq!(year_month(-161, units(Month, Month)), "INTERVAL '-161' MONTH");
        let micros = 93_784_000_004 - 1_000_000; // one day, 02:03:03.000004
        let day = |start, end| day_time(micros, units(start, end));
        assert_eq!(day(Day, Second), "INTERVAL '1 02:03:03.000004' DAY TO SECOND");
        assert_eq!(day(Day, Day), "INTERVAL '1' DAY");
        assert_eq!(day(Hour, Minute), "INTERVAL '26:03' HOUR TO MINUTE");
        assert_eq!(day(Second, Second), "INTERVAL '93783.000004' SECOND");
        assert_eq!(day_time(-1_500_000, units(Second, Second)), "INTERVAL '-01.5' SECOND");
        assert_eq!(
            day_time(i64::MIN, units(Day, Second)),
            "INTERVAL '-106751991 04:00:54.775808' DAY TO SECOND"
        );
        assert_eq!(calendar_interval(0, 0, 0), "0 seconds");
        assert_eq!(
            calendar_interval(14, -3, -3_661_500_000),
            "1 years 2 months -3 days -1 hours -1 minutes -1.5 seconds"
        );
        assert_eq!(calendar_interval(0, 0, 10_000_000), "10 seconds");
    }
}
