//! The pauses screen, the memory behind it, and findings of the running query.

use std::sync::Arc;

use statetop::analysis::pauses::{Around, Pause, TimeSource, Timed};
use statetop::console::asking::{Question, Reply};
use statetop::console::effect::{Effect, Remember};
use statetop::console::msg::{MemoryNews, Msg};
use statetop::console::state::{Keeping, Settings};
use statetop::console::update;
use statetop::diagnosis::Rules;
use statetop::memory::Sample;
use statetop::report::{PausesReport, StateSize};
use statetop::telemetry::EventKind;
use statetop::telemetry::attach::News;
use statetop::units::{BatchId, Bytes, UnixMillis};

use crate::sizes::*;
use crate::support::*;
use crate::told_support::*;

const DAY: i64 = 86_400_000;

/// Resizes of a state that grows: 11 s and 13 s per million rows, give or take.
pub(crate) fn pause(at: u64, number: u64) -> Pause {
    let rows = 600_000 + 500_000 * at;
    let off = [400, 0, 900, 200, 700, 100][usize::try_from(at % 6).unwrap()];
    let timed = |millis, source| Some(Timed { millis, source });
    let millis = 11_000 + 13 * rows / 1_000 + off;
    let count = |at: u64| Some(25_u32 << (at % 5));
    let source = if at.is_multiple_of(2) { TimeSource::Checkpoint } else { TimeSource::Progress };
    let side = |batch_ms, max_over_mean, files_per_batch| Around {
        batches: 10,
        batch_ms: Some(batch_ms),
        batch_ms_source: Some(source),
        max_over_mean: Some(max_over_mean),
        files_per_batch: Some(files_per_batch),
    };
    let ago = i64::try_from(number - at).unwrap();
    Pause {
        at: Some(UnixMillis(NOW.0 - 30 * DAY * ago)),
        from: count(at),
        to: count(at + 1),
        finished: true,
        rows: Some(rows),
        bytes: Some(Bytes(rows * 107)),
        pause: timed(millis, source),
        outage: timed(millis + 42_000, TimeSource::Checkpoint),
        before: side(8_200.0, 6.1, 812.0),
        after: side(5_100.0, 1.3, 1_604.0),
        ..Pause::of(BatchId(300 + 200 * at))
    }
}

pub(crate) fn report(number: u64) -> PausesReport {
    let now =
        StateSize { rows: Some(4_144_126), bytes: Some(Bytes(443_421_482)), partitions: Some(200) };
    let pauses = (0..number).map(|at| pause(at, number)).collect();
    PausesReport::new("s3://ckpt/fraud_join".to_owned(), Some(QUERY.to_owned()), now, pauses)
}

fn on_pauses(width: u16, height: u16, report: PausesReport) -> Console {
    let mut console = Console::new(width, height);
    console.observe_with(&usual(), BATCH, retained);
    console.keys("6");
    console.reply(Reply::Pauses(Arc::new(report)));
    console
}

#[test]
fn none_one_and_many() {
    check("pauses-none", "", |width, height| on_pauses(width, height, report(0)));
    check("pauses-one", "", |width, height| on_pauses(width, height, report(1)));
    check("pauses-many", "jj", |width, height| on_pauses(width, height, report(14)));
    check("pauses-others", "\t", |width, height| on_pauses(width, height, report(5)));
}

#[test]
fn reading_unfinished_and_in_trouble() {
    check("pauses-reading", "6", |width, height| {
        let mut console = Console::new(width, height);
        console.observe_with(&usual(), BATCH, retained);
        console
    });
    check("pauses-unfinished", "", |width, height| {
        let mut report = report(2);
        let last = Pause { finished: false, pause: None, outage: None, ..report.pauses[1].clone() };
        let first = Pause { at: None, pause: None, outage: None, ..report.pauses[0].clone() };
        report =
            PausesReport::new(report.checkpoint, report.query_id, report.now, vec![first, last]);
        on_pauses(width, height, report)
    });
    let mut console = Console::new(80, 24);
    console.observe_with(&usual(), BATCH, retained);
    console.keys("6");
    console.reply(Reply::Failed("s3://ckpt/fraud_join: access denied".to_owned()));
    assert!(console.screen().contains("access denied"), "{}", console.screen());
}

#[test]
fn the_screen_asks_once_and_again_when_there_is_another_resize() {
    let mut console = on_pauses(80, 24, report(1));
    let asked = |console: &Console| {
        let asks = console.effects.iter().filter(
            |effect| matches!(effect, Effect::Ask(_, question) if matches!(question.as_ref(), Question::Pauses(_))),
        );
        asks.count()
    };
    assert_eq!(asked(&console), 1);
    console.observe_with(&usual(), BATCH + 1, retained);
    assert_eq!(asked(&console), 1, "the same resizes");
    console.keys("16");
    assert_eq!(asked(&console), 1, "what is known is shown");
    console.observe_with(&usual(), BATCH + 2, |inspect| {
        retained(inspect);
        inspect.partition_history.last_mut().unwrap().repartition = true;
    });
    assert_eq!(asked(&console), 2);
}

#[test]
fn what_is_remembered_is_joined_with_what_the_checkpoint_shows() {
    let mut console = on_pauses(80, 24, report(0));
    assert!(console.screen().contains("No estimate: rehearse on a copy."), "{}", console.screen());
    let pauses = vec![pause(0, 2), pause(1, 2)];
    console.send(Msg::Remembered(MemoryNews::Opened { samples: vec![], pauses, read_only: None }));
    let screen = console.screen();
    assert!(screen.contains("by 2 measured resizes"), "{screen}");
    assert!(screen.contains("25 → 50") && screen.contains("50 → 100"), "{screen}");
}

fn remembering() -> Console {
    let settings = Settings { refresh: 2_000, keeping: Keeping::Waiting, ..Settings::default() };
    Console::with(settings, 80, 24)
}

fn remembered(console: &Console) -> Vec<Remember> {
    let wanted = console.effects.iter().filter_map(|effect| match effect {
        Effect::Remember(what) => Some(what.clone()),
        _ => None,
    });
    wanted.collect()
}

fn opened(samples: Vec<Sample>, read_only: Option<&str>) -> Msg {
    let read_only = read_only.map(str::to_owned);
    Msg::Remembered(MemoryNews::Opened { samples, pauses: Vec::new(), read_only })
}

#[test]
fn the_memory_is_opened_once_and_each_observation_of_the_newest_is_added() {
    let mut console = remembering();
    console.observe_with(&usual(), BATCH, retained);
    assert_eq!(remembered(&console), [Remember::Open(QUERY.to_owned())]);
    console.effects.clear();
    console.send(opened(vec![], None));
    let asked = remembered(&console);
    let [Remember::Add(sample), Remember::Resizes] = asked.as_slice() else {
        panic!("a sample and the resizes")
    };
    let sample = *sample;
    // usual(): partition 37 of the join's left side holds 44,013 rows, the mean is 4,200 or so.
    assert_eq!((sample.batch, sample.partitions), (BatchId(BATCH), Some(200)));
    assert_eq!(sample.batch_ms, Some(2_000), "planned 6 s ago, committed 4 s ago");
    let store = &console.state.data().unwrap().stores[0];
    assert_eq!(sample.max_over_mean, store.max_over_mean);
    let rows: u64 = usual().iter().flat_map(|store| &store.rows).flatten().sum();
    assert_eq!(sample.rows, Some(rows));
    console.send(Msg::Remembered(MemoryNews::Added(sample)));
    console.effects.clear();
    console.observe_with(&usual(), BATCH + 1, retained);
    let added = remembered(&console);
    assert!(
        added.iter().all(
            |what| matches!(what, Remember::Add(sample) if sample.batch == BatchId(BATCH + 1))
        ),
        "{added:?}: the resizes were asked for already"
    );
    assert!(!added.is_empty());
}

#[test]
fn a_batch_of_the_past_is_not_added() {
    let mut console = remembering();
    console.observe_with(&usual(), BATCH, retained);
    console.send(opened(vec![], None));
    console.effects.clear();
    console.keys("[");
    console.observe_with(&usual(), BATCH - 1, |inspect| {
        retained(inspect);
        inspect.last_committed_batch = Some(BatchId(BATCH));
    });
    assert_eq!(remembered(&console), []);
}

#[test]
fn a_memory_that_is_not_ours_or_not_there_is_told() {
    for (news, words) in [
        (
            opened(vec![], Some("another statetop has it; this one adds nothing")),
            "memory: read only",
        ),
        (
            Msg::Remembered(MemoryNews::Failed("/data/queries: not a directory".to_owned())),
            "memory: not kept",
        ),
    ] {
        let mut console = remembering();
        console.observe_with(&usual(), BATCH, retained);
        console.effects.clear();
        console.send(news);
        let screen = console.screen();
        assert!(screen.lines().nth(1).unwrap().contains(words), "{screen}");
        assert!(screen.lines().last().unwrap().contains(words), "with the reason: {screen}");
        console.keys("j");
        assert!(console.screen().lines().nth(1).unwrap().contains(words), "it stays");
        console.observe_with(&usual(), BATCH + 1, retained);
        assert_eq!(remembered(&console), [], "nothing is added");
    }
    let mut off = Console::new(80, 24);
    off.observe_with(&usual(), BATCH, retained);
    assert_eq!(remembered(&off), []);
    assert!(!off.screen().contains("memory"));
}

/// Three days of samples, one an hour; the state grows.
fn samples() -> Vec<Sample> {
    let sample = |hour: u64| Sample {
        at: UnixMillis(NOW.0 - 3 * DAY + i64::try_from(hour).unwrap() * 3_600_000),
        batch: BatchId(1_000 + hour),
        rows: Some(2_000_000 + 30_000 * hour),
        bytes: Some(Bytes(1)),
        partitions: Some(200),
        batch_ms: Some(900 + noise(hour) % 500),
        max_over_mean: Some(11.4),
    };
    (0..72).map(sample).collect()
}

#[test]
fn charts_reach_back_to_what_is_remembered() {
    let prepared = |width, height| {
        let settings =
            Settings { refresh: 2_000, keeping: Keeping::Waiting, ..Settings::default() };
        let mut console = Console::with(settings, width, height);
        console.observe_with(&usual(), BATCH, retained);
        console.send(opened(samples(), None));
        console
    };
    check("past-overview", "", prepared);
    check("past-batches", "5", prepared);
    let attached = |width, height| {
        let mut console = Console::attached(width, height);
        console.hear(story());
        console.send(opened(samples(), None));
        console
    };
    check("past-batches-attached", "5", attached);
}

#[test]
fn findings_of_the_running_query_join_those_of_the_checkpoint() {
    let telling = |rules: Rules| {
        let settings = Settings {
            refresh: 2_000,
            sources: vec!["/logs/app-1".to_owned()],
            rules,
            ..Settings::default()
        };
        let mut console = Console::with(settings, 80, 24);
        console.observe_with(&even_state(), BATCH, |inspect| {
            retained(inspect);
            inspect.findings = findings();
        });
        console.hear(story());
        console.after(1_000);
        console
    };
    let ids = |console: &Console| -> Vec<&'static str> {
        console.state.found.shown().iter().map(|finding| finding.id.0).collect()
    };
    let console = telling(Rules::default());
    assert_eq!(ids(&console), ["missing-sst", "snapshot-lag", "slow-task", "ignored-count"]);
    assert!(console.screen().contains("4 findings"), "{}", console.screen());
    let slow = console.state.found.shown().iter().find(|one| one.id.0 == "slow-task").unwrap();
    assert!(slow.summary.contains("partition 37"), "{slow:?}");
    let rules =
        Rules { allow: ["slow-task".to_owned()].into(), warn: ["missing-sst".to_owned()].into() };
    let console = telling(rules);
    assert_eq!(ids(&console), ["missing-sst", "snapshot-lag", "ignored-count"]);
    assert_eq!(console.state.found.allowed(), 1);
    assert!(console.screen().contains("1 allowed"), "{}", console.screen());
}

#[test]
fn a_view_that_is_held_keeps_its_findings() {
    let mut console = Console::attached(80, 24);
    console.hear(story());
    console.after(1_000);
    let before = console.state.found.shown().to_vec();
    console.keys(" ");
    console.hear(vec![terminated("run-2", Some("boom"))]);
    console.after(1_000);
    assert_eq!(console.state.found.shown(), before);
    console.keys(" ");
    console.after(1_000);
    assert_eq!(console.state.found.shown()[0].id.0, "query-failed");
}

/// What Databricks tells of a resize joins what the logs show of it.
#[test]
fn what_a_source_tells_of_a_resize_is_shown() {
    let sources = vec!["/logs/app-1".to_owned()];
    let mut console = Console::with(Settings { sources, ..Settings::default() }, 80, 24);
    console.observe_with(&usual(), BATCH, retained);
    console.keys("6");
    let logged =
        Pause { from: Some(200), to: Some(400), finished: true, ..Pause::of(BatchId(REPARTITION)) };
    let size = StateSize { rows: Some(1_000_000), ..StateSize::default() };
    console.reply(Reply::Pauses(Arc::new(PausesReport::new(
        "s3://ckpt/fraud_join".to_owned(),
        Some(QUERY.to_owned()),
        size,
        vec![logged],
    ))));
    let measured = |console: &Console| console.state.pauses.report().unwrap().pauses[0].pause;
    assert_eq!(measured(&console), None);
    let batch = |batch, count, control: Option<u64>| {
        let mut told = progress(batch);
        for operator in &mut told.operators {
            operator.partitions = Some(count);
        }
        let control = control.map(|millis| ("controlBatch.REPARTITION".to_owned(), millis));
        told.phases.extend(control);
        event(EventKind::Progress(Box::new(told)))
    };
    let events = vec![batch(REPARTITION - 1, 200, None), batch(REPARTITION + 1, 400, Some(43_912))];
    console.send(Msg::Told(0, News::Events(events)));
    update::settle(&mut console.state);
    let told = Timed { millis: 43_912, source: TimeSource::Progress };
    assert_eq!(measured(&console), Some(told));
    assert!(console.screen().contains("44 s"), "{}", console.screen());
    // A source that broke off is read again from its start: nothing counts twice.
    console.send(Msg::Told(0, News::Broken { why: "gone".to_owned(), again_at: None }));
    update::settle(&mut console.state);
    assert_eq!(measured(&console), None);
}
