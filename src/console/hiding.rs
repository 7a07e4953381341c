//! Keys and values as text, masked unless the operator has asked for them.
//!
//! The words are those of [`report::key_words`](crate::report::key_words); here is what a
//! terminal needs besides: its characters, lines of a width, bounds on what is looked at.

use serde_json::Value;

use super::look::Symbols;
use super::text::{fold, width};
use crate::reader::OwnedHalf;
use crate::report::{Reveal, key_words};

/// Characters of one text that are shown at most: the rest is for other tools.
const LONGEST: usize = 64 << 10;
/// What stands for the rest.
const REST: &str = "… (the rest is cut off here: statetop state --format jsonl prints all)";

/// A key or an object as `account_id=…7 window.start=…Z`.
pub(super) fn words(value: &Value, reveal: Reveal, symbols: &Symbols) -> String {
    drawn(key_words(value, reveal), reveal, symbols)
}

/// A key or a value of a row in words.
pub(super) fn half_words(half: &OwnedHalf, reveal: Reveal, symbols: &Symbols) -> String {
    match half {
        OwnedHalf::Columns(columns) => {
            let words = columns.iter().map(|(name, value)| match value {
                Value::Object(fields) if !fields.is_empty() => {
                    let nested = serde_json::json!({ (name): value });
                    words(&nested, reveal, symbols)
                }
                value => format!("{name}={}", words(value, reveal, symbols)),
            });
            words.collect::<Vec<_>>().join(" ")
        }
        OwnedHalf::Single(value) => words(value, reveal, symbols),
        OwnedHalf::Undecodable { reason, hex } => {
            format!("{reason}: {}", hexadecimal(hex, reveal, symbols))
        }
        OwnedHalf::None => "-".to_owned(),
    }
}

/// In masked words every mark is ours; in others the text is as it is.
fn drawn(words: String, reveal: Reveal, symbols: &Symbols) -> String {
    match reveal {
        Reveal::Masked if symbols.ellipsis != "…" => {
            words.replace('…', symbols.ellipsis).replace('•', symbols.hidden)
        }
        Reveal::Masked | Reveal::Shown => words,
    }
}

fn hexadecimal(hex: &str, reveal: Reveal, symbols: &Symbols) -> String {
    match reveal {
        Reveal::Shown => format!("0x{hex}"),
        Reveal::Masked => symbols.hidden.repeat(3),
    }
}

/// A key or a value of a row in full: JSON, a line for each part that does not fit on one.
pub(super) fn full(
    half: &OwnedHalf,
    reveal: Reveal,
    symbols: &Symbols,
    columns: usize,
) -> Vec<String> {
    let json = Json { reveal, symbols, columns };
    let mut lines = Vec::new();
    match half {
        OwnedHalf::Columns(fields) => {
            for (name, value) in fields {
                json.push(&mut lines, 0, &format!("{}: ", quoted(name)), value, "");
            }
        }
        OwnedHalf::Single(value) => json.push(&mut lines, 0, "", value, ""),
        OwnedHalf::Undecodable { reason, hex } => {
            lines.extend(fold(&format!("not decoded: {reason}"), columns));
            let hex = hex.get(..LONGEST).unwrap_or(hex);
            lines.extend(fold(&hexadecimal(hex, reveal, symbols), columns));
        }
        OwnedHalf::None => lines.push("none: the row is removed".to_owned()),
    }
    lines
}

struct Json<'s> {
    reveal: Reveal,
    symbols: &'s Symbols,
    columns: usize,
}

impl Json<'_> {
    /// Adds a value behind `before`, on one line where it fits.
    fn push(
        &self,
        lines: &mut Vec<String>,
        indent: usize,
        before: &str,
        value: &Value,
        after: &str,
    ) {
        let room = self.columns.saturating_sub(indent);
        let blanks = " ".repeat(indent);
        let one = self.one_line(value, room);
        if let Some(one) = one.filter(|one| width(before) + width(one) + width(after) <= room) {
            lines.push(format!("{blanks}{before}{one}{after}"));
            return;
        }
        let next = indent + 2;
        match value {
            Value::Object(fields) if room > 8 => {
                lines.push(format!("{blanks}{before}{{"));
                for (at, (name, value)) in fields.iter().enumerate() {
                    let comma = if at + 1 < fields.len() { "," } else { "" };
                    self.push(lines, next, &format!("{}: ", quoted(name)), value, comma);
                }
                lines.push(format!("{blanks}}}{after}"));
            }
            Value::Array(values) if room > 8 => {
                lines.push(format!("{blanks}{before}["));
                for (at, value) in values.iter().enumerate() {
                    let comma = if at + 1 < values.len() { "," } else { "" };
                    self.push(lines, next, "", value, comma);
                }
                lines.push(format!("{blanks}]{after}"));
            }
            value => {
                let text = format!("{before}{}{after}", self.whole(value));
                lines.extend(fold(&text, room).into_iter().map(|line| format!("{blanks}{line}")));
            }
        }
    }

    /// The value on one line; `None` when it is certainly longer than `room`.
    fn one_line(&self, value: &Value, room: usize) -> Option<String> {
        let parts = match value {
            Value::Object(fields) => {
                if fields.len() > room / 4 {
                    return None;
                }
                let parts = fields.iter().map(|(name, value)| {
                    Some(format!("{}: {}", quoted(name), self.one_line(value, room)?))
                });
                parts.collect::<Option<Vec<_>>>().map(|parts| format!("{{{}}}", parts.join(", ")))
            }
            Value::Array(values) => {
                if values.len() > room / 2 {
                    return None;
                }
                let parts = values.iter().map(|value| self.one_line(value, room));
                parts.collect::<Option<Vec<_>>>().map(|parts| format!("[{}]", parts.join(", ")))
            }
            Value::String(text) if text.len() > room * 4 && self.reveal == Reveal::Shown => None,
            value => Some(self.whole(value)),
        };
        parts.filter(|text| width(text) <= room)
    }

    /// A value without parts.
    fn whole(&self, value: &Value) -> String {
        match (value, self.reveal) {
            (Value::Object(_) | Value::Array(_), Reveal::Shown) => value.to_string(),
            (_, Reveal::Masked) => words(value, self.reveal, self.symbols),
            (Value::String(text), Reveal::Shown) => match text.char_indices().nth(LONGEST) {
                Some((at, _)) => format!("{}{REST}", quoted(text.get(..at).unwrap_or_default())),
                None => quoted(text),
            },
            (value, Reveal::Shown) => value.to_string(),
        }
    }
}

/// As JSON quotes it, so that a line break in a text is seen.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::console::look::Charset;

    fn row() -> OwnedHalf {
        let window = json!({"start": "2026-11-01T10:00:00.000000Z", "end": null});
        OwnedHalf::Columns(vec![
            ("account_id".to_owned(), json!("acct-7\n")),
            ("window".to_owned(), window),
            ("n".to_owned(), json!(12)),
        ])
    }

    #[test]
    fn parts_that_do_not_fit_have_their_own_lines() {
        let symbols = Charset::Utf8.symbols();
        let wide = full(&row(), Reveal::Shown, symbols, 80);
        assert_eq!(
            wide,
            [
                r#""account_id": "acct-7\n""#,
                r#""window": {"start": "2026-11-01T10:00:00.000000Z", "end": null}"#,
                r#""n": 12"#
            ]
        );
        let narrow = full(&row(), Reveal::Shown, symbols, 41);
        assert_eq!(
            narrow[1..5],
            [
                r#""window": {"#,
                r#"  "start": "2026-11-01T10:00:00.000000Z","#,
                r#"  "end": null"#,
                "}"
            ]
        );
    }

    #[test]
    fn nothing_that_is_masked_is_in_the_lines() {
        for charset in [Charset::Utf8, Charset::Ascii] {
            let lines = full(&row(), Reveal::Masked, charset.symbols(), 80).join("\n");
            assert!(!lines.contains("acct") && !lines.contains("2026") && !lines.contains("12"));
            assert!(lines.contains("account_id") && lines.contains("null"), "{lines}");
            assert_eq!(lines.is_ascii(), charset == Charset::Ascii, "{lines}");
            let words = half_words(&row(), Reveal::Masked, charset.symbols());
            assert!(!words.contains("acct") && words.contains("window.end=null"), "{words}");
        }
    }

    #[test]
    fn a_long_text_is_folded_with_all_its_blanks() {
        let half = OwnedHalf::Single(json!("a  b".repeat(10)));
        let lines = full(&half, Reveal::Shown, Charset::Utf8.symbols(), 16);
        assert!(lines.iter().all(|line| width(line) <= 16));
        assert_eq!(lines.concat(), format!("\"{}\"", "a  b".repeat(10)));
    }
}
