//! The bytes of one object into values.

use serde_json::{Map, Value};

/// Why bytes are no object.
#[derive(Debug)]
pub(super) struct Invalid {
    /// What is wrong; `None` when the bytes end too early.
    pub(super) what: Option<String>,
    /// The line, counted from 1 within the bytes.
    pub(super) line: u64,
    /// The column, counted from 1.
    pub(super) column: usize,
}

/// Reads an object. Bytes that are not UTF-8 are replaced, and Python's `NaN` and `Infinity` are
/// `null`: neither is a reason to lose the rest.
pub(super) fn object(bytes: &[u8]) -> Result<Map<String, Value>, Invalid> {
    serde_json::from_slice(bytes).or_else(|error| {
        let mended = mended(bytes).and_then(|text| serde_json::from_str(&text).ok());
        mended.ok_or_else(|| Invalid::of(&error))
    })
}

impl Invalid {
    fn of(error: &serde_json::Error) -> Self {
        let told = error.to_string();
        let what = told.rsplit_once(" at line ").map_or(told.as_str(), |(what, _)| what);
        Self {
            what: (!error.is_eof()).then(|| what.to_owned()),
            line: u64::try_from(error.line()).unwrap_or(u64::MAX),
            column: error.column(),
        }
    }
}

/// The bytes as text with what JSON does not know replaced; `None` when there is no such thing.
fn mended(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut mended = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some((structure, string)) = rest.split_once('"') {
        mended.push_str(&without_nan(structure));
        let (string, after) = string.split_at_checked(string_length(string))?;
        mended.push('"');
        mended.push_str(string);
        rest = after;
    }
    mended.push_str(&without_nan(rest));
    (mended.as_bytes() != bytes).then_some(mended)
}

/// Bytes up to and with the closing quote.
fn string_length(string: &str) -> usize {
    let mut escaped = false;
    let closing = string.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    });
    closing.map_or(string.len(), |at| at + 1)
}

fn without_nan(structure: &str) -> String {
    ["-Infinity", "Infinity", "NaN"]
        .into_iter()
        .fold(structure.to_owned(), |text, word| text.replace(word, "null"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_python_writes_is_mended() {
        let read = |text: &[u8]| object(text).map(Value::Object).ok();
        assert_eq!(
            read(br#"{"a": NaN, "b": [-Infinity, Infinity, 1], "NaN": "NaN\" NaN"}"#),
            Some(json!({"a": null, "b": [null, null, 1], "NaN": "NaN\" NaN"}))
        );
        assert_eq!(read(b"{\"a\": \"x\xffy\"}"), Some(json!({"a": "x\u{fffd}y"})));
        assert_eq!(read(br#"{"a": NaNs}"#), None);
    }

    #[test]
    fn errors_have_a_place() {
        let error = object(b"{\n  \"a\": 1,\n  b\": 2\n}").unwrap_err();
        assert_eq!((error.what.as_deref(), error.line), (Some("key must be a string"), 3));
        assert_eq!(error.column, 3);
        assert!(object(b"{\"a\": ").unwrap_err().what.is_none());
    }
}
