//! statetop: the operator console for stateful streaming queries.
//!
//! The library reads Spark Structured Streaming checkpoints without a JVM and turns them
//! into reports; the binary shows those as a console, tables, JSON or CSV. See
//! `ARCHITECTURE.md` for how the modules build on each other.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod analysis;
pub mod checkpoint;
pub mod cli;
pub mod codec;
pub mod config;
pub mod console;
pub mod demo;
pub mod diagnosis;
pub mod explain;
pub mod figures;
pub mod memory;
pub mod preflight;
pub mod reader;
pub mod report;
pub mod state;
pub mod storage;
pub mod task;
pub mod telemetry;
pub mod units;
