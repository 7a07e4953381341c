//! `statetop partitions`: statistics of each store, then its partitions, largest first.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

use super::answer::{self, Judged};
use super::args::{Format, PartitionsArgs};
use super::csv;
use super::exit::{CliError, Exit};
use super::inspect::{exit, grade, grade_word, legend};
use super::json;
use super::look::{Look, Role};
use super::number::{ago, count_or_dash, ratio_or_dash};
use super::page::Page;
use super::read::read_target;
use super::surroundings::Surroundings;
use super::table::{Align, Cell, Table};
use super::text;
use crate::analysis::Distribution;
use crate::figures::{self, bytes, count, float, plural};
use crate::reader::{Depth, Observation};
use crate::report::{
    FamilyCount, OperatorPartitions, PartitionReport, PartitionsReport, StorePartitions,
};
use crate::units::Bytes;

/// Cells of the longest bar.
const BAR: u8 = 10;

/// Runs the command.
pub(crate) fn run(args: &PartitionsArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let seen = read_target(&args.target, &args.read, around)?;
    let look = around.look(args.output.color);
    match args.output.format.unwrap_or(Format::Table) {
        Format::Table => around.out.write_all(page(&seen, look).as_bytes())?,
        Format::Json => json::write(seen.partitions.as_ref(), around.out)?,
        Format::Csv => csv(&seen.partitions, around.out)?,
    }
    Ok(exit(&seen))
}

fn page(seen: &Observation, look: Look) -> String {
    let mut page = Page::new(look);
    page.push(look.paint(Role::Title, &text::clean(&seen.inspect.checkpoint)));
    page.sentence(Role::Text, &when(seen));
    if let Some((role, sentence)) = headline(seen) {
        page.sentence(role, &sentence);
    }
    for operator in &seen.partitions.operators {
        for store in &operator.stores {
            page.blank();
            describe(&mut page, operator, store, seen.depth, look);
        }
    }
    page.findings(&answer::findings(seen));
    page.into_text()
}

/// What the whole page says; nothing where a single store says it for itself.
fn headline(seen: &Observation) -> Option<(Role, String)> {
    let stores: usize = seen.partitions.operators.iter().map(|op| op.stores.len()).sum();
    if stores == 1 { answer::trouble(seen) } else { Some(answer::of(seen)) }
}

/// `batch 1841, state version 1842; committed 4 s ago`.
fn when(seen: &Observation) -> String {
    let report = &seen.partitions;
    let Some(batch) = report.batch else { return "no committed batch".to_owned() };
    let version =
        report.version.map_or_else(String::new, |version| format!(", state version {version}"));
    let inspect = &seen.inspect;
    let committed = match inspect.last_commit_at {
        Some(at) if inspect.last_committed_batch == Some(batch) => {
            format!("; committed {}", ago(at, seen.observed_at))
        }
        _ => String::new(),
    };
    format!("batch {batch}{version}{committed}")
}

fn describe(
    page: &mut Page,
    operator: &OperatorPartitions,
    store: &StorePartitions,
    depth: Depth,
    look: Look,
) {
    let title = format!(
        "operator {} {}, store {}: {}",
        operator.id,
        text::clean(&operator.name),
        text::clean(&store.name),
        plural(store.partitions.len() as u64, "partition", "partitions")
    );
    page.push(look.paint(Role::Title, &title));
    page.sentence(answer::role_of(Judged::of(store).spread()), &answer::of_store(store));
    if let Some(rows) = &store.skew.rows {
        page.facts("rows", &statistics(rows, count, look));
    }
    if let Some(size) = &store.skew.bytes {
        page.facts("bytes", &statistics(size, |value| bytes(Bytes(value)), look));
    }
    let families = families(store);
    if !families.is_empty() {
        page.facts("families", &families);
    }
    page.extend(table(store, look).lines(look, 2));
    let grades = store.partitions.iter().map(|partition| partition.rows_grade);
    legend(page, depth, grades);
}

fn statistics(of: &Distribution, show: impl Fn(u64) -> String, look: Look) -> Vec<String> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of u64s")]
    let mean = of.mean.round() as u64;
    let mut facts: Vec<String> = [
        ("total", show(of.total)),
        ("mean", show(mean)),
        ("p50", show(of.p50)),
        ("p95", show(of.p95)),
        ("p99", show(of.p99)),
        ("max", show(of.max)),
        ("min", show(of.min)),
        (look.max_over_mean(), ratio_or_dash(of.max_over_mean)),
        ("cv", two_decimals(of.cv)),
        ("gini", two_decimals(of.gini)),
        ("empty", count(of.empty)),
    ]
    .into_iter()
    .map(|(name, value)| format!("{name} {value}"))
    .collect();
    if of.unknown > 0 {
        facts.push(format!("unknown {}", count(of.unknown)));
    }
    facts
}

fn two_decimals(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"))
}

/// Each column family's sum over partitions; nothing for a store without families, or when
/// none has been counted.
fn families(store: &StorePartitions) -> Vec<String> {
    let mut sums: BTreeMap<&str, FamilyCount> = BTreeMap::new();
    for (name, one) in store.partitions.iter().flat_map(|partition| &partition.families) {
        sums.entry(name)
            .and_modify(|sum| {
                sum.rows = add(sum.rows, one.rows);
                sum.elements = add(sum.elements, one.elements);
            })
            .or_insert(*one);
    }
    let alone = sums.keys().all(|name| *name == "default");
    if alone || sums.values().all(|sum| sum.rows.is_none()) {
        return Vec::new();
    }
    sums.into_iter().map(|(name, sum)| family(name, sum)).collect()
}

fn add(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    Some(a?.saturating_add(b?))
}

fn family(name: &str, sum: FamilyCount) -> String {
    let elements = sum
        .elements
        .filter(|_| sum.elements != sum.rows)
        .map_or_else(String::new, |elements| format!(" ({} elements)", count(elements)));
    let internal = if sum.internal { " internal" } else { "" };
    format!("{} {}{elements}{internal}", text::clean(name), count_or_dash(sum.rows))
}

fn table(store: &StorePartitions, look: Look) -> Table {
    let mut table = Table::new(vec![
        ("part", Align::Right),
        ("rows", Align::Right),
        ("grade", Align::Left),
        ("bytes", Align::Right),
        ("files", Align::Right),
        ("snapshot", Align::Right),
        ("logs", Align::Right),
        ("share", Align::Right),
        ("", Align::Left),
    ]);
    let judged = Judged::of(store);
    let largest = judged.distribution().map_or(0, |distribution| distribution.max);
    let total = judged.distribution().map_or(0, |distribution| distribution.total);
    let mut partitions: Vec<&PartitionReport> = store.partitions.iter().collect();
    partitions.sort_by_key(|partition| (Reverse(judged.measure(partition)), partition.partition));
    for partition in partitions {
        let value = judged.measure(partition);
        let share = value.filter(|_| total > 0).map(|value| float(value) / float(total));
        let length = value.filter(|_| largest > 0).map(|value| float(value) / float(largest));
        table.push(vec![
            Cell::plain(&partition.partition.to_string()),
            Cell::plain(&count_or_dash(partition.rows)),
            Cell::new(Role::Muted, &grade(partition.rows_grade, partition.changelogs)),
            Cell::plain(&bytes(partition.bytes)),
            Cell::plain(&count(partition.files)),
            Cell::plain(&partition.snapshot_version.map_or("-".to_owned(), |v| v.to_string())),
            Cell::plain(&count(partition.changelogs)),
            Cell::plain(&share.map_or_else(|| "-".to_owned(), figures::share)),
            Cell::new(Role::Bar, &length.map_or_else(String::new, |part| look.bar(part, BAR))),
        ]);
    }
    table
}

/// One line per operator, store and partition.
fn csv(report: &PartitionsReport, out: &mut dyn Write) -> io::Result<()> {
    let heading = [
        "batch",
        "operator",
        "operator_name",
        "store",
        "partition",
        "rows",
        "rows_grade",
        "bytes",
        "files",
        "snapshot_version",
        "changelogs",
        "last_written",
        "last_changed",
    ];
    let records = report.operators.iter().flat_map(|operator| {
        operator.stores.iter().flat_map(move |store| {
            let partitions = store.partitions.iter();
            partitions.map(move |partition| record(report, operator, store, partition))
        })
    });
    csv::write(heading, records, out)
}

fn record(
    report: &PartitionsReport,
    operator: &OperatorPartitions,
    store: &StorePartitions,
    partition: &PartitionReport,
) -> [String; 13] {
    [
        csv::or_empty(report.batch),
        operator.id.to_string(),
        text::clean(&operator.name).into_owned(),
        text::clean(&store.name).into_owned(),
        partition.partition.to_string(),
        csv::or_empty(partition.rows),
        grade_word(partition.rows_grade).to_owned(),
        partition.bytes.to_string(),
        partition.files.to_string(),
        csv::or_empty(partition.snapshot_version),
        partition.changelogs.to_string(),
        csv::or_empty(partition.last_written.and_then(crate::units::UnixMillis::iso)),
        csv::or_empty(partition.last_changed),
    ]
}
