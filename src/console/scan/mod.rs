//! The list of checkpoints below some roots, from which one is opened in the console.
//!
//! ```text
//!  keys, signals ─┐                      ┌─> view(model, look) ─> terminal
//!  finder ────────┼─> Msg ─> update(model)
//!                 │                      └─> Effect ─> run ─> scans, opens, exits
//!                 └────────────<───────────────────────┘
//! ```
//!
//! The same division as in the console itself: the [`Model`] is changed only by [`update`], which
//! is pure; [`draw`] only draws; only `run` has threads and a terminal. Checkpoints come through
//! [`Find`] and nothing else.

pub mod commands;
mod model;
mod run;
mod update;
mod view;

use std::sync::Arc;

use super::{ConsoleError, ConsoleExit, ConsoleOptions, Watched};
use crate::reader::{ReadError, ScanNews};
use crate::report::{ScanReport, ScannedCheckpoint, Unreadable};
use crate::task::Cancel;

use super::msg::{Key, Size};
use crate::reader::ScanProgress;

pub use model::{Model, Overlay, Run, Sort, Tab};
pub use update::{start, update};
pub use view::draw;

/// Someone who finds checkpoints.
pub trait Find: Send + Sync {
    /// The roots as the operator named them.
    fn roots(&self) -> &[String];

    /// Looks through all of them. When `cancel` fires, the report holds what was read until then.
    ///
    /// # Errors
    /// When not one of the roots can be listed.
    fn scan(
        &self,
        cancel: &Cancel,
        news: &(dyn Fn(ScanNews<'_>) + Sync),
    ) -> Result<ScanReport, ReadError>;
}

/// Opens a checkpoint of the list by its address, with its running query where one is known.
pub type OpenListed<'a> = dyn Fn(&str) -> Result<Watched, ReadError> + 'a;

/// Something that happened to the list.
#[derive(Debug, Clone)]
pub enum Msg {
    /// A key was pressed.
    Key(Key),
    /// The terminal has this many columns and rows.
    Resize(Size),
    /// The process was asked to end by this signal.
    Signal(i32),
    /// The scan has come this far.
    Progress(ScanProgress),
    /// A checkpoint is read.
    Found(Box<ScannedCheckpoint>),
    /// Something cannot be read.
    Lost(Unreadable),
    /// The scan ended; the text says why it failed.
    Scanned(Result<Box<ScanReport>, String>),
    /// The checkpoint that was to be opened cannot be; the text says why.
    NotOpened(String),
}

/// Something that the list wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Scan the roots.
    Scan,
    /// Give up the scan.
    Stop,
    /// Open the checkpoint at this address.
    Open(String),
    /// Leave.
    Exit(ConsoleExit),
}

/// Shows the list until the operator quits or a signal asks to end. `options` are those of the
/// console in which checkpoints are opened.
///
/// # Errors
/// When the look cannot be made or the terminal fails. A scan that fails is told on screen.
pub fn run(
    finder: Arc<dyn Find>,
    open: &OpenListed<'_>,
    options: &ConsoleOptions,
) -> Result<ConsoleExit, ConsoleError> {
    run::run(finder, open, options)
}
