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
    #[inline]
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
#[inline]
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

    #[inline]
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

    /// The row and slot of a logical column that is kept as it is.
    #[must_use]
    #[inline]
    pub fn slot(&self, column: usize) -> Option<(&RowView<'a>, usize)> {
        match self.layout.places.get(column)? {
            Place::First(at) => Some((&self.first, *at)),
            Place::Rest(at) => Some((&self.rest, *at)),
            Place::Ordering(_) | Place::Time => None,
        }
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
mod tests;
