//! `statetop progress`: what running queries told, as a table, as lines of JSON, or as CSV.
//!
//! Lines are printed as events come; nothing is kept but what tells the next seam. Must not know
//! how sources are read.

pub(crate) mod args;
mod csv;
mod table;

use std::io::{self, Write};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, TryRecvError};

use self::args::{ProgressArgs, ProgressFormat};
use self::csv::CsvLines;
use self::table::TableLines;
use super::exit::{CliError, Exit, INTERRUPTED};
use super::json;
use super::look::Look;
use super::surroundings::Surroundings;
use crate::report::{LineKind, ProgressLine};
use crate::task::Cancel;
use crate::telemetry::Event;
use crate::telemetry::follow::Until;
use crate::telemetry::seams::Seams;
use crate::telemetry::source::Source;
use crate::telemetry::stream::{self, Means, Span};
use crate::telemetry::wanted::Wanted;
use crate::units::UnixMillis;

/// How soon Ctrl-C is noticed while no event comes.
const ALERT: Duration = Duration::from_millis(100);
/// Queries that are told of where the wanted one is not there.
const QUERIES: usize = 10;

/// Runs the command.
pub(crate) fn run(args: &ProgressArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let until = if args.follow { Until::Cancelled } else { Until::End };
    let sources = sources(&args.sources, until, around)?;
    let cancel = Cancel::default();
    (around.on_interrupt)(&cancel);
    let since = args.since.map(|since| since.moment(around.now));
    let means = Means { stdin: (around.input)(), credentials: args.token.credentials() };
    let events = stream::events(sources, Span { until, since }, means, &cancel);
    let look = around.look(args.color);
    let style = if args.sources.len() > 1 { Style::WithSource } else { Style::Plain };
    let mut printer = Printer::new(look, args.format, style, since);
    printer.wanted = args.query.clone().map(Wanted::new);
    printer.all(&events, &cancel, &mut *around.out)?;
    if cancel.is_cancelled() {
        return Ok(INTERRUPTED);
    }
    around.out.flush()?;
    if let Some(error) = no_such_query(printer.wanted.as_ref()) {
        return Err(error);
    }
    if printer.told == 0 {
        return Err(CliError::NoEvents(args.sources.join(", ")));
    }
    Ok(Exit::Fine)
}

/// Says that a query was asked for of which nothing was told, where there were others.
pub(super) fn no_such_query(wanted: Option<&Wanted>) -> Option<CliError> {
    let (word, others) = wanted?.missed()?;
    let told = others.iter().take(QUERIES).map(String::as_str).collect::<Vec<_>>().join(", ");
    let message = format!("no query {word} in what the sources tell; there are: {told}");
    (!others.is_empty()).then_some(CliError::NoSuchQuery(message))
}

/// The sources that can be read; the others are told, and are an error when there is no other.
pub(super) fn sources(
    names: &[String],
    until: Until,
    around: &mut Surroundings<'_>,
) -> Result<Vec<Source>, CliError> {
    let (mut sources, mut first) = (Vec::new(), None);
    for name in names {
        match Source::of(name, until) {
            Ok(source) => sources.push(source),
            Err(error) if first.is_none() => first = Some(CliError::from(error)),
            Err(error) => super::complain(&error.into(), around),
        }
    }
    match first {
        Some(error) if sources.is_empty() => Err(error),
        Some(error) => {
            super::complain(&error, around);
            Ok(sources)
        }
        None => Ok(sources),
    }
}

/// Whether lines name their source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// There is one only.
    Plain,
    /// There are several.
    WithSource,
}

/// Prints lines.
pub(super) struct Printer {
    seams: Seams,
    /// The only query whose lines are printed.
    wanted: Option<Wanted>,
    /// Older lines are left out.
    since: Option<UnixMillis>,
    /// The time of the latest event that has one: that of those without.
    latest: Option<UnixMillis>,
    /// Events of queries and applications, printed or not.
    told: u64,
    format: Format,
}

enum Format {
    Table(TableLines),
    Jsonl,
    Csv(CsvLines),
}

impl Printer {
    /// Begins to print; what is older than `since` is left out.
    pub(super) fn new(
        look: Look,
        format: ProgressFormat,
        style: Style,
        since: Option<UnixMillis>,
    ) -> Self {
        let format = match format {
            ProgressFormat::Table => {
                Format::Table(TableLines::new(look, style == Style::WithSource))
            }
            ProgressFormat::Jsonl => Format::Jsonl,
            ProgressFormat::Csv => Format::Csv(CsvLines::default()),
        };
        Self { seams: Seams::default(), wanted: None, since, latest: None, told: 0, format }
    }

    /// Events of queries and applications so far, printed or not.
    pub(super) fn told(&self) -> u64 {
        self.told
    }

    /// Prints until the events end, or Ctrl-C. Nothing waits in a buffer while no event comes.
    fn all(
        &mut self,
        events: &Receiver<Event>,
        cancel: &Cancel,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        while !cancel.is_cancelled() {
            let event = match events.try_recv() {
                Ok(event) => event,
                Err(TryRecvError::Disconnected) => break,
                Err(TryRecvError::Empty) => {
                    out.flush()?;
                    match events.recv_timeout(ALERT) {
                        Ok(event) => event,
                        Err(RecvTimeoutError::Timeout) => continue,
                        Err(RecvTimeoutError::Disconnected) => break,
                    }
                }
            };
            self.event(event, out)?;
        }
        Ok(())
    }

    /// Prints the lines of an event.
    pub(super) fn event(&mut self, mut event: Event, out: &mut dyn Write) -> io::Result<()> {
        if self.wanted.as_mut().is_some_and(|wanted| !wanted.is_about(&event.kind)) {
            return Ok(());
        }
        let seams = self.seams.pass(&mut event);
        let line = ProgressLine::of_event(event);
        self.told += u64::from(!matches!(line.kind, LineKind::Unreadable | LineKind::Interrupted));
        self.latest = line.timestamp.or(self.latest);
        if self.latest.zip(self.since).is_some_and(|(at, since)| at < since) {
            return Ok(());
        }
        for seam in &seams {
            self.line(&ProgressLine::of_seam(seam, &line), out)?;
        }
        self.line(&line, out)
    }

    fn line(&mut self, line: &ProgressLine, out: &mut dyn Write) -> io::Result<()> {
        match &mut self.format {
            Format::Table(table) => out.write_all(table.lines(line).as_bytes()),
            Format::Jsonl => json::write_line(line, out),
            Format::Csv(csv) => out.write_all(&csv.record(line)?),
        }
    }
}
