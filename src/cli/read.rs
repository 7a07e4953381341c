//! From options to an [`Observation`]: opens the target, finds the operator asked for,
//! reads, and says how far it is when that takes long.
//!
//! Must not know about output formats.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::args::{OperatorArg, ReadArgs};
use super::exit::CliError;
use super::surroundings::{Stream, Surroundings};
use super::text;
use crate::figures::{bytes, count, float};
use crate::reader::{Depth, Observation, Observe, Request};
use crate::report::OperatorReport;
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
    let source = around.open_target(target)?;
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

/// What to ask the reader for. The reader itself refuses ids, stores and batches that are not
/// there; names of operators are ours, and are looked up in the logs.
pub(crate) fn request(
    source: &dyn Observe,
    args: &ReadArgs,
    cancel: &Cancel,
) -> Result<Request, CliError> {
    let operator = reading::operator(source, args.operator.as_ref(), args.batch, cancel)?;
    let depth = if args.exact { Depth::Exact } else { Depth::Snapshot };
    Ok(Request { batch: args.batch, depth, operator, store: args.store.clone() })
}

/// What commands that read rows need of a source.
pub(crate) mod reading {
    use super::{CliError, Depth, Observe, OperatorArg, Request, find_operator};
    use crate::reader::{ReadError, ReadState};
    use crate::task::Cancel;
    use crate::units::{BatchId, OperatorId};

    /// The operator asked for, looked up in the logs where it goes by name.
    pub(crate) fn operator(
        source: &dyn Observe,
        wanted: Option<&OperatorArg>,
        batch: Option<BatchId>,
        cancel: &Cancel,
    ) -> Result<Option<OperatorId>, CliError> {
        let name = match wanted {
            None => return Ok(None),
            Some(OperatorArg::Id(id)) => return Ok(Some(*id)),
            Some(OperatorArg::Name(name)) => name,
        };
        let logs = Request { batch, depth: Depth::Logs, operator: None, store: None };
        let seen = source.observe(&logs, cancel, &|_| {})?;
        find_operator(name, &seen.inspect.operators).map(Some)
    }

    /// The way to the source's rows.
    pub(crate) fn state(source: &dyn Observe) -> Result<&dyn ReadState, CliError> {
        let none = || ReadError::Unreadable(format!("{} has no rows to read", source.name()));
        Ok(source.state().ok_or_else(none)?)
    }
}

/// The one operator of this name, in whatever case it was typed.
fn find_operator(name: &str, operators: &[OperatorReport]) -> Result<OperatorId, CliError> {
    let called: Vec<OperatorId> = operators
        .iter()
        .filter(|operator| operator.name.eq_ignore_ascii_case(name))
        .map(|operator| operator.id)
        .collect();
    let name = text::clean(name);
    let message = match called.as_slice() {
        [only] => return Ok(*only),
        [] if operators.is_empty() => {
            format!("there is no operator {name}: the query keeps no state")
        }
        [] => {
            let have =
                operators.iter().map(|operator| format!("{} ({})", operator.id, operator.name));
            let have: Vec<String> = have.collect();
            format!(
                "there is no operator {name}; the stateful operators are: {}",
                text::clean(&have.join(", "))
            )
        }
        several => {
            let ids: Vec<String> = several.iter().map(|id| format!("--operator {id}")).collect();
            format!("several operators are called {name}: choose {}", ids.join(" or "))
        }
    };
    Err(CliError::NoSuchOperator(message))
}

/// A line on standard error that says how far reading is, on a terminal, after a second.
pub(crate) struct Meter<'a> {
    state: Mutex<MeterState<'a>>,
}

struct MeterState<'a> {
    err: &'a mut (dyn Write + Send),
    wanted: bool,
    began: Instant,
    next: Instant,
    shown: bool,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(err: &'a mut (dyn Write + Send), kind: Stream) -> Self {
        let wanted = matches!(kind, Stream::Terminal { .. });
        let began = Instant::now();
        let next = began + PATIENCE;
        Self { state: Mutex::new(MeterState { err, wanted, began, next, shown: false }) }
    }

    pub(crate) fn show(&self, progress: Progress) {
        self.say(|elapsed| line(progress, elapsed));
    }

    /// Shows a line, made from the time that has passed, if it is time for one.
    pub(crate) fn say(&self, line: impl FnOnce(Duration) -> String) {
        // A worker never waits for another one's line.
        let Ok(mut state) = self.state.try_lock() else { return };
        let now = Instant::now();
        if !state.wanted || now < state.next {
            return;
        }
        state.next = now + UPDATE;
        state.shown = true;
        // Progress is a courtesy: a closed standard error is no reason to stop.
        let line = line(now - state.began);
        let _ = write!(state.err, "\r\x1b[K{line}");
        let _ = state.err.flush();
    }

    pub(crate) fn finish(self) {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if state.shown {
            let _ = write!(state.err, "\r\x1b[K");
            let _ = state.err.flush();
        }
    }
}

/// `reading 12 of 200 partitions  3,000,000 rows  41 MB  1.2 M rows/s  9 s left`.
fn line(progress: Progress, elapsed: Duration) -> String {
    let total = progress.total.max(progress.done);
    let mut parts =
        vec![format!("reading {} of {} partitions", count(progress.done), count(total))];
    if progress.rows > 0 {
        parts.push(format!("{} rows", count(progress.rows)));
    }
    if progress.bytes.0 > 0 {
        parts.push(bytes(progress.bytes));
    }
    let seconds = elapsed.as_secs_f64();
    if progress.rows > 0 && seconds > 0.0 {
        parts.push(format!("{} rows/s", rounded(float(progress.rows) / seconds)));
    }
    if progress.done > 0 {
        // By partitions: how many rows the others have is not known.
        let left = seconds * float(total - progress.done) / float(progress.done);
        parts.push(format!("{left:.0} s left"));
    }
    parts.push("Ctrl-C stops".to_owned());
    parts.join("  ")
}

/// `1.2 M`, `81 k`, `812`.
fn rounded(value: f64) -> String {
    match value {
        million if million >= 999_500.0 => format!("{:.1} M", million / 1e6),
        thousand if thousand >= 1000.0 => format!("{:.0} k", thousand / 1e3),
        small => format!("{small:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_found_by_name() {
        let operator = |id, name: &str| OperatorReport {
            id: OperatorId(id),
            name: name.to_owned(),
            name_inferred: false,
            stores: Vec::new(),
        };
        let operators =
            [operator(0, "stateStoreSave"), operator(1, "dedupe"), operator(2, "dedupe")];
        let find = |name| find_operator(name, &operators).map_err(|error| error.to_string());
        assert_eq!(find("StateStoreSave"), Ok(OperatorId(0)));
        assert_eq!(
            find("join").unwrap_err(),
            "there is no operator join; the stateful operators are: \
             0 (stateStoreSave), 1 (dedupe), 2 (dedupe)"
        );
        assert_eq!(
            find("dedupe").unwrap_err(),
            "several operators are called dedupe: choose --operator 1 or --operator 2"
        );
        assert_eq!(
            find_operator("x", &[]).unwrap_err().to_string(),
            "there is no operator x: the query keeps no state"
        );
    }

    #[test]
    fn progress_has_a_rate_and_the_time_left() {
        let bytes = crate::units::Bytes(41_000_000);
        let progress = Progress { done: 50, total: 200, rows: 3_000_000, bytes };
        // 3 M rows in 4 s; 150 partitions at 50 in 4 s take 12 s.
        let line = line(progress, Duration::from_secs(4));
        let expected =
            "reading 50 of 200 partitions  3,000,000 rows  41 MB  750 k rows/s  12 s left";
        assert_eq!(line, format!("{expected}  Ctrl-C stops"));
        assert_eq!(rounded(1_234_567.0), "1.2 M");
    }

    #[test]
    fn the_meter_is_silent_before_its_time_and_off_a_terminal() {
        let progress = Progress { done: 12, total: 200, rows: 3_000_000, ..Progress::default() };
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
        let shown = String::from_utf8(late).unwrap();
        assert!(shown.starts_with("\r\x1b[Kreading 12 of 200 partitions  3,000,000 rows  "));
        assert!(shown.ends_with("  Ctrl-C stops\r\x1b[K"));
        assert_eq!(shown.matches("reading").count(), 1, "updates are a while apart");

        let mut piped = Vec::new();
        let meter = Meter::new(&mut piped, Stream::Pipe);
        meter.state.lock().unwrap().next = Instant::now();
        meter.show(progress);
        meter.finish();
        assert!(piped.is_empty());
    }
}
