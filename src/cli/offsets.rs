//! `statetop offsets`: where a query stands in its sources, and how a new checkpoint goes on.

use super::args::{Format, OffsetsArgs};
use super::csv::{self, or_empty};
use super::exit::{CliError, Exit};
use super::json;
use super::look::{Look, Role};
use super::number::moment;
use super::page::Page;
use super::surroundings::Surroundings;
use super::text;
use crate::reader::{Depth, Request};
use crate::report::{OffsetsReport, SourceOffsets};
use crate::task::Cancel;

/// Runs the command.
pub(crate) fn run(args: &OffsetsArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let source = around.open_target(&args.target)?;
    let cancel = Cancel::default();
    (around.on_interrupt)(&cancel);
    let request = Request { batch: args.batch, depth: Depth::Logs, operator: None, store: None };
    let seen = source.observe(&request, &cancel, &|_| {})?;
    let mut report = OffsetsReport::of(&seen.inspect);
    if report.batch.is_none() {
        return Err(CliError::NoOffsets(
            "no batch is committed, so there is no offset to go on from; a new checkpoint begins \
             as this one did"
                .to_owned(),
        ));
    }
    if let Some(wanted) = &args.source {
        let have: Vec<String> = report.sources.iter().map(|one| one.id.clone()).collect();
        report.sources.retain(|one| one.id == *wanted);
        if report.sources.is_empty() {
            return Err(CliError::NoOffsets(format!(
                "there is no source {}; the sources are: {}",
                text::clean(wanted),
                text::clean(&have.join(", "))
            )));
        }
    }
    if args.starting_offsets {
        let json = starting_offsets(&report)?;
        around.out.write_all(json.as_bytes())?;
        around.out.write_all(b"\n")?;
        return Ok(Exit::Fine);
    }
    let look = around.look(args.output.color);
    match args.output.format.unwrap_or(Format::Table) {
        Format::Table => around.out.write_all(page(&report, look).as_bytes())?,
        Format::Json => json::write(&report, around.out)?,
        Format::Csv => {
            let records = report.sources.iter().map(|one| {
                [
                    or_empty(report.batch),
                    text::clean(&one.id).into_owned(),
                    one.kind.clone(),
                    one.offset.as_ref().map(json::guarded).unwrap_or_default(),
                ]
            });
            csv::write(["batch", "source", "kind", "offset"], records, around.out)?;
        }
    }
    Ok(Exit::Fine)
}

/// The one value of Kafka's option.
fn starting_offsets(report: &OffsetsReport) -> Result<String, CliError> {
    let kafka: Vec<(&SourceOffsets, &String)> = report
        .sources
        .iter()
        .filter_map(|one| one.starting_offsets.as_ref().map(|json| (one, json)))
        .collect();
    match kafka.as_slice() {
        [(source, _)] => {
            let offset = source.offset.as_ref().map(json::guarded);
            Ok(offset.unwrap_or_default())
        }
        [] => {
            let kinds: Vec<&str> = report.sources.iter().map(|one| one.kind.as_str()).collect();
            Err(CliError::NoOffsets(format!(
                "no source is Kafka's (they are: {}), and only Kafka has startingOffsets; without \
                 --starting-offsets this says what is possible for the others",
                kinds.join(", ")
            )))
        }
        several => {
            let ids: Vec<String> =
                several.iter().map(|(one, _)| format!("--source {}", one.id)).collect();
            Err(CliError::NoOffsets(format!(
                "several sources are Kafka's, each with an option of its own: choose {}",
                text::clean(&ids.join(" or "))
            )))
        }
    }
}

fn page(report: &OffsetsReport, look: Look) -> String {
    let mut page = Page::new(look);
    page.push(look.paint(Role::Title, &text::clean(&report.checkpoint)));
    if let Some(batch) = report.batch {
        let at = report.batch_timestamp.map(|at| format!(", planned {}", moment(at)));
        page.sentence(
            Role::Text,
            &format!(
                "Ends of committed batch {batch}{}: the next records to read.",
                at.unwrap_or_default()
            ),
        );
    }
    if let Some(pending) = report.pending_batch {
        page.sentence(
            Role::Warning,
            &format!(
                "Batch {pending} is planned and not committed. Its end is the wrong place to \
                 begin: what it was to read would be skipped. If it wrote to the sink before it \
                 failed, that comes again."
            ),
        );
    }
    for source in &report.sources {
        page.blank();
        let title = format!("source {}  {}", text::clean(&source.id), source.kind);
        page.push(look.paint(Role::Title, &title));
        page.labelled("stands at", &text::clean(&source.summary));
        page.labelled("new start", &source.new_checkpoint);
        if let Some(offset) = &source.offset {
            page.labelled("as logged", &text::clean(&offset.to_string()));
        }
    }
    if report.stateful {
        page.blank();
        page.sentence(
            Role::Muted,
            "The query keeps state. A new checkpoint begins without it, so to have the same \
             results it must read again from before the oldest open window or key, not from here.",
        );
    }
    page.into_text()
}
