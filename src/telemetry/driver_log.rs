//! A driver's log: its entries of interest into events.
//!
//! An entry is a line with a head and the lines without one that follow it: a stack trace. The
//! end of a query that failed is told by such an entry, so it is known only when the next entry
//! begins; [`DriverLog::settle`] says that none will. Progress objects within the log are not
//! seen here: [`super::pieces`] takes them out. Must not know files.

pub(crate) mod line;
mod message;
pub(crate) mod structured;

use std::sync::Arc;

use self::line::Line;
use self::message::{Message, Step};
use self::structured::Entry;
use super::error_class;
use super::event::{ConfRestored, EventKind, QueryRef, RepartitionNote, RepartitionStage, Started};
use super::listener;
use super::progress;
use crate::units::{BatchId, UnixMillis};

/// Of an exception no more than this is kept, in bytes.
const LONGEST_EXCEPTION: usize = 256 << 10;
/// Stands for the exception that a log does not have.
const NO_EXCEPTION: &str = "terminated with error";

/// A log in reading.
#[derive(Debug, Default)]
pub(super) struct DriverLog {
    /// The exception at hand.
    gathering: Option<Gathering>,
    /// Whether an entry has come: exceptions before it belong to none.
    headed: bool,
    /// The offline repartition under way: its checkpoint and count.
    repartition: Option<(String, u32)>,
    /// The run whose end was told last: logs and programs tell it again.
    ended: Option<Arc<str>>,
    /// Whether a query is about to end because it has worked off everything.
    no_more_data: bool,
}

/// An event and the line on which it begins.
pub(super) type Found = (u64, EventKind);

/// When an entry was written, and of which query, where that is known without its message.
#[derive(Debug)]
struct About {
    timestamp: Option<UnixMillis>,
    query: QueryRef,
}

/// An exception whose lines are still coming.
#[derive(Debug)]
struct Gathering {
    line: u64,
    timestamp: Option<UnixMillis>,
    of: Failure,
    text: String,
}

/// What an exception ended.
#[derive(Debug)]
enum Failure {
    Query(QueryRef),
    Repartition { checkpoint: String, partitions: u32 },
}

impl DriverLog {
    /// Takes a line.
    pub(super) fn line(&mut self, line: u64, text: &str, found: &mut Vec<Found>) {
        if is_progress_bar(text) {
            return;
        }
        match Line::of(text) {
            Some(Line { timestamp, rest }) => {
                let about = About { timestamp, query: QueryRef::default() };
                self.entry(line, about, rest, None, found);
            }
            None => self.without_head(line, text, found),
        }
    }

    /// Takes an entry of a structured log, which is complete.
    pub(super) fn structured(&mut self, line: u64, entry: Entry, found: &mut Vec<Found>) {
        let Entry { timestamp, query, message, exception } = entry;
        self.entry(line, About { timestamp, query }, &message, exception, found);
        self.settle(found);
    }

    /// Takes an entry. Its exception follows, if it has one and it is not here.
    fn entry(
        &mut self,
        line: u64,
        about: About,
        message: &str,
        exception: Option<String>,
        found: &mut Vec<Found>,
    ) {
        self.settle(found);
        self.headed = true;
        let Some(said) = Message::of(message) else { return };
        let (timestamp, text) = (about.timestamp, exception.unwrap_or_default());
        match said {
            Message::Failed(query) => {
                let of = Failure::Query(query);
                self.gathering = Some(Gathering { line, timestamp, of, text });
            }
            Message::StreamFailed(query) => {
                let of = Failure::Query(query);
                self.gathering = Some(Gathering { line, timestamp, of, text: message.to_owned() });
            }
            Message::Repartition { checkpoint, partitions, step: Step::Failed } => {
                let of = Failure::Repartition { checkpoint: checkpoint.to_owned(), partitions };
                self.gathering = Some(Gathering { line, timestamp, of, text });
            }
            said => found.extend(self.told(about, said).map(|kind| (line, kind))),
        }
    }

    /// No more lines belong to the entry at hand.
    pub(super) fn settle(&mut self, found: &mut Vec<Found>) {
        let Some(Gathering { line, timestamp, of, text }) = self.gathering.take() else { return };
        match of {
            Failure::Query(query) => {
                let text = if text.is_empty() { NO_EXCEPTION.to_owned() } else { text };
                let ended = self.end(timestamp, query, Some(text));
                found.extend(ended.map(|kind| (line, kind)));
            }
            Failure::Repartition { checkpoint, partitions } => {
                self.repartition = None;
                let class_in_text = error_class::in_text(&text).map(str::to_owned);
                let exception = Some(text).filter(|text| !text.is_empty());
                let stage = RepartitionStage::Failed { exception, class_in_text };
                let (checkpoint, batch) = (Some(checkpoint), None);
                let note = RepartitionNote { checkpoint, partitions, batch, timestamp, stage };
                found.push((line, EventKind::Repartition(note)));
            }
        }
    }

    /// The end of a query, unless it was told already.
    fn end(
        &mut self,
        timestamp: Option<UnixMillis>,
        query: QueryRef,
        exception: Option<String>,
    ) -> Option<EventKind> {
        if query.run.is_some() && self.ended == query.run {
            return None;
        }
        self.ended.clone_from(&query.run);
        let mut ended = listener::ended(query, exception);
        ended.timestamp = timestamp;
        Some(EventKind::Terminated(ended))
    }

    /// The event of a message that needs no further lines.
    fn told(&mut self, about: About, said: Message<'_>) -> Option<EventKind> {
        let About { timestamp, query: about } = about;
        Some(match said {
            Message::Starting { query, checkpoint } => EventKind::Started(Started {
                query,
                timestamp,
                checkpoint: Some(checkpoint.to_owned()),
            }),
            Message::Stopped(query) => return self.end(timestamp, query, None),
            Message::Progress(object) => return progress_within(object),
            Message::NoMoreData => {
                self.no_more_data = true;
                return None;
            }
            Message::Gone(query) => {
                let worked_off = std::mem::take(&mut self.no_more_data);
                return worked_off.then(|| self.end(timestamp, query, None)).flatten();
            }
            Message::Idle => EventKind::Idle { query: about, timestamp },
            Message::ConfRestored { key, asked, kept } => EventKind::ConfRestored(ConfRestored {
                query: about,
                key: key.to_owned(),
                asked: asked.to_owned(),
                kept: kept.to_owned(),
                timestamp,
            }),
            Message::Repartition { checkpoint, partitions, step } => {
                self.repartition = Some((checkpoint.to_owned(), partitions));
                let (batch, stage) = match step {
                    Step::Begun => (None, RepartitionStage::Begun),
                    Step::Done { batch, duration_ms } => {
                        (batch, RepartitionStage::Done { duration_ms })
                    }
                    Step::Failed => return None,
                };
                return self.repartition_under_way(timestamp, batch, stage);
            }
            Message::RepartitionPlanned(batch) => {
                let stage = RepartitionStage::Planned;
                return self.repartition_under_way(timestamp, Some(batch), stage);
            }
            Message::Failed(_) | Message::StreamFailed(_) => return None,
        })
    }

    /// How far the repartition under way is; `None` when none is.
    fn repartition_under_way(
        &mut self,
        timestamp: Option<UnixMillis>,
        batch: Option<BatchId>,
        stage: RepartitionStage,
    ) -> Option<EventKind> {
        let is_done = matches!(stage, RepartitionStage::Done { .. });
        let known = if is_done { self.repartition.take() } else { self.repartition.clone() };
        let (checkpoint, partitions) = known?;
        let checkpoint = Some(checkpoint);
        let note = RepartitionNote { checkpoint, partitions, batch, timestamp, stage };
        Some(EventKind::Repartition(note))
    }

    /// A line that belongs to the entry before it, or to none.
    fn without_head(&mut self, line: u64, text: &str, found: &mut Vec<Found>) {
        if let Some(Message::StreamFailed(query)) = Message::of(text) {
            self.settle(found);
            let (timestamp, text) = (None, text.to_owned());
            let of = Failure::Query(query);
            self.gathering = Some(Gathering { line, timestamp, of, text });
        } else if let Some(gathering) = &mut self.gathering {
            gathering.add(text);
        } else if !self.headed && is_exception(text) {
            let (timestamp, text) = (None, text.to_owned());
            let of = Failure::Query(QueryRef::default());
            self.gathering = Some(Gathering { line, timestamp, of, text });
        }
    }
}

impl Gathering {
    fn add(&mut self, line: &str) {
        if self.text.len() + line.len() < LONGEST_EXCEPTION {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            self.text.push_str(line);
        }
    }
}

/// The progress object that a message has within itself, where messages are texts of JSON.
fn progress_within(object: &str) -> Option<EventKind> {
    match serde_json::from_str(object) {
        Ok(object) => Some(EventKind::Progress(Box::new(progress::parse(object)))),
        // The text that stands before an object of its own.
        Err(_) if object.trim().is_empty() => None,
        Err(error) => {
            Some(EventKind::Unreadable(format!("the progress in a message is not JSON: {error}")))
        }
    }
}

/// Spark's console progress, which is written over and over into the same line.
fn is_progress_bar(text: &str) -> bool {
    text.trim_start().starts_with("[Stage ")
}

/// Whether a line begins an exception: `org.x.SomeException: …`, or a class in brackets.
pub(crate) fn is_exception(text: &str) -> bool {
    let (name, _) = text.split_once(':').unwrap_or((text, ""));
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '$' | '_');
    let is_named = name.contains('.') && name.chars().all(plain);
    let is_thrown = name.ends_with("Exception") || name.ends_with("Error");
    (is_named && is_thrown) || (text.starts_with('[') && error_class::in_text(text).is_some())
}

#[cfg(test)]
mod tests;
