//! Keys and values of one column family, from stored bytes to values.
//!
//! A [`FamilyDecoder`] knows everything that decides how rows lie in bytes: schemas, key
//! encoder, encoding, provider, lists and checksums. Keys are given without their column
//! family prefix, except to [`FamilyDecoder::verify`].

use super::avro::Record;
use super::checksum::{self, ChecksumMismatch};
use super::key::{Framing, KeyEncoder, KeyLayout, KeyParts, KeyView, Place, ordering_word};
use super::key::{versioned, word_value};
use super::types::{DataType, Field};
use super::unsafe_row;
use super::value::{Undecodable, Value};
use super::view::RowView;
use crate::checkpoint::Encoding;
use crate::state::lists::{Element, Elements, ListLayout};
use crate::state::rocks::MergeDelimiter;
use crate::state::schema::FamilySchema;

/// Whether each value has a checksum before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowChecksums {
    /// Values are as encoded.
    Absent,
    /// Values are preceded by a CRC-32C.
    Present,
}

/// How the rows of a family are stored.
#[derive(Debug, Clone)]
pub struct FamilyLayout<'s> {
    /// The family's schemas, the one in force last. More than one only with Avro.
    pub schemas: &'s [&'s FamilySchema],
    /// The key encoder; [`KeyEncoder::prefix`] where the schema file names none.
    pub encoder: KeyEncoder,
    /// The encoding. Only transformWithState keeps Avro; other operators of a query that
    /// pins it keep `UnsafeRow`s.
    pub encoding: Encoding,
    /// The provider's way.
    pub framing: Framing,
    /// What merges put between elements, where values are lists.
    pub lists: Option<MergeDelimiter>,
    /// Whether values have checksums.
    pub checksums: RowChecksums,
}

/// Decodes the rows of one column family.
#[derive(Debug, Clone)]
pub struct FamilyDecoder {
    key: KeyLayout,
    value: Vec<Field>,
    rows: Rows,
    framing: Framing,
    wrapping: Wrapping,
}

#[derive(Debug, Clone)]
enum Rows {
    Unsafe,
    Avro(AvroRows),
}

/// What is around an encoded value.
#[derive(Debug, Clone, Copy)]
enum Wrapping {
    Nothing,
    /// HDFS: a checksum alone.
    Checksum,
    /// A checksum and a length: one list element.
    Element(ListLayout),
    List(ListLayout),
}

/// The schemas of Avro rows by their ids, the one in force last.
#[derive(Debug, Clone)]
struct AvroRows {
    keys: Vec<(i16, AvroKey)>,
    values: Vec<(i16, Record)>,
}

/// The records that a key is made of.
#[derive(Debug, Clone)]
struct AvroKey {
    first: Record,
    rest: Record,
}

/// A key's columns, as cheaply as its encoding allows.
#[derive(Debug, Clone)]
pub enum KeyColumns<'a> {
    /// In place, of `UnsafeRow`s.
    View(KeyView<'a>),
    /// Decoded, of Avro.
    Values(Vec<Value<'a>>),
}

impl FamilyDecoder {
    /// A decoder of such rows.
    ///
    /// # Errors
    /// A sentence when the layout is one that is not known: nothing can be decoded then.
    pub fn new(layout: FamilyLayout<'_>) -> Result<Self, String> {
        let current = layout.schemas.last().ok_or("no schema of the family")?;
        let fields = DataType::columns(&current.key)?;
        let rows = match &layout.encoding {
            Encoding::UnsafeRow => Rows::Unsafe,
            Encoding::Avro if layout.framing == Framing::Bare => {
                return Err("Avro rows in an HDFS-backed store are not known".to_owned());
            }
            Encoding::Avro => Rows::Avro(AvroRows::new(layout.schemas, &layout.encoder)?),
            Encoding::Other(name) => return Err(format!("the encoding {name:?} is not known")),
        };
        let checksums = layout.checksums == RowChecksums::Present;
        let wrapping = match (layout.lists, layout.framing) {
            (Some(delimiter), _) => Wrapping::List(ListLayout { delimiter, checksums }),
            (None, _) if !checksums => Wrapping::Nothing,
            (None, Framing::Bare) => Wrapping::Checksum,
            (None, Framing::Encoded) => {
                let delimiter = MergeDelimiter::Nothing;
                Wrapping::Element(ListLayout { delimiter, checksums })
            }
        };
        Ok(Self {
            key: KeyLayout::new(fields, layout.encoder, layout.framing)?,
            value: DataType::columns(&current.value)?,
            rows,
            framing: layout.framing,
            wrapping,
        })
    }

    /// The key's columns.
    #[must_use]
    pub fn key_fields(&self) -> &[Field] {
        self.key.fields()
    }

    /// The columns of a value, or of each element of a list.
    #[must_use]
    pub fn value_fields(&self) -> &[Field] {
        &self.value
    }

    /// Decodes a key to a struct of its columns in the order of the schema.
    ///
    /// # Errors
    /// With the reason and the key's bytes.
    pub fn key<'a>(&'a self, raw: &'a [u8]) -> Result<Value<'a>, Undecodable<'a>> {
        self.key_of(raw, self.key_columns(raw)?)
    }

    /// As [`Self::key`], of a key whose columns were found already.
    ///
    /// # Errors
    /// As [`Self::key`].
    pub fn key_of<'a>(
        &'a self,
        raw: &'a [u8],
        columns: KeyColumns<'a>,
    ) -> Result<Value<'a>, Undecodable<'a>> {
        let values = match columns {
            KeyColumns::View(view) => {
                view.values().map_err(|reason| Undecodable { reason, bytes: raw })?
            }
            KeyColumns::Values(values) => values,
        };
        Ok(Value::Struct(self.key.fields(), values))
    }

    /// A key's columns for hashing and grouping: in place where the encoding allows it.
    ///
    /// # Errors
    /// With the reason and the key's bytes. Columns in place are checked when asked for.
    #[inline]
    pub fn key_columns<'a>(&'a self, raw: &'a [u8]) -> Result<KeyColumns<'a>, Undecodable<'a>> {
        match &self.rows {
            Rows::Unsafe => self.key.view(raw).map(KeyColumns::View),
            Rows::Avro(avro) => avro
                .key(&self.key, raw)
                .map(KeyColumns::Values)
                .map_err(|reason| Undecodable { reason, bytes: raw }),
        }
    }

    /// Decodes a value: one struct for a plain value, one per element for a list. Checksums
    /// are passed over, not checked.
    pub fn values<'a>(&'a self, raw: &'a [u8]) -> Values<'a> {
        Values { decoder: self, parts: self.parts(raw) }
    }

    /// The encoded rows of a value, one per list element, for [`Self::value_view`].
    pub fn parts<'a>(&self, raw: &'a [u8]) -> Parts<'a> {
        match self.wrapping {
            Wrapping::Nothing => Parts::One(Some(Ok(raw))),
            Wrapping::Checksum => {
                let row = raw.split_first_chunk::<4>().map(|(_, row)| row);
                Parts::One(Some(row.ok_or_else(|| undecodable("no checksum", raw))))
            }
            Wrapping::Element(layout) => {
                let mut elements = layout.elements(raw);
                let only = match (elements.next(), elements.next()) {
                    (Some(Ok(element)), None) => Ok(element.bytes),
                    _ => Err(undecodable("no checksum and length around the value", raw)),
                };
                Parts::One(Some(only))
            }
            Wrapping::List(layout) => Parts::List(layout.elements(raw)),
        }
    }

    /// Looks into an encoded row of a value; `None` where the encoding has no such rows.
    ///
    /// # Errors
    /// With the reason and the row's bytes.
    pub fn value_view<'a>(
        &self,
        encoded: &'a [u8],
    ) -> Result<Option<RowView<'a>>, Undecodable<'a>> {
        match self.rows {
            Rows::Avro(_) => Ok(None),
            Rows::Unsafe => {
                let view = self.unframed(encoded).and_then(|row| {
                    RowView::row(row, self.value.len()).map_err(|wrong| wrong.to_string())
                });
                view.map(Some).map_err(|reason| Undecodable { reason, bytes: encoded })
            }
        }
    }

    /// Decodes one encoded row of a value.
    ///
    /// # Errors
    /// With the reason and the row's bytes.
    pub fn value<'a>(&'a self, encoded: &'a [u8]) -> Result<Value<'a>, Undecodable<'a>> {
        let wrong = |reason| Undecodable { reason, bytes: encoded };
        match &self.rows {
            Rows::Unsafe => {
                let row = self.unframed(encoded).map_err(wrong)?;
                unsafe_row::decode(row, &self.value).map_err(|error| wrong(error.reason))
            }
            Rows::Avro(avro) => avro.value(encoded).map_err(wrong),
        }
    }

    fn unframed<'a>(&self, encoded: &'a [u8]) -> Result<&'a [u8], String> {
        match self.framing {
            Framing::Encoded => versioned(encoded),
            Framing::Bare => Ok(encoded),
        }
    }

    /// Checks the checksums of a value and returns how many there were, 0 where the store
    /// has none. The key is as stored, with its column family prefix.
    ///
    /// # Errors
    /// With the first element whose checksum is another one.
    pub fn verify(&self, key: &[u8], value: &[u8]) -> Result<u64, ChecksumMismatch> {
        let layout = match self.wrapping {
            Wrapping::Nothing => return Ok(0),
            Wrapping::Checksum => {
                let parts = value.split_first_chunk::<4>();
                let (stored, row) = parts.ok_or(ChecksumMismatch::Layout { element: 0 })?;
                return checksum::check(0, u32::from_le_bytes(*stored), key, row).map(|()| 1);
            }
            Wrapping::Element(layout) | Wrapping::List(layout) => layout,
        };
        let mut checked = 0;
        for element in layout.elements(value) {
            let element = element.map_err(|_| ChecksumMismatch::Layout { element: checked })?;
            if let Some(stored) = element.checksum {
                checksum::check(checked, stored, key, element.bytes)?;
                checked += 1;
            }
        }
        match (self.wrapping, checked) {
            (Wrapping::Element(_), 0 | 2..) => Err(ChecksumMismatch::Layout { element: 0 }),
            _ => Ok(checked),
        }
    }
}

fn undecodable<'a>(reason: &str, bytes: &'a [u8]) -> Undecodable<'a> {
    Undecodable { reason: reason.to_owned(), bytes }
}

impl AvroRows {
    fn new(schemas: &[&FamilySchema], encoder: &KeyEncoder) -> Result<Self, String> {
        let keys = schemas.iter().map(|schema| {
            let record = Record::parse(&schema.key)?;
            Ok::<_, String>((schema.key_schema_id, AvroKey::new(&record, encoder)))
        });
        let values = schemas
            .iter()
            .map(|schema| Ok::<_, String>((schema.value_schema_id, Record::parse(&schema.value)?)));
        Ok(Self {
            keys: keys.collect::<Result<_, _>>()?,
            values: values.collect::<Result<_, _>>()?,
        })
    }

    /// The schema id and what follows it.
    fn identified(bytes: &[u8]) -> Result<(i16, &[u8]), String> {
        let (id, body) = versioned(bytes)?.split_first_chunk().ok_or("no schema id")?;
        Ok((i16::from_le_bytes(*id), body))
    }

    fn value<'a>(&'a self, encoded: &'a [u8]) -> Result<Value<'a>, String> {
        let (id, body) = Self::identified(encoded)?;
        let (_, current) = self.values.last().ok_or("no value schema")?;
        let writer = by_id(&self.values, id)?;
        let values = writer.decode(body)?;
        let values =
            if std::ptr::eq(writer, current) { values } else { current.resolve(writer, values)? };
        Ok(Value::Struct(&current.fields, values))
    }

    fn key<'a>(&'a self, layout: &'a KeyLayout, raw: &'a [u8]) -> Result<Vec<Value<'a>>, String> {
        let parts = layout.encoder().split(raw)?;
        let split = matches!(
            layout.encoder(),
            KeyEncoder::PrefixScan { .. } | KeyEncoder::RangeScan { .. }
        );
        // The part that is searched by has no schema id; the other one has it.
        let (key, first, rest) = match (split, parts.rest) {
            (true, Some(rest)) => {
                let (id, body) = Self::identified(rest)?;
                let key = by_id(&self.keys, id)?;
                (key, versioned(parts.first)?, key.rest.decode(body)?)
            }
            (true, None) => {
                let (_, key) = self.keys.last().ok_or("no key schema")?;
                (key, versioned(parts.first)?, Vec::new())
            }
            (false, _) => {
                let (id, body) = Self::identified(parts.first)?;
                (by_id(&self.keys, id)?, body, Vec::new())
            }
        };
        assemble(layout, key.first.decode(first)?, rest, &parts)
    }
}

/// Where several schemas have one id, the last is the one in force.
fn by_id<T>(schemas: &[(i16, T)], id: i16) -> Result<&T, String> {
    let found = schemas.iter().rev().find(|(other, _)| *other == id);
    found.map(|(_, schema)| schema).ok_or_else(|| format!("no schema of id {id}"))
}

/// The logical columns of a key from its parts. Ordering columns are two binary values each.
fn assemble<'a>(
    layout: &'a KeyLayout,
    first: Vec<Value<'a>>,
    rest: Vec<Value<'a>>,
    parts: &KeyParts<'_>,
) -> Result<Vec<Value<'a>>, String> {
    let mut first: Vec<Option<Value<'a>>> = first.into_iter().map(Some).collect();
    let mut rest: Vec<Option<Value<'a>>> = rest.into_iter().map(Some).collect();
    let mut column = |(place, field): (&Place, &'a Field)| {
        let missing = || format!("no column {:?}", field.name);
        match place {
            Place::First(at) => first.get_mut(*at).and_then(Option::take).ok_or_else(missing),
            Place::Rest(at) => rest.get_mut(*at).and_then(Option::take).ok_or_else(missing),
            Place::Time => Ok(Value::Integer(parts.time)),
            Place::Ordering(at) => match (first.get(2 * at), first.get(2 * at + 1)) {
                (Some(Some(Value::Binary(marker))), Some(Some(Value::Binary(value)))) => {
                    let [marker] = marker[..] else { return Err(missing()) };
                    match ordering_word(marker, value, &field.data_type)? {
                        Some(word) => word_value(word, &field.data_type),
                        None => Ok(Value::Null),
                    }
                }
                _ => Err(missing()),
            },
        }
    };
    layout.places().iter().zip(layout.fields()).map(&mut column).collect()
}

impl AvroKey {
    fn new(key: &Record, encoder: &KeyEncoder) -> Self {
        let count = key.fields.len();
        match encoder {
            KeyEncoder::NoPrefix => Self { first: key.clone(), rest: key.select(0..0) },
            KeyEncoder::PrefixScan { columns } => {
                Self { first: key.select(0..*columns), rest: key.select(*columns..count) }
            }
            KeyEncoder::RangeScan { ordinals } => {
                let rest = key.select((0..count).filter(|at| !ordinals.contains(at)));
                Self { first: Record::ordering(ordinals.len()), rest }
            }
            KeyEncoder::TimePrefix | KeyEncoder::TimePostfix => {
                Self { first: key.select(0..count.saturating_sub(1)), rest: key.select(0..0) }
            }
        }
    }
}

/// The encoded rows of a value.
#[derive(Debug, Clone)]
pub enum Parts<'a> {
    /// A plain value, until it is taken.
    One(Option<Result<&'a [u8], Undecodable<'a>>>),
    /// The elements of a list.
    List(Elements<'a>),
}

impl<'a> Iterator for Parts<'a> {
    type Item = Result<&'a [u8], Undecodable<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::One(part) => part.take(),
            Self::List(elements) => {
                let wrong = |bytes| undecodable("no list element of the expected layout", bytes);
                Some(match elements.next()? {
                    Ok(Element { checksum: None, bytes }) => Ok(bytes),
                    // What the checksum is of is a whole element, its length included.
                    Ok(Element { checksum: Some(_), bytes }) => {
                        only_element(bytes).ok_or_else(|| wrong(bytes))
                    }
                    Err(rest) => Err(wrong(rest.0)),
                })
            }
        }
    }
}

/// The bytes of the one element that fills `bytes`: a length and that many.
fn only_element(bytes: &[u8]) -> Option<&[u8]> {
    let (length, element) = bytes.split_first_chunk()?;
    let length = usize::try_from(i32::from_le_bytes(*length)).ok()?;
    (element.len() == length).then_some(element)
}

/// The decoded rows of a value.
#[derive(Debug, Clone)]
pub struct Values<'a> {
    decoder: &'a FamilyDecoder,
    parts: Parts<'a>,
}

impl<'a> Iterator for Values<'a> {
    type Item = Result<Value<'a>, Undecodable<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.parts.next()?.and_then(|encoded| self.decoder.value(encoded)))
    }
}

#[cfg(test)]
mod tests;
