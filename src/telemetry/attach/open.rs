//! What the operator names as a source of a running query, made ready to be followed.
//!
//! Nothing is opened before it is followed: a source that is not there yet is one that is tried
//! again, not one that is refused.

use std::io::{Read, empty};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crossbeam_channel::{Receiver, bounded};

use super::{Attach, AttachError, Deaf, Tell};
use crate::task::Cancel;
use crate::telemetry::Event;
use crate::telemetry::event_log::{EventLog, Options};
use crate::telemetry::follow::Until;
use crate::telemetry::source::{Source, SourceKind};
use crate::telemetry::stream::{self, Means, Span};
use crate::telemetry::ui::Credentials;

/// Events that may wait to be passed on.
const QUEUE: usize = 1_024;
/// Events that are passed on at once.
const BATCH: usize = 512;

/// What the operator expects of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Spark's event log; where it is something else, it is read as what it is.
    EventLog,
    /// Progress JSON, or a driver's log with it.
    Text,
    /// The address of a Spark UI, and what it wants to see.
    SparkUi(Credentials),
}

/// Standard input, until it is read.
type Stdin = Box<dyn Read + Send>;

/// A source by its name.
struct Named {
    name: String,
    expected: Expected,
    stdin: Mutex<Option<Stdin>>,
}

/// The source of that name; `-` is `stdin`.
pub fn open(name: &str, expected: Expected, stdin: Stdin) -> Arc<dyn Attach> {
    Arc::new(Named { name: name.to_owned(), expected, stdin: Mutex::new(Some(stdin)) })
}

impl Attach for Named {
    fn name(&self) -> &str {
        &self.name
    }

    fn follow(&self, cancel: &Cancel, tell: &mut Tell<'_>) -> Result<(), AttachError> {
        if self.is_log_to_come() {
            return follow_log(&self.name, cancel, tell);
        }
        let source = Source::of(&self.name, Until::Cancelled).map_err(told)?;
        if let SourceKind::EventLog(path) = &source.kind {
            return follow_log(path, cancel, tell);
        }
        let stdin = self.stdin.lock().unwrap_or_else(PoisonError::into_inner).take();
        let stdin = stdin.unwrap_or_else(|| Box::new(empty()));
        let credentials = match &self.expected {
            Expected::SparkUi(credentials) => credentials.clone(),
            Expected::EventLog | Expected::Text => Credentials::None,
        };
        let span = Span { until: Until::Cancelled, since: None };
        let means = Means { stdin, credentials };
        pass_on(&stream::events(vec![source], span, means, cancel), cancel, tell);
        Ok(())
    }
}

impl Named {
    /// Whether this is an event log that cannot be looked at like a file: it lies in a store, or
    /// is not there yet.
    fn is_log_to_come(&self) -> bool {
        let web = self.name.starts_with("http://") || self.name.starts_with("https://");
        let elsewhere = self.name.contains("://") && !web;
        let missing = || self.name != "-" && !web && !Path::new(&self.name).exists();
        self.expected == Expected::EventLog && (elsewhere || missing())
    }
}

/// An error with its causes, on one line.
fn told(error: impl std::error::Error) -> AttachError {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    AttachError(text)
}

/// A log is read on a thread of its own, so that what comes in a burst is passed on together.
fn follow_log(name: &str, cancel: &Cancel, tell: &mut Tell<'_>) -> Result<(), AttachError> {
    let options = Options { until: Until::Cancelled, ..Options::default() };
    let log = EventLog::open(name, options).map_err(told)?;
    let (sender, events) = bounded(QUEUE);
    thread::scope(|scope| {
        scope.spawn(move || {
            log.read(cancel, &mut |event| match sender.send(event) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            })
        });
        pass_on(&events, cancel, tell);
        drop(events);
    });
    Ok(())
}

/// Passes on what comes until there will be no more, or nobody listens.
fn pass_on(events: &Receiver<Event>, cancel: &Cancel, tell: &mut Tell<'_>) {
    while let Ok(first) = events.recv() {
        let batch = std::iter::once(first).chain(events.try_iter().take(BATCH - 1)).collect();
        if let Err(Deaf) = tell(batch) {
            // Whoever reads the source waits for something to come, not for us.
            cancel.cancel();
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Cursor, Write};

    use super::*;
    use crate::telemetry::EventKind;

    fn line(batch: u64) -> String {
        let progress = serde_json::json!({
            "id": "q", "runId": "r", "name": null, "batchId": batch, "numInputRows": 5,
            "timestamp": "2026-11-30T16:05:28.019Z", "durationMs": {"addBatch": 7},
        });
        format!("{progress}\n")
    }

    /// The batches that a source tells until there are so many, or it ends.
    fn batches(source: &dyn Attach, enough: usize) -> Result<Vec<u64>, AttachError> {
        let mut told = Vec::new();
        let cancel = Cancel::default();
        source.follow(&cancel, &mut |events| {
            for event in events {
                if let EventKind::Progress(progress) = event.kind {
                    told.extend(progress.batch.map(|batch| batch.0));
                }
            }
            if told.len() >= enough { Err(Deaf) } else { Ok(()) }
        })?;
        Ok(told)
    }

    fn nothing() -> Stdin {
        Box::new(empty())
    }

    #[test]
    fn standard_input_is_told_to_its_end_and_only_once() {
        let text = format!("noise\n{}{}", line(3), line(4));
        let source = open("-", Expected::Text, Box::new(Cursor::new(text)));
        assert_eq!(batches(source.as_ref(), 9), Ok(vec![3, 4]));
        assert_eq!(batches(source.as_ref(), 9), Ok(vec![]), "it is read already");
    }

    #[test]
    fn a_file_is_followed_while_it_grows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress.jsonl");
        fs::write(&path, line(1)).unwrap();
        let name = path.to_str().unwrap().to_owned();
        let source = open(&name, Expected::Text, nothing());
        assert_eq!(source.name(), name);
        let grows = thread::spawn(move || {
            thread::sleep(std::time::Duration::from_millis(300));
            let mut file = fs::File::options().append(true).open(path).unwrap();
            file.write_all(line(2).as_bytes()).unwrap();
        });
        assert_eq!(batches(source.as_ref(), 2), Ok(vec![1, 2]));
        grows.join().unwrap();
    }

    #[test]
    fn an_event_log_that_is_not_there_is_an_error_to_be_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("eventlog_v2_app-1");
        let source = open(path.to_str().unwrap(), Expected::EventLog, nothing());
        let error = batches(source.as_ref(), 1).unwrap_err();
        assert!(error.0.contains("eventlog_v2_app-1"), "{error}");
        let event = format!(
            "{{\"Event\":\"org.apache.spark.sql.streaming.StreamingQueryListener\
             $QueryProgressEvent\",\"progress\":{}}}\n",
            line(7).trim()
        );
        fs::write(&path, event).unwrap();
        assert_eq!(batches(source.as_ref(), 1), Ok(vec![7]));
    }

    #[test]
    fn what_cannot_be_followed_says_so() {
        let source = open("http://joe:pw@driver:4040", Expected::EventLog, nothing());
        let error = batches(source.as_ref(), 1).unwrap_err();
        assert!(error.0.contains("must not have a user or password"), "{error}");
    }
}
