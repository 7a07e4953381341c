//! The rows of a fixture as Spark returned them: the ground that keys are counted on.

use std::collections::BTreeMap;
use std::fs::File;

use serde_json::Value as Json;
use statetop::state::row::render;
use statetop::state::row::types::{DataType, Field};
use statetop::state::row::unsafe_row;
use statetop::state::row::value::Value;

use crate::support::{self, Fixture};

/// One row, or one element of a list, at the last committed batch.
#[derive(Debug, Clone)]
#[allow(dead_code, reason = "each test looks at some of it")]
pub(crate) struct SparkRow {
    pub(crate) operator: u32,
    /// Spark's name for the operator.
    pub(crate) operator_name: String,
    pub(crate) store: String,
    pub(crate) family: String,
    pub(crate) partition: u32,
    /// The key's columns, by name, in order.
    pub(crate) key: Vec<(String, Json)>,
    /// The value's columns.
    pub(crate) value: Vec<(String, Json)>,
    /// The whole numbers among the value's columns.
    pub(crate) numbers: Vec<(String, i64)>,
    /// Names of the value's columns that hold whole numbers, null or not.
    pub(crate) number_columns: Vec<String>,
    /// The key's bytes; of rows that only Spark's ordinary reader shows, its JSON.
    pub(crate) key_bytes: Vec<u8>,
    /// Bytes of the value.
    pub(crate) value_length: u64,
}

/// A family of a store of an operator.
type Place = (u32, String, String);

impl SparkRow {
    /// The columns that Spark's partitioning hashes, by what each operator does with its keys.
    pub(crate) fn grouping(&self) -> Vec<(String, Json)> {
        let mut key = self.key.clone();
        if self.operator_name.starts_with("transformWithState") {
            let is_map = matches!(key.as_slice(), [(a, _), (b, _)] if a == "key" && b == "userKey");
            return match (is_map, &key[0].1) {
                (true, Json::Object(columns)) => columns.clone().into_iter().collect(),
                _ => key,
            };
        }
        let has_more = self.operator_name == "symmetricHashJoin"
            || self.operator_name.starts_with("sessionWindow");
        if has_more {
            // The index or event time of a join's row, the start of a session.
            key.pop();
        }
        key
    }
}

/// The rows of the families that hold an operator's rows; `None` where the fixture has none.
///
/// Raw rows where Spark gives them, else (HDFS-backed stores) those that it decodes.
pub(crate) fn rows(fixture: &Fixture) -> Option<Vec<SparkRow>> {
    let file = File::open(support::folder().join(&fixture.name).join("rows.jsonl.zst")).ok()?;
    let text = std::io::read_to_string(zstd::Decoder::new(file).unwrap()).unwrap();
    let schemas = schemas(fixture);
    let lines: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_raw = |line: &&Json| line["kind"] == "raw";
    let has_raw = lines.iter().any(|line| is_raw(&line));
    let rows = lines.iter().filter(|line| is_raw(line) == has_raw);
    let rows = rows.filter_map(|line| row(fixture, &schemas, line));
    Some(rows.collect())
}

fn row(
    fixture: &Fixture,
    schemas: &BTreeMap<Place, [Vec<Field>; 2]>,
    line: &Json,
) -> Option<SparkRow> {
    let operator = u32::try_from(line["operator"].as_u64().unwrap()).unwrap();
    let (store, family) = match line["what"].as_str() {
        None => (line["store"].as_str()?, line["family"].as_str()?),
        Some("default") => ("default", "default"),
        Some(store) => (store, "default"),
    };
    let operator_name = own_family(fixture, operator, store, family)?;
    let [key, value] = schemas.get(&(operator, store.to_owned(), family.to_owned()))?;
    let mut row = SparkRow {
        operator,
        operator_name,
        store: store.to_owned(),
        family: family.to_owned(),
        partition: u32::try_from(line["partition"].as_u64().unwrap()).unwrap(),
        key: Vec::new(),
        value: Vec::new(),
        numbers: Vec::new(),
        number_columns: integers(value),
        key_bytes: Vec::new(),
        value_length: 0,
    };
    if line["kind"] == "raw" {
        let (key_bytes, value_bytes) = (bytes(&line["key"]), bytes(&line["value"]));
        row.key = shown(&key_bytes, key);
        row.value = shown(&value_bytes, value);
        row.numbers = numbers(&value_bytes, value);
        (row.key_bytes, row.value_length) = (key_bytes, value_bytes.len() as u64);
    } else {
        let columns = |part: &Json, fields: &[Field]| -> Vec<(String, Json)> {
            fields.iter().map(|field| (field.name.clone(), part[&field.name].clone())).collect()
        };
        row.key = columns(&line["key"], key);
        row.value = columns(&line["value"], value);
        let number = |(name, value): &(String, Json)| Some((name.clone(), value.as_i64()?));
        row.numbers = row.value.iter().filter_map(number).collect();
        row.key_bytes = line["key"].to_string().into_bytes();
    }
    Some(row)
}

/// The operator's name, where the family holds its rows.
fn own_family(fixture: &Fixture, operator: u32, store: &str, family: &str) -> Option<String> {
    if store.ends_with("-keyToNumValues") {
        return None;
    }
    let counts = fixture.truth["counts"].as_array()?;
    let count = counts.iter().find(|c| c["operator"] == operator && c["store"] == store)?;
    let is_own = count["families"][family]["internal"] == false;
    is_own.then(|| count["name"].as_str().unwrap().to_owned())
}

fn schemas(fixture: &Fixture) -> BTreeMap<Place, [Vec<Field>; 2]> {
    let schemas = fixture.truth["schemas"].as_array().unwrap().iter();
    let columns = |schema: &Json| {
        DataType::columns(&serde_json::from_str(schema.as_str().unwrap()).unwrap()).unwrap()
    };
    let entry = |schema: &Json| {
        let text = |name: &str| schema[name].as_str().unwrap().to_owned();
        let operator = u32::try_from(schema["operator"].as_u64().unwrap()).unwrap();
        let halves = [columns(&schema["key_schema"]), columns(&schema["value_schema"])];
        ((operator, text("store"), text("family")), halves)
    };
    schemas.map(entry).collect()
}

fn integers(fields: &[Field]) -> Vec<String> {
    use DataType::{Byte, Integer, Long, Short};
    let whole = fields.iter().filter(|f| matches!(f.data_type, Byte | Short | Integer | Long));
    whole.map(|field| field.name.clone()).collect()
}

fn shown(bytes: &[u8], fields: &[Field]) -> Vec<(String, Json)> {
    let Value::Struct(_, values) = unsafe_row::decode(bytes, fields).unwrap() else { panic!() };
    let json = |value: &Value<'_>| serde_json::to_value(render::Json(value)).unwrap();
    let names = fields.iter().map(|field| field.name.clone());
    names.zip(values.iter().map(json)).collect()
}

fn numbers(bytes: &[u8], fields: &[Field]) -> Vec<(String, i64)> {
    let Value::Struct(_, values) = unsafe_row::decode(bytes, fields).unwrap() else { panic!() };
    let named = fields.iter().zip(values);
    let number = |(field, value): (&Field, Value<'_>)| match value {
        Value::Integer(number) => Some((field.name.clone(), number)),
        _ => None,
    };
    named.filter_map(number).collect()
}

fn bytes(hex: &Json) -> Vec<u8> {
    let hex = hex.as_str().unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}
