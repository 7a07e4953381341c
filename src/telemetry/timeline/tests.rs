use super::*;
use crate::telemetry::{
    EventTime, Lag, Place as Stands, Rows, SourceProgress, Started, TaskLoad, Teller, Terminated,
    Watermark,
};
use crate::units::{OperatorId, PartitionId};

fn query(id: &str, run: &str) -> QueryRef {
    QueryRef { id: Some(id.into()), run: Some(run.into()), name: Some("agg".into()) }
}

fn event(kind: EventKind) -> Event {
    Event { place: Stands { source: "log".into(), line: Some(1) }, kind }
}

/// Batch `batch` of a run, at `at` seconds, that took `took` milliseconds.
fn report(run: &str, batch: u64, at: i64, took: u64) -> Progress {
    Progress {
        told_by: Teller::Query,
        query: query("q", run),
        batch: Some(BatchId(batch)),
        timestamp: Some(UnixMillis(at * 1_000)),
        duration_ms: Some(took),
        phases: vec![("addBatch".to_owned(), took), ("triggerExecution".to_owned(), took)],
        rows_in: Some(batch * 10),
        input_rate: None,
        processed_rate: None,
        event_time: EventTime::default(),
        watermark: Watermark::None,
        operators: Vec::new(),
        sources: Vec::new(),
        sink: None,
        other: serde_json::Map::new(),
    }
}

fn progress(run: &str, batch: u64, at: i64) -> Event {
    event(EventKind::Progress(Box::new(report(run, batch, at, 100))))
}

fn started(run: &str, at: i64) -> Event {
    event(EventKind::Started(Started {
        query: query("q", run),
        timestamp: Some(UnixMillis(at * 1_000)),
        checkpoint: None,
    }))
}

fn terminated(run: &str, exception: Option<&str>) -> Event {
    event(EventKind::Terminated(Terminated {
        query: QueryRef { name: None, ..query("q", run) },
        timestamp: None,
        exception: exception.map(str::to_owned),
        error_class: None,
        class_in_text: exception.map(|_| "TASK_FAILED".to_owned()),
    }))
}

fn load(run: &str, batch: u64, tasks: &[(u32, u64)]) -> Event {
    let task = |(partition, arriving): &(u32, u64)| TaskLoad {
        partition: PartitionId(*partition),
        arriving: Some(*arriving),
        ..TaskLoad::default()
    };
    event(EventKind::PartitionLoad(Box::new(PartitionLoad {
        query: query("q", run),
        batch: Some(BatchId(batch)),
        operator: Some(OperatorId(0)),
        operator_name: Some("StateStoreSave".to_owned()),
        timestamp: None,
        tasks: tasks.iter().map(task).collect(),
        expected: None,
    })))
}

fn told(events: impl IntoIterator<Item = Event>) -> Timeline {
    let mut timeline = Timeline::new(["log".into()]);
    timeline.hear(0, News::Events(events.into_iter().collect()));
    timeline
}

fn only(timeline: &Timeline) -> &QueryTimeline {
    assert_eq!(timeline.queries().len(), 1);
    &timeline.queries()[0]
}

fn ids(query: &QueryTimeline) -> Vec<u64> {
    query.reported().map(|(_, batch)| batch.id.0).collect()
}

/// `7 8 |2 9 10` with gaps as `(8-10)`.
fn drawn(columns: &[Column<'_>]) -> String {
    let word = |column: &Column<'_>| match column {
        Column::Batch(_, batch) => batch.id.to_string(),
        Column::Seam(run) => format!("|{}", run.id.as_deref().unwrap_or("?")),
        Column::Gap { after, before } => format!("({after}-{before})"),
    };
    columns.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_restart_is_a_seam_and_a_missing_batch_a_gap() {
    // Batch 9 was an offline repartition: it reports nothing, and the query restarts after it.
    let timeline = told([
        progress("one", 7, 10),
        progress("one", 8, 20),
        terminated("one", None),
        started("two", 60),
        progress("two", 10, 61),
        progress("two", 11, 71),
    ]);
    let query = only(&timeline);
    assert_eq!(drawn(&query.track(80, None)), "7 8 (8-10) |two 10 11");
    assert_eq!(drawn(&query.track(3, None)), "|two 10 11");
    assert_eq!(query.restarts(), 1);
    assert_eq!(query.activity(), Activity::Running);
    let first = &query.runs()[0];
    assert!(first.ended.as_ref().is_some_and(|ended| !ended.has_failed()));
    assert_eq!(query.current().and_then(Run::began), Some(UnixMillis(60_000)));
}

#[test]
fn the_chosen_batch_is_always_among_the_columns() {
    let timeline = told((0..100).map(|batch| progress("one", batch, batch.cast_signed())));
    let query = only(&timeline);
    let run = query.runs()[0].key;
    let at = |batch| Some(Place { run, batch: BatchId(batch) });
    assert_eq!(drawn(&query.track(5, at(97))), "95 96 97 98 99", "in view: nothing moves");
    assert_eq!(drawn(&query.track(5, at(50))), "48 49 50 51 52");
    assert_eq!(drawn(&query.track(5, at(0))), "0 1 2");
    assert_eq!(drawn(&query.track(0, at(0))), "");
}

#[test]
fn stepping_goes_over_seams_and_stays_within_what_there_is() {
    let timeline = told([
        progress("one", 7, 10),
        progress("one", 8, 20),
        progress("two", 8, 60),
        progress("two", 9, 70),
    ]);
    let query = only(&timeline);
    let newest = query.newest().unwrap();
    assert_eq!(newest.batch, BatchId(9));
    let back = query.step(newest, -2);
    assert_eq!((back.batch, back.run), (BatchId(8), query.runs()[0].key), "run by two runs");
    assert_eq!(query.step(back, 1).run, query.runs()[1].key);
    assert_eq!(query.step(back, -100), query.oldest().unwrap());
    assert_eq!(query.step(back, 100), newest);
    assert_eq!(query.find(BatchId(8)).unwrap().run, query.runs()[1].key, "the newest run's");
}

#[test]
fn events_that_come_late_find_their_place() {
    let timeline = told([
        progress("two", 11, 71),
        progress("one", 8, 20),
        progress("two", 10, 61),
        progress("one", 7, 10),
        terminated("two", Some("boom")),
        started("one", 5),
        started("two", 60),
    ]);
    let query = only(&timeline);
    assert_eq!(ids(query), [7, 8, 10, 11]);
    assert!(matches!(query.activity(), Activity::Failed(ended)
        if ended.class.as_deref() == Some("TASK_FAILED")));
}

#[test]
fn a_batch_told_twice_is_one_and_what_one_telling_lacks_the_other_gives() {
    let mut bare = report("one", 3, 30, 100);
    bare.rows_in = None;
    bare.duration_ms = None;
    bare.phases.clear();
    let full = Progress { watermark: Watermark::At(UnixMillis(9)), ..report("one", 3, 30, 250) };
    for tellings in [[&bare, &full, &full], [&full, &bare, &full]] {
        let events = tellings.map(|one| event(EventKind::Progress(Box::new(one.clone()))));
        let timeline = told(events);
        let query = only(&timeline);
        assert_eq!(ids(query), [3]);
        let batch = query.batch(query.newest().unwrap()).unwrap();
        assert_eq!((batch.numbers.took, batch.numbers.rows_in), (Some(250), Some(30)));
        assert_eq!(batch.numbers.phases.of_phase(Phase::Execute), 250);
        assert_eq!(batch.numbers.watermark, Watermark::At(UnixMillis(9)));
        assert_eq!(batch.progress().unwrap().phases.len(), 2);
    }
}

#[test]
fn tasks_belong_to_their_batch_whether_they_come_before_or_after_it() {
    let timeline = told([
        load("one", 4, &[(0, 10), (1, 30)]),
        progress("one", 4, 40),
        load("one", 4, &[(2, 5), (1, 31)]),
        load("one", 5, &[(0, 7)]),
    ]);
    let query = only(&timeline);
    assert_eq!(ids(query), [4], "a batch under way is not one that was reported");
    let batch = query.batch(query.newest().unwrap()).unwrap();
    let arriving = |partition| {
        batch.task_of(OperatorId(0), PartitionId(partition)).and_then(|task| task.arriving)
    };
    assert_eq!([0, 1, 2, 3].map(arriving), [Some(10), Some(31), Some(5), None]);
    assert_eq!(batch.load_of(OperatorId(1)).map(|_| ()), None);
}

#[test]
fn a_trigger_that_found_nothing_is_idleness_and_no_batch() {
    let mut waits = report("one", 4, 50, 3);
    waits.phases = vec![("latestOffset".to_owned(), 2), ("triggerExecution".to_owned(), 3)];
    let waits = event(EventKind::Progress(Box::new(waits)));
    let timeline = told([progress("one", 3, 30), waits.clone()]);
    assert_eq!(ids(only(&timeline)), [3]);
    assert_eq!(only(&timeline).activity(), Activity::Idle(UnixMillis(50_000)));
    let timeline = told([progress("one", 3, 30), waits, progress("one", 4, 60)]);
    assert_eq!(ids(only(&timeline)), [3, 4]);
    assert_eq!(only(&timeline).activity(), Activity::Running);
}

#[test]
fn queries_are_told_apart_by_id_and_one_without_is_found_by_its_run() {
    let mut timeline = told([progress("one", 1, 10)]);
    let by_run = QueryRef { id: None, run: Some("one".into()), name: None };
    timeline.fold(0, event(EventKind::Idle { query: by_run, timestamp: Some(UnixMillis(90_000)) }));
    assert!(matches!(only(&timeline).activity(), Activity::Idle(_)));
    let by_name = QueryRef { id: None, run: None, name: Some("agg".into()) };
    timeline.fold(0, event(EventKind::Idle { query: by_name, timestamp: None }));
    assert_eq!(timeline.queries().len(), 1);
    let other = Progress { query: query("r", "three"), ..report("three", 1, 10, 5) };
    timeline.fold(0, event(EventKind::Progress(Box::new(other))));
    assert_eq!(timeline.queries().len(), 2, "the same name is not the same query");
    timeline.fold(0, event(EventKind::Idle { query: QueryRef::default(), timestamp: None }));
    assert_eq!(timeline.queries().len(), 2);
}

#[test]
fn the_query_of_a_checkpoint_is_chosen_by_its_id_or_plainly_not_at_all() {
    let one = told([progress("one", 1, 10)]);
    assert!(matches!(one.choose(Some("q")), Choice::Same(_)));
    assert!(matches!(one.choose(None), Choice::Only(_)), "the checkpoint names none");
    assert!(matches!(one.choose(Some("z")), Choice::Others));
    assert!(matches!(Timeline::new([]).choose(Some("q")), Choice::Nobody));
    let mut two = one;
    let other = Progress { query: query("r", "three"), ..report("three", 1, 10, 5) };
    two.fold(0, event(EventKind::Progress(Box::new(other))));
    assert!(
        matches!(two.choose(Some("r")), Choice::Same(query) if query.id.as_deref() == Some("r"))
    );
    assert!(matches!(two.choose(None), Choice::Unclear));
    let nameless = QueryRef { id: None, run: None, name: Some("x".into()) };
    let other = Progress { query: nameless, ..report("three", 1, 10, 5) };
    two.fold(0, event(EventKind::Progress(Box::new(other))));
    assert!(matches!(two.choose(Some("z")), Choice::Only(query) if query.id.is_none()));
}

#[test]
fn backlogs_of_sources_are_added_up() {
    let source = |offsets, worst| SourceProgress {
        description: None,
        start: None,
        end: None,
        latest: None,
        rows_in: None,
        input_rate: None,
        processed_rate: None,
        metrics: Vec::new(),
        lag: Lag { offsets, worst, bytes: None, files: None },
        other: serde_json::Map::new(),
    };
    let two = Progress {
        sources: vec![source(Some(1_000), Some(700)), source(Some(204), Some(204))],
        ..report("one", 1, 10, 5)
    };
    let numbers = Numbers::of(&two);
    assert_eq!((numbers.behind.offsets, numbers.behind.worst), (Some(1_204), Some(700)));
    assert_eq!(numbers.state_rows, Rows::Unknown);
    assert_eq!(numbers.ended(), Some(UnixMillis(10_005)));
}

#[test]
fn the_oldest_lose_their_fields_first_then_their_place() {
    let mut timeline = Timeline::bounded(["log".into()], 10_000, 10_000, 30);
    for batch in 0..100_u64 {
        timeline.fold(0, progress("one", batch, batch.cast_signed()));
        timeline.fold(0, load("one", batch, &[(0, 1), (1, 2)]));
    }
    let query = only(&timeline);
    assert_eq!(ids(query), (70..100).collect::<Vec<_>>());
    assert_eq!(query.forgotten.batches, 70);
    let full: Vec<_> = query.reported().map(|(_, batch)| batch.progress().is_some()).collect();
    assert!(full.is_sorted() && full[29] && !full[0], "{full:?}");
    let tasks: Vec<_> = query.reported().map(|(_, batch)| batch.loads().next().is_some()).collect();
    assert!(tasks.is_sorted() && tasks[29], "{tasks:?}");
    assert_eq!(query.reported().next().unwrap().1.numbers.rows_in, Some(700), "numbers stay");
    assert!(timeline.fields.weight() <= 10_000 && timeline.tasks.weight() <= 10_000);
}

#[test]
fn old_batches_told_late_do_not_push_out_new_ones() {
    let mut timeline = Timeline::bounded(["log".into()], 10_000, 10_000, 30);
    for batch in (0..100_u64).rev() {
        timeline.fold(0, progress("one", batch, batch.cast_signed()));
    }
    assert_eq!(ids(only(&timeline)), (70..100).collect::<Vec<_>>());
    assert!(only(&timeline).reported().next_back().unwrap().1.progress().is_some());
}

#[test]
fn a_query_that_cannot_start_is_restarted_for_days() {
    let runs = (0..1_500_i64).flat_map(|run| {
        let name = format!("run {run}");
        [started(&name, run * 60), terminated(&name, Some("boom"))]
    });
    let timeline = told(runs);
    let query = only(&timeline);
    assert_eq!((query.runs().len(), query.forgotten.runs, query.restarts()), (1_000, 500, 1_499));
    assert_eq!(query.current().unwrap().id.as_deref(), Some("run 1499"));
}

#[test]
fn the_query_that_was_silent_for_longest_makes_room() {
    let of = |id: usize| {
        let query = query(&format!("q{id}"), &format!("r{id}"));
        let progress = Progress { query, ..report("", 1, 10, 5) };
        event(EventKind::Progress(Box::new(progress)))
    };
    let mut timeline = told((0..64).map(of));
    timeline.fold(0, of(0));
    timeline.fold(0, of(64));
    let ids: Vec<_> = timeline.queries().iter().filter_map(|query| query.id.as_deref()).collect();
    assert_eq!(ids.len(), 64);
    assert!(ids.contains(&"q0") && !ids.contains(&"q1") && ids.contains(&"q64"));
}

#[test]
fn a_source_in_trouble_says_so_until_it_tells_something_again() {
    let mut timeline = told([event(EventKind::Interrupted("cut; read on".to_owned()))]);
    let condition = |timeline: &Timeline| timeline.sources()[0].condition.clone();
    assert_eq!(condition(&timeline), Condition::Interrupted("cut; read on".to_owned()));
    let again_at = Some(UnixMillis(7));
    timeline.hear(0, News::Broken { why: "gone".to_owned(), again_at });
    assert_eq!(condition(&timeline), Condition::Broken { why: "gone".to_owned(), again_at });
    timeline.fold(0, event(EventKind::Unreadable("no JSON".to_owned())));
    timeline.fold(0, progress("one", 1, 1));
    assert_eq!(condition(&timeline), Condition::Told);
    timeline.hear(0, News::Ended);
    let source = &timeline.sources()[0];
    assert_eq!((source.events, source.unreadable, source.interruptions), (1, 1, 1));
    assert_eq!(source.condition, Condition::Ended);
    assert_eq!(source.last_unread.as_ref().unwrap().why, "no JSON");
    timeline.hear(9, News::Ended);
}

#[test]
fn a_repartition_told_in_stages_is_one() {
    let note = |stage, batch| {
        event(EventKind::Repartition(RepartitionNote {
            checkpoint: Some("/ckpt".to_owned()),
            partitions: 8,
            batch,
            timestamp: Some(UnixMillis(1_000)),
            stage,
        }))
    };
    let done = RepartitionStage::Done { duration_ms: Some(6_642) };
    let events = [
        note(RepartitionStage::Begun, None),
        note(RepartitionStage::Planned, Some(BatchId(13))),
        note(done.clone(), Some(BatchId(13))),
    ];
    let timeline = told(events.iter().chain(&events).cloned());
    let [only] = timeline.repartitions() else { panic!("{:?}", timeline.repartitions()) };
    assert_eq!((only.batch, &only.stage), (Some(BatchId(13)), &done));
}

#[test]
fn what_the_query_says_takes_the_place_of_what_its_plan_tells() {
    let said = report("one", 3, 30, 250);
    let planned = || Progress {
        told_by: Teller::Plan,
        timestamp: Some(UnixMillis(40)),
        duration_ms: None,
        phases: vec![("addBatch".to_owned(), 180)],
        ..report("one", 3, 30, 250)
    };
    for tellings in [[said.clone(), planned()], [planned(), said.clone()]] {
        let mut timeline = Timeline::new(["s".into()]);
        for progress in tellings {
            let kind = EventKind::Progress(Box::new(progress));
            let place = Stands { source: "s".into(), line: None };
            timeline.fold(0, Event { place, kind });
        }
        let (_, batch) = timeline.queries()[0].reported().next().unwrap();
        assert_eq!(batch.told_by(), Some(Teller::Query));
        assert_eq!(batch.progress(), Some(&said));
        assert_eq!((batch.numbers.at, batch.numbers.took), (said.timestamp, Some(250)));
    }
}
