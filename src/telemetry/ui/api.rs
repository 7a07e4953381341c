//! The parts of Spark's REST answers (`/api/v1`) that are used, as Spark 3.5 to 4.3 and its
//! history server write them.
//!
//! What is missing, null or of another type is `None` or empty, and fields that are not named here
//! are passed over: releases and vendors differ. Must not know what is made of the answers.

#![expect(clippy::struct_field_names, reason = "fields are named as the interface names them")]

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::telemetry::number;
use crate::units::UnixMillis;

/// One of `applications`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Application {
    pub(super) id: String,
    /// The newest first.
    #[serde(deserialize_with = "lenient_list")]
    pub(super) attempts: Vec<Attempt>,
}

/// An attempt at running an application. Only those of YARN have an id.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Attempt {
    #[serde(deserialize_with = "lenient")]
    pub(super) attempt_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) completed: bool,
    #[serde(deserialize_with = "lenient")]
    pub(super) app_spark_version: Option<String>,
}

/// `environment`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Environment {
    #[serde(deserialize_with = "lenient_list")]
    pub(super) spark_properties: Vec<(String, Value)>,
}

/// One of `sql`: a plan that was run. A microbatch is one, within which others run.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Execution {
    pub(super) id: u64,
    #[serde(deserialize_with = "lenient")]
    pub(super) status: ExecutionStatus,
    #[serde(deserialize_with = "lenient")]
    pub(super) description: String,
    pub(super) submission_time: Moment,
    /// Milliseconds until its end, or until now.
    #[serde(deserialize_with = "lenient_count")]
    pub(super) duration: Option<u64>,
    #[serde(deserialize_with = "lenient_list")]
    pub(super) running_job_ids: Vec<u64>,
    #[serde(deserialize_with = "lenient_list")]
    pub(super) success_job_ids: Vec<u64>,
    #[serde(deserialize_with = "lenient_list")]
    pub(super) failed_job_ids: Vec<u64>,
    /// Without details, or while it runs, there are none or they have no metrics.
    #[serde(deserialize_with = "lenient_list")]
    pub(super) nodes: Vec<Node>,
    #[serde(deserialize_with = "lenient_list")]
    pub(super) edges: Vec<Edge>,
    /// Why it failed, in newer releases. Empty when it did not.
    #[serde(deserialize_with = "lenient")]
    pub(super) error_message: String,
    /// The plan within which it ran, or itself (Spark 4.1 and later).
    #[serde(deserialize_with = "lenient_count")]
    pub(super) root_execution_id: Option<u64>,
}

impl Execution {
    /// Its jobs, whatever became of them.
    pub(super) fn jobs(&self) -> impl Iterator<Item = u64> {
        let all = [&self.success_job_ids, &self.failed_job_ids, &self.running_job_ids];
        all.into_iter().flatten().copied()
    }
}

/// How a plan is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub(super) enum ExecutionStatus {
    #[serde(rename = "COMPLETED")]
    Completed,
    #[serde(rename = "FAILED")]
    Failed,
    /// Or it is not said.
    #[default]
    #[serde(other)]
    Running,
}

/// A node of a plan. Ids count from the sink down.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Node {
    pub(super) node_id: u64,
    #[serde(deserialize_with = "lenient")]
    pub(super) node_name: String,
    #[serde(deserialize_with = "lenient_list")]
    pub(super) metrics: Vec<NodeMetric>,
}

/// A metric of a node, over all tasks, as a text for people.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct NodeMetric {
    #[serde(deserialize_with = "lenient")]
    pub(super) name: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) value: String,
}

/// Rows go from one node to the next.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Edge {
    pub(super) to_id: u64,
}

/// `jobs/{id}`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Job {
    #[serde(deserialize_with = "lenient_list")]
    pub(super) stage_ids: Vec<u64>,
}

/// One of `stages/{id}`: an attempt at a stage.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Stage {
    /// `ACTIVE`, `COMPLETE`, `FAILED`, `PENDING`, `SKIPPED`.
    #[serde(deserialize_with = "lenient")]
    pub(super) status: String,
    pub(super) attempt_id: u64,
    #[serde(deserialize_with = "lenient")]
    pub(super) num_tasks: Option<u32>,
    #[serde(deserialize_with = "lenient")]
    pub(super) failure_reason: Option<String>,
}

/// One of `stages/{id}/{attempt}/taskList`. Its accumulators are those of user code: Spark
/// leaves the metrics of plans out, so that what a task did to the state is not told.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Task {
    pub(super) task_id: u64,
    /// The place in the attempt's list of tasks.
    #[serde(deserialize_with = "lenient")]
    pub(super) index: Option<u32>,
    /// The partition of the stage's result; of a stateful stage the state partition. Below 0 in
    /// logs of old releases, which do not know it.
    #[serde(deserialize_with = "lenient")]
    pub(super) partition_id: Option<i64>,
    pub(super) launch_time: Moment,
    /// Milliseconds from launch to end.
    #[serde(deserialize_with = "lenient_count")]
    pub(super) duration: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub(super) executor_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) host: Option<String>,
    /// `RUNNING`, `SUCCESS`, `FAILED`, `KILLED`.
    #[serde(deserialize_with = "lenient")]
    pub(super) status: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) task_metrics: Option<TaskMetrics>,
}

/// Measures of a whole task. Times are in milliseconds.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct TaskMetrics {
    #[serde(deserialize_with = "lenient_count")]
    pub(super) jvm_gc_time: Option<u64>,
    #[serde(deserialize_with = "lenient_count")]
    pub(super) disk_bytes_spilled: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub(super) shuffle_read_metrics: Option<ShuffleRead>,
}

/// What a task read from shuffles.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ShuffleRead {
    #[serde(deserialize_with = "lenient_count")]
    pub(super) fetch_wait_time: Option<u64>,
    #[serde(deserialize_with = "lenient_count")]
    pub(super) remote_bytes_read: Option<u64>,
    #[serde(deserialize_with = "lenient_count")]
    pub(super) local_bytes_read: Option<u64>,
    #[serde(deserialize_with = "lenient_count")]
    pub(super) records_read: Option<u64>,
}

/// A moment, written as `2026-12-01T12:30:18.396GMT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Moment(pub(super) Option<UnixMillis>);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let in_gmt = value.as_str().and_then(|text| text.strip_suffix("GMT"));
        Ok(Self(in_gmt.map_or_else(|| number::time(&value), number::moment)))
    }
}

/// A list of which each part is read for itself: what cannot be read is left out and counted, so
/// that one odd plan does not hide a hundred others.
#[derive(Debug)]
pub(super) struct List<T> {
    /// What could be read.
    pub(super) items: Vec<T>,
    /// How many there were.
    pub(super) listed: usize,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { items: Vec::new(), listed: 0 }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = Vec::<Value>::deserialize(deserializer)?;
        let listed = all.len();
        let items = all.into_iter().filter_map(|item| serde_json::from_value(item).ok());
        Ok(Self { items: items.collect(), listed })
    }
}

/// A value of the type that is expected; anything else is its default.
fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// A list without what cannot be read in it; anything else is an empty one.
fn lenient_list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let list: List<T> = lenient(deserializer)?;
    Ok(list.items)
}

/// A number that is not negative; anything else is not known.
fn lenient_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(number::count(&Value::deserialize(deserializer)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_null_or_new_does_no_harm() {
        let plan: Execution = serde_json::from_str(
            r#"{"id": 7, "status": "ON HOLD", "description": null, "nodes": null, "duration": -1,
                "submissionTime": "2026-12-01T12:30:18.396GMT", "new": {"x": [1]}}"#,
        )
        .unwrap();
        assert_eq!((plan.id, plan.status, plan.duration), (7, ExecutionStatus::Running, None));
        // 2026-12-01 is day 20,788 since 1970; 12:30:18.396 is 45,018.396 s into it.
        let expected = UnixMillis(20_788 * 86_400_000 + 45_018_396);
        assert_eq!(plan.submission_time.0, Some(expected));
        let task: Task = serde_json::from_str(r#"{"taskId": 3, "launchTime": "soon"}"#).unwrap();
        assert_eq!((task.task_id, task.partition_id, task.launch_time.0), (3, None, None));
        assert!(task.task_metrics.is_none());
    }

    #[test]
    fn one_odd_value_or_item_hides_no_other() {
        let plans: List<Execution> = serde_json::from_str(
            r#"[{"id": 1, "status": null, "rootExecutionId": -1, "successJobIds": [3, "x", 4]},
                {"id": "none"}, 7,
                {"id": 2, "nodes": [{"nodeId": 5, "metrics": {}}, {"nodeId": null}, {"nodeId": 6}]}]"#,
        )
        .unwrap();
        assert_eq!(plans.listed, 4);
        let [first, second] = plans.items.try_into().unwrap();
        assert_eq!(
            (first.id, first.root_execution_id, first.success_job_ids),
            (1, None, vec![3, 4])
        );
        assert_eq!(second.nodes.iter().map(|node| node.node_id).collect::<Vec<_>>(), [5, 6]);
        assert!(serde_json::from_str::<List<Execution>>("{}").is_err(), "no list");
    }
}
