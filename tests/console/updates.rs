//! What is read when, what counts as stale, and that nothing makes `update` panic.

use std::sync::Arc;

use proptest::prelude::*;
use statetop::console::asking::Reply;
use statetop::console::effect::{Effect, Lane};
use statetop::console::msg::{Key, MemoryNews, Mouse, Msg, Outcome, Size, Ticket};
use statetop::console::reading::Counting;
use statetop::console::state::{Freshness, Settings};
use statetop::memory::Sample;
use statetop::reader::{Depth, KeysRequest, Weighing};
use statetop::task::Progress;
use statetop::telemetry::EventKind;
use statetop::telemetry::attach::News;
use statetop::units::{BatchId, Bytes, OperatorId, PartitionId, UnixMillis};

use crate::rows_support::*;
use crate::support::*;
use crate::told_support;

fn reads(console: &Console) -> Vec<Depth> {
    let read = |effect: &Effect| match effect {
        Effect::Read(_, _, request) => Some(request.depth),
        _ => None,
    };
    console.effects.iter().filter_map(read).collect()
}

#[test]
fn logs_are_read_first_then_partitions_then_nothing() {
    let mut console = Console::new(80, 24);
    assert_eq!(reads(&console), [Depth::Logs]);
    console.observe(&usual(), BATCH);
    assert_eq!(reads(&console), [Depth::Logs, Depth::Snapshot]);
    console.send(Msg::Marked(Ok(mark(BATCH))));
    assert_eq!(reads(&console).len(), 2);
}

#[test]
fn a_new_mark_is_one_read_however_often_it_changes_meanwhile() {
    let mut console = Console::new(80, 24);
    console.observe(&usual(), BATCH);
    for batch in 1..20 {
        console.send(Msg::Marked(Ok(mark(BATCH + batch))));
    }
    assert_eq!(reads(&console).len(), 3);
    console.answer(Outcome::Done(observation(&usual(), BATCH + 1, Depth::Snapshot)));
    assert_eq!(reads(&console).len(), 4, "one more for all that came during the read");
    console.answer(Outcome::Done(observation(&usual(), BATCH + 19, Depth::Snapshot)));
    assert_eq!(reads(&console).len(), 4);
}

#[test]
fn exact_counts_follow_the_snapshots_and_each_batch() {
    let settings = Settings { refresh: 2_000, counting: Counting::Exact, ..Settings::default() };
    let mut console = Console::with(settings, 80, 24);
    console.observe(&usual(), BATCH);
    assert_eq!(reads(&console), [Depth::Logs, Depth::Snapshot, Depth::Exact]);
    console.send(Msg::Marked(Ok(mark(BATCH + 1))));
    assert_eq!(reads(&console).last(), Some(&Depth::Exact));
    assert_eq!(reads(&console).len(), 4, "no quick read takes the exact numbers away");
}

#[test]
fn a_batch_asked_for_is_not_read_again_for_newer_ones() {
    let settings = Settings { refresh: 2_000, batch: Some(BatchId(7)), ..Settings::default() };
    let mut console = Console::with(settings, 80, 24);
    console.observe(&usual(), 7);
    console.send(Msg::Marked(Ok(mark(BATCH))));
    assert_eq!(reads(&console), [Depth::Logs, Depth::Snapshot]);
    assert!(console.screen().contains("batch 7 of 1841"), "{}", console.screen());
}

#[test]
fn failed_reads_are_tried_again_with_longer_pauses() {
    let mut console = Console::new(80, 24);
    let failed = || Outcome::Failed("no".to_owned());
    console.answer(failed());
    assert!(matches!(console.state.freshness(), Freshness::Failed(_)));
    let mut attempts = Vec::new();
    for second in 0..70_u64 {
        console.after(1_000).send(Msg::Marked(Ok(mark(BATCH))));
        if reads(&console).len() > attempts.len() + 1 {
            attempts.push(second + 1);
            console.answer(failed());
        }
    }
    assert_eq!(attempts, [2, 6, 14, 30, 60]);
    console.after(30_000).observe(&usual(), BATCH);
    assert_eq!(console.state.freshness(), Freshness::Live);
}

#[test]
fn stale_after_two_intervals_of_failure_and_live_again_with_the_first_answer() {
    let mut console = Console::new(80, 24);
    console.observe(&usual(), BATCH);
    console.after(2_000).send(Msg::Marked(Err("timed out".to_owned())));
    assert_eq!(console.state.freshness(), Freshness::Live);
    console.after(1_999);
    assert_eq!(console.state.freshness(), Freshness::Live);
    console.after(2);
    let Freshness::Stale(why) = console.state.freshness() else { panic!("not stale") };
    assert!(why.contains("timed out"), "{why}");
    console.send(Msg::Marked(Ok(mark(BATCH))));
    assert_eq!(console.state.freshness(), Freshness::Live);
}

#[test]
fn silence_is_stale_too_but_a_slow_answer_is_not() {
    let mut console = Console::new(80, 24);
    console.observe(&usual(), BATCH).after(6_000);
    assert_eq!(console.state.freshness(), Freshness::Live);
    console.after(1_001);
    assert!(matches!(console.state.freshness(), Freshness::Stale(_)));
}

#[test]
fn a_long_count_is_not_stale_while_the_logs_answer() {
    let mut console = Console::new(80, 24);
    console.observe(&usual(), BATCH).keys("x");
    for _ in 0..60 {
        console.after(2_000).send(Msg::Marked(Ok(mark(BATCH + 1))));
        assert_eq!(console.state.freshness(), Freshness::Live);
    }
}

#[test]
fn time_makes_dirty_only_what_reads_differently() {
    let mut console = Console::new(80, 24);
    console.observe(&usual(), BATCH);
    console.state.dirty = false;
    console.after(900).send(Msg::Marked(Ok(mark(BATCH))));
    assert!(!console.state.dirty, "4 s ago is 4 s ago for a second");
    console.after(100);
    assert!(console.state.dirty);
    console.state.dirty = false;
    console.keys(" ");
    console.state.dirty = false;
    console.after(600_000);
    assert!(!console.state.dirty, "ages stand while the view is held");
}

#[test]
fn a_commit_of_hours_ago_ages_by_the_hour() {
    let mut console = Console::new(80, 24);
    console.observe_with(&usual(), BATCH, |inspect| {
        inspect.last_commit_at = Some(UnixMillis(NOW.0 - 2 * 3_600_000));
    });
    console.send(Msg::Marked(Ok(mark(BATCH))));
    let due = console.state.next_change().unwrap();
    assert!(due > UnixMillis(NOW.0 + 5_000), "only staleness could come earlier");
}

#[test]
fn changes_are_counted_from_the_batch_before_and_never_across_grades() {
    let mut console = Console::new(80, 24);
    let change = |console: &Console| {
        let store = &console.state.data().unwrap().stores[0];
        store.change(statetop::units::PartitionId(37))
    };
    let mut stores = usual();
    stores[0].grade = statetop::report::Grade::Snapshot;
    console.observe(&stores, BATCH);
    assert_eq!(change(&console), None);
    stores[0].rows[37] = stores[0].rows[37].map(|rows| rows + 212);
    console.observe(&stores, BATCH + 1);
    assert_eq!(change(&console), Some(212));
    console.keys("r").observe(&stores, BATCH + 1);
    assert_eq!(change(&console), Some(212), "reading the same batch again changes nothing");
    console.keys("x").observe(&stores, BATCH + 1);
    assert_eq!(change(&console), None, "exact against snapshot");
}

#[test]
fn answers_to_reads_that_were_given_up_are_ignored() {
    let mut console = Console::new(80, 24);
    console.observe(&usual(), BATCH).keys("x");
    let (ticket, _) = console.last_read().unwrap();
    console.keys("x");
    assert!(console.effects.contains(&Effect::Cancel(Lane::Exact)));
    let late = observation(&usual(), BATCH, Depth::Exact);
    console.send(Msg::Read(ticket, Box::new(Outcome::Done(late))));
    assert_eq!(console.state.data().unwrap().depth(), Depth::Snapshot);
}

fn any_key() -> impl Strategy<Value = Key> {
    prop_oneof![
        8 => prop::sample::select("?q12345/ xrMlhjkgGoO[]sSmL37>-kbBwvadfhc,.t0ne".chars().collect::<Vec<_>>())
            .prop_map(Key::Char),
        1 => any::<char>().prop_map(Key::Char),
        4 => prop::sample::select(vec![
            Key::Enter, Key::Esc, Key::Tab, Key::BackTab, Key::Backspace, Key::Up, Key::Down,
            Key::Left, Key::Right, Key::PageUp, Key::PageDown, Key::Home, Key::End,
        ]),
    ]
}

fn any_stores() -> impl Strategy<Value = Vec<Store>> {
    let rows = prop_oneof![
        prop::collection::vec(prop::option::of(0..100_000_u64), 0..40),
        (0..300_usize).prop_map(|n| vec![Some(u64::MAX / 1_000); n]),
        Just(hot(1_200, 100, 7, 30)),
    ];
    prop::collection::vec(rows, 0..4).prop_map(|all| {
        let of = |(at, rows): (usize, Vec<Option<u64>>)| Store {
            operator: u32::try_from(at / 2).unwrap(),
            operator_name: "op\u{1b}",
            name: ["a", "b"][at % 2],
            grade: statetop::report::Grade::Snapshot,
            rows,
            families: vec!["default", "_x"],
        };
        all.into_iter().enumerate().map(of).collect()
    })
}

fn any_reply() -> impl Strategy<Value = Reply> {
    let request = |partition: Option<u32>| KeysRequest {
        batch: None,
        operator: Some(OperatorId(0)),
        store: None,
        by: Vec::new(),
        top: 10,
        weigh: Weighing::Rows,
        partition: partition.map(PartitionId),
        memory: Bytes(1_000_000),
    };
    let plan = basis();
    prop_oneof![
        2 => prop::option::of(0..300_u32)
            .prop_map(move |id| Reply::Keys(Arc::new(keys_report(&request(id))))),
        2 => (0..20_u64, any::<bool>()).prop_map(|(number, more)| page(rows(number), more)),
        1 => Just(page(mixed_rows(), false)),
        1 => Just(Reply::History(Arc::new(history()))),
        2 => Just(plan),
        2 => (0..30_u64)
            .prop_map(|number| Reply::Pauses(Arc::new(crate::pauses::report(number)))),
        1 => Just(Reply::Refused("no\u{1b}[31m\nsuch".to_owned())),
        1 => Just(Reply::Failed("gone\u{9b}".to_owned())),
        1 => Just(Reply::Cancelled),
    ]
}

fn any_news() -> impl Strategy<Value = News> {
    let batch = prop_oneof![BATCH - 60..=BATCH + 3, any::<u64>()];
    let event = prop_oneof![
        6 => (0..6_u64, any::<bool>()).prop_map(|(back, bare)| {
            let mut progress = told_support::progress(BATCH - back);
            if bare {
                progress.phases.clear();
                progress.operators.clear();
                progress.duration_ms = None;
                progress.timestamp = None;
            }
            EventKind::Progress(Box::new(progress))
        }),
        2 => batch.prop_map(|batch| {
            let mut progress = told_support::progress(BATCH);
            progress.batch = Some(BatchId(batch));
            progress.duration_ms = Some(batch);
            progress.input_rate = Some(f64::MAX);
            EventKind::Progress(Box::new(progress))
        }),
        4 => (0..4_u64, 0..2_u32, 0..300_u32).prop_map(|(back, operator, partitions)| {
            let load = told_support::load(BATCH - back, operator, partitions);
            EventKind::PartitionLoad(Box::new(load))
        }),
        1 => prop::option::of(Just("boom\u{1b}[2J")).prop_map(|exception| {
            told_support::terminated("run-2", exception).kind
        }),
        1 => any::<i64>().prop_map(|at| EventKind::Idle {
            query: told_support::query("run-2"),
            timestamp: Some(UnixMillis(at)),
        }),
        1 => Just(EventKind::Interrupted("cut\u{9b}".to_owned())),
        1 => Just(EventKind::Unreadable("no\u{1b}".to_owned())),
    ];
    let events = prop::collection::vec(event.prop_map(told_support::event), 0..20);
    prop_oneof![
        8 => events.prop_map(News::Events),
        1 => prop::option::of(any::<i64>()).prop_map(|at| News::Broken {
            why: "gone\u{1b}".to_owned(),
            again_at: at.map(UnixMillis),
        }),
        1 => Just(News::Ended),
    ]
}

fn any_memory() -> impl Strategy<Value = MemoryNews> {
    let sample = (any::<i64>(), any::<u64>(), prop::option::of(any::<u64>())).prop_map(
        |(at, batch, rows)| Sample {
            at: UnixMillis(at),
            batch: BatchId(batch),
            rows,
            bytes: None,
            partitions: None,
            batch_ms: rows,
            max_over_mean: rows.map(|_| f64::NAN),
        },
    );
    let pauses = || (0..6_u64).prop_map(|number| crate::pauses::report(number).pauses);
    prop_oneof![
        4 => (prop::collection::vec(sample.clone(), 0..9), pauses(), any::<bool>()).prop_map(
            |(samples, pauses, ours)| {
                let read_only = (!ours).then(|| "another\u{1b}[31m has it".to_owned());
                MemoryNews::Opened { samples, pauses, read_only }
            }
        ),
        2 => sample.prop_map(MemoryNews::Added),
        1 => pauses().prop_map(MemoryNews::Resizes),
        1 => Just(MemoryNews::Failed("gone".to_owned())),
    ]
}

fn any_msg() -> impl Strategy<Value = Msg> {
    let tickets = (0..20_u64).prop_map(Ticket);
    let depth = prop::sample::select(vec![Depth::Logs, Depth::Snapshot, Depth::Exact]);
    let outcome = prop_oneof![
        3 => (any_stores(), 0..5_u64, depth)
            .prop_map(|(stores, batch, depth)| Outcome::Done(observation(&stores, batch, depth))),
        1 => Just(Outcome::Failed("broken \u{1b}[31m".to_owned())),
        1 => Just(Outcome::Cancelled),
    ];
    let number = 0..4_u64;
    prop_oneof![
        10 => any_key().prop_map(Msg::Key),
        2 => (0..200_u16, 0..70_u16).prop_map(|(x, y)| Msg::Mouse(Mouse::Click(x, y))),
        2 => (0..220_u16, 0..70_u16)
            .prop_map(|(width, height)| Msg::Resize(Size { width, height })),
        2 => any::<i64>().prop_map(|time| Msg::Now(UnixMillis(time))),
        2 => (0..100_000_i64).prop_map(|time| Msg::Now(UnixMillis(NOW.0 + time))),
        2 => number.prop_map(|batch| Msg::Marked(Ok(mark(batch)))),
        1 => Just(Msg::Marked(Err("gone".to_owned()))),
        1 => (tickets.clone(), any::<(u64, u64, u64)>()).prop_map(|(ticket, (done, total, rows))| {
            Msg::Progress(ticket, Progress { done, total, rows, ..Progress::default() })
        }),
        6 => (tickets.clone(), outcome)
            .prop_map(|(ticket, outcome)| Msg::Read(ticket, Box::new(outcome))),
        6 => (tickets, any_reply())
            .prop_map(|(ticket, reply)| Msg::Answer(ticket, Box::new(reply))),
        3 => any_memory().prop_map(Msg::Remembered),
        6 => (0..3_usize, any_news()).prop_map(|(source, news)| Msg::Told(source, news)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// No message in any order makes `update` or a frame panic.
    #[test]
    fn nothing_panics(attached in any::<bool>(), msgs in prop::collection::vec(any_msg(), 0..60)) {
        let mut console =
            if attached { Console::attaching(80, 24) } else { Console::new(80, 24) };
        let look = look_of_tests();
        for msg in msgs {
            console.send(msg);
            let _ = console.state.next_change();
            for cell in console.buffer(&look).content() {
                prop_assert!(!cell.symbol().chars().any(char::is_control));
            }
        }
    }
}
