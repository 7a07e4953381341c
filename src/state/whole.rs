//! Visitors that want to see whole values, whatever files they are put together from.

use std::ops::ControlFlow;

use super::families::Mapping;
use super::merge::{Found, Visit};
use super::replay::Keep;
use super::rocks::MergeDelimiter;
use crate::units::Bytes;

/// Sees the rows of a partition with their whole values.
pub trait Rows {
    /// As [`Visit::families`].
    fn families(&mut self, mapping: &Mapping);

    /// As [`Visit::row`]; the value is looked up when asked for.
    fn row<'v>(&mut self, key: &[u8], value: &'v dyn Fn() -> &'v [u8]) -> ControlFlow<()>;
}

/// Makes a visitor of [`Rows`].
#[derive(Debug)]
pub struct Whole<R> {
    /// Who sees the rows.
    pub rows: R,
    /// What merges put between the elements of a list.
    pub delimiter: MergeDelimiter,
}

impl<R: Rows> Keep for Whole<R> {
    type Kept = Vec<u8>;

    fn keep(&self, _: &[u8], value: &[u8]) -> Vec<u8> {
        value.to_vec()
    }

    fn append(&self, mut older: Vec<u8>, newer: Vec<u8>) -> Vec<u8> {
        older.extend_from_slice(self.delimiter.bytes());
        older.extend_from_slice(&newer);
        older
    }

    fn cost(kept: &Vec<u8>) -> Bytes {
        Bytes(kept.capacity() as u64)
    }
}

impl<R: Rows> Visit for Whole<R> {
    fn families(&mut self, mapping: &Mapping) {
        self.rows.families(mapping);
    }

    fn row(&mut self, key: &[u8], value: Found<'_, Vec<u8>>) -> ControlFlow<()> {
        match value {
            Found::Below(value) => self.rows.row(key, value),
            Found::Above(value) => self.rows.row(key, &|| value.as_slice()),
        }
    }
}
