//! `statetop scan` on folders full of checkpoints that real Spark wrote, and of other things.

#![allow(dead_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::cast_precision_loss)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use serde_json::Value;
use statetop::cli::{Exit, Stream, Surroundings, run};
use statetop::console::look::Environment;
use statetop::reader::{CheckpointReader, ScanNews, ScanRequest, scan, scan_storages};
use statetop::report::{Extent, ScanReport, UnreadableKind};
use statetop::storage::Storage;
use statetop::task::Cancel;
use support::Fixture;
use tempfile::TempDir;

/// Fixtures by where they lie below the root, with the obstacles and the reasons that they must
/// be given. Their states are far too small for the reasons of size.
const PLACED: [(&str, &str, &[&str], &[&str]); 13] = [
    ("team-a/hot", "agg-window-hot-4.3.0", &[], &["never-revisited"]),
    ("team-a/resized", "resized-agg-4.3.0", &[], &[]),
    ("team-a/hdfs", "hdfs-agg-4.3.0", &["provider"], &["never-revisited"]),
    ("team-b/limit", "limit-4.3.0", &["streaming-limit"], &["never-revisited"]),
    ("team-b/no-keys", "agg-no-keys-4.3.0", &["keyless-aggregate"], &["never-revisited"]),
    ("team-b/join", "join-v4-4.3.0", &["join-format-4"], &["skewed", "never-revisited"]),
    ("unfinished", "unfinished-repartition-4.3.0", &["unfinished-repartition"], &[]),
    ("new", "no-batch-4.3.0", &["no-committed-batch"], &[]),
    ("parent", "stateless-4.3.0", &["stateless"], &[]),
    // Below a checkpoint, beside its own parts.
    ("parent/child", "pending-4.3.0", &[], &["never-revisited"]),
    ("broken", "broken-zip-missing-4.3.0", &["errors"], &["never-revisited"]),
    ("old", "dedup-3.5.9", &["no-operator-metadata"], &["never-revisited"]),
    // Where Databricks' documentation puts it: inside the table that the query writes.
    ("table/_checkpoints/dedup", "dedup-4.3.0", &[], &["never-revisited"]),
];

/// The fixtures in their places among decoys; `None` in a folder that holds only some of them.
fn lake() -> Option<(TempDir, BTreeMap<&'static str, Fixture>)> {
    let mut all: BTreeMap<String, Fixture> =
        support::all().into_iter().map(|fixture| (fixture.name.clone(), fixture)).collect();
    let root = TempDir::new().unwrap();
    let mut placed = BTreeMap::new();
    for (place, name, ..) in PLACED {
        let fixture = all.remove(name)?;
        let path = root.path().join(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::rename(&fixture.unpack().path, &path).unwrap();
        placed.insert(place, fixture);
    }
    decoys(root.path());
    Some((root, placed))
}

fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn decoys(root: &Path) {
    write(&root.join("table/_delta_log/00000000000000000000.json"), "{}");
    write(&root.join("table/part-0.parquet"), "PAR1");
    // Would be found, were partitions of tables searched.
    write(&root.join("table/date=2026-11-30/x/offsets/0"), "v1");
    write(&root.join("table/date=2026-11-30/x/commits/0"), "v1");
    write(&root.join("sink/_spark_metadata/0"), "v1");
    write(&root.join("sink/part-0.json"), "{}");
    write(&root.join("model/metadata/part-00000"), "{}");
    write(&root.join("other/metadata"), "{\"version\": 3}");
    // What the repartition call leaves at a mistyped path, and half of nothing.
    fs::create_dir_all(root.join("mistyped/commits")).unwrap();
    write(&root.join("half/offsets/0"), "v1");
    // A checkpoint that cannot be read: its log is a file.
    write(&root.join("damaged/offsets"), "");
    write(&root.join("damaged/metadata"), "{\"id\":\"0f0e0d0c-0b0a-0908-0706-050403020100\"}");
    fs::create_dir_all(root.join("damaged/commits")).unwrap();
    write(&root.join("1/2/3/4/5/6/7/offsets/0"), "v1");
    write(&root.join("1/2/3/4/5/6/7/commits/0"), "v1");
    #[cfg(unix)]
    for (target, link) in
        [("..", "team-a/loop"), ("team-a/hot", "current"), ("/nonexistent/ckpt", "gone")]
    {
        std::os::unix::fs::symlink(target, root.join(link)).unwrap();
    }
}

fn scanned(root: &Path, depth: u32) -> ScanReport {
    let request = ScanRequest {
        roots: vec![root.to_str().unwrap().to_owned()],
        depth,
        ..ScanRequest::default()
    };
    scan(&request, &Cancel::default(), &|_| {}).unwrap()
}

/// The rows of the non-internal families at the last committed batch: of all partitions together,
/// and of the largest.
fn rows(truth: &Value) -> (u64, u64) {
    let counts = truth["counts"].as_array().unwrap().iter();
    let last = counts.filter(|count| count["batch"] == truth["last_committed_batch"]);
    let mut by_partition: BTreeMap<String, u64> = BTreeMap::new();
    for family in last.flat_map(|count| count["families"].as_object().unwrap().values()) {
        if family["internal"] == false {
            for (partition, count) in family["partitions"].as_object().unwrap() {
                *by_partition.entry(partition.clone()).or_default() +=
                    count["rows"].as_u64().unwrap();
            }
        }
    }
    (by_partition.values().sum(), by_partition.values().copied().max().unwrap_or(0))
}

#[test]
fn every_checkpoint_is_found_once_and_says_what_spark_says() {
    let Some((root, placed)) = lake() else { return };
    let report = scanned(root.path(), 6);
    let json = serde_json::to_value(&report).unwrap();
    let lines: BTreeMap<String, &Value> = json["checkpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| {
            let path = Path::new(line["path"].as_str().unwrap()).strip_prefix(root.path());
            (path.unwrap().to_str().unwrap().to_owned(), line)
        })
        .collect();
    let found: Vec<&str> = lines.keys().map(String::as_str).collect();
    let expected: Vec<&str> = placed.keys().copied().collect();
    assert_eq!(found, expected);
    assert_eq!(json["checkpoints"].as_array().unwrap().len(), PLACED.len(), "each once");

    for (place, name, obstacles, reasons) in PLACED {
        let (line, truth) = (lines[place], &placed[place].truth);
        for field in ["query_id", "status", "provider", "partitions"] {
            assert_eq!(line[field], truth[field], "{name} {field}");
        }
        assert_eq!(line["last_batch"], truth["last_committed_batch"], "{name}");
        let history = truth["partition_history"].as_array();
        let first = history.and_then(|history| history.first()).map(|entry| &entry["batch"]);
        assert_eq!(&line["first_batch"], first.unwrap_or(&Value::Null), "{name}");
        if let Some(metadata) = truth["state_metadata"].as_array() {
            let mut names: Vec<(u64, &str)> = metadata
                .iter()
                .map(|op| {
                    (op["operatorId"].as_u64().unwrap(), op["operatorName"].as_str().unwrap())
                })
                .collect();
            names.sort_unstable();
            names.dedup();
            let operators: Vec<(u64, &str)> = line["operators"]
                .as_array()
                .unwrap()
                .iter()
                .map(|op| (op["id"].as_u64().unwrap(), op["name"].as_str().unwrap()))
                .collect();
            assert_eq!(operators, names, "{name}");
        }
        let kinds = |field: &str| -> Vec<String> {
            let list = line[field].as_array().unwrap().iter();
            list.map(|one| one["kind"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(kinds("obstacles"), obstacles, "{name}");
        assert_eq!(kinds("reasons"), reasons, "{name}");
        let standing = if obstacles.is_empty() { "healthy" } else { "forbidden" };
        assert_eq!(line["standing"], standing, "{name}");
        let broken = matches!(place, "broken" | "unfinished");
        assert_eq!(line["errors"].as_u64() > Some(0), broken, "{name}");
    }
    // Without changelogs every batch writes a snapshot, so its own count is the truth.
    for place in ["team-a/hot", "team-b/limit", "team-b/no-keys", "old", "table/_checkpoints/dedup"]
    {
        let (line, truth) = (lines[place], &placed[place].truth);
        let (all, largest) = rows(truth);
        let partitions = truth["partitions"].as_f64().unwrap();
        assert_eq!(line["rows"].as_u64(), Some(all), "{place}");
        assert!(matches!(line["rows_grade"].as_str(), Some("snapshot" | "exact")), "{place}");
        let mean = all as f64 / partitions;
        assert!((line["rows_per_partition"].as_f64().unwrap() - mean).abs() < 1e-9, "{place}");
        if place.starts_with("team-b") {
            assert!(line["max_over_mean"].is_null(), "{place}: one partition has no spread");
        } else {
            let ratio = line["max_over_mean"].as_f64().unwrap();
            assert!((ratio - largest as f64 / mean).abs() < 1e-9, "{place}");
        }
        assert!(line["bytes"].as_u64() > Some(0), "{place}");
    }
    assert!(lines["broken"]["rows"].is_null());
}

#[test]
fn forbidden_ones_come_before_healthy_ones_and_equals_go_by_path() {
    let Some((root, _)) = lake() else { return };
    let report = scanned(root.path(), 6);
    let order: Vec<(String, &str)> = report
        .checkpoints
        .iter()
        .map(|line| {
            let standing = serde_json::to_value(line.standing).unwrap();
            let path = Path::new(&line.path).strip_prefix(root.path()).unwrap();
            (standing.as_str().unwrap().to_owned(), path.to_str().unwrap())
        })
        .collect();
    let expected = [
        // Its largest partition has 2.4 times the mean.
        ("forbidden", "team-b/join"),
        ("forbidden", "broken"),
        ("forbidden", "old"),
        ("forbidden", "team-a/hdfs"),
        ("forbidden", "team-b/limit"),
        ("forbidden", "team-b/no-keys"),
        // Without a reason.
        ("forbidden", "new"),
        ("forbidden", "parent"),
        ("forbidden", "unfinished"),
        ("healthy", "parent/child"),
        ("healthy", "table/_checkpoints/dedup"),
        ("healthy", "team-a/hot"),
        ("healthy", "team-a/resized"),
    ];
    let order: Vec<(&str, &str)> =
        order.iter().map(|(standing, path)| (standing.as_str(), *path)).collect();
    assert_eq!(order, expected);
}

#[test]
fn what_is_not_read_is_told() {
    let Some((root, _)) = lake() else { return };
    let report = scanned(root.path(), 6);
    assert_eq!(report.extent, Extent::Complete);
    assert_eq!(report.found, PLACED.len() as u64 + 1);
    let told: Vec<(&str, UnreadableKind)> = report
        .unreadable
        .iter()
        .map(|one| (one.path.rsplit('/').next().unwrap(), one.kind))
        .collect();
    let damaged = ("damaged", UnreadableKind::Checkpoint);
    assert_eq!(told, [damaged, ("gone", UnreadableKind::Link)]);
    assert!(report.unreadable[0].reason.contains("expected a directory, found a file"));
    // 1/2/3/4/5/6 is the sixth level; 7 lies below it.
    assert_eq!(report.too_deep, 1);
    let deeper = scanned(root.path(), 7);
    assert_eq!((deeper.too_deep, deeper.found), (0, report.found + 1));
    let root_only = scanned(root.path(), 0);
    assert_eq!((root_only.found, root_only.directories), (0, 1));
    assert!(root_only.too_deep > 5);
}

#[test]
fn a_root_may_be_a_checkpoint_and_roots_may_overlap() {
    let Some((root, _)) = lake() else { return };
    let at = |dir: &str| root.path().join(dir).to_str().unwrap().to_owned();
    let depth = 0;
    let request = |roots| ScanRequest { roots, depth, ..ScanRequest::default() };
    let one = scan(&request(vec![at("team-a/hot")]), &Cancel::default(), &|_| {}).unwrap();
    assert_eq!(one.checkpoints.len(), 1);
    let roots = vec![at(""), at("team-a"), at("team-a/hot/"), at("current"), at("nowhere")];
    let all = ScanRequest { roots, depth: 6, ..ScanRequest::default() };
    let report = scan(&all, &Cancel::default(), &|_| {}).unwrap();
    assert_eq!(report.checkpoints.len(), PLACED.len());
    let lost: Vec<_> =
        report.unreadable.iter().filter(|one| one.kind == UnreadableKind::Root).collect();
    assert_eq!(lost.len(), 1);
    assert!(lost[0].path.ends_with("nowhere"));
    let error = scan(&request(vec![at("nowhere")]), &Cancel::default(), &|_| {}).unwrap_err();
    assert!(error.to_string().contains("nowhere: not found"), "{error}");
}

#[test]
fn a_scan_that_is_given_up_keeps_what_it_has() {
    let Some((root, _)) = lake() else { return };
    let cancel = Cancel::default();
    let request = ScanRequest {
        roots: vec![root.path().to_str().unwrap().into()],
        depth: 6,
        ..ScanRequest::default()
    };
    let report = scan(&request, &cancel, &|news| {
        // One of the first two may be the one that cannot be read.
        if matches!(news, ScanNews::Progress(progress) if progress.read == 2) {
            cancel.cancel();
        }
    })
    .unwrap();
    assert_eq!(report.extent, Extent::Cancelled);
    assert!(!report.checkpoints.is_empty());
    assert!(report.checkpoints.len() < PLACED.len());
}

#[test]
fn object_stores_are_scanned_alike() {
    let Some(fixture) = support::all().into_iter().find(|one| one.name == "agg-window-hot-4.3.0")
    else {
        return;
    };
    let unpacked = fixture.unpack();
    let store = InMemory::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let put = |path: String, content: Vec<u8>| {
        let path = object_store::path::Path::parse(path).unwrap();
        runtime.block_on(store.put(&path, content.into())).unwrap();
    };
    let mut folders = vec![unpacked.path.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let below = path.strip_prefix(&unpacked.path).unwrap().to_str().unwrap();
                put(format!("lake/team/hot/{below}"), fs::read(&path).unwrap());
            }
        }
    }
    // A query that has planned nothing: its empty directories do not exist here.
    put("lake/new/metadata".into(), br#"{"id":"0f0e0d0c-0b0a-0908-0706-050403020100"}"#.to_vec());
    put("lake/other/metadata".into(), b"{}".to_vec());
    let store: Arc<dyn ObjectStore> = Arc::new(store);
    let storage = Storage::from_object_store(store, "lake", "memory:///lake").unwrap();
    let roots = vec![("memory:///lake".to_owned(), Ok(storage))];
    let report = scan_storages(roots, 6, &Cancel::default(), &|_| {}).unwrap();
    let paths: Vec<&str> = report.checkpoints.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(paths, ["memory:///lake/new", "memory:///lake/team/hot"]);
    let obstacles: Vec<&str> = report.checkpoints[0].obstacles.iter().map(|o| o.kind).collect();
    assert_eq!(obstacles, ["no-committed-batch"]);
    assert_eq!(report.checkpoints[1].rows, Some(rows(&fixture.truth).0));
}

fn statetop(args: &[&str]) -> Output {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("statetop"));
    command.env_clear().env("LANG", "C.UTF-8").args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn the_command_prints_a_page_json_and_csv() {
    let Some((root, _)) = lake() else { return };
    let target = root.path().to_str().unwrap();
    let page = statetop(&["scan", target]);
    assert_eq!((page.status.code(), text(&page.stderr)), (Some(1), ""), "one is damaged");
    for line in text(&page.stdout).lines().skip(1) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for word in ["no: provider", "no: limit", "team-b/join", "age", "not read: 2", "damaged"] {
        assert!(text(&page.stdout).contains(word), "{word}: {}", text(&page.stdout));
    }

    let json = statetop(&["scan", target, "--format", "json", "--limit", "3"]);
    let report: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(report["checkpoints"].as_array().unwrap().len(), 3);
    assert_eq!(report["found"].as_u64(), Some(PLACED.len() as u64 + 1));
    assert_eq!(report["extent"], "complete");

    let csv = statetop(&["scan", target, "--format", "csv"]);
    let lines: Vec<&str> = text(&csv.stdout).lines().collect();
    assert_eq!(lines.len(), 1 + PLACED.len() + 1, "{lines:?}");
    assert!(lines[0].starts_with("standing,path,query_id,"));
    assert!(lines.last().unwrap().starts_with("unreadable,"));

    let team_a = root.path().join("team-a");
    let healthy = statetop(&["scan", team_a.to_str().unwrap()]);
    assert_eq!(healthy.status.code(), Some(0));
    let nowhere = statetop(&["scan", "/nonexistent/a", "/nonexistent/b"]);
    assert_eq!((nowhere.status.code(), text(&nowhere.stdout)), (Some(3), ""));
    assert!(text(&nowhere.stderr).contains("/nonexistent/b: not found"));
    assert_eq!(statetop(&["scan"]).status.code(), Some(2));
}

#[test]
fn ctrl_c_is_exit_code_130_and_the_result_is_marked() {
    let root = TempDir::new().unwrap();
    for format in ["table", "json", "csv"] {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut around = Surroundings {
            input: &|| Box::new(std::io::empty()),
            out: &mut out,
            out_kind: Stream::Pipe,
            err: &mut err,
            err_kind: Stream::Pipe,
            environment: Environment::default(),
            config: statetop::config::Config::default(),
            data_directory: None,
            now: statetop::units::UnixMillis(1_762_000_000_123),
            open: &|target| Ok(Arc::new(CheckpointReader::open(target)?)),
            attach: &|_, _| unreachable!("nothing is attached"),
            on_interrupt: &Cancel::cancel,
        };
        let args = ["statetop", "scan", root.path().to_str().unwrap(), "--format", format];
        assert_eq!(run(args, &mut around), Exit::Signal(2));
        assert!(text(&err).starts_with("statetop: Partial: stopped at Ctrl-C"), "{}", text(&err));
        match format {
            "table" => assert!(text(&out).contains("Partial"), "{}", text(&out)),
            "json" => assert!(text(&out).contains("\"extent\": \"cancelled\""), "{}", text(&out)),
            _ => assert!(text(&out).starts_with("standing,")),
        }
    }
}
