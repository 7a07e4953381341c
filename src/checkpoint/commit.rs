//! Entries of the commit log, `commits/<N>`: that a batch is finished, and which state files it
//! made. Formats 1, 2 (Spark 4.0+) and 3 (4.2+). Pure.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::format::{self, FormatError};
use super::state_ids::StateIds;
use crate::units::UnixMillis;

/// The newest format of commit entries that is read.
const NEWEST_VERSION: u32 = 3;

const WHAT: &str = "a commit entry";
const BODY: &str = "the commit as a JSON object";

/// One finished batch.
#[derive(Debug, Clone, PartialEq)]
pub struct CommitEntry {
    /// 1, 2 or 3. May differ between the entries of one log.
    pub version: u32,
    /// The watermark of the next batch, unless that batch finds a later one.
    pub next_watermark: Option<UnixMillis>,
    /// The ids in the names of the state files that the batch wrote; `None` where state files are
    /// named by version alone (state checkpoint format 1).
    pub state_ids: Option<StateIds>,
    /// Sinks by name, as logged (format 3).
    pub sinks: Map<String, Value>,
}

/// The JSON line of a commit entry.
#[derive(Deserialize)]
struct Body {
    #[serde(default, rename = "nextBatchWatermarkMs")]
    next_watermark: Option<UnixMillis>,
    #[serde(default, rename = "stateUniqueIds")]
    state_ids: Option<StateIds>,
    #[serde(default, rename = "sinkMetadataMap")]
    sinks: Option<Map<String, Value>>,
}

/// Reads a commit entry. A missing second line counts as `{}`, as it does for Spark; fields that
/// are not known are passed over.
///
/// # Errors
/// When the version or the JSON cannot be read, or a state id could not be part of a file name.
pub fn parse_commit_entry(bytes: &[u8]) -> Result<CommitEntry, FormatError> {
    let text = format::text(bytes, WHAT)?;
    let mut lines = text.lines();
    let version = format::version(lines.next().unwrap_or_default(), NEWEST_VERSION)?;
    let body = lines.next().map_or("{}", str::trim);
    let body = if body.is_empty() { "{}" } else { body };
    if !body.starts_with('{') {
        // A list would be taken for the fields in their order.
        return Err(format::shape(BODY, 2, &format::json(body, 2, BODY)?));
    }
    let body: Body = format::json(body, 2, BODY)?;
    Ok(CommitEntry {
        version,
        next_watermark: body.next_watermark,
        state_ids: body.state_ids,
        sinks: body.sinks.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::OperatorId;

    #[test]
    fn a_commit_may_be_only_a_version() {
        let entry = parse_commit_entry(b"v1").unwrap();
        assert_eq!((entry.version, entry.next_watermark), (1, None));
        let entry = parse_commit_entry(b"v1\n{\"nextBatchWatermarkMs\":1795170599000}").unwrap();
        assert_eq!(entry.next_watermark, Some(UnixMillis(1_795_170_599_000)));
        assert_eq!(entry.state_ids, None);
    }

    #[test]
    fn ids_are_found_by_operator_partition_and_store() {
        let entry = parse_commit_entry(
            br#"v2
{"stateUniqueIds":{"0":[["a-1"],["b2"]],"1":[["l","lv","r","rv"],[],["x","y"]]},"new":[1]}"#,
        )
        .unwrap();
        let ids = entry.state_ids.unwrap();
        assert_eq!(ids.operators().collect::<Vec<_>>(), [OperatorId(0), OperatorId(1)]);
        let first = ids.operator(OperatorId(0)).unwrap();
        assert_eq!((first.partitions(), first.stores(0)), (2, 1));
        assert_eq!((first.get(0, 0), first.get(1, 0)), (Some("a-1"), Some("b2")));
        assert_eq!((first.get(0, 1), first.get(2, 0)), (None, None));
        let join = ids.operator(OperatorId(1)).unwrap();
        assert_eq!([0, 1, 2, 3].map(|partition| join.stores(partition)), [4, 0, 2, 0]);
        assert_eq!((join.get(0, 3), join.get(1, 0), join.get(2, 1)), (Some("rv"), None, Some("y")));
        assert_eq!(ids.operator(OperatorId(2)), None);
    }

    #[test]
    fn sinks_are_kept_as_logged() {
        let entry = parse_commit_entry(
            br#"v3
{"nextBatchWatermarkMs":0,"stateUniqueIds":null,"sinkMetadataMap":{"out":{"sinkName":"out","isActive":true}}}"#,
        )
        .unwrap();
        assert_eq!((entry.version, entry.state_ids), (3, None));
        assert_eq!(entry.sinks["out"]["isActive"], true);
    }

    #[test]
    fn what_is_no_commit_says_where_and_why() {
        let error = |text: &str| parse_commit_entry(text.as_bytes()).unwrap_err();
        assert!(error("").is_empty_file());
        assert_eq!(error("v4\n{}"), FormatError::UnsupportedVersion { found: 4, newest: 3 });
        assert!(matches!(error("v1\n{\"next"), FormatError::Cut { line: 2, column: 6, .. }));
        for body in [
            "[]",
            "5",
            r#"{"nextBatchWatermarkMs":"soon"}"#,
            r#"{"stateUniqueIds":[]}"#,
            r#"{"stateUniqueIds":{"x":[]}}"#,
            r#"{"stateUniqueIds":{"0":[5]}}"#,
            r#"{"stateUniqueIds":{"0":[["../../x"]]}}"#,
            r#"{"stateUniqueIds":{"0":[["a_b"]]}}"#,
        ] {
            let error = error(&format!("v2\n{body}"));
            let placed = matches!(
                error,
                FormatError::Json { line: 2, .. } | FormatError::Shape { line: 2, .. }
            );
            assert!(placed, "{body}: {error}");
        }
    }
}
