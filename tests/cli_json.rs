//! `docs/json.md` and the reports name the same fields.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "cmd/fake.rs"]
mod fake;
mod support;

use std::collections::BTreeSet;

use fake::Fake;
use serde_json::Value;
use statetop::analysis::pauses::{Around, Pause, TimeSource, Timed};
use statetop::diagnosis::Rules;
use statetop::diagnosis::candidate::{Judgement, Standing};
use statetop::memory::{Record, Remembered, Sample};
use statetop::report::{
    ConfLine, Extent, FindingsReport, Grade, HistoryReport, LagLine, LoadLine, OperatorLine,
    PausesReport, ProgressLine, Provider, QueryWord, RepartitionLine, RepartitionWord,
    ScanObstacle, ScanReason, ScanReport, ScannedCheckpoint, ScannedOperator, SinkLine, SourceLine,
    StateSize, Status, Unreadable, UnreadableKind,
};
use statetop::telemetry::{Event, EventKind, Place};
use statetop::units::{BatchId, Bytes, OperatorId, PartitionId};

/// Objects whose keys or shape come from the checkpoint, not from us; and the formulas, which have
/// the names of the numbers beside them.
const FOREIGN: [&str; 14] = [
    "conf",
    "offset",
    "key_schema",
    "value_schema",
    "key",
    "value",
    "formulas",
    "duration_ms",
    "custom",
    "start",
    "end",
    "latest",
    "confs",
    "parameters",
];

/// All paths of fields in `value`, as the documentation writes them.
fn paths(value: &Value, at: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => {
            for item in items {
                paths(item, &format!("{at}[]"), into);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let path = match at.rsplit('.').next() {
                    _ if at.is_empty() => name.clone(),
                    Some("families") => {
                        paths(field, &format!("{at}.NAME"), into);
                        continue;
                    }
                    _ => format!("{at}.{name}"),
                };
                into.insert(path.clone());
                if !FOREIGN.contains(&name.as_str()) {
                    paths(field, &path, into);
                }
            }
        }
        _ => {}
    }
}

/// The fields in the tables of one section.
fn documented(section: &str) -> BTreeSet<String> {
    let page = include_str!("../docs/json.md");
    let start = page.find(&format!("\n## {section}\n")).unwrap() + 4;
    let rest = &page[start..];
    let body = &rest[..rest.find("\n## ").unwrap_or(rest.len())];
    body.lines()
        .filter_map(|line| {
            line.strip_prefix("| `")?.split_once('`').map(|(path, _)| path.to_owned())
        })
        .collect()
}

fn of_reports(report: impl Fn(&Fake) -> Value) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for fake in [Fake::fraud_join(), Fake::broken(), Fake::hostile()] {
        paths(&report(&fake), "", &mut all);
    }
    all
}

#[test]
fn inspect_is_documented() {
    let fields = of_reports(|fake| serde_json::to_value(&fake.inspect).unwrap());
    assert_eq!(documented("inspect"), fields);
}

#[test]
fn partitions_are_documented() {
    let fields: BTreeSet<String> =
        of_reports(|fake| serde_json::to_value(&fake.partitions).unwrap())
            .into_iter()
            // The documentation points to the table of `skew.rows` and of inspect's findings.
            .filter(|path| !path.contains(".skew.bytes.") && !path.starts_with("findings[]"))
            .collect();
    assert_eq!(documented("partitions"), fields);
}

#[test]
fn a_scan_is_documented() {
    let standing = Standing::Gain;
    let checkpoint = ScannedCheckpoint {
        path: "/data/ckpt".to_owned(),
        name: None,
        query_id: None,
        status: Status::Committed,
        operators: vec![ScannedOperator { id: OperatorId(0), name: "dedupe".to_owned() }],
        provider: Some(Provider::Rocksdb),
        partitions: Some(200),
        rows: Some(1),
        rows_grade: Grade::Snapshot,
        bytes: Bytes(1),
        rows_per_partition: None,
        max_over_mean: None,
        first_batch: None,
        last_batch: None,
        last_commit_at: None,
        last_commit_age: None,
        batch_ms: Some(1_200),
        errors: 0,
        warnings: 0,
        standing,
        reasons: vec![ScanReason { kind: "skewed", factor: 2.0, text: String::new() }],
        obstacles: vec![ScanObstacle { kind: "provider", text: String::new() }],
        judged: Judgement { standing, reasons: Vec::new(), obstacles: Vec::new() },
        findings: Vec::new(),
    };
    let unreadable =
        Unreadable { path: String::new(), kind: UnreadableKind::Directory, reason: String::new() };
    let report = ScanReport {
        roots: Vec::new(),
        extent: Extent::Complete,
        observed_at: fake::NOW,
        directories: 1,
        too_deep: 0,
        found: 1,
        checkpoints: vec![checkpoint],
        unreadable: vec![unreadable],
    };
    let mut fields = BTreeSet::new();
    paths(&serde_json::to_value(&report).unwrap(), "", &mut fields);
    assert_eq!(documented("scan"), fields);
}

/// What the command prints of a fixture, as values of JSON; `None` where the fixture is not there.
fn printed(fixture: &str, arguments: &[&str]) -> Option<Vec<Value>> {
    let fixture = support::all().into_iter().find(|found| found.name == fixture)?;
    let checkpoint = fixture.unpack();
    let (command, options) = arguments.split_first().unwrap();
    let mut run = assert_cmd::Command::cargo_bin("statetop").unwrap();
    let output = run.arg(command).arg(checkpoint.target()).args(options).output().unwrap();
    assert!([Some(0), Some(1)].contains(&output.status.code()), "{arguments:?}");
    let values = serde_json::Deserializer::from_slice(&output.stdout).into_iter();
    Some(values.map(Result::unwrap).collect())
}

/// The paths in what several commands print; `None` where a fixture is not there.
fn in_printed(runs: &[(&str, &[&str])]) -> Option<BTreeSet<String>> {
    let mut fields = BTreeSet::new();
    for (fixture, arguments) in runs {
        for value in printed(fixture, arguments)? {
            paths(&value, "", &mut fields);
        }
    }
    // The documentation points to the table of inspect's findings.
    fields.retain(|path| !path.starts_with("findings[]"));
    Some(fields)
}

#[test]
fn rows_are_documented() {
    let runs: [(&str, &[&str]); 3] = [
        ("agg-hot-windows-4.3.0", &["state", "--format", "jsonl"]),
        ("agg-hot-windows-4.3.0", &["state", "--format", "jsonl", "--changed-in", "3"]),
        ("broken-schema-missing-4.3.0", &["state", "--format", "jsonl"]),
    ];
    let Some(fields) = in_printed(&runs) else { return };
    assert_eq!(documented("state"), fields);
}

#[test]
fn keys_are_documented() {
    let runs: [(&str, &[&str]); 1] = [("agg-hot-windows-4.3.0", &["keys", "--format", "json"])];
    let Some(fields) = in_printed(&runs) else { return };
    assert_eq!(documented("keys"), fields);
}

#[test]
fn a_plan_is_documented() {
    let all = ["--curve", "5,8", "--nodes", "2", "--price", "0.005", "--node-memory-cap", "1GB"];
    let options = [&["plan", "--to", "8", "--format", "json"][..], &all].concat();
    let Some(mut fields) = in_printed(&[("join-hot-key-4.3.0", &options)]) else { return };
    // The documentation points to the table of skews, says once what the layouts are and once
    // what the numbers before and after are.
    let said_once = ["before.skew.", "after."];
    fields.retain(|path| !said_once.iter().any(|beginning| path.starts_with(beginning)));
    let is_number = |path: &str| ["before", "after"].contains(&path.rsplit('.').next().unwrap());
    fields.retain(|path| {
        !path.contains('.') || !is_number(path) || path.starts_with("consequences.instances.")
    });
    assert_eq!(documented("plan"), fields);
}

#[test]
fn a_verification_is_documented() {
    let runs: [(&str, &[&str]); 1] =
        [("broken-sst-missing-4.3.0", &["verify", "--format", "json"])];
    let Some(fields) = in_printed(&runs) else { return };
    assert_eq!(documented("verify"), fields);
}

/// What a command without a target prints, as paths.
fn of_command(arguments: &[&str]) -> BTreeSet<String> {
    let mut run = assert_cmd::Command::cargo_bin("statetop").unwrap();
    let output = run.args(arguments).args(["--format", "json"]).output().unwrap();
    let mut fields = BTreeSet::new();
    paths(&serde_json::from_slice(&output.stdout).unwrap(), "", &mut fields);
    fields
}

#[test]
fn explanations_are_documented() {
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/telemetry/samples/");
    let log = format!("{samples}driverlog-oss-4.2.1-key-schema-not-compatible.log");
    assert_eq!(documented("explain"), of_command(&["explain", &log]));
    assert_eq!(documented("can-i"), of_command(&["can-i", "add-filter"]));
    let Some(offsets) = in_printed(&[("dedup-4.3.0", &["offsets", "--format", "json"])]) else {
        return;
    };
    assert_eq!(documented("offsets"), offsets);
}

#[test]
fn a_preflight_is_documented() {
    let runs: [(&str, &[&str]); 1] =
        [("limit-4.3.0", &["preflight", "--to", "8", "--format", "json"])];
    let Some(fields) = in_printed(&runs) else { return };
    assert_eq!(documented("preflight"), fields);
}

#[test]
fn progress_is_documented() {
    let source = SourceLine {
        description: None,
        start: None,
        end: None,
        latest: None,
        rows_in: None,
        lag: LagLine { offsets: None, worst: None, bytes: None, files: None },
    };
    let load = LoadLine {
        operator: None,
        partition: PartitionId(0),
        rows: None,
        updated: None,
        removed: None,
        memory_bytes: None,
        arriving: None,
        task_ms: None,
        commit_ms: None,
        executor: None,
    };
    let mut line = ProgressLine::of_event(Event {
        place: Place { source: "-".into(), line: None },
        kind: EventKind::Environment(Box::default()),
    });
    line.operators = vec![OperatorLine {
        name: None,
        rows: None,
        rows_known: false,
        rows_tracked: None,
        updated: None,
        removed: None,
        dropped: None,
        memory_bytes: None,
        partitions: None,
        custom: serde_json::Map::new(),
    }];
    line.sources = vec![source];
    line.sink = Some(SinkLine { description: None, rows_out: None });
    line.partition_load = vec![load];
    let stage = RepartitionWord::Seen;
    line.repartition = Some(RepartitionLine { stage, from: None, to: None, duration_ms: None });
    let mut fields = BTreeSet::new();
    // `conf` is foreign in the checkpoint's report; this one is ours.
    let conf = ConfLine { key: String::new(), asked: String::new(), kept: String::new() };
    paths(&serde_json::to_value(conf).unwrap(), "conf", &mut fields);
    paths(&serde_json::to_value(&line).unwrap(), "", &mut fields);
    assert_eq!(documented("progress"), fields);
}

#[test]
fn findings_are_documented() {
    let findings = Fake::broken().inspect.findings.clone();
    let report = FindingsReport::new(
        "/ckpt".to_owned(),
        None,
        (QueryWord::Same, 3),
        findings,
        &Rules::default(),
    );
    let mut fields = BTreeSet::new();
    paths(&serde_json::to_value(&report).unwrap(), "", &mut fields);
    assert_eq!(documented("findings"), fields);
}

#[test]
fn pauses_are_documented() {
    let around = Around {
        batches: 1,
        batch_ms: Some(1.0),
        batch_ms_source: Some(TimeSource::Progress),
        max_over_mean: Some(1.0),
        files_per_batch: Some(1.0),
    };
    let timed = Some(Timed { millis: 1, source: TimeSource::Checkpoint });
    let pause = |rows| Pause {
        rows: Some(rows),
        pause: timed,
        outage: timed,
        before: around,
        after: around,
        ..Pause::of(BatchId(rows))
    };
    let now = StateSize { rows: Some(3), bytes: None, partitions: None };
    let seen = vec![pause(1), pause(2), pause(3)];
    let report = PausesReport::new(String::new(), None, now, seen.clone());
    let mut fields = BTreeSet::new();
    paths(&serde_json::to_value(&report).unwrap(), "", &mut fields);
    assert_eq!(documented("pauses"), fields);

    let sample = Sample {
        at: fake::NOW,
        batch: BatchId(1),
        rows: None,
        bytes: None,
        partitions: None,
        batch_ms: None,
        max_over_mean: None,
    };
    let records = vec![Record::Sample(sample), Record::Repartition(Pause::of(BatchId(1)))];
    let report = HistoryReport::new(String::new(), &Remembered { records, skipped: 0 });
    let mut fields = BTreeSet::new();
    paths(&serde_json::to_value(&report).unwrap(), "", &mut fields);
    // The documentation points to the table of pauses.
    fields.retain(|path| !path.starts_with("pauses[]"));
    assert_eq!(documented("history"), fields);
}
