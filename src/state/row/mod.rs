//! Rows of a state store: from bytes to typed values.
//!
//! [`types`] is Spark's type system as schema files write it, [`value`] what a row holds.
//! [`view`] looks into the bytes of a row, [`unsafe_row`] makes values of them, [`key`]
//! finds the columns of stored keys, [`filter`] is the language of `--where`. Works on bytes
//! and schemas; must not know files, stores or the terminal.

mod calendar;
pub mod filter;
pub mod key;
pub mod render;
pub mod types;
pub mod unsafe_row;
pub mod value;
pub mod variant;
pub mod view;
