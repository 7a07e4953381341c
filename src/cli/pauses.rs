//! `statetop pauses`: every repartition that was seen, and what the next may take.

use std::io::{self, Write};
use std::path::Path;

use super::args::{Format, PausesArgs};
use super::csv::{self, or_empty};
use super::exit::{CliError, Exit, INTERRUPTED};
use super::json;
use super::look::{Look, Role};
use super::number::minute;
use super::page::Page;
use super::read::{Meter, reading};
use super::surroundings::Surroundings;
use super::table::{Align, Cell, Table};
use super::text;
use crate::analysis::pauses::{Estimate, Pause, TimeSource, Timed};
use crate::console::Charset;
use crate::figures::{bytes, compact, plural, ratio, span, whole};
use crate::memory::{Memory, Record};
use crate::report::PausesReport;
use crate::task::Cancel;
use crate::telemetry::EventKind;
use crate::telemetry::follow::Until;
use crate::telemetry::resizes::Resizes;
use crate::telemetry::source::Source;
use crate::telemetry::stream::{self, Means, Span};
use crate::units::UnixMillis;

/// From so many columns on the table has all of its columns.
const WIDE: usize = 110;

/// Runs the command.
pub(crate) fn run(args: &PausesArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let source = around.open_target(&args.target)?;
    let cancel = Cancel::default();
    (around.on_interrupt)(&cancel);
    let state = reading::state(source.as_ref())?;
    let meter = Meter::new(around.err, around.err_kind);
    let report = state.pauses(&cancel, &|progress| meter.show(progress));
    meter.finish();
    let mut report = told(report?, args, &cancel, around)?;
    if cancel.is_cancelled() {
        return Ok(INTERRUPTED);
    }
    let directory = around.data_directory.as_deref().filter(|_| !args.forgetful);
    if let Some((directory, id)) = directory.zip(report.query_id.clone()) {
        report = remembered(report, directory, &id, around.now);
    }
    let look = around.look(args.output.color);
    match args.output.format.unwrap_or(Format::Table) {
        Format::Table => around.out.write_all(page(&report, look).as_bytes())?,
        Format::Json => json::write(&report, around.out)?,
        Format::Csv => records(&report, around.out)?,
    }
    Ok(Exit::Fine)
}

/// With what the named sources tell of the query. One that cannot be read, or tells of others only,
/// is told and costs nothing but itself.
fn told(
    mut report: PausesReport,
    args: &PausesArgs,
    cancel: &Cancel,
    around: &mut Surroundings<'_>,
) -> Result<PausesReport, CliError> {
    for name in args.events.iter().chain(&args.progress).chain(&args.ui) {
        let source = match Source::of(name, Until::End) {
            Ok(source) => source,
            Err(error) => {
                super::complain(&error.into(), around);
                continue;
            }
        };
        let means = Means { stdin: (around.input)(), credentials: args.token.credentials() };
        let span = Span { until: Until::End, since: None };
        let mut resizes = Resizes::default();
        for event in stream::events(vec![source], span, means, cancel) {
            if let EventKind::Unreadable(why) | EventKind::Interrupted(why) = &event.kind {
                let place = event.place.line.map_or_else(String::new, |line| format!(":{line}"));
                let at = format!("{}{place}", event.place.source);
                // What the interface of an application says has the address in it.
                let what = if why.starts_with(&at) { why.clone() } else { format!("{at}: {why}") };
                writeln!(around.err, "statetop: {}", text::clean(&what))?;
            }
            resizes.pass(event);
        }
        if !is_told_of(&report, &resizes) {
            let id = report.query_id.as_deref().unwrap_or("unknown");
            let text = format!(
                "statetop: {name} tells nothing of this query (its id is {id}): expected its \
                 progress, or the driver's log of its repartition"
            );
            writeln!(around.err, "{}", text::clean(&text))?;
        }
        report = report.with_told(&resizes);
    }
    Ok(report)
}

/// Whether a source told of the query, or of a repartition.
fn is_told_of(report: &PausesReport, resizes: &Resizes) -> bool {
    let id = report.query_id.as_deref();
    let mut queries = resizes.queries();
    !resizes.done().is_empty() || queries.any(|query| id.is_some() && query.id.as_deref() == id)
}

/// With what is remembered of the query; what is new is remembered from now on. A memory that
/// cannot be read or is being written by another costs nothing but itself.
fn remembered(report: PausesReport, directory: &Path, id: &str, now: UnixMillis) -> PausesReport {
    let Ok(memory) = Memory::of(directory, id) else { return report };
    let known: Vec<Pause> = memory.read().map_or_else(|_| Vec::new(), |all| all.pauses());
    let seen = report.pauses.clone();
    let report = report.with(known.clone());
    let news: Vec<&Pause> =
        seen.iter().filter(|pause| pause.finished && !known.contains(pause)).collect();
    if let (false, Ok(mut writer)) = (news.is_empty(), memory.writer(now)) {
        for pause in news {
            if writer.add(&Record::Repartition(pause.clone())).is_err() {
                break;
            }
        }
    }
    report
}

fn page(report: &PausesReport, look: Look) -> String {
    let mut page = Page::new(look);
    page.push(look.paint(Role::Title, &text::clean(&report.checkpoint)));
    let number = plural(report.pauses.len() as u64, "resize", "resizes");
    page.sentence(
        Role::Info,
        &match report.pauses.as_slice() {
            [] => "No resize was seen in the batches that the checkpoint retains.".to_owned(),
            _ => format!("{number} seen."),
        },
    );
    let (role, sentence) = of_estimate(report);
    page.sentence(role, &sentence);
    if !report.pauses.is_empty() {
        page.blank();
        page.extend(table(&report.pauses, look).lines(look, 2));
        page.blank();
        page.push(look.paint(
            Role::Muted,
            &text::clean(
                "pause: the resize itself; outage: from the last batch before to the first after",
            ),
        ));
        let by = sources(&report.pauses);
        if !by.is_empty() {
            page.push(look.paint(Role::Muted, &text::clean(&by)));
        }
    }
    page.into_text()
}

/// `outage by entries; batch time by progress`: where the figures come from that have no column.
fn sources(pauses: &[Pause]) -> String {
    let words = |what: &str, of: Vec<Option<TimeSource>>| {
        let mut known: Vec<TimeSource> = of.into_iter().flatten().collect();
        known.sort_unstable();
        known.dedup();
        let known: Vec<&str> = known.into_iter().map(word).collect();
        (!known.is_empty()).then(|| format!("{what} by {}", known.join(" or ")))
    };
    let outages = pauses.iter().map(|pause| pause.outage.map(|timed| timed.source)).collect();
    let sides = pauses.iter().flat_map(|pause| [pause.before, pause.after]);
    let times = sides.map(|side| side.batch_ms_source).collect();
    let all = [words("outage", outages), words("batch time", times)];
    all.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// `A resize of 3.2M rows took 41.0 s to 58.0 s (5 resizes): 11.2 s and 12.9 s per million rows.`
fn of_estimate(report: &PausesReport) -> (Role, String) {
    match (&report.estimate, &report.no_estimate) {
        (Some(estimate), _) => (Role::Info, estimate_words(estimate)),
        (None, Some(why)) => (Role::Warning, format!("No estimate for the next: {why}.")),
        (None, None) => (Role::Warning, "No estimate for the next.".to_owned()),
    }
}

fn estimate_words(estimate: &Estimate) -> String {
    let from = plural(estimate.observations, "measured resize", "measured resizes");
    let range = match (span(estimate.low_ms), span(estimate.high_ms)) {
        (low, high) if low == high => format!("about {low}"),
        (low, high) => format!("{low} to {high}"),
    };
    let line = estimate.fit.map_or_else(String::new, |fit| {
        format!(
            ": {} and {} per million rows",
            span(whole(fit.fixed_ms)),
            span(whole(fit.per_million_ms))
        )
    });
    format!("The next, of {} rows, may take {range}, by {from}{line}.", compact(estimate.rows))
}

fn table(pauses: &[Pause], look: Look) -> Table {
    let wide = look.columns >= WIDE;
    let arrow = if look.charset == Charset::Ascii { "->" } else { "→" };
    let mut columns = vec![
        ("when (UTC)", Align::Right),
        ("from", Align::Right),
        ("to", Align::Right),
        ("rows", Align::Right),
        ("pause", Align::Right),
        ("outage", Align::Right),
        ("batch time", Align::Right),
    ];
    if wide {
        columns.extend([
            ("batch", Align::Right),
            ("bytes", Align::Right),
            ("max/mean", Align::Right),
            ("files a batch", Align::Right),
        ]);
    }
    columns.push(("by", Align::Left));
    let mut table = Table::new(columns);
    for pause in pauses {
        table.push(row(pause, wide, arrow));
    }
    table
}

fn row(pause: &Pause, wide: bool, arrow: &str) -> Vec<Cell> {
    let dash = || "-".to_owned();
    let change = |side: fn(&crate::analysis::pauses::Around) -> Option<f64>,
                  form: fn(f64) -> String| {
        let text = |value: Option<f64>| value.map_or_else(dash, form);
        format!("{} {arrow} {}", text(side(&pause.before)), text(side(&pause.after)))
    };
    let time = |timed: Option<Timed>| timed.map_or_else(dash, |timed| span(timed.millis));
    let took = if pause.finished { time(pause.pause) } else { "unfinished".to_owned() };
    let mut cells = vec![
        Cell::plain(&pause.at.map_or_else(dash, minute)),
        Cell::plain(&pause.from.map_or_else(dash, |count| count.to_string())),
        Cell::plain(&pause.to.map_or_else(dash, |count| count.to_string())),
        Cell::plain(&pause.rows.map_or_else(dash, compact)),
        Cell::new(if pause.finished { Role::Text } else { Role::Error }, &took),
        Cell::plain(&time(pause.outage)),
        Cell::plain(&change(|side| side.batch_ms, |millis| span(whole(millis)))),
    ];
    if wide {
        cells.extend([
            Cell::plain(&pause.batch.to_string()),
            Cell::plain(&pause.bytes.map_or_else(dash, bytes)),
            Cell::plain(&change(|side| side.max_over_mean, ratio)),
            Cell::plain(&change(|side| side.files_per_batch, |files| compact(whole(files)))),
        ]);
    }
    cells.push(Cell::new(Role::Muted, pause.pause.map_or("-", |timed| word(timed.source))));
    cells
}

fn word(source: TimeSource) -> &'static str {
    match source {
        TimeSource::Checkpoint => "entries",
        TimeSource::DriverLog => "driver",
        TimeSource::Progress => "progress",
    }
}

fn records(report: &PausesReport, out: &mut dyn Write) -> io::Result<()> {
    let heading = [
        "batch",
        "at",
        "from",
        "to",
        "finished",
        "rows",
        "bytes",
        "pause_ms",
        "pause_source",
        "outage_ms",
        "batch_ms_before",
        "batch_ms_after",
        "max_over_mean_before",
        "max_over_mean_after",
        "files_per_batch_before",
        "files_per_batch_after",
        "outage_source",
        "batch_ms_before_source",
        "batch_ms_after_source",
    ];
    let record = |pause: &Pause| {
        [
            pause.batch.to_string(),
            or_empty(pause.at.and_then(UnixMillis::iso)),
            or_empty(pause.from),
            or_empty(pause.to),
            pause.finished.to_string(),
            or_empty(pause.rows),
            or_empty(pause.bytes),
            or_empty(pause.pause.map(|timed| timed.millis)),
            or_empty(pause.pause.map(|timed| word(timed.source))),
            or_empty(pause.outage.map(|timed| timed.millis)),
            or_empty(pause.before.batch_ms),
            or_empty(pause.after.batch_ms),
            or_empty(pause.before.max_over_mean),
            or_empty(pause.after.max_over_mean),
            or_empty(pause.before.files_per_batch),
            or_empty(pause.after.files_per_batch),
            or_empty(pause.outage.map(|timed| word(timed.source))),
            or_empty(pause.before.batch_ms_source.map(word)),
            or_empty(pause.after.batch_ms_source.map(word)),
        ]
    };
    csv::write(heading, report.pauses.iter().map(record), out)
}
