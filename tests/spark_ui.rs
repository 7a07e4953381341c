//! The Spark UI as a source: answers that real Spark gave, against other witnesses of the same
//! queries (progress objects, the event log, Spark's state reader), and servers that misbehave.
//! `tests/spark/README.md` describes the files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use statetop::task::Cancel;
use statetop::telemetry::event_log::Ended;
use statetop::telemetry::follow::Until;
use statetop::telemetry::ui::{Address, Credentials, Limits, Options, SparkUi};
use statetop::telemetry::{
    EventKind, OperatorProgress, PartitionLoad, Progress, Rows, TaskLoad, Teller,
};

use support::spark_ui::{self, Recording, View, moment};
use support::web::{Answer, Server};

fn all_of_it() -> Options {
    Options { newest: usize::MAX, ..Options::default() }
}

/// With waits that a test can stand.
fn impatient() -> Options {
    let (connect, answer) = (Duration::from_secs(2), Duration::from_millis(400));
    Options { limits: Limits { connect, answer, bytes: 1 << 20 }, ..all_of_it() }
}

fn following(options: Options) -> Options {
    Options { until: Until::Cancelled, interval: Duration::from_millis(10), ..options }
}

fn open(address: &str, options: Options) -> SparkUi {
    SparkUi::new(address.into(), Address::parse(address).unwrap(), options)
}

fn read(address: &str, options: Options) -> Vec<EventKind> {
    let mut events = Vec::new();
    let ended = open(address, options).read(&Cancel::default(), &mut |event| {
        assert_eq!(&*event.place.source, address);
        events.push(event.kind);
        ControlFlow::Continue(())
    });
    assert_eq!(ended, Ended::Complete);
    events
}

/// Follows until `enough` is told, and gives all that was told until then.
fn follow(
    address: &str,
    options: Options,
    enough: impl Fn(&[EventKind]) -> bool,
) -> Vec<EventKind> {
    let mut events = Vec::new();
    let begun = Instant::now();
    let ui = open(address, following(options));
    let ended = ui.read(&Cancel::default(), &mut |event| {
        events.push(event.kind);
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", notes(&events));
        if enough(&events) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(ended, Ended::Stopped);
    events
}

fn notes(events: &[EventKind]) -> Vec<&str> {
    fn note(kind: &EventKind) -> Option<&str> {
        match kind {
            EventKind::Interrupted(text) | EventKind::Unreadable(text) => Some(text),
            _ => None,
        }
    }
    events.iter().filter_map(note).collect()
}

fn progress(events: &[EventKind]) -> Vec<&Progress> {
    fn progress(kind: &EventKind) -> Option<&Progress> {
        match kind {
            EventKind::Progress(progress) => Some(progress),
            _ => None,
        }
    }
    events.iter().filter_map(progress).collect()
}

fn loads(events: &[EventKind]) -> Vec<&PartitionLoad> {
    fn load(kind: &EventKind) -> Option<&PartitionLoad> {
        match kind {
            EventKind::PartitionLoad(load) => Some(load),
            _ => None,
        }
    }
    events.iter().filter_map(load).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Run and batch.
type Which<'a> = (&'a str, u64);

fn of_progress(progress: &Progress) -> Which<'_> {
    (progress.query.run.as_deref().unwrap(), progress.batch.unwrap().0)
}

/// Every recording, with all that is read of it.
fn for_every_recording(mut check: impl FnMut(&Recording, &[EventKind])) {
    for recording in spark_ui::all() {
        let version = recording.version.clone();
        let (server, _) = spark_ui::serve(recording, "");
        let events = read(&server.address, all_of_it());
        assert_eq!(notes(&events), [] as [&str; 0], "{version}");
        assert_eq!(server.most_at_once(), 1, "one question at a time");
        check(&spark_ui::of(&version), &events);
    }
}

#[test]
fn every_microbatch_is_told_once_with_its_time_and_rows() {
    for_every_recording(|recording, events| {
        let told: BTreeMap<Which<'_>, &Progress> =
            progress(events).into_iter().map(|one| (of_progress(one), one)).collect();
        assert_eq!(told.len(), progress(events).len(), "each once");
        let mut expected = BTreeSet::new();
        for (run, (query, truth)) in recording.runs() {
            for reported in list(&truth["progress"]) {
                let which = (run, reported["batchId"].as_u64().unwrap());
                let what = format!("{} {} {which:?}", recording.version, query["name"]);
                expected.insert(which);
                let one = told.get(&which).unwrap_or_else(|| panic!("{what}"));
                check_progress(&what, recording, query, reported, one);
            }
        }
        assert_eq!(told.into_keys().collect::<BTreeSet<_>>(), expected);
    });
}

/// Queries whose sink is a function (`foreachBatch`). Before 4.1 what it does with the rows begins
/// with rows that are given, so that the interface shows neither the source nor the state.
fn is_hidden(recording: &Recording, query: &Value) -> bool {
    recording.version.as_str() < "4.1" && (query["name"] == "twice" || query["name"] == "failing")
}

fn check_progress(
    what: &str,
    recording: &Recording,
    query: &Value,
    reported: &Value,
    one: &Progress,
) {
    assert_eq!(one.told_by, Teller::Plan);
    assert_eq!(one.query.name.as_deref(), query["name"].as_str(), "{what}");
    // The plan begins within the trigger, and takes up most of `addBatch`; a busy machine may take
    // a while before the first plan begins.
    let trigger = reported["timestamp"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let after = one.timestamp.unwrap().0 - trigger.as_millisecond();
    let whole = reported["durationMs"]["triggerExecution"].as_i64().unwrap();
    assert!((0..=whole).contains(&after), "{what}: {after} of {whole}");
    let [(phase, took)] = one.phases.as_slice() else { panic!("{what}: {:?}", one.phases) };
    let add_batch = reported["durationMs"]["addBatch"].as_i64().unwrap();
    let fits = (add_batch / 2..=add_batch + 5).contains(&i64::try_from(*took).unwrap());
    assert!(phase == "addBatch" && fits, "{what}: {took}, {add_batch}");
    if is_hidden(recording, query) {
        assert_eq!((one.rows_in, one.operators.len()), (None, 0), "{what}");
        return;
    }
    // A join has two sources.
    let rows_in = (query["name"] != "join").then(|| reported["numInputRows"].as_u64().unwrap());
    assert_eq!(one.rows_in, rows_in, "{what}");
    let operators = list(&reported["stateOperators"]);
    assert_eq!(one.operators.len(), operators.len(), "{what}");
    for (place, (told, reported)) in one.operators.iter().zip(operators).enumerate() {
        let batch = one.batch.unwrap().0;
        check_operator(&format!("{what} operator {place}"), query, batch, place, told, reported);
    }
}

/// Rows equal those that Spark's reader counted, and those that were reported, which a sink that
/// runs the plan two times doubles.
fn check_operator(
    what: &str,
    query: &Value,
    batch: u64,
    place: usize,
    told: &OperatorProgress,
    reported: &Value,
) {
    let times = if query["name"] == "twice" { 2 } else { 1 };
    let count = |name: &str| reported[name].as_u64().unwrap() / times;
    if query["rows_tracked"] == false {
        // The interface of 3.5 says so itself; later ones say 0.
        let shows = what.starts_with("3.5") || count("numRowsUpdated") > 0;
        let expected = if shows { Rows::Untracked } else { Rows::Known(0) };
        assert_eq!(told.rows, expected, "{what}");
    } else {
        assert_eq!(told.rows, Rows::Known(count("numRowsTotal")), "{what}");
        let counted = list(&query["rows"])
            .iter()
            .find(|rows| rows["batch"] == batch && rows["operator"] == place)
            .unwrap_or_else(|| panic!("{what}: not counted"));
        let sum: u64 = list(&counted["partitions"]).iter().map(|it| it.as_u64().unwrap()).sum();
        assert_eq!(told.rows, Rows::Known(sum), "{what}");
    }
    assert_eq!(told.updated, Some(count("numRowsUpdated")), "{what}");
    assert_eq!(told.removed, Some(count("numRowsRemoved")), "{what}");
    let instances = reported["numStateStoreInstances"].as_u64().unwrap() / times;
    assert_eq!(told.instances, Some(instances), "{what}");
    if query["name"] != "total" {
        assert_eq!(told.partitions, reported["numShufflePartitions"].as_u64(), "{what}");
    }
    // One decimal of its unit, which is at most a tenth of two units.
    let memory = count("memoryUsedBytes");
    let about = told.memory.unwrap().0;
    assert!(about.abs_diff(memory) <= memory / 20 + 1, "{what}: {about}, {memory}");
    let commit = count("commitTimeMs");
    let about = told.commit_ms.unwrap();
    let exact = commit < 1_000 && times == 1;
    assert!(if exact { about == commit } else { about.abs_diff(commit) <= 2_000 }, "{what}");
}

#[test]
fn every_partition_is_told_as_the_event_log_tells_it() {
    for_every_recording(|recording, events| {
        let mut told: BTreeSet<Which<'_>> = BTreeSet::new();
        for load in loads(events) {
            let which = (load.query.run.as_deref().unwrap(), load.batch.unwrap().0);
            let what = format!("{} {which:?} {:?}", recording.version, load.operator_name);
            told.insert(which);
            assert_eq!(load.expected, Some(u32::try_from(load.tasks.len()).unwrap()), "{what}");
            let stages = stages_of(recording, which);
            let same = stages.values().filter(|stage| is_same(stage, load)).count();
            assert_eq!(same, 1, "{what}: one stage did just this\n{stages:#?}\n{load:#?}");
        }
        for one in progress(events) {
            let which = of_progress(one);
            let of_it = |load: &&&PartitionLoad| {
                (load.query.run.as_deref(), load.batch) == (one.query.run.as_deref(), one.batch)
            };
            let ids: BTreeSet<_> =
                loads(events).iter().filter(of_it).map(|load| load.operator.unwrap().0).collect();
            let all = u32::try_from(one.operators.len()).unwrap();
            assert_eq!(ids, (0..all).collect(), "{} {which:?}", recording.version);
        }
        assert!(told.len() > 15, "{}", told.len());
    });
}

/// The stateful stages of a microbatch, and what the event log says of their tasks.
fn stages_of<'r>(recording: &'r Recording, which: Which<'_>) -> BTreeMap<u64, Vec<&'r Value>> {
    let mut stages: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    for task in list(&recording.truth["tasks"]) {
        let is_of = task["run_id"] == which.0 && task["batch"] == which.1;
        if is_of && task["stateful"] == true {
            stages.entry(task["stage"].as_u64().unwrap()).or_default().push(task);
        }
    }
    for tasks in stages.values_mut() {
        tasks.sort_by_key(|task| task["partition"].as_u64());
    }
    stages
}

fn is_same(stage: &[&Value], load: &PartitionLoad) -> bool {
    let same = |truth: &Value, told: &TaskLoad| {
        let number = |name: &str| truth[name].as_u64();
        u64::from(told.partition.0) == number("partition").unwrap()
            && told.arriving == number("records")
            && told.arriving_bytes.map(|bytes| bytes.0) == number("bytes")
            && told.task_ms == number("task_ms")
            && told.gc_ms == number("gc_ms")
            && told.spilled.map(|bytes| bytes.0) == number("spilled")
            && told.fetch_wait_ms == number("fetch_wait_ms")
            && told.executor.as_deref() == truth["executor"].as_str()
            && told.host.as_deref() == truth["host"].as_str()
            // The interface does not have these.
            && told.rows.is_none()
            && told.commit_ms.is_none()
    };
    stage.len() == load.tasks.len()
        && stage.iter().zip(&load.tasks).all(|(truth, told)| same(truth, told))
}

#[test]
fn a_failure_is_told_with_its_reason_where_there_is_one_and_a_stop_is_none() {
    for_every_recording(|recording, events| {
        let mut ends = BTreeMap::new();
        for kind in events {
            if let EventKind::Terminated(ended) = kind {
                ends.insert(ended.query.name.as_deref().unwrap(), ended);
            }
        }
        let version = &recording.version;
        assert_eq!(ends.keys().copied().collect::<Vec<_>>(), ["failing", "stopped"], "{version}");
        assert_eq!(ends["stopped"].exception, None, "{version}");
        let exception = ends["failing"].exception.as_deref().unwrap();
        let says_why = exception.contains("the table LEDGER is locked");
        assert!(says_why || exception.contains("does not say why"), "{version}: {exception}");
        // The interface has the messages of plans from 4.1 on.
        assert_eq!(says_why, version.as_str() >= "4.1", "{version}");
    });
}

#[test]
fn the_environment_is_told_without_secrets() {
    for_every_recording(|recording, events| {
        let Some(EventKind::Environment(told)) = events.first() else { panic!("first of all") };
        assert_eq!(told.spark_version.as_deref(), Some(recording.version.as_str()));
        assert_eq!(told.application.as_deref(), Some(recording.application()));
        let conf = |wanted: &str| told.confs.iter().find(|(name, _)| name == wanted);
        assert!(conf("spark.master").is_some_and(|(_, value)| value == "local[2,2]"));
        assert!(!format!("{told:?}").contains("hunter2"));
    });
}

#[test]
fn a_running_application_is_told_the_same_as_one_that_is_read_at_once() {
    let recording = spark_ui::of("4.3.0");
    let times: Vec<i64> = list(&recording.answers["sql"])
        .iter()
        .flat_map(|plan| {
            let begun = moment(plan["submissionTime"].as_str().unwrap());
            [begun, begun + plan["duration"].as_i64().unwrap()]
        })
        .collect();
    let (first, last) = (*times.iter().min().unwrap(), *times.iter().max().unwrap());
    let (server, view) = spark_ui::serve(recording, "/proxy/app");
    let address = format!("{}/proxy/app/jobs/", server.address);
    let at_once = read(&address, all_of_it());
    let batches = progress(&at_once).len();

    view.lock().unwrap().now = Some(first);
    let clock = thread::spawn(move || {
        for step in 1..=40 {
            thread::sleep(Duration::from_millis(40));
            view.lock().unwrap().now = Some(first + (last - first) * step / 40);
        }
    });
    let is_over = |events: &[EventKind]| {
        let ends = events.iter().filter(|kind| matches!(kind, EventKind::Terminated(_)));
        progress(events).len() == batches && ends.count() == 2
    };
    let followed = follow(&address, all_of_it(), is_over);
    clock.join().unwrap();
    assert_eq!(notes(&followed), [] as [&str; 0]);
    let by_batch = |events: &[EventKind]| {
        let mut all: Vec<String> = events
            .iter()
            .filter(|kind| !matches!(kind, EventKind::Started(_)))
            .map(|kind| format!("{kind:?}"))
            .collect();
        all.sort();
        all
    };
    assert_eq!(by_batch(&followed), by_batch(&at_once));
    let started = followed.iter().filter(|kind| matches!(kind, EventKind::Started(_))).count();
    assert_eq!(started, spark_ui::of("4.3.0").runs().len(), "a new run each time");
}

#[test]
fn what_is_no_longer_kept_is_said_with_the_conf_that_keeps_more() {
    let see = |view: View| {
        let (server, shown) = spark_ui::serve(spark_ui::of("3.5.9"), "");
        *shown.lock().unwrap() = view;
        read(&server.address, all_of_it())
    };
    let whole = progress(&see(View::default())).len();

    let events = see(View { stages: Some(4), ..View::default() });
    assert_eq!(progress(&events).len(), whole, "times are still told");
    let [note] = notes(&events)[..] else { panic!("{:?}", notes(&events)) };
    assert!(note.contains("newest 1000 stages (spark.ui.retainedStages)"), "{note}");

    let events = see(View { tasks: Some(3), ..View::default() });
    let [note] = notes(&events)[..] else { panic!("{:?}", notes(&events)) };
    assert!(note.contains("of 5 tasks") && note.contains("only 3"), "{note}");
    assert!(note.contains("spark.ui.retainedTasks"), "{note}");
    let of_five = loads(&events).iter().filter(|load| load.expected == Some(5)).count();
    assert!(of_five > 0 && loads(&events).iter().all(|load| load.tasks.len() <= 3));

    let events = see(View { plans: Some(10), ..View::default() });
    assert!((1..whole).contains(&progress(&events).len()));
}

#[test]
fn of_many_microbatches_only_the_newest_are_asked_for_in_full() {
    let (server, _) = spark_ui::serve(spark_ui::of("4.3.0"), "");
    let events = read(&server.address, Options { newest: 3, ..Options::default() });
    let with_operators = progress(&events).iter().filter(|it| !it.operators.is_empty()).count();
    let whole = progress(&read(&server.address, all_of_it())).len();
    assert_eq!(progress(&events).len(), whole);
    // The newest three are a batch that was done, and those of queries that failed or were stopped.
    assert_eq!(with_operators, 1);
    let [note] = notes(&events)[..] else { panic!("{:?}", notes(&events)) };
    assert!(note.contains("only the times are told"), "{note}");
}

#[test]
fn tasks_are_asked_for_by_the_page() {
    let mut recording = spark_ui::of("4.3.0");
    let load = |events: &[EventKind]| loads(events).last().unwrap().tasks.len();
    let stage =
        {
            let (server, _) = spark_ui::serve(spark_ui::of("4.3.0"), "");
            read(&server.address, all_of_it());
            let asked = server.requests();
            let tasks = asked.iter().rev().find(|it| it.path.ends_with("/taskList")).unwrap();
            assert!(asked.iter().filter(|it| it.path.ends_with("/sql")).all(|it| {
                it.query("length").is_some() && it.query("details") == Some("false")
            }));
            tasks.path.split('/').rev().nth(2).unwrap().to_owned()
        };
    let one = recording.answers["tasks"][format!("{stage}/0")][0].clone();
    let many: Vec<Value> = (0..1_234)
        .map(|partition| {
            let mut task = one.clone();
            (task["taskId"], task["partitionId"]) = (json!(partition), json!(partition));
            task
        })
        .collect();
    recording.answers["tasks"][format!("{stage}/0")] = json!(many);
    recording.answers["stages"][&stage][0]["numTasks"] = json!(many.len());
    let (server, _) = spark_ui::serve(recording, "");
    assert_eq!(load(&read(&server.address, all_of_it())), 1_234);
    let path = format!("/stages/{stage}/0/taskList");
    let pages = server.requests().iter().filter(|it| it.path.ends_with(&path)).count();
    assert_eq!(pages, 7, "1234 tasks are six pages of 200 and one of 34");
}

/// What is said when a server answers everything in this way.
fn said(answer: impl Fn() -> Answer + Send + Sync + 'static, options: Options) -> String {
    let server = Server::start(move |_| answer());
    let begun = Instant::now();
    let events = read(&format!("{}/gw/app", server.address), options);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let [note] = notes(&events)[..] else { panic!("{events:?}") };
    assert_eq!(events.len(), 1);
    assert!(note.starts_with(&format!("{}/gw/app: ", server.address)), "{note}");
    note.to_owned()
}

#[test]
fn what_goes_wrong_is_said_with_what_to_do() {
    let html = || b"<!DOCTYPE html><html>log in</html>".to_vec();
    let whole =
        |status, kind, body: &'static [u8]| move || Answer::Whole(status, kind, body.to_vec());
    for (note, words) in [
        (said(move || Answer::Whole(200, "text/html", html()), impatient()), "not a Spark UI"),
        (said(whole(200, "application/json", b"<html>"), impatient()), "not a Spark UI"),
        (said(whole(401, "text/plain", b"who?"), impatient()), "--ui-token-env"),
        (said(whole(403, "text/html", b"<html>"), impatient()), "access denied (403)"),
        (said(whole(404, "text/html", b"<html>"), impatient()), "another prefix"),
        (said(whole(404, "text/plain", b""), impatient()), "another prefix"),
        (said(whole(500, "text/html", b"<html>"), impatient()), "status 500"),
        (said(whole(200, "application/json", b"{\"a\":"), impatient()), "unlike those of Spark"),
        (said(whole(200, "application/json", b"{\"a\":1}"), impatient()), "unlike those of Spark"),
        (said(whole(200, "application/json", b"[]"), impatient()), "without applications"),
        (
            said(
                || Answer::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n[{".to_vec()),
                impatient(),
            ),
            "broke",
        ),
        (said(|| Answer::Raw(Vec::new()), impatient()), "broke"),
        (said(|| Answer::Raw(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()), impatient()), "broke"),
        (said(|| Answer::Silence(Duration::from_secs(30)), impatient()), "no whole answer within"),
        (
            said(|| Answer::Endless(b" ".to_vec(), Duration::from_millis(20)), impatient()),
            "no whole answer",
        ),
        (
            said(|| Answer::Endless(vec![b' '; 100_000], Duration::ZERO), impatient()),
            "more than 1048576 bytes",
        ),
        (
            said(|| Answer::Elsewhere("https://login.example/x?secret=1".into()), impatient()),
            "(login.example)",
        ),
        (said(|| Answer::Elsewhere("/again".into()), impatient()), "redirects"),
    ] {
        assert!(note.contains(words), "{words}: {note}");
        assert!(!note.contains("secret"), "{note}");
    }
}

#[test]
fn nobody_there_is_said() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let events = read(&format!("http://127.0.0.1:{port}"), impatient());
    let [note] = notes(&events)[..] else { panic!("{events:?}") };
    assert!(note.contains("connection refused") && note.contains("Bound SparkUI"), "{note}");
    let events = read("http://no-such-host.invalid:4040", impatient());
    assert_eq!(notes(&events).len(), 1, "{events:?}");
}

#[test]
fn a_redirect_to_the_same_host_is_followed_with_the_token() {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "dapi-secret-1\n").unwrap();
    let recording = spark_ui::of("3.5.9");
    let server = Server::start(move |request| {
        if request.header("authorization") != Some("Bearer dapi-secret-1") {
            return Answer::Whole(401, "text/plain", b"dapi-secret-1 is wrong".to_vec());
        }
        match request.path.strip_prefix("/old") {
            Some(rest) => Answer::Elsewhere(format!("/new{rest}")),
            None => spark_ui::answer(&recording, "/new", &View::default(), request),
        }
    });
    let address = format!("{}/old", server.address);
    let with = Options { credentials: Credentials::File(token.clone()), ..impatient() };
    assert_eq!(notes(&read(&address, with)).len(), 0);
    std::fs::write(&token, "dapi-secret-2").unwrap();
    let with = Options { credentials: Credentials::File(token), ..impatient() };
    assert!(!format!("{with:?}").contains("secret"));
    let events = read(&address, with);
    let [note] = notes(&events)[..] else { panic!("{events:?}") };
    assert!(note.contains("access denied (401)") && !note.contains("secret"), "{note}");
}

#[test]
fn a_source_that_fails_is_asked_again_and_says_so_once() {
    let recording = spark_ui::of("4.3.0");
    let asked = AtomicUsize::new(0);
    // It fails at the beginning, then at every 40th question.
    let server = Server::start(move |request| match asked.fetch_add(1, Ordering::SeqCst) {
        0..4 => Answer::Whole(503, "text/html", b"<html>".to_vec()),
        count if count % 40 == 0 => Answer::Raw(Vec::new()),
        _ => spark_ui::answer(&recording, "", &View::default(), request),
    });
    let (whole, _) = spark_ui::serve(spark_ui::of("4.3.0"), "");
    let batches = progress(&read(&whole.address, all_of_it())).len();
    let events = follow(&server.address, impatient(), |events| {
        progress(events).len() == batches && matches!(events.last(), Some(EventKind::Terminated(_)))
    });
    let said = notes(&events);
    assert!(said[0].contains("status 503") && said[0].contains("asked again"), "{said:?}");
    assert!(said[1..].iter().all(|note| note.contains("broke")), "{said:?}");
    let told: BTreeSet<_> = progress(&events).into_iter().map(of_progress).collect();
    assert_eq!(told.len(), batches, "each once");
    let again = events.iter().filter(|kind| matches!(kind, EventKind::Environment(_))).count();
    assert_eq!(again, said.len(), "after each interruption it is said that it is over");
}

#[test]
fn another_application_in_the_same_place_is_told_from_its_beginning() {
    let (first, second) = (spark_ui::of("3.5.9"), spark_ui::of("4.3.0"));
    let (old, new) = (first.application().to_owned(), second.application().to_owned());
    let asked = AtomicUsize::new(0);
    let server = Server::start(move |request| {
        let which = if asked.fetch_add(1, Ordering::SeqCst) < 60 { &first } else { &second };
        spark_ui::answer(which, "", &View::default(), request)
    });
    let last = |events: &[EventKind]| {
        let is_stop = |kind: &EventKind| matches!(kind, EventKind::Terminated(end) if end.query.name.as_deref() == Some("stopped"));
        events.last().is_some_and(is_stop) && server.requests().len() > 100
    };
    let events = follow(&server.address, impatient(), last);
    let applications: Vec<_> = events
        .iter()
        .filter_map(|kind| match kind {
            EventKind::Environment(told) => told.application.clone(),
            _ => None,
        })
        .collect();
    assert_eq!(applications, [old.clone(), new]);
    assert!(notes(&events)[0].contains(&format!("no such app: {old}")), "{:?}", notes(&events));
    let versions: BTreeSet<_> = progress(&events).into_iter().map(of_progress).collect();
    let known = spark_ui::of("4.3.0");
    assert!(known.runs().keys().any(|run| versions.iter().any(|(told, _)| told == run)));
}

#[test]
fn an_application_that_ended_is_read_once_even_when_followed() {
    let mut recording = spark_ui::of("4.3.0");
    recording.answers["applications"][0]["attempts"][0]["completed"] = json!(true);
    let application = recording.application().to_owned();
    let (server, _) = spark_ui::serve(recording, "");
    let address = format!("{}/history/{application}/jobs/", server.address);
    let events = read(&address, following(all_of_it()));
    assert!(!progress(&events).is_empty());
    let events = read(&format!("{}/history/other", server.address), all_of_it());
    assert!(notes(&events)[0].contains("no application other"), "{:?}", notes(&events));
}

#[test]
fn giving_up_does_not_wait_for_a_source_that_hangs() {
    let server = Server::start(|_| Answer::Silence(Duration::from_secs(30)));
    let cancel = Cancel::default();
    let ui = open(&server.address, following(impatient()));
    let begun = Instant::now();
    let ended = thread::scope(|scope| {
        let reading = scope.spawn(|| ui.read(&cancel, &mut |_| ControlFlow::Continue(())));
        thread::sleep(Duration::from_millis(100));
        cancel.cancel();
        reading.join().unwrap()
    });
    assert_eq!(ended, Ended::Stopped);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

/// A small generator of numbers, so that a failure can be repeated.
fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % below.max(1)
    }
}

/// Replaces about one in `rarity` values anywhere in an answer.
fn spoil(value: &mut Value, rarity: usize, next: &mut impl FnMut(usize) -> usize) {
    if next(rarity) == 0 {
        *value = match next(8) {
            0 => Value::Null,
            1 => json!(-1),
            2 => json!(u64::MAX),
            3 => json!("x\u{1b}[2J\u{202e}"),
            4 => json!([]),
            5 => json!({}),
            6 => json!(1e300),
            _ => json!([[value.clone()], value.clone()]),
        };
        return;
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| spoil(item, rarity, next)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|field| spoil(field, rarity, next));
        }
        _ => {}
    }
}

/// Follows a recording that is spoilt at about one in `rarity` values, for so many questions, and
/// gives how many events it told.
fn follow_spoilt(recording: &Arc<Recording>, seed: u64, rarity: usize, questions: u64) -> usize {
    let (version, recording) = (recording.version.clone(), Arc::clone(recording));
    let (asked, cancel) = (AtomicUsize::new(0), Cancel::default());
    let enough = cancel.clone();
    let server = Server::start(move |request| {
        let count = asked.fetch_add(1, Ordering::SeqCst) as u64;
        if count >= questions {
            enough.cancel();
        }
        match spark_ui::answer(&recording, "", &View::default(), request) {
            Answer::Whole(200, kind, body) if count > 2 => {
                let mut next = numbers(seed * 10_000 + count);
                let mut value: Value = serde_json::from_slice(&body).unwrap();
                spoil(&mut value, rarity, &mut next);
                Answer::Whole(200, kind, value.to_string().into_bytes())
            }
            answer => answer,
        }
    });
    // Pauses are some intervals, however often it fails.
    let options = Options { interval: Duration::from_micros(1), ..following(impatient()) };
    let mut told = 0;
    let ended = open(&server.address, options).read(&cancel, &mut |_| {
        told += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(server.most_at_once(), 1);
    // What is spoilt may also say that the application has ended.
    assert!(ended == Ended::Stopped || told > 0, "{version} {seed}");
    told
}

#[test]
fn answers_that_are_spoilt_in_any_place_end_with_words_and_no_panic() {
    let begun = Instant::now();
    let recordings = ["3.5.9", "4.3.0"].map(|version| Arc::new(spark_ui::of(version)));
    let told: Vec<usize> = (0..18)
        .map(|seed| {
            let place = usize::try_from(seed).unwrap();
            let rarity = [30, 300, 3_000][place / 2 % 3];
            follow_spoilt(&recordings[place % 2], seed, rarity, 80)
        })
        .collect();
    assert!(
        told.iter().filter(|told| **told > 10).count() >= 6,
        "much is told all the same: {told:?}"
    );
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}
