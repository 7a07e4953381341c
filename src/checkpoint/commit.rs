//! Entries of the commit log, `commits/<N>`: that a batch is finished, and which state files it
//! made. Formats 1, 2 (Spark 4.0+) and 3 (4.2+). Pure.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::format::{self, FormatError};
use super::names;
use crate::units::{OperatorId, UnixMillis};

/// The newest format of commit entries that is read.
const NEWEST_VERSION: u32 = 3;

const WHAT: &str = "a commit entry";
const BODY: &str = "the commit as a JSON object";
const IDS: &str = "state ids: operator, then partitions, then stores";

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
    /// Every other field, as logged.
    pub other: Map<String, Value>,
}

/// The state ids of one commit, by operator.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StateIds(BTreeMap<OperatorId, OperatorStateIds>);

/// The state ids of one operator in one commit: by partition, then by store.
///
/// Kept as one piece of text, since thousands of partitions times a hundred commits are usual.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OperatorStateIds {
    /// All ids, one after the other.
    ids: String,
    /// Where each id ends in `ids`.
    ends: Vec<u32>,
    /// How many ids the partitions up to and including each have.
    partitions: Vec<u32>,
}

impl StateIds {
    /// The ids of one operator.
    pub fn operator(&self, operator: OperatorId) -> Option<&OperatorStateIds> {
        self.0.get(&operator)
    }

    /// The operators that have ids.
    pub fn operators(&self) -> impl Iterator<Item = OperatorId> + '_ {
        self.0.keys().copied()
    }
}

impl OperatorStateIds {
    /// Number of partitions: the partition count that the batch ran with.
    pub fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// Number of stores in one partition: 1, or 4 in join formats 1 and 2.
    pub fn stores(&self, partition: usize) -> usize {
        self.range(partition).map_or(0, |range| range.len())
    }

    /// The id of one store in one partition. It is a plain name.
    pub fn get(&self, partition: usize, store: usize) -> Option<&str> {
        let range = self.range(partition)?;
        let index = range.start.checked_add(store).filter(|index| *index < range.end)?;
        let end = usize::try_from(*self.ends.get(index)?).ok()?;
        let start = match index.checked_sub(1) {
            None => 0,
            Some(before) => usize::try_from(*self.ends.get(before)?).ok()?,
        };
        self.ids.get(start..end)
    }

    fn range(&self, partition: usize) -> Option<std::ops::Range<usize>> {
        let end = usize::try_from(*self.partitions.get(partition)?).ok()?;
        let start = match partition.checked_sub(1) {
            None => 0,
            Some(before) => usize::try_from(*self.partitions.get(before)?).ok()?,
        };
        Some(start..end)
    }

    fn push(&mut self, id: &str) -> Option<()> {
        self.ids.push_str(id);
        self.ends.push(u32::try_from(self.ids.len()).ok()?);
        Some(())
    }

    fn end_partition(&mut self) -> Option<()> {
        self.partitions.push(u32::try_from(self.ends.len()).ok()?);
        Some(())
    }
}

/// Reads a commit entry. A missing second line counts as `{}`, as it does for Spark.
///
/// # Errors
/// When the version or the JSON cannot be read, or a state id could not be part of a file name.
pub fn parse_commit_entry(bytes: &[u8]) -> Result<CommitEntry, FormatError> {
    let text = format::text(bytes, WHAT)?;
    let mut lines = text.lines();
    let version = format::version(lines.next().unwrap_or_default(), NEWEST_VERSION)?;
    let body = lines.next().map_or("{}", str::trim);
    let body = if body.is_empty() { "{}" } else { body };
    let mut fields: Map<String, Value> = format::json(body, 2, BODY)?;
    Ok(CommitEntry {
        version,
        next_watermark: match fields.shift_remove("nextBatchWatermarkMs") {
            None | Some(Value::Null) => None,
            Some(value) => Some(UnixMillis(
                value
                    .as_i64()
                    .ok_or_else(|| format::shape("a watermark in milliseconds", 2, &value))?,
            )),
        },
        state_ids: match fields.shift_remove("stateUniqueIds") {
            None | Some(Value::Null) => None,
            Some(Value::Object(ids)) => Some(parse_ids(&ids)?),
            Some(other) => return Err(format::shape(IDS, 2, &other)),
        },
        sinks: match fields.shift_remove("sinkMetadataMap") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(sinks)) => sinks,
            Some(other) => return Err(format::shape("sinks by name", 2, &other)),
        },
        other: fields,
    })
}

fn parse_ids(fields: &Map<String, Value>) -> Result<StateIds, FormatError> {
    let operator = |(name, value): (&String, &Value)| {
        let id = names::decimal::<u32>(name).map(OperatorId).ok_or_else(|| {
            format::shape("an operator id as decimal digits", 2, &Value::String(name.clone()))
        })?;
        Ok((id, parse_operator_ids(value)?))
    };
    fields.iter().map(operator).collect::<Result<_, _>>().map(StateIds)
}

fn parse_operator_ids(value: &Value) -> Result<OperatorStateIds, FormatError> {
    let too_many = || format::shape("fewer state ids", 2, value);
    let mut ids = OperatorStateIds::default();
    for partition in value.as_array().ok_or_else(|| format::shape(IDS, 2, value))? {
        for id in partition.as_array().ok_or_else(|| format::shape(IDS, 2, partition))? {
            match id.as_str().filter(|id| names::is_state_id(id)) {
                Some(id) => ids.push(id).ok_or_else(too_many)?,
                None => return Err(format::shape("a state id of letters, digits and -", 2, id)),
            }
        }
        ids.end_partition().ok_or_else(too_many)?;
    }
    Ok(ids)
}
