//! Every row that `statetop state` prints against Spark's own rows: against the raw rows that its
//! reader returns, column family by column family, and against the JSON that it shows.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::manual_strip, clippy::cmp_owned)]
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
const AT_LEAST: usize = 6000;

/// Stands for the name of a map's key that is a struct.
const STRUCT_KEY: &str = "(struct)";

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
        serde_json::from_str(&quoted_fractions(text)).unwrap()
    }

    fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(fields) => fields.iter().find(|(n, _)| n == name).map(|(_, v)| v),
            _ => None,
        }
    }

    /// A map whose keys are no texts is a list of entries in our JSON, and an object in Spark's, in
    /// which a key that is a struct has no readable name.
    fn map_as_object(self) -> Self {
        let Self::List(items) = &self else { return self };
        let entry = |item: &Self| match item {
            Self::Object(fields) => match fields.as_slice() {
                [(key, name), (value, of)] if key == "key" && value == "value" => match name {
                    Self::Leaf(name) => Some((name.clone(), of.clone())),
                    _ => Some((STRUCT_KEY.to_owned(), of.clone())),
                },
                _ => None,
            },
            _ => None,
        };
        let entries: Option<Vec<_>> = items.iter().map(entry).collect();
        entries.filter(|entries| !entries.is_empty()).map_or(self, Self::Object)
    }

    /// Forgets the order of names: Avro's maps have none.
    fn sort_names(&mut self) {
        match self {
            Self::Object(fields) => {
                for (_, value) in fields.iter_mut() {
                    value.sort_names();
                }
                fields.sort();
            }
            Self::List(items) => items.iter_mut().for_each(Self::sort_names),
            Self::Null | Self::Leaf(_) => {}
        }
    }

    fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Self::Leaf(text)) => text,
            other => panic!("{name} is {other:?}"),
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
        // Spark's words for a timestamp inside of a variant, `2026-01-01 00:00:00.5+00:00`.
        let is_time = |text: &str| text.as_bytes().get(10) == Some(&b' ') && text.contains(':');
        let (local, zone) = value.strip_suffix("+00:00").map_or((value, ""), |time| (time, "Z"));
        if is_time(local) && local.is_ascii() {
            let (seconds, fraction) = local.split_once('.').unwrap_or((local, ""));
            let seconds = seconds.replace(' ', "T");
            return Ok(Tree::Leaf(format!("{seconds}.{fraction:0<6}{zone}")));
        }
        // With nanoseconds about, Spark shows every timestamp with nine digits.
        let (time, zone) = value.strip_suffix('Z').map_or((value, ""), |time| (time, "Z"));
        let digits = time.rsplit_once('.').map_or(0, |(_, fraction)| fraction.len());
        if let (true, 9, Some(micros)) = (time.contains(':'), digits, time.strip_suffix("000")) {
            return Ok(Tree::Leaf(format!("{micros}{zone}")));
        }
        // Java and Rust write exponents differently: 1.0E16 and 1e16.
        let small = value.trim_start_matches('-').starts_with("0.000000");
        let is_exponent = value.contains(['e', 'E']) || small;
        let number = value.parse::<f64>().ok().filter(|number| is_exponent && number.is_finite());
        let Some(number) = number else { return Ok(Tree::Leaf(value.to_owned())) };
        // Java shows some floats with a digit more than is needed to tell them apart.
        let digits = value.split(['e', 'E']).next().unwrap().matches(char::is_numeric).count();
        let float = value.parse::<f32>().ok().filter(|f| digits <= 9 && f.is_finite() && *f != 0.0);
        Ok(Tree::Leaf(float.map_or_else(|| format!("{number:?}"), |float| format!("{float:?}"))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items).map_as_object())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut fields = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, Tree>()? {
            // The words of a row in hexadecimal: `[0,1,2000000010,…]`.
            let is_row = name.starts_with("[0,") && name.ends_with(']');
            fields.push((if is_row { STRUCT_KEY.to_owned() } else { name }, value));
        }
        // An empty map and an empty list of entries are one.
        Ok(if fields.is_empty() { Tree::List(Vec::new()) } else { Tree::Object(fields) })
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

/// Puts numbers with a fraction or exponent, and long ones, in quotes, so that no digit is lost in parsing.
fn quoted_fractions(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + 16);
    let mut rest = json;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let (token, tail) = if from.starts_with('"') {
            let mut escaped = false;
            let is_end = |c: char| {
                let end = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                end
            };
            from.split_at(from[1..].find(is_end).unwrap() + 2)
        } else {
            from.split_at(from.find([',', '}', ']', ' ']).unwrap_or(from.len()))
        };
        let exact = token.len() < 19 && !token.contains(['.', 'e', 'E']);
        let is_fraction = !token.starts_with('"') && !exact;
        let quote = if is_fraction { "\"" } else { "" };
        out.extend([quote, token, quote]);
        rest = tail;
    }
    out + rest
}

/// Rows by operator, family (or store, where that is the only name) and partition.
type Rows = BTreeMap<[String; 3], Vec<Tree>>;

#[test]
fn rows_are_what_spark_shows() {
    let (mut shown, mut raw) = (0, 0);
    for fixture in support::all() {
        let path = support::folder().join(&fixture.name).join("rows.jsonl.zst");
        let Ok(file) = std::fs::File::open(path) else { continue };
        let text = std::io::read_to_string(zstd::Decoder::new(file).unwrap()).unwrap();
        // Its rows can only be shown as bytes; Spark's rows are from before the damage.
        if fixture.truth["expect"]["findings"].to_string().contains("missing_schema") {
            continue;
        }
        let printed = printed(&fixture);
        shown += compare(&fixture, &text, &printed);
        raw += compare_raw(&fixture, &text, &printed);
    }
    // Fixtures that were just made are few.
    if std::env::var_os("STATETOP_FIXTURES").is_some() {
        return;
    }
    assert!(shown >= AT_LEAST, "only {shown} rows were compared with Spark's JSON");
    assert!(raw >= AT_LEAST, "only {raw} rows were compared with Spark's raw rows");
}

/// The lines that the command prints of a fixture, internal families too.
fn printed(fixture: &Fixture) -> Rows {
    let checkpoint = fixture.unpack();
    let mut command = assert_cmd::Command::cargo_bin("statetop").unwrap();
    let output =
        command.args(["state", checkpoint.target(), "--internal", "--format", "jsonl"]).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let mut rows = Rows::new();
    for line in text.lines() {
        let line = Tree::parse(line);
        assert_eq!(line.get("undecodable"), None, "{}: {line:?}", fixture.name);
        let name = place(&line);
        let row = ["key", "value"].map(|part| (part.to_owned(), line.get(part).unwrap().clone()));
        let at = [line.text("operator").to_owned(), name, line.text("partition").to_owned()];
        rows.entry(at).or_default().push(Tree::Object(row.to_vec()));
    }
    rows
}

/// The family of a line, or its store where it has no families.
fn place(line: &Tree) -> String {
    match (line.text("family"), line.text("store")) {
        ("default", store) => store.to_owned(),
        (family, _) => family.to_owned(),
    }
}

/// Compares every family of a fixture with Spark's raw rows, both ways.
fn compare_raw(fixture: &Fixture, text: &str, printed: &Rows) -> usize {
    let mut spark = Rows::new();
    for text in text.lines() {
        let line = Tree::parse(text);
        if line.text("kind") != "raw" {
            continue;
        }
        let hex: Json = serde_json::from_str(text).unwrap();
        let row =
            ["key", "value"].map(|part| (part.to_owned(), decoded(fixture, &line, &hex, part)));
        let at =
            [line.text("operator").to_owned(), place(&line), line.text("partition").to_owned()];
        spark.entry(at).or_default().push(Tree::Object(row.to_vec()));
    }
    if spark.is_empty() {
        return 0;
    }
    let mut printed = printed.clone();
    // Spark's raw reader refuses this operator.
    let operators: Vec<String> = spark.keys().map(|[operator, ..]| operator.clone()).collect();
    printed.retain(|[operator, ..], _| operators.contains(operator));
    for rows in spark.values_mut().chain(printed.values_mut()) {
        if fixture.name.contains("avro") {
            rows.iter_mut().for_each(Tree::sort_names);
        }
        rows.sort();
    }
    let places = |rows: &Rows| rows.keys().cloned().collect::<Vec<_>>();
    assert_eq!(places(&printed), places(&spark), "{}", fixture.name);
    for (at, rows) in &spark {
        assert_eq!(printed.get(at), Some(rows), "{} {at:?}", fixture.name);
    }
    spark.values().map(Vec::len).sum()
}

/// Compares all views of a fixture that Spark shows, and returns how many rows that were.
fn compare(fixture: &Fixture, text: &str, ours: &Rows) -> usize {
    let mut spark = Rows::new();
    for line in text.lines().map(Tree::parse).filter(|line| line.text("kind") != "raw") {
        let at = ["operator", "what", "partition"].map(|name| line.text(name).to_owned());
        spark.entry(at).or_default().push(line);
    }
    let mut compared = 0;
    for (at, lines) in spark {
        let Some((mut ours, mut spark)) = views(&at, &lines, ours) else { continue };
        if fixture.name.contains("avro") {
            ours.iter_mut().chain(&mut spark).for_each(Tree::sort_names);
        }
        ours.sort();
        spark.sort();
        let differ = ours.iter().zip(&spark).find(|(ours, spark)| ours != spark);
        assert_eq!(differ, None, "{} {at:?}", fixture.name);
        assert_eq!(ours.len(), spark.len(), "{} {at:?}", fixture.name);
        compared += spark.len();
    }
    compared
}

/// The rows of one view, ours in the shape of Spark's; `None` where there are no raw rows.
fn views(at: &[String; 3], lines: &[Tree], rows: &Rows) -> Option<(Vec<Tree>, Vec<Tree>)> {
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
            && schema["operator"].to_string() == line.text("operator")
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
