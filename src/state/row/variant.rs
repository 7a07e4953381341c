//! Variants: values of no declared type, in the binary encoding that Spark shares with
//! Parquet (`VariantEncoding.md` of parquet-format; Spark's `VariantUtil`).
//!
//! A dictionary of keys (the metadata) and a value that refers to it. [`Variant`] serialises
//! as the JSON that it stands for.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt::Write as _;
use std::io;

use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, Serializer};

use super::render::Json;
use super::unsafe_row::wide_integer;
use super::value::Value;

/// Deepest nesting of objects and arrays that is followed.
const MAX_DEPTH: u32 = 200;
/// Longest JSON that a variant may become. Keys are stored once and named often, so a small
/// variant can stand for a long text; Spark's own limit for a variant is 128 MiB.
const MAX_JSON: usize = 64 << 20;

/// Whether the bytes are a variant that can be shown.
///
/// # Errors
/// A sentence with what is wrong.
pub(super) fn check(value: &[u8], metadata: &[u8]) -> Result<(), String> {
    let budget = Cell::new(value.len());
    let mut room = Room(MAX_JSON);
    serde_json::to_writer(&mut room, &Variant::new(value, metadata, &budget))
        .map_err(|error| format!("no variant: {error}"))
}

/// A sink of limited size.
struct Room(usize);

impl io::Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.0.checked_sub(bytes.len());
        self.0 = left.ok_or_else(|| io::Error::other("its JSON is longer than 64 MiB"))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A variant as JSON.
pub(super) struct Variant<'a> {
    value: &'a [u8],
    metadata: &'a [u8],
    depth: u32,
    /// Bytes of the whole value that no part has claimed yet: parts do not overlap.
    budget: &'a Cell<usize>,
}

/// One value of a variant.
enum Part<'a> {
    Scalar(Value<'a>),
    Object(Vec<(&'a str, &'a [u8])>),
    Array(Vec<&'a [u8]>),
}

impl<'a> Variant<'a> {
    /// The budget is the length of `value`.
    pub(super) fn new(value: &'a [u8], metadata: &'a [u8], budget: &'a Cell<usize>) -> Self {
        Self { value, metadata, depth: 0, budget }
    }

    fn inner(&self, value: &'a [u8]) -> Self {
        Self { value, depth: self.depth + 1, ..*self }
    }

    fn claim(&self, bytes: usize) -> Result<(), String> {
        let left = self.budget.get().checked_sub(bytes).ok_or("its parts overlap")?;
        self.budget.set(left);
        Ok(())
    }

    fn part(&self) -> Result<Part<'a>, String> {
        if self.depth > MAX_DEPTH {
            return Err(format!("nested deeper than {MAX_DEPTH}"));
        }
        let mut input = Input(self.value);
        let head = input.take(1)?.first().copied().unwrap_or_default();
        let info = head >> 2;
        let part = match head & 3 {
            0 => Part::Scalar(scalar(info, &mut input)?),
            1 => Part::Scalar(text(input.take(usize::from(info))?)?),
            2 => self.object(info, &mut input)?,
            _ => array(info, &mut input)?,
        };
        self.claim(self.value.len() - input.0.len())?;
        Ok(part)
    }

    /// Offset size, id size, and whether the count has 4 bytes, in the five bits of `info`.
    fn object(&self, info: u8, input: &mut Input<'a>) -> Result<Part<'a>, String> {
        let (offset_size, id_size) = (usize::from(info & 3) + 1, usize::from(info >> 2 & 3) + 1);
        let count = input.number(if info >> 4 & 1 == 1 { 4 } else { 1 })?;
        let ids = input.numbers(count, id_size)?;
        let offsets = input.numbers(count + 1, offset_size)?;
        let values = input.0;
        let mut fields = Vec::with_capacity(count);
        for (id, offset) in ids.zip(offsets) {
            let value = values.get(offset..).ok_or("a field lies outside")?;
            fields.push((key(self.metadata, id)?, value));
        }
        Ok(Part::Object(fields))
    }
}

fn array<'a>(info: u8, input: &mut Input<'a>) -> Result<Part<'a>, String> {
    let count = input.number(if info >> 2 & 1 == 1 { 4 } else { 1 })?;
    let offsets = input.numbers(count + 1, usize::from(info & 3) + 1)?;
    let values = input.0;
    let element = |offset| values.get(offset..).ok_or_else(|| "an element lies outside".to_owned());
    Ok(Part::Array(offsets.take(count).map(element).collect::<Result<_, _>>()?))
}

/// A key of the dictionary: a header byte, the number of keys, their offsets, their text.
fn key(metadata: &[u8], id: usize) -> Result<&str, String> {
    let mut input = Input(metadata);
    let head = input.take(1)?.first().copied().unwrap_or_default();
    if head & 0x0f != 1 {
        return Err(format!("dictionary version {}, expected 1", head & 0x0f));
    }
    let size = usize::from(head >> 6) + 1;
    let count = input.number(size)?;
    if id >= count {
        return Err(format!("key {id} of a dictionary of {count}"));
    }
    let mut offsets = input.numbers(count + 1, size)?.skip(id);
    let (start, end) = (offsets.next().unwrap_or_default(), offsets.next().unwrap_or_default());
    let bytes = input.0.get(start..end).ok_or("a key lies outside of the dictionary")?;
    std::str::from_utf8(bytes).map_err(|error| format!("a key is no UTF-8: {error}"))
}

fn text(bytes: &[u8]) -> Result<Value<'_>, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("text is no UTF-8: {error}"))?;
    Ok(Value::String(Cow::Borrowed(text)))
}

/// A primitive by its type id.
fn scalar<'a>(id: u8, input: &mut Input<'a>) -> Result<Value<'a>, String> {
    Ok(match id {
        0 => Value::Null,
        1 => Value::Boolean(true),
        2 => Value::Boolean(false),
        3 => Value::Integer(i64::from(i8::from_le_bytes(input.array()?))),
        4 => Value::Integer(i64::from(i16::from_le_bytes(input.array()?))),
        5 => Value::Integer(i64::from(i32::from_le_bytes(input.array()?))),
        6 => Value::Integer(i64::from_le_bytes(input.array()?)),
        7 => Value::Double(f64::from_le_bytes(input.array()?)),
        8 => decimal(input, 4)?,
        9 => decimal(input, 8)?,
        10 => decimal(input, 16)?,
        11 => Value::Date(i32::from_le_bytes(input.array()?)),
        12 => Value::Timestamp(i64::from_le_bytes(input.array()?)),
        13 => Value::TimestampNtz(i64::from_le_bytes(input.array()?)),
        14 => Value::Float(f32::from_le_bytes(input.array()?)),
        15 => {
            let size = input.number(4)?;
            Value::Binary(Cow::Borrowed(input.take(size)?))
        }
        16 => {
            let size = input.number(4)?;
            text(input.take(size)?)?
        }
        17 => {
            let micros = i64::from_le_bytes(input.array()?);
            Value::Time(micros.checked_mul(1000).ok_or("a time that is none")?)
        }
        18 => {
            let (micros, nanos) = nanoseconds(input)?;
            Value::TimestampNanos { micros, nanos }
        }
        19 => {
            let (micros, nanos) = nanoseconds(input)?;
            Value::TimestampNtzNanos { micros, nanos }
        }
        20 => Value::String(Cow::Owned(uuid(input.array()?))),
        other => return Err(format!("the variant type {other} is not known")),
    })
}

/// Zeros at the end of its fraction are left out, as Spark does (`VariantUtil.getDecimal`).
fn decimal(input: &mut Input<'_>, size: usize) -> Result<Value<'static>, String> {
    let [mut scale] = input.array()?;
    let mut bytes = input.take(size)?.to_vec();
    bytes.reverse();
    if scale > 38 {
        return Err(format!("a decimal of scale {scale}"));
    }
    let mut unscaled = wide_integer(&bytes)?;
    while scale > 0 && unscaled % 10 == 0 {
        unscaled /= 10;
        scale -= 1;
    }
    Ok(Value::Decimal { unscaled, scale })
}

fn nanoseconds(input: &mut Input<'_>) -> Result<(i64, u16), String> {
    let nanos = i64::from_le_bytes(input.array()?);
    let within = u16::try_from(nanos.rem_euclid(1000)).unwrap_or_default();
    Ok((nanos.div_euclid(1000), within))
}

fn uuid(bytes: [u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Bytes not read yet.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, size: usize) -> Result<&'a [u8], String> {
        let (head, tail) = self.0.split_at_checked(size).ok_or("it ends early")?;
        self.0 = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (head, tail) = self.0.split_first_chunk().ok_or("it ends early")?;
        self.0 = tail;
        Ok(*head)
    }

    /// An unsigned number of 1 to 4 bytes.
    fn number(&mut self, size: usize) -> Result<usize, String> {
        Ok(unsigned(self.take(size)?))
    }

    fn numbers(
        &mut self,
        count: usize,
        size: usize,
    ) -> Result<impl Iterator<Item = usize> + use<'a>, String> {
        let bytes = self.take(count.checked_mul(size).ok_or("it ends early")?)?;
        Ok(bytes.chunks_exact(size).map(unsigned))
    }
}

fn unsigned(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

impl Serialize for Variant<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.part().map_err(S::Error::custom)? {
            Part::Scalar(value) => Json(&value).serialize(serializer),
            Part::Object(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (key, value) in fields {
                    map.serialize_entry(key, &self.inner(value))?;
                }
                map.end()
            }
            Part::Array(elements) => {
                let mut list = serializer.serialize_seq(Some(elements.len()))?;
                for value in elements {
                    list.serialize_element(&self.inner(value))?;
                }
                list.end()
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::decimal_bitwise_operands, clippy::needless_pass_by_value)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json(value: &[u8], metadata: &[u8]) -> Result<String, String> {
        let budget = Cell::new(value.len());
        serde_json::to_string(&Variant::new(value, metadata, &budget)).map_err(|e| e.to_string())
    }

    /// Version 1, offsets of 1 byte, the keys "a" and "bc".
    const KEYS: &[u8] = &[0x01, 2, 0, 1, 3, b'a', b'b', b'c'];

    #[test]
    fn scalars() {
        let long_text = [&[16 << 2, 2, 0, 0, 0][..], b"hi"].concat();
        let cases: [(&[u8], &str); 10] = [
            (&[0], "null"),
            (&[1 << 2], "true"),
            (&[3 << 2, 0xff], "-1"),
            (&[5 << 2, 0, 1, 0, 0], "256"),
            (&[7 << 2, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f], "1.5"),
            (&[8 << 2, 2, 0x39, 0x30, 0, 0], "\"123.45\""),
            (&[2 << 2 | 1, b'h', b'i'], "\"hi\""),
            (&long_text, "\"hi\""),
            (&[11 << 2, 1, 0, 0, 0], "\"1970-01-02\""),
            (&[15 << 2, 1, 0, 0, 0, 0xff], "\"/w==\""),
        ];
        for (value, expected) in cases {
            assert_eq!(json(value, KEYS).as_deref(), Ok(expected), "{value:?}");
        }
    }

    #[test]
    fn objects_and_arrays() {
        // {"a": 7, "bc": [true, null]}: sizes of 1 byte, 2 fields, ids 0 and 1, offsets 0, 2, 8.
        let list = [3, 2, 0, 1, 2, 1 << 2, 0];
        let object = [&[2, 2, 0, 1, 0, 2, 9, 3 << 2, 7][..], &list].concat();
        assert_eq!(json(&object, KEYS).unwrap(), r#"{"a":7,"bc":[true,null]}"#);
        assert!(check(&object, KEYS).is_ok());
        assert!(check(&object, &KEYS[..5]).is_err());
        assert!(check(&object[..12], KEYS).is_err());
        assert!(check(&object, &[2, 0, 0]).unwrap_err().contains("version"));
    }

    #[test]
    fn parts_that_overlap_do_not_multiply() {
        // An array of 200 elements that are all the same inner array of 200 elements.
        let element = [3, 1, 0, 1, 0];
        let mut value = vec![3, 200];
        value.extend([0; 201]);
        value.extend(element);
        assert!(check(&value, KEYS).unwrap_err().contains("overlap"));
    }

    proptest! {
        #[test]
        fn no_variant_panics(
            value in prop::collection::vec(any::<u8>(), 0..60),
            metadata in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let _ = check(&value, &metadata);
            let _ = check(&value, KEYS);
        }
    }
}
