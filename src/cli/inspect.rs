//! `statetop inspect`: the overview on one page.

use std::io::{self, Write};

use super::answer;
use super::args::{Format, InspectArgs};
use super::csv;
use super::exit::{CliError, Exit};
use super::json;
use super::look::{Look, Role};
use super::number::{ago, count_or_dash, moment, ratio_or_dash};
use super::page::Page;
use super::read::read_target;
use super::surroundings::Surroundings;
use super::table::{Align, Cell, Table};
use super::text;
use crate::analysis::Spread;
use crate::figures::bytes;
use crate::reader::{Depth, Observation};
use crate::report::{Grade, InspectReport, Provider, Status, StoreReport};
use crate::units::{OperatorId, UnixMillis};

/// Runs the command.
pub(crate) fn run(args: &InspectArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let seen = read_target(&args.target, &args.read, around)?;
    let look = around.look(args.output.color);
    print(&seen, args.output.format.unwrap_or(Format::Table), look, around.out)?;
    Ok(exit(&seen))
}

/// The exit code that an observation's findings ask for.
pub(crate) fn exit(seen: &Observation) -> Exit {
    Exit::by_findings(answer::findings(seen))
}

/// Prints the overview.
pub(crate) fn print(
    seen: &Observation,
    format: Format,
    look: Look,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::Table => out.write_all(page(seen, look).as_bytes()),
        Format::Json => json::write(seen.inspect.as_ref(), out),
        Format::Csv => csv(&seen.inspect, out),
    }
}

fn page(seen: &Observation, look: Look) -> String {
    let report = &seen.inspect;
    let mut page = Page::new(look);
    page.push(look.paint(Role::Title, &text::clean(&report.checkpoint)));
    let (role, sentence) = answer::of(seen);
    page.sentence(role, &sentence);
    page.blank();
    header(&mut page, report, seen.observed_at);
    if report.operators.iter().any(|operator| !operator.stores.is_empty()) {
        page.blank();
        page.extend(stores(seen, look).lines(look, 2));
        let stores = report.operators.iter().flat_map(|operator| &operator.stores);
        legend(&mut page, seen.depth, stores.map(|store| store.rows_grade));
    }
    page.findings(&answer::findings(seen));
    page.into_text()
}

fn header(page: &mut Page, report: &InspectReport, now: UnixMillis) {
    page.labelled("status", &status(report, now));
    if report.batch != report.last_committed_batch
        && let Some(batch) = report.batch
    {
        page.labelled("shown", &format!("batch {batch}, as asked"));
    }
    if let Some(id) = &report.query_id {
        page.labelled("query", &text::clean(id));
    }
    if report.stateful {
        page.labelled("count", &count_in_force(report));
        page.labelled("provider", &provider(report));
    }
    match report.watermark {
        Some(UnixMillis(0)) => page.labelled("watermark", "not set yet"),
        Some(watermark) => page.labelled("watermark", &moment(watermark)),
        None => {}
    }
    for source in &report.sources {
        let summary = format!(
            "{} {}: {}",
            text::clean(&source.id),
            text::clean(&source.kind),
            text::clean(&source.summary)
        );
        page.labelled("source", &summary);
    }
}

/// `committed: batch 1841, 4 s ago`.
fn status(report: &InspectReport, now: UnixMillis) -> String {
    let age =
        |at: Option<UnixMillis>| at.map_or_else(String::new, |at| format!(", {}", ago(at, now)));
    let planned = report.last_planned_batch.map_or_else(|| "-".to_owned(), |b| b.to_string());
    let committed = match report.last_committed_batch {
        Some(batch) => format!("batch {batch} committed{}", age(report.last_commit_at)),
        None => "no batch committed".to_owned(),
    };
    match report.status {
        Status::Committed => committed,
        Status::Pending => {
            format!("batch {planned} pending{}; {committed}", age(report.last_plan_at))
        }
        Status::UnfinishedRepartition => {
            format!(
                "batch {planned}, a resize, is unfinished{}; {committed}",
                age(report.last_plan_at)
            )
        }
        Status::NoCommittedBatch => {
            format!("batch {planned} planned{}; {committed}", age(report.last_plan_at))
        }
        Status::NoBatch => "no batch planned".to_owned(),
        Status::Empty => "empty".to_owned(),
    }
}

/// `200 since batch 1742, the oldest retained`, or the resizes, newest first.
fn count_in_force(report: &InspectReport) -> String {
    let Some(in_force) = report.partitions else {
        return "unknown: no readable offset entry pins it".to_owned();
    };
    // Where the batch's own entry is lost, an older one tells the count.
    let telling = report.partition_history.iter().rev().find(|entry| {
        entry.partitions.is_some() && report.batch.is_none_or(|batch| entry.batch <= batch)
    });
    let from = telling.map_or_else(String::new, |entry| format!(" by offsets/{}", entry.batch));
    let resizes = resizes(report);
    if resizes.is_empty() {
        let since =
            report.partition_history.first().map_or_else(String::new, |oldest| {
                match oldest.batch.0 {
                    0 => ", since batch 0".to_owned(),
                    oldest => format!(", since batch {oldest}, the oldest retained"),
                }
            });
        return format!("{in_force}{from}{since}");
    }
    format!("{in_force}{from}; {}", resizes.join(", "))
}

/// `resized 8 to 3 at batch 6`, newest first.
fn resizes(report: &InspectReport) -> Vec<String> {
    let history = &report.partition_history;
    let pairs = history.iter().zip(history.iter().skip(1));
    let mut resizes: Vec<String> = pairs
        .filter(|(_, entry)| entry.repartition)
        .map(|(before, entry)| {
            let number = |n: Option<u32>| n.map_or_else(|| "?".to_owned(), |n| n.to_string());
            let finished = report.last_committed_batch.is_some_and(|last| entry.batch <= last);
            format!(
                "{} {} to {} at batch {}",
                if finished { "resized" } else { "resize not finished:" },
                number(before.partitions),
                number(entry.partitions),
                entry.batch
            )
        })
        .collect();
    resizes.reverse();
    resizes
}

fn provider(report: &InspectReport) -> String {
    let mut parts = vec![match report.provider {
        Some(Provider::Rocksdb) => "RocksDB".to_owned(),
        Some(Provider::Hdfs) => "HDFS-backed".to_owned(),
        Some(Provider::Other) => format!(
            "{}, which statetop does not read",
            text::clean(report.provider_class.as_deref().unwrap_or("unknown"))
        ),
        None => "unknown".to_owned(),
    }];
    if report.provider == Some(Provider::Rocksdb)
        && let Some(changelog) = report.changelog
    {
        parts.push(if changelog { "changelog on" } else { "changelog off" }.to_owned());
    }
    if let Some(format) = report.state_checkpoint_format {
        parts.push(format!("checkpoint format {format}"));
    }
    parts.join(", ")
}

/// One line per store; an operator whose only store is called `default` is that line itself.
fn stores(seen: &Observation, look: Look) -> Table {
    let mut table = Table::new(vec![
        ("operator, store", Align::Left),
        ("parts", Align::Right),
        ("rows", Align::Right),
        ("grade", Align::Left),
        ("bytes", Align::Right),
        (look.max_over_mean(), Align::Right),
    ]);
    for operator in &seen.inspect.operators {
        let inferred = if operator.name_inferred { " (inferred)" } else { "" };
        let title = format!("{} {}{inferred}", operator.id, operator.name);
        match operator.stores.as_slice() {
            [store] if store.name == "default" => table.push(row(seen, operator.id, &title, store)),
            stores => {
                table.push(vec![Cell::plain(&title)]);
                for store in stores {
                    table.push(row(seen, operator.id, &format!("  {}", store.name), store));
                }
            }
        }
    }
    table
}

fn row(seen: &Observation, operator: OperatorId, title: &str, store: &StoreReport) -> Vec<Cell> {
    let spread = spread(seen, operator, &store.name);
    let ratio = format!("{}{}", ratio_or_dash(store.max_over_mean), answer::mark_of(spread));
    vec![
        Cell::plain(title),
        Cell::plain(&store.partitions.to_string()),
        Cell::plain(&count_or_dash(store.rows)),
        Cell::new(Role::Muted, &grade(store.rows_grade, lag(seen, operator, &store.name))),
        Cell::plain(&bytes(store.bytes)),
        Cell::new(answer::role_of(spread), &ratio),
    ]
}

/// `exact`, `snap 3` when up to three changelogs are not in the count, `unknown`.
pub(crate) fn grade(grade: Grade, changelogs: u64) -> String {
    match (grade, changelogs) {
        (Grade::Exact, _) => "exact".to_owned(),
        (Grade::Snapshot, 0) => "snap".to_owned(),
        (Grade::Snapshot, behind) => format!("snap {behind}"),
        (Grade::Unknown, _) => "unknown".to_owned(),
    }
}

/// Explains grades other than exact, where they stand.
pub(crate) fn legend(page: &mut Page, depth: Depth, grades: impl Iterator<Item = Grade>) {
    let grades: Vec<Grade> = grades.collect();
    if grades.contains(&Grade::Snapshot) {
        page.sentence(Role::Muted, SNAP);
    }
    // Where only some are unknown, findings tell why.
    let unknown = !grades.is_empty() && grades.iter().all(|grade| *grade == Grade::Unknown);
    if unknown && depth < Depth::Exact {
        page.sentence(Role::Muted, UNKNOWN);
    }
}

const SNAP: &str = "snap N: the newest snapshots' own counts, up to N changelogs behind; --exact \
                    counts every row.";
const UNKNOWN: &str = "unknown: no snapshot says how many; --exact counts every row.";

/// The most changelogs that any partition of a store has after its snapshot.
fn lag(seen: &Observation, operator: OperatorId, store: &str) -> u64 {
    partitions(seen, operator, store)
        .flat_map(|store| &store.partitions)
        .map(|partition| partition.changelogs)
        .max()
        .unwrap_or(0)
}

fn spread(seen: &Observation, operator: OperatorId, store: &str) -> Spread {
    let rows = partitions(seen, operator, store).find_map(|store| store.skew.rows.as_ref());
    rows.map_or(Spread::Nothing, Spread::of_rows)
}

fn partitions<'a>(
    seen: &'a Observation,
    operator: OperatorId,
    store: &'a str,
) -> impl Iterator<Item = &'a crate::report::StorePartitions> {
    seen.partitions
        .operators
        .iter()
        .filter(move |candidate| candidate.id == operator)
        .flat_map(|operator| &operator.stores)
        .filter(move |candidate| candidate.name == store)
}

/// One line per operator and store.
fn csv(report: &InspectReport, out: &mut dyn Write) -> io::Result<()> {
    let heading = [
        "batch",
        "operator",
        "operator_name",
        "store",
        "partitions",
        "rows",
        "rows_grade",
        "bytes",
        "max_over_mean",
    ];
    let stores = report
        .operators
        .iter()
        .flat_map(|operator| operator.stores.iter().map(move |store| (operator, store)));
    let records = stores.map(|(operator, store)| {
        [
            csv::or_empty(report.batch),
            operator.id.to_string(),
            text::clean(&operator.name).into_owned(),
            text::clean(&store.name).into_owned(),
            store.partitions.to_string(),
            csv::or_empty(store.rows),
            grade_word(store.rows_grade).to_owned(),
            store.bytes.to_string(),
            csv::or_empty(store.max_over_mean),
        ]
    });
    csv::write(heading, records, out)
}

/// The grade as JSON names it.
pub(crate) fn grade_word(grade: Grade) -> &'static str {
    match grade {
        Grade::Unknown => "unknown",
        Grade::Snapshot => "snapshot",
        Grade::Exact => "exact",
    }
}
