//! Rows of a state store: from bytes to typed values.
//!
//! [`types`] is Spark's type system as schema files write it, [`value`] what a row holds.
//! [`view`] looks into the bytes of a row, [`unsafe_row`] makes values of them, [`key`]
//! finds the columns of stored keys, [`decoder`] joins all that for a column family.
//! [`render`] and [`mod@text`] show values, [`filter`] is the language of `--where`. Works on
//! bytes and schemas; must not know files, stores or the terminal.

mod avro;
mod calendar;
pub mod checksum;
pub mod decoder;
pub mod filter;
pub mod key;
pub mod render;
pub mod text;
pub mod types;
pub mod unsafe_row;
pub mod value;
mod variant;
pub mod view;
