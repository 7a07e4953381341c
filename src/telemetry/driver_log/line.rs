//! The head of a log line: when, how serious, and where the rest begins.
//!
//! Layouts differ by distribution and configuration. What they have in common is a time, then
//! (perhaps after a thread or a container's name) a level, then logger and message:
//!
//! ```text
//! 26/11/30 16:22:36 WARN OffsetSeqMetadata: …            Spark's own, 3.5 to 4.3
//! 2026-11-30 16:22:36,123 [main] WARN  o.a.s.X:57 - …    log4j's ISO8601
//! 2026-11-30T16:22:36.123Z stdout F 26/11/30 16:22:36 WARN X: …   a container's log
//! ```

use crate::telemetry::number;
use crate::units::UnixMillis;

/// Words that are looked at for the level.
const WORDS: usize = 12;
const LEVELS: [&str; 7] = ["TRACE", "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "FATAL"];

/// A line that begins an entry of a log; lines without a head belong to the entry before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// When. Without a zone it is taken as UTC.
    pub(crate) timestamp: Option<UnixMillis>,
    /// Logger and message.
    pub(crate) rest: &'a str,
}

impl<'a> Line<'a> {
    /// Reads a line; `None` when it has no head.
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        // Most lines are frames of stack traces.
        if text.starts_with('\t') {
            return None;
        }
        let (mut timestamp, mut left) = (None, text);
        for place in 0..WORDS {
            let (word, rest) = first_word(left);
            let (next, _) = first_word(rest);
            if is_level(word) {
                // Without a time, a logger has to follow: an exception may say ERROR too.
                let begins = timestamp.is_some() || (place == 0 && next.ends_with(':'));
                return begins.then(|| Self { timestamp, rest: rest.trim_start() });
            }
            timestamp = timestamp.or_else(|| moment(word, next));
            left = rest;
        }
        None
    }
}

/// The first word of a text, and what follows it.
fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_once([' ', '\t']).unwrap_or((text, ""))
}

fn is_level(word: &str) -> bool {
    LEVELS.contains(&word.trim_matches(['[', ']']))
}

/// The moment that begins with `word`: a date whose time is the `next` word, or both in one.
fn moment(word: &str, next: &str) -> Option<UnixMillis> {
    let word = word.trim_start_matches('[').trim_end_matches([']', ',']);
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (date, time) = match word.split_once('T') {
        Some(both) => both,
        None => (word, next.trim_end_matches([']', ','])),
    };
    let date = match date.replace('/', "-") {
        short if short.len() == "26-11-30".len() => format!("20{short}"),
        date => date,
    };
    let is_time = time.get(2..3) == Some(":") && time.get(5..6) == Some(":");
    let time = time.replace(',', ".");
    (date.len() == "2026-11-30".len() && is_time)
        .then(|| number::moment(&format!("{date}T{time}")))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-30T16:22:36Z: day 20,787 since 1970 (see `number`), 58,956 seconds into it.
    const AT: i64 = (20_787 * 86_400 + 16 * 3600 + 22 * 60 + 36) * 1000;

    #[test]
    fn layouts_differ() {
        for (text, millis, rest) in [
            ("26/11/30 16:22:36 WARN A: b", AT, "A: b"),
            ("2026/11/30 16:22:36 INFO A: b", AT, "A: b"),
            ("2026-11-30 16:22:36,123 WARN  A:57 - b", AT + 123, "A:57 - b"),
            ("2026-11-30T16:22:36.123Z INFO A: b", AT + 123, "A: b"),
            ("2026-11-30T18:22:36.123+0200 [main] ERROR A b", AT + 123, "A b"),
            ("[2026-11-30 16:22:36,5] [INFO] [x y] A - b", AT + 500, "[x y] A - b"),
            ("26/11/30 16:22:36.001 stream-1 WARN A: b", AT + 1, "A: b"),
            ("2026-11-30T16:22:36Z stdout F 26/11/30 18:00:00 INFO A: b", AT, "A: b"),
            ("[pod/x/y] 26/11/30 16:22:36 FATAL A: b", AT, "A: b"),
        ] {
            let expected = Line { timestamp: Some(UnixMillis(millis)), rest };
            assert_eq!(Line::of(text), Some(expected), "{text}");
        }
        let bare = Line { timestamp: None, rest: "A: b" };
        assert_eq!(Line::of("ERROR A: b"), Some(bare));
    }

    #[test]
    fn other_lines_have_no_head() {
        for text in [
            "\tat org.apache.spark.X.y(X.scala:1)",
            "Caused by: java.io.IOException: ERROR",
            "ERROR: duplicate key",
            "org.x.E: at 26/11/30 16:22:36 it failed",
            "26/11/30 16:22:36",
            "26/11 16:22:36 INFO x",
            "99/99/99 99:99:99 INFO x",
            "é é é INFO",
            "",
        ] {
            assert_eq!(Line::of(text), None, "{text}");
        }
    }
}
