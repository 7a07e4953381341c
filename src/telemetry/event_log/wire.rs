//! The parts of Spark's listener events that are used, as its `JsonProtocol` writes them (Spark
//! 3.5 to 4.3).
//!
//! Texts are borrowed from the line and everything else is skipped: tasks are most of a log, so
//! reading one must cost no more than looking at its bytes. Must not know what is made of them.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, Visitor};
use serde_json::value::RawValue;

/// `SparkListenerLogStart`.
#[derive(Debug, Deserialize)]
pub(super) struct LogStart {
    #[serde(rename = "Spark Version")]
    pub(super) version: Option<String>,
}

/// `SparkListenerApplicationStart`.
#[derive(Debug, Deserialize)]
pub(super) struct ApplicationStart {
    #[serde(rename = "App ID")]
    pub(super) id: Option<String>,
}

/// `SparkListenerEnvironmentUpdate`.
#[derive(Debug, Deserialize)]
pub(super) struct Environment {
    #[serde(rename = "Spark Properties", default)]
    pub(super) confs: serde_json::Map<String, serde_json::Value>,
}

/// `SparkListenerJobStart`.
#[derive(Debug, Deserialize)]
pub(super) struct JobStart<'a> {
    #[serde(rename = "Job ID")]
    pub(super) job: u64,
    #[serde(rename = "Stage Infos", default)]
    pub(super) stages: Vec<StageInfo>,
    #[serde(rename = "Stage IDs", default)]
    pub(super) stage_ids: Vec<u64>,
    #[serde(rename = "Properties", borrow, default)]
    pub(super) properties: Option<Properties<'a>>,
}

/// The properties of a job that a streaming query runs.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Properties<'a> {
    #[serde(rename = "sql.streaming.queryId", borrow, default)]
    pub(super) query: Option<Text<'a>>,
    #[serde(rename = "streaming.sql.batchId", borrow, default)]
    pub(super) batch: Option<Text<'a>>,
    /// The run id: jobs of a query are cancelled as a group.
    #[serde(rename = "spark.jobGroup.id", borrow, default)]
    pub(super) group: Option<Text<'a>>,
    /// Name, ids and batch, a line each; the name's line is missing where there is none.
    #[serde(rename = "spark.job.description", borrow, default)]
    pub(super) description: Option<Text<'a>>,
    #[serde(
        rename = "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows",
        borrow,
        default
    )]
    pub(super) track_rows: Option<Text<'a>>,
}

/// A stage, as a job announces it and its completion tells it.
#[derive(Debug, Deserialize)]
pub(super) struct StageInfo {
    #[serde(rename = "Stage ID")]
    pub(super) stage: u64,
    #[serde(rename = "Number of Tasks", default)]
    pub(super) tasks: Option<u32>,
    /// Why it failed.
    #[serde(rename = "Failure Reason", default)]
    pub(super) failure: Option<IgnoredAny>,
}

/// `SparkListenerStageCompleted`.
#[derive(Debug, Deserialize)]
pub(super) struct StageCompleted {
    #[serde(rename = "Stage Info")]
    pub(super) stage: StageInfo,
}

/// `SparkListenerTaskEnd`.
#[derive(Debug, Deserialize)]
pub(super) struct TaskEnd<'a> {
    #[serde(rename = "Task End Reason", borrow)]
    pub(super) reason: EndReason<'a>,
    #[serde(rename = "Task Info", borrow)]
    pub(super) info: TaskInfo<'a>,
    #[serde(rename = "Task Metrics", default)]
    pub(super) metrics: Option<TaskMetrics>,
}

/// How a task ended: `Success`, or why not.
#[derive(Debug, Deserialize)]
pub(super) struct EndReason<'a> {
    #[serde(rename = "Reason", borrow)]
    pub(super) reason: Text<'a>,
}

/// What was known of a task when it ended.
#[derive(Debug, Deserialize)]
pub(super) struct TaskInfo<'a> {
    /// The partition of the stage's result, which for a stateful operator is the state partition.
    /// Not the index, which counts within an attempt.
    #[serde(rename = "Partition ID", default)]
    pub(super) partition: Option<i64>,
    /// The place in the attempt's list of tasks.
    #[serde(rename = "Index", default)]
    pub(super) index: Option<u32>,
    #[serde(rename = "Launch Time", default)]
    pub(super) launched: Option<i64>,
    #[serde(rename = "Finish Time", default)]
    pub(super) finished: Option<i64>,
    #[serde(rename = "Executor ID", borrow, default)]
    pub(super) executor: Option<Text<'a>>,
    #[serde(rename = "Host", borrow, default)]
    pub(super) host: Option<Text<'a>>,
    /// As they stand: most of a line, of which little is wanted. See [`super::accumulables`].
    #[serde(rename = "Accumulables", borrow, default)]
    pub(super) accumulables: Vec<&'a RawValue>,
}

/// Measures of a whole task. Times are in milliseconds.
#[derive(Debug, Default, Deserialize)]
pub(super) struct TaskMetrics {
    #[serde(rename = "JVM GC Time", default)]
    pub(super) gc_ms: Option<u64>,
    #[serde(rename = "Disk Bytes Spilled", default)]
    pub(super) spilled: Option<u64>,
    #[serde(rename = "Shuffle Read Metrics", default)]
    pub(super) shuffle: Option<ShuffleRead>,
}

/// What a task read from shuffles.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ShuffleRead {
    #[serde(rename = "Total Records Read", default)]
    pub(super) records: Option<u64>,
    #[serde(rename = "Remote Bytes Read", default)]
    pub(super) remote_bytes: Option<u64>,
    #[serde(rename = "Local Bytes Read", default)]
    pub(super) local_bytes: Option<u64>,
    #[serde(rename = "Fetch Wait Time", default)]
    pub(super) wait_ms: Option<u64>,
}

/// A text, borrowed where it has no escapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl Text<'_> {
    /// The text by itself.
    pub(super) fn owned(self) -> String {
        self.0.into_owned()
    }
}

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;

        impl<'de> Visitor<'de> for Texts {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(Texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_read_from_its_line_with_texts_borrowed() {
        let line = r#"{"Event":"SparkListenerTaskEnd","Stage ID":5,"Task End Reason":{"Reason":"Success"},
            "Task Info":{"Index":1,"Partition ID":3,"Launch Time":10,"Finish Time":25,"Executor ID":"7",
            "Host":"a\u002db","Accumulables":[{"ID":4,"Name":"n","Update":"9","Value":"20"}]},
            "Task Metrics":{"JVM GC Time":2,"Shuffle Read Metrics":{"Total Records Read":11}}}"#;
        let task: TaskEnd<'_> = serde_json::from_str(line).unwrap();
        assert_eq!(&*task.reason.reason, "Success");
        assert_eq!((task.info.partition, task.info.finished), (Some(3), Some(25)));
        assert!(matches!(task.info.executor, Some(Text(Cow::Borrowed("7")))));
        assert_eq!(task.info.host.as_deref(), Some("a-b"));
        let [accumulable] = task.info.accumulables.as_slice() else { panic!() };
        assert_eq!(accumulable.get(), r#"{"ID":4,"Name":"n","Update":"9","Value":"20"}"#);
        let metrics = task.metrics.unwrap();
        assert_eq!((metrics.gc_ms, metrics.spilled), (Some(2), None));
        assert_eq!(metrics.shuffle.unwrap().records, Some(11));
    }

    #[test]
    fn a_job_is_read_with_what_streaming_puts_into_its_properties() {
        let line = r#"{"Job ID":2,"Submission Time":7,"Stage Infos":[{"Stage ID":4,"Number of Tasks":1,
            "RDD Info":[{}]}],"Stage IDs":[4,5],"Properties":{"spark.x":"y","sql.streaming.queryId":"q",
            "streaming.sql.batchId":"2","spark.job.description":"agg\nid = q"}}"#;
        let job: JobStart<'_> = serde_json::from_str(line).unwrap();
        assert_eq!((job.job, job.stage_ids), (2, vec![4, 5]));
        let properties = job.properties.unwrap();
        assert_eq!(properties.query.as_deref(), Some("q"));
        assert_eq!(properties.description.as_deref(), Some("agg\nid = q"));
        let bare: JobStart<'_> = serde_json::from_str(r#"{"Job ID":2,"Properties":null}"#).unwrap();
        assert!(bare.properties.is_none() && bare.stages.is_empty());
    }
}
