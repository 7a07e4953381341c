//! The Spark UI of a running application as a source: its REST interface (`/api/v1`), which is
//! there without any change to the job.
//!
//! ```text
//!  address, credentials ─> client ─> application ─> poll ──────────────────────────> Event
//!                           (api)                   │ listing ─> batches   which microbatches
//!                                                   │ operators (shown)    numbers of a plan
//!                                                   └ tasks                each partition
//! ```
//! It tells less than the query does. Of a microbatch: when its plan ran, how long, the rows of
//! each stateful operator's state. Of a partition: what arrived, task time, garbage collection,
//! spill, executor. **Not** the rows of its state: Spark leaves the metrics of plans out of its
//! task lists. Nor the watermark, sources, rates, and whether a query waits or was stopped between
//! two microbatches.
//!
//! The driver serves these questions while it works, so it is asked one at a time, every few
//! seconds, less often when its answers are slow. What it no longer keeps is said. Nothing here
//! knows checkpoints or the screen.

mod address;
mod api;
mod application;
mod batches;
mod client;
mod credentials;
mod listing;
mod operators;
mod pace;
mod poll;
mod shown;
mod tasks;
mod told;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

pub use address::{Address, AddressError};
pub use client::Limits;
pub use credentials::Credentials;

use super::event::{Event, Place};
use super::event_log::Ended;
use super::follow::Until;
use crate::task::Cancel;
use poll::Poller;

/// How often it is asked where nothing else is said.
pub const INTERVAL: Duration = Duration::from_secs(2);

/// [`Options::newest`] where nothing else is said.
pub const NEWEST: usize = 20;

/// How a Spark UI is read.
#[derive(Debug, Clone)]
pub struct Options {
    /// What a gateway wants to see.
    pub credentials: Credentials,
    /// How often it is asked while its answers are quick.
    pub interval: Duration,
    /// How long to read: once what there is, or on while the application runs.
    pub until: Until,
    /// Microbatches whose tasks are asked for where more have ended at once, as at the beginning.
    pub newest: usize,
    /// How long an answer may take, and how large it may be.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            credentials: Credentials::None,
            interval: INTERVAL,
            until: Until::End,
            newest: NEWEST,
            limits: Limits::default(),
        }
    }
}

/// The Spark UI of an application, or a history server.
#[derive(Debug, Clone)]
pub struct SparkUi {
    name: Arc<str>,
    address: Address,
    options: Options,
}

impl SparkUi {
    /// Makes ready to ask at an address, under the name that the operator has for it.
    pub fn new(name: Arc<str>, address: Address, options: Options) -> Self {
        Self { name, address, options }
    }

    /// Asks, and gives each event to `out`, which says whether it wants more. What goes wrong is
    /// an event too. Blocks: once, or until an application that is followed has ended, which only
    /// a history server says. Between two questions it looks at `cancel`; an answer that does not
    /// come is given up after [`Limits::answer`].
    pub fn read(&self, cancel: &Cancel, out: &mut dyn FnMut(Event) -> ControlFlow<()>) -> Ended {
        let mut tell = |kind| {
            let place = Place { source: Arc::clone(&self.name), line: None };
            out(Event { place, kind })
        };
        Poller::new(&self.address, &self.options, cancel, &mut tell).run()
    }
}
