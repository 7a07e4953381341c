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
