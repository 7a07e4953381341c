//! `statetop findings`: what the checkpoint and its running query show together.

use std::io::{self, Write, empty};
use std::time::Duration;

use crossbeam_channel::RecvTimeoutError;

use super::args::{AttachArgs, FindingsArgs, Format, ReadArgs, credentials};
use super::csv::{self, or_empty};
use super::exit::{CliError, Exit, INTERRUPTED};
use super::json;
use super::look::{Look, Role};
use super::page::Page;
use super::read::read;
use super::surroundings::Surroundings;
use super::text;
use crate::config::QueryConfig;
use crate::diagnosis::Severity;
use crate::diagnosis::lints::{Evidence, Told, lints};
use crate::figures::plural;
use crate::report::{FindingsReport, QueryWord};
use crate::task::Cancel;
use crate::telemetry::event::Event;
use crate::telemetry::follow::Until;
use crate::telemetry::source::Source;
use crate::telemetry::stream::{self, Means, Span};
use crate::telemetry::timeline::{Choice, Timeline};
use crate::telemetry::ui::Credentials;
use crate::telemetry::wanted::Wanted;

/// How soon Ctrl-C is noticed while no event comes.
const ALERT: Duration = Duration::from_millis(100);

/// Runs the command.
pub(crate) fn run(args: &FindingsArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let sources = sources(args, around)?;
    let source = around.open_target(&args.target)?;
    let depth = ReadArgs { batch: None, operator: None, store: None, exact: args.exact };
    let seen = read(&source, &depth, around)?;
    let Some((timeline, heard)) = told(sources, args.attach.query.as_deref(), around) else {
        return Ok(INTERRUPTED);
    };
    let choice = timeline.choose(seen.inspect.query_id.as_deref());
    let word = match choice {
        _ if timeline.sources().is_empty() => QueryWord::NotAsked,
        Choice::Same(_) => QueryWord::Same,
        Choice::Only(_) => QueryWord::Only,
        Choice::Nobody => QueryWord::None,
        Choice::Others => QueryWord::Others,
        Choice::Unclear => QueryWord::Unclear,
    };
    let query = choice.query();
    let batches = query.map_or(0, |query| query.reported().count() as u64);
    let mut findings: Vec<_> = super::answer::findings(&seen).into_iter().cloned().collect();
    findings.extend(lints(&Evidence {
        inspect: Some(&seen.inspect),
        partitions: Some(&seen.partitions),
        told: query.map(|query| Told::of(&timeline, query)),
    }));
    let report = FindingsReport::new(
        seen.inspect.checkpoint.clone(),
        seen.inspect.query_id.clone(),
        (word, batches),
        findings,
        &around.config.rules(&args.target),
    );
    let look = around.look(args.output.color);
    match args.output.format.unwrap_or(Format::Table) {
        Format::Table => around.out.write_all(page(&report, look).as_bytes())?,
        Format::Json => json::write(&report, around.out)?,
        Format::Csv => records(&report, around.out)?,
    }
    Ok(match heard {
        _ if report.has_errors() => Exit::Findings,
        // Silence is no sign of health.
        Heard::NotAll => Exit::CannotRead,
        Heard::All => Exit::Fine,
    })
}

/// A source, and what it wants to see.
struct Named {
    source: Source,
    credentials: Credentials,
}

/// The sources on the command line, and those of the configuration where the target is one of its
/// queries. One that is not there is an error: a silent log is no sign of health.
fn sources(args: &FindingsArgs, around: &Surroundings<'_>) -> Result<Vec<Named>, CliError> {
    let configured = around.config.query(&args.target);
    let AttachArgs { events, progress, ui, token, query: _ } = &args.attach;
    let of_files = events.iter().chain(progress).map(|name| (name, Credentials::None));
    let of_ui = ui.iter().map(|name| (name, token.credentials()));
    let known = configured.into_iter().flat_map(|query| {
        let QueryConfig { events, ui, token_env, token_file, .. } = query;
        let token = credentials(token_env.as_ref(), token_file.as_ref());
        let events = events.iter().map(|name| (name, Credentials::None));
        events.chain(ui.iter().map(move |name| (name, token.clone())))
    });
    known
        .chain(of_files)
        .chain(of_ui)
        .map(|(name, credentials)| Ok(Named { source: Source::of(name, Until::End)?, credentials }))
        .collect()
}

/// Whether every source told something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    All,
    NotAll,
}

/// What the sources tell up to their present end; `None` when it was given up. One that tells of
/// no query is complained about.
fn told(
    sources: Vec<Named>,
    query: Option<&str>,
    around: &mut Surroundings<'_>,
) -> Option<(Timeline, Heard)> {
    let cancel = Cancel::default();
    (around.on_interrupt)(&cancel);
    let mut timeline = Timeline::new(sources.iter().map(|named| named.source.name.clone()));
    let mut all = Heard::All;
    let span = Span { until: Until::End, since: None };
    for (place, Named { source, credentials }) in sources.into_iter().enumerate() {
        let name = source.name.clone();
        let stdin = if &*name == "-" { (around.input)() } else { Box::new(empty()) };
        let mut wanted = query.map(|query| Wanted::new(query.to_owned()));
        let mut is_wanted =
            |event: &Event| wanted.as_mut().is_none_or(|wanted| wanted.is_about(&event.kind));
        let events = stream::events(vec![source], span, Means { stdin, credentials }, &cancel);
        loop {
            match events.recv_timeout(ALERT) {
                Ok(event) => {
                    if is_wanted(&event) {
                        timeline.fold(place, event);
                    }
                }
                Err(RecvTimeoutError::Timeout) if cancel.is_cancelled() => return None,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let heard = timeline.sources().get(place).is_some_and(|line| line.events > 0);
        if !heard && !cancel.is_cancelled() {
            all = Heard::NotAll;
            super::complain(&CliError::NoEvents(name.to_string()), around);
        }
    }
    (!cancel.is_cancelled()).then_some((timeline, all))
}

fn page(report: &FindingsReport, look: Look) -> String {
    let mut page = Page::new(look);
    page.push(look.paint(Role::Title, &text::clean(&report.checkpoint)));
    let (role, sentence) = headline(report);
    page.sentence(role, &sentence);
    let (role, sentence) = about_query(report);
    page.sentence(role, &sentence);
    if report.allowed > 0 {
        let allowed = plural(report.allowed, "finding is", "findings are");
        page.sentence(Role::Muted, &format!("{allowed} allowed by the configuration."));
    }
    let findings: Vec<_> = report.findings.iter().map(|line| &line.finding).collect();
    page.findings_and(&findings, |finding| Some(finding.id.documentation()));
    page.into_text()
}

fn headline(report: &FindingsReport) -> (Role, String) {
    match report.findings.first().map(|line| &line.finding) {
        None => (Role::Info, "Nothing is found wrong.".to_owned()),
        Some(finding) if finding.severity == Severity::Error => {
            (Role::Error, format!("{}.", capital(&text::clean(&finding.summary))))
        }
        Some(finding) if finding.severity == Severity::Warning => {
            (Role::Warning, "Nothing is broken; something will hurt.".to_owned())
        }
        Some(_) => (Role::Info, "Nothing is wrong; something is worth knowing.".to_owned()),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn about_query(report: &FindingsReport) -> (Role, String) {
    let batches = plural(report.batches, "batch", "batches");
    match report.query {
        QueryWord::NotAsked => (
            Role::Muted,
            "Only the checkpoint was looked at; --events, --progress and --ui tell of the \
             running query."
                .to_owned(),
        ),
        QueryWord::Same => (Role::Muted, format!("The sources tell {batches} of this query.")),
        QueryWord::Only => (
            Role::Warning,
            format!("The sources tell {batches} of one query; no id tells that it is this one."),
        ),
        QueryWord::None => (Role::Warning, "The sources tell of no query.".to_owned()),
        QueryWord::Others => {
            (Role::Warning, "The sources tell of other queries, not of this one.".to_owned())
        }
        QueryWord::Unclear => (
            Role::Warning,
            "The sources tell of several queries, and no id tells which is this one.".to_owned(),
        ),
    }
}

fn records(report: &FindingsReport, out: &mut dyn Write) -> io::Result<()> {
    let heading = ["id", "severity", "summary", "detail", "remedy", "file", "documentation"];
    let record = |line: &crate::report::FindingLine| {
        let finding = &line.finding;
        let severity = match finding.severity {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        [
            finding.id.0.to_owned(),
            severity.to_owned(),
            text::clean(&finding.summary).into_owned(),
            text::clean(&finding.detail).into_owned(),
            text::clean(&finding.remedy).into_owned(),
            or_empty(finding.file.as_deref().map(text::clean)),
            line.documentation.clone(),
        ]
    };
    csv::write(heading, report.findings.iter().map(record), out)
}
