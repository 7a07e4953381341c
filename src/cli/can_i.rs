//! `statetop can-i`: may this change between two starts on the same checkpoint?

use serde::Serialize;

use super::args::{CanIArgs, Format};
use super::csv;
use super::exit::{CliError, Exit};
use super::json;
use super::look::{Look, Role};
use super::page::Page;
use super::surroundings::Surroundings;
use super::table::{Align, Cell, Table};
use super::text;
use crate::explain::changes::{self, Answer, Change};

/// The changes that were asked for.
#[derive(Debug, Serialize)]
struct CanIReport<'a> {
    /// The question; `None` where all were asked for.
    question: Option<&'a str>,
    /// What fits it, or all.
    changes: Vec<&'a Change>,
}

/// Runs the command.
pub(crate) fn run(args: &CanIArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let all = changes::all().map_err(|error| CliError::Tables(error.to_string()))?;
    let question = args.change.join(" ");
    let asked = !args.change.is_empty();
    let fitting = if asked { changes::matching(all, &question) } else { all.iter().collect() };
    if fitting.is_empty() {
        return Err(CliError::NoSuchChange(text::clean(&question).into_owned()));
    }
    let report = CanIReport { question: asked.then_some(question.as_str()), changes: fitting };
    let look = around.look(args.output.color);
    match args.output.format.unwrap_or(Format::Table) {
        Format::Table => around.out.write_all(page(&report, look).as_bytes())?,
        Format::Json => json::write(&report, around.out)?,
        Format::Csv => {
            let records = report.changes.iter().map(|change| {
                [&change.id, &change.title, change.answer.words(), &change.happens, &change.instead]
                    .map(str::to_owned)
            });
            let heading = ["id", "title", "answer", "happens", "instead"];
            csv::write(heading, records, around.out)?;
        }
    }
    Ok(match (asked, report.changes.as_slice()) {
        (false, _) => Exit::Fine,
        (true, [only]) if only.answer == Answer::Yes => Exit::Fine,
        (true, [_]) => Exit::Findings,
        (true, _) => Exit::Usage,
    })
}

fn page(report: &CanIReport<'_>, look: Look) -> String {
    let mut page = Page::new(look);
    if let (Some(_), [only]) = (report.question, report.changes.as_slice()) {
        one(&mut page, only, look);
        return page.into_text();
    }
    if report.question.is_some() {
        page.sentence(Role::Info, "Several changes fit; ask for one by its name.");
    }
    let mut table = Table::new(vec![
        ("change", Align::Left),
        ("answer", Align::Left),
        ("what is changed", Align::Left),
    ]);
    for change in &report.changes {
        table.push(vec![
            Cell::plain(&change.id),
            Cell::new(role(change.answer), change.answer.words()),
            Cell::plain(&change.title),
        ]);
    }
    page.extend(table.lines(look, 0));
    page.into_text()
}

fn one(page: &mut Page, change: &Change, look: Look) {
    page.push(look.paint(Role::Title, &change.title));
    page.push(look.paint(role(change.answer), change.answer.words()));
    page.labelled("happens", &change.happens);
    page.labelled("instead", &change.instead);
    page.labelled("name", &change.id);
}

fn role(answer: Answer) -> Role {
    match answer {
        Answer::Yes => Role::Info,
        Answer::No => Role::Error,
        Answer::Depends => Role::Warning,
    }
}
