//! Findings on what real Spark wrote: which fire where, and that nothing fires on what is healthy.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use statetop::diagnosis::Finding;
use statetop::diagnosis::lints::{Evidence, Told, lints};
use statetop::reader::{CheckpointReader, Depth, Observe, Request};
use statetop::task::Cancel;
use statetop::telemetry::follow::Until;
use statetop::telemetry::source::Source;
use statetop::telemetry::stream::{self, Means, Span};
use statetop::telemetry::timeline::Timeline;
use statetop::telemetry::ui::Credentials;
use support::event_logs;

mod support;

fn timeline(events: impl IntoIterator<Item = statetop::telemetry::Event>) -> Timeline {
    let mut timeline = Timeline::new([Arc::from("log")]);
    for event in events {
        timeline.fold(0, event);
    }
    timeline
}

/// The findings of each query, by its name.
fn of_queries(timeline: &Timeline) -> BTreeMap<String, Vec<Finding>> {
    let queries = timeline.queries().iter();
    let found = queries.map(|query| {
        let told = Some(Told::of(timeline, query));
        let found = lints(&Evidence { inspect: None, partitions: None, told });
        (query.name.as_deref().unwrap_or("?").to_owned(), found)
    });
    found.collect()
}

fn sample(name: &str) -> Timeline {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/telemetry/samples").join(name);
    let text = fs::read(path).unwrap();
    let source = Source::of("-", Until::End).unwrap();
    let means = Means { stdin: Box::new(Cursor::new(text)), credentials: Credentials::None };
    let span = Span { until: Until::End, since: None };
    timeline(stream::events(vec![source], span, means, &Cancel::default()))
}

fn ids(found: &[Finding]) -> Vec<&'static str> {
    found.iter().map(|finding| finding.id.0).collect()
}

/// What the recorded applications show. Their queries run a handful of batches, so only what a
/// single batch tells can fire: that a query failed, and that the session of the resized one asks
/// for the count from before.
#[test]
fn recorded_applications_fire_where_they_should_and_nowhere_else() {
    let mut fired = Vec::new();
    for recording in event_logs::all() {
        let unpacked = recording.unpack();
        let timeline = timeline(event_logs::read(&unpacked.log()));
        assert!(!timeline.queries().is_empty(), "{}", recording.name);
        for (query, found) in of_queries(&timeline) {
            let truth = recording.truth["queries"].as_array().unwrap();
            let truth = truth.iter().find(|one| one["name"] == query.as_str()).unwrap();
            let last = truth["runs"].as_array().unwrap().last().unwrap();
            let failed = last["failed"].is_string();
            assert_eq!(failed, ids(&found).contains(&"query-failed"), "{} {query}", recording.name);
            for finding in found {
                fired.push(format!(
                    "{} {query}: {}: {}",
                    recording.name, finding.id.0, finding.summary
                ));
            }
        }
    }
    let expected: Vec<&str> = EXPECTED.lines().collect();
    assert_eq!(fired, expected, "\n{}", fired.join("\n"));
}

const EXPECTED: &str = "\
all-3.5.9 failing: query-failed: the query failed after batch 0: py4j.Py4JException: An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
all-4.0.5 failing: query-failed: the query failed after batch 0: FOREACH_BATCH_USER_FUNCTION_ERROR
all-4.1.4 failing: query-failed: the query failed after batch 0: FOREACH_BATCH_USER_FUNCTION_ERROR
all-4.2.1 agg: ignored-count: 8 partitions are in force, 5 asked for: ignored
all-4.2.1 failing: query-failed: the query failed after batch 0: FOREACH_BATCH_USER_FUNCTION_ERROR
all-4.3.0 agg: ignored-count: 8 partitions are in force, 5 asked for: ignored
all-4.3.0 failing: query-failed: the query failed after batch 0: FOREACH_BATCH_USER_FUNCTION_ERROR
small-4.3.0 agg: ignored-count: 8 partitions are in force, 5 asked for: ignored";

#[test]
fn samples_of_others_fire_where_they_should() {
    let restored = sample("driverlog-conf-restored-from-offset-log.log");
    assert!(!restored.confs_restored().is_empty());
    // One batch: 34 rows of 687 were too late; snapshots lag by 73 versions, but how fast batches
    // come is not told by one.
    let orders = sample("progress-dbr-kafka-agg-dedupe-join-partition-labels.json");
    let found = of_queries(&orders).remove("orders_enriched").unwrap();
    assert_eq!(ids(&found), ["late-rows"]);
    assert!(found[0].summary.contains("34 rows came too late and were dropped, about 4.9 %"));
    let two = sample("driverlog-concurrent-stream-log-update-new-style.log");
    let found: Vec<Finding> = of_queries(&two).into_values().flatten().collect();
    assert!(ids(&found).contains(&"two-on-one-checkpoint"), "{found:#?}");
    assert!(ids(&found).contains(&"query-failed"), "{found:#?}");
}

/// What a session of Spark 4.3 asked for stands in the event log itself.
#[test]
fn confs_of_sessions_come_from_the_event_log() {
    for name in ["all-3.5.9", "all-4.3.0"] {
        let unpacked = event_logs::named(name).unpack();
        let timeline = timeline(event_logs::read(&unpacked.log()));
        let query = timeline.queries().iter().find(|one| one.name.as_deref() == Some("agg"));
        let run = query.unwrap().current().unwrap();
        let conf = |wanted: &str| {
            let found = run.confs.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(conf("spark.sql.streaming.minBatchesToRetain"), Some("1000"), "{name}");
        assert_eq!(conf("spark.sql.streaming.stateStore.minDeltasForSnapshot"), Some("4"));
        assert!(run.confs.iter().all(|(name, _)| name.starts_with("spark.sql.")));
    }
}

/// Checkpoints that Spark wrote, by themselves: nothing fires but where few batches are kept.
#[test]
fn checkpoints_that_spark_wrote_are_healthy_in_their_habits() {
    let mut fired = Vec::new();
    for fixture in support::all() {
        let unpacked = fixture.unpack();
        let reader = CheckpointReader::open(unpacked.target()).unwrap();
        let request = Request { batch: None, depth: Depth::Snapshot, operator: None, store: None };
        let Ok(seen) = reader.observe(&request, &Cancel::default(), &|_| {}) else { continue };
        let evidence = Evidence {
            inspect: Some(&seen.inspect),
            partitions: Some(&seen.partitions),
            told: None,
        };
        for finding in lints(&evidence) {
            fired.push(format!("{}: {}: {}", fixture.name, finding.id.0, finding.summary));
        }
    }
    assert_eq!(fired, Vec::<String>::new(), "\n{}", fired.join("\n"));
}

fn statetop(config: &Path, arguments: &[&str]) -> (String, String, i32) {
    let mut command = assert_cmd::Command::cargo_bin("statetop").unwrap();
    command.env("STATETOP_CONFIG", config).env("STATETOP_DATA_DIR", config.parent().unwrap());
    let output = command.args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

#[test]
fn the_command_joins_checkpoint_and_query_and_ends_with_one_at_error_level() {
    let fixture = support::all().into_iter().find(|one| one.name == "broken-sst-missing-4.3.0");
    let checkpoint = fixture.unwrap().unpack();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.toml");
    let run = |arguments: &[&str]| {
        let all: Vec<&str> =
            ["findings", checkpoint.target()].iter().chain(arguments).copied().collect();
        statetop(&config, &all)
    };
    let (text, _, code) = run(&[]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("docs/findings.md#missing-sst"), "{text}");
    assert!(text.contains("Only the checkpoint was looked at"), "{text}");
    // With a log of the query: its id is put into the sample's place.
    let (json, _, _) = run(&["--format", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["query"], "not_asked");
    let id = json["query_id"].as_str().unwrap();
    let log = folder.path().join("progress.jsonl");
    let progress = serde_json::json!({
        "id": id, "runId": "r-1", "name": "agg", "batchId": 3, "numInputRows": 100,
        "timestamp": "2026-11-30T16:05:28.019Z", "durationMs": {"addBatch": 7},
        "stateOperators": [{"operatorName": "dedupe", "numRowsDroppedByWatermark": 7}],
    });
    fs::write(&log, progress.to_string()).unwrap();
    let log = log.to_str().unwrap();
    let (json, _, code) = run(&["--progress", log, "--format", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (json["query"].as_str(), json["batches"].as_u64(), code),
        (Some("same"), Some(1), 1)
    );
    let found = json["findings"].as_array().unwrap();
    let late = found.iter().find(|one| one["id"] == "late-rows").unwrap();
    assert_eq!(late["severity"], "warning");
    assert!(late["summary"].as_str().unwrap().contains("about 7.0 %"), "{late}");
    // Allowed, or a warning at most: then all is fine.
    let ids: Vec<&str> = found.iter().map(|one| one["id"].as_str().unwrap()).collect();
    let errors: Vec<&str> = found
        .iter()
        .filter(|one| one["severity"] == "error")
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    fs::write(&config, format!("[findings]\nallow = [\"late-rows\"]\nwarn = {errors:?}\n"))
        .unwrap();
    let (csv, _, code) = run(&["--progress", log, "--format", "csv"]);
    assert_eq!(code, 0, "{csv}");
    assert_eq!(csv.lines().count(), ids.len(), "{csv}: the heading takes the place of late-rows");
    assert!(!csv.contains("late-rows") && !csv.contains("error,"), "{csv}");
    // A finding that does not exist is refused with those that do.
    fs::write(&config, "[findings]\nallow = [\"late-row\"]\n").unwrap();
    let (_, error, code) = run(&[]);
    assert_eq!(code, 2);
    assert!(error.contains("late-rows"), "{error}");
}

#[test]
fn a_source_that_is_not_there_is_no_sign_of_health() {
    let fixture = support::all().into_iter().find(|one| one.name == "agg-v1-4.3.0").unwrap();
    let checkpoint = fixture.unpack();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.toml");
    let target = checkpoint.target();
    let (_, error, code) = statetop(&config, &["findings", target, "--events", "/nowhere/log"]);
    assert_eq!(code, 3, "{error}");
    let nothing = folder.path().join("empty.log");
    fs::write(&nothing, "26/11/30 16:22:36 INFO X: y\n").unwrap();
    let (text, error, code) =
        statetop(&config, &["findings", target, "--progress", nothing.to_str().unwrap()]);
    // Silence is no sign of health either, but what the checkpoint says is printed.
    assert_eq!(code, 3, "{error}");
    assert!(error.contains("no event of a streaming query"), "{error}");
    assert!(text.contains("The sources tell of no query."), "{text}");
}

#[test]
fn the_program_alone_lists_the_queries_of_the_configuration() {
    let unpacked =
        |name: &str| support::all().into_iter().find(|one| one.name == name).unwrap().unpack();
    let (whole, broken) = (unpacked("agg-window-hot-4.3.0"), unpacked("broken-sst-missing-4.3.0"));
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.toml");
    let queries = |rules: &str| {
        let query = |name: &str, target: &str, rules: &str| {
            format!("[[query]]\nname = {name:?}\ncheckpoint = {target:?}\n{rules}\n")
        };
        query("agg", whole.target(), "") + &query("orders", broken.target(), rules)
    };
    fs::write(&config, queries("")).unwrap();
    let (text, _, code) = statetop(&config, &[]);
    assert_eq!(code, 1, "something is broken: {text}");
    let line = |name: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(name));
        line.unwrap_or_else(|| panic!("{name}: {text}")).to_owned()
    };
    for column in ["name", "status", "batch", "age", "rows", "mean", "batch time", "findings"] {
        assert!(line("name").contains(column), "{column}: {text}");
    }
    assert!(line("agg").contains("committed"), "{text}");
    assert!(line("orders").contains("1 X"), "{text}");
    // What is accepted for one query is no error of the list either.
    fs::write(&config, queries("warn = [\"missing-sst\"]")).unwrap();
    let (text, _, code) = statetop(&config, &[]);
    assert_eq!(code, 0, "{text}");
    assert!(!text.contains("1 X"), "{text}");
}
