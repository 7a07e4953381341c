//! From options to an [`Observation`]: opens the target, finds the operator asked for,
//! reads, and says how far it is when that takes long.
//!
//! Must not know about output formats.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::args::{OperatorArg, ReadArgs};
use super::exit::CliError;
use super::number::count;
use super::surroundings::{Stream, Surroundings};
use super::text;
use crate::reader::{Depth, Observation, Observe, ReadError, Request};
use crate::report::{InspectReport, OperatorReport};
use crate::task::{Cancel, Progress};
use crate::units::OperatorId;

/// Reading that takes longer than this says how far it is.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time between two updates of the progress line.
const UPDATE: Duration = Duration::from_millis(100);

/// Opens `target` and reads it as the options ask.
pub(crate) fn read_target(
    target: &str,
    args: &ReadArgs,
    around: &mut Surroundings<'_>,
) -> Result<Observation, CliError> {
    let source = (around.open)(target)?;
    read(&source, args, around)
}

/// Reads an open source as the options ask.
pub(crate) fn read(
    source: &Arc<dyn Observe>,
    args: &ReadArgs,
    around: &mut Surroundings<'_>,
) -> Result<Observation, CliError> {
    let cancel = Cancel::default();
    (around.on_interrupt)(&cancel);
    let request = request(source.as_ref(), args, &cancel)?;
    let meter = Meter::new(around.err, around.err_kind);
    let observation = source.observe(&request, &cancel, &|progress| meter.show(progress));
    meter.finish();
    Ok(observation?)
}

/// What to ask the reader for. Names are looked up in the logs first, so that a wrong one is
/// answered with what there is.
pub(crate) fn request(
    source: &dyn Observe,
    args: &ReadArgs,
    cancel: &Cancel,
) -> Result<Request, CliError> {
    let mut request = Request {
        batch: args.batch,
        depth: Depth::Logs,
        operator: None,
        store: args.store.clone(),
    };
    if args.operator.is_some() || args.store.is_some() {
        let logs = Request { store: None, ..request.clone() };
        let seen = source.observe(&logs, cancel, &|_| {})?;
        request.operator = choose(args, &seen.inspect)?;
    }
    request.depth = if args.exact { Depth::Exact } else { Depth::Snapshot };
    Ok(request)
}

/// The operator that the options name, checked together with the store.
fn choose(args: &ReadArgs, report: &InspectReport) -> Result<Option<OperatorId>, CliError> {
    let operators = &report.operators;
    let chosen: Vec<&OperatorReport> = match &args.operator {
        None => operators.iter().collect(),
        Some(OperatorArg::Id(id)) => operators.iter().filter(|op| op.id == *id).collect(),
        Some(OperatorArg::Name(name)) => {
            operators.iter().filter(|op| op.name.eq_ignore_ascii_case(name)).collect()
        }
    };
    match (&args.operator, chosen.as_slice()) {
        (Some(asked), []) => {
            let asked = describe(asked);
            return Err(CliError::NoSuchOperator(no_operator(&asked, operators)));
        }
        (Some(OperatorArg::Name(name)), [_, _, ..]) => {
            let ids: Vec<String> = chosen.iter().map(|op| op.id.to_string()).collect();
            return Err(CliError::NoSuchOperator(format!(
                "several operators are called {}: choose --operator {}",
                text::clean(name),
                ids.join(" or ")
            )));
        }
        _ => {}
    }
    check_store(args.store.as_deref(), &chosen)?;
    Ok(args.operator.as_ref().and_then(|_| chosen.first().map(|op| op.id)))
}

fn describe(asked: &OperatorArg) -> String {
    match asked {
        OperatorArg::Id(id) => id.to_string(),
        OperatorArg::Name(name) => text::clean(name).into_owned(),
    }
}

fn no_operator(asked: &str, operators: &[OperatorReport]) -> String {
    let existing: Vec<String> =
        operators.iter().map(|op| format!("{} {}", op.id, text::clean(&op.name))).collect();
    if existing.is_empty() {
        format!("there is no operator {asked}: the query keeps no state")
    } else {
        format!("there is no operator {asked}; the query has: {}", existing.join(", "))
    }
}

/// Refuses a store that none of the operators has. Operators whose stores the logs do not
/// tell are left to the reader.
fn check_store(store: Option<&str>, operators: &[&OperatorReport]) -> Result<(), CliError> {
    let Some(asked) = store else { return Ok(()) };
    let mut names: Vec<&str> =
        operators.iter().flat_map(|op| &op.stores).map(|store| store.name.as_str()).collect();
    if names.is_empty() || names.contains(&asked) {
        return Ok(());
    }
    names.sort_unstable();
    names.dedup();
    let existing: Vec<_> = names.into_iter().map(text::clean).collect();
    let message =
        format!("there is no store {}; there is: {}", text::clean(asked), existing.join(", "));
    Err(ReadError::NoSuchStore(message).into())
}

/// A line on standard error that says how far reading is, on a terminal, after a second.
struct Meter<'a> {
    state: Mutex<MeterState<'a>>,
}

struct MeterState<'a> {
    err: &'a mut (dyn Write + Send),
    wanted: bool,
    next: Instant,
    shown: bool,
}

impl<'a> Meter<'a> {
    fn new(err: &'a mut (dyn Write + Send), kind: Stream) -> Self {
        let wanted = matches!(kind, Stream::Terminal { .. });
        let next = Instant::now() + PATIENCE;
        Self { state: Mutex::new(MeterState { err, wanted, next, shown: false }) }
    }

    fn show(&self, progress: Progress) {
        // A worker never waits for another one's line.
        let Ok(mut state) = self.state.try_lock() else { return };
        let now = Instant::now();
        if !state.wanted || now < state.next {
            return;
        }
        state.next = now + UPDATE;
        state.shown = true;
        // Progress is a courtesy: a closed standard error is no reason to stop.
        let _ = write!(state.err, "\r\x1b[K{}", line(progress));
        let _ = state.err.flush();
    }

    fn finish(self) {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if state.shown {
            let _ = write!(state.err, "\r\x1b[K");
            let _ = state.err.flush();
        }
    }
}

fn line(progress: Progress) -> String {
    let mut line = format!(
        "reading: {} of {} partitions",
        count(progress.done),
        count(progress.total.max(progress.done))
    );
    if progress.rows > 0 {
        line.push_str(", ");
        line.push_str(&count(progress.rows));
        line.push_str(" rows");
    }
    line.push_str("   Ctrl-C gives up");
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meter_is_silent_before_its_time_and_off_a_terminal() {
        let progress = Progress { done: 12, total: 200, rows: 3_000_000 };
        let mut quiet = Vec::new();
        let meter = Meter::new(&mut quiet, Stream::Terminal { columns: 80 });
        meter.show(progress);
        meter.finish();
        assert!(quiet.is_empty(), "a second has not passed");

        let mut late = Vec::new();
        let meter = Meter::new(&mut late, Stream::Terminal { columns: 80 });
        meter.state.lock().unwrap().next = Instant::now();
        meter.show(progress);
        meter.show(progress);
        meter.finish();
        let expected = "\r\x1b[Kreading: 12 of 200 partitions, 3,000,000 rows   Ctrl-C gives up";
        assert_eq!(String::from_utf8(late).unwrap(), format!("{expected}\r\x1b[K"));

        let mut piped = Vec::new();
        let meter = Meter::new(&mut piped, Stream::Pipe);
        meter.state.lock().unwrap().next = Instant::now();
        meter.show(progress);
        meter.finish();
        assert!(piped.is_empty());
    }
}
