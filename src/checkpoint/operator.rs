//! Operator metadata, `state/<op>/_metadata/…` (Spark 4.0+): which operator keeps the state and
//! which stores it has. Formats 1 and 2. Pure.

use serde_json::{Map, Value};

use super::format::{self, FormatError};
use crate::storage::is_plain_name;
use crate::units::OperatorId;

/// The newest format of operator metadata that is read.
const NEWEST_VERSION: u32 = 2;

/// Most stores of an operator; Spark's have one or four.
const MAX_STORES: usize = 16;

const WHAT: &str = "operator metadata";
const BODY: &str = "operator metadata as a JSON object";

/// One stateful operator, as the checkpoint describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorMetadata {
    /// 1: written once and never updated. 2: written by every run.
    pub version: u32,
    /// Its id; 0 is nearest the sink.
    pub id: OperatorId,
    /// Spark's name for it (`stateStoreSave`, `symmetricHashJoin`, …). Text from a file.
    pub name: String,
    /// Its stores, in Spark's order.
    pub stores: Vec<StoreMetadata>,
    /// The checkpoint directory that the paths of schema files lie in, as an address of the time
    /// when the file was written (format 2). Text from a file.
    pub written_at: Option<String>,
    /// Properties of the operator as JSON (state variables of `transformWithState`, …).
    pub properties: Option<Value>,
    /// The file it was read from, relative to the checkpoint; empty when parsed from bytes.
    pub file: String,
}

/// One store of an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreMetadata {
    /// `default`, or the name of the store's directory. A plain name.
    pub name: String,
    /// Columns of the key that make up the prefix in prefix scans.
    pub prefix_columns: u32,
    /// The partition count when the file was written. Format 1 does not follow a repartition: the
    /// count in force is in the offset log.
    pub partitions: u32,
    /// Base names of the store's schema files, to be found in `_stateSchema/<store>/` (format 2).
    /// The paths in the file are those of the place where the checkpoint was written, which may
    /// not be where it is now. Plain names.
    pub schema_files: Vec<String>,
}

/// Reads operator metadata of format 1 or 2.
///
/// # Errors
/// When it is not readable, or a store or schema file has a name that could lead elsewhere.
pub fn parse_operator_metadata(bytes: &[u8]) -> Result<OperatorMetadata, FormatError> {
    let text = format::text(bytes, WHAT)?;
    let mut lines = text.lines();
    let version = format::version(lines.next().unwrap_or_default(), NEWEST_VERSION)?;
    let body = lines.next().ok_or(FormatError::Ends { expected: BODY, line: 2 })?;
    let fields: Map<String, Value> = format::json(body, 2, BODY)?;
    let info = field(&fields, "operatorInfo")?;
    let id = info.get("operatorId").unwrap_or(&Value::Null);
    let stores = field(&fields, "stateStoreInfo")?;
    let stores = stores.as_array().ok_or_else(|| format::shape("a list of stores", 2, stores))?;
    if stores.len() > MAX_STORES {
        let found = Value::from(format!("{} stores", stores.len()));
        return Err(format::shape("at most 16 stores", 2, &found));
    }
    Ok(OperatorMetadata {
        version,
        id: OperatorId(number(id, "an operator id")?),
        name: text_of(info.get("operatorName"), "an operator name")?.to_owned(),
        written_at: stores.iter().find_map(written_at),
        stores: stores.iter().map(store).collect::<Result<_, _>>()?,
        properties: fields.get("operatorPropertiesJson").and_then(properties),
        file: String::new(),
    })
}

fn store(value: &Value) -> Result<StoreMetadata, FormatError> {
    let name = text_of(value.get("storeName"), "a store name")?;
    let get = |field: &str| value.get(field).unwrap_or(&Value::Null);
    let schema_files = match value.get("stateSchemaFilePaths") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(paths)) => paths.iter().map(base_name).collect::<Result<_, _>>()?,
        Some(other) => return Err(format::shape("a list of schema files", 2, other)),
    };
    Ok(StoreMetadata {
        name: plain(name, "a store name without separators")?.to_owned(),
        prefix_columns: number(get("numColsPrefixKey"), "a number of prefix columns")?,
        partitions: number(get("numPartitions"), "a partition count")?,
        schema_files,
    })
}

fn base_name(path: &Value) -> Result<String, FormatError> {
    let path = text_of(Some(path), "the path of a schema file")?;
    let name = path.rsplit('/').next().unwrap_or_default();
    Ok(plain(name, "the path of a schema file")?.to_owned())
}

/// What comes before `/state/<op>/_stateSchema/` in the path of a store's first schema file.
fn written_at(store: &Value) -> Option<String> {
    let path = store.get("stateSchemaFilePaths")?.get(0)?.as_str()?;
    let (operator, _) = path.rsplit_once("/_stateSchema/")?;
    let (state, _) = operator.rsplit_once('/')?;
    state.strip_suffix("/state").map(str::to_owned)
}

/// Properties are JSON inside a JSON string; text that is not JSON is kept as text.
fn properties(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(serde_json::from_str(text).unwrap_or_else(|_| value.clone())),
        other => Some(other.clone()),
    }
}

fn field<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<&'a Value, FormatError> {
    let expected = match name {
        "operatorInfo" => "operator metadata with operatorInfo",
        _ => "operator metadata with stateStoreInfo",
    };
    fields.get(name).ok_or_else(|| format::shape(expected, 2, &Value::Null))
}

fn number(value: &Value, expected: &'static str) -> Result<u32, FormatError> {
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| format::shape(expected, 2, value))
}

fn text_of<'a>(value: Option<&'a Value>, expected: &'static str) -> Result<&'a str, FormatError> {
    let value = value.unwrap_or(&Value::Null);
    value.as_str().ok_or_else(|| format::shape(expected, 2, value))
}

fn plain<'a>(name: &'a str, expected: &'static str) -> Result<&'a str, FormatError> {
    if is_plain_name(name) {
        Ok(name)
    } else {
        Err(format::shape(expected, 2, &Value::String(name.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &str = r#"v2
{"operatorInfo":{"operatorId":1,"operatorName":"transformWithStateExec"},"stateStoreInfo":[{"storeName":"default","numColsPrefixKey":0,"numPartitions":8,"stateSchemaFilePaths":["file:/tmp/other/state/1/_stateSchema/default/0_5a6b"]}],"operatorPropertiesJson":"{\"timeMode\":\"ProcessingTime\"}"}"#;

    #[test]
    fn version_2_has_schema_files_by_base_name_and_properties() {
        let found = parse_operator_metadata(V2.as_bytes()).unwrap();
        assert_eq!((found.version, found.id), (2, OperatorId(1)));
        assert_eq!(found.stores[0].schema_files, ["0_5a6b"]);
        assert_eq!(found.written_at.as_deref(), Some("file:/tmp/other"));
        assert_eq!(found.properties.unwrap()["timeMode"], "ProcessingTime");
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for (from, to) in
            [("\"default\"", "\"..\""), ("default/0_5a6b", "default/.."), ("0_5a6b", "")]
        {
            let bad = V2.replace(from, to);
            let error = parse_operator_metadata(bad.as_bytes()).unwrap_err();
            assert!(matches!(error, FormatError::Shape { .. }), "{bad}: {error}");
        }
    }

    #[test]
    fn what_is_no_metadata_says_why() {
        let error = |text: &str| parse_operator_metadata(text.as_bytes()).unwrap_err();
        assert!(error("").is_empty_file());
        assert!(matches!(error("v1"), FormatError::Ends { line: 2, .. }));
        assert_eq!(error("v3\n{}"), FormatError::UnsupportedVersion { found: 3, newest: 2 });
        for body in ["{}", "{\"operatorInfo\":{}}", "{\"operatorInfo\":5,\"stateStoreInfo\":[]}"] {
            assert!(matches!(error(&format!("v1\n{body}")), FormatError::Shape { .. }), "{body}");
        }
    }
}
