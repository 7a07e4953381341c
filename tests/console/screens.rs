//! Every screen in every state, as text, in the sizes that must work.

use insta::{Settings as Insta, assert_snapshot};
use statetop::console::msg::{Msg, Outcome};
use statetop::console::state::{Screen, Settings};
use statetop::reader::Depth;
use statetop::report::Status;
use statetop::task::Progress;
use statetop::units::BatchId;

use crate::support::*;

const SIZES: [(u16, u16); 3] = [(60, 15), (80, 24), (120, 40)];

/// The two screens that show what is observed, in each size.
fn check(name: &str, prepare: impl Fn(&mut Console)) {
    check_screens(&[Screen::Overview, Screen::Partitions], name, prepare);
}

/// Every screen in each size: states in which no rows can be read.
fn check_all(name: &str, prepare: impl Fn(&mut Console)) {
    check_screens(&Screen::ALL, name, prepare);
}

fn check_screens(screens: &[Screen], name: &str, prepare: impl Fn(&mut Console)) {
    for screen in screens.iter().copied() {
        let all = SIZES.map(|(width, height)| {
            let settings = Settings { refresh: 2_000, screen, ..Settings::default() };
            let mut console = Console::with(settings, width, height);
            prepare(&mut console);
            format!("{width}x{height}\n{}\n", console.screen())
        });
        snapshot(&format!("{}-{name}", screen.title()), &all.concat());
    }
}

fn snapshot(name: &str, text: &str) {
    let mut insta = Insta::clone_current();
    insta.set_prepend_module_to_snapshot(false);
    insta.set_omit_expression(true);
    insta.bind(|| assert_snapshot!(name, text));
}

/// A batch in which a few partitions grew, the hot one most.
fn next_batch(mut stores: Vec<Store>) -> Vec<Store> {
    for (at, rows) in stores[0].rows.iter_mut().enumerate() {
        let grown = match at {
            37 => 212,
            _ if at % 9 == 0 => noise(at as u64) % 40,
            _ => 0,
        };
        *rows = rows.map(|rows| rows + grown);
    }
    stores
}

#[test]
fn loading() {
    check_all("loading", |_| {});
}

#[test]
fn only_logs_read() {
    check_all("logs", |console| {
        console.answer(Outcome::Done(observation(&usual(), BATCH, Depth::Logs)));
    });
}

#[test]
fn normal() {
    check("normal", |console| {
        console.observe(&usual(), BATCH - 1).observe(&next_batch(usual()), BATCH);
    });
}

#[test]
fn stale() {
    check_all("stale", |console| {
        console.observe(&usual(), BATCH).after(2_000).send(Msg::Marked(Err(
            "s3://ckpt/fraud_join cannot be listed: connection timed out after 10 s".to_owned(),
        )));
        console.after(7_000);
    });
}

#[test]
fn paused() {
    check("paused", |console| {
        console.observe(&usual(), BATCH).keys(" ").after(6_000);
        console.observe(&next_batch(usual()), BATCH + 1);
    });
}

#[test]
fn broken_files() {
    check("broken", |console| {
        let mut stores = usual();
        stores[0].rows[12] = None;
        stores[0].rows[13] = Some(0);
        stores[2].rows.fill(None);
        console.observe_with(&stores, BATCH, |inspect| inspect.findings = findings());
    });
}

#[test]
fn failed() {
    check_all("failed", |console| {
        console.answer(Outcome::Failed(
            "/data/nowhere is not a checkpoint: expected offsets/, commits/ or state/, found \
             nothing of them; check the path"
                .to_owned(),
        ));
    });
}

#[test]
fn stateless() {
    check_all("stateless", |console| {
        console.observe(&[], BATCH);
    });
}

#[test]
fn nothing_planned() {
    check_all("no-batch", |console| {
        console.observe_with(&[], BATCH, |inspect| {
            inspect.status = Status::NoBatch;
            inspect.batch = None;
            inspect.last_planned_batch = None;
            inspect.last_committed_batch = None;
            inspect.last_commit_at = None;
            inspect.last_plan_at = None;
            inspect.partition_history.clear();
            inspect.sources.clear();
            inspect.query_id = None;
            inspect.stateful = true;
            inspect.provider = None;
            inspect.changelog = None;
            inspect.state_checkpoint_format = None;
            inspect.watermark = None;
        });
    });
}

#[test]
fn an_unfinished_repartition() {
    check("repartition", |console| {
        console.observe_with(&usual(), BATCH, |inspect| {
            inspect.status = Status::UnfinishedRepartition;
            inspect.last_planned_batch = Some(BatchId(BATCH + 1));
            let mut entry = inspect.partition_history[2];
            entry.batch = BatchId(BATCH + 1);
            entry.partitions = Some(400);
            inspect.partition_history.push(entry);
        });
    });
}

#[test]
fn counting() {
    check("counting", |console| {
        console.observe(&usual(), BATCH).keys("x");
        let (ticket, depth) = console.last_read().unwrap();
        assert_eq!(depth, Depth::Exact);
        let progress = Progress { done: 37, total: 600, rows: 1_204_331, ..Progress::default() };
        console.send(Msg::Progress(ticket, progress));
    });
}

#[test]
fn ten_thousand_partitions() {
    check("10000", |console| {
        let mut stores = usual();
        stores.truncate(1);
        stores[0].rows = hot(10_000, 4_000, 4_711, 40);
        console.observe(&stores, BATCH);
    });
}

#[test]
fn few_partitions_with_families() {
    check("families", |console| {
        let mut stores = usual();
        stores.truncate(1);
        stores[0].operator_name = "transformWithStateExec";
        stores[0].name = "default";
        stores[0].rows = hot(7, 4_000, 3, 2);
        stores[0].families = vec!["counts", "events", "_timers"];
        console.observe(&stores, BATCH).keys("m\n\t");
    });
}

#[test]
fn hostile_names() {
    check_all("hostile", |console| {
        let mut stores = usual();
        stores[0].operator_name = "join\u{1b}[2J\u{1b}]0;owned\u{7}";
        stores[0].name = "left\u{202e}\u{9b}31m漢字";
        console.observe_with(&stores, BATCH, |inspect| {
            inspect.sources[0].summary = "a\nb\u{1b}[5m".to_owned();
            inspect.query_id = Some("漢字漢字漢字".to_owned());
            inspect.findings = findings();
            inspect.findings[0].summary = "\u{1b}[31mred\u{200b}".to_owned();
        });
        for cell in console.buffer(&look_of_tests()).content() {
            assert!(!cell.symbol().chars().any(char::is_control), "{cell:?}");
        }
    });
}

#[test]
fn overlays() {
    let mut console = Console::new(80, 24);
    console.observe_with(&usual(), BATCH, |inspect| inspect.findings = findings());
    console.keys("?");
    snapshot("overlay-help", &console.screen());
    console.keys("G");
    snapshot("overlay-help-end", &console.screen());
    console.keys("\u{1b}\t\n");
    snapshot("overlay-finding", &console.screen());
    console.keys("\u{1b}2d");
    snapshot("overlay-partition", &console.screen());
}

#[test]
fn a_filter_being_typed_and_kept() {
    let mut console = Console::new(80, 24);
    console.observe(&usual(), BATCH).keys("2/>4.3k");
    snapshot("filter-typing", &console.screen());
    console.keys("\n");
    snapshot("filter-kept", &console.screen());
}

#[test]
fn too_small() {
    for (width, height) in [(59, 24), (80, 14), (20, 4), (1, 1)] {
        let console = Console::new(width, height);
        let screen = console.screen();
        assert!(width < 20 || screen.contains("needs 60x15"), "{screen}");
    }
}
