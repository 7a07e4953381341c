//! Threads that follow the sources of running queries: one for each, so that one that hangs holds
//! up no other.

use std::io;
use std::sync::Arc;
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::task::Cancel;
use crate::telemetry::attach::{Attach, Deaf, News, follow_for_ever};

/// What may wait to be taken, over all sources: they wait beyond that, so nothing piles up and
/// nothing is lost.
const QUEUE: usize = 16;

/// What the source at a place of the list tells.
#[derive(Debug)]
pub struct Told {
    /// The place.
    pub source: usize,
    /// What it tells.
    pub news: News,
}

/// Sources that are followed until this is dropped.
pub struct Attached {
    cancel: Cancel,
    // As long as there is a sender, the channel is open, even when all sources have ended.
    _sender: Sender<Told>,
}

impl Attached {
    /// Follows sources.
    ///
    /// # Errors
    /// When the system has no more threads.
    pub fn begin(sources: Vec<Arc<dyn Attach>>) -> io::Result<(Self, Receiver<Told>)> {
        let (sender, told) = bounded(QUEUE);
        let cancel = Cancel::default();
        for (place, source) in sources.into_iter().enumerate() {
            let (sender, cancel) = (sender.clone(), cancel.clone());
            let follow = move || {
                let mut tell = |news| sender.send(Told { source: place, news }).map_err(|_| Deaf);
                // Nobody is left to be told when nobody listens.
                let _ = follow_for_ever(source.as_ref(), &cancel, &mut tell);
            };
            // Never joined: a read of a pipe may never return.
            thread::Builder::new().name(format!("source {place}")).spawn(follow)?;
        }
        Ok((Self { cancel, _sender: sender }, told))
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
