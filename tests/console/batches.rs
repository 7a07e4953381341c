//! The batches screen, and what the other screens show of a running query.

use statetop::console::effect::Effect;
use statetop::console::heat::Metric;
use statetop::console::look::{Charset, Level};
use statetop::console::msg::{Mouse, Msg};
use statetop::console::state::{Screen, Settings, SortBy, Subject};
use statetop::telemetry::attach::News;
use statetop::telemetry::{EventKind, QueryRef};
use statetop::units::{BatchId, PartitionId, UnixMillis};

use crate::sizes::*;
use crate::support::*;
use crate::told_support::*;

fn telling(width: u16, height: u16) -> Console {
    let mut console = Console::attached(width, height);
    console.hear(story());
    console
}

/// The batch whose state was asked for last.
#[allow(clippy::option_option, reason = "no read, or a read of the newest or of a batch")]
fn asked(console: &Console) -> Option<Option<BatchId>> {
    console.effects.iter().rev().find_map(|effect| match effect {
        Effect::Read(_, _, request) => Some(request.batch),
        _ => None,
    })
}

#[test]
fn a_query_that_runs() {
    check("told-batches-normal", "5", telling);
    check("told-batches-past", "5[[[[[[[[[[[", telling);
    check("told-batches-seam", "5gG[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", telling);
    check("told-overview-running", "", telling);
    check("told-partitions-running", "2", telling);
}

#[test]
fn nothing_attached_and_nothing_told() {
    check("told-batches-unattached", "5", |width, height| {
        let mut console = Console::new(width, height);
        console.observe_with(&usual(), BATCH, retained);
        console
    });
    check("told-batches-silent", "5", Console::attached);
    check("told-batches-loading", "5", Console::attaching);
    check("told-overview-silent", "", Console::attached);
}

#[test]
fn queries_of_other_checkpoints() {
    check("told-batches-others", "5", |width, height| {
        let mut console = Console::attached(width, height);
        let other = |id: Option<&str>, name: &str| {
            let query = QueryRef {
                id: id.map(Into::into),
                run: Some(name.into()),
                name: Some(name.into()),
            };
            let progress = statetop::telemetry::Progress { query, ..progress(7) };
            event(EventKind::Progress(Box::new(progress)))
        };
        console.hear(vec![other(Some("aaaa-1"), "orders"), other(Some("bbbb-2"), "clicks")]);
        console
    });
}

#[test]
fn a_query_that_failed() {
    let exception = "org.apache.spark.SparkException: Exception thrown in awaitResult: \n\
        Caused by: [STATE_STORE_COMMIT_VALIDATION_FAILED] State store commit validation failed";
    let failed = |width, height| {
        let mut console = telling(width, height);
        console.hear(vec![terminated("run-2", Some(exception))]);
        console
    };
    check("told-batches-failed", "5", failed);
    check("told-overview-failed", "", failed);
}

#[test]
fn a_query_that_is_silent_idle_or_stopped() {
    let after = |what: &str| {
        let mut console = telling(80, 24);
        match what {
            "idle" => console.hear(vec![event(EventKind::Idle {
                query: query("run-2"),
                timestamp: Some(UnixMillis(NOW.0 - 1_000)),
            })]),
            "stopped" => console.hear(vec![terminated("run-2", None)]),
            _ => console.after(600_000),
        };
        console.screen()
    };
    for (what, words) in [
        ("idle", "idle: waits for data, last told 1 s ago"),
        ("stopped", "stopped 10:33:55"),
        ("silent", "running or gone: nothing told for 10 min"),
    ] {
        let screen = after(what);
        assert!(screen.contains(words), "{what}: {screen}");
    }
}

#[test]
fn sources_in_trouble() {
    check("told-overview-broken-source", "", |width, height| {
        let mut console = telling(width, height);
        let why = "/logs/app-1 cannot be read: permission denied".to_owned();
        let again_at = Some(UnixMillis(NOW.0 + 8_000));
        console.send(Msg::Told(0, News::Broken { why, again_at }));
        console
    });
    let mut console = telling(80, 24);
    console.hear(vec![
        event(EventKind::Unreadable("no JSON: expected `,` at column 17".to_owned())),
        event(EventKind::Interrupted("was cut, and is read from its start again".to_owned())),
    ]);
    console.keys("e");
    assert_eq!(console.state.overlay.as_ref().unwrap().subject, Subject::Sources);
    snapshot("overlay-sources", &console.screen());
}

#[test]
fn all_fields_of_a_batch() {
    let mut console = telling(80, 24);
    console.keys("5\n");
    assert_eq!(console.state.overlay.as_ref().unwrap().subject, Subject::Batch);
    let mut all = console.screen();
    console.keys("G");
    all.push_str(&console.screen());
    snapshot("overlay-batch", &all);
}

#[test]
fn hostile_names_of_a_running_query() {
    let mut console = Console::attached(80, 24);
    let mut evil = progress(BATCH);
    evil.phases.push(("add\u{1b}[2JBatch".to_owned(), 5));
    evil.sources[0].description = Some("Kafka[\u{202e}x\u{7}]".to_owned());
    evil.operators[0].name = Some("\u{9b}31m".to_owned());
    evil.other.insert("\u{1b}]0;x\u{7}".to_owned(), serde_json::json!("\u{1b}"));
    console.hear(vec![
        event(EventKind::Progress(Box::new(evil))),
        terminated("run-2", Some("\u{1b}[31mboom\nline")),
        event(EventKind::Unreadable("\u{1b}".to_owned())),
    ]);
    for keys in ["", "5", "\n", "G", "\u{1b}e", "\u{1b}1", "2"] {
        console.keys(keys);
        for cell in console.buffer(&look_of_tests()).content() {
            assert!(!cell.symbol().chars().any(char::is_control), "{cell:?} after {keys:?}");
        }
    }
}

#[test]
fn without_colour_and_in_ascii_everything_is_told_apart() {
    let look = look("default", Level::Mono, Charset::Ascii);
    let mut console = telling(80, 24);
    console.keys("5[[[");
    snapshot("told-batches-ascii", &text(&console.buffer(&look)));
    for keys in ["5", "\n", "\u{1b}1", "2", "m", "mm", "\u{1b}e"] {
        console.keys(keys);
        for cell in console.buffer(&look).content() {
            assert!(cell.symbol().is_ascii(), "{cell:?} after {keys:?}");
        }
    }
}

#[test]
fn the_past_is_gone_through_and_all_screens_follow() {
    let mut console = telling(80, 24);
    console.effects.clear();
    console.keys("5[[[");
    assert_eq!(console.state.chosen.unwrap().batch, BatchId(BATCH - 3));
    assert_eq!(asked(&console), None, "no screen shows state yet");
    console.keys("2");
    assert_eq!(asked(&console), Some(Some(BatchId(BATCH - 3))));
    console.observe_with(&even_state(), BATCH - 3, |inspect| {
        retained(inspect);
        inspect.last_committed_batch = Some(BatchId(BATCH));
    });
    let screen = console.screen();
    assert!(screen.contains(&format!("{} of {BATCH}", BATCH - 3)), "{screen}");
    assert!(screen.contains("PAST"), "{screen}");
    console.keys("]]");
    assert_eq!(asked(&console), Some(Some(BatchId(BATCH - 1))));
    console.keys("]");
    assert_eq!((console.state.chosen, asked(&console)), (None, Some(None)), "the newest again");
    console.keys("[\u{1b}");
    assert_eq!((console.state.chosen, console.state.screen), (None, Screen::Partitions));
}

#[test]
fn a_batch_that_is_not_retained_is_told_of_but_not_read() {
    let mut console = telling(80, 24);
    console.keys("5g");
    assert_eq!(console.state.chosen.unwrap().batch, BatchId(1_722));
    console.effects.clear();
    console.keys("2");
    assert_eq!(asked(&console), None);
    let screen = console.screen();
    assert!(screen.contains("state of batch 1722 not retained, 1841 shown"), "{screen}");
}

#[test]
fn the_past_of_a_checkpoint_alone_is_gone_through_too() {
    let mut console = Console::new(80, 24);
    console.observe_with(&usual(), BATCH, retained);
    console.effects.clear();
    console.keys("[[");
    assert_eq!(asked(&console), Some(Some(BatchId(BATCH - 2))));
    console.keys("]]");
    // What is shown is the newest still: nothing needs to be read.
    assert_eq!((console.state.chosen, console.state.reading.pinned()), (None, None));
    console.keys("]");
    assert!(console.state.notice.as_ref().unwrap().contains("newest"));
}

#[test]
fn reads_of_a_batch_that_was_left_are_given_up() {
    let mut console = Console::new(80, 24);
    console.observe_with(&usual(), BATCH, retained).keys("[");
    let (ticket, _) = console.last_read().unwrap();
    console.keys("[");
    assert_ne!(console.last_read().unwrap().0, ticket);
    let late = observation(&usual(), BATCH - 1, statetop::reader::Depth::Snapshot);
    let late = statetop::console::msg::Outcome::Done(late);
    console.send(Msg::Read(ticket, Box::new(late)));
    assert_eq!(console.state.data().unwrap().batch(), Some(BatchId(BATCH)), "nobody asked for it");
}

#[test]
fn a_held_view_hears_but_does_not_show() {
    let mut console = telling(80, 24);
    console.keys("5 ");
    let before = console.screen();
    console.hear(vec![reported(BATCH + 1)]);
    assert!(!console.state.dirty || console.screen() == before);
    assert_eq!(console.screen(), before);
    console.keys("[");
    assert_eq!(console.state.chosen.unwrap().batch, BatchId(BATCH - 1), "held, but not fixed");
    console.keys("]");
    assert_eq!(console.state.chosen, None);
    console.keys(" ");
    assert!(console.screen().contains(&(BATCH + 1).to_string()), "{}", console.screen());
}

#[test]
fn a_click_on_a_bar_chooses_its_batch() {
    let mut console = telling(80, 24);
    console.keys("5");
    // 80 columns less 13 of labels and 18 of values are 49 batches: the newest in the last.
    console.send(Msg::Mouse(Mouse::Click(13 + 48 - 5, 5)));
    assert_eq!(console.state.chosen.unwrap().batch, BatchId(BATCH - 5));
    console.send(Msg::Mouse(Mouse::Click(13 + 48, 5)));
    assert_eq!(console.state.chosen, None, "the newest is followed");
}

#[test]
fn partitions_are_compared_by_what_tasks_tell() {
    let mut console = telling(80, 24);
    console.keys("2mm");
    assert_eq!(console.state.partitions.metric, Metric::Arriving);
    assert_eq!(console.state.partitions.order[0], PartitionId(37));
    assert_eq!(console.state.partitions.sort, SortBy::Compared);
    snapshot("told-partitions-chooser", &console.screen());
    console.keys("\n");
    snapshot("told-partitions-arriving", &console.screen());
    let store = console.state.store().unwrap();
    let compared = console.state.compared(store);
    assert_eq!(compared.of(store, PartitionId(37)), Some(22_000), "ten batches of 2,200");
    console.keys("5[2");
    let store = console.state.store().unwrap();
    let compared = console.state.compared(store);
    assert_eq!(compared.of(store, PartitionId(37)), Some(2_200), "the chosen batch alone");
}

#[test]
fn all_about_a_partition_tells_of_its_task() {
    let mut console = telling(80, 24);
    console.keys("2mm\ndG");
    snapshot("told-overlay-partition", &console.screen());
}

#[test]
fn the_chooser_says_why_a_metric_cannot_be_used() {
    let mut console = Console::new(80, 24);
    console.observe(&usual(), BATCH).keys("2m");
    assert_eq!(console.state.partitions.metric, Metric::Bytes);
    let screen = console.screen();
    assert!(screen.contains("not now: no running query is attached"), "{screen}");
    console.keys("m");
    assert_eq!(console.state.partitions.metric, Metric::SnapshotAge, "the others are passed over");
    console.keys("k\u{1b}");
    assert_eq!(console.state.partitions.metric, Metric::Bytes);
    assert!(console.state.overlay.is_none());
    let mut console = Console::attached(80, 24);
    console.hear(vec![reported(BATCH)]).keys("2m");
    assert!(console.screen().contains("event logs do"), "{}", console.screen());
}

#[test]
fn traffic_that_is_skewed_where_state_is_not_is_named_as_such() {
    let console = telling(80, 24);
    let screen = console.screen();
    // 22,000 of about 101,600 rows arrive at one of 200 partitions that hold about 0.5 % each.
    assert!(screen.contains("Partition 37 holds 0.5 % of the rows but takes 21."), "{screen}");
}

#[test]
fn a_source_is_attached_but_the_checkpoint_cannot_be_read() {
    let mut console = Console::attaching(80, 24);
    console.answer(statetop::console::msg::Outcome::Failed("no such bucket".to_owned()));
    console.hear(story()).keys("5");
    let screen = console.screen();
    assert!(screen.contains("NO DATA") && screen.contains("batch 1841"), "{screen}");
}

#[test]
fn a_console_can_begin_on_the_batches() {
    let settings = Settings { screen: Screen::Batches, ..Settings::default() };
    let mut console = Console::with(settings, 80, 24);
    console.observe(&usual(), BATCH);
    assert!(console.screen().contains("--events PATH"), "{}", console.screen());
}
