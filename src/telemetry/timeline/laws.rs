//! Whatever comes in, in whatever order: no panic, bounded, and telling it twice changes nothing.

use proptest::prelude::*;

use super::*;
use crate::telemetry::{
    EventTime, Place as Stands, Started, TaskLoad, Teller, Terminated, Watermark,
};
use crate::units::{OperatorId, PartitionId};

fn name(of: &'static [&'static str]) -> impl Strategy<Value = Option<Arc<str>>> {
    prop::option::of(prop::sample::select(of).prop_map(Arc::from))
}

fn any_query() -> impl Strategy<Value = QueryRef> {
    (name(&["a", "b"]), name(&["x", "y", "z"]), name(&["n", "m"]))
        .prop_map(|(id, run, name)| QueryRef { id, run, name })
}

fn any_time() -> impl Strategy<Value = Option<UnixMillis>> {
    prop_oneof![
        8 => (0..50_i64).prop_map(|at| Some(UnixMillis(at * 1_000))),
        1 => any::<i64>().prop_map(|at| Some(UnixMillis(at))),
        1 => Just(None),
    ]
}

fn any_batch() -> impl Strategy<Value = Option<BatchId>> {
    prop_oneof![
        8 => (0..30_u64).prop_map(|id| Some(BatchId(id))),
        1 => any::<u64>().prop_map(|id| Some(BatchId(id))),
        1 => Just(None),
    ]
}

fn any_progress() -> impl Strategy<Value = EventKind> {
    let phases = prop::collection::vec(
        (
            prop::sample::select(vec!["addBatch", "walCommit", "triggerExecution", "x"]),
            any::<u64>(),
        ),
        0..4,
    );
    let numbers = (prop::option::of(any::<u64>()), prop::option::of(any::<f64>()));
    let teller = prop::sample::select(vec![Teller::Query, Teller::Plan]);
    (any_query(), any_batch(), any_time(), phases, numbers, teller).prop_map(
        |(query, batch, timestamp, phases, (count, rate), told_by)| {
            EventKind::Progress(Box::new(Progress {
                told_by,
                query,
                batch,
                timestamp,
                duration_ms: count,
                phases: phases.into_iter().map(|(key, ms)| (key.to_owned(), ms)).collect(),
                rows_in: count,
                input_rate: rate,
                processed_rate: rate,
                event_time: EventTime { min: None, avg: None, max: timestamp },
                watermark: timestamp.map_or(Watermark::None, Watermark::At),
                operators: Vec::new(),
                sources: Vec::new(),
                sink: None,
                other: serde_json::Map::new(),
            }))
        },
    )
}

fn any_load() -> impl Strategy<Value = EventKind> {
    let tasks = prop::collection::vec((0..6_u32, prop::option::of(any::<u64>())), 0..8);
    (any_query(), any_batch(), any_time(), prop::option::of(0..3_u32), tasks).prop_map(
        |(query, batch, timestamp, operator, tasks)| {
            let task = |(partition, arriving)| TaskLoad {
                partition: PartitionId(partition),
                arriving,
                ..TaskLoad::default()
            };
            EventKind::PartitionLoad(Box::new(PartitionLoad {
                query,
                batch,
                operator: operator.map(OperatorId),
                operator_name: None,
                timestamp,
                tasks: tasks.into_iter().map(task).collect(),
                expected: None,
            }))
        },
    )
}

fn any_event() -> impl Strategy<Value = Event> {
    let started = (any_query(), any_time()).prop_map(|(query, timestamp)| {
        EventKind::Started(Started { query, timestamp, checkpoint: None })
    });
    let terminated = (any_query(), any_time(), prop::option::of(Just("boom".to_owned())));
    let terminated = terminated.prop_map(|(query, timestamp, exception)| {
        EventKind::Terminated(Terminated {
            query,
            timestamp,
            exception,
            error_class: None,
            class_in_text: None,
        })
    });
    let idle = (any_query(), any_time())
        .prop_map(|(query, timestamp)| EventKind::Idle { query, timestamp });
    let kind = prop_oneof![
        6 => any_progress(),
        4 => any_load(),
        1 => started,
        1 => terminated,
        1 => idle,
        1 => Just(EventKind::Unreadable("x".to_owned())),
        1 => Just(EventKind::Interrupted("y".to_owned())),
    ];
    kind.prop_map(|kind| Event { place: Stands { source: "s".into(), line: None }, kind })
}

/// The same event, about one query and run.
fn named(mut event: Event) -> Event {
    let query = match &mut event.kind {
        EventKind::Progress(progress) => &mut progress.query,
        EventKind::PartitionLoad(load) => &mut load.query,
        EventKind::Started(started) => &mut started.query,
        EventKind::Terminated(terminated) => &mut terminated.query,
        EventKind::Idle { query, .. } => query,
        _ => return event,
    };
    query.id.get_or_insert_with(|| "a".into());
    // Run ids are unique: no two queries share one.
    let run = query.run.take().unwrap_or_else(|| "x".into());
    query.run = Some(format!("{}{run}", query.id.as_deref().unwrap_or_default()).into());
    event
}

/// Everything that can be asked about a query.
fn ask(query: &QueryTimeline, room: usize) {
    let _ = query.activity();
    let _ = query.track(room, None);
    for (run, batch) in query.reported() {
        let place = Place { run: run.key, batch: batch.id };
        assert!(query.batch(place).is_some());
        assert!(query.track(room, Some(place)).len() <= room);
        let ahead = query.step(place, 1);
        if ahead != place {
            assert_eq!(query.step(ahead, -1), place, "one step back is where one was");
        }
        let _ = (batch.numbers.ended(), batch.numbers.watermark_lag(), run.heard());
    }
}

fn in_order(query: &QueryTimeline) -> bool {
    query.runs().iter().all(|run| {
        let ids: Vec<_> = run.reported().map(|batch| batch.id).collect();
        ids.is_sorted() && ids.windows(2).all(|pair| pair[0] != pair[1])
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_panics_and_all_are_bounded(
        events in prop::collection::vec(any_event(), 0..120),
        room in 0..20_usize,
    ) {
        let mut timeline = Timeline::bounded(["s".into()], 4_000, 4_000, 12);
        for event in events {
            timeline.fold(0, event);
            let batches: usize = timeline
                .queries()
                .iter()
                .flat_map(QueryTimeline::runs)
                .map(|run| run.batches.len())
                .sum();
            prop_assert!(batches <= 12);
            prop_assert!(timeline.fields.weight() <= 4_000);
            prop_assert!(timeline.tasks.weight() <= 4_000);
        }
        for query in timeline.queries() {
            prop_assert!(in_order(query));
            ask(query, room);
        }
    }

    /// Of events that name their query and run, as all of Spark's listeners do.
    #[test]
    fn telling_everything_again_adds_no_batch(
        events in prop::collection::vec(any_event().prop_map(named), 0..60),
    ) {
        let mut timeline = Timeline::new(["s".into()]);
        timeline.hear(0, News::Events(events.clone()));
        let count = |timeline: &Timeline| {
            let queries = timeline.queries().iter();
            queries.map(|query| query.reported().count()).collect::<Vec<_>>()
        };
        let before = count(&timeline);
        timeline.hear(0, News::Events(events));
        prop_assert_eq!(count(&timeline), before);
    }
}
