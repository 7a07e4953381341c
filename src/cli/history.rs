//! `statetop history`: what is remembered of a query.

use std::io::{self, Write};
use std::path::Path;

use super::args::{Format, HistoryArgs};
use super::csv::{self, or_empty};
use super::exit::{CliError, Exit};
use super::json;
use super::look::{Look, Role};
use super::number::{count_or_dash, minute, ratio_or_dash};
use super::page::Page;
use super::surroundings::Surroundings;
use super::table::{Align, Cell, Table};
use crate::figures::{bytes, plural, span};
use crate::memory::{Memory, MemoryError, Sample};
use crate::reader::{Depth, Request};
use crate::report::HistoryReport;
use crate::task::Cancel;

/// Runs the command.
pub(crate) fn run(args: &HistoryArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let directory = around.data_directory.clone().ok_or(MemoryError::NoDirectory)?;
    let memory = find(&args.target, &directory, around)?;
    if args.forget {
        let path = memory.path().display();
        let said = if memory.forget(around.now)? {
            format!("Forgotten: {path} is removed.\n")
        } else {
            format!("Nothing was remembered: there is no {path}.\n")
        };
        around.out.write_all(super::clean(&said).as_bytes())?;
        return Ok(Exit::Fine);
    }
    let read = memory.read()?;
    let report = HistoryReport::new(memory.path().display().to_string(), &read);
    let look = around.look(args.output.color);
    match args.output.format.unwrap_or(Format::Table) {
        Format::Table => around.out.write_all(page(&report, look).as_bytes())?,
        Format::Json => json::write(&report, around.out)?,
        Format::Csv => records(&report, around.out)?,
    }
    Ok(Exit::Fine)
}

/// The memory of a query that is named by its id or by its checkpoint.
fn find(target: &str, directory: &Path, around: &Surroundings<'_>) -> Result<Memory, CliError> {
    if let Ok(memory) = Memory::of(directory, target) {
        return Ok(memory);
    }
    let source = around.open_target(target)?;
    let request = Request { batch: None, depth: Depth::Logs, operator: None, store: None };
    let seen = source.observe(&request, &Cancel::default(), &|_| {})?;
    let id = seen.inspect.query_id.clone().unwrap_or_default();
    Ok(Memory::of(directory, &id)?)
}

fn page(report: &HistoryReport, look: Look) -> String {
    let mut page = Page::new(look);
    page.push(look.paint(Role::Title, &super::clean(&report.file)));
    let samples = plural(report.samples.len() as u64, "sample", "samples");
    let resizes = plural(report.pauses.len() as u64, "resize", "resizes");
    if report.samples.is_empty() && report.pauses.is_empty() {
        page.sentence(
            Role::Info,
            "Nothing is remembered of this query: the console adds to it while it is open, and \
             statetop pauses adds the resizes that it sees.",
        );
        return page.into_text();
    }
    page.sentence(Role::Info, &format!("{samples} and {resizes} are remembered."));
    if report.skipped > 0 {
        let lines = plural(report.skipped, "line says", "lines say");
        page.sentence(Role::Warning, &format!("{lines} nothing to this version of statetop."));
    }
    if !report.samples.is_empty() {
        page.blank();
        page.extend(table(&report.samples).lines(look, 2));
    }
    if !report.pauses.is_empty() {
        page.blank();
        page.sentence(Role::Muted, "statetop pauses prints the resizes.");
    }
    page.into_text()
}

fn table(samples: &[Sample]) -> Table {
    let mut table = Table::new(vec![
        ("when (UTC)", Align::Right),
        ("batch", Align::Right),
        ("partitions", Align::Right),
        ("rows", Align::Right),
        ("bytes", Align::Right),
        ("max/mean", Align::Right),
        ("batch time", Align::Right),
    ]);
    for sample in samples.iter().rev() {
        table.push(vec![
            Cell::plain(&minute(sample.at)),
            Cell::plain(&sample.batch.to_string()),
            Cell::plain(&sample.partitions.map_or("-".to_owned(), |count| count.to_string())),
            Cell::plain(&count_or_dash(sample.rows)),
            Cell::plain(&sample.bytes.map_or("-".to_owned(), bytes)),
            Cell::plain(&ratio_or_dash(sample.max_over_mean)),
            Cell::plain(&sample.batch_ms.map_or("-".to_owned(), span)),
        ]);
    }
    table
}

fn records(report: &HistoryReport, out: &mut dyn Write) -> io::Result<()> {
    let heading = ["at", "batch", "partitions", "rows", "bytes", "max_over_mean", "batch_ms"];
    let record = |sample: &Sample| {
        [
            or_empty(sample.at.iso()),
            sample.batch.to_string(),
            or_empty(sample.partitions),
            or_empty(sample.rows),
            or_empty(sample.bytes),
            or_empty(sample.max_over_mean),
            or_empty(sample.batch_ms),
        ]
    };
    csv::write(heading, report.samples.iter().map(record), out)
}
