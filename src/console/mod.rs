//! The console: live screens over a source that can be observed.
//!
//! ```text
//!  input, signals ─┐                      ┌─> view(state, look) ─> terminal
//!  watcher ────────┼─> Msg ─> update(state)
//!  reads, answers ─┤     ^                └─> Effect ─> runtime ─> reads, questions, mouse
//!  running queries ┘     └──────────────────────────────────────────┘
//! ```
//!
//! [`State`](state::State) is changed only by [`update`](update::update), which is pure;
//! [`view`] only draws; only the runtime has threads, a clock and a terminal. Data comes
//! through [`Observe`] and [`Attach`] and nothing else: no module here knows a file format.

pub mod asking;
pub mod commands;
pub mod compared;
pub mod data;
pub mod effect;
pub mod filter;
mod format;
pub mod geometry;
pub mod heat;
mod hiding;
pub mod look;
pub mod msg;
mod overlay;
pub mod page;
mod paint;
pub mod paste;
pub mod places;
pub mod reading;
pub mod runtime;
pub mod scan;
pub mod state;
pub mod terminal;
pub mod text;
pub mod update;
pub mod view;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::diagnosis::Rules;
use crate::reader::Observe;
use crate::telemetry::attach::Attach;
use crate::units::{BatchId, OperatorId};
pub use look::{Charset, Level, LookError, LookOptions};
pub use reading::Counting;
pub use state::Screen;

/// How the console is to begin.
#[derive(Debug, Clone)]
pub struct ConsoleOptions {
    /// Time between two looks for new batches.
    pub refresh: Duration,
    /// The batch to show; `None` follows the newest.
    pub batch: Option<BatchId>,
    /// The operator whose partitions are shown first.
    pub operator: Option<OperatorId>,
    /// The store whose partitions are shown first.
    pub store: Option<String>,
    /// Whether to count exactly from the start.
    pub counting: Counting,
    /// The screen to show first.
    pub screen: Screen,
    /// Whether to take the mouse from the terminal.
    pub mouse: bool,
    /// Theme, colours and characters.
    pub look: LookOptions,
    /// What there is to go back to.
    pub above: Above,
    /// Where it is remembered what is seen.
    pub memory: Keep,
}

/// Where a console remembers what it sees of queries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Keep {
    /// Nowhere.
    #[default]
    Nowhere,
    /// In this data directory.
    In(PathBuf),
    /// There is no such directory; the text says why.
    Unusable(String),
}

/// What lies above the overview.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Above {
    /// Nothing: leaving the overview ends the program.
    #[default]
    Nothing,
    /// The list of checkpoints that this one was opened from.
    List,
}

impl Default for ConsoleOptions {
    fn default() -> Self {
        Self {
            refresh: Duration::from_secs(2),
            batch: None,
            operator: None,
            store: None,
            counting: Counting::default(),
            screen: Screen::default(),
            mouse: false,
            look: LookOptions::default(),
            above: Above::default(),
            memory: Keep::default(),
        }
    }
}

/// Why the console ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsoleExit {
    /// The operator quit.
    Quit,
    /// Back to the list that the checkpoint was opened from.
    Back,
    /// The process was asked to end by this signal; by custom the exit code is 128 + signal.
    Signal(i32),
}

/// Why the console could not begin or go on. The terminal is restored by then.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    /// The look asked for cannot be made.
    #[error(transparent)]
    Look(#[from] LookError),
    /// The terminal cannot be used or is gone.
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] io::Error),
}

/// What a console shows.
#[derive(Clone)]
pub struct Watched {
    /// The checkpoint.
    pub checkpoint: Arc<dyn Observe>,
    /// Where its running query tells of itself; none where only the checkpoint is looked at.
    pub queries: Vec<Arc<dyn Attach>>,
    /// Which findings of it are shown.
    pub rules: Rules,
}

impl From<Arc<dyn Observe>> for Watched {
    fn from(checkpoint: Arc<dyn Observe>) -> Self {
        Self { checkpoint, queries: Vec::new(), rules: Rules::default() }
    }
}

/// Shows a checkpoint, and its running query where one is attached, until the operator quits or a
/// signal asks to end.
///
/// # Errors
/// When the look cannot be made or the terminal fails. A source that fails is shown on
/// screen and tried again instead.
pub fn run(
    watched: impl Into<Watched>,
    options: ConsoleOptions,
) -> Result<ConsoleExit, ConsoleError> {
    runtime::run(watched.into(), options)
}
