//! State rows in Avro's binary encoding (`encodingFormat=avro`, 4.0+).
//!
//! Which Avro schema a Spark schema becomes is `SchemaConverters.toAvroTypeWithDefaults`:
//! structs are records, columns that may be null are unions `[null, T]`, small integers are ints,
//! decimals are fixed, dates and times are ints and longs. There is no header: the writer's
//! schema must be known. A row written under an older schema is read as Avro resolves it to
//! the newer one: columns by name, new ones at their default.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::types::{DataType, Field};
use super::unsafe_row::wide_integer;
use super::value::{MAX_ELEMENTS, Value};

/// A struct as an Avro record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) fields: Vec<Field>,
    nodes: Vec<Node>,
}

/// The Avro form of a column, element or map value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Node {
    nullable: bool,
    shape: Shape,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Shape {
    Leaf(DataType),
    Record(Record),
    Array(Box<Node>),
    Map(Box<Node>),
}

impl Record {
    /// From a `StructType` JSON. Unlike in rows of Spark's own layout, it matters here
    /// whether a column may be null.
    pub(super) fn parse(schema: &Json) -> Result<Self, String> {
        Self::new(DataType::columns(schema)?, schema)
    }

    fn new(fields: Vec<Field>, schema: &Json) -> Result<Self, String> {
        let columns = schema.get("fields").and_then(Json::as_array).ok_or("no fields")?;
        let nodes = fields.iter().zip(columns).map(|(field, json)| {
            let data_type = json.get("type").unwrap_or(&Json::Null);
            Node::new(&field.data_type, data_type, flag(json, "nullable"))
        });
        let nodes = nodes.collect::<Result<_, _>>()?;
        Ok(Self { fields, nodes })
    }

    /// The record of the ordering columns of a range scan: a mark and a value each, binary
    /// (`StateStoreColumnFamilySchemaUtils.convertForRangeScan`).
    pub(super) fn ordering(columns: usize) -> Self {
        let column = |name: &str| {
            let field = Field { name: name.to_owned(), data_type: DataType::Binary };
            (field, Node { nullable: true, shape: Shape::Leaf(DataType::Binary) })
        };
        let (fields, nodes) =
            (0..columns).flat_map(|_| [column("marker"), column("value")]).unzip();
        Self { fields, nodes }
    }

    /// The record of some of the columns.
    pub(super) fn select(&self, columns: impl Iterator<Item = usize>) -> Self {
        let pick = |at: usize| Some((self.fields.get(at)?.clone(), self.nodes.get(at)?.clone()));
        let (fields, nodes) = columns.filter_map(pick).unzip();
        Self { fields, nodes }
    }

    /// Decodes a record that takes all of `body`.
    pub(super) fn decode<'a>(&'a self, body: &'a [u8]) -> Result<Vec<Value<'a>>, String> {
        let mut input = Input { bytes: body, elements: MAX_ELEMENTS };
        let values = self.read(&mut input)?;
        match input.bytes.len() {
            0 => Ok(values),
            left => Err(format!("{left} bytes are left after the Avro record")),
        }
    }

    fn read<'a>(&'a self, input: &mut Input<'a>) -> Result<Vec<Value<'a>>, String> {
        let mut values = Vec::with_capacity(self.nodes.len());
        for (node, field) in self.nodes.iter().zip(&self.fields) {
            let value = node.read(input);
            values.push(value.map_err(|reason| format!("column {:?}: {reason}", field.name))?);
        }
        Ok(values)
    }

    /// The values of a row that was written under `writer`, as this schema has them.
    pub(super) fn resolve<'a>(
        &'a self,
        writer: &Self,
        values: Vec<Value<'a>>,
    ) -> Result<Vec<Value<'a>>, String> {
        let mut written: Vec<Option<Value<'a>>> = values.into_iter().map(Some).collect();
        let column = |(field, node): (&Field, &'a Node)| {
            let at = writer.fields.iter().position(|other| other.name == field.name);
            let value =
                at.and_then(|at| Some((written.get_mut(at)?.take()?, writer.nodes.get(at)?)));
            let value = match value {
                Some((value, from)) => node.resolve(from, value),
                None => node.default(),
            };
            value.map_err(|reason| format!("column {:?}: {reason}", field.name))
        };
        self.fields.iter().zip(&self.nodes).map(column).collect()
    }
}

/// Absent means true, as in Spark's own parser of older schemas.
fn flag(json: &Json, name: &str) -> bool {
    json.get(name).and_then(Json::as_bool).unwrap_or(true)
}

impl Node {
    fn new(data_type: &DataType, json: &Json, nullable: bool) -> Result<Self, String> {
        // User defined types are as their SQL type.
        let json = json.get("sqlType").unwrap_or(json);
        let part = |name| json.get(name).unwrap_or(&Json::Null);
        let shape = match data_type {
            DataType::Struct(fields) => Shape::Record(Record::new(fields.clone(), json)?),
            DataType::Array(element) => {
                Shape::Array(Box::new(Self::element(element, part("elementType"))?))
            }
            DataType::Map(key, value) if **key == DataType::String => {
                Shape::Map(Box::new(Self::element(value, part("valueType"))?))
            }
            leaf => Shape::Leaf(leaf.clone()),
        };
        Ok(Self { nullable: nullable && *data_type != DataType::Void, shape })
    }

    /// An element of an array or a value of a map: a union where it has parts of its own, and
    /// none where it has not, whatever the schema says of nulls (Spark refuses to write a null
    /// there).
    fn element(data_type: &DataType, json: &Json) -> Result<Self, String> {
        let has_parts =
            matches!(data_type, DataType::Struct(_) | DataType::Array(_) | DataType::Map(..));
        Self::new(data_type, json, has_parts)
    }

    fn read<'a>(&'a self, input: &mut Input<'a>) -> Result<Value<'a>, String> {
        if self.nullable {
            match input.long()? {
                0 => return Ok(Value::Null),
                1 => {}
                branch => return Err(format!("branch {branch} of a union of null and a type")),
            }
        }
        match &self.shape {
            Shape::Leaf(data_type) => leaf(data_type, input),
            Shape::Record(record) => Ok(Value::Struct(&record.fields, record.read(input)?)),
            Shape::Array(element) => {
                let mut values = Vec::new();
                input.blocks(|input| {
                    values.push(element.read(input)?);
                    Ok(())
                })?;
                Ok(Value::Array(values))
            }
            Shape::Map(value) => {
                let mut entries = Vec::new();
                input.blocks(|input| {
                    entries.push((text(input)?, value.read(input)?));
                    Ok(())
                })?;
                Ok(Value::Map(entries))
            }
        }
    }

    /// What Avro's schema resolution makes of a value of another type.
    #[allow(clippy::cast_precision_loss)]
    fn resolve<'a>(&'a self, writer: &Self, value: Value<'a>) -> Result<Value<'a>, String> {
        Ok(match (&self.shape, &writer.shape, value) {
            (_, _, Value::Null) if self.nullable => Value::Null,
            (Shape::Record(to), Shape::Record(from), Value::Struct(_, values)) => {
                Value::Struct(&to.fields, to.resolve(from, values)?)
            }
            (Shape::Array(to), Shape::Array(from), Value::Array(values)) => {
                let values = values.into_iter().map(|value| to.resolve(from, value));
                Value::Array(values.collect::<Result<_, _>>()?)
            }
            (Shape::Map(to), Shape::Map(from), Value::Map(entries)) => {
                let entry = |(key, value)| Ok::<_, String>((key, to.resolve(from, value)?));
                Value::Map(entries.into_iter().map(entry).collect::<Result<_, _>>()?)
            }
            (Shape::Leaf(to), Shape::Leaf(from), value) if to == from => value,
            (Shape::Leaf(to), Shape::Leaf(_), value) => match (to, value) {
                (
                    DataType::Long | DataType::Integer | DataType::Short | DataType::Byte,
                    value @ Value::Integer(_),
                ) => value,
                (DataType::Float, Value::Integer(number)) => Value::Float(number as f32),
                (DataType::Double, Value::Integer(number)) => Value::Double(number as f64),
                (DataType::Double, Value::Float(number)) => Value::Double(f64::from(number)),
                (DataType::Binary, Value::String(text)) => Value::Binary(match text {
                    Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                    Cow::Owned(text) => Cow::Owned(text.into_bytes()),
                }),
                (to, _) => return Err(format!("written as another type than {to:?}")),
            },
            _ => return Err("written as another type than the schema has now".to_owned()),
        })
    }

    /// The value of a column that the writer did not have.
    fn default(&self) -> Result<Value<'_>, String> {
        if self.nullable {
            return Ok(Value::Null);
        }
        Ok(match &self.shape {
            Shape::Leaf(DataType::Void) => Value::Null,
            Shape::Leaf(DataType::Boolean) => Value::Boolean(false),
            Shape::Leaf(DataType::Integer | DataType::Long) => Value::Integer(0),
            Shape::Leaf(DataType::Float) => Value::Float(0.0),
            Shape::Leaf(DataType::Double) => Value::Double(0.0),
            Shape::Leaf(DataType::String) => Value::String(Cow::Borrowed("")),
            Shape::Leaf(DataType::Binary) => Value::Binary(Cow::Borrowed(b"")),
            Shape::Leaf(DataType::Date) => Value::Date(0),
            Shape::Leaf(DataType::Timestamp) => Value::Timestamp(0),
            Shape::Leaf(DataType::TimestampNtz) => Value::TimestampNtz(0),
            Shape::Array(_) => Value::Array(Vec::new()),
            Shape::Map(_) => Value::Map(Vec::new()),
            _ => return Err("the row was written without it, and it has no default".to_owned()),
        })
    }
}

fn leaf<'a>(data_type: &'a DataType, input: &mut Input<'a>) -> Result<Value<'a>, String> {
    Ok(match data_type {
        DataType::Void => Value::Null,
        DataType::Boolean => match input.array()? {
            [0] => Value::Boolean(false),
            [1] => Value::Boolean(true),
            [other] => return Err(format!("the truth value {other}")),
        },
        DataType::Byte => Value::Integer(input.int::<i8>()?.into()),
        DataType::Short => Value::Integer(input.int::<i16>()?.into()),
        DataType::Integer => Value::Integer(input.int::<i32>()?.into()),
        DataType::Long => Value::Integer(input.long()?),
        DataType::Float => Value::Float(f32::from_le_bytes(input.array()?)),
        DataType::Double => Value::Double(f64::from_le_bytes(input.array()?)),
        DataType::Decimal { precision, scale } => {
            let bytes = input.take(decimal_size(*precision))?;
            Value::Decimal { unscaled: wide_integer(bytes)?, scale: *scale }
        }
        DataType::String => text(input)?,
        DataType::Binary => Value::Binary(Cow::Borrowed(input.counted()?)),
        DataType::Date => Value::Date(input.int()?),
        DataType::Timestamp => Value::Timestamp(input.long()?),
        DataType::TimestampNtz => Value::TimestampNtz(input.long()?),
        DataType::YearMonthInterval(units) => Value::YearMonthInterval(input.int()?, *units),
        DataType::DayTimeInterval(units) => Value::DayTimeInterval(input.long()?, *units),
        other => return Err(format!("Spark has no Avro form of {other:?} that is known")),
    })
}

fn text<'a>(input: &mut Input<'a>) -> Result<Value<'a>, String> {
    let text = std::str::from_utf8(input.counted()?);
    Ok(Value::String(Cow::Borrowed(text.map_err(|error| format!("text is no UTF-8: {error}"))?)))
}

/// Bytes that hold any decimal of that many digits (`Decimal.minBytesForPrecision`): the
/// fewest n with 10^precision <= 2^(8n - 1).
fn decimal_size(precision: u8) -> usize {
    let largest = 10_u128.checked_pow(u32::from(precision)).unwrap_or(u128::MAX);
    (1..16).find(|size| largest <= 1_u128 << (8 * size - 1)).unwrap_or(16)
}

/// Bytes not read yet.
struct Input<'a> {
    bytes: &'a [u8],
    /// How many more elements there may be; some take no bytes.
    elements: usize,
}

impl<'a> Input<'a> {
    fn take(&mut self, size: usize) -> Result<&'a [u8], String> {
        let (head, tail) = self
            .bytes
            .split_at_checked(size)
            .ok_or_else(|| format!("{} bytes left, expected {size} more", self.bytes.len()))?;
        self.bytes = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.take(N)?.try_into().map_err(|_| "it ends early".to_owned())
    }

    /// A zigzag number of 7 bits a byte, the lowest first.
    fn long(&mut self) -> Result<i64, String> {
        let mut number = 0_u64;
        for shift in (0..70).step_by(7) {
            let [byte] = self.array()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or_default();
            if byte & 0x80 == 0 {
                return Ok((number >> 1).cast_signed() ^ -((number & 1).cast_signed()));
            }
        }
        Err("a number of more than 10 bytes".to_owned())
    }

    fn int<T: TryFrom<i64>>(&mut self) -> Result<T, String> {
        let number = self.long()?;
        T::try_from(number).map_err(|_| format!("{number} is too large for its type"))
    }

    fn counted(&mut self) -> Result<&'a [u8], String> {
        let size = self.int::<i64>()?;
        self.take(usize::try_from(size).map_err(|_| format!("a text of {size} bytes"))?)
    }

    /// Reads blocks of items up to the empty one.
    fn blocks(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        loop {
            let count = self.long()?;
            if count == 0 {
                return Ok(());
            }
            if count < 0 {
                // A negative count is followed by the block's size in bytes.
                self.long()?;
            }
            for _ in 0..count.unsigned_abs() {
                self.elements = self.elements.checked_sub(1).ok_or("too many elements")?;
                item(self)?;
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::decimal_bitwise_operands, clippy::needless_pass_by_value)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn record(fields: Json) -> Record {
        Record::parse(&json!({"type": "struct", "fields": fields})).unwrap()
    }

    fn column(name: &str, data_type: Json, nullable: bool) -> Json {
        json!({"name": name, "type": data_type, "nullable": nullable, "metadata": {}})
    }

    #[test]
    fn a_record_of_scalars() {
        let record = record(json!([
            column("n", json!("integer"), true),
            column("last", json!("string"), true),
            column("at", json!("long"), false),
            column("gone", json!("void"), true),
        ]));
        // As a fixture has it: 3, "p-000-016"; then a long that cannot be null, zigzag -1.
        let body = [&[2, 6, 2, 0x12][..], b"p-000-016", &[1]].concat();
        let expected = vec![
            Value::Integer(3),
            Value::String("p-000-016".into()),
            Value::Integer(-1),
            Value::Null,
        ];
        assert_eq!(record.decode(&body).unwrap(), expected);
        assert_eq!(record.decode(&[0, 0, 0]).unwrap()[..2], [Value::Null, Value::Null]);
        assert!(record.decode(&[0, 0, 0, 0]).unwrap_err().contains("1 bytes are left"));
        assert!(record.decode(&[4, 0, 0]).unwrap_err().contains("branch 2"));
        assert!(record.decode(&body[..6]).is_err());
    }

    #[test]
    fn nested_types() {
        let record = record(json!([
            column(
                "list",
                json!({"type": "array", "elementType": "short", "containsNull": true}),
                false
            ),
            column(
                "map",
                json!({"type": "map", "keyType": "string", "valueType": "double", "valueContainsNull": false}),
                false
            ),
            column("d", json!("decimal(10,2)"), false),
            column("w", json!("decimal(30,4)"), true),
        ]));
        // 10 digits need 5 bytes, 30 digits 13.
        let body = [
            &[4, 3, 0, 0][..],
            &[1, 20, 2, b'k', 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0],
            &[0xff, 0xff, 0xff, 0xff, 0xfe],
            &[2],
            &[0; 12],
            &[7],
        ]
        .concat();
        assert_eq!(
            record.decode(&body).unwrap(),
            vec![
                Value::Array(vec![Value::Integer(-2), Value::Integer(0)]),
                Value::Map(vec![(Value::String("k".into()), Value::Double(1.5))]),
                Value::Decimal { unscaled: -2, scale: 2 },
                Value::Decimal { unscaled: 7, scale: 4 },
            ]
        );
    }

    #[test]
    fn decimals_have_the_sizes_of_parquet() {
        for (precision, size) in
            [(1, 1), (2, 1), (3, 2), (9, 4), (10, 5), (18, 8), (19, 9), (38, 16)]
        {
            assert_eq!(decimal_size(precision), size, "{precision}");
        }
    }

    #[test]
    fn numbers_have_their_bounds() {
        let mut bytes = vec![0xff; 9];
        bytes.push(1);
        let long = |bytes: &[u8]| Input { bytes, elements: 0 }.long();
        assert_eq!(long(&bytes), Ok(i64::MIN));
        assert!(long(&[0xff; 11]).is_err());
        assert_eq!(long(&[0x80, 1]), Ok(64));
        assert!(Input { bytes: &[0x80, 2], elements: 0 }.int::<i8>().is_err());
    }

    #[test]
    fn older_rows_get_the_new_columns() {
        let old = record(json!([
            column("n", json!("integer"), true),
            column("dropped", json!("string"), true),
        ]));
        let new = record(json!([
            column("note", json!("string"), true),
            column("n", json!("long"), true),
            column("flag", json!("boolean"), false),
        ]));
        let written = vec![Value::Integer(3), Value::String("x".into())];
        assert_eq!(
            new.resolve(&old, written).unwrap(),
            vec![Value::Null, Value::Integer(3), Value::Boolean(false)]
        );
    }

    #[test]
    fn elements_without_bytes_end() {
        let record =
            record(json!([column("l", json!({"type": "array", "elementType": "void"}), false)]));
        let many = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0];
        assert!(record.decode(&many).unwrap_err().contains("too many"));
    }

    proptest! {
        #[test]
        fn no_record_panics(body in prop::collection::vec(any::<u8>(), 0..60)) {
            let nested = json!({"type": "struct", "fields": [column("s", json!("string"), true)]});
            let record = record(json!([
                column("d", json!("date"), true),
                column("r", nested.clone(), true),
                column("l", json!({"type": "array", "elementType": nested}), false),
                column("m", json!({"type": "map", "keyType": "string", "valueType": "float"}), true),
                column("b", json!("boolean"), true),
            ]));
            let _ = record.decode(&body);
        }
    }
}
