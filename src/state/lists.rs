//! Values that are lists of elements, as transformWithState's list state and all families
//! of join format 4 keep them.
//!
//! An element is a little-endian 32-bit length and that many bytes; with row checksums a
//! 32-bit checksum stands before the length. Merges put a delimiter between elements. Lists
//! are walked by length, never split at delimiters.

use super::rocks::MergeDelimiter;

/// How the elements of a list lie in its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListLayout {
    /// What merges put between elements.
    pub delimiter: MergeDelimiter,
    /// Whether each element is preceded by a checksum.
    pub checksums: bool,
}

impl ListLayout {
    /// The number of elements in a list value, or `None` when its bytes are no such list.
    pub fn count(self, value: &[u8]) -> Option<u64> {
        let mut rest = value;
        let mut count = 0;
        while !rest.is_empty() {
            if count > 0 {
                rest = rest.strip_prefix(self.delimiter.bytes())?;
            }
            if self.checksums {
                rest = rest.get(4..)?;
            }
            let (length, tail) = rest.split_first_chunk::<4>()?;
            let length = usize::try_from(i32::from_le_bytes(*length)).ok()?;
            rest = tail.get(length..)?;
            count += 1;
        }
        Some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(bytes: &[u8]) -> Vec<u8> {
        [&u32::try_from(bytes.len()).unwrap().to_le_bytes(), bytes].concat()
    }

    #[test]
    fn elements_are_walked_by_length_not_split_at_commas() {
        let comma = ListLayout { delimiter: MergeDelimiter::Comma, checksums: false };
        let list =
            [element(b"a,b"), b",".to_vec(), element(b","), b",".to_vec(), element(b"")].concat();
        assert_eq!(comma.count(&list), Some(3));
        let nothing = ListLayout { delimiter: MergeDelimiter::Nothing, checksums: false };
        assert_eq!(nothing.count(&[element(b"abc"), element(b"d")].concat()), Some(2));
        assert_eq!(nothing.count(b""), Some(0));
        assert_eq!(nothing.count(&list), None, "the wrong delimiter is noticed");
    }

    #[test]
    fn cut_and_negative_lengths_are_no_list() {
        let layout = ListLayout { delimiter: MergeDelimiter::Nothing, checksums: false };
        assert_eq!(layout.count(&[9, 0, 0, 0, 1]), None);
        assert_eq!(layout.count(&[0xff; 8]), None);
        assert_eq!(layout.count(&[1, 0]), None);
    }
}
