//! What the messages of Spark's driver say of streaming queries.
//!
//! The wordings are those of `StreamExecution`, `MicroBatchExecution`, `ProgressReporter`,
//! `OffsetSeqMetadata` and `OfflineStateRepartitionRunner` in Spark 3.5 to 4.3. Messages are
//! searched, not matched from their start: loggers and vendors put words before them.

use std::sync::{Arc, LazyLock};

use memchr::memmem::Finder;

use crate::telemetry::event::QueryRef;
use crate::units::BatchId;

/// What stands before a progress object.
const PROGRESS: &str = "Streaming query made progress: ";

/// A message that tells something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Message<'a> {
    /// A microbatch was done: the progress object. Empty where it follows as an object of its own.
    Progress(&'a str),
    /// A query was started.
    Starting {
        /// Which.
        query: QueryRef,
        /// Where it keeps its checkpoint.
        checkpoint: &'a str,
    },
    /// A query was stopped on purpose.
    Stopped(QueryRef),
    /// A query failed; its exception follows on the next lines.
    Failed(QueryRef),
    /// The same, in the words of the exception that the program gets: the rest of the message,
    /// and the next lines, are the exception.
    StreamFailed(QueryRef),
    /// A query has worked off all that was available and ends; the message does not say which.
    NoMoreData,
    /// A query's thread is gone, whatever ended it.
    Gone(QueryRef),
    /// A query waits for data; the message does not say which.
    Idle,
    /// A conf was taken from the checkpoint.
    ConfRestored {
        /// Which conf.
        key: &'a str,
        /// The session's value.
        asked: &'a str,
        /// The checkpoint's value.
        kept: &'a str,
    },
    /// An offline repartition.
    Repartition {
        /// Of this checkpoint.
        checkpoint: &'a str,
        /// To this count.
        partitions: u32,
        /// What of it.
        step: Step,
    },
    /// The batch of the repartition under way is in the offset log.
    RepartitionPlanned(BatchId),
}

/// A step of an offline repartition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It was asked for.
    Begun,
    /// It is done.
    Done {
        /// Its batch.
        batch: Option<BatchId>,
        /// Milliseconds that it took.
        duration_ms: Option<u64>,
    },
    /// It failed; its exception follows on the next lines.
    Failed,
}

impl<'a> Message<'a> {
    /// What a message tells; `None` for the many that tell nothing of interest.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        let has = |word: &Finder<'_>| word.find(text.as_bytes()).is_some();
        let (_, read) = READERS.iter().find(|(word, _)| has(word))?;
        read(text)
    }
}

/// What reads a message that has a word.
type Reader = for<'a> fn(&'a str) -> Option<Message<'a>>;

/// The words by which messages are known, each with what reads them. Logs are long, and every
/// entry is searched for all of these.
static READERS: LazyLock<[(Finder<'static>, Reader); 6]> = LazyLock::new(|| {
    let readers: [(&str, Reader); 6] = [
        (PROGRESS, |text| Some(Message::Progress(text.split_once(PROGRESS)?.1))),
        ("[id = ", of_query),
        ("Updating the value of conf", conf),
        ("epartition", repartition),
        ("Streaming query has been idle", |_| Some(Message::Idle)),
        ("terminating this Trigger.AvailableNow query", |_| Some(Message::NoMoreData)),
    ];
    readers.map(|(word, read)| (Finder::new(word), read))
});

/// `Updating the value of conf 'K' in current session from 'A' to 'B'.`
fn conf(text: &str) -> Option<Message<'_>> {
    let (_, rest) = text.split_once("Updating the value of conf '")?;
    let (key, rest) = rest.split_once("' in current session from '")?;
    let (asked, rest) = rest.split_once("' to '")?;
    let (kept, _) = rest.rsplit_once('\'')?;
    Some(Message::ConfRestored { key, asked, kept })
}

/// Messages that name a query: `NAME [id = …, runId = …]`, without `NAME ` when it has none.
fn of_query(text: &str) -> Option<Message<'_>> {
    let (before, rest) = text.split_once("[id = ")?;
    let (id, rest) = rest.split_once(", runId = ")?;
    let (run, after) = rest.split_once(']')?;
    let query = |word: &str| {
        let (_, name) = before.split_once(word)?;
        let name = Some(name.trim()).filter(|name| !name.is_empty()).map(Arc::from);
        Some(QueryRef { id: Some(id.into()), run: Some(run.into()), name })
    };
    if after.starts_with(" terminated with error") {
        return query("Query ").map(Message::Failed);
    }
    if after.starts_with(" terminated with exception: ") {
        return query("Query ").map(Message::StreamFailed);
    }
    if after.starts_with(" was stopped") {
        return query("Query ").map(Message::Stopped);
    }
    if after.starts_with(" has been shutdown") {
        return query("pool for query ").map(Message::Gone);
    }
    let checkpoint = after.strip_prefix(". Use ")?.split_once(" to store the query checkpoint")?.0;
    query("Starting ").map(|query| Message::Starting { query, checkpoint })
}

/// The lines of `OfflineStateRepartitionRunner`, Spark 4.2 and later.
fn repartition(text: &str) -> Option<Message<'_>> {
    if let Some((_, batch)) =
        text.split_once("Created new offset log entry for repartition batch. batchId=")
    {
        return leading(batch).map(|batch| Message::RepartitionPlanned(BatchId(batch)));
    }
    let step = if text.contains("Starting offline state repartitioning for ") {
        Step::Begun
    } else if text.contains("Completed state repartitioning for ") {
        let batch = number_after(text, "repartitionBatchId=").map(BatchId);
        Step::Done { batch, duration_ms: number_after(text, "durationMs=") }
    } else if text.contains("State repartitioning failed for ") {
        Step::Failed
    } else {
        return None;
    };
    let (_, rest) = text.split_once("checkpointLocation=")?;
    let (checkpoint, _) = rest.split_once(", numPartitions=")?;
    let partitions = number_after(text, ", numPartitions=")?;
    Some(Message::Repartition { checkpoint, partitions: partitions.try_into().ok()?, step })
}

fn number_after(text: &str, key: &str) -> Option<u64> {
    leading(text.split_once(key)?.1)
}

/// The number that a text begins with.
fn leading(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.get(..digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(name: Option<&str>) -> QueryRef {
        QueryRef { id: Some("a-1".into()), run: Some("b-2".into()), name: name.map(Arc::from) }
    }

    #[test]
    fn queries_start_stop_and_fail() {
        for (text, expected) in [
            (
                "MicroBatchExecution: Starting my agg [id = a-1, runId = b-2]. Use s3://b/c d to \
                 store the query checkpoint.",
                Some(Message::Starting { query: query(Some("my agg")), checkpoint: "s3://b/c d" }),
            ),
            (
                "MicroBatchExecution: Starting [id = a-1, runId = b-2]. Use file:/c to store the \
                 query checkpoint.",
                Some(Message::Starting { query: query(None), checkpoint: "file:/c" }),
            ),
            (
                "MicroBatchExecution: Query agg [id = a-1, runId = b-2] was stopped",
                Some(Message::Stopped(query(Some("agg")))),
            ),
            (
                "MicroBatchExecution: [queryId = a] Query agg [id = a-1, runId = b-2] terminated \
                 with error",
                Some(Message::Failed(query(Some("agg")))),
            ),
            (
                "[STREAM_FAILED] Query [id = a-1, runId = b-2] terminated with exception: x",
                Some(Message::StreamFailed(query(None))),
            ),
            (
                "MicroBatchExecution: Async log purge executor pool for query agg [id = a-1, \
                 runId = b-2] has been shutdown",
                Some(Message::Gone(query(Some("agg")))),
            ),
            (
                "MicroBatchExecution: Finished processing all available data for the trigger, \
                 terminating this Trigger.AvailableNow query",
                Some(Message::NoMoreData),
            ),
            ("MicroBatchExecution: Query agg [id = a-1, runId = b-2] waits", None),
            ("MicroBatchExecution: Query agg [id = a-1", None),
            (
                "MicroBatchExecution: Streaming query has been idle and waiting for new data more \
                 than 10000 ms.",
                Some(Message::Idle),
            ),
        ] {
            assert_eq!(Message::of(text), expected, "{text}");
        }
    }

    #[test]
    fn confs_are_restored() {
        assert_eq!(
            Message::of(
                "OffsetSeqMetadata: Updating the value of conf 'spark.sql.shuffle.partitions' in \
                 current session from '12' to '5'."
            ),
            Some(Message::ConfRestored {
                key: "spark.sql.shuffle.partitions",
                asked: "12",
                kept: "5"
            })
        );
    }

    #[test]
    fn repartitions_begin_plan_end_and_fail() {
        let place = "checkpointLocation=s3://b/a, b, numPartitions=8";
        let of =
            |step| Some(Message::Repartition { checkpoint: "s3://b/a, b", partitions: 8, step });
        for (text, expected) in [
            (
                format!("R: Starting offline state repartitioning for {place}, x=true"),
                of(Step::Begun),
            ),
            (
                format!(
                    "R: Completed state repartitioning for {place}, repartitionBatchId=13, \
                     durationMs=6642"
                ),
                of(Step::Done { batch: Some(BatchId(13)), duration_ms: Some(6642) }),
            ),
            (format!("R: State repartitioning failed for {place}"), of(Step::Failed)),
            (
                "R: Created new offset log entry for repartition batch. batchId=13".to_owned(),
                Some(Message::RepartitionPlanned(BatchId(13))),
            ),
            ("R: State repartitioning failed for".to_owned(), None),
            (
                "R: State repartitioning failed for checkpointLocation=a, numPartitions=99999999999"
                    .to_owned(),
                None,
            ),
        ] {
            assert_eq!(Message::of(&text), expected, "{text}");
        }
    }
}
