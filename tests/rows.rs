//! Spark's own rows, decoded here and by Spark: the raw bytes that its reader returns against
//! the JSON that it shows, for every fixture that has both.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(dead_code, clippy::cast_possible_truncation)]

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;
use statetop::state::row::render;
use statetop::state::row::types::{DataType, Field};
use statetop::state::row::unsafe_row;
use support::Fixture;

mod support;

/// Rows that are compared; fewer would mean that the comparison has come to miss them.
const AT_LEAST: usize = 13_000;

/// Stands for map keys that are structs, which Spark's JSON shows as the words of their bytes.
const STRUCT_KEY: &str = "a struct";

/// JSON that keeps repeated names and the digits of numbers. Numbers and texts that are
/// numbers are one: decimals are numbers in Spark's JSON and texts in ours.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Tree {
    Null,
    Leaf(String),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

impl Tree {
    fn parse(text: &str) -> Self {
        serde_json::from_str(&quoted_numbers(text)).unwrap()
    }

    fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(fields) => fields.iter().find(|(n, _)| n == name).map(|(_, v)| v),
            _ => None,
        }
    }

    fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Self::Leaf(text)) => text,
            other => panic!("{name} is {other:?}"),
        }
    }

    /// Our lists of `key` and `value` as objects: Spark writes map keys of any type as names.
    fn maps_as_objects(self) -> Self {
        let entry = |item: &Self| {
            let Self::Object(fields) = item else { return None };
            let [(k, key), (v, value)] = &fields[..] else { return None };
            let name = match key {
                Self::Leaf(text) => text.clone(),
                _ => STRUCT_KEY.to_owned(),
            };
            (k == "key" && v == "value").then(|| (name, value.clone().maps_as_objects()))
        };
        match self {
            Self::List(items) if !items.is_empty() && items.iter().all(|i| entry(i).is_some()) => {
                Self::Object(items.iter().filter_map(entry).collect())
            }
            Self::List(items) => Self::List(items.into_iter().map(Self::maps_as_objects).collect()),
            Self::Object(fields) => {
                let fields = fields.into_iter();
                Self::Object(fields.map(|(name, value)| (name, value.maps_as_objects())).collect())
            }
            leaf => leaf,
        }
    }

    /// The first parts that differ.
    fn differing<'t>(&'t self, other: &'t Self) -> Option<(&'t Self, &'t Self)> {
        match (self, other) {
            _ if self == other => None,
            (Self::List(ours), Self::List(theirs)) if ours.len() == theirs.len() => {
                ours.iter().zip(theirs).find_map(|(ours, theirs)| ours.differing(theirs))
            }
            (Self::Object(ours), Self::Object(theirs)) if ours.len() == theirs.len() => {
                let mut pairs = ours.iter().zip(theirs);
                pairs.find_map(|(ours, theirs)| ours.1.differing(&theirs.1)).or(Some((self, other)))
            }
            _ => Some((self, other)),
        }
    }

    fn parts(&self, names: &[&str]) -> Self {
        Self::List(names.iter().map(|name| self.get(name).unwrap().clone()).collect())
    }
}

/// One form for texts that Spark and we write differently though they say the same.
fn one_form(value: &str) -> String {
    let at = |at| value.as_bytes().get(at).copied();
    if at(4) == Some(b'-') && matches!(at(10), Some(b'T' | b' ')) && at(13) == Some(b':') {
        return moment(value);
    }
    // Java changes to exponents at other sizes than Rust. Beyond 17 digits it is a decimal,
    // compared digit by digit.
    let digits = value.split(['e', 'E']).next().unwrap_or_default();
    let digits = digits.trim_start_matches(['-', '0', '.']).chars().filter(char::is_ascii_digit);
    let is_fraction = value.contains(['.', 'e', 'E']) && digits.count() <= 17;
    match value.parse::<f64>() {
        // Down there floats of 32 bits have few digits, and Java tells more than there are.
        Ok(number) if is_fraction && (1e-46..1e-37).contains(&number.abs()) => {
            (number as f32).to_string()
        }
        Ok(number) if is_fraction && number.is_finite() => number.to_string(),
        _ => value.to_owned(),
    }
}

/// Spark was told to write nine digits where a fixture has nanoseconds, and writes a space
/// and an offset inside variants.
fn moment(value: &str) -> String {
    let (text, zone) = match value.strip_suffix('Z').or(value.strip_suffix("+00:00")) {
        Some(text) => (text, "Z"),
        None => (value, ""),
    };
    let text = text.replacen(' ', "T", 1);
    let text = if text.contains('.') { text.trim_end_matches('0') } else { &text };
    text.trim_end_matches('.').to_owned() + zone
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Leaf(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Leaf(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Leaf(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Leaf(one_form(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut fields = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, Tree>()? {
            let is_row = name.starts_with('[') && name.ends_with(']');
            fields.push((if is_row { STRUCT_KEY.to_owned() } else { name }, value));
        }
        Ok(Tree::Object(fields))
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

/// Puts numbers with a fraction, an exponent or many digits in quotes, so that no digit is lost in parsing.
fn quoted_numbers(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + 16);
    let mut rest = json;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let (token, tail) = if let Some(inner) = from.strip_prefix('"') {
            let mut escaped = false;
            let is_end = |c: char| {
                let end = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                end
            };
            from.split_at(inner.find(is_end).unwrap() + 2)
        } else {
            from.split_at(from.find([',', '}', ']', ' ']).unwrap_or(from.len()))
        };
        let is_long = token.contains(['.', 'E', 'e']) || token.len() > 18;
        let is_number = !token.starts_with('"');
        let quote = if is_number && is_long { "\"" } else { "" };
        out.extend([quote, token, quote]);
        rest = tail;
    }
    out + rest
}

#[test]
fn rows_are_what_spark_shows() {
    let mut differences = Vec::new();
    let compared: usize = support::all().iter().map(|f| compare(f, &mut differences)).sum();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(compared >= AT_LEAST, "only {compared} rows were compared");
}

/// Compares all views of a fixture that Spark shows, and returns how many rows that were.
fn compare(fixture: &Fixture, differences: &mut Vec<String>) -> usize {
    let path = support::folder().join(&fixture.name).join("rows.jsonl.zst");
    let Ok(file) = std::fs::File::open(path) else { return 0 };
    let text = std::io::read_to_string(zstd::Decoder::new(file).unwrap()).unwrap();
    // Our rows by operator, family or store, and partition; Spark's by operator, view and
    // partition.
    let mut ours: BTreeMap<[String; 3], Vec<Tree>> = BTreeMap::new();
    let mut spark: BTreeMap<[String; 3], Vec<Tree>> = BTreeMap::new();
    for (text, line) in text.lines().map(|text| (text, Tree::parse(text))) {
        let at =
            |what: &str| [line.text("operator"), what, line.text("partition")].map(str::to_owned);
        if line.text("kind") == "raw" {
            let (store, family) = (line.text("store"), line.text("family"));
            let name = if family == "default" { store } else { family };
            let hex: Json = serde_json::from_str(text).unwrap();
            let row = |part| decoded(fixture, &line, &hex, part);
            let row = vec![("key".to_owned(), row("key")), ("value".to_owned(), row("value"))];
            ours.entry(at(name)).or_default().push(Tree::Object(row));
        } else {
            spark.entry(at(line.text("what"))).or_default().push(line.clone());
        }
    }
    let mut compared = 0;
    for (at, lines) in spark {
        let Some((mut ours, mut spark)) = views(&at, &lines, &ours) else { continue };
        ours.sort();
        spark.sort();
        let differ = ours.iter().zip(&spark).find_map(|(ours, spark)| ours.differing(spark));
        if differ.is_some() || ours.len() != spark.len() {
            let counts = [ours.len(), spark.len()];
            differences.push(format!("{} {at:?} rows {counts:?}: {differ:?}", fixture.name));
        }
        compared += spark.len();
    }
    compared
}

/// The rows of one view, ours in the shape of Spark's; `None` where there are no raw rows.
fn views(
    at: &[String; 3],
    lines: &[Tree],
    rows: &BTreeMap<[String; 3], Vec<Tree>>,
) -> Option<(Vec<Tree>, Vec<Tree>)> {
    let [operator, what, partition] = at;
    let family = |name: &str| rows.get(&[operator.clone(), name.to_owned(), partition.clone()]);
    let shown = |names: &[&str]| lines.iter().map(|line| line.parts(names)).collect();
    if what == "timers" {
        let names = ["$procTimers_keyToTimestamp", "$eventTimers_keyToTimestamp"];
        let timers = names.iter().filter_map(|name| family(name)).flatten();
        let ours = timers.map(|row| row.get("key").unwrap().parts(&["key", "expiryTimestampMs"]));
        return Some((ours.collect(), shown(&["key", "expiration_timestamp_ms"])));
    }
    let ours = family(what)?.iter();
    Some(if lines[0].get("user_map_key").is_some() {
        let row = |row: &Tree| {
            let (key, value) = (row.get("key").unwrap(), row.get("value").unwrap());
            let part = |name| key.get(name).unwrap().clone();
            Tree::List(vec![part("key"), part("userKey"), value.clone()])
        };
        (ours.map(row).collect(), shown(&["key", "user_map_key", "user_map_value"]))
    } else {
        let list = lines[0].get("list_element").is_some();
        let value = if list { "list_element" } else { "value" };
        let row = |row: &Tree| row.parts(&["key", "value"]);
        (ours.map(row).collect(), shown(&["key", value]))
    })
}

/// Our JSON of the key or value of a raw line.
fn decoded(fixture: &Fixture, line: &Tree, hex: &Json, part: &str) -> Tree {
    let schemas = fixture.truth["schemas"].as_array().unwrap();
    let schema = schemas.iter().find(|schema| {
        schema["family"] == line.text("family")
            && schema["operator"].as_u64() == line.text("operator").parse().ok()
            && schema["store"] == line.text("store")
    });
    let schema = schema.unwrap_or_else(|| panic!("{}: no schema for {line:?}", fixture.name));
    let columns = columns(&schema[format!("{part}_schema")]);
    let bytes = bytes(hex[part].as_str().unwrap());
    let value = unsafe_row::decode(&bytes, &columns);
    let value = value.unwrap_or_else(|error| panic!("{}: {error}", fixture.name));
    Tree::parse(&serde_json::to_string(&render::Json(&value)).unwrap()).maps_as_objects()
}

fn columns(schema: &Json) -> Vec<Field> {
    DataType::columns(&serde_json::from_str(schema.as_str().unwrap()).unwrap()).unwrap()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}
