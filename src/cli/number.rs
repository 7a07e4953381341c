//! Numbers as an operator reads them: thousands separated, sizes and ages in one unit or two.
//!
//! Must not know about reports or the terminal.

use crate::units::{Bytes, UnixMillis};

/// `842,113`.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `842,113`, or `-` for an unknown count.
pub(crate) fn count_or_dash(value: Option<u64>) -> String {
    value.map_or_else(|| "-".to_owned(), count)
}

/// `812 B`, `5.1 MB`, `161 MB`: decimal units, two digits at least, three at most.
pub(crate) fn bytes(Bytes(value): Bytes) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if value < 1000 {
        return format!("{value} B");
    }
    // 999.5 kB and more would round to `1000 kB`, so it is one unit up already.
    let mut scaled = float(value) / 1000.0;
    let mut unit = "kB";
    for next in UNITS.iter().skip(1) {
        if scaled < 999.5 {
            break;
        }
        scaled /= 1000.0;
        unit = next;
    }
    if scaled < 9.95 { format!("{scaled:.1} {unit}") } else { format!("{scaled:.0} {unit}") }
}

/// `11.4`, from 100 on without decimals.
pub(crate) fn ratio(value: f64) -> String {
    if value < 99.95 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// `11.4`, or `-` for an unknown ratio.
pub(crate) fn ratio_or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), ratio)
}

/// A part of one as `5.7 %`; what would round to nothing but is something is `<0.1 %`.
pub(crate) fn percent(part: f64) -> String {
    let value = part * 100.0;
    if value > 0.0 && value < 0.05 {
        "<0.1 %".to_owned()
    } else if value < 99.95 {
        format!("{value:.1} %")
    } else {
        format!("{value:.0} %")
    }
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

#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
pub(crate) fn float(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_three() {
        let texts = [0, 7, 999, 1000, 842_113, 1_000_000, u64::MAX].map(count);
        assert_eq!(
            texts,
            ["0", "7", "999", "1,000", "842,113", "1,000,000", "18,446,744,073,709,551,615"]
        );
    }

    #[test]
    fn sizes_keep_two_or_three_digits() {
        let sizes = [0, 999, 1000, 5_149_000, 9_950_000, 88_000_000, 999_499, 999_500];
        assert_eq!(
            sizes.map(|n| bytes(Bytes(n))),
            ["0 B", "999 B", "1.0 kB", "5.1 MB", "10 MB", "88 MB", "999 kB", "1.0 MB"]
        );
        assert_eq!(bytes(Bytes(u64::MAX)), "18 EB");
    }

    #[test]
    fn shares_never_hide_something_as_nothing() {
        let parts = [0.0, 0.0001, 0.0572, 1.0];
        assert_eq!(parts.map(percent), ["0.0 %", "<0.1 %", "5.7 %", "100 %"]);
    }

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
