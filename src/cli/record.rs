//! `statetop record`: what sources tell, into a file that can be taken home and replayed.
//!
//! The file is only ever added to, and what came is written out every second, so that whatever
//! ends the program leaves a recording of what was heard until then.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::{Receiver, RecvTimeoutError};

use self::args::RecordArgs;
use super::exit::{CliError, Exit, INTERRUPTED};
use super::progress;
use super::surroundings::Surroundings;
use super::text;
use super::written::{self, shown};
use crate::figures::{bytes, plural};
use crate::task::Cancel;
use crate::telemetry::follow::Until;
use crate::telemetry::recording::{Recorder, Texts, told_at};
use crate::telemetry::stream::{self, Means, Span};
use crate::telemetry::wanted::Wanted;
use crate::telemetry::{Event, EventKind};
use crate::units::{Bytes, UnixMillis};

pub(crate) mod args;

/// How soon Ctrl-C and the end of the time are noticed while no event comes.
const ALERT: Duration = Duration::from_millis(100);
/// How long events may wait to be written out.
const FLUSH: Duration = Duration::from_secs(1);
/// The ending of files that are compressed.
const COMPRESSED: &str = "zst";

/// Runs the command.
pub(crate) fn run(args: &RecordArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let follows = args.follow || args.time.is_some();
    let until = if follows { Until::Cancelled } else { Until::End };
    let sources = progress::sources(&args.sources, until, around)?;
    let output = create(args)?;
    let cancel = Cancel::default();
    (around.on_interrupt)(&cancel);
    let since = args.since.map(|since| since.moment(around.now));
    let means = Means { stdin: (around.input)(), credentials: args.token.credentials() };
    let events = stream::events(sources, Span { until, since }, means, &cancel);
    let texts = if args.keep_text { Texts::Kept } else { Texts::Masked };
    let deadline = args.time.and_then(|time| Instant::now().checked_add(time));

    let failed = |error| written::failed(&args.output, error);
    let wanted = args.query.clone().map(Wanted::new);
    let mut session = Session { since, wanted, deadline, heard: Heard::default() };
    let interrupted =
        session.record(output, args, texts, &events, &cancel, around.now).map_err(failed)?;
    // Whoever still reads a source is no longer listened to.
    cancel.cancel();
    let missing = progress::no_such_query(session.wanted.as_ref());
    let heard = session.heard;
    if heard.told == 0 || missing.is_some() {
        // It has a first line and nothing that is worth one.
        let _ = fs::remove_file(&args.output);
        if let Some(error) = missing {
            return Err(error);
        }
        return Err(CliError::NoEvents(args.sources.join(", ")));
    }
    let size = fs::metadata(&args.output).map_or(0, |file| file.len());
    let summary = format!(
        "{} of {}, {} in all, recorded into {} ({})",
        plural(heard.batches, "batch", "batches"),
        plural(heard.queries.len() as u64, "query", "queries"),
        plural(heard.events, "event", "events"),
        shown(&args.output),
        bytes(Bytes(size)),
    );
    writeln!(around.out, "{}", text::clean(&summary))?;
    // Ctrl-C is how following ends, but not how reading does.
    Ok(if interrupted && !follows { INTERRUPTED } else { Exit::Fine })
}

/// A recording under way.
struct Session {
    /// Older events are left out.
    since: Option<UnixMillis>,
    /// The only query that is recorded.
    wanted: Option<Wanted>,
    deadline: Option<Instant>,
    heard: Heard,
}

/// What was heard.
#[derive(Default)]
struct Heard {
    events: u64,
    /// Events of queries and applications.
    told: u64,
    batches: u64,
    queries: HashSet<String>,
    /// The latest time of an event: that of those without.
    latest: Option<UnixMillis>,
}

impl Session {
    /// Records until the events end, the time is over, or Ctrl-C, of which it says whether that
    /// was it.
    fn record(
        &mut self,
        output: Output,
        args: &RecordArgs,
        texts: Texts,
        events: &Receiver<Event>,
        cancel: &Cancel,
        now: UnixMillis,
    ) -> io::Result<bool> {
        let mut recorder = Recorder::begin(output, &args.sources, texts, now)?;
        // What is compressed is known as a recording by what was written out first.
        recorder.flush()?;
        let mut written_out = Instant::now();
        while !cancel.is_cancelled() && self.deadline.is_none_or(|end| Instant::now() < end) {
            match events.recv_timeout(ALERT) {
                Ok(event) => {
                    if self.is_wanted(&event) {
                        self.heard.add(&event);
                        recorder.add(event, UnixMillis::from(SystemTime::now()))?;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if written_out.elapsed() >= FLUSH {
                recorder.flush()?;
                written_out = Instant::now();
            }
        }
        recorder.into_inner().finish()?;
        Ok(cancel.is_cancelled())
    }

    fn is_wanted(&mut self, event: &Event) -> bool {
        if self.wanted.as_mut().is_some_and(|wanted| !wanted.is_about(&event.kind)) {
            return false;
        }
        self.heard.latest = told_at(&event.kind).or(self.heard.latest);
        self.heard.latest.zip(self.since).is_none_or(|(at, since)| at >= since)
    }
}

impl Heard {
    fn add(&mut self, event: &Event) {
        self.events += 1;
        let query = match &event.kind {
            EventKind::Interrupted(_) | EventKind::Unreadable(_) => return,
            EventKind::Progress(progress) => {
                self.batches += 1;
                Some(&progress.query)
            }
            EventKind::Started(started) => Some(&started.query),
            EventKind::Terminated(ended) => Some(&ended.query),
            _ => None,
        };
        self.told += 1;
        let id = query.and_then(|query| query.id.as_deref().or(query.run.as_deref()));
        if let Some(id) = id.filter(|id| !self.queries.contains(*id)) {
            self.queries.insert(id.to_owned());
        }
    }
}

/// Where a recording goes.
enum Output {
    Plain(BufWriter<File>),
    Compressed(Box<zstd::Encoder<'static, BufWriter<File>>>),
}

impl Output {
    /// Writes what is left, and the end of what is compressed.
    fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(mut out) => out.flush(),
            Self::Compressed(out) => out.finish()?.flush(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            Self::Compressed(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Compressed(out) => out.flush(),
        }
    }
}

/// Makes the file. One that is there is only replaced where that was asked for, and never one
/// that is to be read.
fn create(args: &RecordArgs) -> Result<Output, CliError> {
    let path = &args.output;
    let here = fs::canonicalize(path).ok();
    let is_source = |name: &String| here.is_some() && fs::canonicalize(name).ok() == here;
    if args.sources.iter().any(is_source) {
        return Err(CliError::RecordingIsSource(shown(path)));
    }
    let out = BufWriter::new(written::create(path, args.force)?);
    if path.extension().is_some_and(|ending| ending == COMPRESSED) {
        let level = zstd::DEFAULT_COMPRESSION_LEVEL;
        let encoder =
            zstd::Encoder::new(out, level).map_err(|error| written::failed(path, error))?;
        return Ok(Output::Compressed(Box::new(encoder)));
    }
    Ok(Output::Plain(out))
}
