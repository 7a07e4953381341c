//! Reads one checkpoint on local disk or in a cloud store.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use super::build::{self, Counted, Facts};
use super::session::{self, Job, Wanted};
use super::{Depth, Mark, Observation, Observe, ReadError, ReadState, Request};
use crate::checkpoint::{self, Checkpoint, LoadError};
use crate::state::catalog::Catalog;
use crate::state::census::{Census, Method};
use crate::state::store::{Counter, Run};
use crate::storage::Storage;
use crate::task::{self, Cancel, Cancelled, Progress};
use crate::units::UnixMillis;

/// A checkpoint that can be read again and again; log entries already read are kept.
#[derive(Debug)]
pub struct CheckpointReader {
    pub(super) storage: Storage,
    last: Mutex<Option<Checkpoint>>,
}

impl CheckpointReader {
    /// A reader of the checkpoint at `target`: a plain path or a URL. Looks at nothing yet.
    ///
    /// # Errors
    /// When the address is malformed or of a kind that is not supported.
    pub fn open(target: &str) -> Result<Self, ReadError> {
        let storage = Storage::open(target).map_err(|e| ReadError::Unreadable(e.to_string()))?;
        Ok(Self::over(storage))
    }

    /// A reader of the checkpoint in `storage`.
    pub fn over(storage: Storage) -> Self {
        Self { storage, last: Mutex::new(None) }
    }

    /// The median time of the last ten batches of the checkpoint as it was read last, from offset
    /// entry to commit entry.
    pub(super) fn batch_ms(&self) -> Option<u64> {
        const BATCHES: usize = 10;
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let checkpoint = last.as_ref()?;
        let told = |time: Option<UnixMillis>| time.filter(|time| *time > UnixMillis(0));
        let time = |batch| {
            let begun = told(checkpoint.planned_at(batch))?;
            let done = told(checkpoint.committed_at(batch))?;
            // Of a copied checkpoint the times are those of copying, in any order.
            (begun < done).then(|| begun.until(done))
        };
        let mut times: Vec<u64> =
            checkpoint.committed_batches().rev().take(BATCHES).filter_map(time).collect();
        times.sort_unstable();
        times.get(times.len().checked_sub(1)? / 2).copied()
    }

    pub(super) fn load(&self, cancel: &Cancel) -> Result<Checkpoint, ReadError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let checkpoint = match last.as_ref() {
            Some(before) => before.refresh(&self.storage, cancel)?,
            None => Checkpoint::load(&self.storage, cancel)?,
        };
        *last = Some(checkpoint.clone());
        Ok(checkpoint)
    }

    /// Counts every partition that was asked for, on several threads.
    fn count(
        &self,
        facts: &Facts<'_>,
        request: &Request,
        method: Method,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Vec<Counted>, ReadError> {
        let Some(batch) = facts.batch else { return Ok(Vec::new()) };
        let (stores, wanted) = (session::stores(&self.storage, facts), wanted(request));
        let jobs: Vec<Job<'_>> = stores
            .iter()
            .filter(|store| wanted.has(store.operator, &store.name))
            .flat_map(|store| session::jobs(facts, store, batch))
            .collect();
        let (done, counter) = (AtomicU64::new(0), Counter::default());
        let total = jobs.len() as u64;
        let run = Run { cancel, counter: &counter };
        let results = task::map_parallel(&jobs, self.storage.crew(), cancel, |job| {
            let census = job.store.census(job.partition, &job.target, method, run);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            progress(Progress { done, total, rows: counter.rows(), bytes: counter.bytes() });
            census
        });
        let results: Option<Result<Vec<Census>, Cancelled>> = results
            .into_iter()
            .map(Option::transpose)
            .collect::<Result<Option<Vec<_>>, _>>()
            .transpose();
        let censuses = results.ok_or(Cancelled)??;
        Ok(jobs
            .iter()
            .zip(censuses)
            .map(|(job, census)| Counted {
                operator: job.store.operator,
                store: job.store.name.clone(),
                census,
            })
            .collect())
    }
}

fn wanted(request: &Request) -> Wanted<'_> {
    Wanted { operator: request.operator, store: request.store.as_deref() }
}

impl Observe for CheckpointReader {
    fn name(&self) -> &str {
        self.storage.address()
    }

    fn state(&self) -> Option<&dyn ReadState> {
        Some(self)
    }

    fn mark(&self) -> Result<Mark, ReadError> {
        Ok(checkpoint::mark(&self.storage)?)
    }

    fn observe(
        &self,
        request: &Request,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Observation, ReadError> {
        let (started, observed_at) = (Instant::now(), UnixMillis::from(SystemTime::now()));
        let checkpoint = self.load(cancel)?;
        let batch = session::choose_batch(&checkpoint, request.batch)?;
        let catalog =
            batch.map(|batch| Catalog::read(&self.storage, &checkpoint, batch)).unwrap_or_default();
        wanted(request).check(&catalog.operators)?;
        let facts = Facts::new(self.storage.address(), &self.storage, &checkpoint, &catalog, batch);
        let counted = match request.depth {
            Depth::Logs => None,
            Depth::Snapshot => {
                Some(self.count(&facts, request, Method::Snapshot, cancel, progress)?)
            }
            Depth::Exact => Some(self.count(&facts, request, Method::Exact, cancel, progress)?),
        };
        let (inspect, partitions) = build::reports(&facts, counted);
        Ok(Observation {
            inspect: Arc::new(inspect),
            partitions: Arc::new(partitions),
            batches: checkpoint.logged_batches().into(),
            depth: request.depth,
            observed_at,
            took_millis: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
    }
}

impl From<LoadError> for ReadError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            other => Self::Unreadable(other.to_string()),
        }
    }
}
