//! Keys as one line of words, with their values hidden unless they are asked for.
//!
//! Keys may be personal data. Masked, a value of four characters or more shows its last one
//! (`account_id=…7`), enough to tell neighbours in a list apart and not enough to tell whose
//! it is; a shorter one shows nothing (`•••`). Null and column names always show. JSON output
//! does not come through here: it is exact.

use serde_json::Value;

use super::window_words;

/// Values shorter than this show nothing: their last character would give too much away.
const HINT_FROM: usize = 4;

/// Whether values are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reveal {
    /// Only a hint of each.
    Masked,
    /// In full.
    Shown,
}

impl Reveal {
    /// The answer to `--reveal`.
    pub fn of(wanted: bool) -> Self {
        if wanted { Self::Shown } else { Self::Masked }
    }
}

/// `account_id=acct-7 window=2026-01-01T00:30..00:35`: the columns of a key, or of any JSON
/// object. Not cleaned for the terminal.
pub fn key_words(key: &Value, reveal: Reveal) -> String {
    let mut words = Vec::new();
    push(&mut words, "", key, reveal);
    words.join(" ")
}

/// `acct-7, 2026-01-01T00:30..00:35`: as [`key_words`] where the names of the columns stand
/// elsewhere already.
pub fn value_words(key: &Value, reveal: Reveal) -> String {
    match key {
        Value::Object(columns) if !columns.is_empty() => {
            let words: Vec<String> =
                columns.values().map(|value| key_words(value, reveal)).collect();
            words.join(", ")
        }
        other => key_words(other, reveal),
    }
}

fn push(words: &mut Vec<String>, name: &str, value: &Value, reveal: Reveal) {
    if let Some(window) = window_words(value) {
        return push(words, name, &Value::String(window), reveal);
    }
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (field, value) in fields {
                let dotted =
                    if name.is_empty() { field.clone() } else { format!("{name}.{field}") };
                push(words, &dotted, value, reveal);
            }
        }
        value => {
            let shown = word(value, reveal);
            words.push(if name.is_empty() { shown } else { format!("{name}={shown}") });
        }
    }
}

fn word(value: &Value, reveal: Reveal) -> String {
    let text = match value {
        Value::Null => return "null".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match reveal {
        Reveal::Shown => text,
        Reveal::Masked if text.chars().count() >= HINT_FROM => {
            text.chars().next_back().map_or_else(String::new, |last| format!("…{last}"))
        }
        Reveal::Masked => "•••".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_hidden_unless_asked_for() {
        let key = json!({
            "account_id": "acct-7",
            "window": {"start": "2026-11-01T10:00:00.000000Z", "end": null},
            "n": 12,
            "big": 123_456,
        });
        assert_eq!(
            key_words(&key, Reveal::Masked),
            "account_id=…7 window.start=…Z window.end=null n=••• big=…6"
        );
        assert_eq!(
            key_words(&key, Reveal::Shown),
            "account_id=acct-7 window.start=2026-11-01T10:00:00.000000Z window.end=null n=12 \
             big=123456"
        );
        assert_eq!(key_words(&json!("é"), Reveal::Masked), "•••");
    }

    #[test]
    fn a_window_is_one_word() {
        let start = "2026-11-01T10:00:00.000000Z";
        let key = json!({
            "account_id": "acct-7",
            "window": {"start": start, "end": "2026-11-01T10:05:00.000000Z"},
        });
        assert_eq!(
            key_words(&key, Reveal::Shown),
            "account_id=acct-7 window=2026-11-01T10:00..10:05"
        );
        assert_eq!(key_words(&key, Reveal::Masked), "account_id=…7 window=…5");
        assert_eq!(value_words(&key, Reveal::Shown), "acct-7, 2026-11-01T10:00..10:05");
        assert_eq!(value_words(&key, Reveal::Masked), "…7, …5");
    }
}
