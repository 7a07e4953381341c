//! Rows of a state store: from bytes to typed values.
//!
//! [`types`] is Spark's type system as schema files write it, [`value`] what a row holds.
//! Works on bytes and schemas; must not know files, stores or the terminal.

pub mod types;
pub mod value;
