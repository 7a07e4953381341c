//! Gathers what a preflight needs, check by check: the logs, the operators, the files that a
//! resize would read, the surroundings, and last every key.

use std::path::Path;
use std::time::SystemTime;

use super::ReadError;
use super::build::Facts as BuildFacts;
use super::checkpoint::CheckpointReader;
use super::session;
use super::{PlanQuestion, PlanRequest, ReadState};
use crate::analysis::DEFAULT_BOUND;
use crate::checkpoint::{
    self, Checkpoint, Confs, DEFAULT_PROVIDER_CLASS, Fault, FormatError, LoadError, OffsetEntry,
    OperatorMetadata, Problem, SHUFFLE_PARTITIONS,
};
use crate::preflight::care::{self, Around, Newest, Verdict};
use crate::preflight::engine::Step;
use crate::preflight::{
    DirectoryFacts, EngineChoice, Entry, Facts, Keying, Loaded, Location, LogFacts, Nanoseconds,
    OffsetFacts, OperatorFacts, OperatorMetadataFacts, Pinned, Presence, Request, RowFacts,
    SchemaFacts, StateFacts, StoreFacts, Trouble, predict, steps,
};
use crate::report::{PreflightCheck, PreflightReport, Provider};
use crate::state::catalog::{Catalog, OperatorEntry, StoreEntry};
use crate::state::fault::{FaultKind, StateFault};
use crate::state::files::Target;
use crate::state::loading::{LoadOutcome, LoadRules};
use crate::state::store::{Counter, Run, Store};
use crate::storage::{EntryKind, Storage};
use crate::task::{self, Cancel, Progress};
use crate::units::{BatchId, Bytes, OperatorId, PartitionId, UnixMillis};

/// Findings that say that rows are damaged, by their ids.
const DAMAGED_ROWS: [&str; 2] = ["unexpected-rows", "misplaced-keys"];

/// Tells checks as they are made.
struct Teller<'a> {
    tell: &'a mut dyn FnMut(&PreflightCheck),
    told: Vec<PreflightCheck>,
}

impl Teller<'_> {
    /// Tells those that have not been told; a later answer to one that has is kept silently.
    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            self.check(step.check.clone());
        }
    }

    fn check(&mut self, check: PreflightCheck) {
        match self.told.iter_mut().find(|told| told.id == check.id) {
            Some(told) if *told == check => {}
            Some(told) => {
                (self.tell)(&check);
                *told = check;
            }
            None => {
                (self.tell)(&check);
                self.told.push(check);
            }
        }
    }
}

pub(super) fn run(
    reader: &CheckpointReader,
    request: &Request,
    cancel: &Cancel,
    progress: &(dyn Fn(Progress) + Sync),
    tell: &mut dyn FnMut(&PreflightCheck),
) -> Result<PreflightReport, ReadError> {
    let storage = &reader.storage;
    let mut teller = Teller { tell, told: Vec::new() };
    let before = newest(storage);
    let (presence, checkpoint) = load(storage, cancel)?;
    let logs = checkpoint.as_ref().map(log_facts).unwrap_or_default();
    let mut facts = Facts { location: location(storage), presence, logs, state: None };
    let confs = checkpoint.as_ref().and_then(|ck| ck.confs_at(ck.last_committed()?));
    let class = confs.map(Confs::provider_class);
    let choice = EngineChoice::of(request.engine, class, storage.address());
    teller.steps(&steps(&facts, request, choice.engine));

    let mut around = Around { local: storage.is_local(), ..Around::default() };
    if let Some(checkpoint) = &checkpoint
        && let Some(batch) = checkpoint.last_committed()
        && !cancel.is_cancelled()
    {
        let gather = Gather { storage, checkpoint, batch, request };
        let mut state = gather.state();
        facts.state = Some(state.clone());
        gather.load(&mut state, cancel, progress);
        facts.state = Some(state);
        teller.steps(&steps(&facts, request, choice.engine));
        if !cancel.is_cancelled() {
            rehash(reader, request, &mut facts, &mut around, cancel, progress);
            teller.steps(&steps(&facts, request, choice.engine));
        }
        around.planned_at = checkpoint.last_plan_at();
        around.committed_at = checkpoint.last_commit_at();
    } else {
        around.not_rehashed = Some("there is no state that could be read".to_owned());
    }
    around.now = Some(UnixMillis::from(SystemTime::now()));
    around.moved = before.zip(newest(storage));
    around.free = free(storage);
    let all = steps(&facts, request, choice.engine);
    for check in care::checks(&facts, request, choice.engine, &around) {
        teller.check(check);
    }
    let prediction = predict(&facts, request, &choice, &all);
    Ok(PreflightReport {
        checkpoint: storage.address().to_owned(),
        from: facts.logs.partitions(),
        to: request.to,
        engine: choice.engine.name().to_owned(),
        engine_reason: choice.reason,
        batch: facts.logs.last_commit,
        outcome: prediction.outcome,
        summary: prediction.summary,
        error_class: prediction.error_class,
        parameters: prediction.parameters,
        legal_next: prediction.legal_next,
        checks: teller.told,
        partial: cancel.is_cancelled(),
    })
}

fn newest(storage: &Storage) -> Option<Newest> {
    let mark = checkpoint::mark(storage).ok()?;
    Some((mark.planned, mark.committed))
}

fn load(storage: &Storage, cancel: &Cancel) -> Result<(Presence, Option<Checkpoint>), ReadError> {
    match Checkpoint::load(storage, cancel) {
        Ok(checkpoint) if checkpoint.has_anything() => Ok((Presence::Checkpoint, Some(checkpoint))),
        Ok(_) => Ok((Presence::NoCheckpoint("it is empty".to_owned()), None)),
        Err(LoadError::NotFound { .. }) => Ok((Presence::Nothing, None)),
        Err(LoadError::NotACheckpoint { found, .. }) => {
            let found = format!("it holds {}, and nothing of a checkpoint", found.join(", "));
            Ok((Presence::NoCheckpoint(found), None))
        }
        Err(error) => Err(error.into()),
    }
}

/// How the engine writes the address: a plain path with its scheme, made absolute.
fn location(storage: &Storage) -> Location {
    let given = storage.address().to_owned();
    let trimmed = given.trim_end_matches('/');
    if !storage.is_local() {
        return Location { resolved: trimmed.to_owned(), files: trimmed.to_owned(), given };
    }
    let path = trimmed.strip_prefix("file:").map_or(trimmed, |rest| {
        let end = rest.find(|c| c != '/').unwrap_or(rest.len());
        rest.get(end.saturating_sub(1)..).unwrap_or(rest)
    });
    let absolute = std::path::absolute(Path::new(path));
    let absolute = absolute.map_or_else(|_| path.to_owned(), |p| p.to_string_lossy().into_owned());
    let (resolved, files) = (format!("file://{absolute}"), format!("file:{absolute}"));
    Location { given, resolved, files }
}

fn log_facts(checkpoint: &Checkpoint) -> LogFacts {
    let (last, committed) = (checkpoint.last_planned(), checkpoint.last_committed());
    let before = last.and_then(|last| last.0.checked_sub(1)).map(BatchId);
    let wanted = [last, before, committed].into_iter().flatten();
    let history = checkpoint.partition_history();
    let pairs = history.iter().zip(history.iter().skip(1)).filter(|(_, now)| now.repartition);
    let repartitions =
        pairs.filter_map(|(was, now)| Some((now.batch, was.partitions?, now.partitions?)));
    LogFacts {
        last_offset: last,
        last_commit: committed,
        offsets: wanted.map(|batch| (batch, offset(checkpoint, batch))).collect(),
        uncommitted_input: uncommitted_input(checkpoint),
        commit: committed.map_or(Entry::Absent, |batch| commit(checkpoint, batch)),
        retained_offsets: checkpoint.planned_batches().count() as u64,
        oldest_offset: checkpoint.planned_batches().next(),
        repartitions: repartitions.collect(),
    }
}

/// Whether a batch above the last commit has other offsets than that.
fn uncommitted_input(checkpoint: &Checkpoint) -> bool {
    let Some(committed) = checkpoint.last_committed() else { return true };
    let Some(base) = checkpoint.offset(committed) else { return true };
    let above = checkpoint.planned_batches().filter(|batch| *batch > committed);
    let mut entries = above.map(|batch| checkpoint.offset(batch));
    entries.any(|entry| entry.is_none_or(|entry| entry.offsets != base.offsets))
}

fn offset(checkpoint: &Checkpoint, batch: BatchId) -> Entry<OffsetFacts> {
    if let Some(problem) = checkpoint.offset_problem(batch) {
        return Entry::Trouble(trouble(problem));
    }
    checkpoint.offset(batch).map_or(Entry::Absent, |entry| {
        Entry::Read(OffsetFacts {
            version: entry.version,
            metadata: entry.metadata.is_some(),
            partitions: pinned(entry),
        })
    })
}

fn pinned(entry: &OffsetEntry) -> Pinned {
    match entry.confs().and_then(|confs| confs.get(SHUFFLE_PARTITIONS)) {
        None => Pinned::Absent,
        Some(text) => {
            text.parse().map_or_else(|_| Pinned::NoNumber(text.to_owned()), Pinned::Count)
        }
    }
}

fn commit(checkpoint: &Checkpoint, batch: BatchId) -> Entry<u32> {
    if let Some(problem) = checkpoint.commit_problem(batch) {
        return Entry::Trouble(trouble(problem));
    }
    checkpoint.commit(batch).map_or(Entry::Absent, |entry| Entry::Read(entry.version))
}

fn trouble(problem: &Problem) -> Trouble {
    match problem {
        Problem::Format(FormatError::UnsupportedVersion { found, .. }) => Trouble::Version(*found),
        other => Trouble::Content(other.to_string()),
    }
}

/// Room on the disk of a local checkpoint.
fn free(storage: &Storage) -> Option<Bytes> {
    let path = storage.local_path("")?;
    let stat = rustix::fs::statvfs(&path).ok()?;
    Some(Bytes(stat.f_bavail.saturating_mul(stat.f_frsize)))
}

/// What is read of the state of one batch.
struct Gather<'a> {
    storage: &'a Storage,
    checkpoint: &'a Checkpoint,
    batch: BatchId,
    request: &'a Request,
}

impl Gather<'_> {
    /// Operators, schemas and directories.
    fn state(&self) -> StateFacts {
        let confs = self.checkpoint.confs_at(self.batch);
        let catalog = Catalog::read(self.storage, self.checkpoint, self.batch);
        let mut state = StateFacts {
            provider_class: confs.map_or(DEFAULT_PROVIDER_CLASS, Confs::provider_class).to_owned(),
            provider: confs.map(Confs::provider),
            join_format: confs.map_or(1, Confs::join_format),
            ..StateFacts::default()
        };
        for id in self.checkpoint.operator_dirs() {
            let lookup = self.checkpoint.operator_metadata(self.storage, *id, self.batch);
            let elsewhere = lookup
                .faults
                .iter()
                .any(|fault| matches!(fault, Fault::SchemaFilesElsewhere { .. }));
            let written_at = lookup.metadata.as_ref().and_then(|found| found.written_at.clone());
            if elsewhere {
                state.elsewhere.clone_from(&written_at);
            }
            let entry = catalog.operators.iter().find(|operator| operator.id == *id);
            let place = written_at.filter(|_| elsewhere);
            state.operators.push(self.operator(
                *id,
                entry,
                lookup.metadata.as_ref(),
                &lookup.faults,
                place.as_deref(),
                &catalog.state_faults,
            ));
        }
        let missing = catalog.state_faults.iter();
        let missing = missing.filter(|fault| fault.kind == FaultKind::MissingOperator);
        state.gone = missing.map(|fault| fault.operator).collect();
        state.nanoseconds = nanoseconds(&catalog);
        let gone = |store: &StoreFacts| matches!(store.schema, SchemaFacts::Named { .. });
        let stores = || state.operators.iter().flat_map(|operator| &operator.stores);
        state.elsewhere_exists = state.elsewhere.is_some() && !stores().any(gone);
        state
    }

    fn operator(
        &self,
        id: OperatorId,
        entry: Option<&OperatorEntry>,
        metadata: Option<&OperatorMetadata>,
        faults: &[Fault],
        place: Option<&str>,
        state_faults: &[StateFault],
    ) -> OperatorFacts {
        let stores = entry.map(|entry| entry.stores.as_slice()).unwrap_or_default();
        let keyless = stores.iter().any(|store| store.single_partition);
        OperatorFacts {
            id,
            name: entry.map(|entry| entry.name.clone()).unwrap_or_default(),
            metadata: self.metadata(id, metadata, faults),
            keying: if keyless { Keying::Keyless } else { Keying::Keyed },
            stores: stores
                .iter()
                .map(|store| StoreFacts {
                    name: store.name.clone(),
                    schema: self.schema(id, store, metadata, place, state_faults),
                })
                .collect(),
            directories: self.directories(id),
        }
    }

    /// The engine reads format 2 where its directory is there, and tries no other file.
    fn metadata(
        &self,
        id: OperatorId,
        metadata: Option<&OperatorMetadata>,
        faults: &[Fault],
    ) -> OperatorMetadataFacts {
        let unreadable = faults.iter().find_map(|fault| match fault {
            Fault::UnreadableOperatorMetadata { file, problem } => {
                Some((file.clone(), trouble(problem)))
            }
            _ => None,
        });
        let has_v2 = self.storage.names(&format!("state/{id}/_metadata/v2")).is_ok();
        match (unreadable, metadata) {
            (Some((file, trouble)), _) => OperatorMetadataFacts::Unreadable(file, trouble),
            (None, Some(found)) if found.version == 1 && has_v2 => {
                let reason =
                    format!("state/{id}/_metadata/v2 has no file up to batch {}", self.batch);
                OperatorMetadataFacts::Missing(reason)
            }
            (None, Some(found)) => {
                OperatorMetadataFacts::Read { version: found.version, name: found.name.clone() }
            }
            (None, None) => {
                OperatorMetadataFacts::Missing(format!("state/{id}/_metadata has no metadata"))
            }
        }
    }

    fn schema(
        &self,
        id: OperatorId,
        store: &StoreEntry,
        metadata: Option<&OperatorMetadata>,
        place: Option<&str>,
        faults: &[StateFault],
    ) -> SchemaFacts {
        let stores = metadata.iter().flat_map(|metadata| &metadata.stores);
        let named: Vec<String> = stores
            .filter(|entry| entry.name == store.name)
            .flat_map(|entry| &entry.schema_files)
            .map(|name| format!("state/{id}/_stateSchema/{}/{name}", store.name))
            .collect();
        if let Some(place) = place {
            let there = Storage::open(place);
            for file in &named {
                let found = there
                    .as_ref()
                    .map_err(ToString::to_string)
                    .and_then(|there| there.stat(file).map_err(|error| error.to_string()));
                if let Err(reason) = found {
                    return SchemaFacts::Named { file: format!("{place}/{file}"), reason };
                }
            }
            return SchemaFacts::Readable;
        }
        let fault = faults.iter().find_map(|fault| match &fault.kind {
            FaultKind::Schema(reason) if fault.operator == id && fault.store == store.name => {
                Some((fault.file.clone(), reason.clone()))
            }
            _ => None,
        });
        match fault {
            None => SchemaFacts::Readable,
            Some((file, reason)) if named.is_empty() => {
                let newer = self.newer_schema(&file).map(Trouble::Version);
                SchemaFacts::Fixed { file, trouble: newer.unwrap_or(Trouble::Content(reason)) }
            }
            Some((file, reason)) => {
                SchemaFacts::Named { file: location(self.storage).file(&file), reason }
            }
        }
    }

    /// The format of a schema file that is newer than any that is known.
    fn newer_schema(&self, file: &str) -> Option<u32> {
        /// What is read of the file: length and text of its format.
        const HEAD: u64 = 4;
        const NEWEST: u32 = 3;
        let head = self.storage.read_range(file, 0, HEAD).ok()?;
        let digit = match head.as_slice() {
            [0, 2, b'v', digit] => char::from(*digit).to_digit(10)?,
            _ => return None,
        };
        (digit > NEWEST).then_some(digit)
    }

    fn directories(&self, id: OperatorId) -> DirectoryFacts {
        let names = self.storage.names(&format!("state/{id}")).unwrap_or_default();
        let directories = names.into_iter().filter(|name| name.kind == EntryKind::Directory);
        let mut present: Vec<u32> = directories.filter_map(|name| name.name.parse().ok()).collect();
        present.sort_unstable();
        DirectoryFacts { present }
    }

    /// What loading each partition would come to.
    fn load(&self, state: &mut StateFacts, cancel: &Cancel, progress: &(dyn Fn(Progress) + Sync)) {
        let catalog = Catalog::read(self.storage, self.checkpoint, self.batch);
        let address = self.storage.address();
        let facts =
            BuildFacts::new(address, self.storage, self.checkpoint, &catalog, Some(self.batch));
        let stores = match state.provider {
            Some(Provider::Rocksdb) => session::stores(self.storage, &facts),
            _ => Vec::new(),
        };
        let count = facts.partitions_to_read();
        let mut jobs: Vec<(&Store, PartitionId)> = Vec::new();
        for store in &stores {
            let operator = state.operators.iter().find(|op| op.id == store.operator);
            let present = operator.map(|op| op.directories.below(count).present);
            jobs.extend(present.into_iter().flatten().map(|p| (store, PartitionId(p))));
        }
        let counter = Counter::default();
        let run = Run { cancel, counter: &counter };
        let done = std::sync::atomic::AtomicU64::new(0);
        let total = jobs.len() as u64;
        let loaded =
            task::map_parallel(&jobs, self.storage.crew(), cancel, |(store, partition)| {
                let loaded = self.one(store, *partition, run);
                let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
                progress(Progress { done, total, rows: 0, bytes: counter.bytes() });
                loaded
            });
        state.loaded = loaded.into_iter().flatten().flatten().collect();
        state.complete = state.loaded.len() == jobs.len();
        state.bytes = counter.bytes();
    }

    fn one(&self, store: &Store, partition: PartitionId, run: Run<'_>) -> Option<Loaded> {
        let session = &self.request.session;
        let rules = LoadRules {
            repair: session.repairs_snapshots(),
            most_changelogs: session.most_changelogs(),
            checksums: session.compares_checksums(),
        };
        let target: Target = session::target(self.checkpoint, store, self.batch, partition);
        let outcome = store.load_as_engine(partition, &target, rules, run).ok()?;
        let fails = matches!(outcome, LoadOutcome::Fails(_));
        let repairable = fails && !rules.repair && {
            let rules = LoadRules { repair: true, ..rules };
            let other = store.load_as_engine(partition, &target, rules, run).ok()?;
            matches!(other, LoadOutcome::Loads { .. })
        };
        let store_name = store.name.clone();
        Some(Loaded { operator: store.operator, store: store_name, partition, outcome, repairable })
    }
}

/// The schemas with times of more than six digits, keys before values.
fn nanoseconds(catalog: &Catalog) -> Vec<Nanoseconds> {
    let mut found = Vec::new();
    for operator in &catalog.operators {
        for (index, store) in operator.stores.iter().enumerate() {
            for family in store.schema.iter().flat_map(|schema| &schema.families) {
                for (in_key, schema) in [(true, &family.key), (false, &family.value)] {
                    if has_nanoseconds(schema) {
                        let schema = schema.to_string();
                        let (operator, store) = (operator.id, index);
                        found.push(Nanoseconds { operator, store, in_key, schema });
                    }
                }
            }
        }
    }
    found
}

/// Whether a schema has times with more digits than microseconds have.
fn has_nanoseconds(schema: &serde_json::Value) -> bool {
    use serde_json::Value;
    match schema {
        Value::String(text) => {
            let digits = ["(7)", "(8)", "(9)"];
            text.starts_with("timestamp") && digits.iter().any(|end| text.ends_with(end))
        }
        Value::Array(items) => items.iter().any(has_nanoseconds),
        Value::Object(fields) => fields.values().any(has_nanoseconds),
        _ => false,
    }
}

/// Rehashes every key of each operator.
fn rehash(
    reader: &CheckpointReader,
    request: &Request,
    facts: &mut Facts,
    around: &mut Around,
    cancel: &Cancel,
    progress: &(dyn Fn(Progress) + Sync),
) {
    let Some(state) = &mut facts.state else { return };
    let to = u32::try_from(request.to).ok().filter(|to| (1..=1_000_000).contains(to));
    let readable = state.loaded.iter().all(|l| matches!(l.outcome, LoadOutcome::Loads { .. }));
    around.not_rehashed = match to {
        None => Some("the count is none that could be".to_owned()),
        _ if !request.rehash => Some("it was not asked for".to_owned()),
        _ if state.operators.is_empty() => Some("there is no state".to_owned()),
        _ if !readable => Some("the state cannot be read".to_owned()),
        _ => None,
    };
    if around.not_rehashed.is_some() {
        return;
    }
    let mut rows = RowFacts::Sound;
    for operator in &state.operators {
        let asked = PlanRequest { operator: Some(operator.id), ..PlanRequest::default() };
        let basis = match reader.plan(&asked, cancel, progress) {
            Ok(basis) => basis,
            Err(error) => {
                around.not_rehashed = Some(format!("operator {}: {error}", operator.id));
                state.rows = RowFacts::NotRead;
                return;
            }
        };
        let question = PlanQuestion {
            to,
            curve: Vec::new(),
            cores: None,
            bound: DEFAULT_BOUND,
            nodes: request.nodes,
            cap: request.cap,
            price: None,
        };
        let report = basis.report(&question);
        if report.partial {
            around.not_rehashed = Some("it was given up early".to_owned());
            return;
        }
        let findings = || report.findings.iter().filter(|f| DAMAGED_ROWS.contains(&f.id.0));
        let broken = findings().next();
        let join = state.join_format == 4 && operator.name == "symmetricHashJoin";
        if let Some(broken) = broken.filter(|_| join) {
            rows = RowFacts::BrokenLists(operator.id, broken.summary.clone());
        }
        around.verdicts.push(Verdict {
            operator: format!("{} {}", operator.id, operator.name),
            kind: report.verdict.kind,
            text: report.verdict.text,
            damaged: findings().next().map(|finding| finding.summary.clone()),
        });
    }
    state.rows = rows;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_the_engine_writes_them() {
        let of = |target: &str| location(&Storage::open(target).unwrap());
        let plain = of("/data/ck/");
        assert_eq!(
            (plain.given.as_str(), plain.resolved.as_str()),
            ("/data/ck/", "file:///data/ck")
        );
        assert_eq!(plain.file("state/0"), "file:/data/ck/state/0");
        for url in ["file:/data/ck", "file:///data/ck"] {
            assert_eq!(of(url).resolved, "file:///data/ck");
        }
    }
}
