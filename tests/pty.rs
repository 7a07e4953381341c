//! The console under a pseudo-terminal: whatever ends it, the terminal is given back.
//!
//! The process under test is this test binary again, running only [`child`], which opens
//! the console on a made-up source. So every way to end can be forced.
#![cfg(unix)]
#![allow(dead_code)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::exit,
    unreachable_pub,
    reason = "tests"
)]

#[path = "support/mod.rs"]
mod fixtures;
#[path = "console/support.rs"]
mod support;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use statetop::console::terminal::Guard;
use statetop::console::{ConsoleError, ConsoleExit, ConsoleOptions, Watched, run, scan};
use statetop::reader::{
    CheckpointReader, Mark, Observation, Observe, ReadError, Request, ScanNews, ScanRequest,
};
use statetop::report::ScanReport;
use statetop::task::{Cancel, Progress};

const ROLE: &str = "STATETOP_TEST_CHILD";
const PATIENCE: Duration = Duration::from_secs(20);

/// A checkpoint that stands still, or gets a batch at every look.
struct MadeUp {
    moving: bool,
    looks: AtomicU64,
}

impl MadeUp {
    fn batch(&self) -> u64 {
        support::BATCH + self.looks.load(Ordering::SeqCst)
    }
}

impl Observe for MadeUp {
    fn name(&self) -> &'static str {
        "made-up"
    }

    fn mark(&self) -> Result<Mark, ReadError> {
        if self.moving {
            self.looks.fetch_add(1, Ordering::SeqCst);
        }
        Ok(support::mark(self.batch()))
    }

    fn observe(
        &self,
        request: &Request,
        _: &Cancel,
        _: &(dyn Fn(Progress) + Sync),
    ) -> Result<Observation, ReadError> {
        let mut stores = support::usual();
        for rows in &mut stores[0].rows {
            *rows = rows.map(|rows| rows + self.batch() * 17 % 900);
        }
        Ok(support::observation(&stores, self.batch(), request.depth))
    }
}

/// Finds what lies below one folder.
struct Folder([String; 1]);

impl scan::Find for Folder {
    fn roots(&self) -> &[String] {
        &self.0
    }

    fn scan(
        &self,
        cancel: &Cancel,
        news: &(dyn Fn(ScanNews<'_>) + Sync),
    ) -> Result<ScanReport, ReadError> {
        let request = ScanRequest {
            roots: self.0.to_vec(),
            depth: 6,
            names: BTreeMap::new(),
            ..ScanRequest::default()
        };
        statetop::reader::scan(&request, cancel, news)
    }
}

#[test]
#[ignore = "started by the other tests as the process with the console"]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    if role == "panic" {
        let _guard = Guard::enter().unwrap();
        panic!("made-up panic");
    }
    let options = ConsoleOptions { refresh: Duration::from_millis(200), ..Default::default() };
    if let Some(root) = role.strip_prefix("list:") {
        let finder = Arc::new(Folder([root.to_owned()]));
        let open = |target: &str| -> Result<Watched, ReadError> {
            let checkpoint: Arc<dyn Observe> = Arc::new(CheckpointReader::open(target)?);
            Ok(checkpoint.into())
        };
        end(scan::run(finder, &open, &options));
    }
    let source: Arc<dyn Observe> = match role.strip_prefix("open:") {
        Some(target) => Arc::new(CheckpointReader::open(target).unwrap()),
        None => Arc::new(MadeUp { moving: role == "moving", looks: AtomicU64::new(0) }),
    };
    end(run(source, options));
}

fn end(result: Result<ConsoleExit, ConsoleError>) -> ! {
    let code = match result {
        Ok(ConsoleExit::Quit | ConsoleExit::Back) => 0,
        Ok(ConsoleExit::Signal(signal)) => 128 + signal,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "console failed: {error}");
            3
        }
    };
    std::process::exit(code);
}

/// A process on a pseudo-terminal, and the screen that it draws.
struct Session {
    master: Option<Box<dyn MasterPty + Send>>,
    process: Box<dyn Child + Send + Sync>,
    keys: Option<Box<dyn Write + Send>>,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    bytes: Vec<u8>,
    modes: String,
}

impl Session {
    fn start(role: &str, env: &[(&str, &str)]) -> Self {
        let mut command = Self::command(std::env::current_exe().unwrap());
        command.args(["--exact", "child", "--ignored", "--nocapture"]);
        command.env(ROLE, role);
        for (name, value) in env {
            command.env(name, value);
        }
        Self::of(command)
    }

    /// A command line of the shell.
    fn shell(line: &str) -> Self {
        let mut command = Self::command("sh");
        command.args(["-c", line]);
        Self::of(command)
    }

    /// A command whose environment says nothing of whoever runs the tests.
    fn command(program: impl AsRef<std::ffi::OsStr>) -> CommandBuilder {
        let mut command = CommandBuilder::new(program);
        command.env("TERM", "xterm-256color");
        command.env("LC_ALL", "C.UTF-8");
        for name in ["NO_COLOR", "COLORTERM"] {
            command.env_remove(name);
        }
        command
    }

    fn of(command: CommandBuilder) -> Self {
        let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
        let pty = native_pty_system().openpty(size).unwrap();
        let modes = format!("{:?}", pty.master.get_termios());
        let process = pty.slave.spawn_command(command).unwrap();
        let mut reader = pty.master.try_clone_reader().unwrap();
        // Without room: who does not listen here does not listen to the process either.
        let (sender, output) = sync_channel(0);
        thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(read @ 1..) = reader.read(&mut chunk) {
                if sender.send(chunk[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        let keys = pty.master.take_writer().unwrap();
        Self {
            master: Some(pty.master),
            process,
            keys: Some(keys),
            output,
            screen: vt100::Parser::new(24, 80, 0),
            bytes: Vec::new(),
            modes,
        }
    }

    /// Takes what was written until nothing comes for `quiet`.
    fn drain(&mut self, quiet: Duration) -> usize {
        let before = self.bytes.len();
        while let Ok(chunk) = self.output.recv_timeout(quiet) {
            self.screen.process(&chunk);
            self.bytes.extend(chunk);
        }
        self.bytes.len() - before
    }

    fn wait_for(&mut self, text: &str) {
        let begin = Instant::now();
        while !self.screen.screen().contents().contains(text) {
            assert!(
                begin.elapsed() < PATIENCE,
                "no {text:?} in\n{}",
                self.screen.screen().contents()
            );
            self.drain(Duration::from_millis(20));
        }
    }

    fn press(&mut self, keys: &str) {
        self.keys.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    fn signal(&self, name: &str) {
        let pid = self.process.process_id().unwrap().to_string();
        // The shell's own kill: a small system has no program of that name.
        let kill = format!("kill -{name} {pid}");
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }

    /// The exit code, once the process has ended.
    fn exit(&mut self) -> u32 {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                self.drain(Duration::from_millis(100));
                return status.exit_code();
            }
            assert!(begin.elapsed() < PATIENCE, "the process does not end");
            self.drain(Duration::from_millis(20));
        }
    }

    /// The shell still waits for the rest of a pipeline.
    fn wait_for_the_end_of_the_console(&mut self) {
        let begin = Instant::now();
        while self.screen.screen().alternate_screen() {
            assert!(begin.elapsed() < PATIENCE, "the console does not end");
            self.drain(Duration::from_millis(20));
        }
    }

    fn assert_restored(&self) {
        let screen = self.screen.screen();
        assert!(!screen.alternate_screen(), "still on the alternate screen");
        assert!(!screen.hide_cursor(), "the cursor is hidden");
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
        let modes = self.master.as_ref().map(|master| format!("{:?}", master.get_termios()));
        assert_eq!(modes.as_ref(), Some(&self.modes), "raw mode is left on");
    }

    fn assert_taken(&self) {
        let screen = self.screen.screen();
        assert!(screen.alternate_screen() && screen.hide_cursor());
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn opened(role: &str) -> Session {
    let mut session = Session::start(role, &[]);
    session.wait_for("max÷mean");
    session
}

#[test]
fn start_look_around_resize_and_quit() {
    let mut session = opened("still");
    session.assert_taken();
    session.press("2");
    session.wait_for("200 partitions by rows");
    session.press("M");
    session.wait_for("mouse on");
    let size = PtySize { rows: 15, cols: 60, pixel_width: 0, pixel_height: 0 };
    session.master.as_ref().unwrap().resize(size).unwrap();
    session.screen.screen_mut().set_size(15, 60);
    session.wait_for("rows, log");
    let size = PtySize { rows: 10, cols: 40, pixel_width: 0, pixel_height: 0 };
    session.master.as_ref().unwrap().resize(size).unwrap();
    session.screen.screen_mut().set_size(10, 40);
    session.wait_for("needs 60x15");
    session.press("qq");
    assert_eq!(session.exit(), 0);
    session.assert_restored();
}

/// `kubectl logs -f … | statetop TARGET --progress -`: standard input is the log, and keys come
/// from the terminal.
#[test]
fn keys_are_read_from_the_terminal_while_standard_input_is_a_log() {
    let all = fixtures::all();
    let fixture = all.iter().find(|fixture| fixture.name == "agg-window-hot-4.3.0").unwrap();
    let unpacked = fixture.unpack();
    let metadata = std::fs::read_to_string(unpacked.path.join("metadata")).unwrap();
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
    let line = |batch: u64| {
        serde_json::json!({
            "id": metadata["id"], "runId": "run-1", "name": "piped", "batchId": batch,
            "timestamp": "2026-11-30T16:05:28.019Z", "numInputRows": 40,
            "durationMs": {"addBatch": 700, "triggerExecution": 900},
        })
    };
    let binary = env!("CARGO_BIN_EXE_statetop");
    let target = unpacked.target();
    let data = tempfile::tempdir().unwrap();
    let mut session = Session::shell(&format!(
        "(echo '{}'; sleep 1; echo '{}'; sleep 60) | STATETOP_CONFIG=/nowhere \
         STATETOP_DATA_DIR={} {binary} {target} --progress -",
        line(1_000_001),
        line(1_000_002),
        data.path().display(),
    ));
    session.wait_for("max÷mean");
    session.press("5");
    session.wait_for("batch 1000002");
    session.press("[");
    session.wait_for("batch 1000001 of 1000002");
    session.press("\u{3}");
    session.wait_for_the_end_of_the_console();
    session.assert_restored();
    // What was on the screens is remembered.
    let id = metadata["id"].as_str().unwrap();
    let kept = data.path().join("queries").join(format!("{id}.jsonl"));
    let kept = std::fs::read_to_string(kept).unwrap();
    assert!(kept.contains(r#"{"kind":"sample","#), "{kept}");
}

#[test]
fn control_c_quits() {
    let mut session = opened("moving");
    session.press("2/abc\u{3}");
    assert_eq!(session.exit(), 0);
    session.assert_restored();
}

#[test]
fn signals_end_it_with_their_code() {
    for (name, code) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
        let mut session = opened("moving");
        session.press("M");
        session.wait_for("mouse on");
        session.signal(name);
        assert_eq!(session.exit(), code, "SIG{name}");
        session.assert_restored();
    }
}

#[test]
fn a_panic_is_told_on_a_restored_terminal() {
    let mut session = Session::start("panic", &[]);
    session.wait_for("made-up panic");
    assert_ne!(session.exit(), 0);
    session.assert_restored();
}

#[test]
fn a_terminal_that_hangs_up_ends_it() {
    let mut session = opened("moving");
    session.keys = None;
    session.master = None;
    // The reader thread holds the last handle until the process ends or is killed by SIGHUP;
    // a signal stands for what the kernel sends when the line drops.
    session.signal("HUP");
    assert_eq!(session.exit(), 129);
}

#[test]
fn a_terminal_that_stopped_listening_cannot_hold_it() {
    let mut session = opened("moving");
    for _ in 0..60 {
        session.press("?");
        thread::sleep(Duration::from_millis(55));
    }
    session.signal("TERM");
    let begin = Instant::now();
    while session.process.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < PATIENCE, "the process hangs");
        thread::sleep(Duration::from_millis(50));
    }
    assert!(begin.elapsed() > Duration::from_secs(1), "the terminal did listen");
    let modes = session.master.as_ref().map(|master| format!("{:?}", master.get_termios()));
    assert_eq!(modes.as_ref(), Some(&session.modes), "raw mode is left on");
}

#[test]
fn new_batches_appear_by_themselves() {
    let mut session = opened("moving");
    session.wait_for("batch 1845");
    session.press("q");
    assert_eq!(session.exit(), 0);
}

#[test]
fn nothing_is_written_while_nothing_changes() {
    let mut session = opened("still");
    session.press(" ");
    session.wait_for("PAUSED");
    session.drain(Duration::from_millis(300));
    assert_eq!(session.drain(Duration::from_millis(1_500)), 0);
    session.press("q");
    assert_eq!(session.exit(), 0);
}

#[test]
fn no_color_keeps_reverse_and_writes_no_colour() {
    let mut session = Session::start("still", &[("NO_COLOR", "1")]);
    session.wait_for("max÷mean");
    let text = String::from_utf8_lossy(&session.bytes).into_owned();
    assert!(text.contains("\u{1b}[7m"), "the selection is not reversed");
    assert!(!text.contains("38;") && !text.contains("48;"), "{text:?}");
    session.press("q");
    assert_eq!(session.exit(), 0);
}

/// From the partitions of a real checkpoint to the keys of one, the rows of the heaviest, back,
/// and to what another count would do.
fn walk(fixture: &str, column: &str, hot: &str, told: &str) {
    let all = fixtures::all();
    let unpacked = all.iter().find(|one| one.name == fixture).unwrap().unpack();
    let mut session = opened(&format!("open:{}", unpacked.target()));
    session.press("2");
    session.wait_for("partitions by rows");
    session.press("\r");
    session.wait_for("of part ");
    session.wait_for("MASKED");
    session.press("B");
    session.wait_for("by: ");
    session.press(&format!("{column}\r"));
    session.wait_for(&format!("by {column} "));
    assert!(!session.screen.screen().contents().contains(hot), "masked");
    session.press("m");
    session.wait_for("REVEALED");
    session.press("a");
    session.wait_for("of all rows");
    session.press(&format!("/{hot}\r"));
    session.wait_for(&format!("> {hot}"));
    session.press("v");
    session.wait_for(&format!("of {column}={hot}"));
    session.wait_for(&format!("\"{column}\": \"{hot}\""));
    session.press("h");
    session.wait_for("history of a key");
    session.wait_for(told);
    session.press("qq");
    session.wait_for("weighed by");
    session.press("4");
    session.wait_for("now: 5");
    session.press("cx\u{7f}12\r");
    session.wait_for("at 12 ");
    session.press("qq");
    assert_eq!(session.exit(), 0);
    session.assert_restored();
}

#[test]
fn a_walk_through_a_join() {
    walk("join-v2-4.3.0", "field0", "acct-7", " in batches 0 to 7");
}

#[test]
fn a_walk_through_an_aggregation() {
    walk("agg-window-hot-4.3.0", "account_id", "acct-7", "No changelogs lead to this batch");
}

/// Three checkpoints below one folder, and something that cannot be read.
fn lake() -> tempfile::TempDir {
    let root = tempfile::TempDir::new().unwrap();
    let all = fixtures::all();
    for (place, name) in
        [("hot", "agg-window-hot-4.3.0"), ("join", "join-v4-4.3.0"), ("team/limit", "limit-4.3.0")]
    {
        let unpacked = all.iter().find(|one| one.name == name).unwrap().unpack();
        let path = root.path().join(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::rename(&unpacked.path, path).unwrap();
    }
    std::fs::create_dir_all(root.path().join("damaged/commits")).unwrap();
    std::fs::write(root.path().join("damaged/offsets"), "").unwrap();
    std::fs::write(
        root.path().join("damaged/metadata"),
        "{\"id\":\"0f0e0d0c-0b0a-0908-0706-050403020100\"}",
    )
    .unwrap();
    root
}

#[test]
fn a_checkpoint_is_opened_from_the_list_and_left_again() {
    let root = lake();
    let mut session = Session::start(&format!("list:{}", root.path().display()), &[]);
    session.wait_for("COMPLETE");
    session.assert_taken();
    session.wait_for("checkpoints 3");
    session.press("u");
    session.wait_for("expected a directory, found a file");
    session.press("\t/limit\r");
    session.wait_for("> team/limit");
    session.press("\r");
    session.wait_for("LIVE");
    session.wait_for("globalLimit");
    session.press("2");
    session.wait_for("partitions by rows");
    session.press("M");
    session.wait_for("mouse on");
    // From the partitions to the overview, from there to the list.
    session.press("\u{1b}");
    session.wait_for("to the list");
    session.press("\u{1b}");
    session.wait_for("> team/limit");
    session.assert_taken();
    let mouse = session.screen.screen().mouse_protocol_mode();
    assert_eq!(mouse, vt100::MouseProtocolMode::None);
    // Keys are read by one alone: none is lost, however fast they come.
    session.press("\u{1b}");
    session.wait_for("  hot");
    session.press("gGkk\rqG\r");
    session.wait_for("to the list");
    session.press("q");
    session.wait_for("COMPLETE");
    session.press("q");
    assert_eq!(session.exit(), 0);
    session.assert_restored();
}

#[test]
fn signals_and_control_c_end_the_list_and_what_is_opened_from_it() {
    let root = lake();
    for opened in [false, true] {
        for end in ["TERM", "\u{3}"] {
            let mut session = Session::start(&format!("list:{}", root.path().display()), &[]);
            session.wait_for("COMPLETE");
            if opened {
                session.press("\r");
                session.wait_for("to the list");
            }
            if end == "TERM" {
                session.signal(end);
                assert_eq!(session.exit(), 143);
            } else {
                session.press(end);
                assert_eq!(session.exit(), 0);
            }
            session.assert_restored();
        }
    }
}
