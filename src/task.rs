//! Long work that reports how far it is and can be given up.
//!
//! Work runs on plain threads. A [`Cancel`] is shared between the one who waits and the
//! ones who work; workers look at it between files and every few thousand rows.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::units::Bytes;

/// How soon a sleeper notices that someone has asked to stop.
const ALERT: Duration = Duration::from_millis(50);

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

    /// Sleeps for so long, or until soon after someone has asked to stop.
    ///
    /// # Errors
    /// [`Cancelled`] when [`Cancel::cancel`] was called on any clone.
    pub fn sleep(&self, time: Duration) -> Result<(), Cancelled> {
        let begun = Instant::now();
        while let Some(left) = time.checked_sub(begun.elapsed()) {
            self.check()?;
            thread::sleep(left.min(ALERT));
        }
        self.check()
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

/// How many threads may work at once, over maps inside maps: whoever has work left takes the
/// threads that others no longer need. Clones share the threads.
#[derive(Debug, Clone)]
pub struct Crew(Arc<AtomicUsize>);

impl Crew {
    /// A crew of `workers` threads, of which the caller's is one.
    pub fn new(workers: NonZeroUsize) -> Self {
        Self(Arc::new(AtomicUsize::new(workers.get() - 1)))
    }

    /// Takes a thread, if one is free.
    fn take(&self) -> bool {
        let less = |free: usize| free.checked_sub(1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    fn give_back(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl From<NonZeroUsize> for Crew {
    fn from(workers: NonZeroUsize) -> Self {
        Self::new(workers)
    }
}

/// Applies `work` to every item on up to `crew` threads (a number, or a [`Crew`] that others
/// work with too) and returns the results in the order of the items. Items not started when
/// `cancel` fires are left out: `None`.
pub fn map_parallel<T, R>(
    items: &[T],
    crew: impl Into<Crew>,
    cancel: &Cancel,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<Option<R>>
where
    T: Sync,
    R: Send,
{
    let results = Mutex::new(Vec::with_capacity(items.len()));
    let map = Map { items, crew: crew.into(), cancel, work, next: AtomicUsize::new(0), results };
    // The calling thread is one of the workers: a single item costs no thread.
    thread::scope(|scope| map.run(scope));
    let mut results = map.results.into_inner().unwrap_or_else(PoisonError::into_inner);
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

/// What the threads of one [`map_parallel`] share.
struct Map<'a, T, R, F> {
    items: &'a [T],
    crew: Crew,
    cancel: &'a Cancel,
    work: F,
    next: AtomicUsize,
    results: Mutex<Vec<(usize, R)>>,
}

impl<T: Sync, R: Send, F: Fn(&T) -> R + Sync> Map<'_, T, R, F> {
    /// Works until nothing is left. Before each item it calls for help if there is more to do, so
    /// that a thread which becomes free in the middle of a long map is used.
    fn run<'scope>(&'scope self, scope: &'scope thread::Scope<'scope, '_>) {
        while !self.cancel.is_cancelled() {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = self.items.get(index) else { break };
            if self.next.load(Ordering::Relaxed) < self.items.len() && self.crew.take() {
                scope.spawn(|| {
                    self.run(scope);
                    self.crew.give_back();
                });
            }
            let result = (self.work)(item);
            self.results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    }
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

    #[test]
    fn a_sleeper_wakes_when_cancelled() {
        let cancel = Cancel::default();
        assert_eq!(cancel.sleep(Duration::from_millis(1)), Ok(()));
        let begun = Instant::now();
        thread::scope(|scope| {
            let sleeper = scope.spawn(|| cancel.sleep(Duration::from_secs(600)));
            cancel.cancel();
            assert_eq!(sleeper.join().unwrap(), Err(Cancelled));
        });
        assert!(begun.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn maps_inside_maps_share_their_threads() {
        let crew = Crew::new(NonZeroUsize::new(3).unwrap());
        let (working, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let cancel = Cancel::default();
        let outer: Vec<usize> = (0..20).collect();
        let sums = map_parallel(&outer, crew.clone(), &cancel, |outer| {
            let inner: Vec<usize> = (0..10).collect();
            let parts = map_parallel(&inner, crew.clone(), &cancel, |inner| {
                most.fetch_max(working.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                thread::yield_now();
                working.fetch_sub(1, Ordering::SeqCst);
                outer * inner
            });
            parts.into_iter().flatten().sum::<usize>()
        });
        assert!(sums.iter().zip(&outer).all(|(sum, outer)| *sum == Some(outer * 45)));
        assert!(most.load(Ordering::SeqCst) <= 3, "never more than the crew");
        assert_eq!(crew.0.load(Ordering::SeqCst), 2, "all are given back");
    }
}
