//! The loop over a terminal that only counts: how many frames, how many bytes.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, never, unbounded};
use ratatui::Terminal;
use ratatui::layout::Size;
use statetop::console::effect::Effect;
use statetop::console::msg::{Key, Msg, Outcome, Ticket};
use statetop::console::runtime::{
    Attached, Execute, Extent, FrameBackend, Inbox, Incoming, Lanes, event_loop,
};
use statetop::console::state::{Screen, Settings, State};
use statetop::console::{ConsoleError, ConsoleExit, update, view};
use statetop::reader::{Depth, Mark, Observation, Observe, ReadError, Request};
use statetop::task::{Cancel, Progress};
use statetop::telemetry::attach::{Attach, AttachError, Tell};
use statetop::telemetry::timeline::Condition;

use crate::support::*;
use crate::told_support::reported;

/// Keeps every write: a frame is one.
#[derive(Clone, Default)]
struct Frames(Rc<RefCell<Vec<Vec<u8>>>>);

impl Frames {
    fn count(&self) -> usize {
        self.0.borrow().len()
    }

    /// What a terminal would show after all frames.
    fn screen(&self) -> String {
        let mut parser = vt100::Parser::new(24, 80, 0);
        for frame in self.0.borrow().iter() {
            parser.process(frame);
        }
        parser.screen().contents()
    }
}

impl Write for Frames {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().push(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A terminal that is gone.
struct Gone;

impl Write for Gone {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn terminal<W: Write>(out: W) -> Terminal<FrameBackend<W>> {
    let extent = Extent::Fixed(Size::new(80, 24));
    Terminal::new(FrameBackend::new(out, extent)).unwrap()
}

/// Answers every read at once, from the loop's own thread.
struct AtOnce(Sender<Incoming>);

impl Execute for AtOnce {
    fn execute(&mut self, effect: Effect) -> io::Result<()> {
        if let Effect::Read(_, ticket, request) = effect {
            let outcome = Outcome::Done(observation(&usual(), BATCH, request.depth));
            self.0.send(Incoming::Msg(Msg::Read(ticket, Box::new(outcome)))).unwrap();
        }
        Ok(())
    }
}

/// Runs the loop over what `play` sends, until it quits.
fn run_loop(
    out: impl Write,
    play: impl FnOnce(Sender<Incoming>) + Send + 'static,
) -> (Result<ConsoleExit, ConsoleError>, State) {
    let (sender, inbox) = unbounded();
    let mut state = Console::new(80, 24).state;
    state.reading = Console::with(Settings::default(), 80, 24).state.reading.clone();
    let mut executor = AtOnce(sender.clone());
    let player = thread::spawn(move || play(sender));
    let look = look_of_tests();
    let inbox = Inbox { urgent: inbox, told: never() };
    // Started once already: a second start finds the lane taken and reads nothing.
    let result = event_loop(&mut terminal(out), &look, &mut state, &inbox, &mut executor, &|| NOW);
    player.join().unwrap();
    (result, state)
}

fn key(sender: &Sender<Incoming>, key: Key) {
    sender.send(Incoming::Msg(Msg::Key(key))).unwrap();
}

/// Long enough that a frame that was due has come.
const SETTLED: Duration = Duration::from_millis(150);

#[test]
fn a_burst_of_messages_is_one_frame() {
    let frames = Frames::default();
    let counter = frames.clone();
    let (first, rest) = unbounded();
    let (result, _) = run_loop(frames, move |sender| {
        thread::sleep(SETTLED);
        for _ in 0..500 {
            key(&sender, Key::Char('?'));
        }
        key(&sender, Key::Char('M'));
        thread::sleep(SETTLED);
        first.send(()).unwrap();
        key(&sender, Key::Interrupt);
    });
    assert_eq!(result.unwrap(), ConsoleExit::Quit);
    rest.recv().unwrap();
    // The first frame and one for the burst; a slow machine may split the burst in two.
    assert!((2..=3).contains(&counter.count()), "{} frames", counter.count());
}

#[test]
fn no_change_writes_no_byte() {
    let frames = Frames::default();
    let counter = frames.clone();
    let (result, state) = run_loop(frames, |sender| {
        thread::sleep(SETTLED);
        for _ in 0..5 {
            sender.send(Incoming::Msg(Msg::Marked(Ok(Mark::default())))).unwrap();
            thread::sleep(Duration::from_millis(20));
            sender.send(Incoming::Msg(Msg::Progress(Ticket(99), Progress::default()))).unwrap();
        }
        thread::sleep(SETTLED);
        key(&sender, Key::Interrupt);
    });
    assert_eq!(result.unwrap(), ConsoleExit::Quit);
    // The first mark is news; the same mark again is not.
    assert!(counter.count() <= 2, "{} frames", counter.count());
    assert!(state.newest.is_none());
}

#[test]
fn a_terminal_that_is_gone_ends_the_loop() {
    let (result, _) = run_loop(Gone, |_| {});
    assert!(matches!(result, Err(ConsoleError::Terminal(_))), "{result:?}");
}

#[test]
fn lost_input_ends_the_loop() {
    let (result, _) = run_loop(Frames::default(), |sender| {
        sender.send(Incoming::InputLost(io::ErrorKind::UnexpectedEof.into())).unwrap();
    });
    assert!(matches!(result, Err(ConsoleError::Terminal(_))), "{result:?}");
}

#[test]
fn a_signal_ends_the_loop() {
    let (result, _) = run_loop(Frames::default(), |sender| {
        sender.send(Incoming::Msg(Msg::Signal(15))).unwrap();
    });
    assert_eq!(result.unwrap(), ConsoleExit::Signal(15));
}

/// A source whose reads hang until they are cancelled, and whose counts panic.
struct Hangs {
    called: AtomicBool,
}

impl Observe for Hangs {
    fn name(&self) -> &'static str {
        "hangs"
    }

    fn mark(&self) -> Result<Mark, ReadError> {
        Ok(Mark::default())
    }

    fn observe(
        &self,
        request: &Request,
        cancel: &Cancel,
        _: &(dyn Fn(Progress) + Sync),
    ) -> Result<Observation, ReadError> {
        self.called.store(true, Ordering::SeqCst);
        assert!(request.depth != Depth::Exact, "a reader that panics");
        while cancel.check().is_ok() {
            thread::sleep(Duration::from_millis(5));
        }
        Err(ReadError::Cancelled(statetop::task::Cancelled))
    }
}

struct OnLanes(Lanes);

impl Execute for OnLanes {
    fn execute(&mut self, effect: Effect) -> io::Result<()> {
        match effect {
            Effect::Read(lane, ticket, request) => self.0.start(lane, ticket, request),
            Effect::Cancel(lane) => self.0.cancel(lane),
            _ => {}
        }
        Ok(())
    }
}

#[test]
fn keys_are_answered_while_a_source_hangs() {
    let source = Arc::new(Hangs { called: AtomicBool::new(false) });
    let (sender, inbox) = unbounded();
    let mut state = State::new(Settings::default(), console_size(), NOW);
    let mut executor = OnLanes(Lanes::new(source.clone(), &sender).unwrap());
    let frames = Frames::default();
    let begin = Instant::now();
    let player = thread::spawn(move || {
        while !source.called.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
        key(&sender, Key::Char('?'));
        thread::sleep(SETTLED);
        key(&sender, Key::Interrupt);
    });
    let look = look_of_tests();
    let mut screen = terminal(frames.clone());
    let inbox = Inbox { urgent: inbox, told: never() };
    let result = event_loop(&mut screen, &look, &mut state, &inbox, &mut executor, &|| NOW);
    player.join().unwrap();
    assert_eq!(result.unwrap(), ConsoleExit::Quit);
    assert!(frames.screen().contains("show or hide these keys"), "{}", frames.screen());
    assert!(begin.elapsed() < Duration::from_secs(5));
    executor.0.cancel_all();
}

/// A source that tells the same batch as fast as it is listened to.
struct Floods;

impl Attach for Floods {
    fn name(&self) -> &'static str {
        "floods"
    }

    fn follow(&self, cancel: &Cancel, tell: &mut Tell<'_>) -> Result<(), AttachError> {
        let news = vec![reported(BATCH); 500];
        while !cancel.is_cancelled() && tell(news.clone()).is_ok() {}
        Ok(())
    }
}

/// Runs the loop with a source attached, until `play` quits.
fn run_attached(
    source: Arc<dyn Attach>,
    frames: Frames,
    play: impl FnOnce(Sender<Incoming>) + Send + 'static,
) -> State {
    let (sender, urgent) = unbounded();
    let mut state = Console::attaching(80, 24).state;
    let mut executor = AtOnce(sender.clone());
    let (attached, told) = Attached::begin(vec![source]).unwrap();
    let player = thread::spawn(move || play(sender));
    let inbox = Inbox { urgent, told };
    let (look, mut screen) = (look_of_tests(), terminal(frames));
    let result = event_loop(&mut screen, &look, &mut state, &inbox, &mut executor, &|| NOW);
    assert_eq!(result.unwrap(), ConsoleExit::Quit);
    player.join().unwrap();
    drop(attached);
    state
}

#[test]
fn keys_are_answered_while_a_source_floods() {
    let frames = Frames::default();
    let begin = Instant::now();
    let state = run_attached(Arc::new(Floods), frames.clone(), |sender| {
        thread::sleep(SETTLED);
        key(&sender, Key::Char('?'));
        thread::sleep(SETTLED);
        key(&sender, Key::Interrupt);
    });
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert!(frames.screen().contains("show or hide these keys"), "{}", frames.screen());
    assert!(state.timeline.unwrap().events() > 500, "it was listened to as well");
    // 20 frames a second at most, however much is told.
    assert!(frames.count() < 40, "{} frames", frames.count());
}

/// A source that fails at once, and then tells.
struct Recovers(AtomicBool);

impl Attach for Recovers {
    fn name(&self) -> &'static str {
        "recovers"
    }

    fn follow(&self, _: &Cancel, tell: &mut Tell<'_>) -> Result<(), AttachError> {
        if !self.0.swap(true, Ordering::SeqCst) {
            return Err(AttachError("recovers: refused".to_owned()));
        }
        let _ = tell(vec![reported(BATCH)]);
        Ok(())
    }
}

#[test]
fn a_source_that_failed_is_tried_again_and_says_so() {
    let frames = Frames::default();
    let seen = frames.clone();
    let state = run_attached(Arc::new(Recovers(AtomicBool::new(false))), frames, |sender| {
        thread::sleep(Duration::from_millis(2_600));
        key(&sender, Key::Interrupt);
    });
    let told: Vec<u8> = seen.0.borrow().concat();
    assert!(String::from_utf8_lossy(&told).contains("recovers: refused"));
    let timeline = state.timeline.unwrap();
    assert_eq!(timeline.sources()[0].condition, Condition::Ended);
    assert_eq!(timeline.events(), 1);
}

fn answer_of(inbox: &Receiver<Incoming>) -> Outcome {
    match inbox.recv_timeout(Duration::from_secs(5)).unwrap() {
        Incoming::Msg(Msg::Read(_, outcome)) => *outcome,
        other => panic!("{other:?}"),
    }
}

#[test]
fn cancelled_and_panicking_reads_are_answered() {
    use statetop::console::effect::Lane;
    let source = Arc::new(Hangs { called: AtomicBool::new(false) });
    let (sender, inbox) = unbounded();
    let mut lanes = Lanes::new(source, &sender).unwrap();
    let request = |depth| Request { batch: None, depth, operator: None, store: None };
    lanes.start(Lane::Quick, Ticket(1), request(Depth::Logs));
    lanes.cancel(Lane::Quick);
    assert!(matches!(answer_of(&inbox), Outcome::Cancelled));
    lanes.start(Lane::Exact, Ticket(2), request(Depth::Exact));
    assert!(matches!(answer_of(&inbox), Outcome::Failed(_)));
    lanes.start(Lane::Quick, Ticket(3), request(Depth::Logs));
    lanes.cancel_all();
    assert!(matches!(answer_of(&inbox), Outcome::Cancelled), "the lane lives on");
}

/// A refresh in which every partition changed must stay small: links are slow at 3 a.m.
#[test]
fn a_refresh_of_the_partitions_screen_is_under_three_kilobytes() {
    let frames = Frames::default();
    let mut screen = terminal(frames.clone());
    let look = look("default", statetop::console::Level::Rgb, statetop::console::Charset::Utf8);
    let settings = Settings { refresh: 2_000, screen: Screen::Partitions, ..Settings::default() };
    let mut console = Console::with(settings, 80, 24);
    let mut draw = |console: &Console| {
        screen.draw(|frame| view::draw(&console.state, &look, frame.buffer_mut())).unwrap();
        frames.0.borrow().last().map_or(0, Vec::len)
    };
    let mut stores = usual();
    console.observe(&stores, BATCH);
    let whole = draw(&console);
    assert!(whole > 3_000, "the first frame is the whole screen");
    for batch in 1..6 {
        for (at, rows) in stores[0].rows.iter_mut().enumerate() {
            let grown = if at == 37 { 900 } else { noise(at as u64 ^ (batch << 20)) % 120 };
            *rows = rows.map(|rows| rows + grown);
        }
        console.after(2_000);
        console.observe(&stores, BATCH + batch);
        let refresh = draw(&console);
        assert!(refresh < 3_000, "batch {batch}: {refresh} bytes");
    }
    let before = frames.count();
    let _ = update::update(&mut console.state, Msg::Marked(Ok(mark(BATCH + 5))));
    draw(&console);
    assert_eq!(frames.count(), before, "the same screen again writes nothing");
}
