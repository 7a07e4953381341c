//! The stateful operators of a plan, and the accumulators that count what they do.
//!
//! Spark writes the plan of every execution as a tree of nodes (`SparkPlanInfo`), each with the
//! ids of its metrics' accumulators. Tasks tell their own part under the same ids, so that two
//! operators in one stage can be told apart although their metrics have the same names. Must not
//! know jobs, stages or tasks.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::wire::Text;
use crate::telemetry::metric::Metric;
use crate::units::OperatorId;

/// Nodes below this depth are passed over. Plans of real queries are some dozens deep.
const MAX_DEPTH: u32 = 300;

/// Stateful operators that are kept of a plan.
const MAX_OPERATORS: usize = 1000;

/// A stateful operator of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Operator {
    /// Its id, as its state has it.
    pub(super) id: OperatorId,
    /// Spark's name for the node.
    pub(super) name: Arc<str>,
    /// Its metrics, each with the id of its accumulator.
    pub(super) metrics: Vec<(Metric, u64)>,
}

impl Operator {
    /// Whether tasks tell what the operator has for this metric, 0 by leaving it out.
    ///
    /// An aggregation reads its state before it writes it, by a node of its own. The first of
    /// the two loads the instance, the second counts loads and finds none, so that only more
    /// than none says something.
    pub(super) fn tells(&self, metric: Metric) -> bool {
        let reads_before = self.name.ends_with("StateStoreSave");
        let has = self.metrics.iter().any(|(known, _)| *known == metric);
        has && !(metric == Metric::Loaded && reads_before)
    }
}

/// What the line of an execution tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    /// The execution's id.
    pub(super) execution: u64,
    /// The stateful operators of its plan.
    pub(super) operators: Vec<Operator>,
    /// What it is for: of a microbatch name, ids and batch.
    pub(super) description: Option<String>,
    /// The confs of its session that are not the defaults (`modifiedConfigs`).
    pub(super) confs: BTreeMap<String, String>,
}

/// Reads the line of a `SparkListenerSQLExecutionStart` or
/// `SparkListenerSQLAdaptiveExecutionUpdate`.
///
/// # Errors
/// When the line is no such JSON.
pub(super) fn read(line: &str) -> Result<Told, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(line);
    // The depth is bounded where nodes are read; everything else is skipped without recursion.
    deserializer.disable_recursion_limit();
    let mut parts = Parts::default();
    let execution = Execution(&mut parts).deserialize(&mut deserializer)?;
    deserializer.end()?;
    let Parts { found, description, confs } = parts;
    Ok(Told { execution, operators: number(found), description, confs })
}

/// The parts of the event, as they are found.
#[derive(Default)]
struct Parts {
    found: Vec<Found>,
    description: Option<String>,
    confs: BTreeMap<String, String>,
}

/// A node as it was found.
struct Found {
    name: String,
    /// The operator id that its description tells.
    id: Option<u32>,
    metrics: Vec<(Metric, u64)>,
}

/// Spark numbers stateful operators from the sink down; the description of a node tells its
/// number too, unless it was cut short.
fn number(found: Vec<Found>) -> Vec<Operator> {
    (0..)
        .zip(found)
        .map(|(place, node)| Operator {
            id: OperatorId(node.id.unwrap_or(place)),
            name: node.name.into(),
            metrics: node.metrics,
        })
        .collect()
}

/// The id in a text like `state info [ checkpoint = …, opId = 0, ver = 2, …]`.
fn told_id(description: &str) -> Option<u32> {
    let (_, info) = description.split_once("state info [")?;
    let (_, id) = info.split_once("opId = ")?;
    id.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Reads the event: returns the execution's id.
struct Execution<'f>(&'f mut Parts);

impl<'de> DeserializeSeed<'de> for Execution<'_> {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Execution<'_> {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event of an SQL execution")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<u64, A::Error> {
        let mut id = None;
        while let Some(key) = map.next_key::<Text<'de>>()? {
            match &*key {
                "executionId" => id = Some(map.next_value()?),
                "sparkPlanInfo" => {
                    map.next_value_seed(Node { depth: 0, found: &mut self.0.found })?;
                }
                "description" => {
                    self.0.description = map.next_value::<Option<Text<'de>>>()?.map(Text::owned);
                }
                "modifiedConfigs" => {
                    let confs = map.next_value::<Option<BTreeMap<String, Value>>>()?;
                    let text = |(name, value)| match value {
                        Value::String(value) => Some((name, value)),
                        _ => None,
                    };
                    self.0.confs = confs.into_iter().flatten().filter_map(text).collect();
                }
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        id.ok_or_else(|| serde::de::Error::missing_field("executionId"))
    }
}

/// Reads a node and those below it, and adds the stateful ones in the order from the sink down.
struct Node<'f> {
    depth: u32,
    found: &'f mut Vec<Found>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

/// A metric of a node.
#[derive(Deserialize)]
struct MetricInfo<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(rename = "accumulatorId")]
    accumulator: u64,
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a node of a plan")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let place = self.found.len();
        let (mut name, mut description) = (None, None);
        let mut metrics: Vec<MetricInfo<'de>> = Vec::new();
        while let Some(key) = map.next_key::<Text<'de>>()? {
            match &*key {
                "nodeName" => name = Some(map.next_value::<Text<'de>>()?),
                "simpleString" => description = Some(map.next_value::<Text<'de>>()?),
                "metrics" => metrics = map.next_value()?,
                "children" if self.depth < MAX_DEPTH => {
                    map.next_value_seed(Children { depth: self.depth + 1, found: self.found })?;
                }
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        let wanted = metrics
            .iter()
            .filter_map(|metric| Some((Metric::named(&metric.name)?, metric.accumulator)));
        let wanted: Vec<(Metric, u64)> = wanted.take(Metric::COUNT).collect();
        let stateful = wanted.iter().any(|(metric, _)| *metric == Metric::Rows);
        if stateful && self.found.len() < MAX_OPERATORS {
            let node = Found {
                name: name.map_or_else(String::new, |name| name.0.into_owned()),
                id: description.and_then(|text| told_id(&text)),
                metrics: wanted,
            };
            // Nodes below have been read by now and come after this one.
            self.found.insert(place, node);
        }
        Ok(())
    }
}

/// Reads the nodes below a node.
struct Children<'f> {
    depth: u32,
    found: &'f mut Vec<Found>,
}

impl<'de> DeserializeSeed<'de> for Children<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Children<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of nodes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Self { depth, found } = self;
        while list.next_element_seed(Node { depth, found: &mut *found })?.is_some() {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, description: &str, ids: [u64; 2], children: &str) -> String {
        format!(
            r#"{{"nodeName":"{name}","simpleString":"{description}","children":[{children}],
            "metadata":{{}},"metrics":[
            {{"name":"number of output rows","accumulatorId":1,"metricType":"sum"}},
            {{"name":"number of total state rows","accumulatorId":{},"metricType":"sum"}},
            {{"name":"memory used by state","accumulatorId":{},"metricType":"size"}}]}}"#,
            ids[0], ids[1]
        )
    }

    fn event(plan: &str) -> String {
        format!(r#"{{"Event":"x","executionId":3,"sparkPlanInfo":{plan},"time":1}}"#)
    }

    #[test]
    fn operators_come_from_the_sink_down_with_their_accumulators() {
        let below = node("StreamingDeduplicate", "no info", [20, 21], "");
        let between = format!(
            r#"{{"nodeName":"Project","simpleString":"p","children":[{below}],"metrics":[]}}"#
        );
        let info = "state info [ checkpoint = /a, runId = b, opId = 0, ver = 2]";
        let plan = node("StateStoreSave", info, [10, 11], &between);
        let told = read(&event(&plan)).unwrap();
        let operators = told.operators;
        assert_eq!(told.execution, 3);
        let [save, dedupe] = operators.as_slice() else { panic!("{operators:?}") };
        assert_eq!((save.id, &*save.name), (OperatorId(0), "StateStoreSave"));
        assert_eq!(save.metrics, [(Metric::Rows, 10), (Metric::Memory, 11)]);
        // The lower one's text does not tell: it is the second from the sink.
        assert_eq!((dedupe.id, &*dedupe.name), (OperatorId(1), "StreamingDeduplicate"));
    }

    #[test]
    fn the_id_in_the_description_wins_over_the_place() {
        let info = "Dedup [a], state info [ checkpoint = opId = 9, opId = 3, ver = 2]";
        assert_eq!(told_id(info), Some(9), "the first after the mark");
        assert_eq!(told_id("state info [ checkpoint = /c, runId = r, opId = 12, v"), Some(12));
        assert_eq!(told_id("opId = 4"), None);
        assert_eq!(told_id("state info [ opId = x"), None);
    }

    #[test]
    fn a_plan_of_any_depth_is_read_in_bounded_depth() {
        let levels = 100_000;
        let deep = format!(
            "{}null{}",
            r#"{"nodeName":"P","children":["#.repeat(levels),
            "]}".repeat(levels)
        );
        let plan = node("StateStoreSave", "", [10, 11], &deep);
        let read = read(&event(&plan));
        assert_eq!(read.unwrap().operators.len(), 1);
    }

    #[test]
    fn an_execution_tells_what_it_is_for_and_the_confs_of_its_session() {
        let line = r#"{"executionId":3,"description":"agg\nid = a\nrunId = b\nbatch = 0",
            "modifiedConfigs":{"spark.sql.shuffle.partitions":"5","spark.odd":7}}"#;
        let told = read(line).unwrap();
        assert_eq!(told.description.as_deref(), Some("agg\nid = a\nrunId = b\nbatch = 0"));
        let confs: Vec<_> = told.confs.into_iter().collect();
        assert_eq!(confs, [("spark.sql.shuffle.partitions".to_owned(), "5".to_owned())]);
        let bare = read(r#"{"executionId":3,"description":null,"modifiedConfigs":null}"#).unwrap();
        assert!(bare.description.is_none() && bare.confs.is_empty());
    }

    #[test]
    fn other_json_is_an_error() {
        for odd in ["", "[]", "{}", r#"{"executionId":"x"}"#, r#"{"executionId":1,"#] {
            assert!(read(odd).is_err(), "{odd}");
        }
    }
}
