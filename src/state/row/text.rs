//! Values as one short line for tables and panes: `a=1 b="x"`.
//!
//! Texts are quoted and what cannot be printed is escaped. Keys and values may be personal:
//! hidden, only types and lengths show. A long value is cut; JSON has it whole.

use std::fmt;

use super::calendar::{self, Fraction};
use super::render::{decimal, hex, not_finite, scalar};
use super::types::Field;
use super::value::{Undecodable, Value};

/// Characters of a text that are shown.
const MAX_CHARS: usize = 200;
/// Bytes of a binary value, or of one that cannot be decoded, that are shown.
const MAX_BYTES: usize = 32;
/// Array elements and map entries that are shown.
const MAX_ELEMENTS: usize = 20;

/// Whether contents are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mask {
    /// Contents are shown.
    Shown,
    /// Only column names, types and lengths are.
    #[default]
    Hidden,
}

/// A value as one line.
#[derive(Debug, Clone, Copy)]
pub struct Text<'v, 'a> {
    /// The value.
    pub value: &'v Value<'a>,
    /// Whether its contents are shown.
    pub mask: Mask,
}

/// What cannot be decoded as one line: its bytes and the reason.
#[derive(Debug, Clone, Copy)]
pub struct UndecodableText<'v, 'a> {
    /// The bytes and the reason.
    pub value: &'v Undecodable<'a>,
    /// Whether the bytes are shown.
    pub mask: Mask,
}

impl fmt::Display for Text<'_, '_> {
    /// The outermost struct, a row, has no braces.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Value::Struct(fields, values) => columns(f, fields, values, self.mask),
            value => write(f, value, self.mask),
        }
    }
}

impl fmt::Display for UndecodableText<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        binary(f, self.value.bytes, self.mask)?;
        write!(f, " ({})", self.value.reason.escape_debug())
    }
}

fn write(f: &mut fmt::Formatter<'_>, value: &Value<'_>, mask: Mask) -> fmt::Result {
    match value {
        Value::Null => f.write_str("null"),
        Value::String(text) => quoted(f, text, mask),
        Value::Binary(bytes) => binary(f, bytes, mask),
        Value::Struct(fields, values) => {
            if let Some((start, end)) = window(fields, values) {
                write(f, start, mask)?;
                f.write_str("..")?;
                return write(f, end, mask);
            }
            f.write_str("{")?;
            columns(f, fields, values, mask)?;
            f.write_str("}")
        }
        Value::Array(values) => list(f, values, "[", "]", |f, value| write(f, value, mask)),
        Value::Map(entries) => list(f, entries, "{", "}", |f, (key, value)| {
            write(f, key, mask)?;
            f.write_str(": ")?;
            write(f, value, mask)
        }),
        Value::Variant { value: bytes, .. } if mask == Mask::Hidden => {
            write!(f, "variant({})", bytes.len())
        }
        Value::Variant { .. } => match serde_json::to_string(&super::render::Json(value)) {
            Ok(json) => cut(f, json.escape_debug()),
            Err(_) => f.write_str("variant"),
        },
        value if mask == Mask::Hidden => f.write_str(kind(value)),
        Value::Boolean(value) => write!(f, "{value}"),
        Value::Integer(value) => write!(f, "{value}"),
        Value::Float(value) if value.is_finite() => write!(f, "{value:?}"),
        Value::Float(value) => f.write_str(not_finite(f64::from(*value))),
        Value::Double(value) if value.is_finite() => write!(f, "{value:?}"),
        Value::Double(value) => f.write_str(not_finite(*value)),
        Value::Decimal { unscaled, scale } => f.write_str(&decimal(*unscaled, *scale)),
        Value::Timestamp(micros) => {
            write!(f, "{}Z", calendar::moment(*micros, Fraction::Shortest))
        }
        Value::TimestampNtz(micros) => f.write_str(&calendar::moment(*micros, Fraction::Shortest)),
        Value::Time(nanos) => match calendar::time(*nanos) {
            Some(text) => f.write_str(&text),
            None => write!(f, "{nanos} ns"),
        },
        other => f.write_str(&scalar(other)),
    }
}

/// The start and end of a window, as Spark names them.
fn window<'v, 'a>(
    fields: &[Field],
    values: &'v [Value<'a>],
) -> Option<(&'v Value<'a>, &'v Value<'a>)> {
    let ([start, end], [from, to]) = (fields, values) else { return None };
    let is_time = |value| matches!(value, &Value::Timestamp(_) | &Value::TimestampNtz(_));
    (start.name == "start" && end.name == "end" && is_time(from) && is_time(to))
        .then_some((from, to))
}

fn columns(
    f: &mut fmt::Formatter<'_>,
    fields: &[Field],
    values: &[Value<'_>],
    mask: Mask,
) -> fmt::Result {
    for (at, (field, value)) in fields.iter().zip(values).enumerate() {
        if at > 0 {
            f.write_str(" ")?;
        }
        write!(f, "{}=", field.name.escape_debug())?;
        write(f, value, mask)?;
    }
    Ok(())
}

fn list<T>(
    f: &mut fmt::Formatter<'_>,
    items: &[T],
    open: &str,
    close: &str,
    mut item: impl FnMut(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    f.write_str(open)?;
    for (at, value) in items.iter().take(MAX_ELEMENTS).enumerate() {
        if at > 0 {
            f.write_str(", ")?;
        }
        item(f, value)?;
    }
    if items.len() > MAX_ELEMENTS {
        write!(f, ", … {} in all", items.len())?;
    }
    f.write_str(close)
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str, mask: Mask) -> fmt::Result {
    if mask == Mask::Hidden {
        return write!(f, "text({})", text.chars().count());
    }
    f.write_str("\"")?;
    let escape = |c: char| match c {
        // Nothing needs it inside double quotes.
        '\'' => "'".to_owned(),
        c => c.escape_debug().to_string(),
    };
    let mut chars = text.chars();
    for c in chars.by_ref().take(MAX_CHARS) {
        f.write_str(&escape(c))?;
    }
    f.write_str(if chars.next().is_some() { "…\"" } else { "\"" })
}

fn cut(f: &mut fmt::Formatter<'_>, chars: impl Iterator<Item = char>) -> fmt::Result {
    use fmt::Write as _;
    let mut chars = chars;
    chars.by_ref().take(MAX_CHARS).try_for_each(|c| f.write_char(c))?;
    f.write_str(if chars.next().is_some() { "…" } else { "" })
}

fn binary(f: &mut fmt::Formatter<'_>, bytes: &[u8], mask: Mask) -> fmt::Result {
    match bytes.get(..MAX_BYTES) {
        _ if mask == Mask::Hidden => write!(f, "binary({})", bytes.len()),
        Some(head) if head.len() < bytes.len() => {
            write!(f, "0x{}… {} bytes", hex(head), bytes.len())
        }
        _ => write!(f, "0x{}", hex(bytes)),
    }
}

/// The name of a scalar's type.
fn kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::Boolean(_) => "boolean",
        Value::Integer(_) => "integer",
        Value::Float(_) => "float",
        Value::Double(_) => "double",
        Value::Decimal { .. } => "decimal",
        Value::Date(_) => "date",
        Value::Timestamp(_)
        | Value::TimestampNtz(_)
        | Value::TimestampNanos { .. }
        | Value::TimestampNtzNanos { .. } => "timestamp",
        Value::Time(_) => "time",
        Value::YearMonthInterval(..)
        | Value::DayTimeInterval(..)
        | Value::CalendarInterval { .. } => "interval",
        _ => "value",
    }
}

#[cfg(test)]
mod tests {
    use super::super::types::DataType;
    use super::*;

    fn fields(names: &[&str]) -> Vec<Field> {
        let field = |name: &&str| Field { name: (*name).to_owned(), data_type: DataType::Long };
        names.iter().map(field).collect()
    }

    fn shown(value: &Value<'_>) -> String {
        Text { value, mask: Mask::Shown }.to_string()
    }

    fn hidden(value: &Value<'_>) -> String {
        Text { value, mask: Mask::Hidden }.to_string()
    }

    #[test]
    fn a_row_is_its_columns() {
        let (outer, window, inner) =
            (fields(&["window", "who", "s"]), fields(&["start", "end"]), fields(&["n"]));
        let start = 1_767_226_566_000_000; // 2026-01-01T00:16:06Z
        let times = vec![Value::Timestamp(start), Value::Timestamp(start + 252_000_000)];
        let row = Value::Struct(
            &outer,
            vec![
                Value::Struct(&window, times),
                Value::String("it's\t\u{1b}[1m\u{202e}".into()),
                Value::Struct(&inner, vec![Value::Null]),
            ],
        );
        assert_eq!(
            shown(&row),
            "window=2026-01-01T00:16:06Z..2026-01-01T00:20:18Z \
             who=\"it's\\t\\u{1b}[1m\\u{202e}\" s={n=null}"
        );
        assert_eq!(hidden(&row), "window=timestamp..timestamp who=text(10) s={n=null}");
    }

    #[test]
    fn long_values_are_cut() {
        let text = "x".repeat(1000);
        assert_eq!(shown(&Value::String(text.into())).chars().count(), MAX_CHARS + 3);
        let bytes = vec![0xab; 40];
        assert!(shown(&Value::Binary(bytes.into())).ends_with("ab… 40 bytes"));
        let list = Value::Array(vec![Value::Integer(1); 25]);
        assert!(shown(&list).ends_with("1, … 25 in all]"));
    }

    #[test]
    fn nothing_of_the_contents_is_left_when_hidden() {
        let map = Value::Map(vec![(Value::String("key".into()), Value::Double(2.5))]);
        assert_eq!(shown(&map), "{\"key\": 2.5}");
        assert_eq!(hidden(&map), "{text(3): double}");
        assert_eq!(hidden(&Value::Binary((&b"abc"[..]).into())), "binary(3)");
        let bytes = Undecodable { reason: "no row".to_owned(), bytes: b"abc" };
        let text = |mask| UndecodableText { value: &bytes, mask }.to_string();
        assert_eq!(text(Mask::Shown), "0x616263 (no row)");
        assert_eq!(text(Mask::Hidden), "binary(3) (no row)");
    }
}
