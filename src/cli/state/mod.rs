//! `statetop state`: the rows of state stores, as a table, as lines of JSON, or as CSV.
//!
//! A [`StateRow`] is one decoded row. [`jsonl::push`] is a pure function into a buffer, for
//! threads that decode; [`table::TableWriter`] and [`csv::CsvWriter`] take rows one by one.
//! Must not know where rows come from.

pub(crate) mod args;
pub(crate) mod csv;
pub(crate) mod jsonl;
pub(crate) mod table;

use std::io::{self, Write};
use std::ops::ControlFlow;

use self::args::{RowFormat, StateArgs};
use super::answer;
use super::exit::{CliError, Exit, INTERRUPTED};
use super::look::{Paint, Role};
use super::page::Page;
use super::read::{Meter, reading};
use super::surroundings::{Stream, Surroundings};
use crate::reader::{FamilyChoice, ReadError, ReadState, RowsRequest, RowsSummary};
pub(crate) use crate::reader::{Half, StateRow, Whereabouts};
use crate::state::row::filter::Parsed;
use crate::task::Cancel;

/// Runs the command.
pub(crate) fn run(args: &StateArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let source = around.open_target(&args.target)?;
    let cancel = Cancel::default();
    (around.on_interrupt)(&cancel);
    let batch = args.changed_in.or(args.batch);
    let operator = reading::operator(source.as_ref(), args.operator.as_ref(), batch, &cancel)?;
    let state = reading::state(source.as_ref())?;
    let condition = args.condition.as_deref().map(Parsed::of).transpose();
    let condition = condition.map_err(|error| ReadError::BadCondition(error.to_string()))?;
    let request = RowsRequest {
        batch,
        operator,
        store: args.store.clone(),
        families: match (&args.family, args.internal) {
            (Some(name), _) => FamilyChoice::Named(name.clone()),
            (None, true) => FamilyChoice::All,
            (None, false) => FamilyChoice::Own,
        },
        partition: args.partition,
        key: None,
        condition,
        limit: args.rows(),
    };
    let summary = match args.format {
        RowFormat::Jsonl if args.changed_in.is_none() => {
            jsonl_on_threads(state, &request, &cancel, around)?
        }
        _ => one_by_one(state, args, &request, &cancel, around)?,
    };
    finish(args, &summary, around)
}

/// Every row as a line of JSON, encoded by several threads.
fn jsonl_on_threads(
    state: &dyn ReadState,
    request: &RowsRequest,
    cancel: &Cancel,
    around: &mut Surroundings<'_>,
) -> Result<RowsSummary, CliError> {
    let meter = Meter::new(around.err, around.err_kind);
    let out = &mut *around.out;
    let summary = state.encoded_rows(
        request,
        cancel,
        &|progress| meter.show(progress),
        &|| {
            let mut lines = jsonl::Lines::default();
            Box::new(move |row, bytes| lines.push(row, bytes))
        },
        &mut |bytes| out.write_all(bytes),
    );
    meter.finish();
    Ok(summary?)
}

/// Rows one by one: tables and CSV measure or quote as they go, and changes are few.
fn one_by_one(
    state: &dyn ReadState,
    args: &StateArgs,
    request: &RowsRequest,
    cancel: &Cancel,
    around: &mut Surroundings<'_>,
) -> Result<RowsSummary, CliError> {
    let look = around.look(args.color);
    let mask = if args.reveal { Mask::Shown } else { Mask::Hidden };
    let room = match around.out_kind {
        Stream::Terminal { .. } => Some(look.columns),
        Stream::Pipe => None,
    };
    let meter = Meter::new(around.err, around.err_kind);
    let mut writer = match args.format {
        RowFormat::Table => {
            Writer::Table(table::TableWriter::new(&mut *around.out, look, mask).within(room))
        }
        RowFormat::Jsonl => Writer::Jsonl(jsonl::Lines::default(), &mut *around.out),
        RowFormat::Csv => Writer::Csv(csv::CsvWriter::new(&mut *around.out)?),
    };
    let mut failed = None;
    let emit = &mut |row: &StateRow<'_>| match writer.write(row) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    };
    let tell = |progress| meter.show(progress);
    let summary = match args.changed_in {
        Some(_) => state.changes(request, cancel, &tell, emit),
        None => state.rows(request, cancel, &tell, emit),
    };
    meter.finish();
    if let Some(error) = failed {
        return Err(error.into());
    }
    let summary = summary?;
    writer.finish()?;
    Ok(summary)
}

/// Where rows go.
enum Writer<W: Write> {
    Table(table::TableWriter<W>),
    Jsonl(jsonl::Lines, W),
    Csv(csv::CsvWriter<W>),
}

impl<W: Write> Writer<W> {
    fn write(&mut self, row: &StateRow<'_>) -> io::Result<()> {
        match self {
            Self::Table(table) => table.write(row),
            Self::Csv(csv) => csv.write(row),
            Self::Jsonl(lines, out) => {
                let mut line = Vec::new();
                lines.push(row, &mut line);
                out.write_all(&line)
            }
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Table(table) => table.finish(),
            Self::Csv(_) | Self::Jsonl(..) => Ok(()),
        }
    }
}

/// Says what the rows do not: how many there were, what was left out, what was wrong. Below a
/// table; on standard error beside formats that programs read.
fn finish(
    args: &StateArgs,
    summary: &RowsSummary,
    around: &mut Surroundings<'_>,
) -> Result<Exit, CliError> {
    let mut look = around.look(args.color);
    if args.format != RowFormat::Table {
        look.paint = Paint::of(args.color, around.err_kind, &around.environment);
    }
    let mut page = Page::new(look);
    for (role, sentence) in answer::of_rows(summary, args.rows()) {
        page.sentence(role, &sentence);
    }
    if args.format == RowFormat::Table && !args.reveal && summary.rows > 0 {
        page.sentence(Role::Muted, "Values are masked; --reveal shows them.");
    }
    page.findings(&summary.findings.iter().collect::<Vec<_>>());
    let said = page.into_text();
    if args.format == RowFormat::Table {
        around.out.write_all(said.as_bytes())?;
    } else if summary.partial || summary.not_compared > 0 || !summary.findings.is_empty() {
        // Nobody is left to tell when this fails.
        let _ = around.err.write_all(said.as_bytes());
    }
    if summary.partial && summary.findings.is_empty() {
        return Ok(INTERRUPTED);
    }
    Ok(Exit::by_findings(&summary.findings))
}

/// Whether key and value data are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mask {
    Shown,
    Hidden,
}

#[cfg(test)]
mod tests;
