//! Gathers what a preflight needs, check by check: the logs, the operators, the files that a
//! resize would read, the surroundings, and last every key.

mod gather;

use std::path::Path;
use std::time::SystemTime;

use self::gather::Gather;
use super::ReadError;
use super::checkpoint::CheckpointReader;
use super::{PlanQuestion, PlanRequest, ReadState};
use crate::analysis::DEFAULT_BOUND;
use crate::checkpoint::{
    self, Checkpoint, Confs, FormatError, LoadError, OffsetEntry, Problem, SHUFFLE_PARTITIONS,
};
use crate::preflight::care::{self, Around, Newest, Verdict};
use crate::preflight::engine::Step;
use crate::preflight::{
    EngineChoice, Entry, Facts, Location, LogFacts, OffsetFacts, Pinned, Presence, Request,
    RowFacts, Trouble, predict, steps,
};
use crate::report::{PreflightCheck, PreflightReport};
use crate::state::loading::LoadOutcome;
use crate::storage::Storage;
use crate::task::{Cancel, Progress};
use crate::units::{BatchId, Bytes, UnixMillis};

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
