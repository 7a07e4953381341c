//! A look into the bytes of an `UnsafeRow` or one of its arrays without making values.
//!
//! A row is a bitmap of nulls (a bit per column, in words of 8 bytes), 8 bytes per column,
//! and a variable part that columns point into with `offset << 32 | size`, counted from the
//! row's start. An array has its number of elements before the bitmap and its elements in
//! their natural width. Integers are little-endian (`org.apache.spark.unsafe.Platform` on
//! the machines that Spark runs on).

use thiserror::Error;

/// Bytes of a word: a slot of a row, a piece of a bitmap, the alignment of everything.
const WORD: usize = 8;

/// A number of columns or elements, or of bytes before them: no more than there are bytes in the
/// row, whose sizes have 32 bits.
#[inline]
fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// What is wrong with the bytes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Malformed {
    /// Rows are made of words.
    #[error("{0} bytes are no row: its size is a multiple of 8")]
    Size(usize),
    /// The fixed part does not fit.
    #[error("{found} bytes, expected at least {expected} for {columns} columns")]
    Short {
        /// Bytes there are.
        found: usize,
        /// Bytes of bitmap and slots.
        expected: usize,
        /// Columns of the schema.
        columns: usize,
    },
    /// A part points outside.
    #[error("{size} bytes at offset {offset} are outside of the {found} bytes around them")]
    Outside {
        /// Where the part begins.
        offset: usize,
        /// Its size.
        size: usize,
        /// Bytes of the row or array that it should lie in.
        found: usize,
    },
    /// An array cannot have that many elements.
    #[error("{0} array elements in {1} bytes")]
    Elements(i64, usize),
    /// There is no such column.
    #[error("no column {0}")]
    NoColumn(usize),
    /// The keys and values of a map differ in number.
    #[error("a map of {0} keys and {1} values")]
    Map(usize, usize),
}

/// The columns of a row, or the elements of an array, in place. Checked when made; copies
/// are cheap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowView<'a> {
    bytes: &'a [u8],
    // Narrow, since views are made of every key of the state.
    count: u32,
    slots: u32,
    /// Where the bitmap begins: 0 in a row, 8 in an array.
    nulls: u8,
    width: u8,
}

impl<'a> RowView<'a> {
    /// The row of that many columns.
    ///
    /// # Errors
    /// When the size is no multiple of 8 or too small for the columns.
    #[inline]
    pub fn row(bytes: &'a [u8], columns: usize) -> Result<Self, Malformed> {
        if !bytes.len().is_multiple_of(WORD) {
            return Err(Malformed::Size(bytes.len()));
        }
        let slots = columns.div_ceil(64) * WORD;
        let expected = columns.saturating_mul(WORD).saturating_add(slots);
        if bytes.len() < expected {
            return Err(Malformed::Short { found: bytes.len(), expected, columns });
        }
        Ok(Self { bytes, count: narrow(columns), slots: narrow(slots), nulls: 0, width: 8 })
    }

    /// The array whose elements are `width` bytes apart: 1, 2, 4 or 8.
    ///
    /// # Errors
    /// When the elements do not fit into the bytes.
    pub fn array_of(bytes: &'a [u8], width: usize) -> Result<Self, Malformed> {
        let (head, _) = bytes.split_first_chunk::<WORD>().ok_or(Malformed::Short {
            found: bytes.len(),
            expected: WORD,
            columns: 0,
        })?;
        let elements = i64::from_le_bytes(*head);
        let wrong = Malformed::Elements(elements, bytes.len());
        let count = usize::try_from(elements).map_err(|_| wrong)?;
        if count > bytes.len() {
            return Err(wrong);
        }
        let slots = WORD + count.div_ceil(64) * WORD;
        let end = count.checked_mul(width).and_then(|size| size.checked_add(slots)).ok_or(wrong)?;
        if end > bytes.len() {
            return Err(wrong);
        }
        let width = u8::try_from(width).map_err(|_| wrong)?;
        Ok(Self { bytes, count: narrow(count), slots: narrow(slots), nulls: 8, width })
    }

    /// Number of columns or elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are no columns or elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All bytes of the row or array.
    #[must_use]
    pub fn all_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Bytes of the slots of all columns or elements.
    #[must_use]
    pub fn slot_bytes(&self) -> usize {
        self.len() * usize::from(self.width)
    }

    /// Whether the column is null. One that does not exist is.
    #[must_use]
    #[inline]
    pub fn is_null(&self, column: usize) -> bool {
        column >= self.len()
            || self
                .bytes
                .get(usize::from(self.nulls) + column / 8)
                .is_none_or(|byte| byte >> (column % 8) & 1 == 1)
    }

    /// The column's slot as a little-endian number: numbers in their low bytes, floats as
    /// bits, offset and size of what is variable. Zero above the width of the type, so
    /// negative numbers below 64 bits must be cut to their width. 0 where there is no column.
    #[must_use]
    #[inline]
    pub fn word(&self, column: usize) -> u64 {
        if column >= self.len() {
            return 0;
        }
        let at = self.slots as usize + column * usize::from(self.width);
        let slot = self.bytes.get(at..).unwrap_or_default();
        match self.width {
            1 => slot.first().copied().map_or(0, u64::from),
            2 => slot.first_chunk().copied().map_or(0, |b| u64::from(u16::from_le_bytes(b))),
            4 => slot.first_chunk().copied().map_or(0, |b| u64::from(u32::from_le_bytes(b))),
            _ => slot.first_chunk().copied().map_or(0, u64::from_le_bytes),
        }
    }

    /// The bytes that the column points to: those of a string, binary, wide decimal, struct,
    /// array, map, interval or variant.
    ///
    /// # Errors
    /// When they lie outside of the row.
    #[inline]
    pub fn bytes(&self, column: usize) -> Result<&'a [u8], Malformed> {
        if column >= self.len() {
            return Err(Malformed::NoColumn(column));
        }
        let word = self.word(column);
        // Both halves are 32 bits, so they fit.
        let (offset, size) = ((word >> 32) as usize, (word & 0xffff_ffff) as usize);
        let part = offset.checked_add(size).and_then(|end| self.bytes.get(offset..end));
        part.ok_or(Malformed::Outside { offset, size, found: self.bytes.len() })
    }

    /// The struct of that many columns in a column.
    ///
    /// # Errors
    /// When it is no such row.
    #[inline]
    pub fn nested(&self, column: usize, columns: usize) -> Result<Self, Malformed> {
        Self::row(self.bytes(column)?, columns)
    }

    /// The array in a column; its elements' width is [`super::types::DataType::width`].
    ///
    /// # Errors
    /// When it is no such array.
    pub fn array(&self, column: usize, width: usize) -> Result<Self, Malformed> {
        Self::array_of(self.bytes(column)?, width)
    }

    /// The keys and the values of the map in a column, by their widths.
    ///
    /// # Errors
    /// When it is no such map.
    pub fn map(
        &self,
        column: usize,
        key_width: usize,
        value_width: usize,
    ) -> Result<(Self, Self), Malformed> {
        let bytes = self.bytes(column)?;
        let short = Malformed::Short { found: bytes.len(), expected: WORD, columns: 0 };
        let (head, rest) = bytes.split_first_chunk::<WORD>().ok_or(short)?;
        let size = usize::try_from(i64::from_le_bytes(*head)).unwrap_or(usize::MAX);
        let outside = Malformed::Outside { offset: WORD, size, found: bytes.len() };
        let (keys, values) = rest.split_at_checked(size).ok_or(outside)?;
        let keys = Self::array_of(keys, key_width)?;
        let values = Self::array_of(values, value_width)?;
        if keys.len() == values.len() {
            Ok((keys, values))
        } else {
            Err(Malformed::Map(keys.len(), values.len()))
        }
    }
}

#[cfg(test)]
#[allow(clippy::decimal_bitwise_operands, clippy::needless_pass_by_value)]
mod tests {
    use super::*;

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn columns_are_found_by_position() {
        // Column 1 null; column 2 the 3 bytes "abc" after bitmap and three slots.
        let mut bytes = words(&[0b010, 7, 0, 32 << 32 | 3]);
        bytes.extend(b"abc\0\0\0\0\0");
        let row = RowView::row(&bytes, 3).unwrap();
        assert!(!row.is_null(0) && row.is_null(1) && row.is_null(3));
        assert_eq!(row.word(0), 7);
        assert_eq!(row.bytes(2), Ok(&b"abc"[..]));
        assert_eq!(row.bytes(3), Err(Malformed::NoColumn(3)));
    }

    #[test]
    fn the_bitmap_grows_by_words() {
        let mut bytes = words(&[0; 2 + 65]);
        bytes[8] = 1;
        let row = RowView::row(&bytes, 65).unwrap();
        assert!(row.is_null(64) && !row.is_null(0));
        assert_eq!(
            RowView::row(&bytes[8..], 65),
            Err(Malformed::Short { found: 528, expected: 536, columns: 65 })
        );
        assert_eq!(RowView::row(&bytes[1..], 1), Err(Malformed::Size(535)));
        assert!(RowView::row(&[], 0).unwrap().is_empty());
    }

    #[test]
    fn arrays_have_natural_widths() {
        let mut bytes = words(&[3, 0b100]);
        bytes.extend([1, 0, 0xfe, 0xff, 0, 0, 0, 0]);
        let array = RowView::array_of(&bytes, 2).unwrap();
        assert_eq!((array.len(), array.word(0), array.word(1)), (3, 1, 0xfffe));
        assert!(array.is_null(2));
        assert!(RowView::array_of(&bytes, 4).is_err(), "12 bytes are not there");
        assert!(RowView::array_of(&words(&[u64::MAX, 0]), 1).is_err());
        assert!(RowView::array_of(&words(&[i64::MAX as u64, 0]), 8).is_err());
    }

    #[test]
    fn parts_outside_are_noticed() {
        let bytes = words(&[0, 8 << 32 | 9]);
        let row = RowView::row(&bytes, 1).unwrap();
        assert_eq!(row.bytes(0), Err(Malformed::Outside { offset: 8, size: 9, found: 16 }));
    }
}
