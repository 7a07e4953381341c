//! The stateful operators of a plan that has run, as the Spark UI shows them.
//!
//! Numbers are over all tasks of an operator; which stage it ran in stands beside the largest of
//! its sizes and times. Must not know tasks or jobs.

use std::collections::BTreeSet;

use super::api::{Execution, Node};
use super::shown::{self, StageAttempt};
use crate::telemetry::event::{OperatorProgress, Rows};
use crate::telemetry::metric::{self, Metric};
use crate::telemetry::progress;
use crate::units::OperatorId;

/// Spark's names for stateful operators, or how they begin. One that did not run has no metrics
/// by which it could be told.
const STATEFUL: [&str; 8] = [
    "StateStoreSave",
    "SessionWindowStateStoreSave",
    "StreamingSymmetricHashJoin",
    "StreamingDeduplicate",
    "StreamingGlobalLimit",
    "FlatMapGroupsWithState",
    "FlatMapGroupsInPandasWithState",
    "TransformWithState",
];
/// What a leaf of a plan read.
const OUTPUT_ROWS: &str = "number of output rows";
const GIVEN_ROWS: &str = "Scan ExistingRDD";
const INSTANCES: &str = "number of state store instances";
/// Only in 3.5; later releases have the stage's tasks alone.
const PARTITIONS: &str = "number of shuffle partitions";
/// Operators that are kept of a plan.
const MOST: usize = 1_000;

/// A stateful operator that ran.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Operator {
    /// Its id.
    pub(super) id: OperatorId,
    /// Where it ran; `None` where one task alone told.
    pub(super) stage: Option<StageAttempt>,
    /// Its numbers.
    pub(super) progress: OperatorProgress,
}

/// The stateful operators of a plan that ran, by id. Spark numbers them from the sink down, as it
/// does nodes.
pub(super) fn of(plan: &Execution) -> Vec<Operator> {
    let mut nodes: Vec<&Node> = plan.nodes.iter().filter(|node| is_stateful(node)).collect();
    nodes.sort_by_key(|node| node.node_id);
    let numbered = (0..).map(OperatorId).zip(nodes).take(MOST);
    let ran = numbered.filter(|(_, node)| text(node, metric::ROWS).is_some());
    ran.map(|(id, node)| Operator { id, stage: stage(node), progress: numbers(node) }).collect()
}

/// The rows that a plan read, where it has one leaf: its source. Of several leaves some may be
/// tables; and what a `foreachBatch` function is given is, before Spark 4.1, rows that were
/// worked on already.
pub(super) fn rows_in(plan: &Execution) -> Option<u64> {
    let fed: BTreeSet<u64> = plan.edges.iter().map(|edge| edge.to_id).collect();
    // Clusters of nodes are listed as nodes too, but nothing comes from or goes to them.
    let is_leaf = |node: &&Node| {
        !fed.contains(&node.node_id) && !node.node_name.starts_with("WholeStageCodegen")
    };
    let mut leaves = plan.nodes.iter().filter(is_leaf);
    match (leaves.next(), leaves.next()) {
        (Some(leaf), None) if leaf.node_name != GIVEN_ROWS => {
            text(leaf, OUTPUT_ROWS).and_then(shown::count)
        }
        _ => None,
    }
}

fn is_stateful(node: &Node) -> bool {
    STATEFUL.iter().any(|name| node.node_name.starts_with(name))
        || text(node, metric::ROWS).is_some()
}

fn text<'n>(node: &'n Node, name: &str) -> Option<&'n str> {
    node.metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value.as_str())
}

fn stage(node: &Node) -> Option<StageAttempt> {
    let of_state = node.metrics.iter().filter(|metric| Metric::named(&metric.name).is_some());
    of_state.filter_map(|metric| shown::stage(&metric.value)).max()
}

fn numbers(node: &Node) -> OperatorProgress {
    let of = |wanted: Metric| {
        let metric = node.metrics.iter().find(|it| Metric::named(&it.name) == Some(wanted));
        metric.map(|metric| metric.value.as_str())
    };
    let count = |metric| of(metric).and_then(shown::count);
    let millis = |metric| of(metric).and_then(shown::millis);
    let (updated, removed) = (count(Metric::Updated), count(Metric::Removed));
    // Spark 3.5 shows a metric that no task has set as -1 for each of them.
    let is_unset = of(Metric::Rows).is_some_and(|text| text.trim_start().starts_with('-'));
    OperatorProgress {
        name: Some(node.node_name.clone()),
        rows: if is_unset {
            Rows::Untracked
        } else {
            progress::state_rows(count(Metric::Rows), updated, removed)
        },
        updated,
        removed,
        dropped: count(Metric::Dropped),
        memory: of(Metric::Memory).and_then(shown::bytes),
        partitions: text(node, PARTITIONS).and_then(shown::count),
        instances: text(node, INSTANCES).and_then(shown::count),
        update_ms: millis(Metric::UpdateMs),
        removal_ms: millis(Metric::RemovalMs),
        commit_ms: millis(Metric::CommitMs),
        custom: Vec::new(),
        labelled: Vec::new(),
        other: serde_json::Map::new(),
    }
}

/// An operator that is known by its place only: another plan of the batch, or none, told more.
pub(super) fn unknown() -> OperatorProgress {
    OperatorProgress {
        name: None,
        rows: Rows::Unknown,
        updated: None,
        removed: None,
        dropped: None,
        memory: None,
        partitions: None,
        instances: None,
        update_ms: None,
        removal_ms: None,
        commit_ms: None,
        custom: Vec::new(),
        labelled: Vec::new(),
        other: serde_json::Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::units::Bytes;

    fn node(id: u64, name: &str, metrics: &[(&str, &str)]) -> Value {
        let metric = |(name, value): &(&str, &str)| json!({"name": name, "value": value});
        let metrics: Vec<Value> = metrics.iter().map(metric).collect();
        json!({"nodeId": id, "nodeName": name, "metrics": metrics})
    }

    fn plan(nodes: &[Value], edges: &[(u64, u64)]) -> Execution {
        let edge = |(from, to): &(u64, u64)| json!({"fromId": from, "toId": to});
        let edges: Vec<Value> = edges.iter().map(edge).collect();
        serde_json::from_value(json!({"id": 1, "nodes": nodes, "edges": edges})).unwrap()
    }

    #[test]
    fn operators_count_from_the_sink_down_also_over_those_that_did_not_run() {
        let memory = "total (min, med, max (stageId: taskId))\n\
                      10.4 KiB (2.1 KiB, 2.1 KiB, 2.1 KiB (stage 31.1: task 95))";
        let found = of(&plan(
            &[
                node(
                    14,
                    "StreamingDeduplicate",
                    &[(metric::ROWS, "30"), ("time to update", "9 ms")],
                ),
                node(6, "StateStoreRestore", &[(OUTPUT_ROWS, "13")]),
                node(
                    3,
                    "StateStoreSave",
                    &[(metric::ROWS, "1,013"), ("memory used by state", memory)],
                ),
                node(2, "TransformWithStateInPySpark", &[]),
            ],
            &[],
        ));
        let told: Vec<_> = found
            .iter()
            .map(|it| (it.id.0, it.progress.name.as_deref(), it.progress.rows, it.stage))
            .collect();
        let stage = Some(StageAttempt { stage: 31, attempt: 1 });
        assert_eq!(
            told,
            [
                (1, Some("StateStoreSave"), Rows::Known(1_013), stage),
                (2, Some("StreamingDeduplicate"), Rows::Known(30), None),
            ]
        );
        assert_eq!(found[0].progress.memory, Some(Bytes(10_650)));
        assert_eq!(found[1].progress.update_ms, Some(9));
    }

    #[test]
    fn rows_that_are_not_counted_are_not_none() {
        let metrics = [(metric::ROWS, "0"), ("number of updated state rows", "8")];
        let found = of(&plan(&[node(0, "StateStoreSave", &metrics)], &[]));
        assert_eq!(found[0].progress.rows, Rows::Untracked);
        let metrics = [(metric::ROWS, "-5"), ("number of updated state rows", "0")];
        let found = of(&plan(&[node(0, "StateStoreSave", &metrics)], &[]));
        assert_eq!(found[0].progress.rows, Rows::Untracked, "of five tasks, in 3.5");
    }

    #[test]
    fn rows_come_in_at_the_only_leaf() {
        let nodes = [
            node(5, "Scan json", &[(OUTPUT_ROWS, "1,030")]),
            node(4, "WholeStageCodegen (1)", &[("duration", "5 ms")]),
            node(3, "Filter", &[(OUTPUT_ROWS, "7")]),
        ];
        assert_eq!(rows_in(&plan(&nodes, &[(5, 3)])), Some(1_030));
        assert_eq!(rows_in(&plan(&nodes, &[])), None, "two leaves");
        let given = [node(6, GIVEN_ROWS, &[(OUTPUT_ROWS, "13")])];
        assert_eq!(rows_in(&plan(&given, &[])), None);
        assert_eq!(rows_in(&plan(&[], &[])), None);
    }
}
