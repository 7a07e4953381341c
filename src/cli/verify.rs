//! `statetop verify`: is every file, row and key of a checkpoint as it should be?

use super::args::{Format, VerifyArgs};
use super::csv;
use super::exit::{CliError, Exit, INTERRUPTED};
use super::json;
use super::look::{Look, Role};
use super::page::Page;
use super::read::{Meter, reading};
use super::surroundings::Surroundings;
use super::text;
use crate::figures::{bytes, count, plural};
use crate::reader::VerifyRequest;
use crate::report::{Soundness, VerifyFault, VerifyReport};
use crate::task::Cancel;

/// Faults that are printed in full; JSON and CSV have all of them.
const LISTED: usize = 20;

/// Runs the command.
pub(crate) fn run(args: &VerifyArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let source = around.open_target(&args.target)?;
    let cancel = Cancel::default();
    (around.on_interrupt)(&cancel);
    let place = &args.place;
    let operator =
        reading::operator(source.as_ref(), place.operator.as_ref(), place.batch, &cancel)?;
    let request = VerifyRequest { batch: place.batch, operator, store: place.store.clone() };
    let state = reading::state(source.as_ref())?;
    let meter = Meter::new(around.err, around.err_kind);
    let report = state.verify(&request, &cancel, &|progress| meter.show(progress));
    meter.finish();
    let report = report?;
    let look = around.look(args.output.color);
    match args.output.format.unwrap_or(Format::Table) {
        Format::Table => around.out.write_all(page(&report, look).as_bytes())?,
        Format::Json => json::write(&report, around.out)?,
        Format::Csv => csv_of(&report, around)?,
    }
    Ok(match report.verdict {
        _ if report.partial => INTERRUPTED,
        Soundness::Sound => Exit::Fine,
        Soundness::Faults | Soundness::Unreadable => Exit::Findings,
    })
}

/// The report as a page; the verdict is its last line.
pub(crate) fn page(report: &VerifyReport, look: Look) -> String {
    let mut page = Page::new(look);
    page.push(look.paint(Role::Title, &text::clean(&report.checkpoint)));
    let checked = &report.checked;
    let batch = report.batch.map_or_else(String::new, |batch| format!("batch {batch}; "));
    let about = format!(
        "{batch}{} decoded and placed; {} read, {}; {} and {} compared",
        plural(checked.keys, "key", "keys"),
        plural(checked.files, "file", "files"),
        bytes(checked.bytes),
        plural(checked.file_checksums, "file checksum", "file checksums"),
        plural(checked.row_checksums, "row checksum", "row checksums"),
    );
    page.sentence(Role::Text, &about);
    for fault in report.faults.iter().take(LISTED) {
        page.blank();
        describe(&mut page, fault, look);
    }
    let more = report.faults.len().saturating_sub(LISTED);
    if more > 0 {
        page.blank();
        let sentence =
            format!("{} more faults; --format json has all of them.", count(more as u64));
        page.sentence(Role::Muted, &sentence);
    }
    page.blank();
    if report.partial {
        page.sentence(Role::Warning, "Given up early: only what was read until then was checked.");
    }
    let (role, verdict) = verdict(report);
    page.sentence(role, &verdict);
    page.into_text()
}

fn verdict(report: &VerifyReport) -> (Role, String) {
    let faults = plural(report.faults.len() as u64, "fault", "faults");
    match report.verdict {
        Soundness::Sound if report.partial => {
            let text = "Not finished: nothing is wrong with what was checked.";
            (Role::Warning, text.to_owned())
        }
        Soundness::Sound if report.checked.files == 0 => {
            let text = "Sound, as far as there is anything: no state was found, so only the logs \
                        were read.";
            (Role::Info, text.to_owned())
        }
        Soundness::Sound => (Role::Info, "Sound: nothing is wrong.".to_owned()),
        Soundness::Faults => {
            let text = format!("Not sound: {faults}; the state of this batch can be read.");
            (Role::Warning, text)
        }
        Soundness::Unreadable => {
            let text = format!("Unreadable: {faults}; some of this batch's state cannot be read.");
            (Role::Error, text)
        }
    }
}

fn describe(page: &mut Page, fault: &VerifyFault, look: Look) {
    let mut place = Vec::new();
    place.extend(fault.operator.map(|operator| format!("operator {operator}")));
    place.extend(fault.store.as_ref().filter(|store| *store != "default").cloned());
    place.extend(fault.partition.map(|partition| format!("partition {partition}")));
    if place.is_empty() {
        place.push(fault.file.clone().unwrap_or_else(|| "logs".to_owned()));
    }
    let title = format!("{}: {}", text::clean(&place.join(" ")), fault.id);
    page.push(look.paint(Role::Title, &title));
    page.sentence(Role::Text, &text::clean(&fault.detail));
    page.sentence(Role::Muted, &text::clean(&fault.remedy));
}

fn csv_of(report: &VerifyReport, around: &mut Surroundings<'_>) -> Result<(), CliError> {
    let heading = ["id", "file", "operator", "store", "partition", "detail"];
    let records = report.faults.iter().map(|fault| {
        let or_empty = |text: &Option<String>| {
            text.as_deref().map(|text| text::clean(text).into_owned()).unwrap_or_default()
        };
        [
            fault.id.clone(),
            or_empty(&fault.file),
            csv::or_empty(fault.operator),
            or_empty(&fault.store),
            csv::or_empty(fault.partition),
            text::clean(&fault.detail).into_owned(),
        ]
    });
    Ok(csv::write(heading, records, around.out)?)
}
