//! Long work that reports how far it is and can be given up.
//!
//! Work runs on plain threads. A [`Cancel`] is shared between the one who waits and the
//! ones who work; workers look at it between files and every few thousand rows.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::units::Bytes;

/// A request to stop, shared by clones.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

/// The work was given up at the caller's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

impl Cancel {
    /// Asks all holders to stop soon.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether someone has asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// `Err` once someone has asked to stop, for use with `?`.
    ///
    /// # Errors
    /// [`Cancelled`] when [`Cancel::cancel`] was called on any clone.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }
}

/// How far a piece of work has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Units done (partitions of stores).
    pub done: u64,
    /// Units in all.
    pub total: u64,
    /// Rows seen so far, where rows are read.
    pub rows: u64,
    /// Bytes of the files that have been read so far, where rows are read.
    pub bytes: Bytes,
}

/// Applies `work` to every item on up to `workers` threads and returns the results in the
/// order of the items. Items not started when `cancel` fires are left out: `None`.
pub fn map_parallel<T, R>(
    items: &[T],
    workers: NonZeroUsize,
    cancel: &Cancel,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<Option<R>>
where
    T: Sync,
    R: Send,
{
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    let run = || {
        while !cancel.is_cancelled() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { break };
            let result = work(item);
            results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    };
    thread::scope(|scope| {
        // The calling thread is one of the workers: a single item costs no thread.
        for _ in 1..workers.get().min(items.len()) {
            scope.spawn(run);
        }
        run();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_unstable_by_key(|(index, _)| *index);
    let mut ordered = Vec::with_capacity(items.len());
    for (index, result) in results {
        while ordered.len() < index {
            ordered.push(None);
        }
        ordered.push(Some(result));
    }
    ordered.resize_with(items.len(), || None);
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<u32> = (0..1000).collect();
        let four = NonZeroUsize::new(4).unwrap();
        let squares = map_parallel(&items, four, &Cancel::default(), |n| n * n);
        assert!(squares.iter().zip(&items).all(|(square, n)| *square == Some(n * n)));
    }

    #[test]
    fn a_cancelled_run_leaves_the_rest_out() {
        let cancel = Cancel::default();
        let one = NonZeroUsize::MIN;
        let done = map_parallel(&[1, 2, 3], one, &cancel, |n| {
            if *n == 2 {
                cancel.cancel();
            }
            *n
        });
        assert_eq!(done, [Some(1), Some(2), None]);
    }
}
