//! What pages need besides [`figures`](crate::figures): dashes for what is unknown, ages in
//! one unit or two.
//!
//! Must not know about reports or the terminal.

use crate::figures::{count, ratio};
use crate::units::UnixMillis;

/// `842,113`, or `-` for an unknown count.
pub(crate) fn count_or_dash(value: Option<u64>) -> String {
    value.map_or_else(|| "-".to_owned(), count)
}

/// `11.4`, or `-` for an unknown ratio.
pub(crate) fn ratio_or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), ratio)
}

/// `<1 s`, `4 s`, `12 m`, `2 h 5 m`, `3 d 4 h`.
pub(crate) fn duration(millis: u64) -> String {
    let seconds = millis / 1000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        0 => "<1 s".to_owned(),
        1..60 => format!("{seconds} s"),
        60..3600 => format!("{minutes} m"),
        3600..86_400 => two_units(hours, "h", minutes % 60, "m"),
        _ => two_units(days, "d", hours % 24, "h"),
    }
}

/// `4 s ago`; beyond a month, and for clocks that were never set, the moment itself.
pub(crate) fn ago(time: UnixMillis, now: UnixMillis) -> String {
    const MONTH: u64 = 30 * 86_400_000;
    match time.until(now) {
        recent if recent < MONTH => format!("{} ago", duration(recent)),
        _ => format!("on {}", moment(time)),
    }
}

fn two_units(large: u64, large_unit: &str, small: u64, small_unit: &str) -> String {
    match small {
        0 => format!("{large} {large_unit}"),
        _ => format!("{} {large_unit} {small} {small_unit}", count(large)),
    }
}

/// A moment to the second, `2026-11-01 10:00:00 UTC`.
pub(crate) fn moment(time: UnixMillis) -> String {
    match time.iso() {
        Some(iso) => format!("{} UTC", iso.get(..19).unwrap_or(&iso).replace('T', " ")),
        None => format!("{} ms since 1970", time.0),
    }
}

/// A moment to the minute, `2026-11-01 10:00`, in UTC.
pub(crate) fn minute(time: UnixMillis) -> String {
    match time.iso() {
        Some(iso) => iso.get(..16).unwrap_or(&iso).replace('T', " "),
        None => format!("{} ms", time.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_one_or_two_units() {
        let times = [0, 999, 4000, 119_000, 7_500_000, 7_200_000, 273_600_000];
        assert_eq!(
            times.map(duration),
            ["<1 s", "<1 s", "4 s", "1 m", "2 h 5 m", "2 h", "3 d 4 h"]
        );
    }

    #[test]
    fn what_is_long_ago_is_dated() {
        let now = UnixMillis(1_762_000_000_123);
        assert_eq!(ago(UnixMillis(now.0 - 4000), now), "4 s ago");
        assert_eq!(ago(UnixMillis(0), now), "on 1970-01-01 00:00:00 UTC");
        assert_eq!(ago(UnixMillis(now.0 + 4000), now), "<1 s ago", "clocks differ a little");
    }

    #[test]
    fn moments_are_utc_to_the_second() {
        assert_eq!(moment(UnixMillis(1_762_000_000_123)), "2025-11-01 12:26:40 UTC");
        assert_eq!(moment(UnixMillis(i64::MAX)), "9223372036854775807 ms since 1970");
    }
}
