//! The loop of the list, and the thread that scans. The only part with a terminal and threads.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, never, select, unbounded};

use super::super::msg::{self, Size};
use super::super::runtime::{FRAME, Incoming, Stage, play};
use super::super::terminal;
use super::super::{Above, ConsoleError, ConsoleExit, ConsoleOptions};
use super::{Effect, Find, Model, Msg, OpenListed, draw, start, update};
use crate::reader::ScanNews;
use crate::task::Cancel;

/// The shortest time between two reports of progress: nobody reads faster.
const PROGRESS: Duration = Duration::from_millis(100);

/// Why the list is not on screen any more.
enum Left {
    /// A checkpoint is to be opened.
    Open(String),
    /// The end.
    Exit(ConsoleExit),
}

/// Shows the list and what is opened from it, one after the other on the same terminal.
pub(super) fn run(
    finder: Arc<dyn Find>,
    open: &OpenListed<'_>,
    options: &ConsoleOptions,
) -> Result<ConsoleExit, ConsoleError> {
    let mut stage = Stage::enter(&options.look)?;
    let size = terminal::size()?;
    let size = Size { width: size.width, height: size.height };
    let mut model = Model::new(finder.roots(), size);
    // Without a bound: while a checkpoint is looked at, the scan goes on and nobody listens. It
    // holds what the report will.
    let (sender, news) = unbounded();
    let mut scanner = Scanner { finder, sender, running: Cancel::default() };
    // The first frame comes before anything that could take time.
    draw_frame(&mut stage, &mut model)?;
    for effect in start(&model) {
        scanner.perform(&effect)?;
    }
    let ended = loop {
        match attend(&mut stage, &mut model, &news, &mut scanner)? {
            Left::Exit(exit) => break exit,
            Left::Open(path) => {
                let watched = match open(&path) {
                    Ok(watched) => watched,
                    Err(error) => {
                        update(&mut model, Msg::NotOpened(error.to_string()));
                        continue;
                    }
                };
                let options = ConsoleOptions { above: Above::List, ..options.clone() };
                match play(&mut stage, watched, options)? {
                    ConsoleExit::Back => model.dirty = true,
                    exit @ (ConsoleExit::Quit | ConsoleExit::Signal(_)) => break exit,
                }
            }
        }
    };
    scanner.running.cancel();
    Ok(ended)
}

/// Applies messages and draws until the list is left.
fn attend(
    stage: &mut Stage,
    model: &mut Model,
    news: &Receiver<Msg>,
    scanner: &mut Scanner,
) -> Result<Left, ConsoleError> {
    let (_sender, inbox) = stage.inbox()?;
    let mut last_frame: Option<Instant> = None;
    loop {
        let due = last_frame.map_or(Duration::ZERO, |at| FRAME.saturating_sub(at.elapsed()));
        if model.dirty && due.is_zero() {
            draw_frame(stage, model)?;
            last_frame = Some(Instant::now());
        }
        let wake = if model.dirty { crossbeam_channel::after(due) } else { never() };
        let mut waiting = Vec::new();
        select! {
            recv(inbox) -> incoming => waiting.extend(heard(incoming.map_err(|_| gone())?)?),
            recv(news) -> news => waiting.extend(news.ok()),
            recv(wake) -> _ => {}
        }
        // Keys first: they are answered however much is found.
        loop {
            for msg in waiting.drain(..) {
                for effect in update(model, msg) {
                    match effect {
                        Effect::Exit(exit) => return Ok(Left::Exit(exit)),
                        Effect::Open(path) => return Ok(Left::Open(path)),
                        effect => scanner.perform(&effect)?,
                    }
                }
            }
            match inbox.try_recv() {
                Ok(incoming) => waiting.extend(heard(incoming)?),
                Err(_) => break,
            }
        }
        // A frame's worth of what was found: the rest waits until that is drawn.
        let begin = Instant::now();
        while begin.elapsed() < FRAME
            && let Ok(found) = news.try_recv()
        {
            update(model, found);
        }
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "nothing can reach the console any more")
}

/// What came from the terminal, in the list's words; `None` for what does not concern it.
fn heard(incoming: Incoming) -> io::Result<Option<Msg>> {
    match incoming {
        Incoming::InputLost(error) => Err(error),
        Incoming::Msg(msg::Msg::Key(key)) => Ok(Some(Msg::Key(key))),
        Incoming::Msg(msg::Msg::Resize(size)) => Ok(Some(Msg::Resize(size))),
        Incoming::Msg(msg::Msg::Signal(signal)) => Ok(Some(Msg::Signal(signal))),
        Incoming::Msg(_) => Ok(None),
    }
}

/// The terminal may have changed its size before the message about it is read.
fn draw_frame(stage: &mut Stage, model: &mut Model) -> io::Result<()> {
    let size = stage.screen.size()?;
    update(model, Msg::Resize(Size { width: size.width, height: size.height }));
    let Stage { screen, look, .. } = stage;
    screen.draw(|frame| draw(model, look, frame.buffer_mut()))?;
    model.dirty = false;
    Ok(())
}

/// Scans on a thread of its own.
struct Scanner {
    finder: Arc<dyn Find>,
    sender: Sender<Msg>,
    running: Cancel,
}

impl Scanner {
    fn perform(&mut self, effect: &Effect) -> io::Result<()> {
        match effect {
            Effect::Scan => self.begin(),
            Effect::Stop => {
                self.running.cancel();
                Ok(())
            }
            Effect::Open(_) | Effect::Exit(_) => Ok(()),
        }
    }

    fn begin(&mut self) -> io::Result<()> {
        self.running = Cancel::default();
        let (finder, sender) = (Arc::clone(&self.finder), self.sender.clone());
        let cancel = self.running.clone();
        let scan = move || {
            let scanned =
                catch_unwind(AssertUnwindSafe(|| scan(finder.as_ref(), &cancel, &sender)));
            let failed = "the scan failed in a way it should not: please report this";
            let scanned = scanned.unwrap_or_else(|_| Msg::Scanned(Err(failed.to_owned())));
            // Nobody listens once the list is gone.
            let _ = sender.send(scanned);
        };
        thread::Builder::new().name("scan".to_owned()).spawn(scan).map(drop)
    }
}

fn scan(finder: &dyn Find, cancel: &Cancel, sender: &Sender<Msg>) -> Msg {
    let last = Mutex::new(None::<Instant>);
    let tell = |msg: Msg| drop(sender.send(msg));
    let scanned = finder.scan(cancel, &|news| match news {
        ScanNews::Checkpoint(checkpoint) => tell(Msg::Found(Box::new(checkpoint.clone()))),
        ScanNews::Unreadable(one) => tell(Msg::Lost(one.clone())),
        ScanNews::Progress(progress) => {
            // Whoever cannot have the lock at once leaves it to the one who has it.
            let Ok(mut last) = last.try_lock() else { return };
            if last.is_none_or(|at| at.elapsed() >= PROGRESS) {
                *last = Some(Instant::now());
                tell(Msg::Progress(progress));
            }
        }
    });
    Msg::Scanned(scanned.map(Box::new).map_err(|error| error.to_string()))
}
