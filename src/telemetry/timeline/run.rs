//! One run of a query: from a start to its end, under one run id.

use std::collections::VecDeque;
use std::sync::Arc;

use super::batch::Batch;
use crate::telemetry::Terminated;
use crate::units::{BatchId, UnixMillis};

/// Bytes of an exception that are kept: the causes are far from the first line, but a stack
/// trace has no end.
const EXCEPTION: usize = 16 << 10;

/// Names a run within its query. Unlike Spark's run id it is always there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunKey(pub(super) u32);

/// A run of a query.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its name here.
    pub key: RunKey,
    /// Spark's run id.
    pub id: Option<Arc<str>>,
    /// When it was started, where a source tells.
    pub started: Option<UnixMillis>,
    /// How it ended; `None` as long as it has not, or nobody told.
    pub ended: Option<Ended>,
    /// When it last said that it waits for data.
    pub idle: Option<UnixMillis>,
    /// The confs of its session that are not the defaults, where a source tells; of what the
    /// checkpoint pins they have the checkpoint's value.
    pub confs: Arc<[(String, String)]>,
    /// The earliest moment that anything tells of.
    pub(super) first: Option<UnixMillis>,
    /// By id, which is the order in time.
    pub(super) batches: VecDeque<Arc<Batch>>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// When, where the source tells.
    pub at: Option<UnixMillis>,
    /// The exception, its stack trace cut where it is long; `None` when the run was stopped.
    pub exception: Option<String>,
    /// The error class: the deepest one in the exception's text, else the one that Spark names.
    pub class: Option<String>,
}

impl Ended {
    pub(super) fn of(terminated: Terminated) -> Self {
        let Terminated { timestamp, exception, error_class, class_in_text, .. } = terminated;
        Self { at: timestamp, exception: exception.map(cut), class: class_in_text.or(error_class) }
    }

    /// Whether it ended with an exception.
    pub fn has_failed(&self) -> bool {
        self.exception.is_some() || self.class.is_some()
    }

    /// The first line of the exception that says something.
    pub fn headline(&self) -> Option<&str> {
        let text = self.exception.as_deref()?;
        text.lines().map(str::trim).find(|line| !line.is_empty())
    }

    fn fill_from(&mut self, other: Self) {
        self.at = self.at.or(other.at);
        if self.exception.is_none() {
            self.exception = other.exception;
        }
        if self.class.is_none() {
            self.class = other.class;
        }
    }
}

fn cut(mut text: String) -> String {
    if text.len() > EXCEPTION {
        let end = (0..=EXCEPTION).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
        text.shrink_to_fit();
    }
    text
}

impl Run {
    pub(super) fn new(key: RunKey, id: Option<Arc<str>>) -> Self {
        Self {
            key,
            id,
            started: None,
            ended: None,
            idle: None,
            confs: Arc::new([]),
            first: None,
            batches: VecDeque::new(),
        }
    }

    /// When it began, as far as anything tells.
    pub fn began(&self) -> Option<UnixMillis> {
        self.started.or(self.first)
    }

    /// The batches that the query reported, oldest first.
    pub fn reported(&self) -> impl DoubleEndedIterator<Item = &Batch> {
        self.batches.iter().map(AsRef::as_ref).filter(|batch| batch.is_reported())
    }

    /// The newest batch that was reported.
    pub fn newest(&self) -> Option<&Batch> {
        self.reported().next_back()
    }

    /// The batch of that id.
    pub fn batch(&self, id: BatchId) -> Option<&Batch> {
        self.batches.get(self.place(id).ok()?).map(AsRef::as_ref)
    }

    /// When it was last heard of.
    pub fn heard(&self) -> Option<UnixMillis> {
        let newest = self.newest().map(|batch| &batch.numbers);
        let batch = newest.and_then(|numbers| numbers.ended().or(numbers.at));
        let ended = self.ended.as_ref().and_then(|ended| ended.at);
        [batch, self.idle, ended, self.began()].into_iter().flatten().max()
    }

    /// Where a batch is, or would be.
    pub(super) fn place(&self, id: BatchId) -> Result<usize, usize> {
        match self.batches.back() {
            // Nearly always it is the newest, or newer than that.
            Some(last) if last.id == id => Ok(self.batches.len() - 1),
            Some(last) if last.id < id => Err(self.batches.len()),
            _ => self.batches.binary_search_by_key(&id, |batch| batch.id),
        }
    }

    /// The batch of that id, to be changed.
    pub(super) fn batch_mut(&mut self, id: BatchId) -> Option<&mut Batch> {
        let at = self.place(id).ok()?;
        self.batches.get_mut(at).map(Arc::make_mut)
    }

    /// The batch of that id, made where it was not known; `aged` is for a new one.
    pub(super) fn batch_or_new(&mut self, id: BatchId, aged: UnixMillis) -> Option<&mut Batch> {
        let at = match self.place(id) {
            Ok(at) => at,
            Err(at) => {
                self.batches.insert(at, Arc::new(Batch::new(id, aged)));
                at
            }
        };
        self.batches.get_mut(at).map(Arc::make_mut)
    }

    pub(super) fn end(&mut self, ended: Ended) {
        match &mut self.ended {
            Some(known) => known.fill_from(ended),
            none => *none = Some(ended),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::QueryRef;

    #[test]
    fn the_class_in_the_text_is_the_cause_and_a_long_trace_is_cut() {
        let text =
            format!("\n org.apache.spark.SparkException: Job aborted\n{}", "é".repeat(20_000));
        let ended = Ended::of(Terminated {
            query: QueryRef::default(),
            timestamp: None,
            exception: Some(text),
            error_class: Some("STREAM_FAILED".to_owned()),
            class_in_text: Some("STATE_STORE_COMMIT_VALIDATION_FAILED".to_owned()),
        });
        assert_eq!(ended.class.as_deref(), Some("STATE_STORE_COMMIT_VALIDATION_FAILED"));
        assert_eq!(ended.headline(), Some("org.apache.spark.SparkException: Job aborted"));
        assert!(ended.exception.as_ref().unwrap().len() < EXCEPTION + 8);
        assert!(ended.has_failed());
    }
}
