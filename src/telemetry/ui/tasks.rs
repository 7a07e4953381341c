//! From the tasks of a stage to what each partition did.
//!
//! The Spark UI tells what arrived at a task, its times and what it spilled. It leaves out what a
//! task did to the state, so rows per partition are not known from here.

use std::collections::BTreeMap;
use std::collections::HashSet;
use std::sync::Arc;

use super::api::{Task, TaskMetrics};
use crate::telemetry::event::TaskLoad;
use crate::units::{Bytes, PartitionId, UnixMillis};

/// Names of executors and hosts that are shared between tasks.
const NAMES: usize = 10_000;
const SUCCESS: &str = "SUCCESS";

/// One allocation for each name that comes again and again.
#[derive(Debug, Default)]
pub(super) struct Names(HashSet<Arc<str>>);

impl Names {
    fn shared(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.0.get(text) {
            return Arc::clone(known);
        }
        if self.0.len() >= NAMES {
            self.0.clear();
        }
        let name: Arc<str> = text.into();
        self.0.insert(Arc::clone(&name));
        name
    }
}

/// The tasks of a stage that succeeded.
#[derive(Debug, Default)]
pub(super) struct Done {
    tasks: BTreeMap<u32, TaskLoad>,
    latest: Option<UnixMillis>,
}

impl Done {
    /// Takes tasks, of the first attempt at the stage first: a later attempt does again only what
    /// was lost.
    pub(super) fn add(&mut self, tasks: Vec<Task>, names: &mut Names) {
        for task in tasks.into_iter().filter(|task| task.status == SUCCESS) {
            let told = task.partition_id.and_then(|partition| u32::try_from(partition).ok());
            let Some(partition) = told.or(task.index) else { continue };
            self.latest = self.latest.max(ended(&task));
            self.tasks.insert(partition, load(PartitionId(partition), &task, names));
        }
    }

    /// How many partitions are done.
    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// When the last of the tasks ended.
    pub(super) fn latest(&self) -> Option<UnixMillis> {
        self.latest
    }

    /// What each partition did, in the order of partitions.
    pub(super) fn loads(&self) -> Vec<TaskLoad> {
        self.tasks.values().cloned().collect()
    }
}

fn ended(task: &Task) -> Option<UnixMillis> {
    Some(UnixMillis(task.launch_time.0?.0.saturating_add_unsigned(task.duration?)))
}

fn load(partition: PartitionId, task: &Task, names: &mut Names) -> TaskLoad {
    let none = TaskMetrics::default();
    let metrics = task.task_metrics.as_ref().unwrap_or(&none);
    let shuffle = metrics.shuffle_read_metrics.as_ref();
    let bytes = shuffle
        .and_then(|read| Some(read.local_bytes_read?.saturating_add(read.remote_bytes_read?)));
    TaskLoad {
        partition,
        arriving: shuffle.and_then(|read| read.records_read),
        arriving_bytes: bytes.map(Bytes),
        task_ms: task.duration,
        gc_ms: metrics.jvm_gc_time,
        spilled: metrics.disk_bytes_spilled.map(Bytes),
        fetch_wait_ms: shuffle.and_then(|read| read.fetch_wait_time),
        executor: task.executor_id.as_deref().map(|name| names.shared(name)),
        host: task.host.as_deref().map(|name| names.shared(name)),
        ..TaskLoad::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn task(id: u64, partition: i64, status: &str, records: u64) -> Value {
        json!({
            "taskId": id, "index": id, "partitionId": partition, "status": status,
            "launchTime": "1970-01-01T00:00:10.000GMT", "duration": 100 + id,
            "executorId": "3", "host": "worker",
            "taskMetrics": {
                "jvmGcTime": 4, "diskBytesSpilled": 5,
                "shuffleReadMetrics": {
                    "recordsRead": records, "localBytesRead": 10, "remoteBytesRead": 20,
                    "fetchWaitTime": 6,
                },
            },
        })
    }

    fn done(attempts: &[&[Value]]) -> Done {
        let (mut done, mut names) = (Done::default(), Names::default());
        for tasks in attempts {
            let tasks = tasks.iter().map(|it| serde_json::from_value(it.clone()).unwrap());
            done.add(tasks.collect(), &mut names);
        }
        done
    }

    #[test]
    fn a_partition_is_told_by_the_task_that_succeeded() {
        let done = done(&[&[
            task(0, 0, "SUCCESS", 7),
            task(1, 1, "FAILED", 1),
            task(2, 1, "SUCCESS", 9),
            task(3, 2, "RUNNING", 1),
        ]]);
        let told: Vec<_> = done.loads().iter().map(|it| (it.partition.0, it.arriving)).collect();
        assert_eq!(told, [(0, Some(7)), (1, Some(9))]);
        assert_eq!(done.latest(), Some(UnixMillis(10_102)));
        let first = &done.loads()[0];
        assert_eq!((first.arriving_bytes, first.task_ms), (Some(Bytes(30)), Some(100)));
        assert_eq!(
            (first.gc_ms, first.spilled, first.fetch_wait_ms),
            (Some(4), Some(Bytes(5)), Some(6))
        );
        assert_eq!((first.executor.as_deref(), first.host.as_deref()), (Some("3"), Some("worker")));
        assert_eq!((first.rows, first.updated, first.commit_ms), (None, None, None));
    }

    #[test]
    fn a_later_attempt_replaces_what_it_did_again() {
        let done = done(&[
            &[task(0, 0, "SUCCESS", 7), task(1, 1, "SUCCESS", 8)],
            &[task(2, 1, "SUCCESS", 9)],
        ]);
        let told: Vec<_> = done.loads().iter().map(|it| (it.partition.0, it.arriving)).collect();
        assert_eq!(told, [(0, Some(7)), (1, Some(9))]);
    }

    #[test]
    fn old_logs_have_no_partition_and_odd_tasks_do_no_harm() {
        let done = done(&[&[
            task(4, -1, "SUCCESS", 7),
            json!({"status": "SUCCESS"}),
            json!({"status": "SUCCESS", "partitionId": 1}),
        ]]);
        let told: Vec<_> = done.loads().iter().map(|it| (it.partition.0, it.arriving)).collect();
        assert_eq!(told, [(1, None), (4, Some(7))]);
    }
}
