//! What is wrong, what follows from it, and what to do.
//!
//! Readers and analyses state facts; here they become [`Finding`]s in the operator's
//! words; [`lints`] are those that need figures of more than one batch. Must not know about I/O
//! or the terminal.

pub mod candidate;
mod checkpoint;
mod finding;
pub mod ids;
pub mod lints;
mod rules;
mod state;

pub use checkpoint::checkpoint_findings;
pub use finding::{Finding, FindingId, Severity};
pub use rules::Rules;
pub use state::{provider_finding, state_finding, state_findings, too_many_partitions};
