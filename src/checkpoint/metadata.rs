//! The file `metadata`: the query's id. Pure.

use serde_json::Value;

use super::format::{self, FormatError};

/// Reads the query id. A copied checkpoint has the id of its original.
///
/// # Errors
/// When the file is not `{"id":"…"}`.
pub fn parse_query_id(bytes: &[u8]) -> Result<String, FormatError> {
    const EXPECTED: &str = "the query's id as {\"id\":\"…\"}";
    let value: Value = format::json(format::text(bytes, EXPECTED)?, 1, EXPECTED)?;
    match value.get("id") {
        Some(Value::String(id)) => Ok(id.clone()),
        _ => Err(format::shape(EXPECTED, 1, &value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_id_is_read_or_the_error_says_what_is_there() {
        assert_eq!(
            parse_query_id(b"{\"id\":\"2f8a9b10-3c4d-4e5f-8a9b-0c1d2e3f4a5b\"}").unwrap(),
            "2f8a9b10-3c4d-4e5f-8a9b-0c1d2e3f4a5b"
        );
        assert!(parse_query_id(b"").unwrap_err().is_empty_file());
        assert!(matches!(parse_query_id(b"{\"id\":"), Err(FormatError::Cut { .. })));
        assert!(matches!(parse_query_id(b"{\"id\":5}"), Err(FormatError::Shape { .. })));
        assert!(matches!(parse_query_id(b"[]"), Err(FormatError::Shape { .. })));
        assert!(matches!(parse_query_id(b"\xff\xfe"), Err(FormatError::NotText { offset: 0 })));
    }
}
