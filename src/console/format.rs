//! Numbers, sizes and times in the words of the screens: fixed forms whose width does
//! not jump between one refresh and the next. Times are UTC. No terminal, no clock.

use crate::report::Grade;
use crate::units::{Bytes, UnixMillis};

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// All digits, in groups of three: `842,113`.
pub(super) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A change with its sign: `+212`, `-5`, `0`.
pub(super) fn change(value: i64) -> String {
    match value {
        0 => "0".to_owned(),
        up if up > 0 => format!("+{}", count(up.unsigned_abs())),
        down => format!("-{}", count(down.unsigned_abs())),
    }
}

/// At most four columns: `950`, `4.2k`, `48k`, `3.2M`.
pub(super) fn compact(value: u64) -> String {
    scaled(value, &["", "k", "M", "G", "T", "P", "E"])
}

/// At most six columns: `512 B`, `5.1 MB`, `88 MB`.
pub(super) fn bytes(Bytes(value): Bytes) -> String {
    scaled(value, &[" B", " kB", " MB", " GB", " TB", " PB", " EB"])
}

/// Two digits or three with a unit from `units`, one per power of 1000.
fn scaled(value: u64, units: &[&str]) -> String {
    let mut unit = 1_u64;
    for name in units {
        let tenths = round_div(value, unit.div_ceil(10)).min(99_999);
        let whole = round_div(value, unit);
        if whole < 1000 {
            let decimal = unit > 1 && tenths < 100;
            return if decimal {
                format!("{}.{}{name}", tenths / 10, tenths % 10)
            } else {
                format!("{whole}{name}")
            };
        }
        unit = unit.saturating_mul(1000);
    }
    count(value)
}

fn round_div(value: u64, by: u64) -> u64 {
    value / by + u64::from(value % by >= by.div_ceil(2) && by > 1)
}

/// A multiple of the mean: `11.4`, `1,204`.
pub(super) fn ratio(value: f64) -> String {
    if value < 999.95 { format!("{value:.1}") } else { count(whole(value)) }
}

/// A part of a whole, from 0 to 1: `5.7 %`, `<0.1 %`.
pub(super) fn share(value: f64) -> String {
    match value * 100.0 {
        0.0 => "0 %".to_owned(),
        small if small < 0.05 => "<0.1 %".to_owned(),
        large if large >= 99.95 => "100 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}

/// A non-negative number rounded to a whole one; 0 for anything else.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, which is what a screen wants"
)]
pub(super) fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// A count as a floating-point number.
#[expect(clippy::cast_precision_loss, reason = "counts beyond 2^53 lose digits no screen shows")]
pub(super) fn float(value: u64) -> f64 {
    value as f64
}

/// A file's time, unless it is the epoch itself: archives and some stores keep no time, and
/// an age of decades would be made up.
pub(super) fn told(time: Option<UnixMillis>) -> Option<UnixMillis> {
    time.filter(|time| *time > UnixMillis(0))
}

/// How long ago, in one unit: `4 s`, `3 min`, `2 h`, `5 d`.
pub(super) fn age(millis: u64) -> String {
    let (unit, name) = age_unit(millis);
    format!("{} {name}", millis / unit)
}

/// How long until [`age`] of something that is `millis` old reads differently.
pub(super) fn age_changes_in(millis: u64) -> u64 {
    let (unit, _) = age_unit(millis);
    unit - millis % unit
}

fn age_unit(millis: u64) -> (u64, &'static str) {
    match millis {
        ..MINUTE => (SECOND, "s"),
        MINUTE..HOUR => (MINUTE, "min"),
        HOUR..DAY => (HOUR, "h"),
        DAY.. => (DAY, "d"),
    }
}

/// Date and time: `2026-11-29 10:24:00`; `?` outside the years that a calendar has.
pub(super) fn moment(time: UnixMillis) -> String {
    strftime(time, "%Y-%m-%d %H:%M:%S")
}

/// As short as it can be told from another moment: `10:24:00` on the same day, else
/// `11-28 10:24`, with the year when that differs.
pub(super) fn short_moment(time: UnixMillis, now: UnixMillis) -> String {
    let (day, year) = (strftime(time, "%Y-%m-%d"), strftime(time, "%Y"));
    if day == strftime(now, "%Y-%m-%d") {
        clock(time)
    } else if year == strftime(now, "%Y") {
        strftime(time, "%m-%d %H:%M")
    } else {
        strftime(time, "%Y-%m-%d %H:%M")
    }
}

/// Time of day: `10:24:00`.
pub(super) fn clock(time: UnixMillis) -> String {
    strftime(time, "%H:%M:%S")
}

fn strftime(time: UnixMillis, form: &str) -> String {
    jiff::Timestamp::from_millisecond(time.0)
        .map_or_else(|_| "?".to_owned(), |time| time.strftime(form).to_string())
}

/// The grade of a row count: `exact`, `snap 3` (changelogs not counted), `unknown`.
pub(super) fn grade(grade: Grade, changelogs: u64) -> String {
    match grade {
        Grade::Exact => "exact".to_owned(),
        Grade::Snapshot => format!("snap {}", compact(changelogs)),
        Grade::Unknown => "unknown".to_owned(),
    }
}

/// A word with its number: `1 partition`, `200 partitions`.
pub(super) fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_form() {
        assert_eq!(count(0), "0");
        assert_eq!(count(842_113), "842,113");
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!([change(212), change(-5_000), change(0)], ["+212", "-5,000", "0"]);
        assert_eq!(change(i64::MIN), "-9,223,372,036,854,775,808");
    }

    #[test]
    fn compact_numbers_have_two_or_three_digits() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1000, "1.0k"),
            (9_949, "9.9k"),
            (9_951, "10k"),
            (48_013, "48k"),
            (999_499, "999k"),
            (999_500, "1.0M"),
            (u64::MAX, "18E"),
        ];
        for (value, text) in cases {
            assert_eq!(compact(value), text, "{value}");
        }
        assert_eq!(bytes(Bytes(512)), "512 B");
        assert_eq!(bytes(Bytes(88_000_000)), "88 MB");
        assert_eq!(bytes(Bytes(5_120_000)), "5.1 MB");
    }

    #[test]
    fn shares_never_round_to_nothing_or_to_everything() {
        let texts = [0.0, 0.000_1, 0.057, 0.22, 1.0].map(share);
        assert_eq!(texts, ["0 %", "<0.1 %", "5.7 %", "22.0 %", "100 %"]);
    }

    #[test]
    fn ages_change_only_with_their_unit() {
        assert_eq!([age(0), age(59_999), age(60_000)], ["0 s", "59 s", "1 min"]);
        assert_eq!([age(2 * HOUR), age(50 * HOUR)], ["2 h", "2 d"]);
        assert_eq!(age_changes_in(4_200), 800);
        assert_eq!(age_changes_in(61_000), 59_000);
    }

    #[test]
    fn times_are_utc() {
        assert_eq!(moment(UnixMillis(1_762_000_000_123)), "2025-11-01 12:26:40");
        assert_eq!(clock(UnixMillis(0)), "00:00:00");
        let now = UnixMillis(1_762_000_000_123);
        let before = |days: i64| UnixMillis(now.0 - days * 86_400_000);
        let texts = [0, 1, 400].map(|days| short_moment(before(days), now));
        assert_eq!(texts, ["12:26:40", "10-31 12:26", "2024-09-27 12:26"]);
        assert_eq!(moment(UnixMillis(i64::MAX)), "?");
    }
}
