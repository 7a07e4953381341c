//! A window of time as one short thing.
//!
//! Windows are structs of two timestamps, and spelled out they hide the rest of a key. What is
//! left away can be put back: seconds and fractions that are zero, and the day of an end that is
//! the start's.

use serde_json::Value;

/// `2026-01-01T00:30..00:35` for `{"start": …, "end": …}` of two timestamps as this crate writes
/// them; `None` for anything else.
pub fn window_words(value: &Value) -> Option<String> {
    let fields = value.as_object().filter(|fields| fields.len() == 2)?;
    let side = |name: &str| Moment::of(fields.get(name)?.as_str()?);
    let (start, end) = (side("start")?, side("end")?);
    if start.zone != end.zone {
        return None;
    }
    let digits = start.digits().max(end.digits());
    let from = format!("{}T{}", start.day, start.time.get(..digits)?);
    let until = end.time.get(..digits)?;
    Some(if start.day == end.day {
        format!("{from}..{until}")
    } else {
        format!("{from}..{}T{until}", end.day)
    })
}

/// `2026-01-01T00:30:00.000000Z` in its parts.
struct Moment<'a> {
    day: &'a str,
    /// `00:30:00.000000`.
    time: &'a str,
    zone: &'a str,
}

impl<'a> Moment<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let (local, zone) = text.strip_suffix('Z').map_or((text, ""), |local| (local, "Z"));
        let (day, time) = local.split_once('T')?;
        let is_time = time.len() == "00:30:00.000000".len()
            && time.bytes().all(|byte| byte.is_ascii_digit() || byte == b':' || byte == b'.');
        let is_day = day.bytes().all(|byte| byte.is_ascii_digit() || b"+-".contains(&byte));
        (is_time && is_day).then_some(Self { day, time, zone })
    }

    /// Characters of the time that say something.
    fn digits(&self) -> usize {
        match self.time.split_at_checked("00:30".len()) {
            Some((minutes, ":00.000000")) => minutes.len(),
            _ if self.time.ends_with(".000000") => "00:30:00".len(),
            _ => self.time.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_window_is_one_short_thing() {
        let words = |start: &str, end: &str| window_words(&json!({"start": start, "end": end}));
        for (start, end, expected) in [
            (
                "2026-01-01T00:30:00.000000Z",
                "2026-01-01T00:35:00.000000Z",
                Some("2026-01-01T00:30..00:35"),
            ),
            (
                "2026-01-01T23:55:00.000000Z",
                "2026-01-02T00:00:00.000000Z",
                Some("2026-01-01T23:55..2026-01-02T00:00"),
            ),
            (
                "2026-01-01T00:30:00.000000",
                "2026-01-01T00:30:30.000000",
                Some("2026-01-01T00:30:00..00:30:30"),
            ),
            (
                "2026-01-01T00:30:00.000000Z",
                "2026-01-01T00:30:00.500000Z",
                Some("2026-01-01T00:30:00.000000..00:30:00.500000"),
            ),
            ("2026-01-01T00:30:00.000000Z", "2026-01-01T00:35:00.000000", None),
            ("a", "b", None),
            ("2026-01-01T00:30:00.é", "2026-01-01T00:35:00.é", None),
        ] {
            assert_eq!(words(start, end).as_deref(), expected, "{start} {end}");
        }
        assert_eq!(
            window_words(&json!({"start": null, "end": "2026-01-01T00:35:00.000000Z"})),
            None
        );
        assert_eq!(window_words(&json!({"start": 1})), None);
    }
}
