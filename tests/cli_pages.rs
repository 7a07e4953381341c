//! The printed pages, played in this process on a made-up source.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "cmd/fake.rs"]
mod fake;

use std::io::{self, Write};
use std::sync::Arc;

use fake::Fake;
use statetop::cli::{Exit, Stream, Surroundings, run};
use statetop::console::look::Environment;
use statetop::reader::{Observe, ReadError};
use statetop::task::Cancel;

/// What a run left behind.
struct Played {
    exit: Exit,
    out: String,
    err: String,
}

/// A world of buffers around one source.
#[derive(Clone)]
struct World {
    fake: Fake,
    out_kind: Stream,
    environment: Environment,
    cancelled: bool,
}

impl World {
    fn of(fake: Fake) -> Self {
        let locale = Some("C.UTF-8".to_owned());
        let environment = Environment { locale, ..Environment::default() };
        Self { fake, out_kind: Stream::Pipe, environment, cancelled: false }
    }

    fn play_into(&self, args: &[&str], out: &mut dyn Write) -> (Exit, String) {
        let mut err = Vec::new();
        let open = |target: &str| -> Result<Arc<dyn Observe>, ReadError> {
            if target == "/nowhere" {
                return Err(ReadError::Unreadable(
                    "cannot read /nowhere: no such directory".to_owned(),
                ));
            }
            Ok(Arc::new(self.fake.clone()))
        };
        let cancelled = self.cancelled;
        let on_interrupt = |cancel: &Cancel| {
            if cancelled {
                cancel.cancel();
            }
        };
        let mut around = Surroundings {
            input: &|| Box::new(std::io::empty()),
            out,
            out_kind: self.out_kind,
            err: &mut err,
            err_kind: Stream::Pipe,
            environment: self.environment.clone(),
            config: statetop::config::Config::default(),
            data_directory: None,
            now: statetop::units::UnixMillis(1_762_000_000_123),
            open: &open,
            attach: &|_, _| unreachable!("nothing is attached"),
            on_interrupt: &on_interrupt,
        };
        let exit = run(std::iter::once("statetop").chain(args.iter().copied()), &mut around);
        (exit, String::from_utf8(err).unwrap())
    }

    fn play(&self, args: &[&str]) -> Played {
        let mut out = Vec::new();
        let (exit, err) = self.play_into(args, &mut out);
        Played { exit, out: String::from_utf8(out).unwrap(), err }
    }
}

fn play(fake: Fake, args: &[&str]) -> Played {
    World::of(fake).play(args)
}

macro_rules! page {
    ($name:expr, $text:expr) => {
        insta::with_settings!({ snapshot_path => "cmd/snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!($name, $text)
        });
    };
}

#[test]
fn the_overview() {
    let played = play(Fake::fraud_join(), &["inspect", "/data/ckpt/fraud_join"]);
    assert_eq!((played.exit, played.err.as_str()), (Exit::Fine, ""));
    page!("inspect", played.out);
}

#[test]
fn the_overview_of_something_broken() {
    let played = play(Fake::broken(), &["inspect", "/data/ckpt/fraud_join", "--exact"]);
    assert_eq!(played.exit, Exit::Findings);
    page!("inspect_broken", played.out);
}

#[test]
fn the_bare_command_prints_the_overview_into_a_pipe() {
    let played = play(Fake::broken(), &["/data/ckpt/fraud_join"]);
    assert_eq!(played.exit, Exit::Findings);
    assert_eq!(played.out, play(Fake::broken(), &["inspect", "/data/ckpt/fraud_join"]).out);
}

#[test]
fn the_partitions_of_one_store() {
    let args = [
        "partitions",
        "x",
        "--operator",
        "symmetrichashjoin",
        "--store",
        "left-keyWithIndexToValue",
        "--exact",
    ];
    let played = play(Fake::fraud_join(), &args);
    assert_eq!(played.exit, Exit::Fine);
    page!("partitions", played.out);
}

#[test]
fn the_partitions_at_snapshot_grade_in_ascii() {
    let mut world = World::of(Fake::broken());
    world.environment = Environment::default();
    let played = world.play(&["partitions", "x", "--operator", "1"]);
    assert_eq!(played.exit, Exit::Findings);
    assert!(played.out.is_ascii(), "{}", played.out);
    page!("partitions_ascii", played.out);
}

#[test]
fn pages_fit_80_columns() {
    for fake in [Fake::fraud_join(), Fake::broken()] {
        for command in ["inspect", "partitions"] {
            let played = play(fake.clone(), &[command, "x"]);
            for line in played.out.lines() {
                assert!(line.chars().count() <= 80, "{line}");
                assert!(!line.ends_with(' '), "{line:?}");
            }
        }
    }
}

#[test]
fn csv_has_one_line_per_store_or_partition() {
    let played = play(Fake::broken(), &["inspect", "x", "--format", "csv"]);
    insta::assert_snapshot!(played.out, @r"
    batch,operator,operator_name,store,partitions,rows,rows_grade,bytes,max_over_mean
    1841,0,symmetricHashJoin,left-keyWithIndexToValue,40,205614,snapshot,22164538,9.340414563210675
    1841,0,symmetricHashJoin,right-keyWithIndexToValue,40,20570,snapshot,2364830,1.028682547399125
    1841,1,dedupe,default,40,,unknown,343877800,1.00413759895369
    ");
    let played = play(Fake::broken(), &["partitions", "x", "--format", "csv"]);
    assert_eq!(played.out.lines().count(), 1 + 3 * 40);
    let head = played.out.lines().take(2).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(head, @r"
    batch,operator,operator_name,store,partition,rows,rows_grade,bytes,files,snapshot_version,changelogs,last_written,last_changed
    1841,0,symmetricHashJoin,left-keyWithIndexToValue,0,4000,snapshot,432096,4,1842,0,2026-11-30T10:34:00.000Z,
    ");
    let unknown = played.out.lines().find(|line| line.contains("unknown")).unwrap();
    insta::assert_snapshot!(unknown, @"1841,1,dedupe,default,12,,unknown,8618880,4,1842,0,2026-11-30T10:34:00.000Z,");
}

#[test]
fn json_is_the_report_itself() {
    let fake = Fake::broken();
    for (command, report) in [
        ("inspect", serde_json::to_string_pretty(&fake.inspect).unwrap()),
        ("partitions", serde_json::to_string_pretty(&fake.partitions).unwrap()),
    ] {
        let played = play(fake.clone(), &[command, "x", "--format", "json"]);
        assert_eq!(played.exit, Exit::Findings);
        assert!(played.out == format!("{report}\n"), "{}", played.out);
    }
}

#[test]
fn another_batch_is_shown_as_asked() {
    let played = play(Fake::fraud_join(), &["inspect", "x", "--batch", "1838"]);
    assert!(played.out.contains("batch 1838, as asked"), "{}", played.out);
    let played = play(Fake::fraud_join(), &["partitions", "x", "--batch", "1838"]);
    assert!(played.out.contains("batch 1838, state version 1839\n"), "{}", played.out);
}

#[test]
fn what_does_not_exist_is_answered_with_what_does() {
    let fake = Fake::fraud_join();
    for (args, message) in [
        (vec!["partitions", "x", "--operator", "7"], "statetop: there is no operator 7\n"),
        (
            vec!["inspect", "x", "--operator", "dedup\u{1b}[2J"],
            "statetop: there is no operator dedup\\u{1b}[2J; \
             the stateful operators are: 0 (symmetricHashJoin), 1 (dedupe)\n",
        ),
        (
            vec!["partitions", "x", "--batch", "9999"],
            "statetop: there is no batch 9999; batches 1742 to 1841 are retained\n",
        ),
    ] {
        let played = play(fake.clone(), &args);
        assert_eq!(
            (played.exit, played.err.as_str(), played.out.as_str()),
            (Exit::Usage, message, "")
        );
    }
}

#[test]
fn an_unreadable_target_is_told_apart_from_findings() {
    let played = play(Fake::fraud_join(), &["inspect", "/nowhere"]);
    assert_eq!(played.exit, Exit::CannotRead);
    assert_eq!(played.err, "statetop: cannot read /nowhere: no such directory\n");
}

#[test]
fn ctrl_c_gives_up_without_a_word() {
    let mut world = World::of(Fake::fraud_join());
    world.cancelled = true;
    let played = world.play(&["partitions", "x", "--exact"]);
    assert_eq!((played.exit, played.out.as_str(), played.err.as_str()), (Exit::Signal(2), "", ""));
    assert_eq!(Exit::Signal(2).code(), 130);
}

#[test]
fn nothing_hostile_reaches_the_terminal() {
    let mut world = World::of(Fake::hostile());
    world.out_kind = Stream::Terminal { columns: 80 };
    let harmless = |c: char| c == '\n' || !(c.is_control() || matches!(c, '\u{202a}'..='\u{202e}'));
    for command in ["inspect", "partitions"] {
        for format in ["table", "csv", "json"] {
            let args = [command, "x", "--exact", "--format", format, "--color", "never"];
            let played = world.play(&args);
            assert_eq!(played.exit, Exit::Fine);
            assert!(played.out.chars().all(harmless), "{command} {format}: {:?}", played.out);
        }
        let args = [command, "x", "--exact", "--format", "json"];
        let value: serde_json::Value = serde_json::from_str(&world.play(&args).out).unwrap();
        let name = &value["operators"][0]["stores"][0]["name"];
        assert_eq!(name, "de\u{1b}[31mfault", "JSON keeps the exact value");
    }
    page!(
        "partitions_hostile",
        world.play(&["partitions", "x", "--exact", "--color", "never"]).out
    );
}

#[test]
fn colours_are_for_terminals_without_no_color() {
    let mut world = World::of(Fake::broken());
    let coloured = |world: &World, args: &[&str]| world.play(args).out.contains("\u{1b}[");
    let args = ["inspect", "x", "--format", "table"];
    assert!(!coloured(&world, &args));
    assert!(coloured(&world, &["inspect", "x", "--color", "always"]));
    world.out_kind = Stream::Terminal { columns: 120 };
    assert!(coloured(&world, &args));
    assert!(!coloured(&world, &["inspect", "x", "--color", "never"]));
    world.environment.no_color = Some("1".to_owned());
    assert!(!coloured(&world, &args));
}

/// A pipe whose reader is gone, or a disk that is full.
struct Closed(io::ErrorKind);

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(self.0.into())
    }
}

#[test]
fn a_closed_pipe_is_no_error_but_a_full_disk_is() {
    let world = World::of(Fake::broken());
    for command in ["inspect", "partitions"] {
        for format in ["table", "csv", "json"] {
            let args = [command, "x", "--format", format];
            let (exit, err) = world.play_into(&args, &mut Closed(io::ErrorKind::BrokenPipe));
            assert_eq!((exit, err.as_str()), (Exit::Fine, ""), "{command} {format}");
            let (exit, err) = world.play_into(&args, &mut Closed(io::ErrorKind::StorageFull));
            assert_eq!(exit, Exit::CannotRead);
            assert!(err.starts_with("statetop: cannot write the output: "), "{err}");
        }
    }
}
