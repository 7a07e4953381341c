//! Events of sources, whatever they are: one queue, filled by threads.
//!
//! ```text
//!  file ── chunks ──► TextReader ──┐
//!  file ── chunks ──► TextReader ──┼─► events
//!  event log ────────► EventLog ───┤
//!  web interface ────► SparkUi ────┘
//! ```
//! Queues are bounded: a reader that does not take events stops the sources, not the memory.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use flate2::read::MultiGzDecoder;

use super::event::{Event, EventKind, Place};
use super::event_log::{self, Ended, EventLog};
use super::follow::{self, Chunk, Until};
use super::source::{Source, SourceKind};
use super::text::TextReader;
use super::ui::{self, Address, Credentials, SparkUi};
use crate::task::Cancel;
use crate::units::UnixMillis;

/// Events that may wait to be taken.
const QUEUE: usize = 256;
/// After so long without bytes, nothing more is expected to belong to what came.
const QUIET: Duration = Duration::from_secs(1);

/// Standard input.
pub type Stdin = Box<dyn Read + Send>;

/// What sources need besides their names.
pub struct Means {
    /// What is read for `-`.
    pub stdin: Stdin,
    /// What gateways before a Spark UI want to see.
    pub credentials: Credentials,
}

/// Which part of their time sources tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// How long they are read.
    pub until: Until,
    /// From when on, for those that can be entered at a moment; others tell all.
    pub since: Option<UnixMillis>,
}

/// Why nobody hears any more.
struct Gone;

/// Reads sources: one after the other to their ends, or all at once until cancelled. The queue
/// ends with them.
pub fn events(sources: Vec<Source>, span: Span, means: Means, cancel: &Cancel) -> Receiver<Event> {
    let Means { stdin, credentials } = means;
    let mut stdin = Some(stdin);
    let reading = |source: Source| {
        let input = input(source.kind, &mut stdin, &credentials);
        Reading { input, name: source.name, span }
    };
    let readings: Vec<Reading> = sources.into_iter().map(reading).collect();
    let (sender, events) = bounded(QUEUE);
    let cancel = cancel.clone();
    match span.until {
        Until::End => _ = thread::spawn(move || in_turn(readings, &cancel, &sender)),
        Until::Cancelled => {
            for reading in readings {
                let (cancel, sender) = (cancel.clone(), sender.clone());
                thread::spawn(move || reading.run(&cancel, &sender));
            }
        }
    }
    events
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
    span: Span,
}

/// Where events come from.
enum Input {
    EventLog(String),
    SparkUi(Address, Credentials),
    Text(Text),
}

/// Where the bytes of text come from.
enum Text {
    File(PathBuf),
    Gzip(PathBuf),
    Zstd(PathBuf),
    Pipe(PathBuf),
    Stdin(Stdin),
    /// Standard input, named a second time.
    Nothing,
}

fn input(kind: SourceKind, stdin: &mut Option<Stdin>, credentials: &Credentials) -> Input {
    Input::Text(match kind {
        SourceKind::Stdin => stdin.take().map_or(Text::Nothing, Text::Stdin),
        SourceKind::Text(path) => Text::File(path),
        SourceKind::Gzip(path) => Text::Gzip(path),
        SourceKind::Zstd(path) => Text::Zstd(path),
        SourceKind::Pipe(path) => Text::Pipe(path),
        SourceKind::EventLog(target) => return Input::EventLog(target),
        SourceKind::SparkUi(address) => return Input::SparkUi(address, credentials.clone()),
    })
}

/// A file that is unpacked in reading; one that breaks off is said to.
struct Unpacked<R>(R);

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => {
                io::Error::new(ErrorKind::UnexpectedEof, "it breaks off: cut, or being written")
            }
            _ => error,
        })
    }
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
            Self::Zstd(path) => follow::reader(
                || File::open(path).and_then(zstd::Decoder::new).map(Unpacked),
                cancel,
            ),
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
        let Self { name, input, span: Span { until, since } } = self;
        match input {
            Input::EventLog(target) => {
                let options = event_log::Options { query: None, since, until };
                read_event_log(&target, options, &name, cancel, sender)
            }
            Input::SparkUi(address, credentials) => {
                let options = ui::Options { credentials, until, ..ui::Options::default() };
                let ui = SparkUi::new(name, address, options);
                heard(sender, |tell| ui.read(cancel, tell))
            }
            Input::Text(text) => read_text(text, until, &name, cancel, sender),
        }
    }
}

fn read_event_log(
    target: &str,
    options: event_log::Options,
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
    heard(sender, |tell| log.read(cancel, tell))
}

/// Sends what a reading tells, as long as somebody hears it.
fn heard(
    sender: &Sender<Event>,
    read: impl FnOnce(&mut dyn FnMut(Event) -> ControlFlow<()>) -> Ended,
) -> Result<(), Gone> {
    let mut heard = Ok(());
    read(&mut |event| {
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
