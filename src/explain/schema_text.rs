//! Two schemas as messages have them, `StructType(StructField(id,LongType,true))`, side by side.
//!
//! Must not know where the schemas come from.

use serde::Serialize;
use serde_json::Value;

/// Structs within each other that are read.
const DEPTH: u8 = 40;
/// Fields of a schema that are compared; no state has so many.
const MOST_FIELDS: usize = 2000;

/// A field of a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type as Spark's SQL writes it, `struct<start: timestamp, end: timestamp>`.
    pub of: String,
}

/// How a field differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Difference {
    /// It does not.
    Same,
    /// Only by name, which state does not mind.
    Renamed,
    /// By its type.
    Type,
    /// Only the new schema has it.
    Added,
    /// Only the stored schema has it.
    Removed,
}

/// A field of either schema, or of both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// Name and type as stored.
    pub stored: Option<String>,
    /// Name and type in the query.
    pub new: Option<String>,
    /// How they differ.
    pub difference: Difference,
}

/// Reads a schema from the text of a message; `None` when it is cut or no schema.
pub fn parse(text: &str) -> Option<Vec<Field>> {
    let mut input = Input { rest: text.trim() };
    let fields = input.structure(0)?;
    input.rest.trim().is_empty().then_some(fields)
}

/// The fields of a `StructType` JSON, as schema files have it.
pub fn of_json(schema: &Value) -> Option<Vec<Field>> {
    json_fields(schema, 0)
}

fn json_fields(schema: &Value, depth: u8) -> Option<Vec<Field>> {
    let fields = schema.get("fields")?.as_array().filter(|fields| fields.len() <= MOST_FIELDS)?;
    let field = |field: &Value| {
        let name = field.get("name")?.as_str()?.to_owned();
        Some(Field { name, of: json_type(field.get("type")?, depth)? })
    };
    fields.iter().map(field).collect()
}

fn json_type(of: &Value, depth: u8) -> Option<String> {
    if let Some(simple) = of.as_str() {
        return Some(simple.replace('_', ""));
    }
    let depth = (depth < DEPTH).then(|| depth + 1)?;
    let inner = |name: &str| json_type(of.get(name)?, depth);
    Some(match of.get("type")?.as_str()? {
        "struct" => structure(&json_fields(of, depth)?),
        "array" => format!("array<{}>", inner("elementType")?),
        "map" => format!("map<{}, {}>", inner("keyType")?, inner("valueType")?),
        other => other.to_owned(),
    })
}

fn structure(fields: &[Field]) -> String {
    let fields: Vec<String> = fields.iter().map(Field::told).collect();
    format!("struct<{}>", fields.join(", "))
}

impl Field {
    fn told(&self) -> String {
        format!("{}: {}", self.name, self.of)
    }
}

struct Input<'t> {
    rest: &'t str,
}

impl Input<'_> {
    fn eat(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }

    fn structure(&mut self, depth: u8) -> Option<Vec<Field>> {
        self.eat("StructType(")?;
        let mut fields = Vec::new();
        while self.eat(")").is_none() {
            if !fields.is_empty() {
                self.eat(",")?;
            }
            self.eat("StructField(")?;
            let (name, rest) = self.rest.split_once(',')?;
            self.rest = rest;
            let of = self.of(depth)?;
            self.nullable()?;
            fields.push(Field { name: name.to_owned(), of });
            if fields.len() > MOST_FIELDS {
                return None;
            }
        }
        Some(fields)
    }

    /// `,true)`, the end of a field, array or map.
    fn nullable(&mut self) -> Option<()> {
        self.eat(",")?;
        self.eat("true").or_else(|| self.eat("false"))?;
        self.eat(")")
    }

    fn of(&mut self, depth: u8) -> Option<String> {
        let depth = (depth < DEPTH).then(|| depth + 1)?;
        if self.rest.starts_with("StructType(") {
            return Some(structure(&self.structure(depth)?));
        }
        if self.eat("ArrayType(").is_some() {
            let element = self.of(depth)?;
            self.nullable()?;
            return Some(format!("array<{element}>"));
        }
        if self.eat("MapType(").is_some() {
            let key = self.of(depth)?;
            self.eat(",")?;
            let value = self.of(depth)?;
            self.nullable()?;
            return Some(format!("map<{key}, {value}>"));
        }
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric())?;
        let (name, mut rest) = self.rest.split_at_checked(end)?;
        let mut of = name.strip_suffix("Type").unwrap_or(name).to_lowercase();
        if of.is_empty() {
            return None;
        }
        if rest.starts_with('(') {
            let (arguments, after) = rest.split_at_checked(rest.find(')')? + 1)?;
            of.push_str(arguments);
            rest = after;
        }
        self.rest = rest;
        Some(of)
    }
}

/// Lays two schemas side by side, fields that are in both on one line.
pub fn compare(stored: &[Field], new: &[Field]) -> Vec<Compared> {
    let mut lines = Vec::new();
    let (mut left, mut right) = (0, 0);
    for (one, other) in common(stored, new) {
        between(stored.get(left..one), new.get(right..other), &mut lines);
        lines.push(pair(stored.get(one), new.get(other)));
        (left, right) = (one + 1, other + 1);
    }
    between(stored.get(left..), new.get(right..), &mut lines);
    lines
}

/// The fields between two that are equal.
fn between(stored: Option<&[Field]>, new: Option<&[Field]>, lines: &mut Vec<Compared>) {
    let (stored, new) = (stored.unwrap_or_default(), new.unwrap_or_default());
    for place in 0..stored.len().max(new.len()) {
        let (one, other) = (stored.get(place), new.get(place));
        match (one, other) {
            (Some(a), Some(b)) if a.name != b.name && a.of != b.of => {
                lines.push(pair(one, None));
                lines.push(pair(None, other));
            }
            _ => lines.push(pair(one, other)),
        }
    }
}

fn pair(stored: Option<&Field>, new: Option<&Field>) -> Compared {
    let difference = match (stored, new) {
        (Some(one), Some(other)) if one == other => Difference::Same,
        (Some(one), Some(other)) if one.of == other.of => Difference::Renamed,
        (Some(_), Some(_)) => Difference::Type,
        (None, _) => Difference::Added,
        (Some(_), None) => Difference::Removed,
    };
    Compared { stored: stored.map(Field::told), new: new.map(Field::told), difference }
}

/// The longest common run of equal fields, as places in both.
fn common(stored: &[Field], new: &[Field]) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    let mut longest = vec![0_u32; (stored.len() + 1) * width];
    let at = |one: usize, other: usize| one * width + other;
    for one in (0..stored.len()).rev() {
        for other in (0..new.len()).rev() {
            let get = |one, other| longest.get(at(one, other)).copied().unwrap_or(0);
            let value = if stored.get(one) == new.get(other) {
                get(one + 1, other + 1) + 1
            } else {
                get(one + 1, other).max(get(one, other + 1))
            };
            if let Some(cell) = longest.get_mut(at(one, other)) {
                *cell = value;
            }
        }
    }
    let (mut one, mut other, mut pairs) = (0, 0, Vec::new());
    while one < stored.len() && other < new.len() {
        let get = |one, other| longest.get(at(one, other)).copied().unwrap_or(0);
        if stored.get(one) == new.get(other) {
            pairs.push((one, other));
            (one, other) = (one + 1, other + 1);
        } else if get(one + 1, other) >= get(one, other + 1) {
            one += 1;
        } else {
            other += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORED: &str = "StructType(StructField(window,StructType(StructField(start,TimestampType,true),\
         StructField(end,TimestampType,true)),false),StructField(account_id,StringType,true))";

    fn lines(stored: &str, new: &str) -> Vec<(Option<String>, Option<String>, Difference)> {
        let compared = compare(&parse(stored).unwrap(), &parse(new).unwrap());
        compared.into_iter().map(|line| (line.stored, line.new, line.difference)).collect()
    }

    fn schema(fields: &[(&str, &str)]) -> String {
        let fields: Vec<String> =
            fields.iter().map(|(name, of)| format!("StructField({name},{of},true)")).collect();
        format!("StructType({})", fields.join(","))
    }

    #[test]
    fn the_same_schema_in_both_writings() {
        let field = |name: &str, of: &str| Field { name: name.to_owned(), of: of.to_owned() };
        let expected = [
            field("window", "struct<start: timestamp, end: timestamp>"),
            field("account_id", "string"),
        ];
        assert_eq!(parse(STORED).unwrap(), expected);
        let inner = serde_json::json!({"type": "struct", "fields": [
            {"name": "start", "type": "timestamp", "nullable": true, "metadata": {}},
            {"name": "end", "type": "timestamp", "nullable": true, "metadata": {}}]});
        let json = serde_json::json!({"type": "struct", "fields": [
            {"name": "window", "type": inner, "nullable": false, "metadata": {}},
            {"name": "account_id", "type": "string", "nullable": true, "metadata": {}}]});
        assert_eq!(of_json(&json).unwrap(), expected);
    }

    #[test]
    fn types_have_arguments_and_elements() {
        let text = schema(&[
            ("a", "DecimalType(10,2)"),
            ("b", "ArrayType(MapType(StringType,LongType,false),true)"),
            ("c", "TimestampNTZType"),
        ]);
        let told: Vec<String> = parse(&text).unwrap().iter().map(Field::told).collect();
        assert_eq!(told, ["a: decimal(10,2)", "b: array<map<string, long>>", "c: timestampntz"]);
        for broken in [
            "",
            "StructType(",
            "StructType(StructField(a,LongType,true)",
            "StructType(... 3 more fields)",
            "StructType() x",
        ] {
            assert_eq!(parse(broken), None, "{broken}");
        }
        let deep = "ArrayType(".repeat(200);
        assert_eq!(parse(&format!("StructType(StructField(a,{deep}")), None);
    }

    #[test]
    fn differing_fields_are_marked() {
        let stored = schema(&[("a", "LongType"), ("b", "StringType"), ("c", "DoubleType")]);
        let new = schema(&[
            ("a", "LongType"),
            ("x", "DateType"),
            ("b", "StringType"),
            ("c", "FloatType"),
        ]);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            lines(&stored, &new),
            [
                (some("a: long"), some("a: long"), Difference::Same),
                (None, some("x: date"), Difference::Added),
                (some("b: string"), some("b: string"), Difference::Same),
                (some("c: double"), some("c: float"), Difference::Type),
            ]
        );
        let renamed = schema(&[("a", "LongType"), ("b2", "StringType")]);
        let told: Vec<Difference> =
            lines(&stored, &renamed).into_iter().map(|line| line.2).collect();
        assert_eq!(told, [Difference::Same, Difference::Renamed, Difference::Removed]);
    }
}
