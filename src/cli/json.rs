//! Reports as JSON: the exact values, in characters that cannot steer a terminal.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

use super::text;

/// Writes `report` pretty-printed, with a line end.
pub(crate) fn write(report: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let formatter = Guarded::pretty();
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, formatter);
    report.serialize(&mut serializer)?;
    out.write_all(b"\n")
}

/// Writes `report` on one line.
pub(crate) fn write_line(report: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, Guarded::compact());
    report.serialize(&mut serializer)?;
    out.write_all(b"\n")
}

/// A value on one line, as a text.
pub(crate) fn guarded(value: &serde_json::Value) -> String {
    let mut line = Vec::new();
    // Writing to memory does not fail, and the printer writes UTF-8.
    let _ = write_line(value, &mut line);
    String::from_utf8(line).unwrap_or_default().trim_end().to_owned()
}

/// A printer that writes `\u` escapes for every character that JSON would let through
/// and a terminal would obey. The value that a parser gets back is the same.
pub(crate) struct Guarded<F>(F);

impl Guarded<PrettyFormatter<'static>> {
    /// On many lines, for people.
    fn pretty() -> Self {
        Self(PrettyFormatter::new())
    }
}

impl Guarded<CompactFormatter> {
    /// On one line.
    pub(crate) fn compact() -> Self {
        Self(CompactFormatter)
    }
}

macro_rules! same {
    ($($method:ident($($argument:ident: $type:ty),*);)*) => {
        $(fn $method<W: ?Sized + Write>(
            &mut self,
            writer: &mut W,
            $($argument: $type),*
        ) -> io::Result<()> {
            self.0.$method(writer, $($argument),*)
        })*
    };
}

impl<F: Formatter> Formatter for Guarded<F> {
    same! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        begin_object_value();
        end_object_value();
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        // Nearly every text is plain; no need to look at its characters one by one.
        if fragment.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return CompactFormatter.write_string_fragment(writer, fragment);
        }
        let mut rest = fragment;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| steers(*c)) {
            let (before, after) = rest.split_at(at);
            CompactFormatter.write_string_fragment(writer, before)?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = after.get(c.len_utf8()..).unwrap_or_default();
        }
        CompactFormatter.write_string_fragment(writer, rest)
    }
}

/// Whether a character could steer a terminal: whether the gate for screens changes it.
fn steers(c: char) -> bool {
    !c.is_ascii_graphic() && c != ' ' && text::clean(c.encode_utf8(&mut [0; 4])) != c.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_exact_and_the_text_is_harmless() {
        let value =
            serde_json::json!({"a\u{9b}": ["\x1b[2J\n", "x\u{202e}\u{e0041}y", "東\u{7f}"]});
        let mut out = Vec::new();
        write(&value, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.chars().all(|c| c == '\n' || !steers(c)), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        assert!(text.contains("\"a\\u009b\""), "{text}");
    }

    #[test]
    fn it_is_pretty() {
        let mut out = Vec::new();
        write(&serde_json::json!({"a": [1, null], "b": {}}), &mut out).unwrap();
        let expected = "{\n  \"a\": [\n    1,\n    null\n  ],\n  \"b\": {}\n}\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
