//! Bytes that tell the chosen columns of stored keys apart, without making values on the way, and
//! the way back to a row.
//!
//! The columns one after the other: a byte that says what follows, then nothing for a null, the
//! word of a number, or the length and bytes of what is variable. Shorter than a row of the same
//! columns, and every row of the state is compared by it. Must not know what columns mean.

use super::grouping::GroupingColumn;
use super::placement::{find, slot};
use super::row::key::{KeyColumn, KeyView};
use super::row::types::DataType;
use super::row::view::RowView;

/// Bytes of a word of a row.
const WORD: usize = 8;
/// What follows: nothing; a word; a length of 32 bits, little-endian, and so many bytes.
const NULL: u8 = 0;
const NUMBER: u8 = 1;
const BYTES: u8 = 2;

/// Writes bytes that are equal for two keys exactly when the columns there are.
///
/// # Errors
/// A sentence when the key is malformed.
pub fn write(
    view: &KeyView<'_>,
    columns: &[GroupingColumn],
    into: &mut Vec<u8>,
) -> Result<(), String> {
    into.clear();
    for column in columns {
        let data_type = &column.field.data_type;
        match slot(view, column) {
            Some((row, at)) => push(row, at, data_type, into)?,
            None => match find(view, &column.path)? {
                KeyColumn::Slot(row, at) => push(&row, at, data_type, into)?,
                KeyColumn::Word(word) => push_word(word, into),
                KeyColumn::Null => into.push(NULL),
            },
        }
    }
    Ok(())
}

#[inline]
fn push(
    row: &RowView<'_>,
    at: usize,
    data_type: &DataType,
    into: &mut Vec<u8>,
) -> Result<(), String> {
    if row.is_null(at) {
        into.push(NULL);
    } else if is_variable(data_type) {
        let bytes = row.bytes(at).map_err(|wrong| wrong.to_string())?;
        // A row's lengths have 32 bits.
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        into.reserve(1 + size_of::<u32>() + bytes.len());
        into.push(BYTES);
        into.extend_from_slice(&length.to_le_bytes());
        into.extend_from_slice(bytes);
    } else {
        push_word(row.word(at), into);
    }
    Ok(())
}

fn push_word(word: u64, into: &mut Vec<u8>) {
    into.push(NUMBER);
    into.extend_from_slice(&word.to_le_bytes());
}

/// The `UnsafeRow` of the columns that [`write()`] wrote; `None` when it did not write them.
pub fn row(identity: &[u8], columns: usize) -> Option<Vec<u8>> {
    let bitmap = columns.div_ceil(64) * WORD;
    let mut row = vec![0; bitmap + columns * WORD];
    let mut rest = identity;
    for at in 0..columns {
        let (kind, after) = rest.split_first()?;
        rest = after;
        let word = match *kind {
            NULL => {
                *row.get_mut(at / 8)? |= 1 << (at % 8);
                continue;
            }
            NUMBER => {
                let (word, after) = rest.split_first_chunk::<WORD>()?;
                rest = after;
                u64::from_le_bytes(*word)
            }
            BYTES => {
                let (length, after) = rest.split_first_chunk()?;
                let length = u32::from_le_bytes(*length);
                let (bytes, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
                rest = after;
                let place = (row.len() as u64) << 32 | u64::from(length);
                row.extend_from_slice(bytes);
                row.resize(row.len().next_multiple_of(WORD), 0);
                place
            }
            _ => return None,
        };
        let place = bitmap + at * WORD;
        row.get_mut(place..place + WORD)?.copy_from_slice(&word.to_le_bytes());
    }
    rest.is_empty().then_some(row)
}

/// Whether a column's word is the place of bytes elsewhere in the row.
fn is_variable(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::String
            | DataType::Binary
            | DataType::Decimal { precision: 19.., .. }
            | DataType::CalendarInterval
            | DataType::TimestampNanos
            | DataType::TimestampNtzNanos
            | DataType::Variant
            | DataType::Struct(_)
            | DataType::Array(_)
            | DataType::Map(..)
            | DataType::Other(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::row::key::{Framing, KeyEncoder, KeyLayout};
    use crate::state::row::types::Field;
    use crate::state::row::unsafe_row;
    use crate::state::row::value::Value;

    fn column(at: usize, name: &str, data_type: DataType) -> GroupingColumn {
        GroupingColumn { path: vec![at], field: Field { name: name.to_owned(), data_type } }
    }

    /// A row of a long, a string and another long, as `UnsafeRow` has it: bitmap, three slots,
    /// then the string, which is at 32 and three bytes long.
    fn key(long: u64, text: [u8; 3], null: u64) -> Vec<u8> {
        let mut bytes: Vec<u8> =
            [null, long, 32 << 32 | 3, 9].iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(text);
        bytes.extend([0; 5]);
        bytes
    }

    #[test]
    fn columns_are_told_apart_and_come_back() {
        let columns = [
            column(0, "a", DataType::Long),
            column(1, "b", DataType::String),
            column(2, "c", DataType::Long),
        ];
        let fields: Vec<Field> = columns.iter().map(|column| column.field.clone()).collect();
        let layout = KeyLayout::new(fields.clone(), KeyEncoder::NoPrefix, Framing::Bare).unwrap();
        let of = |bytes: &[u8], columns: &[GroupingColumn]| {
            let mut identity = Vec::new();
            write(&layout.view(bytes).unwrap(), columns, &mut identity).unwrap();
            identity
        };
        let (one, other) = (key(7, *b"abc", 0), key(8, *b"abc", 0));
        assert_ne!(of(&one, &columns), of(&other, &columns));
        assert_eq!(of(&one, &columns[1..2]), of(&other, &columns[1..2]));
        assert_ne!(
            of(&one, &columns[..1]),
            of(&key(7, *b"abc", 1), &columns[..1]),
            "null is not 7"
        );

        let row = row(&of(&key(7, *b"abc", 0b100), &columns), 3).unwrap();
        let Value::Struct(_, values) = unsafe_row::decode(&row, &fields).unwrap() else { panic!() };
        assert_eq!(values, [Value::Integer(7), Value::String("abc".into()), Value::Null]);
    }

    #[test]
    fn other_bytes_are_no_identity() {
        assert_eq!(row(&[BYTES, 9, 0, 0, 0, b'x'], 1), None);
        assert_eq!(row(&[NUMBER, 1], 1), None);
        assert_eq!(row(&[NULL, NULL], 1), None);
        assert_eq!(row(&[3], 1), None);
    }
}
