//! Entries of the offset log, `offsets/<N>`: what a batch planned to read, and under which
//! pinned confs. Formats 1 and 2 (Spark 4.2+). Pure.

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::conf::Confs;
use super::format::{self, FormatError, excerpt};
use crate::units::UnixMillis;

/// The newest format of offset entries that is read.
const NEWEST_VERSION: u32 = 2;

const WHAT: &str = "an offset entry";
const METADATA: &str = "the batch metadata as a JSON object";
const OFFSET: &str = "a source's offset as JSON";

/// One planned batch.
#[derive(Debug, Clone, PartialEq)]
pub struct OffsetEntry {
    /// 1: sources by position. 2: sources by id or name.
    pub version: u32,
    /// `None` in entries of continuous mode, which have none.
    pub metadata: Option<OffsetMetadata>,
    /// One per source, in the entry's order.
    pub offsets: Vec<SourceOffset>,
}

/// The metadata line of an offset entry.
#[derive(Debug, Clone, PartialEq)]
pub struct OffsetMetadata {
    /// Event-time watermark in force for the batch; 0 means not set yet.
    pub watermark: UnixMillis,
    /// Processing-time clock of the batch.
    pub timestamp: UnixMillis,
    /// The pinned confs; `None` where the entry has no `conf`, as very old engines wrote it.
    pub conf: Option<Confs>,
    /// Every other field, as logged.
    pub other: Map<String, Value>,
}

/// How far one source is read by the batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceOffset {
    /// The source's position in format 1, its id or name in format 2. Text from a file: not a
    /// safe name.
    pub id: String,
    /// The offset as logged; `None` where the log has `-`, no offset yet.
    pub json: Option<Box<str>>,
    /// Why `json` is not JSON, as it should be.
    pub problem: Option<FormatError>,
}

impl OffsetEntry {
    /// The pinned confs, where the entry has any.
    pub fn confs(&self) -> Option<&Confs> {
        self.metadata.as_ref()?.conf.as_ref()
    }

    /// The pinned partition count of stateful operators; `None` where it is not pinned.
    pub fn partitions(&self) -> Option<u32> {
        self.confs()?.partitions()
    }
}

impl SourceOffset {
    /// The offset as a JSON value; text that is not JSON as a JSON string.
    pub fn value(&self) -> Option<Value> {
        let json = self.json.as_deref()?;
        Some(serde_json::from_str(json).unwrap_or_else(|_| Value::String(json.to_owned())))
    }
}

/// Reads an offset entry. An offset that is not JSON does not make the entry unreadable: sources
/// may write what they like there.
///
/// # Errors
/// When the version or the metadata line cannot be read.
pub fn parse_offset_entry(bytes: &[u8]) -> Result<OffsetEntry, FormatError> {
    let text = format::text(bytes, WHAT)?;
    let mut lines = text.lines();
    let version = format::version(lines.next().unwrap_or_default(), NEWEST_VERSION)?;
    let metadata = lines.next().ok_or(FormatError::Ends { expected: METADATA, line: 2 })?;
    let metadata = match metadata.trim() {
        "" if version == 1 => None,
        "" => return Err(FormatError::Ends { expected: METADATA, line: 2 }),
        json => Some(parse_metadata(json)?),
    };
    let offsets = (0..).zip(lines).map(|(position, line)| match version {
        1 => Ok(source(position.to_string(), line, position + 3)),
        _ => named_source(line, position + 3),
    });
    Ok(OffsetEntry { version, metadata, offsets: offsets.collect::<Result<_, _>>()? })
}

fn parse_metadata(json: &str) -> Result<OffsetMetadata, FormatError> {
    let mut fields: Map<String, Value> = format::json(json, 2, METADATA)?;
    Ok(OffsetMetadata {
        watermark: millis(&mut fields, "batchWatermarkMs")?,
        timestamp: millis(&mut fields, "batchTimestampMs")?,
        conf: match fields.shift_remove("conf") {
            None | Some(Value::Null) => None,
            Some(conf) => Some(Confs::from_json(conf)?),
        },
        other: fields,
    })
}

/// A time field; absent counts as 0, as it does for Spark.
fn millis(fields: &mut Map<String, Value>, name: &str) -> Result<UnixMillis, FormatError> {
    match fields.shift_remove(name) {
        None | Some(Value::Null) => Ok(UnixMillis(0)),
        Some(value) => value
            .as_i64()
            .map(UnixMillis)
            .ok_or_else(|| format::shape("a time in milliseconds in the metadata", 2, &value)),
    }
}

/// A line of format 2: everything before the first colon is the id.
fn named_source(line: &str, number: usize) -> Result<SourceOffset, FormatError> {
    match line.split_once(':') {
        Some((id, offset)) => Ok(source(id.to_owned(), offset, number)),
        None => Err(FormatError::Shape {
            expected: "a source id, a colon and an offset",
            line: number,
            found: format!("{:?}", excerpt(line)),
        }),
    }
}

fn source(id: String, line: &str, number: usize) -> SourceOffset {
    let json = line.trim();
    if json == "-" {
        return SourceOffset { id, json: None, problem: None };
    }
    let problem = serde_json::from_str::<IgnoredAny>(json)
        .err()
        .map(|error| format::json_error(&error, number, OFFSET));
    SourceOffset { id, json: Some(json.into()), problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<OffsetEntry, FormatError> {
        parse_offset_entry(text.as_bytes())
    }

    fn ids(entry: &OffsetEntry) -> Vec<&str> {
        entry.offsets.iter().map(|source| source.id.as_str()).collect()
    }

    #[test]
    fn version_1_numbers_its_sources() {
        let entry =
            parse("v1\n{\"batchWatermarkMs\":5,\"new\":1}\n5\n-\n{\"logOffset\":3}").unwrap();
        let metadata = entry.metadata.as_ref().unwrap();
        assert_eq!((metadata.watermark, metadata.timestamp), (UnixMillis(5), UnixMillis(0)));
        assert_eq!(metadata.other["new"], 1);
        assert_eq!((metadata.conf.as_ref(), entry.partitions()), (None, None));
        assert_eq!(ids(&entry), ["0", "1", "2"]);
        assert_eq!(entry.offsets[0].value(), Some(Value::from(5)));
        assert_eq!(entry.offsets[1].value(), None);
        assert_eq!(entry.offsets[2].json.as_deref(), Some("{\"logOffset\":3}"));
    }

    #[test]
    fn continuous_mode_has_an_empty_metadata_line() {
        let entry = parse("v1\n\n{\"0\":{\"value\":1,\"runTimeMs\":2}}").unwrap();
        assert_eq!((entry.metadata, entry.offsets.len()), (None, 1));
        assert!(matches!(parse("v2\n\n0:5"), Err(FormatError::Ends { line: 2, .. })));
        assert!(matches!(parse("v1"), Err(FormatError::Ends { line: 2, .. })));
    }

    #[test]
    fn version_2_names_its_sources_before_the_first_colon() {
        let entry = parse("v2\n{}\n1:{\"a\":{\"0\":5}}\norders:-\n0:7\n").unwrap();
        assert_eq!(ids(&entry), ["1", "orders", "0"]);
        assert_eq!(entry.offsets[0].json.as_deref(), Some("{\"a\":{\"0\":5}}"));
        assert_eq!(entry.offsets[1].json, None);
        assert!(matches!(parse("v2\n{}\n-"), Err(FormatError::Shape { line: 3, .. })));
    }

    #[test]
    fn an_offset_that_is_not_json_is_kept_as_text() {
        let entry = parse("v1\n{}\n7\n{\"logOf").unwrap();
        let source = &entry.offsets[1];
        assert!(matches!(source.problem, Some(FormatError::Cut { line: 4, column: 7, .. })));
        assert_eq!(source.value(), Some(Value::String("{\"logOf".to_owned())));
    }

    #[test]
    fn what_is_no_entry_says_where_and_why() {
        assert!(parse("").unwrap_err().is_empty_file());
        assert_eq!(
            parse("v3\n{}").unwrap_err(),
            FormatError::UnsupportedVersion { found: 3, newest: 2 }
        );
        assert!(matches!(parse("{}\n"), Err(FormatError::NoVersion { .. })));
        assert!(matches!(parse("v1\n{\"conf\":{"), Err(FormatError::Cut { line: 2, .. })));
        assert!(matches!(parse("v1\n[]"), Err(FormatError::Json { line: 2, .. })));
        assert!(matches!(parse("v1\n{\"conf\":[]}"), Err(FormatError::Shape { line: 2, .. })));
        assert!(matches!(
            parse("v1\n{\"batchWatermarkMs\":\"x\"}"),
            Err(FormatError::Shape { line: 2, .. })
        ));
        let binary = parse_offset_entry(b"v1\n\xff\xfe");
        assert_eq!(binary, Err(FormatError::NotText { offset: 3 }));
    }
}
