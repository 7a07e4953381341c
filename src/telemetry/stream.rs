//! Events of sources, whatever they are: one queue, filled by threads.
//!
//! ```text
//!  file ── chunks ──► TextReader ──┐
//!  file ── chunks ──► TextReader ──┼─► events
//!  event log ────────► EventLog ───┘
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
use super::event_log::{EventLog, Options};
use super::follow::{self, Chunk, Until};
use super::source::{Source, SourceKind};
use super::text::TextReader;
use crate::task::Cancel;
use crate::units::UnixMillis;

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

/// Reads sources: one after the other to their ends, or all at once until cancelled. The queue
/// ends with them. Sources that can be entered at a moment give what is `since` then, others all.
///
/// # Errors
/// [`NotText`] when one of them is of a kind that is not read. Nothing is read then.
pub fn events(
    sources: Vec<Source>,
    until: Until,
    since: Option<UnixMillis>,
    stdin: Stdin,
    cancel: &Cancel,
) -> Result<Receiver<Event>, NotText> {
    let mut stdin = Some(stdin);
    let mut readings = Vec::with_capacity(sources.len());
    for source in sources {
        let input = input(&source, &mut stdin)?;
        readings.push(Reading { input, name: source.name, until, since });
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
struct Reading {
    name: Arc<str>,
    input: Input,
    until: Until,
    since: Option<UnixMillis>,
}

/// Where events come from.
enum Input {
    EventLog(String),
    Text(Text),
}

/// Where the bytes of text come from.
enum Text {
    File(PathBuf),
    Gzip(PathBuf),
    Pipe(PathBuf),
    Stdin(Stdin),
    /// Standard input, named a second time.
    Nothing,
}

fn input(source: &Source, stdin: &mut Option<Stdin>) -> Result<Input, NotText> {
    let not_text = |what, instead| NotText { name: Arc::clone(&source.name), what, instead };
    Ok(Input::Text(match &source.kind {
        SourceKind::Stdin => stdin.take().map_or(Text::Nothing, Text::Stdin),
        SourceKind::Text(path) => Text::File(path.clone()),
        SourceKind::Gzip(path) => Text::Gzip(path.clone()),
        SourceKind::Pipe(path) => Text::Pipe(path.clone()),
        SourceKind::EventLog(target) => return Ok(Input::EventLog(target.clone())),
        SourceKind::SparkUi(_) => {
            let instead = "name the event log, the driver's log or a listener's file";
            return Err(not_text("the address of a Spark UI", instead));
        }
    }))
}

impl Text {
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
        let Self { name, input, until, since } = self;
        match input {
            Input::EventLog(target) => {
                let options = Options { query: None, since, until };
                read_event_log(&target, options, &name, cancel, sender)
            }
            Input::Text(text) => read_text(text, until, &name, cancel, sender),
        }
    }
}

fn read_event_log(
    target: &str,
    options: Options,
    name: &Arc<str>,
    cancel: &Cancel,
    sender: &Sender<Event>,
) -> Result<(), Gone> {
    let log = match EventLog::open(target, options) {
        Ok(log) => log,
        Err(error) => {
            let unreadable = EventKind::Unreadable(format!("cannot be read: {error}"));
            return send(vec![of_source(name, unreadable)], sender);
        }
    };
    let mut heard = Ok(());
    log.read(cancel, &mut |event| {
        heard = sender.send(event).map_err(|_| Gone);
        if heard.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    heard
}

fn read_text(
    text: Text,
    until: Until,
    name: &Arc<str>,
    cancel: &Cancel,
    sender: &Sender<Event>,
) -> Result<(), Gone> {
    let as_written = text.comes_as_written(until);
    let chunks = text.chunks(until, cancel);
    let mut reader = TextReader::new(Arc::clone(name));
    let tell = |kind| vec![of_source(name, kind)];
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

/// Something about a source as a whole.
fn of_source(name: &Arc<str>, kind: EventKind) -> Event {
    Event { place: Place { source: Arc::clone(name), line: None }, kind }
}

fn send(events: Vec<Event>, sender: &Sender<Event>) -> Result<(), Gone> {
    events.into_iter().try_for_each(|event| sender.send(event).map_err(|_| Gone))
}
