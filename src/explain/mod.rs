//! What an error of a streaming query means.
//!
//! ```text
//!  catalogue/*.toml ─> catalogue ─> finder ─┐
//!                                            v
//!  bytes of a log ──────────────────────> reading ─> chain: one failure, unwound
//!                                            │
//!  schema_text: two schemas of a message     v         here: the same, of one checkpoint
//!  changes.toml ─> changes                 errors ────────────────────────┘
//! ```
//! Everything is pure: no I/O, no terminal.

pub mod catalogue;
pub mod chain;
pub mod changes;
pub mod finder;
pub mod pattern;
pub mod reading;
pub mod schema_text;
