//! Reads one checkpoint on local disk or in a cloud store.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use super::build::{self, Counted, Facts};
use super::{Depth, Mark, Observation, Observe, ReadError, Request};
use crate::checkpoint::{self, Checkpoint, LoadError};
use crate::report::Provider;
use crate::state::catalog::{Catalog, JOIN_STORES, OperatorEntry, StoreEntry};
use crate::state::census::{Census, Counter, Method, Run, Store};
use crate::state::files::Target;
use crate::state::lists::ListLayout;
use crate::state::rocks::MergeDelimiter;
use crate::storage::Storage;
use crate::task::{self, Cancel, Cancelled, Progress};
use crate::units::{BatchId, OperatorId, PartitionId, UnixMillis};

/// A checkpoint that can be read again and again; log entries already read are kept.
#[derive(Debug)]
pub struct CheckpointReader {
    storage: Storage,
    last: Mutex<Option<Checkpoint>>,
}

/// One partition of one store to count.
struct Job<'a> {
    store: &'a Store,
    partition: PartitionId,
    target: Target,
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

    fn load(&self, cancel: &Cancel) -> Result<Checkpoint, ReadError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let checkpoint = match last.as_ref() {
            Some(before) => before.refresh(&self.storage, cancel)?,
            None => Checkpoint::load(&self.storage, cancel)?,
        };
        *last = Some(checkpoint.clone());
        Ok(checkpoint)
    }

    /// The stores of all operators, ready to be counted; none for a provider that is not read.
    fn stores(&self, facts: &Facts<'_>) -> Vec<Store> {
        let (Some(confs), Some(provider)) = (facts.confs(), facts.provider()) else {
            return Vec::new();
        };
        if provider == Provider::Other {
            return Vec::new();
        }
        let delimiter = match confs.merge_operator_version() {
            2.. => MergeDelimiter::Nothing,
            _ => MergeDelimiter::Comma,
        };
        let lists = ListLayout { delimiter, checksums: confs.row_checksum() };
        let operators = facts.catalog.operators.iter();
        operators
            .flat_map(|operator| operator.stores.iter().map(move |store| (operator, store)))
            .map(|(operator, store)| Store {
                storage: self.storage.clone(),
                operator: operator.id,
                name: store.name.clone(),
                provider,
                lists,
                families: store.families.clone(),
                schema_families: store
                    .schema
                    .iter()
                    .flat_map(|schema| &schema.families)
                    .map(|family| family.name.clone())
                    .collect(),
                single_partition: store.single_partition,
            })
            .collect()
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
        let stores = self.stores(facts);
        let jobs: Vec<Job<'_>> = stores
            .iter()
            .filter(|store| wanted(request, store.operator, &store.name))
            .flat_map(|store| jobs(facts, store, batch))
            .collect();
        let (done, counter) = (AtomicU64::new(0), Counter::default());
        let total = jobs.len() as u64;
        let run = Run { method, cancel, counter: &counter };
        let results = task::map_parallel(&jobs, self.storage.crew(), cancel, |job| {
            let census = job.store.census(job.partition, &job.target, run);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            progress(Progress { done, total, rows: counter.rows() });
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

/// One job per partition in force.
fn jobs<'a>(facts: &Facts<'_>, store: &'a Store, batch: BatchId) -> Vec<Job<'a>> {
    let ids = facts.checkpoint.state_ids(batch, store.operator);
    let place = JOIN_STORES.iter().position(|name| *name == store.name).unwrap_or(0);
    (0..facts.partitions_to_read())
        .map(|partition| {
            let id = ids.and_then(|ids| ids.get(usize::try_from(partition).ok()?, place));
            let target = Target { version: batch.version(), id: id.map(str::to_owned) };
            Job { store, partition: PartitionId(partition), target }
        })
        .collect()
}

fn wanted(request: &Request, operator: OperatorId, store: &str) -> bool {
    request.operator.is_none_or(|wanted| wanted == operator)
        && request.store.as_deref().is_none_or(|wanted| wanted == store)
}

/// Refuses an operator or store that the batch does not have, naming those it has.
fn check_request(request: &Request, operators: &[OperatorEntry]) -> Result<(), ReadError> {
    let list = |names: Vec<String>| match names.as_slice() {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    let chosen: Vec<&OperatorEntry> = operators
        .iter()
        .filter(|operator| request.operator.is_none_or(|wanted| wanted == operator.id))
        .collect();
    if let (Some(wanted), []) = (request.operator, chosen.as_slice()) {
        let have = operators.iter().map(|operator| format!("{} ({})", operator.id, operator.name));
        return Err(ReadError::NoSuchStore(format!(
            "there is no operator {wanted}; the stateful operators are: {}",
            list(have.collect())
        )));
    }
    let stores: Vec<&StoreEntry> = chosen.iter().flat_map(|operator| &operator.stores).collect();
    match &request.store {
        Some(wanted) if !stores.iter().any(|store| store.name == *wanted) => {
            let mut have: Vec<String> = stores.iter().map(|store| store.name.clone()).collect();
            have.dedup();
            Err(ReadError::NoSuchStore(format!(
                "there is no store {wanted:?}; the stores are: {}",
                list(have)
            )))
        }
        _ => Ok(()),
    }
}

/// The batch to look at, refused when its result cannot be there.
fn choose_batch(
    checkpoint: &Checkpoint,
    wanted: Option<BatchId>,
) -> Result<Option<BatchId>, ReadError> {
    let Some(wanted) = wanted else { return Ok(checkpoint.last_committed()) };
    if checkpoint.is_committed(wanted) {
        return Ok(Some(wanted));
    }
    let committed: Vec<BatchId> = checkpoint.committed_batches().collect();
    let have = match (committed.first(), committed.last()) {
        (Some(first), Some(last)) => {
            format!("the retained committed batches are {first} to {last}")
        }
        _ => "no batch is committed".to_owned(),
    };
    let problem = if checkpoint.planned_batches().any(|batch| batch == wanted) {
        format!("batch {wanted} is planned but not committed, so it has no result")
    } else {
        format!("batch {wanted} is not in the logs")
    };
    Err(ReadError::NoSuchBatch(format!("{problem}; {have}")))
}

impl Observe for CheckpointReader {
    fn name(&self) -> &str {
        self.storage.address()
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
        let batch = choose_batch(&checkpoint, request.batch)?;
        let catalog =
            batch.map(|batch| Catalog::read(&self.storage, &checkpoint, batch)).unwrap_or_default();
        check_request(request, &catalog.operators)?;
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
