//! How the columns of a key lie in the bytes of a stored key.
//!
//! `RocksDB` keys are taken apart so that scans work: a prefix that can be searched for, or
//! columns rewritten so that bytewise order is their order. [`KeyEncoder`] says which way,
//! [`KeyLayout`] finds each logical column again, [`KeyView`] gives it without making values.
//! Keys here have no column family prefix any more.

use serde_json::Value as Json;

use super::types::{DataType, Field};
use super::unsafe_row;
use super::value::{Undecodable, Value};
use super::view::{Malformed, RowView};

/// First byte of whatever Spark encodes for `RocksDB` (`STATE_ENCODING_VERSION`).
const VERSION: u8 = 0;
/// Marks of a rewritten ordering column (`RangeKeyScanStateEncoder`).
const NEGATIVE: u8 = 0;
const NOT_NEGATIVE: u8 = 1;
const NULL: u8 = 2;

/// How a family's keys are encoded, as `keyStateEncoderType` of schema v3 names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyEncoder {
    /// All columns in one row.
    NoPrefix,
    /// The first columns in a row that can be searched for, then a row of the others.
    PrefixScan {
        /// How many columns the prefix has.
        columns: usize,
    },
    /// Ordering columns rewritten so that they sort bytewise, then a row of the others.
    RangeScan {
        /// Positions of the ordering columns, in the order of sorting.
        ordinals: Vec<usize>,
    },
    /// The last column is an event time; it comes first, in sortable form (join format 4).
    TimePrefix,
    /// The last column is an event time; it comes last, in sortable form (join format 4).
    TimePostfix,
}

impl KeyEncoder {
    /// From the encoder JSON of a schema file v3.
    ///
    /// # Errors
    /// A sentence with what was expected and found.
    pub fn parse(json: &Json) -> Result<Self, String> {
        let name = json.get("keyStateEncoderType").and_then(Json::as_str);
        let number = |value: &Json| value.as_u64().and_then(|n| usize::try_from(n).ok());
        let missing = |what: &str| format!("the key encoder {json} has no {what}");
        match name.ok_or_else(|| missing("keyStateEncoderType"))? {
            "NoPrefixKeyStateEncoderSpec" => Ok(Self::NoPrefix),
            "PrefixKeyScanStateEncoderSpec" => {
                let columns = json.get("numColsPrefixKey").and_then(number);
                Ok(Self::PrefixScan {
                    columns: columns.ok_or_else(|| missing("numColsPrefixKey"))?,
                })
            }
            "RangeKeyScanStateEncoderSpec" => {
                let ordinals = json.get("orderingOrdinals").and_then(Json::as_array);
                let ordinals = ordinals.and_then(|list| list.iter().map(number).collect());
                Ok(Self::RangeScan {
                    ordinals: ordinals.ok_or_else(|| missing("orderingOrdinals"))?,
                })
            }
            "TimestampAsPrefixKeyStateEncoderSpec" => Ok(Self::TimePrefix),
            "TimestampAsPostfixKeyStateEncoderSpec" => Ok(Self::TimePostfix),
            other => Err(format!("the key encoder {other:?} is not known")),
        }
    }

    /// From `numColsPrefixKey` of operator metadata v1: 0 means no prefix.
    #[must_use]
    pub fn prefix(columns: usize) -> Self {
        if columns == 0 { Self::NoPrefix } else { Self::PrefixScan { columns } }
    }

    /// Cuts a stored key into its parts.
    pub(super) fn split<'a>(&self, raw: &'a [u8]) -> Result<KeyParts<'a>, String> {
        let mut parts = KeyParts { first: raw, rest: None, time: 0 };
        match self {
            Self::NoPrefix => {}
            Self::PrefixScan { .. } | Self::RangeScan { .. } => {
                let wrong = || format!("a key of {} bytes is too short for its prefix", raw.len());
                let (length, tail) = raw.split_first_chunk().ok_or_else(wrong)?;
                let length = usize::try_from(i32::from_le_bytes(*length)).map_err(|_| wrong())?;
                let (first, rest) = tail.split_at_checked(length).ok_or_else(wrong)?;
                parts.first = first;
                // A range scan over all columns has no other row.
                let absent = rest.is_empty() && matches!(self, Self::RangeScan { .. });
                parts.rest = (!absent).then_some(rest);
            }
            Self::TimePrefix => {
                let (time, first) = raw.split_first_chunk().ok_or("a key without its time")?;
                (parts.first, parts.time) = (first, sortable_time(*time));
            }
            Self::TimePostfix => {
                let (first, time) = raw.split_last_chunk().ok_or("a key without its time")?;
                (parts.first, parts.time) = (first, sortable_time(*time));
            }
        }
        Ok(parts)
    }
}

/// The parts of a stored key; `time` only where the encoder has one.
pub(super) struct KeyParts<'a> {
    pub(super) first: &'a [u8],
    pub(super) rest: Option<&'a [u8]>,
    pub(super) time: i64,
}

/// Big-endian with the sign flipped, so that bytewise order is the order of times.
fn sortable_time(bytes: [u8; 8]) -> i64 {
    i64::from_be_bytes(bytes) ^ i64::MIN
}

/// Takes the version byte off encoded bytes.
pub(super) fn versioned(bytes: &[u8]) -> Result<&[u8], String> {
    match bytes.split_first() {
        Some((&VERSION, row)) => Ok(row),
        Some((version, _)) => Err(format!("encoding version {version}, expected {VERSION}")),
        None => Err("no bytes, expected an encoding version".to_owned()),
    }
}

/// Whether rows have a version byte and keys are taken apart, which is the provider's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// `RocksDB`: a version byte before each row; keys by their encoder.
    Encoded,
    /// HDFS-backed: rows as they are.
    Bare,
}

/// Where a logical column of a key lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the only or first row.
    First(usize),
    /// In the second row.
    Rest(usize),
    /// In the first row, rewritten for sorting.
    Ordering(usize),
    /// The time before or after the row.
    Time,
}

/// How the keys of one family are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyLayout {
    fields: Vec<Field>,
    encoder: KeyEncoder,
    framing: Framing,
    places: Vec<Place>,
    first_columns: usize,
    rest_columns: usize,
}

impl KeyLayout {
    /// Keys of these columns. HDFS-backed stores keep bare rows whatever their encoder.
    ///
    /// # Errors
    /// When the encoder names columns that there are not.
    pub fn new(fields: Vec<Field>, encoder: KeyEncoder, framing: Framing) -> Result<Self, String> {
        let encoder = if framing == Framing::Bare { KeyEncoder::NoPrefix } else { encoder };
        let count = fields.len();
        let places: Vec<Place> = match &encoder {
            KeyEncoder::NoPrefix => (0..count).map(Place::First).collect(),
            KeyEncoder::PrefixScan { columns } if *columns <= count => {
                let rest = (0..count - columns).map(Place::Rest);
                (0..*columns).map(Place::First).chain(rest).collect()
            }
            KeyEncoder::PrefixScan { columns } => {
                return Err(format!("a prefix of {columns} columns in a key of {count}"));
            }
            KeyEncoder::RangeScan { ordinals } => ordering_places(ordinals, count)?,
            KeyEncoder::TimePrefix | KeyEncoder::TimePostfix => {
                let others =
                    count.checked_sub(1).ok_or("a key of no columns cannot have a time")?;
                (0..others).map(Place::First).chain([Place::Time]).collect()
            }
        };
        let is_first = |place: &&Place| matches!(place, Place::First(_) | Place::Ordering(_));
        let first_columns = places.iter().filter(is_first).count();
        let rest_columns = places.iter().filter(|p| matches!(p, Place::Rest(_))).count();
        Ok(Self { fields, encoder, framing, places, first_columns, rest_columns })
    }

    /// The logical columns, in the order of the schema.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The encoder.
    #[must_use]
    pub fn encoder(&self) -> &KeyEncoder {
        &self.encoder
    }

    pub(super) fn places(&self) -> &[Place] {
        &self.places
    }

    /// Looks into a stored key whose rows are `UnsafeRow`s.
    ///
    /// # Errors
    /// With the reason when it is no such key.
    #[inline]
    pub fn view<'a>(&'a self, raw: &'a [u8]) -> Result<KeyView<'a>, Undecodable<'a>> {
        self.parts(raw).map_err(|reason| Undecodable { reason, bytes: raw })
    }

    fn parts<'a>(&'a self, raw: &'a [u8]) -> Result<KeyView<'a>, String> {
        let row = |bytes: &'a [u8], columns| {
            let bytes = match self.framing {
                Framing::Encoded => versioned(bytes)?,
                Framing::Bare => bytes,
            };
            RowView::row(bytes, columns).map_err(|wrong| wrong.to_string())
        };
        let parts = self.encoder.split(raw)?;
        let first = row(parts.first, self.first_columns)?;
        let rest = match parts.rest {
            Some(rest) => row(rest, self.rest_columns)?,
            None if self.rest_columns == 0 => RowView::default(),
            None => return Err(format!("no row of the other {} columns", self.rest_columns)),
        };
        Ok(KeyView { layout: self, first, rest, time: parts.time })
    }
}

fn ordering_places(ordinals: &[usize], count: usize) -> Result<Vec<Place>, String> {
    if let Some(at) = ordinals.iter().find(|at| **at >= count) {
        return Err(format!("ordering column {at} in a key of {count} columns"));
    }
    let mut others = 0..;
    let place = |at| match ordinals.iter().position(|ordinal| *ordinal == at) {
        Some(position) => Some(Place::Ordering(position)),
        None => others.next().map(Place::Rest),
    };
    let places: Vec<Place> = (0..count).filter_map(place).collect();
    let ordering = places.iter().filter(|p| matches!(p, Place::Ordering(_))).count();
    if ordering == ordinals.len() {
        Ok(places)
    } else {
        Err(format!("ordering columns {ordinals:?} name one twice"))
    }
}

/// A stored key, its logical columns in place.
#[derive(Debug, Clone, Copy)]
pub struct KeyView<'a> {
    layout: &'a KeyLayout,
    first: RowView<'a>,
    rest: RowView<'a>,
    time: i64,
}

/// Where a logical column of a key is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyColumn<'a> {
    /// In a column of a row.
    Slot(RowView<'a>, usize),
    /// A number that had been rewritten, as the word that a row would hold: in its low
    /// bytes, zero above.
    Word(u64),
    /// A null that had been rewritten.
    Null,
}

impl<'a> KeyView<'a> {
    /// The logical columns, in the order of the schema.
    #[must_use]
    pub fn fields(&self) -> &'a [Field] {
        &self.layout.fields
    }

    /// A logical column.
    ///
    /// # Errors
    /// A sentence when an ordering column is malformed, or there is no such column.
    #[inline]
    pub fn column(&self, column: usize) -> Result<KeyColumn<'a>, String> {
        match self.layout.places.get(column) {
            Some(Place::First(at)) => Ok(KeyColumn::Slot(self.first, *at)),
            Some(Place::Rest(at)) => Ok(KeyColumn::Slot(self.rest, *at)),
            Some(Place::Time) => Ok(KeyColumn::Word(self.time.cast_unsigned())),
            Some(Place::Ordering(at)) => {
                let bytes = self.first.bytes(*at).map_err(|wrong| wrong.to_string())?;
                let (marker, value) = bytes.split_first().ok_or("an ordering column is empty")?;
                let field = self.layout.fields.get(column);
                let data_type = field.map_or(&DataType::Void, |field| &field.data_type);
                ordering_word(*marker, value, data_type)
                    .map(|word| word.map_or(KeyColumn::Null, KeyColumn::Word))
            }
            None => Err(Malformed::NoColumn(column).to_string()),
        }
    }

    /// The value of a logical column.
    ///
    /// # Errors
    /// A sentence when it is malformed.
    pub fn value(&self, column: usize) -> Result<Value<'a>, String> {
        let field = self.layout.fields.get(column);
        let field = field.ok_or_else(|| Malformed::NoColumn(column).to_string())?;
        let value = match self.column(column) {
            Ok(KeyColumn::Slot(row, at)) => unsafe_row::column(row, at, &field.data_type),
            Ok(KeyColumn::Word(word)) => word_value(word, &field.data_type),
            Ok(KeyColumn::Null) => Ok(Value::Null),
            Err(reason) => Err(reason),
        };
        value.map_err(|reason| format!("column {:?}: {reason}", field.name))
    }

    /// The values of all logical columns.
    ///
    /// # Errors
    /// A sentence when one is malformed.
    pub fn values(&self) -> Result<Vec<Value<'a>>, String> {
        (0..self.layout.fields.len()).map(|column| self.value(column)).collect()
    }
}

/// The word of a rewritten ordering column: a mark, and the value big-endian in its natural
/// width, all bits inverted where a float is negative.
pub(super) fn ordering_word(
    marker: u8,
    value: &[u8],
    data_type: &DataType,
) -> Result<Option<u64>, String> {
    match marker {
        NULL => return Ok(None),
        NEGATIVE | NOT_NEGATIVE => {}
        other => return Err(format!("an ordering column with the mark {other}, expected 0 to 2")),
    }
    let width = data_type.width();
    if value.len() != width {
        return Err(format!("an ordering column of {} bytes, expected {width}", value.len()));
    }
    let inverted = marker == NEGATIVE && matches!(data_type, DataType::Float | DataType::Double);
    let mask = if inverted { 0xff } else { 0 };
    Ok(Some(value.iter().fold(0, |word, byte| word << 8 | u64::from(byte ^ mask))))
}

/// The value of a word that stands for itself.
pub(super) fn word_value(word: u64, data_type: &DataType) -> Result<Value<'static>, String> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
    Ok(match data_type {
        DataType::Boolean => Value::Boolean(word != 0),
        DataType::Byte => Value::Integer(i64::from(word as i8)),
        DataType::Short => Value::Integer(i64::from(word as i16)),
        DataType::Integer => Value::Integer(i64::from(word as i32)),
        DataType::Long => Value::Integer(word as i64),
        DataType::Float => Value::Float(f32::from_bits(word as u32)),
        DataType::Double => Value::Double(f64::from_bits(word)),
        DataType::Timestamp => Value::Timestamp(word as i64),
        DataType::TimestampNtz => Value::TimestampNtz(word as i64),
        other => return Err(format!("an ordering column of type {other:?}")),
    })
}

#[cfg(test)]
#[allow(clippy::decimal_bitwise_operands, clippy::needless_pass_by_value)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn field(name: &str, data_type: DataType) -> Field {
        Field { name: name.to_owned(), data_type }
    }

    /// A row of words: the bitmap and the slots.
    fn row(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn encoded(row: &[u8]) -> Vec<u8> {
        [&[0], row].concat()
    }

    fn prefixed(first: &[u8], rest: &[u8]) -> Vec<u8> {
        [&u32::try_from(first.len()).unwrap().to_le_bytes(), first, rest].concat()
    }

    fn layout(fields: Vec<Field>, encoder: KeyEncoder) -> KeyLayout {
        KeyLayout::new(fields, encoder, Framing::Encoded).unwrap()
    }

    fn longs(count: usize) -> Vec<Field> {
        (0..count).map(|at| field(&format!("c{at}"), DataType::Long)).collect()
    }

    #[test]
    fn encoders_by_the_names_of_schema_files() {
        let parse = |json: Json| KeyEncoder::parse(&json);
        assert_eq!(
            parse(
                json!({"keyStateEncoderType": "PrefixKeyScanStateEncoderSpec", "numColsPrefixKey": 2})
            ),
            Ok(KeyEncoder::PrefixScan { columns: 2 })
        );
        assert_eq!(
            parse(
                json!({"keyStateEncoderType": "RangeKeyScanStateEncoderSpec", "orderingOrdinals": [1, 0]})
            ),
            Ok(KeyEncoder::RangeScan { ordinals: vec![1, 0] })
        );
        assert_eq!(
            parse(json!({"keyStateEncoderType": "TimestampAsPostfixKeyStateEncoderSpec"})),
            Ok(KeyEncoder::TimePostfix)
        );
        for bad in [
            json!({}),
            json!({"keyStateEncoderType": "Next"}),
            json!({"keyStateEncoderType": "PrefixKeyScanStateEncoderSpec"}),
            json!({"keyStateEncoderType": "RangeKeyScanStateEncoderSpec", "orderingOrdinals": [-1]}),
        ] {
            assert!(parse(bad).is_err());
        }
        assert_eq!(KeyEncoder::prefix(0), KeyEncoder::NoPrefix);
    }

    #[test]
    fn encoders_must_fit_their_columns() {
        for encoder in [
            KeyEncoder::PrefixScan { columns: 3 },
            KeyEncoder::RangeScan { ordinals: vec![2] },
            KeyEncoder::RangeScan { ordinals: vec![1, 1] },
        ] {
            assert!(KeyLayout::new(longs(2), encoder, Framing::Encoded).is_err());
        }
        assert!(KeyLayout::new(vec![], KeyEncoder::TimePrefix, Framing::Encoded).is_err());
    }

    #[test]
    fn one_row_with_and_without_a_version() {
        let bytes = row(&[0b10, 5, 0]);
        let encoded = encoded(&bytes);
        let rocks = layout(longs(2), KeyEncoder::NoPrefix);
        let expected = vec![Value::Integer(5), Value::Null];
        assert_eq!(rocks.view(&encoded).unwrap().values().unwrap(), expected);
        let prefix = KeyEncoder::PrefixScan { columns: 1 };
        let hdfs = KeyLayout::new(longs(2), prefix, Framing::Bare).unwrap();
        assert_eq!(hdfs.view(&bytes).unwrap().values().unwrap(), expected);
        assert!(rocks.view(&bytes[1..]).is_err());
        let newer = [&[1], &bytes[..]].concat();
        assert!(rocks.view(&newer).unwrap_err().reason.contains("encoding version 1"));
        assert_eq!(rocks.view(&newer).unwrap_err().bytes, newer);
    }

    #[test]
    fn a_prefix_and_the_other_columns() {
        let first = encoded(&row(&[0, 1]));
        let rest = encoded(&row(&[0, 2, 3]));
        let key = prefixed(&first, &rest);
        let layout = layout(longs(3), KeyEncoder::PrefixScan { columns: 1 });
        let view = layout.view(&key).unwrap();
        assert_eq!(view.values().unwrap(), [1, 2, 3].map(Value::Integer));
        let KeyColumn::Slot(row, at) = view.column(2).unwrap() else { panic!("no slot") };
        assert_eq!(row.word(at), 3);
        assert!(view.column(3).is_err());
        assert!(layout.view(&prefixed(&first, b"")).is_err());
        assert!(layout.view(&[0xff, 0xff, 0xff, 0xff, 0]).is_err());
    }

    /// The worked example of the format's description: the timer index of transformWithState.
    #[test]
    fn a_timer_of_the_range_scan() {
        let grouping = [&row(&[0, 16 << 32 | 7])[..], b"key-001\0"].concat();
        // A struct column holds its row as a variable part: 24 bytes at offset 16.
        let rest = encoded(&[&row(&[0, 16 << 32 | 24])[..], &grouping].concat());
        let first = [
            &[0x00][..],
            &[0; 8],
            &[0x09, 0, 0, 0, 0x10, 0, 0, 0],
            &[0x01],
            &[0x00, 0x00, 0x01, 0xa2, 0x2d, 0x6e, 0x21, 0x18],
            &[0; 7],
        ]
        .concat();
        assert_eq!(first.len(), 0x21);
        let key = prefixed(&first, &rest);
        let fields = vec![
            field("expiryTimestampMs", DataType::Long),
            field("key", DataType::Struct(vec![field("value", DataType::String)])),
        ];
        let layout = layout(fields, KeyEncoder::RangeScan { ordinals: vec![0] });
        let values = layout.view(&key).unwrap().values().unwrap();
        assert_eq!(values[0], Value::Integer(0x01a2_2d6e_2118));
        let Value::Struct(_, inner) = &values[1] else { panic!("no struct") };
        assert_eq!(inner[..], [Value::String("key-001".into())]);
    }

    #[test]
    fn ordering_columns_of_each_width_and_sign() {
        let word = |marker, value: &[u8], data_type| ordering_word(marker, value, &data_type);
        let value = |marker, bytes: &[u8], data_type: DataType| {
            let word = ordering_word(marker, bytes, &data_type).unwrap().unwrap();
            format!("{:?}", word_value(word, &data_type).unwrap())
        };
        assert_eq!(value(0, &[0xfe], DataType::Byte), "Integer(-2)");
        assert_eq!(value(0, &[0xff, 0xfe], DataType::Short), "Integer(-2)");
        assert_eq!(value(1, &[0, 0, 1, 2], DataType::Integer), "Integer(258)");
        // -1.5 is 0xbfc00000, all bits inverted.
        assert_eq!(value(0, &[0x40, 0x3f, 0xff, 0xff], DataType::Float), "Float(-1.5)");
        assert_eq!(value(1, &[0x3f, 0xf8, 0, 0, 0, 0, 0, 0], DataType::Double), "Double(1.5)");
        assert_eq!(word(2, &[0; 8], DataType::Long), Ok(None));
        assert!(word(3, &[0; 8], DataType::Long).is_err());
        assert!(word(1, &[0; 4], DataType::Long).is_err());
        assert!(word(1, &[], DataType::Boolean).is_err(), "Spark writes no bytes for it");
    }

    #[test]
    fn ordering_columns_go_back_to_their_places() {
        // Schema [a, b, c], ordered by c, then a; the ordering row has two binary columns.
        let parts = [9_u64 | 24 << 32, 9_u64 | 40 << 32];
        let mut first = row(&[0, parts[0], parts[1]]);
        for value in [30_i64, 10] {
            first.extend([&[1][..], &value.to_be_bytes(), &[0; 7]].concat());
        }
        let key = prefixed(&encoded(&first), &encoded(&row(&[0, 20])));
        let layout = layout(longs(3), KeyEncoder::RangeScan { ordinals: vec![2, 0] });
        let view = layout.view(&key).unwrap();
        assert_eq!(view.values().unwrap(), [10, 20, 30].map(Value::Integer));
        assert_eq!(view.column(0).unwrap(), KeyColumn::Word(10));
    }

    #[test]
    fn times_before_and_after() {
        let fields =
            || vec![field("field0", DataType::Long), field("__event_time", DataType::Long)];
        let encoded = encoded(&row(&[0, 5]));
        let expected = [5, -2].map(Value::Integer);
        // -2 is 0xff..fe; its sign bit flipped makes 0x7f..fe.
        let time = [0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe];
        let key = [&time[..], &encoded].concat();
        let prefix = layout(fields(), KeyEncoder::TimePrefix);
        assert_eq!(prefix.view(&key).unwrap().values().unwrap(), expected);
        let key = [&encoded[..], &time].concat();
        let postfix = layout(fields(), KeyEncoder::TimePostfix);
        assert_eq!(postfix.view(&key).unwrap().values().unwrap(), expected);
        assert!(postfix.view(&key[..7]).is_err());
    }

    proptest! {
        #[test]
        fn no_key_panics(bytes in prop::collection::vec(any::<u8>(), 0..80), which in 0..5_usize) {
            let encoder = [
                KeyEncoder::NoPrefix,
                KeyEncoder::PrefixScan { columns: 1 },
                KeyEncoder::RangeScan { ordinals: vec![1] },
                KeyEncoder::TimePrefix,
                KeyEncoder::TimePostfix,
            ][which].clone();
            let fields = vec![field("a", DataType::String), field("b", DataType::Long)];
            let layout = layout(fields, encoder);
            if let Ok(view) = layout.view(&bytes) {
                let _ = view.values();
            }
        }
    }
}
