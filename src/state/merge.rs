//! The changes of an overlay laid over the keys of the store below, in one pass in key order.
//!
//! Both sides are sorted, so each key below is compared with the next change only. Knows
//! neither files nor what keys and values mean.

use std::cmp::Ordering;
use std::iter::Peekable;
use std::ops::ControlFlow;
use std::vec;

use super::families::Mapping;
use super::replay::{Change, Keep};

type Key = Box<[u8]>;

/// Where a row's value is.
pub enum Found<'a, T> {
    /// In the store below, untouched by the logs; looked up when asked for.
    Below(&'a dyn Fn() -> &'a [u8]),
    /// In the logs, or put together from both.
    Above(&'a T),
}

/// Someone who wants to see rows.
pub trait Visit: Keep {
    /// Told before any row which families there are, and again when an older snapshot takes
    /// over, in which they may have other ids.
    fn families(&mut self, mapping: &Mapping);

    /// Sees one row, by its key as stored, family prefix included. Breaks to see no more.
    fn row(&mut self, key: &[u8], value: Found<'_, Self::Kept>) -> ControlFlow<()>;
}

/// Sorted changes, taken from the front as the keys below go by.
#[derive(Debug)]
pub struct Merge<T> {
    changes: Peekable<vec::IntoIter<(Key, Change<T>)>>,
    removed: Peekable<vec::IntoIter<(Key, Key)>>,
}

impl<T> Merge<T> {
    /// Changes in any order, removed ranges (start inclusive, end exclusive) in ascending order
    /// and disjoint.
    pub(super) fn new(mut changes: Vec<(Key, Change<T>)>, removed: Vec<(Key, Key)>) -> Self {
        changes.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Self { changes: changes.into_iter().peekable(), removed: removed.into_iter().peekable() }
    }

    /// Takes the next key of the store below. Passes the rows before it, and the key itself
    /// unless it is gone, to `visit`.
    pub fn below<'a>(
        &mut self,
        key: &[u8],
        value: &'a dyn Fn() -> &'a [u8],
        visit: &mut impl Visit<Kept = T>,
    ) -> ControlFlow<()>
    where
        T: 'a,
    {
        while let Some((changed, _)) = self.changes.peek() {
            match (**changed).cmp(key) {
                Ordering::Greater => break,
                Ordering::Less => self.own(visit)?,
                Ordering::Equal => {
                    if let Some((_, Change::Merge(operand))) =
                        self.changes.next_if(|(_, change)| matches!(change, Change::Merge(_)))
                    {
                        let kept = visit.append(visit.keep(key, value()), operand);
                        return visit.row(key, Found::Above(&kept));
                    }
                    return self.own(visit);
                }
            }
        }
        if self.is_removed(key) {
            ControlFlow::Continue(())
        } else {
            visit.row(key, Found::Below(value))
        }
    }

    /// Passes what comes after the last key below to `visit`.
    pub fn rest(&mut self, visit: &mut impl Visit<Kept = T>) -> ControlFlow<()> {
        while self.changes.peek().is_some() {
            self.own(visit)?;
        }
        ControlFlow::Continue(())
    }

    /// Passes the next change to `visit`, if it leaves a row.
    fn own(&mut self, visit: &mut impl Visit<Kept = T>) -> ControlFlow<()> {
        match self.changes.next() {
            Some((key, Change::Put(kept) | Change::Merge(kept))) => {
                visit.row(&key, Found::Above(&kept))
            }
            Some((_, Change::Delete)) | None => ControlFlow::Continue(()),
        }
    }

    /// Whether a removed range covers `key`; ranges before it are done with.
    fn is_removed(&mut self, key: &[u8]) -> bool {
        while let Some((start, end)) = self.removed.peek() {
            if &**end <= key {
                self.removed.next();
            } else {
                return &**start <= key;
            }
        }
        false
    }
}
