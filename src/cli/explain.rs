//! `statetop explain`: what errors mean, from a name or from whatever text they stand in.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::args::{ExplainArgs, Format};
use super::csv::{self, or_empty};
use super::exit::{CliError, Exit, INTERRUPTED};
use super::json;
use super::look::{Look, Role};
use super::number::moment;
use super::page::Page;
use super::read::Meter;
use super::surroundings::Surroundings;
use super::table::{Align, Cell, Table};
use super::text;
use crate::explain::catalogue::Catalogue;
use crate::explain::reading::{Reading, Told};
use crate::explain::schema_text::Difference;
use crate::figures::plural;
use crate::reader::{Depth, Request};
use crate::report::{ErrorKind, ErrorReport, ExplainReport, Explanation, Here, SchemaReport};
use crate::task::Cancel;

/// Errors that are explained in full on a page; JSON and CSV have all of them.
const IN_FULL: usize = 8;
/// Further ones that are named.
const NAMED: usize = 20;
/// Bytes read at once.
const CHUNK: usize = 64 << 10;
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The longest value that a page shows, in cells.
const LONGEST_VALUE: usize = 160;

/// Runs the command.
pub(crate) fn run(args: &ExplainArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let catalogue = Catalogue::builtin().map_err(|error| CliError::Tables(error.to_string()))?;
    let cancel = Cancel::default();
    (around.on_interrupt)(&cancel);
    let mut report = match source(&args.source, around)? {
        Source::Name => named(&args.source, catalogue)?,
        Source::Text(input) => {
            let told = read(input, catalogue, &cancel).map_err(|error| CliError::Text {
                name: text::clean(&args.source).into_owned(),
                error,
            })?;
            ExplainReport::of_text(&args.source, told, catalogue)
        }
    };
    if cancel.is_cancelled() {
        return Ok(INTERRUPTED);
    }
    if let Some(target) = &args.checkpoint {
        report = about(report, target, &cancel, around)?;
    }
    let look = around.look(args.output.color);
    match args.output.format.unwrap_or(Format::Table) {
        Format::Table => around.out.write_all(page(&report, look).as_bytes())?,
        Format::Json => json::write(&report, around.out)?,
        Format::Csv => records(&report, around.out)?,
    }
    let known = |error: &ErrorReport| error.explanation.is_some() || !error.deepest;
    let explained = !report.errors.is_empty() && report.errors.iter().all(known);
    Ok(if explained { Exit::Fine } else { Exit::Findings })
}

/// What the operator gave.
enum Source {
    Name,
    Text(Box<dyn Read + Send>),
}

fn source(name: &str, around: &Surroundings<'_>) -> Result<Source, CliError> {
    if name == "-" {
        return Ok(Source::Text(unpacked((around.input)()).map_err(|e| unreadable(name, e))?));
    }
    let path = Path::new(name);
    if !path.exists() {
        // Names have no slashes, and no file is called like a class by accident.
        let is_path = name.contains('/') || path.extension().is_some_and(is_ending);
        return if is_path {
            Err(unreadable(name, io::ErrorKind::NotFound.into()))
        } else {
            Ok(Source::Name)
        };
    }
    let file = File::open(path).and_then(|file| {
        if file.metadata()?.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        unpacked(Box::new(file))
    });
    file.map(Source::Text).map_err(|error| unreadable(name, error))
}

/// Whether what follows a full stop is the ending of a file's name, and not a subclass.
fn is_ending(extension: &std::ffi::OsStr) -> bool {
    extension.to_str().is_none_or(|text| text.chars().any(|c| c.is_ascii_lowercase()))
        && extension.len() <= 8
}

fn unreadable(name: &str, error: io::Error) -> CliError {
    CliError::Text { name: text::clean(name).into_owned(), error }
}

/// The bytes, unpacked where they are compressed with gzip.
fn unpacked(mut input: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut head = Vec::new();
    (&mut input).take(2).read_to_end(&mut head)?;
    let packed = head == GZIP;
    let whole = io::Cursor::new(head).chain(input);
    Ok(if packed { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) })
}

fn read(
    mut input: Box<dyn Read + Send>,
    catalogue: &'static Catalogue,
    cancel: &Cancel,
) -> io::Result<Told<'static>> {
    let none = || io::Error::other("the catalogue of errors cannot be searched");
    let mut reading = Reading::of(catalogue).ok_or_else(none)?;
    let mut chunk = vec![0; CHUNK];
    while !cancel.is_cancelled() {
        match input.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => reading.feed(chunk.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(reading.finish())
}

fn named(name: &str, catalogue: &Catalogue) -> Result<ExplainReport, CliError> {
    let entries = catalogue.meant(name);
    if entries.is_empty() {
        return Err(CliError::NoSuchError {
            name: text::clean(name).into_owned(),
            nearest: catalogue.nearest(name),
        });
    }
    Ok(ExplainReport::of_entries(name, &entries, catalogue))
}

/// The report about a checkpoint. Files are looked at only where an error is about one.
fn about(
    report: ExplainReport,
    target: &str,
    cancel: &Cancel,
    around: &mut Surroundings<'_>,
) -> Result<ExplainReport, CliError> {
    let source = around.open_target(target)?;
    let files = report.is_about_files();
    let depth = if files { Depth::Snapshot } else { Depth::Logs };
    let request = Request { batch: None, depth, operator: None, store: None };
    let meter = Meter::new(around.err, around.err_kind);
    let seen = source.observe(&request, cancel, &|progress| meter.show(progress));
    meter.finish();
    let seen = seen?;
    Ok(report.about(Here { inspect: &seen.inspect, batches: &seen.batches }))
}

/// The report as a page.
pub(crate) fn page(report: &ExplainReport, look: Look) -> String {
    let mut page = Page::new(look);
    if report.errors.is_empty() {
        page.sentence(
            Role::Info,
            "No error was found. Known are classes in brackets, errorClass= and JSON fields of \
             that name, and the messages without a class that docs/errors.md lists.",
        );
        return page.into_text();
    }
    let (told, rest): (Vec<&ErrorReport>, Vec<&ErrorReport>) =
        report.errors.iter().partition(|error| deserves_a_page(error));
    for (place, error) in told.iter().take(IN_FULL).enumerate() {
        if place > 0 {
            page.blank();
        }
        one(&mut page, error, look);
    }
    let rest: Vec<&ErrorReport> = told.iter().skip(IN_FULL).chain(&rest).copied().collect();
    if !rest.is_empty() {
        page.blank();
        page.push(look.paint(Role::Title, "also told"));
        for error in rest.iter().take(NAMED) {
            also(&mut page, error);
        }
        let more = rest.len().saturating_sub(NAMED) as u64 + report.left_out;
        if more > 0 {
            page.sentence(Role::Muted, &format!("and {more} more; --format json has them"));
        }
    }
    page.into_text()
}

/// Wrappers are told in full only where nothing says more.
fn deserves_a_page(error: &ErrorReport) -> bool {
    match error.kind {
        ErrorKind::Error | ErrorKind::Notice => true,
        ErrorKind::Wrapper => error.deepest,
    }
}

fn name(error: &ErrorReport) -> &str {
    error.message.as_deref().or(error.class.as_deref()).unwrap_or("an exception")
}

fn one(page: &mut Page, error: &ErrorReport, look: Look) {
    let role = match error.kind {
        ErrorKind::Error => Role::Error,
        ErrorKind::Wrapper => Role::Warning,
        ErrorKind::Notice => Role::Info,
    };
    let state = error.sqlstate.as_deref().map(|state| format!("  {}", text::clean(state)));
    let title = format!("{}{}", text::clean(name(error)), state.unwrap_or_default());
    page.push(look.paint(role, &title));
    if let (Some(_), Some(class)) = (&error.message, &error.class) {
        page.labelled("class", &format!("none in the text; newer releases say {class}"));
    }
    match &error.explanation {
        Some(explanation) => {
            meaning(page, explanation);
            if let Some(cause) = &error.cause {
                page.labelled("cause", &text::clean(cause));
            }
            for (place, sentence) in error.here.iter().enumerate() {
                page.labelled(if place == 0 { "here" } else { "" }, &text::clean(sentence));
            }
            advice(page, explanation);
        }
        None => unknown(page, error),
    }
    for schema in &error.schemas {
        schemas(page, schema, look);
    }
    values(page, error);
    told(page, error);
    if let Some(explanation) = &error.explanation {
        page.labelled("versions", &explanation.versions);
        if !explanation.subclasses.is_empty() {
            let short = |name: &String| name.rsplit('.').next().unwrap_or_default().to_owned();
            let names: Vec<String> = explanation.subclasses.iter().map(short).collect();
            page.facts("after .", &names);
        }
    }
}

fn meaning(page: &mut Page, explanation: &Explanation) {
    page.labelled("means", &explanation.means);
    page.labelled("is not", &explanation.does_not_mean);
    page.labelled("data lost", explanation.data_lost.words());
}

fn advice(page: &mut Page, explanation: &Explanation) {
    page.labelled("first", &explanation.first);
    page.labelled(
        "do not",
        explanation.do_not.strip_prefix("Do not ").unwrap_or(&explanation.do_not),
    );
}

fn unknown(page: &mut Page, error: &ErrorReport) {
    let what = match &error.class {
        Some(_) => "This class is not in the catalogue: no explanation.",
        None => "Nothing of this exception is in the catalogue.",
    };
    page.labelled("unknown", what);
    if !error.nearest.is_empty() {
        page.labelled("nearest", &error.nearest.join("  "));
    }
    if let Some(cause) = &error.cause {
        page.labelled("cause", &text::clean(cause));
    }
}

fn values(page: &mut Page, error: &ErrorReport) {
    let schema = |name: &str| name.ends_with("Schema") && !error.schemas.is_empty();
    let values = error.parameters.iter().filter(|(name, _)| !schema(name));
    let values = values.map(|(name, value)| {
        let value = text::cut(&text::clean(value), LONGEST_VALUE, "…");
        format!("{}={value}", text::clean(name))
    });
    page.facts("values", &values.collect::<Vec<_>>());
}

fn told(page: &mut Page, error: &ErrorReport) {
    let (Some(first), Some(last)) = (error.first_line, error.last_line) else { return };
    let lines = match error.count {
        1 => format!("on line {first}"),
        _ => format!("{}, lines {first} to {last}", plural(error.count, "time", "times")),
    };
    let at = error.last_at.map(|at| format!(", last at {}", moment(at))).unwrap_or_default();
    page.labelled("told", &format!("{lines}{at}"));
}

fn also(page: &mut Page, error: &ErrorReport) {
    let unknown = error.cause.as_deref().unwrap_or("not known");
    let means = error.explanation.as_ref().map_or(unknown, |known| known.means.as_str());
    let line = error.first_line.map(|line| format!("line {line}: ")).unwrap_or_default();
    let sentence = format!("{line}{}: {}", text::clean(name(error)), text::clean(means));
    page.labelled("", &sentence);
}

/// Both schemas, with a mark at the fields that differ.
fn schemas(page: &mut Page, schema: &SchemaReport, look: Look) {
    let kind = format!(
        "state {} schema, {}",
        schema.part,
        plural(differing(schema), "difference", "differences")
    );
    page.push(look.paint(Role::Title, &kind));
    let mut table = Table::new(vec![
        (" ", Align::Left),
        (if schema.part == "key" { "stored key" } else { "stored value" }, Align::Left),
        ("in the query", Align::Left),
        ("difference", Align::Left),
    ]);
    for field in &schema.fields {
        let (mark, role, words) = match field.difference {
            Difference::Same => (" ", Role::Text, ""),
            Difference::Renamed => ("~", Role::Info, "renamed (harmless)"),
            Difference::Type => ("!", Role::Error, "another type"),
            Difference::Added => ("+", Role::Error, "only in the query"),
            Difference::Removed => ("-", Role::Error, "only stored"),
        };
        let side = |text: &Option<String>| Cell::new(role, text.as_deref().unwrap_or("-"));
        table.push(vec![
            Cell::new(role, mark),
            side(&field.stored),
            side(&field.new),
            Cell::new(role, words),
        ]);
    }
    if table.fits(look, 0) {
        page.extend(table.lines(look, 0));
    } else {
        stacked(page, schema);
    }
    page.labelled("rule", &format!("{}: {}", schema.rule, schema.happens));
    for (place, way) in schema.ways_out.iter().enumerate() {
        page.labelled(if place == 0 { "ways out" } else { "" }, &format!("{}. {way}", place + 1));
    }
}

/// Fields that keep the query from starting.
fn differing(schema: &SchemaReport) -> u64 {
    let harmless = [Difference::Same, Difference::Renamed];
    schema.fields.iter().filter(|field| !harmless.contains(&field.difference)).count() as u64
}

/// The same, each field on lines of its own: what differs must not be cut.
fn stacked(page: &mut Page, schema: &SchemaReport) {
    for field in &schema.fields {
        let side = |text: &Option<String>| text::clean(text.as_deref().unwrap_or("-")).into_owned();
        let (stored, new) = (side(&field.stored), side(&field.new));
        match field.difference {
            Difference::Same => page.labelled("same", &stored),
            Difference::Renamed => page.labelled("renamed", &format!("{stored}, now {new}")),
            Difference::Type => page.labelled("! type", &format!("stored {stored}; now {new}")),
            Difference::Added => page.labelled("+ added", &format!("{new} (only in the query)")),
            Difference::Removed => page.labelled("- removed", &format!("{stored} (only stored)")),
        }
    }
}

fn records(report: &ExplainReport, out: &mut dyn io::Write) -> io::Result<()> {
    let heading = [
        "class",
        "message",
        "sqlstate",
        "kind",
        "deepest",
        "count",
        "first_line",
        "data_lost",
        "means",
        "first",
    ];
    let records = report.errors.iter().map(|error| {
        let clean = |text: &Option<String>| {
            text.as_deref().map(|text| text::clean(text).into_owned()).unwrap_or_default()
        };
        let known = error.explanation.as_ref();
        [
            clean(&error.class),
            clean(&error.message),
            clean(&error.sqlstate),
            match error.kind {
                ErrorKind::Error => "error",
                ErrorKind::Wrapper => "wrapper",
                ErrorKind::Notice => "notice",
            }
            .to_owned(),
            error.deepest.to_string(),
            error.count.to_string(),
            or_empty(error.first_line),
            known.map(|known| known.data_lost.name().to_owned()).unwrap_or_default(),
            known.map(|known| known.means.clone()).unwrap_or_default(),
            known.map(|known| known.first.clone()).unwrap_or_default(),
        ]
    });
    csv::write(heading, records, out)
}
