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
        self.elements(value).try_fold(0, |count, element| element.ok().map(|_| count + 1))
    }

    /// The elements of a list value. After bytes that are no list it ends.
    pub fn elements(self, value: &[u8]) -> Elements<'_> {
        Elements { layout: self, rest: value, first: true }
    }
}

/// One element of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element<'a> {
    /// The checksum before it, where the layout has them.
    pub checksum: Option<u32>,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// The bytes from here on are no list of the expected layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{} bytes are no list element of the expected layout", .0.len())]
pub struct NoElement<'a>(pub &'a [u8]);

/// Walks the elements of a list value.
#[derive(Debug, Clone)]
pub struct Elements<'a> {
    layout: ListLayout,
    rest: &'a [u8],
    first: bool,
}

impl<'a> Elements<'a> {
    fn step(&self) -> Option<(Element<'a>, &'a [u8])> {
        let mut rest = self.rest;
        if !self.first {
            rest = rest.strip_prefix(self.layout.delimiter.bytes())?;
        }
        let mut checksum = None;
        if self.layout.checksums {
            let (bytes, tail) = rest.split_first_chunk::<4>()?;
            checksum = Some(u32::from_le_bytes(*bytes));
            rest = tail;
        }
        let (length, tail) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(i32::from_le_bytes(*length)).ok()?;
        let (bytes, tail) = tail.split_at_checked(length)?;
        Some((Element { checksum, bytes }, tail))
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, NoElement<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let Some((element, rest)) = self.step() else {
            return Some(Err(NoElement(std::mem::take(&mut self.rest))));
        };
        (self.rest, self.first) = (rest, false);
        Some(Ok(element))
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
    fn checksums_stand_before_lengths() {
        let layout = ListLayout { delimiter: MergeDelimiter::Comma, checksums: true };
        let list = [&[1, 2, 0, 0][..], &element(b"ab"), b",", &[0xff; 4], &element(b"")].concat();
        let elements: Vec<_> = layout.elements(&list).collect();
        assert_eq!(elements[0], Ok(Element { checksum: Some(513), bytes: b"ab" }));
        assert_eq!(elements[1], Ok(Element { checksum: Some(u32::MAX), bytes: b"" }));
        let cut: Vec<_> = layout.elements(&list[..list.len() - 1]).collect();
        assert_eq!(cut.len(), 2);
        assert!(cut[0].is_ok() && cut[1].is_err());
    }

    #[test]
    fn cut_and_negative_lengths_are_no_list() {
        let layout = ListLayout { delimiter: MergeDelimiter::Nothing, checksums: false };
        assert_eq!(layout.count(&[9, 0, 0, 0, 1]), None);
        assert_eq!(layout.count(&[0xff; 8]), None);
        assert_eq!(layout.count(&[1, 0]), None);
    }
}
