//! `statetop keys`: the heaviest keys as a table, JSON or CSV.

use std::io::{self, Write};

use super::args::{Format, KeysArgs, WeighArg};
use super::csv;
use super::exit::{CliError, Exit, INTERRUPTED};
use super::json;
use super::look::{Look, Role};
use super::page::Page;
use super::read::{Meter, reading};
use super::surroundings::Surroundings;
use super::table::{Align, Cell, Table};
use super::text;
use crate::console::Charset;
use crate::figures::{bytes, count, float, plural, share};
use crate::reader::{KeysRequest, Weighing};
use crate::report::{Grade, KeyReport, KeysReport, Known, Reveal, key_words, value_words};
use crate::task::Cancel;

/// Cells of the longest bar.
const BAR: u8 = 10;
/// Blanks before each line of the table.
const INDENT: usize = 2;

/// Whether there are bars: not where the keys need the room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bars {
    Shown,
    Hidden,
}

/// Runs the command.
pub(crate) fn run(args: &KeysArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let source = around.open_target(&args.target)?;
    let cancel = Cancel::default();
    (around.on_interrupt)(&cancel);
    let place = &args.place;
    let request = KeysRequest {
        batch: place.batch,
        operator: reading::operator(
            source.as_ref(),
            place.operator.as_ref(),
            place.batch,
            &cancel,
        )?,
        store: place.store.clone(),
        by: args.by.clone(),
        top: usize::try_from(args.top).unwrap_or(usize::MAX),
        weigh: match &args.weigh {
            WeighArg::Rows => Weighing::Rows,
            WeighArg::Bytes => Weighing::Bytes,
            WeighArg::Updates => Weighing::Updates,
            WeighArg::Value(field) => Weighing::Value(field.clone()),
        },
        partition: args.partition,
        memory: args.memory,
    };
    let state = reading::state(source.as_ref())?;
    let meter = Meter::new(around.err, around.err_kind);
    let report = state.keys(&request, &cancel, &|progress| meter.show(progress));
    meter.finish();
    let report = report?;
    let look = around.look(args.output.color);
    let format = args.output.format.unwrap_or(Format::Table);
    print(&report, Reveal::of(args.reveal), format, look, around.out)?;
    if report.partial {
        return Ok(INTERRUPTED);
    }
    Ok(Exit::by_findings(&report.findings))
}

/// Prints the report. Keys in JSON and CSV are exact; on the page they are masked unless revealed.
pub(crate) fn print(
    report: &KeysReport,
    reveal: Reveal,
    format: Format,
    look: Look,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::Table => out.write_all(page(report, reveal, look).as_bytes()),
        Format::Json => json::write(report, out),
        Format::Csv => csv(report, out),
    }
}

/// The report as a page.
pub(crate) fn page(report: &KeysReport, reveal: Reveal, look: Look) -> String {
    let mut page = Page::new(look);
    page.push(look.paint(Role::Title, &text::clean(&report.checkpoint)));
    page.sentence(Role::Text, &about(report));
    page.sentence(Role::Info, &headline(report, reveal, look));
    if report.partial {
        let read = plural(u64::from(report.partitions_read), "partition", "partitions");
        let sentence = format!("Given up early: {read} of {} read.", report.partitions);
        page.sentence(Role::Warning, &sentence);
    }
    page.blank();
    page.facts("all keys", &totals(report));
    if !report.exact {
        let sentence = format!(
            "There are more keys than --memory holds, so light ones were forgotten on the way. A \
             weight is never too high and at most {} too low.",
            count(report.error_bound)
        );
        page.sentence(Role::Warning, &sentence);
    }
    if !report.keys.is_empty() {
        page.blank();
        let with_bars = table(report, reveal, look, Bars::Shown);
        let table = if with_bars.fits(look, INDENT) {
            with_bars
        } else {
            table(report, reveal, look, Bars::Hidden)
        };
        page.extend(table.lines(look, INDENT));
        if reveal == Reveal::Masked {
            page.sentence(Role::Muted, "Values are masked; --reveal shows them.");
        }
    }
    page.findings(&report.findings.iter().collect::<Vec<_>>());
    page.into_text()
}

/// `batch 1841, operator 0 symmetricHashJoin, partition 37: by account_id, weighed by rows`.
fn about(report: &KeysReport) -> String {
    let batch =
        report.batch.map_or_else(|| "no committed batch".to_owned(), |b| format!("batch {b}"));
    let partition =
        report.partition.map_or_else(String::new, |partition| format!(", partition {partition}"));
    let updates = report
        .updates_of
        .map_or_else(String::new, |(first, last)| format!(" of batches {first} to {last}"));
    format!(
        "{batch}, operator {} {}{partition}: by {}, weighed by {}{updates}",
        report.operator,
        text::clean(&report.operator_name),
        text::clean(&report.by.join(", ")),
        text::clean(&report.weigh)
    )
}

/// What stands out, in one sentence.
fn headline(report: &KeysReport, reveal: Reveal, look: Look) -> String {
    let Some(first) = report.keys.first().filter(|_| report.total > 0) else {
        return "There are no keys.".to_owned();
    };
    let all = match report.partition {
        Some(partition) => format!("partition {partition}"),
        None => format!("all {}", text::clean(&report.weigh)),
    };
    let alike = report.keys.iter().all(|key| key.weight == first.weight);
    if alike && report.keys.len() > 1 {
        return format!("No key stands out: the heaviest has {} of {all}.", share(first.share));
    }
    let words = words(&first.key, reveal, look);
    let of_its_own = match (first.share_of_partition, first.partitions.as_slice()) {
        (Some(part), [partition]) if report.partition.is_none() => {
            format!(" and {} of partition {partition}", share(part))
        }
        _ => String::new(),
    };
    format!("The heaviest key, {}, has {} of {all}{of_its_own}.", words, share(first.share))
}

fn totals(report: &KeysReport) -> Vec<String> {
    let keys = count(report.distinct);
    let keys = match report.distinct_is {
        Known::Exact => keys,
        Known::Estimate => format!("about {keys}"),
        Known::AtLeast => format!("at least {keys}"),
    };
    let mut facts = vec![
        format!("keys {keys}"),
        format!("rows {}", count(report.total_rows)),
        format!("bytes {}", bytes(report.total_bytes)),
    ];
    if weight_is_its_own(report) {
        facts.push(format!("{} {}", text::clean(&report.weigh), count(report.total)));
    }
    if report.grade != Grade::Exact {
        let unreadable = report.unreadable.len() as u64;
        facts.push(format!("not read {}", plural(unreadable, "partition", "partitions")));
    }
    facts
}

/// Whether the weight is neither the rows nor the bytes.
fn weight_is_its_own(report: &KeysReport) -> bool {
    report.weigh != "rows" && report.weigh != "bytes"
}

fn table(report: &KeysReport, reveal: Reveal, look: Look, bars: Bars) -> Table {
    let own = weight_is_its_own(report);
    let mut columns = vec![("key", Align::Left)];
    if own {
        columns.push(("weight", Align::Right));
    }
    columns.extend([
        ("rows", Align::Right),
        ("bytes", Align::Right),
        ("share", Align::Right),
        ("of part", Align::Right),
        ("partition", Align::Right),
    ]);
    if bars == Bars::Shown {
        columns.push(("", Align::Left));
    }
    let mut table = Table::new(columns);
    let heaviest = report.keys.first().map_or(0, |key| key.weight);
    for key in &report.keys {
        let values = in_charset(&value_words(&key.key, reveal), look);
        let mut row = vec![Cell::plain(&values)];
        if own {
            row.push(Cell::plain(&with_error(key.weight, key.error, look)));
        }
        let rows_error = if report.weigh == "rows" { key.error } else { 0 };
        let part = if heaviest > 0 { float(key.weight) / float(heaviest) } else { 0.0 };
        row.extend([
            Cell::plain(&with_error(key.rows, rows_error, look)),
            Cell::plain(&bytes(key.bytes)),
            Cell::plain(&share(key.share)),
            Cell::plain(&key.share_of_partition.map_or_else(|| "-".to_owned(), share)),
            Cell::plain(&partitions(key, look)),
        ]);
        if bars == Bars::Shown {
            row.push(Cell::new(Role::Bar, &look.bar(part, BAR)));
        }
        table.push(row);
    }
    table
}

/// The words of a key, in characters that the terminal has.
pub(crate) fn words(key: &serde_json::Value, reveal: Reveal, look: Look) -> String {
    in_charset(&key_words(key, reveal), look)
}

fn in_charset(words: &str, look: Look) -> String {
    let words = text::clean(words).into_owned();
    match look.charset {
        Charset::Utf8 => words,
        Charset::Ascii => words.replace('…', look.ellipsis()).replace('•', "*"),
    }
}

/// `81,204`, or `81,204 ± 120` when it may be off.
fn with_error(value: u64, error: u64, look: Look) -> String {
    let sign = match look.charset {
        Charset::Utf8 => "±",
        Charset::Ascii => "+-",
    };
    match error {
        0 => count(value),
        error => format!("{} {sign} {}", count(value), count(error)),
    }
}

/// `37`, `3, 37`, or `3, 37, …` when there is no room for all.
fn partitions(key: &KeyReport, look: Look) -> String {
    const SHOWN: usize = 3;
    let shown = key.partitions.iter().take(SHOWN).map(ToString::to_string);
    let mut shown: Vec<String> = shown.collect();
    if key.more_partitions || key.partitions.len() > SHOWN {
        shown.push(look.ellipsis().to_owned());
    }
    shown.join(", ")
}

/// One line per key, in full: it is for programs, like JSON.
fn csv(report: &KeysReport, out: &mut dyn Write) -> io::Result<()> {
    let heading = [
        "batch",
        "operator",
        "rank",
        "key",
        "rows",
        "bytes",
        "weight",
        "error",
        "share",
        "partitions",
        "more_partitions",
    ];
    let records = (1_u64..).zip(&report.keys).map(|(rank, key)| {
        let partitions: Vec<String> = key.partitions.iter().map(ToString::to_string).collect();
        [
            csv::or_empty(report.batch),
            report.operator.to_string(),
            rank.to_string(),
            text::clean(&key_words(&key.key, Reveal::Shown)).into_owned(),
            key.rows.to_string(),
            key.bytes.to_string(),
            key.weight.to_string(),
            key.error.to_string(),
            key.share.to_string(),
            partitions.join(" "),
            key.more_partitions.to_string(),
        ]
    });
    csv::write(heading, records, out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::look::Paint;
    use crate::units::{BatchId, Bytes, OperatorId, PartitionId};

    const UTF8: Look = Look { paint: Paint::Plain, charset: Charset::Utf8, columns: 80 };

    fn report() -> KeysReport {
        let key = |id: &str, rows, error, partitions: &[u32]| KeyReport {
            key: serde_json::json!({ "account_id": id }),
            rows,
            bytes: Bytes(rows * 100),
            weight: rows,
            error,
            share: float(rows) / 100_000.0,
            share_of_partition: (partitions.len() == 1).then_some(0.61),
            partitions: partitions.iter().copied().map(PartitionId).collect(),
            more_partitions: partitions.len() == 8,
        };
        KeysReport {
            checkpoint: "/ckpt/fraud\u{1b}".to_owned(),
            batch: Some(BatchId(1841)),
            operator: OperatorId(0),
            operator_name: "symmetricHashJoin".to_owned(),
            stores: vec!["default".to_owned()],
            partitions: 200,
            partition: None,
            by: vec!["account_id".to_owned()],
            whole_key: true,
            weigh: "rows".to_owned(),
            updates_of: None,
            exact: true,
            error_bound: 0,
            total: 100_000,
            total_rows: 100_000,
            total_bytes: Bytes(10_000_000),
            distinct: 4000,
            distinct_is: Known::Exact,
            grade: Grade::Exact,
            partial: false,
            partitions_read: 200,
            unreadable: Vec::new(),
            keys: vec![
                key("acct-7", 6100, 0, &[37]),
                key("ac\u{1b}[2J9", 500, 0, &[0, 1, 2, 3, 4, 5, 6, 7]),
                key("x", 20, 0, &[3, 9]),
            ],
            findings: Vec::new(),
            offers: crate::report::KeyOffers::default(),
        }
    }

    fn snapshot(name: &str, page: &str) {
        insta::with_settings!({
            snapshot_path => "../../tests/cmd/snapshots",
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!(name, page);
        });
    }

    #[test]
    fn a_page_with_masked_keys() {
        let page = page(&report(), Reveal::Masked, UTF8);
        assert!(!page.contains("acct-7") && !page.contains('\u{1b}'), "{page}");
        snapshot("keys_masked", &page);
    }

    #[test]
    fn a_bounded_page_given_up_early() {
        let mut report = report();
        report.exact = false;
        report.error_bound = 120;
        report.distinct_is = Known::Estimate;
        report.partial = true;
        report.partitions_read = 12;
        for key in &mut report.keys {
            key.error = 120;
        }
        let ascii = Look { charset: Charset::Ascii, ..UTF8 };
        let page = page(&report, Reveal::Shown, ascii);
        assert!(page.is_ascii(), "{page}");
        assert!(page.contains("acct-7") && !page.contains('\u{1b}'), "{page}");
        snapshot("keys_bounded", &page);
    }

    #[test]
    fn json_has_the_agreed_names_and_exact_keys() {
        let json = serde_json::to_value(report()).unwrap();
        for name in ["by", "weigh", "exact", "error_bound", "total", "distinct", "keys"] {
            assert!(json.get(name).is_some(), "{name}");
        }
        for name in ["key", "rows", "bytes", "weight", "share", "partitions"] {
            assert!(json["keys"][0].get(name).is_some(), "{name}");
        }
        assert_eq!(json["keys"][1]["key"]["account_id"], "ac\u{1b}[2J9");
    }

    #[test]
    fn csv_has_a_line_per_key() {
        let mut out = Vec::new();
        csv(&report(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[1], "1841,0,1,account_id=acct-7,6100,610000,6100,0,0.061,37,false");
        assert_eq!(
            lines[2],
            "1841,0,2,account_id=ac\\u{1b}[2J9,500,50000,500,0,0.005,0 1 2 3 4 5 6 7,true"
        );
    }
}
