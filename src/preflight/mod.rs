//! What a resize of a checkpoint would come to, before the query is stopped.
//!
//! ```text
//! Request (count, engine, session) ─┐
//! Facts (logs, operators, files) ───┴─► checks in the engine's own order ──► the first that
//!                                       stops it, or what it does to the state ──► Prediction
//! ```
//!
//! [`engine`] are the steps that open-source Spark 4.2 and 4.3 make, each a pure function of the
//! facts; `tests/preflight.rs` compares them with what real Spark did, class for class.
//! [`databricks`] has what is published of the online resize there, and says unknown where nothing
//! is. [`care`] are the checks that no engine makes. Must not know storage or the terminal.

pub mod care;
pub mod databricks;
pub mod engine;
mod facts;
mod outcome;
mod request;

pub use facts::{
    DirectoryFacts, Entry, Facts, Keying, Loaded, Location, LogFacts, Nanoseconds, OffsetFacts,
    OperatorFacts, OperatorMetadataFacts, Pinned, Presence, RowFacts, SchemaFacts, StateFacts,
    StoreFacts, Trouble,
};
pub use outcome::{Prediction, predict, steps};
pub use request::{Engine, EngineChoice, Request, Session, Sinks};
