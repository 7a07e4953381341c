//! `statetop scan`: every checkpoint below some folders, most to gain from a resize first.

mod screen;
mod table;

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::args::{Format, ScanArgs};
use super::csv;
use super::exit::{CliError, Exit, INTERRUPTED};
use super::inspect::grade_word;
use super::json;
use super::look::{Look, Role};
use super::page::Page;
use super::read::Meter;
use super::surroundings::Surroundings;
use super::text;
use crate::config::Config;
use crate::diagnosis::Rules;
use crate::diagnosis::candidate::Standing;
use crate::figures::{count, plural};
use crate::reader::{ScanNews, ScanProgress, ScanRequest, scan};
use crate::report::scan_words::{kinds, unread, word};
use crate::report::{Extent, Provider, ScanReport, ScannedCheckpoint, Status, UnreadableKind};
use crate::storage::Storage;
use crate::task::Cancel;
use crate::units::UnixMillis;

/// Unreadable places told on a page; all of them are in the JSON.
const TOLD: usize = 20;

/// Runs the command.
pub(crate) fn run(args: &ScanArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let request = ScanRequest {
        roots: args.roots.iter().map(|root| around.config.target(root).to_owned()).collect(),
        depth: args.depth,
        names: names(&around.config),
        rules: around.config.findings.clone(),
        own_rules: own_rules(&around.config),
    };
    if args.console {
        return screen::run(args, request, around);
    }
    let cancel = Cancel::default();
    (around.on_interrupt)(&cancel);
    let meter = Meter::new(around.err, around.err_kind);
    let scanned = scan(&request, &cancel, &|news| {
        if let ScanNews::Progress(progress) = news {
            meter.say(|_| line(progress));
        }
    });
    meter.finish();
    let report = scanned?;
    if let Some(part) = partial(&report) {
        // A closed standard error is no reason to withhold the result.
        let _ = writeln!(around.err, "statetop: {part}");
    }
    let mut look = around.look(args.output.color);
    if args.wide {
        look.columns = usize::MAX;
    }
    print(&report, args, look, around.out)?;
    Ok(exit(&report))
}

/// The names of the configuration's queries, by the addresses of their checkpoints.
fn names(config: &Config) -> BTreeMap<String, String> {
    let named = config.queries.iter().filter_map(|query| {
        let storage = Storage::open(&query.checkpoint).ok()?;
        Some((storage.address().to_owned(), query.name.clone()))
    });
    named.collect()
}

/// Which findings of the configuration's queries count, by the addresses of their checkpoints.
fn own_rules(config: &Config) -> BTreeMap<String, Rules> {
    let ruled = config.queries.iter().filter_map(|query| {
        let storage = Storage::open(&query.checkpoint).ok()?;
        Some((storage.address().to_owned(), query.findings.clone()))
    });
    ruled.collect()
}

fn line(progress: ScanProgress) -> String {
    format!(
        "scanning: {}, {} of {} read   Ctrl-C gives up and prints these",
        plural(progress.directories, "directory", "directories"),
        count(progress.read),
        plural(progress.found, "checkpoint", "checkpoints")
    )
}

/// 1 as soon as anything is broken or hidden: the list is then not the whole truth.
fn exit(report: &ScanReport) -> Exit {
    let broken = report.checkpoints.iter().any(|checkpoint| checkpoint.errors > 0);
    match report.extent {
        Extent::Cancelled => INTERRUPTED,
        _ if broken || unread(report).next().is_some() => Exit::Findings,
        Extent::TooManyDirectories => Exit::Findings,
        Extent::Complete => Exit::Fine,
    }
}

/// What is missing from a partial result, as a sentence.
fn partial(report: &ScanReport) -> Option<String> {
    let read = report.checkpoints.len() as u64;
    match report.extent {
        Extent::Complete => None,
        Extent::Cancelled => Some(format!(
            "Partial: stopped at Ctrl-C after {}; {} of the {} found so far are read.",
            plural(report.directories, "directory", "directories"),
            count(read),
            plural(report.found, "checkpoint", "checkpoints")
        )),
        Extent::TooManyDirectories => Some(format!(
            "Partial: stopped after {} directories; scan fewer or deeper roots.",
            count(report.directories)
        )),
    }
}

fn print(report: &ScanReport, args: &ScanArgs, look: Look, out: &mut dyn Write) -> io::Result<()> {
    let limit = args.limit.unwrap_or(usize::MAX);
    match args.output.format.unwrap_or(Format::Table) {
        Format::Table => out.write_all(page(report, args, look).as_bytes()),
        Format::Json => {
            let mut shown = report.clone();
            shown.checkpoints.truncate(limit);
            json::write(&shown, out)
        }
        Format::Csv => csv(report, limit, out),
    }
}

fn page(report: &ScanReport, args: &ScanArgs, look: Look) -> String {
    let mut page = Page::new(look);
    page.push(look.paint(Role::Title, &text::clean(&report.roots.join("  "))));
    if let Some(part) = partial(report) {
        page.sentence(Role::Warning, &part);
    }
    let (role, sentence) = summary(report);
    page.sentence(role, &sentence);
    let limit = args.limit.unwrap_or(usize::MAX);
    let shown = report.checkpoints.get(..limit).unwrap_or(&report.checkpoints);
    if !shown.is_empty() {
        page.blank();
        page.extend(table::lines(report, shown, look));
        if shown.len() < report.checkpoints.len() {
            let all = count(report.checkpoints.len() as u64);
            page.sentence(Role::Muted, &format!("The first {} of {all}.", shown.len()));
        }
        legend(&mut page, shown);
    }
    unreadable(&mut page, report, look);
    if report.too_deep > 0 {
        page.blank();
        let deeper = plural(report.too_deep, "directory lies", "directories lie");
        let sentence =
            format!("{deeper} deeper than --depth {} and were not looked into.", args.depth);
        page.sentence(Role::Muted, &sentence);
    }
    page.into_text()
}

fn summary(report: &ScanReport) -> (Role, String) {
    let of = |standing| report.checkpoints.iter().filter(|one| one.standing == standing).count();
    let all = plural(report.checkpoints.len() as u64, "checkpoint", "checkpoints");
    if report.checkpoints.is_empty() {
        let listed = plural(report.directories, "directory", "directories");
        return (Role::Warning, format!("No checkpoint was found in {listed}."));
    }
    let (gain, forbidden) = (of(Standing::Gain), of(Standing::Forbidden));
    let gain = match gain {
        0 => "a resize would bring nothing".to_owned(),
        gain => format!("a resize may help {}", count(gain as u64)),
    };
    let forbidden = match forbidden {
        0 => String::new(),
        forbidden => format!("; something forbids it for {}", count(forbidden as u64)),
    };
    (Role::Info, format!("{all}: {gain}{forbidden}."))
}

/// What the words in the last column mean, for those that stand there.
fn legend(page: &mut Page, shown: &[ScannedCheckpoint]) {
    let mut words: BTreeMap<&str, &str> = BTreeMap::new();
    for checkpoint in shown {
        for kind in kinds(checkpoint) {
            let (word, meaning) = word(kind);
            words.insert(word, meaning);
        }
    }
    if !words.is_empty() {
        page.blank();
    }
    for (word, meaning) in words {
        page.labelled(word, meaning);
    }
}

fn unreadable(page: &mut Page, report: &ScanReport, look: Look) {
    if report.unreadable.is_empty() {
        return;
    }
    page.blank();
    let title = format!("not read: {}", count(report.unreadable.len() as u64));
    page.push(look.paint(Role::Title, &title));
    for one in report.unreadable.iter().take(TOLD) {
        let role = match one.kind {
            UnreadableKind::Link => Role::Muted,
            UnreadableKind::Root | UnreadableKind::Directory | UnreadableKind::Checkpoint => {
                Role::Error
            }
        };
        page.push(format!("  {}", look.paint(role, &text::clean(&one.path))));
        for line in text::wrap(&text::clean(&one.reason), look.columns.saturating_sub(4)) {
            page.push(format!("    {line}"));
        }
    }
    if report.unreadable.len() > TOLD {
        let more = count((report.unreadable.len() - TOLD) as u64);
        page.push(format!("  and {more} more; --format json lists all"));
    }
}

/// The status as JSON names it.
fn status_word(status: Status) -> &'static str {
    match status {
        Status::Committed => "committed",
        Status::Pending => "pending",
        Status::UnfinishedRepartition => "unfinished_repartition",
        Status::NoBatch => "no_batch",
        Status::NoCommittedBatch => "no_committed_batch",
        Status::Empty => "empty",
    }
}

/// The provider as JSON names it.
fn provider_word(provider: Provider) -> &'static str {
    match provider {
        Provider::Rocksdb => "rocksdb",
        Provider::Hdfs => "hdfs",
        Provider::Other => "other",
    }
}

/// The standing as JSON names it.
fn standing_word(standing: Standing) -> &'static str {
    match standing {
        Standing::Gain => "gain",
        Standing::Forbidden => "forbidden",
        Standing::Healthy => "healthy",
    }
}

const HEADING: [&str; 21] = [
    "standing",
    "path",
    "query_id",
    "operators",
    "provider",
    "partitions",
    "rows",
    "rows_grade",
    "bytes",
    "rows_per_partition",
    "max_over_mean",
    "first_batch",
    "last_batch",
    "last_commit_at",
    "last_commit_age",
    "status",
    "errors",
    "warnings",
    "batch_ms",
    "reasons",
    "obstacles",
];

/// One line per checkpoint, and one per place that could not be read.
fn csv(report: &ScanReport, limit: usize, out: &mut dyn Write) -> io::Result<()> {
    let read = report.checkpoints.iter().take(limit).map(record);
    let lost = unread(report).map(|one| {
        let mut record: [String; 21] = std::array::from_fn(|_| String::new());
        let [standing, path, .., obstacles] = &mut record;
        "unreadable".clone_into(standing);
        *path = text::clean(&one.path).into_owned();
        *obstacles = text::clean(&one.reason).into_owned();
        record
    });
    csv::write(HEADING, read.chain(lost), out)
}

fn record(one: &ScannedCheckpoint) -> [String; 21] {
    let operators: Vec<&str> =
        one.operators.iter().map(|operator| operator.name.as_str()).collect();
    let reasons: Vec<&str> = one.reasons.iter().map(|reason| reason.kind).collect();
    let obstacles: Vec<&str> = one.obstacles.iter().map(|obstacle| obstacle.kind).collect();
    [
        standing_word(one.standing).to_owned(),
        text::clean(&one.path).into_owned(),
        text::clean(one.query_id.as_deref().unwrap_or_default()).into_owned(),
        text::clean(&operators.join(" ")).into_owned(),
        one.provider.map_or("", provider_word).to_owned(),
        csv::or_empty(one.partitions),
        csv::or_empty(one.rows),
        grade_word(one.rows_grade).to_owned(),
        one.bytes.to_string(),
        csv::or_empty(one.rows_per_partition),
        csv::or_empty(one.max_over_mean),
        csv::or_empty(one.first_batch),
        csv::or_empty(one.last_batch),
        csv::or_empty(one.last_commit_at.and_then(UnixMillis::iso)),
        csv::or_empty(one.last_commit_age),
        status_word(one.status).to_owned(),
        one.errors.to_string(),
        one.warnings.to_string(),
        csv::or_empty(one.batch_ms),
        reasons.join(" "),
        obstacles.join(" "),
    ]
}

#[cfg(test)]
mod tests;
