//! Which names of a checkpoint stand for numbers and ids. Pure.

use std::fmt::Display;
use std::str::FromStr;

use crate::units::BatchId;

/// The batch whose log entry a file of this name is. Spark takes every name that is a signed
/// 64-bit decimal; a negative one is no batch, and one that is not written as Spark writes it
/// (`007`, `+7`) is not the file that Spark opens for that batch.
pub(super) fn batch(name: &str) -> Option<BatchId> {
    let id = decimal::<i64>(name)?;
    u64::try_from(id).ok().map(BatchId)
}

/// Whether a name in a log's directory is of a kind that writers leave beside the entries: a
/// checksum, a temporary file, a compacted log.
pub(super) fn is_leftover(name: &str) -> bool {
    let ends = |end: &str| name.ends_with(end);
    name.starts_with(['.', '_']) || ends(".crc") || ends(".tmp") || ends(".compact")
}

/// A number written the one way it prints.
pub(super) fn decimal<T: FromStr + Display>(text: &str) -> Option<T> {
    let number: T = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// Whether a text can be the id in the name of a state file. They are UUIDs; anything that could
/// change the meaning of the name (`_`, `.`, a separator) is refused.
pub(super) fn is_state_id(text: &str) -> bool {
    const LONGEST: usize = 64;
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '-';
    !text.is_empty() && text.len() <= LONGEST && text.chars().all(legal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_entries_are_named_by_decimal_numbers() {
        assert_eq!(batch("0"), Some(BatchId(0)));
        assert_eq!(batch("9223372036854775807"), Some(BatchId(i64::MAX.unsigned_abs())));
        for other in [
            "-1",
            "-0",
            "007",
            "+7",
            "",
            "1.crc",
            ".1.crc",
            "9.compact",
            "9223372036854775808",
            ".1.0f3c.tmp",
            "１",
        ] {
            assert_eq!(batch(other), None, "{other:?}");
        }
    }

    #[test]
    fn state_ids_cannot_change_a_file_name() {
        assert!(is_state_id("1c13b731-0ec5-4143-a588-b35884aeda80"));
        for bad in ["", "a/b", "..", "a_b", "a.zip", &"a".repeat(65)] {
            assert!(!is_state_id(bad), "{bad:?}");
        }
    }
}
