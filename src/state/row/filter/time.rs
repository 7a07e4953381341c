//! Dates and times as an operator writes them.

use jiff::civil::{Date, DateTime, Time, date};

const EPOCH: Date = date(1970, 1, 1);

/// A moment as written: on which clock, and whether it said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    /// Microseconds since 1970-01-01T00:00:00, in UTC.
    pub(super) micros: i64,
    /// Nanoseconds after those, 0 to 999.
    pub(super) nanos: u16,
    /// Whether a zone was written; without one the moment is taken as UTC.
    pub(super) zoned: bool,
}

/// `2026-11-01T10:00:00.5+02:00`; with a blank for the `T`, without zone, without seconds, or
/// a date alone.
pub(super) fn moment(text: &str) -> Option<Moment> {
    let text = text.trim();
    let (civil, offset) = split_offset(text)?;
    let clock: DateTime =
        if civil.len() <= 10 { civil.parse::<Date>().ok()?.into() } else { civil.parse().ok()? };
    let all = clock.duration_since(EPOCH.into()).as_nanos();
    let micros = i64::try_from(all.div_euclid(1000)).ok()?;
    let nanos = u16::try_from(all.rem_euclid(1000)).ok()?;
    let shift = offset.unwrap_or(0).checked_mul(1_000_000)?;
    Some(Moment { micros: micros.checked_sub(shift)?, nanos, zoned: offset.is_some() })
}

/// Days since 1970-01-01 of `2026-11-01`.
pub(super) fn day(text: &str) -> Option<i32> {
    let text = text.trim();
    let civil = text.chars().all(|c| c.is_ascii_digit() || c == '-');
    let date: Date = text.parse().ok().filter(|_| civil)?;
    i32::try_from(date.duration_since(EPOCH).as_hours() / 24).ok()
}

/// Nanoseconds of the day of `10:00`, `10:00:00` or `10:00:00.123456`.
pub(super) fn time_of_day(text: &str) -> Option<i64> {
    let text = text.trim();
    let civil = text.chars().all(|c| c.is_ascii_digit() || c == ':' || c == '.');
    let time: Time = text.parse().ok().filter(|_| civil && text.contains(':'))?;
    i64::try_from(time.duration_since(Time::midnight()).as_nanos()).ok()
}

/// The date and time without zone, and the offset in seconds where there is one.
fn split_offset(text: &str) -> Option<(&str, Option<i64>)> {
    let clock_from = text.find(['T', 't', ' ']).unwrap_or(text.len());
    let (_, clock) = text.split_at_checked(clock_from)?;
    let found = clock.find(['Z', 'z', '+', '-']).map(|at| clock_from + at);
    let (civil, zone) = text.split_at_checked(found.unwrap_or(text.len()))?;
    let civil = civil.trim_end();
    // What the library would read further, such as a zone in brackets, is no part of this.
    let plain = |c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | '.' | 'T' | 't' | ' ');
    if !civil.chars().all(plain) {
        return None;
    }
    let offset = if found.is_some() { Some(seconds(zone)?) } else { None };
    Some((civil, offset))
}

/// `Z`, `+02`, `+0200`, `+02:00` or `+02:00:00` in seconds.
fn seconds(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let rest = zone.get(1..)?;
    let digits: String = rest.chars().filter(|c| *c != ':').collect();
    let shape = rest.split(':').all(|part| part.len() == 2) || rest.len() == 4;
    if !shape || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |from: usize| digits.get(from..from + 2).map_or(Some(0), |two| two.parse().ok());
    let (hours, minutes, seconds): (i64, i64, i64) = (part(0)?, part(2)?, part(4)?);
    let sound = digits.len() <= 6 && hours <= 18 && minutes < 60 && seconds < 60;
    sound.then_some(sign * (hours * 3600 + minutes * 60 + seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-01T10:00:00Z: 20,758 days after 1970-01-01 and ten hours.
    const TEN: i64 = (20_758 * 86_400 + 36_000) * 1_000_000;

    #[test]
    fn one_moment_in_many_hands() {
        let zoned = Some(Moment { micros: TEN, nanos: 0, zoned: true });
        for text in [
            "2026-11-01T10:00:00Z",
            "2026-11-01T10:00:00.000000Z",
            "2026-11-01 10:00:00z",
            "2026-11-01T10:00Z",
            "2026-11-01T12:00:00+02:00",
            "2026-11-01T12:00:00+0200",
            "2026-11-01T12:00:00 +02",
            "2026-11-01T04:30:00-05:30",
            " 2026-11-01T10:00:00Z ",
        ] {
            assert_eq!(moment(text), zoned, "{text}");
        }
        let plain = Some(Moment { micros: TEN, nanos: 0, zoned: false });
        for text in ["2026-11-01T10:00:00", "2026-11-01 10:00", "2026-11-01 10:00:00.0"] {
            assert_eq!(moment(text), plain, "{text}");
        }
        let midnight = Some(Moment { micros: TEN - 36_000_000_000, nanos: 0, zoned: false });
        assert_eq!(moment("2026-11-01"), midnight);
    }

    #[test]
    fn far_and_fine() {
        let micros = |text| moment(text).map(|moment| moment.micros);
        assert_eq!(micros("1970-01-01T00:00:00.000001Z"), Some(1));
        assert_eq!(micros("1969-12-31T23:59:59.999999Z"), Some(-1));
        // 2,932,896 days lie before 9999-12-31.
        assert_eq!(micros("9999-12-31"), Some(2_932_896 * 86_400_000_000));
        let fine = |text| moment(text).map(|moment| (moment.micros, moment.nanos));
        assert_eq!(fine("1970-01-01T00:00:00.0000001Z"), Some((0, 100)));
        assert_eq!(fine("1969-12-31T23:59:59.999999999"), Some((-1, 999)));
    }

    #[test]
    fn what_is_no_moment() {
        for text in [
            "",
            "now",
            "2026",
            "2026-13-01",
            "2026-02-30",
            "2026-11-01T25:00:00",
            "10:00:00",
            "2026-11-01T10:00:00+2",
            "2026-11-01T10:00:00+02:00+02:00",
            "2026-11-01T10:00:00+99",
            "2026-11-01T10:00:00 Europe/Berlin",
            "2026-11-01T10:00:00[UTC]",
            "2026-11-01Z5",
            "2026-11-01T10:00:00+é",
            "é",
        ] {
            assert_eq!(moment(text), None, "{text}");
        }
    }

    #[test]
    fn days_and_times_of_day() {
        assert_eq!(day("2026-11-01"), Some(20_758));
        assert_eq!(day("1969-12-31"), Some(-1));
        assert_eq!(day("2026-11-01T00:00:00"), None);
        assert_eq!(time_of_day("00:00:01.5"), Some(1_500_000_000));
        assert_eq!(time_of_day("10:00"), Some(36_000_000_000_000));
        assert_eq!(time_of_day("24:00"), None);
        assert_eq!(time_of_day("10"), None);
    }
}
