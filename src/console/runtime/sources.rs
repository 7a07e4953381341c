//! Threads that tell: keys, signals, and new log entries.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::super::msg::{Key, Mouse, Msg, Size};
use super::super::terminal;
use super::Incoming;
use super::stage::Audience;

use crate::reader::{Mark, Observe};

/// How long the loop may take to end by itself after a signal.
const GRACE: Duration = Duration::from_secs(2);
/// The longest pause between two looks while they fail.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// How long a terminal that does not listen may take to be given back.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Reads keys. Never joined: on a terminal that hung up a read may never return.
pub(super) fn input(audience: Audience) -> io::Result<()> {
    spawn("keys", move || {
        loop {
            let incoming = match crossterm::event::read() {
                Ok(event) => match translate(&event) {
                    Some(msg) => Incoming::Msg(msg),
                    None => continue,
                },
                Err(error) => Incoming::InputLost(error),
            };
            let lost = matches!(incoming, Incoming::InputLost(_));
            if audience.send(incoming).is_err() || lost {
                return;
            }
        }
    })
}

/// Turns signals into messages; acts itself when the loop does not.
pub(super) fn signals(audience: Audience, left: Arc<AtomicBool>) -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
    spawn("signals", move || {
        let Some(signal) = signals.forever().next() else { return };
        // A full queue is a loop that hangs: then waiting is all there is left to do.
        audience.try_send(Incoming::Msg(Msg::Signal(signal)));
        thread::sleep(GRACE);
        if !left.load(Ordering::SeqCst) {
            give_up(signal);
        }
    })
}

/// The loop hangs, most likely in a write to a terminal that is gone or stopped.
fn give_up(signal: i32) {
    // The line's modes need no one to listen; what is written may never get out.
    terminal::restore_modes();
    // Not standard output: the loop may hold its lock.
    let last_words = || {
        if let Ok(mut tty) = std::fs::OpenOptions::new().write(true).open("/dev/tty") {
            terminal::restore(&mut tty);
        }
    };
    if spawn("last words", last_words).is_ok() {
        thread::sleep(LAST_WORDS);
    }
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

/// Looks for new log entries, at every interval and when asked to. Where that fails the
/// pauses grow: a store that is down is not helped by being asked.
pub(super) fn watcher(
    source: Arc<dyn Observe>,
    sender: Sender<Incoming>,
    polls: Receiver<()>,
    refresh: Duration,
) -> io::Result<()> {
    spawn("watcher", move || {
        let mut failures = 0;
        loop {
            let looked = look(source.as_ref());
            failures = if looked.is_ok() { 0 } else { failures + 1 };
            if sender.send(Incoming::Msg(Msg::Marked(looked))).is_err() {
                return;
            }
            if polls.recv_timeout(pause(refresh, failures)) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
        }
    })
}

fn look(source: &dyn Observe) -> Result<Mark, String> {
    let looked = catch_unwind(AssertUnwindSafe(|| source.mark()));
    let looked =
        looked.map_err(|_| "looking for new batches failed as it should not".to_owned())?;
    looked.map_err(|error| error.to_string())
}

/// One failure may be chance: only from the second on the pause grows.
fn pause(refresh: Duration, failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    refresh.saturating_mul(1 << doublings).min(LONGEST_PAUSE.max(refresh))
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map(|_| ())
}

/// What the terminal reports, in the console's own words.
fn translate(event: &Event) -> Option<Msg> {
    if let Event::Paste(text) = event {
        return Some(Msg::Pasted(text.clone()));
    }
    match *event {
        Event::Key(key) if key.kind != KeyEventKind::Release => key_of(key).map(Msg::Key),
        Event::Mouse(mouse) => mouse_of(mouse).map(Msg::Mouse),
        // The size is asked for before each frame: this only wakes the loop.
        Event::Resize(width, height) => Some(Msg::Resize(Size { width, height })),
        _ => None,
    }
}

fn key_of(key: KeyEvent) -> Option<Key> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return (key.code == KeyCode::Char('c')).then_some(Key::Interrupt);
    }
    if key.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    Some(match key.code {
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Esc,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}

fn mouse_of(mouse: MouseEvent) -> Option<Mouse> {
    match mouse.kind {
        MouseEventKind::Down(MouseButton::Left) => Some(Mouse::Click(mouse.column, mouse.row)),
        MouseEventKind::ScrollUp => Some(Mouse::ScrollUp),
        MouseEventKind::ScrollDown => Some(Mouse::ScrollDown),
        _ => None,
    }
}
