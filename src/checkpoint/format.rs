//! What all of Spark's log files share: a first line `v<version>`, JSON lines after it.
//! Pure: bytes in, values or a [`FormatError`] out.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Why the content of a file is not what it should be. Says what was expected and found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// Nothing in it: what a crash or a full disk leaves behind.
    #[error("expected {expected}, found an empty file")]
    Empty {
        /// What the file should hold.
        expected: &'static str,
    },
    /// Bytes that are not text.
    #[error("expected text, found a byte at offset {offset} that is not UTF-8")]
    NotText {
        /// Where the first such byte is.
        offset: usize,
    },
    /// The first line is not a version.
    #[error("expected a version such as v1 on line 1, found {found:?}")]
    NoVersion {
        /// Beginning of that line.
        found: String,
    },
    /// Written by a newer engine than this reader knows.
    #[error("expected version {newest} or lower on line 1, found version {found}")]
    UnsupportedVersion {
        /// The version found.
        found: u32,
        /// The newest that is read.
        newest: u32,
    },
    /// The file ends before this.
    #[error("expected {expected} on line {line}, the file ends before it")]
    Ends {
        /// What should be there.
        expected: &'static str,
        /// Where, counted from 1.
        line: usize,
    },
    /// JSON that ends too early.
    #[error("expected {expected} on line {line}, found JSON that is cut off at column {column}")]
    Cut {
        /// What should be there.
        expected: &'static str,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
    /// Not JSON.
    #[error("expected {expected} on line {line}, found an error at column {column}: {reason}")]
    Json {
        /// What should be there.
        expected: &'static str,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
        /// The parser's words.
        reason: String,
    },
    /// JSON or text of another shape than this field has.
    #[error("expected {expected} on line {line}, found {found}")]
    Shape {
        /// What should be there.
        expected: &'static str,
        /// Counted from 1.
        line: usize,
        /// What is there.
        found: String,
    },
}

impl FormatError {
    /// Whether the file has no content at all.
    pub fn is_empty_file(&self) -> bool {
        matches!(self, Self::Empty { .. })
    }
}

/// The text of a file. `expected` says what the file should hold.
pub(super) fn text<'a>(bytes: &'a [u8], expected: &'static str) -> Result<&'a str, FormatError> {
    if bytes.is_empty() {
        return Err(FormatError::Empty { expected });
    }
    str::from_utf8(bytes).map_err(|error| FormatError::NotText { offset: error.valid_up_to() })
}

/// The version `v<positive number>` that is the whole of `line`.
pub(super) fn version(line: &str, newest: u32) -> Result<u32, FormatError> {
    let digits = line.trim_end().strip_prefix('v');
    match digits.and_then(|digits| digits.parse::<u32>().ok()) {
        None | Some(0) => Err(FormatError::NoVersion { found: excerpt(line) }),
        Some(found) if found > newest => Err(FormatError::UnsupportedVersion { found, newest }),
        Some(found) => Ok(found),
    }
}

/// Parses one line of JSON. `line` counts from 1.
pub(super) fn json<T: DeserializeOwned>(
    text: &str,
    line: usize,
    expected: &'static str,
) -> Result<T, FormatError> {
    serde_json::from_str(text).map_err(|error| json_error(&error, line, expected))
}

/// The error for a line of JSON. The parser counts lines within the text it was given, which is
/// one line (or, in files without a version line, starts at line 1).
pub(super) fn json_error(
    error: &serde_json::Error,
    line: usize,
    expected: &'static str,
) -> FormatError {
    let line = line + error.line().saturating_sub(1);
    let column = error.column();
    if error.is_eof() {
        return FormatError::Cut { expected, line, column };
    }
    let reason = error.to_string();
    let reason = reason.split(" at line ").next().unwrap_or_default().to_owned();
    FormatError::Json { expected, line, column, reason: excerpt(&reason) }
}

/// The error for a value of another shape than `expected`.
pub(super) fn shape(expected: &'static str, line: usize, found: &Value) -> FormatError {
    FormatError::Shape { expected, line, found: kind(found) }
}

/// A value in a few words: `the number 5`, `a list`.
fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("the truth value {value}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the text {:?}", excerpt(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// The beginning of a text from a file, short enough for a message and without control
/// characters.
pub(super) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut short: String = text.chars().take(LONGEST).map(visible).collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    short
}

/// Control characters, and the marks that turn the direction of text, as a replacement character.
pub(super) fn visible(c: char) -> char {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if c.is_control() || turns { '\u{fffd}' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_v_and_a_positive_number() {
        assert_eq!(version("v1", 2), Ok(1));
        assert_eq!(version("v2\r", 2), Ok(2));
        assert_eq!(version("v3", 2), Err(FormatError::UnsupportedVersion { found: 3, newest: 2 }));
        for bad in ["", "v", "v0", "v-1", "1", "V1", "{}", "v99999999999"] {
            assert!(matches!(version(bad, 2), Err(FormatError::NoVersion { .. })), "{bad:?}");
        }
    }

    #[test]
    fn errors_tell_line_and_column_of_the_file() {
        let error = json::<Value>("{\"a\":", 2, "metadata").unwrap_err();
        assert_eq!(error, FormatError::Cut { expected: "metadata", line: 2, column: 5 });
        let error = json::<Value>("{a}", 3, "an offset").unwrap_err();
        let FormatError::Json { line: 3, column: 2, reason, .. } = error else { panic!() };
        assert_eq!(reason, "key must be a string");
    }

    #[test]
    fn excerpts_are_short_and_printable() {
        assert_eq!(excerpt("a\u{1b}[2J\u{202e}"), "a\u{fffd}[2J\u{fffd}");
        assert_eq!(excerpt(&"x".repeat(100)).chars().count(), 61);
    }
}
