//! What a preflight says equals what real Spark then did, class for class and parameter for
//! parameter: `tests/preflight/outcomes-*.json` has what Spark's repartition made of each fixture
//! (`tests/spark/preflight.py`). The table in `docs/preflight.md` is made here; with
//! `STATETOP_UPDATE_DOCS=1` it is written again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

#[path = "preflight/spark.rs"]
mod spark;
#[path = "preflight/table.rs"]
mod table;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use spark::{Case, Expected};
use statetop::preflight::{Engine, Request, Session, Sinks};
use statetop::reader::{CheckpointReader, ReadState};
use statetop::report::PreflightOutcome::{self, Noop, Ready, Refused, Unknown};
use statetop::report::{CheckStatus, PreflightReport};
use statetop::task::Cancel;
use support::Fixture;

/// Parameters that nobody can know beforehand: directories and threads of an executor.
const NOT_KNOWN: [&str; 2] = ["localFile", "stateStoreId"];
/// Characters of a parameter that the outcomes keep.
const KEPT: usize = 2000;
/// A case that Spark runs and a command line cannot ask for.
const NO_ADDRESS: &str = "";

fn preflight(case: &Case, engine: Engine, given: &Path) -> PreflightReport {
    let reader = CheckpointReader::open(given.to_str().unwrap()).unwrap();
    let sinks = if case.enforce { Sinks::ExactlyOnce } else { Sinks::SkipFailedBatches };
    let request = Request {
        engine: Some(engine),
        session: Session::new(case.confs.clone()),
        sinks,
        ..Request::to(case.to)
    };
    reader.preflight(&request, &Cancel::default(), &|_| {}, &mut |_| {}).unwrap()
}

/// What differs between a prediction and what Spark did.
fn differences(case: &Case, expected: &Expected, report: &PreflightReport, root: &Path) -> String {
    let mut told = Vec::new();
    if report.outcome != expected.outcome {
        told.push(format!("outcome {:?}, Spark {:?}", report.outcome, expected.outcome));
    }
    if report.error_class != expected.class {
        told.push(format!("class {:?}, Spark {:?}", report.error_class, expected.class));
    }
    let plain = |text: &str| {
        // As long as it was kept.
        let text = spark::plain(text, root);
        match text.char_indices().nth(KEPT) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text,
        }
    };
    let mine: BTreeMap<String, String> = report
        .parameters
        .iter()
        .filter(|(name, _)| !NOT_KNOWN.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), plain(value)))
        .collect();
    let theirs: BTreeMap<String, String> = expected
        .parameters
        .iter()
        .filter(|(name, _)| !NOT_KNOWN.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    // The bytes that a damaged row begins with are not foreseen.
    let message = |all: &BTreeMap<String, String>| all.get("message").cloned().unwrap_or_default();
    let same_message = !message(&mine).is_empty() && message(&theirs).starts_with(&message(&mine));
    if mine != theirs && !same_message {
        told.push(format!("parameters {mine:?}, Spark {theirs:?}"));
    }
    if told.is_empty() { String::new() } else { format!("{}: {}", case.name, told.join("; ")) }
}

/// Rules that hold for every report.
fn check_shape(case: &Case, report: &PreflightReport) {
    let name = &case.name;
    let decided = matches!(report.outcome, PreflightOutcome::Ready | PreflightOutcome::Noop);
    let refused: Vec<&str> = report
        .checks
        .iter()
        .filter(|check| check.status == CheckStatus::Refused)
        .map(|check| check.id)
        .collect();
    let own = ["space", "knob", "plan"];
    if decided {
        assert!(refused.iter().all(|id| own.contains(id)), "{name}: {refused:?}");
    } else {
        assert!(!refused.is_empty(), "{name}: {:?} with nothing refused", report.outcome);
    }
    for check in &report.checks {
        let needs = matches!(check.status, CheckStatus::Refused | CheckStatus::Warning);
        assert!(!needs || !check.remedy.is_empty(), "{name}: {} has no remedy", check.id);
        assert!(!needs || !check.evidence.is_empty(), "{name}: {} has no evidence", check.id);
    }
    assert!(!report.legal_next.is_empty(), "{name}: nothing is legal next");
    let json = serde_json::to_value(report).unwrap();
    assert!(json["outcome"].is_string() && json["checks"].is_array());
}

#[test]
fn predictions_are_what_spark_does() {
    let fixtures: BTreeMap<String, Fixture> =
        support::all().into_iter().map(|fixture| (fixture.name.clone(), fixture)).collect();
    let mut work = Vec::new();
    for (version, engine) in [("4.2.1", Engine::Spark42), ("4.3.0", Engine::Spark43)] {
        for entry in spark::outcomes(version) {
            let case = Case::of(&entry);
            if case.path.as_deref() != Some(NO_ADDRESS) {
                work.push((version, engine, case, entry));
            }
        }
    }
    assert!(work.len() > 500, "{} cases", work.len());
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let lines = Mutex::new(Vec::new());
    let one = |version: &'static str, engine: Engine, case: &Case, entry: &Value| {
        let fixture = &fixtures[&case.fixture];
        let expected = Expected::of(case, entry, &fixture.truth);
        let place = spark::unpack(fixture, case);
        let report = preflight(case, engine, &place.given(case));
        let differs = differences(case, &expected, &report, place.root());
        if differs.is_empty() {
            check_shape(case, &report);
        } else {
            wrong.lock().unwrap().push(format!("{version} {differs}"));
        }
        lines.lock().unwrap().push(table::Line::of(
            version,
            case,
            entry,
            &expected,
            &fixture.truth,
        ));
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((version, engine, case, entry)) =
                    work.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    one(version, *engine, case, entry);
                }
            });
        }
    });
    let mut wrong = wrong.into_inner().unwrap();
    wrong.sort();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), work.len(), wrong.join("\n"));
    table::compare(&lines.into_inner().unwrap());
}

#[test]
fn a_preflight_changes_nothing() {
    let fixtures = support::all();
    for name in ["agg-window-changelog-4.3.0", "limit-4.3.0", "broken-zip-zero-only-4.3.0"] {
        let fixture = fixtures.iter().find(|fixture| fixture.name == name).unwrap();
        let unpacked = fixture.unpack();
        let before = spark::listing(&unpacked.path);
        let reader = CheckpointReader::open(unpacked.target()).unwrap();
        reader.preflight(&Request::to(8), &Cancel::default(), &|_| {}, &mut |_| {}).unwrap();
        assert_eq!(spark::listing(&unpacked.path), before, "{name}");
    }
}

#[test]
fn given_up_it_has_the_checks_made_until_then() {
    let fixtures = support::all();
    let fixture = fixtures.iter().find(|f| f.name == "agg-window-changelog-4.3.0").unwrap();
    let unpacked = fixture.unpack();
    let reader = CheckpointReader::open(unpacked.target()).unwrap();
    let cancel = Cancel::default();
    let mut told = 0;
    let report = reader.preflight(&Request::to(8), &cancel, &|_| {}, &mut |_| {
        told += 1;
        cancel.cancel();
    });
    let report = report.unwrap();
    assert!(report.partial && told > 0);
    assert_eq!(report.outcome, PreflightOutcome::Unknown);
}

#[test]
fn databricks_says_unknown_where_nothing_is_published() {
    let fixtures = support::all();
    let outcome = |name: &str, to: i64| {
        let fixture = fixtures.iter().find(|fixture| fixture.name == name).unwrap();
        let unpacked = fixture.unpack();
        let reader = CheckpointReader::open(unpacked.target()).unwrap();
        let request = Request { engine: Some(Engine::Databricks), ..Request::to(to) };
        reader.preflight(&request, &Cancel::default(), &|_| {}, &mut |_| {}).unwrap()
    };
    for (name, to, expected) in [
        ("agg-window-changelog-4.3.0", 8, Ready),
        ("agg-window-changelog-4.3.0", 5, Noop),
        // The session's state checkpoint format does not matter to a resize at the start.
        ("agg-format2-4.3.0", 8, Ready),
        // The start that resizes finishes the pending batch first.
        ("pending-4.3.0", 8, Ready),
        ("hdfs-agg-4.3.0", 8, Refused),
        ("unfinished-repartition-crash-4.3.0", 8, Refused),
        ("pending-first-4.3.0", 8, Refused),
        ("limit-4.3.0", 8, Unknown),
        ("agg-no-keys-4.3.0", 8, Unknown),
        ("join-v4-4.3.0", 8, Unknown),
        ("broken-zip-missing-4.3.0", 8, Unknown),
    ] {
        assert_eq!(outcome(name, to).outcome, expected, "{name} to {to}");
    }
    let report = outcome("pending-4.3.0", 8);
    let last = report.checks.iter().find(|check| check.id == "last-batch").unwrap();
    assert_eq!(last.status, CheckStatus::Warning);
    assert!(report.checks.iter().any(|check| check.id == "runtime"));
}
