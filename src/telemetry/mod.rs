//! What a running query says of itself: one stream of typed events, whatever the source.
//!
//! ```text
//!  bytes (a log, a pipe, an answer of the Spark UI)
//!    │  splitting: lines, JSON objects within text, frames of a compressed log
//!    v
//!  pieces with their place ─> parsing, lenient ─> Event
//! ```
//!
//! Sources differ by version and vendor. What is missing is unknown, what is unknown is kept,
//! and a piece that cannot be read is an event too: it never ends the stream. Nothing here
//! knows checkpoints or the screen.

pub mod attach;
mod confs;
mod description;
pub(crate) mod driver_log;
pub mod error_class;
pub mod event;
pub mod event_log;
mod fields;
pub mod follow;
pub mod listener;
mod metric;
pub mod number;
mod objects;
pub mod pieces;
pub mod progress;
pub mod recording;
pub mod resizes;
pub mod seams;
pub mod source;
pub mod stream;
pub mod text;
pub mod timeline;
pub mod ui;
pub mod wanted;

pub use event::{
    ConfRestored, Custom, Environment, Event, EventKind, EventTime, Lag, Measure, OperatorProgress,
    PartitionLabelled, PartitionLoad, Place, Progress, QueryRef, RepartitionNote, RepartitionStage,
    Rows, SinkProgress, SourceProgress, Started, TaskLoad, Teller, Terminated, Watermark,
};
pub use listener::listener_event;
