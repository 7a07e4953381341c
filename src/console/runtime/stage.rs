//! The terminal for as long as the program has it, whatever is shown on it one after the other.
//!
//! Keys and signals are read by one thread each for all of that time: a second reader would take
//! every other key. They go to whoever is on stage.

use std::io::{self, Stdout};
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::{Receiver, Sender, bounded};
use ratatui::Terminal;

use super::super::ConsoleError;
use super::super::look::{Environment, Look, LookOptions};
use super::super::msg::Msg;
use super::super::terminal::{Extent, FrameBackend, Guard};
use super::{Incoming, QUEUE, sources};

/// A terminal that is taken, and how things look on it.
pub(in crate::console) struct Stage {
    /// Where frames are drawn.
    pub(in crate::console) screen: Terminal<FrameBackend<Stdout>>,
    /// How things look.
    pub(in crate::console) look: Look,
    audience: Audience,
    /// The inbox of whoever is on; `None` as long as nothing is listened to.
    inbox: Option<Receiver<Incoming>>,
    left: Arc<AtomicBool>,
    _guard: Guard,
}

impl Stage {
    /// Takes the terminal.
    ///
    /// # Errors
    /// When the look cannot be made or there is no terminal.
    pub(in crate::console) fn enter(look: &LookOptions) -> Result<Self, ConsoleError> {
        let look = Look::load(look, &Environment::read())?;
        // NO_COLOR is answered by the mono look; crossterm's own answer would lose bold and
        // reverse together with the colours.
        crossterm::style::force_color_output(true);
        let guard = Guard::enter()?;
        let screen = Terminal::new(FrameBackend::new(io::stdout(), Extent::Terminal))?;
        let audience = Audience::new(bounded(QUEUE).0);
        let left = Arc::new(AtomicBool::new(false));
        Ok(Self { screen, look, audience, inbox: None, left, _guard: guard })
    }

    /// A new inbox: keys and signals go into it from now on, beginning with those that nobody
    /// took out of the one before.
    ///
    /// # Errors
    /// When the system has no more threads.
    pub(in crate::console) fn inbox(
        &mut self,
    ) -> io::Result<(Sender<Incoming>, Receiver<Incoming>)> {
        let (sender, inbox) = bounded(QUEUE);
        self.audience.change(sender.clone());
        if let Some(before) = self.inbox.replace(inbox.clone()) {
            for incoming in before.try_iter().filter(is_for_anyone) {
                // There is room: they come from a queue of the same size.
                let _ = sender.try_send(incoming);
            }
        } else {
            sources::input(self.audience.clone())?;
            sources::signals(self.audience.clone(), Arc::clone(&self.left))?;
        }
        Ok((sender, inbox))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.left.store(true, Ordering::SeqCst);
    }
}

/// What the operator or the system said, as opposed to answers to what the last one asked.
fn is_for_anyone(incoming: &Incoming) -> bool {
    match incoming {
        Incoming::Msg(msg) => matches!(msg, Msg::Key(_) | Msg::Signal(_)),
        Incoming::InputLost(_) => true,
    }
}

/// Where keys and signals go; clones change together.
#[derive(Clone)]
pub(super) struct Audience(Arc<Mutex<Sender<Incoming>>>);

impl Audience {
    fn new(first: Sender<Incoming>) -> Self {
        Self(Arc::new(Mutex::new(first)))
    }

    fn change(&self, next: Sender<Incoming>) {
        let mut sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(mem::replace(&mut *sender, next));
    }

    fn sender(&self) -> Sender<Incoming> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for room; `Err` when nobody is there any more.
    pub(super) fn send(&self, incoming: Incoming) -> Result<(), ()> {
        let Err(unheard) = self.sender().send(incoming) else { return Ok(()) };
        // The audience may have changed meanwhile.
        self.sender().send(unheard.into_inner()).map_err(drop)
    }

    /// Does not wait.
    pub(super) fn try_send(&self, incoming: Incoming) {
        let _ = self.sender().try_send(incoming);
    }
}
