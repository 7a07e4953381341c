//! Events of sources, whatever they are: one queue, filled by threads.
//!
//! ```text
//!  file ── chunks ──► TextReader ──┐
//!  file ── chunks ──► TextReader ──┼─► events
//!  Spark UI ───── answers ─────────┘
//! ```
//! Queues are bounded: a reader that does not take events stops the sources, not the memory.

use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use flate2::read::MultiGzDecoder;

use super::event::{Event, EventKind, Place};
use super::event_log::Ended;
use super::follow::{self, Chunk, Until};
use super::source::{self, Source, SourceKind};
use super::text::TextReader;
use super::ui::{self, Credentials, SparkUi};
use crate::task::Cancel;

/// Events that may wait to be taken.
const QUEUE: usize = 256;
/// After so long without bytes, nothing more is expected to belong to what came.
const QUIET: Duration = Duration::from_secs(1);

/// Standard input.
pub type Stdin = Box<dyn Read + Send>;

/// A source of a kind that is not read here.
#[derive(Debug, thiserror::Error)]
#[error("{name} is {what}, which is not read; {instead}")]
pub struct NotText {
    name: Arc<str>,
    what: &'static str,
    instead: &'static str,
}

/// Why nobody hears any more.
struct Gone;

/// What sources need besides their names.
pub struct Means {
    /// What is read for `-`.
    pub stdin: Stdin,
    /// What gateways before a Spark UI want to see.
    pub credentials: Credentials,
}

/// Reads sources: one after the other to their ends, or all at once until cancelled. The queue
/// ends with them.
///
/// # Errors
/// [`NotText`] when one of them is of a kind that is not read here. Nothing is read then.
pub fn events(
    sources: Vec<Source>,
    until: Until,
    means: Means,
    cancel: &Cancel,
) -> Result<Receiver<Event>, NotText> {
    let mut stdin = Some(means.stdin);
    let mut readings = Vec::with_capacity(sources.len());
    for source in sources {
        let options =
            ui::Options { credentials: means.credentials.clone(), until, ..ui::Options::default() };
        readings.push(reading(source, until, &mut stdin, options)?);
    }
    let (sender, events) = bounded(QUEUE);
    let cancel = cancel.clone();
    match until {
        Until::End => _ = thread::spawn(move || in_turn(readings, &cancel, &sender)),
        Until::Cancelled => {
            for reading in readings {
                let (cancel, sender) = (cancel.clone(), sender.clone());
                thread::spawn(move || reading.run(&cancel, &sender));
            }
        }
    }
    Ok(events)
}

fn in_turn(readings: Vec<Reading>, cancel: &Cancel, sender: &Sender<Event>) {
    for reading in readings {
        if cancel.is_cancelled() || reading.run(cancel, sender).is_err() {
            return;
        }
    }
}

/// A source that is about to be read.
enum Reading {
    /// Its text comes in chunks.
    Text { name: Arc<str>, input: Input, until: Until },
    /// It is asked.
    SparkUi(SparkUi),
}

/// Where bytes come from.
enum Input {
    File(PathBuf),
    Gzip(PathBuf),
    Pipe(PathBuf),
    Stdin(Stdin),
    /// Standard input, named a second time.
    Nothing,
}

fn reading(
    source: Source,
    until: Until,
    stdin: &mut Option<Stdin>,
    ui: ui::Options,
) -> Result<Reading, NotText> {
    let Source { name, kind } = source;
    let input = match kind {
        SourceKind::Stdin => stdin.take().map_or(Input::Nothing, Input::Stdin),
        SourceKind::Text(path) => Input::File(path),
        SourceKind::Gzip(path) => Input::Gzip(path),
        SourceKind::Pipe(path) => Input::Pipe(path),
        SourceKind::EventLog(path) if source::is_plain(&path) => Input::File(path),
        SourceKind::EventLog(_) => {
            let what = "a directory of event logs, or a compressed one";
            return Err(NotText { name, what, instead: "unpack it and name one of its files" });
        }
        SourceKind::SparkUi(address) => {
            return Ok(Reading::SparkUi(SparkUi::new(name, address, ui)));
        }
    };
    Ok(Reading::Text { name, input, until })
}

impl Input {
    fn chunks(self, until: Until, cancel: &Cancel) -> Receiver<Chunk> {
        let cancel = cancel.clone();
        match self {
            Self::File(path) => follow::file(path, until, cancel),
            Self::Pipe(path) => follow::reader(|| File::open(path), cancel),
            Self::Gzip(path) => {
                follow::reader(|| File::open(path).map(MultiGzDecoder::new), cancel)
            }
            Self::Stdin(stdin) => follow::reader(|| Ok(stdin), cancel),
            Self::Nothing => follow::reader(|| Ok(std::io::empty()), cancel),
        }
    }

    /// Whether a pause says that what came is complete: writers of files that are read once
    /// are not waited for, and a disk may be slow.
    fn comes_as_written(&self, until: Until) -> bool {
        until == Until::Cancelled || matches!(self, Self::Pipe(_) | Self::Stdin(_))
    }
}

impl Reading {
    /// Reads the source.
    fn run(self, cancel: &Cancel, sender: &Sender<Event>) -> Result<(), Gone> {
        let (name, input, until) = match self {
            Self::Text { name, input, until } => (name, input, until),
            Self::SparkUi(ui) => return ask(&ui, cancel, sender),
        };
        let as_written = input.comes_as_written(until);
        let chunks = input.chunks(until, cancel);
        let mut reader = TextReader::new(Arc::clone(&name));
        let tell = |kind| {
            let place = Place { source: Arc::clone(&name), line: None };
            vec![Event { place, kind }]
        };
        loop {
            let events = match chunks.recv_timeout(QUIET) {
                Ok(Chunk::Bytes(bytes)) => reader.feed(&bytes),
                Ok(Chunk::Again(why)) => reader.restart(why.to_owned()),
                Ok(Chunk::Waiting(why)) => tell(EventKind::Interrupted(why)),
                Ok(Chunk::Failed(error)) => {
                    tell(EventKind::Unreadable(format!("cannot be read: {error}")))
                }
                // What is cut off by cancelling is nobody's fault.
                Err(_) if cancel.is_cancelled() => return Ok(()),
                Err(RecvTimeoutError::Timeout) if as_written => reader.settle(),
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => return send(reader.finish(), sender),
            };
            send(events, sender)?;
        }
    }
}

fn ask(ui: &SparkUi, cancel: &Cancel, sender: &Sender<Event>) -> Result<(), Gone> {
    let ended = ui.read(cancel, &mut |event| match sender.send(event) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    });
    if ended == Ended::Stopped && !cancel.is_cancelled() { Err(Gone) } else { Ok(()) }
}

fn send(events: Vec<Event>, sender: &Sender<Event>) -> Result<(), Gone> {
    events.into_iter().try_for_each(|event| sender.send(event).map_err(|_| Gone))
}
