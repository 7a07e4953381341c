//! Numbers as an operator reads them, the same on every page and screen: thousands
//! separated, sizes in decimal units, shares that never hide something as nothing.
//!
//! Must not know reports or the terminal.

use crate::units::Bytes;

/// All digits, in groups of three: `842,113`.
pub fn count(value: u64) -> String {
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

/// A word with its number: `1 partition`, `200 partitions`.
pub fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// At most four columns: `950`, `4.2k`, `48k`, `3.2M`.
pub fn compact(value: u64) -> String {
    scaled(value, &["", "k", "M", "G", "T", "P", "E"])
}

/// At most six columns: `512 B`, `5.1 MB`, `88 MB`.
pub fn bytes(Bytes(value): Bytes) -> String {
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

/// A multiple of the mean: `11.4`, from 100 on without decimals: `1,204`.
pub fn ratio(value: f64) -> String {
    if value < 99.95 { format!("{value:.1}") } else { count(whole(value)) }
}

/// A part of a whole: `5.7 %`, `<0.1 %`, `0 %`; a multiple of it: `320 %`.
pub fn share(part: f64) -> String {
    match part * 100.0 {
        0.0 => "0 %".to_owned(),
        small if small < 0.05 => "<0.1 %".to_owned(),
        large if large >= 99.95 => format!("{large:.0} %"),
        percent => format!("{percent:.1} %"),
    }
}

/// How long something took: `850 ms`, `52.1 s`, `3 m 34 s`, `2 h 5 m`.
pub fn span(millis: u64) -> String {
    let (seconds, minutes) = (millis / 1000, millis / 60_000);
    match millis {
        ..1000 => format!("{millis} ms"),
        1000..120_000 => format!("{seconds}.{} s", millis % 1000 / 100),
        120_000..7_200_000 => format!("{minutes} m {} s", seconds % 60),
        _ => format!("{} h {} m", count(minutes / 60), minutes % 60),
    }
}

/// A non-negative number rounded to a whole one; 0 for anything else.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, which is what a reader wants"
)]
pub fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// A count as a floating-point number.
#[expect(clippy::cast_precision_loss, reason = "counts beyond 2^53 lose digits nobody is shown")]
pub fn float(value: u64) -> f64 {
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
        assert_eq!(
            [plural(1, "row", "rows"), plural(1000, "row", "rows")],
            ["1 row", "1,000 rows"]
        );
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
    }

    #[test]
    fn sizes_keep_two_or_three_digits() {
        let sizes = [0, 999, 1000, 5_149_000, 9_950_000, 88_000_000, 999_499, 999_500, u64::MAX];
        assert_eq!(
            sizes.map(|n| bytes(Bytes(n))),
            ["0 B", "999 B", "1.0 kB", "5.1 MB", "10 MB", "88 MB", "999 kB", "1.0 MB", "18 EB"]
        );
    }

    #[test]
    fn shares_never_hide_something_as_nothing() {
        let texts = [0.0, 0.000_1, 0.057_2, 0.22, 1.0, 3.2].map(share);
        assert_eq!(texts, ["0 %", "<0.1 %", "5.7 %", "22.0 %", "100 %", "320 %"]);
    }

    #[test]
    fn spans_have_one_unit_or_two() {
        let millis = [0, 999, 1000, 52_149, 119_999, 214_000, 7_500_000, 360_000_000];
        let texts =
            ["0 ms", "999 ms", "1.0 s", "52.1 s", "119.9 s", "3 m 34 s", "2 h 5 m", "100 h 0 m"];
        assert_eq!(millis.map(span), texts);
    }

    #[test]
    fn ratios_lose_their_decimal_from_a_hundred_on() {
        assert_eq!([1.0, 11.44, 99.94, 1204.3].map(ratio), ["1.0", "11.4", "99.9", "1,204"]);
    }
}
