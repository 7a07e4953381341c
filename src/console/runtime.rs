//! The one place with a loop, threads, a clock and a terminal.
//!
//! ```text
//!  input ────┐
//!  signals ──┤   bounded        wait for one, apply all that are queued,
//!  watcher ──┼─> channel ─────> draw at most once per 50 ms, only when something changed
//!  lanes ────┘                  do the effects
//!  sources ────> bounded ─────> applied after those, for a part of a frame
//!                channel
//! ```
//!
//! There is no free-running tick: the loop sleeps until a message comes or a text on
//! screen is due to age. Nothing slow is awaited here, so keys are answered while a source
//! hangs; what sources of running queries tell has a channel of its own, so that keys never
//! wait behind a source that floods.

mod answers;
mod attached;
mod lanes;
mod memory;
mod sources;
mod stage;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::{Receiver, after, bounded, never, select};
use ratatui::Terminal;
use ratatui::backend::Backend;

use super::effect::Effect;
use super::look::Look;
use super::msg::{Msg, Size};
use super::state::{Keeping, Settings, State};
use super::terminal;
use super::{ConsoleError, ConsoleExit, ConsoleOptions, Keep, Watched, update, view};
use crate::units::UnixMillis;

pub use super::terminal::{Extent, FrameBackend};
pub use attached::{Attached, Told};
pub use lanes::Lanes;
use memory::MemoryLane;
pub(super) use stage::Stage;

/// The shortest time between two frames.
pub(super) const FRAME: Duration = Duration::from_millis(50);
/// How much of a frame's time goes to what sources tell, while keys wait.
const TELLING: Duration = Duration::from_millis(20);
/// Messages that may wait. Senders wait beyond that, so a stalled terminal piles up nothing.
const QUEUE: usize = 1024;

/// What comes in.
#[derive(Debug)]
pub enum Incoming {
    /// Something happened.
    Msg(Msg),
    /// Keys cannot be read any more.
    InputLost(io::Error),
}

/// Someone who does effects.
pub trait Execute {
    /// Begins what is wanted and returns at once.
    ///
    /// # Errors
    /// When the terminal fails.
    fn execute(&mut self, effect: Effect) -> io::Result<()>;
}

/// Does effects on the real source and terminal.
struct Executor {
    lanes: Lanes,
    memory: MemoryLane,
    poll: crossbeam_channel::Sender<()>,
}

impl Execute for Executor {
    fn execute(&mut self, effect: Effect) -> io::Result<()> {
        match effect {
            Effect::Read(lane, ticket, request) => self.lanes.start(lane, ticket, request),
            Effect::Cancel(lane) => self.lanes.cancel(lane),
            Effect::Ask(ticket, question) => self.lanes.ask(ticket, question),
            Effect::StopAsking => self.lanes.stop_asking(),
            Effect::Remember(what) => self.memory.start(what),
            Effect::Poll => {
                // A full channel means that a look is due anyway.
                let _ = self.poll.try_send(());
            }
            Effect::CaptureMouse(capture) => terminal::capture_mouse(capture)?,
            Effect::Exit(_) => {}
        }
        Ok(())
    }
}

/// Runs the console on the terminal of this process.
pub(super) fn run(watched: Watched, options: ConsoleOptions) -> Result<ConsoleExit, ConsoleError> {
    let mut stage = Stage::enter(&options.look)?;
    play(&mut stage, watched, options)
}

/// Shows a source on a terminal that is taken already.
pub(super) fn play(
    on: &mut Stage,
    watched: Watched,
    options: ConsoleOptions,
) -> Result<ConsoleExit, ConsoleError> {
    let (refresh, mouse) = (options.refresh, options.mouse);
    let size = terminal::size()?;
    let size = Size { width: size.width, height: size.height };
    let directory = match &options.memory {
        Keep::In(directory) => Some(directory.clone()),
        Keep::Nowhere | Keep::Unusable(_) => None,
    };
    let mut state = State::new(settings(&watched, options), size, now());
    state.mouse = mouse;
    if mouse {
        terminal::capture_mouse(true)?;
    }
    // The first frame comes before anything that could take time.
    draw(&mut on.screen, &state, &on.look)?;
    let (poll, polls) = bounded(1);
    let (sender, inbox) = on.inbox()?;
    let Watched { checkpoint: source, queries, rules: _ } = watched;
    let (attached, told) = Attached::begin(queries)?;
    sources::watcher(Arc::clone(&source), sender.clone(), polls, refresh)?;
    let memory = MemoryLane::new(directory, Arc::clone(&source), &sender)?;
    let lanes = Lanes::new(source, &sender)?;
    let mut executor = Executor { lanes, memory, poll };
    let Stage { screen, look, .. } = on;
    let inbox = Inbox { urgent: inbox, told };
    let result = event_loop(screen, look, &mut state, &inbox, &mut executor, &now);
    executor.lanes.cancel_all();
    executor.memory.cancel();
    drop(attached);
    if state.mouse {
        terminal::capture_mouse(false)?;
    }
    result
}

fn settings(watched: &Watched, options: ConsoleOptions) -> Settings {
    Settings {
        target: watched.checkpoint.name().to_owned(),
        sources: watched.queries.iter().map(|source| source.name().to_owned()).collect(),
        refresh: u64::try_from(options.refresh.as_millis()).unwrap_or(u64::MAX),
        batch: options.batch,
        operator: options.operator,
        store: options.store,
        counting: options.counting,
        screen: options.screen,
        above: options.above,
        rules: watched.rules.clone(),
        keeping: match options.memory {
            Keep::Nowhere => Keeping::Off,
            Keep::In(_) => Keeping::Waiting,
            Keep::Unusable(why) => Keeping::Failed(why),
        },
    }
}

fn now() -> UnixMillis {
    UnixMillis::from(SystemTime::now())
}

/// Where messages come from.
#[derive(Debug, Clone)]
pub struct Inbox {
    /// Keys, signals, answers: taken first and all at once.
    pub urgent: Receiver<Incoming>,
    /// What sources of running queries tell: taken while there is time.
    pub told: Receiver<Told>,
}

/// Applies messages and draws until the operator or a signal ends it.
///
/// # Errors
/// When the terminal cannot be written or read any more.
pub fn event_loop<B: Backend<Error = io::Error>>(
    screen: &mut Terminal<B>,
    look: &Look,
    state: &mut State,
    inbox: &Inbox,
    executor: &mut dyn Execute,
    now: &dyn Fn() -> UnixMillis,
) -> Result<ConsoleExit, ConsoleError> {
    let mut last_frame: Option<Instant> = None;
    if let Some(exit) = perform(update::start(state), executor)? {
        return Ok(exit);
    }
    loop {
        if state.dirty && last_frame.is_none_or(|at| at.elapsed() >= FRAME) {
            fit(screen, state)?;
            update::settle(state);
            draw(screen, state, look)?;
            state.dirty = false;
            last_frame = Some(Instant::now());
        }
        let first = wait(inbox, patience(state, last_frame, now()))?;
        update::update(state, Msg::Now(now()));
        let (first, told) = match first {
            Woken::Urgent(incoming) => (Some(incoming), None),
            Woken::Told(told) => (None, Some(told)),
            Woken::ByTime => (None, None),
        };
        for incoming in first.into_iter().chain(inbox.urgent.try_iter()) {
            let msg = match incoming {
                Incoming::Msg(msg) => msg,
                Incoming::InputLost(error) => return Err(error.into()),
            };
            if let Some(exit) = perform(update::update(state, msg), executor)? {
                return Ok(exit);
            }
        }
        let begin = Instant::now();
        for Told { source, news } in told.into_iter().chain(inbox.told.try_iter()) {
            if let Some(exit) = perform(update::update(state, Msg::Told(source, news)), executor)? {
                return Ok(exit);
            }
            // The rest waits: so do those who tell, once the channel is full.
            if begin.elapsed() >= TELLING || !inbox.urgent.is_empty() {
                break;
            }
        }
    }
}

/// How long to wait for a message; `None` for as long as it takes.
fn patience(state: &State, last_frame: Option<Instant>, now: UnixMillis) -> Option<Duration> {
    if state.dirty {
        return Some(last_frame.map_or(Duration::ZERO, |at| FRAME.saturating_sub(at.elapsed())));
    }
    // At least a millisecond, so that no clock can make this a busy loop.
    state.next_change().map(|at| Duration::from_millis(now.until(at).max(1)))
}

/// What ended a wait.
enum Woken {
    Urgent(Incoming),
    Told(Told),
    ByTime,
}

/// One message, or none when time is up.
fn wait(inbox: &Inbox, patience: Option<Duration>) -> io::Result<Woken> {
    let gone =
        || io::Error::new(io::ErrorKind::BrokenPipe, "nothing can reach the console any more");
    let time = patience.map_or_else(never, after);
    select! {
        recv(inbox.urgent) -> incoming => incoming.map(Woken::Urgent).map_err(|_| gone()),
        recv(inbox.told) -> told => told.map(Woken::Told).map_err(|_| gone()),
        recv(time) -> _ => Ok(Woken::ByTime),
    }
}

fn perform(effects: Vec<Effect>, executor: &mut dyn Execute) -> io::Result<Option<ConsoleExit>> {
    for effect in effects {
        if let Effect::Exit(exit) = effect {
            return Ok(Some(exit));
        }
        executor.execute(effect)?;
    }
    Ok(None)
}

/// The terminal may have changed its size before the message about it is read.
fn fit<B: Backend<Error = io::Error>>(screen: &Terminal<B>, state: &mut State) -> io::Result<()> {
    let size = screen.size()?;
    update::update(state, Msg::Resize(Size { width: size.width, height: size.height }));
    Ok(())
}

fn draw<B: Backend<Error = io::Error>>(
    screen: &mut Terminal<B>,
    state: &State,
    look: &Look,
) -> io::Result<()> {
    screen.draw(|frame| view::draw(state, look, frame.buffer_mut()))?;
    Ok(())
}
