//! What is wrong, what follows from it, and what to do.
//!
//! Readers and analyses state facts; here they become [`Finding`]s in the operator's
//! words. Must not know about I/O or the terminal.

pub mod candidate;
mod checkpoint;
mod finding;
mod state;

pub use checkpoint::checkpoint_findings;
pub use finding::{Finding, FindingId, Severity};
pub use state::{provider_finding, state_finding, state_findings, too_many_partitions};
