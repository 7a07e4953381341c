//! `statetop preflight`: what a resize would come to, as a checklist, JSON or CSV.

use super::args::{Format, PreflightArgs};
use super::csv;
use super::exit::{CliError, Exit, INTERRUPTED};
use super::json;
use super::look::{Look, Role};
use super::page::Page;
use super::read::{Meter, reading};
use super::surroundings::Surroundings;
use super::text;
use crate::figures::{count, plural};
use crate::preflight::{Request, Session, Sinks};
use crate::report::{CheckStatus, PreflightCheck, PreflightOutcome, PreflightReport};
use crate::task::Cancel;

/// Cells before a check's id and its summary.
const MARK: usize = 10;
const ID: usize = 23;

/// Runs the command.
pub(crate) fn run(args: &PreflightArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let source = around.open_target(&args.target)?;
    let cancel = Cancel::default();
    (around.on_interrupt)(&cancel);
    let state = reading::state(source.as_ref())?;
    let request = Request {
        to: args.to,
        engine: args.engine.map(Into::into),
        session: Session::new(args.session_conf.iter().cloned()),
        sinks: if args.enforce_exactly_once_sink {
            Sinks::ExactlyOnce
        } else {
            Sinks::SkipFailedBatches
        },
        nodes: args.nodes,
        cap: args.node_memory_cap,
        rehash: !args.quick,
    };
    let meter = Meter::new(around.err, around.err_kind);
    let report = state.preflight(&request, &cancel, &|progress| meter.show(progress), &mut |_| {});
    meter.finish();
    let report = report?;
    let look = around.look(args.output.color);
    match args.output.format.unwrap_or(Format::Table) {
        Format::Table => around.out.write_all(page(&report, look).as_bytes())?,
        Format::Json => json::write(&report, around.out)?,
        Format::Csv => csv_of(&report, around)?,
    }
    Ok(match report.outcome {
        _ if report.partial => INTERRUPTED,
        PreflightOutcome::Ready => Exit::Fine,
        PreflightOutcome::Noop => Exit::Noop,
        PreflightOutcome::Refused
        | PreflightOutcome::WouldBreak
        | PreflightOutcome::WouldLoseState
        | PreflightOutcome::Unknown => Exit::Findings,
    })
}

/// The report as a page: the answer, the checklist, what can be done next.
pub(crate) fn page(report: &PreflightReport, look: Look) -> String {
    let mut page = Page::new(look);
    page.push(look.paint(Role::Title, &text::clean(&report.checkpoint)));
    let from = report.from.map_or_else(|| "?".to_owned(), |from| count(u64::from(from)));
    let batch = report.batch.map_or_else(String::new, |batch| format!("batch {batch}, "));
    let about = format!("{batch}from {from} to {} partitions with {}", report.to, report.engine);
    page.sentence(Role::Text, &about);
    page.sentence(role(report.outcome), &text::clean(&report.summary));
    if let Some(class) = &report.error_class {
        page.labelled("error", &text::clean(class));
        for (name, value) in &report.parameters {
            page.labelled("", &format!("{name} = {}", text::clean(value)));
        }
    }
    page.labelled("engine", &text::clean(&report.engine_reason));
    if report.partial {
        page.sentence(Role::Warning, "Given up early: only the checks below were made.");
    }
    page.blank();
    page.push(look.paint(Role::Title, &tally(&report.checks)));
    for check in &report.checks {
        describe(&mut page, check, look);
    }
    if !report.legal_next.is_empty() {
        page.blank();
        for (index, next) in report.legal_next.iter().enumerate() {
            page.labelled(if index == 0 { "next" } else { "or" }, &text::clean(&next.summary));
        }
    }
    page.into_text()
}

fn role(outcome: PreflightOutcome) -> Role {
    match outcome {
        PreflightOutcome::Ready | PreflightOutcome::Noop => Role::Info,
        PreflightOutcome::Refused | PreflightOutcome::Unknown => Role::Warning,
        PreflightOutcome::WouldBreak | PreflightOutcome::WouldLoseState => Role::Error,
    }
}

/// `22 checks: 18 passed, 1 warning, 3 unknown`.
fn tally(checks: &[PreflightCheck]) -> String {
    let of = |status| checks.iter().filter(|check| check.status == status).count();
    let parts: Vec<String> = [
        (CheckStatus::Passed, "passed", "passed"),
        (CheckStatus::Warning, "warning", "warnings"),
        (CheckStatus::Refused, "refused", "refused"),
        (CheckStatus::Unknown, "unknown", "unknown"),
    ]
    .into_iter()
    .map(|(status, one, many)| (of(status), one, many))
    .filter(|(number, ..)| *number > 0)
    .map(|(number, one, many)| plural(number as u64, one, many))
    .collect();
    format!("{}: {}", plural(checks.len() as u64, "check", "checks"), parts.join(", "))
}

/// One line for what passed; evidence and remedy for everything else.
fn describe(page: &mut Page, check: &PreflightCheck, look: Look) {
    let (word, role) = match check.status {
        CheckStatus::Passed => ("passed", Role::Muted),
        CheckStatus::Warning => ("WARNING", Role::Warning),
        CheckStatus::Refused => ("REFUSED", Role::Error),
        CheckStatus::Unknown => ("unknown", Role::Info),
    };
    let room = look.columns.saturating_sub(MARK + ID).max(20);
    let mut lines = text::wrap(&check.summary, room).into_iter();
    let padding = |text: &str, cells: usize| " ".repeat(cells.saturating_sub(text::width(text)));
    let first = lines.next().unwrap_or_default();
    page.push(format!(
        "  {}{}{}{}{first}",
        look.paint(role, word),
        padding(word, MARK - 2),
        check.id,
        padding(check.id, ID)
    ));
    let indent = " ".repeat(MARK + ID);
    for line in lines {
        page.push(format!("{indent}{line}"));
    }
    if check.status == CheckStatus::Passed {
        return;
    }
    for (role, part) in [(Role::Muted, &check.evidence), (Role::Text, &check.remedy)] {
        if part.is_empty() {
            continue;
        }
        for line in text::wrap(&text::clean(part), look.columns.saturating_sub(MARK)) {
            page.push(format!("{}{}", " ".repeat(MARK), look.paint(role, &line)));
        }
    }
}

fn csv_of(report: &PreflightReport, around: &mut Surroundings<'_>) -> Result<(), CliError> {
    let heading = ["outcome", "id", "status", "summary", "evidence", "remedy"];
    let records = report.checks.iter().map(|check| {
        let status = match check.status {
            CheckStatus::Passed => "passed",
            CheckStatus::Warning => "warning",
            CheckStatus::Refused => "refused",
            CheckStatus::Unknown => "unknown",
        };
        [
            report.outcome.words().to_owned(),
            check.id.to_owned(),
            status.to_owned(),
            check.summary.clone(),
            text::clean(&check.evidence).into_owned(),
            check.remedy.clone(),
        ]
    });
    Ok(csv::write(heading, records, around.out)?)
}
