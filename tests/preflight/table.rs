//! The table of outcomes in `docs/preflight.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;

use serde_json::Value;
use statetop::report::PreflightOutcome;

use crate::spark::{Case, Expected};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/preflight.md");
const BEGIN: &str = "<!-- The tables below are made by tests/preflight.rs from what Spark did. -->";
const UPDATE: &str = "STATETOP_UPDATE_DOCS";

/// One case, as a line of a table before lines that are alike are joined.
pub(crate) struct Line {
    outcome: PreflightOutcome,
    class: String,
    /// What the checkpoint is, without the release that wrote it.
    kind: String,
    writer: String,
    count: String,
    session: String,
    again: String,
    engine: &'static str,
}

impl Line {
    pub(crate) fn of(
        engine: &'static str,
        case: &Case,
        entry: &Value,
        expected: &Expected,
        truth: &Value,
    ) -> Self {
        let (kind, writer) = case.fixture.rsplit_once('-').unwrap();
        let from = truth["partitions"].as_u64().map_or_else(|| "-".to_owned(), |n| n.to_string());
        let mut session: Vec<String> = case
            .confs
            .iter()
            .map(|(name, value)| format!("{}={value}", name.rsplit('.').next().unwrap()))
            .map(|conf| conf.replace("enabled=", "changelogCheckpointing="))
            .collect();
        if case.confs.keys().any(|name| name.contains("autoSnapshotRepair")) {
            session = vec!["changelogCheckpointing=true, autoSnapshotRepair=false".to_owned()];
        }
        if !case.enforce {
            session.push("enforceExactlyOnceSink=false".to_owned());
        }
        // What comes after the count in the case's name: another place, damage.
        let suffix = case.name.split_once(", ").map_or("", |(_, rest)| rest);
        let damage: Vec<&str> = suffix.split(", ").filter(|word| !word.contains('=')).collect();
        let damage = damage.join(", ");
        let kind = if damage.is_empty() { kind.to_owned() } else { format!("{kind}: {damage}") };
        Self {
            outcome: expected.outcome,
            class: expected.class.clone().unwrap_or_else(|| "-".to_owned()),
            kind,
            writer: writer.to_owned(),
            count: format!("{from} to {}", case.to),
            session: session.join(", "),
            again: entry["again"].as_str().unwrap_or("-").to_owned(),
            engine,
        }
    }
}

/// Compares the page with the lines, or writes it.
pub(crate) fn compare(lines: &[Line]) {
    let page = fs::read_to_string(PAGE).unwrap();
    let (text, _) = page.split_once(BEGIN).expect("the page has the mark of the tables");
    let made = format!("{text}{BEGIN}\n{}", tables(lines));
    if std::env::var_os(UPDATE).is_some() {
        fs::write(PAGE, made).unwrap();
        return;
    }
    assert!(page == made, "docs/preflight.md is old: run this test with {UPDATE}=1 and look at it");
}

fn tables(lines: &[Line]) -> String {
    let mut text = String::new();
    for (outcome, heading) in [
        (PreflightOutcome::WouldLoseState, "Would lose state"),
        (PreflightOutcome::WouldBreak, "Would break"),
        (PreflightOutcome::Refused, "Refused"),
        (PreflightOutcome::Noop, "No-op"),
        (PreflightOutcome::Ready, "Ready"),
    ] {
        let of: Vec<&Line> = lines.iter().filter(|line| line.outcome == outcome).collect();
        writeln!(text, "\n## {heading}\n").unwrap();
        writeln!(
            text,
            "| checkpoint | written by | count | session | error | tried again | engines |"
        )
        .unwrap();
        writeln!(text, "| --- | --- | --- | --- | --- | --- | --- |").unwrap();
        let mut joined: BTreeMap<[&str; 5], (BTreeSet<&str>, BTreeSet<&str>)> = BTreeMap::new();
        for line in of {
            let key = [
                line.class.as_str(),
                line.kind.as_str(),
                line.session.as_str(),
                line.count.as_str(),
                line.again.as_str(),
            ];
            let (writers, engines) = joined.entry(key).or_default();
            writers.insert(&line.writer);
            engines.insert(line.engine);
        }
        for ([class, kind, session, count, again], (writers, engines)) in joined {
            let list = |all: BTreeSet<&str>| all.into_iter().collect::<Vec<_>>().join(", ");
            let again = match again {
                same if same == class && class != "-" => "the same",
                other => other,
            };
            let (writers, engines) = (list(writers), list(engines));
            let row = [kind, &writers, count, session, class, again, &engines];
            let row: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            writeln!(text, "| {} |", row.join(" | ")).unwrap();
        }
    }
    text
}
