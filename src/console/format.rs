//! Numbers, sizes and times in the words of the screens: fixed forms whose width does
//! not jump between one refresh and the next. Times are UTC. No terminal, no clock.

use crate::report::Grade;
use crate::units::UnixMillis;

pub(super) use crate::figures::{bytes, compact, count, float, plural, ratio, share, whole};

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A change with its sign: `+212`, `-5`, `0`.
pub(super) fn change(value: i64) -> String {
    match value {
        0 => "0".to_owned(),
        up if up > 0 => format!("+{}", count(up.unsigned_abs())),
        down => format!("-{}", count(down.unsigned_abs())),
    }
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

/// How long something took, in at most seven columns: `850 ms`, `1.2 s`, `41 s`, `2m05s`,
/// `3h07m`.
pub(super) fn millis(millis: u64) -> String {
    match millis {
        ..1_000 => format!("{millis} ms"),
        1_000..9_950 => {
            let tenths = (millis + 50) / 100;
            format!("{}.{} s", tenths / 10, tenths % 10)
        }
        9_950..59_500 => format!("{} s", (millis + 500) / 1_000),
        59_500..3_570_000 => {
            let seconds = (millis + 500) / 1_000;
            format!("{}m{:02}s", seconds / 60, seconds % 60)
        }
        _ => {
            let minutes = millis / MINUTE + u64::from(millis % MINUTE >= MINUTE / 2);
            format!("{}h{:02}m", count(minutes / 60), minutes % 60)
        }
    }
}

/// Rows per second: `0.4`, `32`, `3.1k`; `-` for what is no rate.
pub(super) fn rate(rate: f64) -> String {
    if !rate.is_finite() || rate < 0.0 {
        return "-".to_owned();
    }
    match rate {
        0.0 => "0".to_owned(),
        ..0.05 => "<0.1".to_owned(),
        ..9.95 => format!("{rate:.1}"),
        _ => compact(whole(rate)),
    }
}

/// The grade of a row count: `exact`, `snap 3` (changelogs not counted), `unknown`.
pub(super) fn grade(grade: Grade, changelogs: u64) -> String {
    match grade {
        Grade::Exact => "exact".to_owned(),
        Grade::Snapshot => format!("snap {}", compact(changelogs)),
        Grade::Unknown => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_form() {
        assert_eq!([change(212), change(-5_000), change(0)], ["+212", "-5,000", "0"]);
        assert_eq!(change(i64::MIN), "-9,223,372,036,854,775,808");
    }

    #[test]
    fn ages_change_only_with_their_unit() {
        assert_eq!([age(0), age(59_999), age(60_000)], ["0 s", "59 s", "1 min"]);
        assert_eq!([age(2 * HOUR), age(50 * HOUR)], ["2 h", "2 d"]);
        assert_eq!(age_changes_in(4_200), 800);
        assert_eq!(age_changes_in(61_000), 59_000);
    }

    #[test]
    fn durations_have_one_or_two_units() {
        let cases = [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_000, "1.0 s"),
            (1_249, "1.2 s"),
            (9_949, "9.9 s"),
            (9_950, "10 s"),
            (41_880, "42 s"),
            (59_499, "59 s"),
            (59_500, "1m00s"),
            (125_000, "2m05s"),
            (3_569_999, "59m30s"),
            (11_220_000, "3h07m"),
            (u64::MAX, "5,124,095,576,030h26m"),
        ];
        for (time, text) in cases {
            assert_eq!(millis(time), text, "{time}");
        }
    }

    #[test]
    fn rates_of_slow_queries_are_not_nothing() {
        let texts = [0.0, 0.04, 0.44, 32.13, 3_070.3, f64::NAN, -1.0, f64::INFINITY].map(rate);
        assert_eq!(texts, ["0", "<0.1", "0.4", "32", "3.1k", "-", "-", "-"]);
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
