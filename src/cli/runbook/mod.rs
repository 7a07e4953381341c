//! `statetop runbook`: the review and maintenance document of a resize, filled in from the
//! checkpoint.
//!
//! Reads the reports that other commands print, and writes Markdown. [`document`] says why and
//! whether, [`steps`] how. Must not know how reports are made.

mod document;
mod markdown;
mod steps;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::Path;

use super::args::RunbookArgs;
use super::exit::{CliError, Exit};
use super::read::{Meter, reading};
use super::surroundings::Surroundings;
use super::written;
use crate::analysis::DEFAULT_BOUND;
use crate::preflight::{Request, Session, Sinks};
use crate::reader::{Depth, PlanQuestion, PlanRequest, ReadState, Request as Observing};
use crate::report::{InspectReport, PausesReport, PlanReport, PreflightOutcome, PreflightReport};
use crate::task::{Cancel, Progress};
use crate::units::UnixMillis;

/// Everything that the document is made of.
pub(crate) struct Subject<'a> {
    /// What people call the query.
    pub(crate) name: &'a str,
    /// Where the checkpoint is, from any directory.
    pub(crate) address: &'a str,
    /// The count that the resize is to set.
    pub(crate) to: u32,
    /// Confs of the session of the resize: those that the checkpoint needs, and the operator's.
    pub(crate) confs: &'a [(String, String)],
    /// Where the query stands.
    pub(crate) inspect: &'a InspectReport,
    /// One per operator that can be planned.
    pub(crate) plans: &'a [PlanReport],
    /// What the resize would come to.
    pub(crate) preflight: &'a PreflightReport,
    /// What past ones took.
    pub(crate) pauses: &'a PausesReport,
    /// When this is written.
    pub(crate) now: UnixMillis,
}

/// Runs the command.
pub(crate) fn run(args: &RunbookArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    if let Some(file) = &args.output {
        written::outside_checkpoints(file)?;
    }
    let source = around.open_target(&args.target)?;
    let cancel = Cancel::default();
    (around.on_interrupt)(&cancel);
    let state = reading::state(source.as_ref())?;
    let meter = Meter::new(around.err, around.err_kind);
    let show = |progress: Progress| meter.show(progress);
    let logs = Observing { batch: None, depth: Depth::Snapshot, operator: None, store: None };
    let seen = source.observe(&logs, &cancel, &show)?;
    let inspect = seen.inspect.as_ref();
    let confs = steps::session(inspect).into_iter();
    let confs: Vec<(String, String)> = confs.chain(args.session_conf.iter().cloned()).collect();
    let request = Request {
        to: i64::from(args.to),
        engine: args.engine.map(Into::into),
        session: Session::new(confs.iter().cloned()),
        sinks: Sinks::ExactlyOnce,
        nodes: args.nodes,
        cap: args.node_memory_cap,
        rehash: true,
    };
    let preflight = state.preflight(&request, &cancel, &show, &mut |_| {})?;
    let plans = plans(state, inspect, args, &cancel, &show)?;
    let pauses = state.pauses(&cancel, &show)?;
    meter.finish();
    cancel.check().map_err(crate::reader::ReadError::from)?;
    let (name, address) = (name(&args.target), address(&inspect.checkpoint));
    let text = document::write(&Subject {
        name: &name,
        address: &address,
        to: args.to,
        confs: &confs,
        inspect,
        plans: &plans,
        preflight: &preflight,
        pauses: &pauses,
        now: around.now,
    });
    match &args.output {
        Some(file) => save(file, args.force, &text)?,
        None => around.out.write_all(text.as_bytes())?,
    }
    Ok(match preflight.outcome {
        PreflightOutcome::Ready | PreflightOutcome::Noop => Exit::Fine,
        _ => Exit::Findings,
    })
}

/// The layout of each operator at the count; one whose keys cannot be read has none, which the
/// preflight tells.
fn plans(
    state: &dyn ReadState,
    inspect: &InspectReport,
    args: &RunbookArgs,
    cancel: &Cancel,
    show: &(dyn Fn(Progress) + Sync),
) -> Result<Vec<PlanReport>, CliError> {
    let mut plans = Vec::new();
    for operator in &inspect.operators {
        let request = PlanRequest { operator: Some(operator.id), ..PlanRequest::default() };
        let basis = match state.plan(&request, cancel, show) {
            Ok(basis) => basis,
            Err(_) if !cancel.is_cancelled() => continue,
            Err(error) => return Err(error.into()),
        };
        plans.push(basis.report(&PlanQuestion {
            to: Some(args.to),
            curve: Vec::new(),
            cores: None,
            bound: DEFAULT_BOUND,
            nodes: args.nodes,
            cap: args.node_memory_cap,
            price: None,
        }));
    }
    Ok(plans)
}

/// The query's name in the configuration, or the last part of its address.
fn name(target: &str) -> String {
    let last = target.trim_end_matches('/').rsplit('/').next();
    last.filter(|last| !last.is_empty()).unwrap_or(target).to_owned()
}

/// The commands of the document run anywhere, so a path has to begin at the root.
fn address(checkpoint: &str) -> String {
    if checkpoint.contains("://") {
        return checkpoint.to_owned();
    }
    let absolute = std::path::absolute(checkpoint).ok();
    absolute.map_or_else(|| checkpoint.to_owned(), |path| path.to_string_lossy().into_owned())
}

fn save(file: &Path, force: bool, document: &str) -> Result<(), CliError> {
    let mut opened = written::create(file, force)?;
    let saved = opened.write_all(document.as_bytes()).and_then(|()| opened.sync_all());
    saved.map_err(|error| written::failed(file, error))
}
