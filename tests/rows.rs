//! Spark's own rows, decoded here and by Spark: the raw bytes that its reader returns against
//! the JSON that it shows, for every fixture that has both.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(dead_code)]

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
const AT_LEAST: usize = 0_000;

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
        if let Some(moment) = value.contains('T').then(|| value.trim_end_matches('Z'))
            && moment.contains(':')
            && moment.contains('.')
        {
            // Where a fixture has nanoseconds, Spark was told to write nine digits everywhere.
            let zone = if value.ends_with('Z') { "Z" } else { "" };
            return Ok(Tree::Leaf(moment.trim_end_matches('0').to_owned() + zone));
        }
        // Java and Rust write exponents differently, 1.0E16 and 1e16: here they are written out.
        let is_exponent = value.contains(['e', 'E']);
        let number = value.parse::<f64>().ok().filter(|number| is_exponent && number.is_finite());
        Ok(Tree::Leaf(number.map_or_else(|| value.to_owned(), |number| number.to_string())))
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
        while let Some(entry) = map.next_entry()? {
            fields.push(entry);
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
    Tree::parse(&serde_json::to_string(&render::Json(&value)).unwrap())
}

fn columns(schema: &Json) -> Vec<Field> {
    DataType::columns(&serde_json::from_str(schema.as_str().unwrap()).unwrap()).unwrap()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}
