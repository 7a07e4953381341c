//! The list of checkpoints: what messages do to it, and what it looks like.

use insta::{Settings as Insta, assert_snapshot};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use statetop::console::look::{Charset, Level};
use statetop::console::msg::{Key, Size};
use statetop::console::scan::{Effect, Model, Msg, Overlay, Run, Sort, Tab, draw, start, update};
use statetop::console::state::Settings;
use statetop::console::{Above, ConsoleExit, effect, scan};
use statetop::diagnosis::candidate::{Judgement, Obstacle, Reason, Standing};
use statetop::reader::ScanProgress;
use statetop::report::{
    Extent, Grade, Provider, ScanObstacle, ScanReason, ScanReport, ScannedCheckpoint,
    ScannedOperator, Status, Unreadable, UnreadableKind,
};
use statetop::units::{BatchId, Bytes, OperatorId, PartitionId, UnixMillis};

use crate::support::{BATCH, Console, NOW, look, text, usual};

fn checkpoint(
    path: &str,
    partitions: u32,
    rows: u64,
    reasons: Vec<Reason>,
    obstacles: Vec<Obstacle>,
) -> ScannedCheckpoint {
    let standing = match (obstacles.is_empty(), reasons.is_empty()) {
        (false, _) => Standing::Forbidden,
        (true, false) => Standing::Gain,
        (true, true) => Standing::Healthy,
    };
    let told = |reason: &Reason| ScanReason {
        kind: reason.kind(),
        factor: reason.factor(),
        text: reason.sentence(),
    };
    let ratio = reasons.iter().find_map(|reason| match reason {
        Reason::Skewed { max_over_mean, .. } => Some(*max_over_mean),
        _ => None,
    });
    ScannedCheckpoint {
        path: path.to_owned(),
        name: None,
        query_id: Some("10e204a2-5a60-4c1b-8f1d-27d0a1f6a3c4".to_owned()),
        status: Status::Committed,
        operators: vec![ScannedOperator { id: OperatorId(0), name: "dedupe".to_owned() }],
        provider: Some(Provider::Rocksdb),
        partitions: Some(partitions),
        rows: Some(rows),
        rows_grade: Grade::Snapshot,
        bytes: Bytes(rows * 50),
        rows_per_partition: Some(100.0),
        max_over_mean: Some(ratio.unwrap_or(1.1)),
        first_batch: Some(BatchId(1742)),
        last_batch: Some(BatchId(1841)),
        last_commit_at: Some(UnixMillis(NOW.0 - 4_000)),
        last_commit_age: Some(4_000),
        batch_ms: Some(1_200),
        errors: 0,
        warnings: 1,
        standing,
        reasons: reasons.iter().map(told).collect(),
        obstacles: obstacles
            .iter()
            .map(|one| ScanObstacle { kind: one.kind(), text: one.sentence() })
            .collect(),
        judged: Judgement { standing, reasons, obstacles },
        findings: Vec::new(),
    }
}

fn skewed(max_over_mean: f64) -> Reason {
    Reason::Skewed { operator: OperatorId(0), partition: PartitionId(37), max_over_mean }
}

/// Ranked: fraud and sessions by how skewed they are, then what is forbidden, then the healthy.
fn found() -> Vec<ScannedCheckpoint> {
    let mut unknown = checkpoint("/data/team-b/a", 5, 0, vec![], vec![]);
    unknown.rows = None;
    unknown.rows_grade = Grade::Unknown;
    let legacy =
        checkpoint("/data/legacy", 200, 90, vec![], vec![Obstacle::StreamingLimit(OperatorId(0))]);
    vec![
        checkpoint("/data/team-a/fraud_join", 200, 3_200_000, vec![skewed(11.4)], vec![]),
        checkpoint("/data/team-a/sessions", 64, 812_000, vec![skewed(3.1)], vec![]),
        legacy,
        unknown,
    ]
}

fn lost() -> Vec<Unreadable> {
    let one = |path: &str, kind, reason: &str| Unreadable {
        path: path.to_owned(),
        kind,
        reason: reason.to_owned(),
    };
    vec![
        one(
            "/data/current",
            UnreadableKind::Link,
            "a symbolic link that leads nowhere or out of the root is not followed",
        ),
        one(
            "/data/damaged",
            UnreadableKind::Checkpoint,
            "offsets: expected a directory, found a file",
        ),
        one("/data/locked", UnreadableKind::Directory, "permission denied"),
    ]
}

fn report(checkpoints: Vec<ScannedCheckpoint>, extent: Extent) -> ScanReport {
    ScanReport {
        roots: vec!["/data".to_owned()],
        extent,
        observed_at: NOW,
        directories: 120,
        too_deep: 0,
        found: checkpoints.len() as u64 + 1,
        checkpoints,
        unreadable: lost(),
    }
}

/// The list, driven without a terminal.
struct List {
    model: Model,
    effects: Vec<Effect>,
}

impl List {
    fn new(width: u16, height: u16) -> Self {
        let model = Model::new(&["/data".to_owned()], Size { width, height });
        let effects = start(&model);
        Self { model, effects }
    }

    fn done() -> Self {
        let mut list = Self::new(80, 24);
        list.scanned(found(), Extent::Complete);
        list
    }

    fn send(&mut self, msg: Msg) -> &mut Self {
        self.effects.extend(update(&mut self.model, msg));
        self
    }

    fn found(&mut self, one: &ScannedCheckpoint) -> &mut Self {
        self.send(Msg::Found(Box::new(one.clone())))
    }

    fn scanned(&mut self, checkpoints: Vec<ScannedCheckpoint>, extent: Extent) -> &mut Self {
        self.send(Msg::Scanned(Ok(Box::new(report(checkpoints, extent)))))
    }

    fn keys(&mut self, keys: &str) -> &mut Self {
        for c in keys.chars() {
            self.send(Msg::Key(match c {
                '\n' => Key::Enter,
                '\t' => Key::Tab,
                '\u{1b}' => Key::Esc,
                '\u{8}' => Key::Backspace,
                c => Key::Char(c),
            }));
        }
        self
    }

    fn paths(&self) -> Vec<&str> {
        self.model.listed().iter().map(|one| one.path.as_str()).collect()
    }

    fn selected(&self) -> &str {
        &self.model.checkpoint().unwrap().path
    }

    fn buffer(&self, charset: Charset) -> Buffer {
        let Size { width, height } = self.model.size;
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        draw(&self.model, &look("default", Level::Ansi256, charset), &mut buffer);
        buffer
    }

    fn screen(&self) -> String {
        text(&self.buffer(Charset::Utf8))
    }
}

const RANKED: [&str; 4] =
    ["/data/team-a/fraud_join", "/data/team-a/sessions", "/data/legacy", "/data/team-b/a"];

#[test]
fn checkpoints_are_listed_while_the_scan_runs_and_ranked() {
    let mut list = List::new(80, 24);
    assert_eq!(list.effects, [Effect::Scan]);
    for one in found().iter().rev() {
        list.found(one);
    }
    assert_eq!(list.paths(), RANKED);
    let progress = ScanProgress { directories: 40, found: 6, read: 4, unreadable: 1 };
    list.send(Msg::Progress(progress));
    assert!(list.screen().contains("40 directories, 4 of 6 read"), "{}", list.screen());
    list.scanned(found(), Extent::Complete);
    assert_eq!(list.paths(), RANKED);
    assert!(list.screen().contains("COMPLETE"));
}

#[test]
fn the_selection_is_a_path_and_stays_whatever_is_found() {
    let mut list = List::new(80, 24);
    let all = found();
    list.found(&all[2]).found(&all[3]).keys("j");
    assert_eq!(list.selected(), "/data/team-b/a");
    list.found(&all[0]).found(&all[1]);
    assert_eq!(list.selected(), "/data/team-b/a");
    list.keys("sS").scanned(all, Extent::Complete);
    assert_eq!(list.selected(), "/data/team-b/a");
    list.keys("G");
    assert_ne!(list.selected(), "/data/team-b/a");
}

#[test]
fn enter_opens_the_selected_one_and_it_stays_selected() {
    let mut list = List::done();
    list.effects.clear();
    list.keys("j\n");
    assert_eq!(list.effects, [Effect::Open("/data/team-a/sessions".to_owned())]);
    // Back again, after a scan that found more above it.
    let mut more = found();
    more.push(checkpoint("/data/new", 200, 9, vec![skewed(40.0)], vec![]));
    list.scanned(more, Extent::Complete);
    assert_eq!(list.selected(), "/data/team-a/sessions");
    list.send(Msg::NotOpened("gone".to_owned()));
    assert!(list.screen().contains("gone"));
}

#[test]
fn a_stopped_scan_keeps_what_it_has_and_says_so() {
    for stop in ["c", "\u{1b}"] {
        let mut list = List::new(80, 24);
        list.found(&found()[0]).keys(stop);
        assert_eq!(list.effects, [Effect::Scan, Effect::Stop]);
        assert!(matches!(list.model.run, Run::Scanning { stopping: true, .. }));
        list.scanned(found()[..1].to_vec(), Extent::Cancelled);
        assert_eq!(list.paths(), ["/data/team-a/fraud_join"]);
        let screen = list.screen();
        assert!(screen.contains("PARTIAL"), "{screen}");
        assert!(screen.contains("1 of 2 found are read"), "{screen}");
    }
}

#[test]
fn a_scan_again_replaces_lines_and_a_stopped_one_keeps_the_others() {
    let mut list = List::done();
    list.keys("jr");
    assert_eq!(list.effects.last(), Some(&Effect::Scan));
    assert_eq!(list.paths(), RANKED);
    list.keys("r");
    assert!(list.screen().contains("a scan is running"));
    list.keys("c");
    list.scanned(vec![checkpoint("/data/new", 1, 1, vec![], vec![])], Extent::Cancelled);
    assert_eq!(list.paths().len(), 5);
    assert!(list.screen().contains("others are of 10:34:00"), "{}", list.screen());
    list.keys("r").scanned(found()[1..2].to_vec(), Extent::Complete);
    assert_eq!(list.paths(), ["/data/team-a/sessions"]);
    assert_eq!(list.model.earlier, None);
}

#[test]
fn a_failed_scan_can_be_tried_again() {
    let mut list = List::new(80, 24);
    list.send(Msg::Scanned(Err("/data: not found".to_owned())));
    assert!(list.screen().contains("/data: not found"));
    list.keys("r");
    assert_eq!(list.effects, [Effect::Scan, Effect::Scan]);
    list.scanned(found(), Extent::Complete).keys("r");
    list.send(Msg::Scanned(Err("/data: not found".to_owned())));
    assert_eq!(list.paths(), RANKED);
    assert!(
        list.screen().contains("Not scanned again; others are of 10:34:00: /data: not"),
        "{}",
        list.screen()
    );
}

#[test]
fn sorting_goes_through_the_columns_and_unknown_values_come_last() {
    let mut list = List::done();
    for sort in Sort::ALL.into_iter().skip(1).chain([Sort::Rank]) {
        list.keys("s");
        assert_eq!(list.model.sort, sort);
    }
    assert_eq!(list.paths(), RANKED);
    list.keys("sss");
    assert_eq!(list.model.sort, Sort::Rows);
    assert_eq!(list.paths()[0], "/data/team-a/fraud_join");
    assert_eq!(list.paths()[3], "/data/team-b/a");
    list.keys("S");
    assert_eq!(list.paths()[0], "/data/legacy");
    assert_eq!(list.paths()[3], "/data/team-b/a", "unknown rows are not the fewest");
}

#[test]
fn the_filter_reads_every_column() {
    let mut list = List::done();
    list.keys("/skewed\n");
    assert_eq!(list.paths(), RANKED[..2]);
    list.keys("\u{1b}");
    assert_eq!(list.paths(), RANKED);
    list.keys("/no: limit");
    assert_eq!(list.paths(), ["/data/legacy"]);
    list.keys("x\u{8}\u{1b}");
    assert_eq!((list.paths().len(), list.model.typing), (4, false));
    list.keys("/nothing like it\n\n");
    assert!(list.screen().contains("nothing fits the filter"));
    assert!(!list.effects.iter().any(|effect| matches!(effect, Effect::Open(_))));
}

#[test]
fn what_could_not_be_read_is_a_list_of_its_own() {
    let mut list = List::done();
    assert!(list.screen().contains("not read 3"), "{}", list.screen());
    list.keys("uj");
    assert_eq!(list.model.unread().unwrap().path, "/data/damaged");
    assert!(list.screen().contains("expected a directory, found a file"));
    list.keys("\n");
    assert!(list.screen().contains("cannot be opened"));
    list.keys("\u{1b}");
    assert_eq!(list.model.tab, Tab::Checkpoints);
    list.keys("\t");
    assert_eq!(list.model.tab, Tab::Unreadable);
}

#[test]
fn leaving() {
    let quit = Effect::Exit(ConsoleExit::Quit);
    let mut list = List::done();
    list.effects.clear();
    list.keys("?q");
    assert!(list.effects.is_empty(), "q closes the help first");
    list.keys("\u{1b}");
    assert!(list.screen().contains("this is the top: q quits"));
    list.keys("q");
    assert_eq!(list.effects, std::slice::from_ref(&quit));
    let mut list = List::done();
    list.effects.clear();
    list.keys("/abc").send(Msg::Key(Key::Interrupt));
    assert_eq!(list.effects, [quit]);
    list.send(Msg::Signal(15));
    assert_eq!(list.effects.last(), Some(&Effect::Exit(ConsoleExit::Signal(15))));
}

#[test]
fn windows_scroll_and_close() {
    let mut list = List::done();
    list.keys("?");
    assert_eq!(list.model.overlay, Some(Overlay::Help(0)));
    list.keys("G");
    let Some(Overlay::Help(end)) = list.model.overlay else { panic!() };
    assert!(end > 0 && end < 100, "{end}");
    list.keys("jk");
    assert_eq!(list.model.overlay, Some(Overlay::Help(end - 1)));
    list.keys("?d");
    assert_eq!(list.model.overlay, Some(Overlay::Details(0)));
    list.keys("d");
    assert_eq!(list.model.overlay, None);
}

#[test]
fn the_key_reference_names_every_key_once() {
    let reference = scan::commands::help_markdown();
    for key in ["`Enter`", "`Tab`", "`u`", "`s`", "`S`", "`/`", "`c`", "`r`", "`q`", "`?`"] {
        assert_eq!(reference.matches(key).count(), 1, "{key}\n{reference}");
    }
    let commands = scan::commands::COMMANDS;
    let keys: Vec<Key> = commands.iter().flat_map(|command| command.keys).copied().collect();
    for (at, key) in keys.iter().enumerate() {
        assert!(!keys[at + 1..].contains(key), "{key:?}");
    }
    let list = List::done();
    for command in commands.iter().filter(|command| command.weight > 0) {
        assert_ne!(scan::commands::hint(command.action, &list.model), "", "{command:?}");
    }
}

#[test]
fn an_opened_checkpoint_leads_back_to_the_list() {
    let settings = Settings { above: Above::List, ..Settings::default() };
    for keys in ["\u{1b}", "q", "2\u{1b}\u{1b}", "2qq", "/x\n\u{1b}\u{1b}"] {
        let mut console = Console::with(settings.clone(), 80, 24);
        console.observe(&usual(), BATCH);
        assert!(console.screen().contains("q to the list"), "{}", console.screen());
        console.keys(keys);
        let exits = console.effects.iter().filter_map(|effect| match effect {
            effect::Effect::Exit(exit) => Some(*exit),
            _ => None,
        });
        assert_eq!(exits.collect::<Vec<_>>(), [ConsoleExit::Back], "{keys:?}");
    }
}

#[test]
fn of_named_queries_one_sees_how_they_do() {
    let mut list = List::new(80, 24);
    let named = |path: &str, name: &str| {
        let mut one = checkpoint(path, 200, 900, vec![], vec![]);
        one.name = Some(name.to_owned());
        one
    };
    list.scanned(vec![named("/data/a", "fraud-agg"), named("/data/b", "orders")], Extent::Complete);
    let screen = list.screen();
    let head = screen.lines().find(|line| line.contains("name")).unwrap();
    for column in ["name", "status", "batch", "age", "rows", "mean", "batch time", "findings"] {
        assert!(head.contains(column), "{column}: {screen}");
    }
    assert!(screen.contains("1 !"), "{screen}");
}

/// In the sizes that must work.
fn check(name: &str, prepare: impl Fn(&mut List)) {
    let all = [(60, 15), (80, 24), (120, 40)].map(|(width, height)| {
        let mut list = List::new(width, height);
        prepare(&mut list);
        format!("{width}x{height}\n{}\n", list.screen())
    });
    let mut insta = Insta::clone_current();
    insta.set_prepend_module_to_snapshot(false);
    insta.set_omit_expression(true);
    insta.bind(|| assert_snapshot!(format!("scan-{name}"), all.concat()));
}

#[test]
fn screens() {
    check("list", |list| {
        list.scanned(found(), Extent::Complete).keys("j");
    });
    check("not-read", |list| {
        list.scanned(found(), Extent::Complete).keys("uj");
    });
    check("partial", |list| {
        list.scanned(found(), Extent::Cancelled);
    });
    check("details", |list| {
        list.scanned(found(), Extent::Complete).keys("jjd");
    });
    check("help", |list| {
        list.scanned(found(), Extent::Complete).keys("?");
    });
    check("filter", |list| {
        list.scanned(found(), Extent::Complete).keys("/team");
    });
    check("nothing", |list| {
        list.scanned(Vec::new(), Extent::Complete);
    });
    check("failed", |list| {
        list.send(Msg::Scanned(Err("/data: not found".to_owned())));
    });
    check("scanning", |list| {
        list.found(&found()[1]).found(&found()[2]);
        let progress = ScanProgress { directories: 1_204, found: 4, read: 2, unreadable: 0 };
        list.send(Msg::Progress(progress));
    });
    check("begin", |_| {});
}

#[test]
fn hostile_names_and_small_terminals() {
    let mut hostile = found();
    hostile[0].path = "/data/\u{1b}[2J\u{202e}漢字".to_owned();
    hostile[0].query_id = Some("\u{7}".to_owned());
    hostile[1].operators[0].name = "a\nb\u{9b}31m".to_owned();
    for charset in [Charset::Utf8, Charset::Ascii] {
        for (width, height) in [(60, 15), (80, 24), (120, 40), (59, 24), (80, 14), (1, 1)] {
            let mut list = List::new(width, height);
            for keys in ["", "d", "du", "?"] {
                list.scanned(hostile.clone(), Extent::Complete).keys(keys);
                for cell in list.buffer(charset).content() {
                    let symbol = cell.symbol();
                    assert!(!symbol.chars().any(char::is_control), "{symbol:?}");
                    assert!(charset == Charset::Utf8 || symbol.is_ascii(), "{symbol:?}");
                }
            }
        }
    }
}

/// No order of messages makes it panic, and what is selected is in the list.
#[test]
fn random_messages() {
    let keys: Vec<Key> = scan::commands::COMMANDS.iter().flat_map(|c| c.keys).copied().collect();
    let side = |cells: usize| u16::try_from(cells).unwrap();
    let mut list = List::new(80, 24);
    let all = found();
    for step in 0..4_000_u64 {
        let dice = crate::support::noise(step);
        let one = (dice >> 8) as usize;
        list.send(match dice % 16 {
            0 => Msg::Found(Box::new(all[one % all.len()].clone())),
            1 => Msg::Lost(lost()[one % 3].clone()),
            2 => Msg::Scanned(Ok(Box::new(report(all[..one % 5].to_vec(), Extent::Cancelled)))),
            3 => Msg::Scanned(Ok(Box::new(report(all[one % 5..].to_vec(), Extent::Complete)))),
            4 => Msg::Scanned(Err("no".to_owned())),
            5 => Msg::Resize(Size { width: side(one % 130), height: side(one % 41) }),
            6 => Msg::Progress(ScanProgress::default()),
            _ => Msg::Key(keys[one % keys.len()]),
        });
        list.effects.clear();
        let _ = list.buffer(Charset::Utf8);
        assert!(list.model.lines() == 0 || list.model.place() < list.model.lines());
    }
}
