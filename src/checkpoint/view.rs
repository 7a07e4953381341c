//! What a loaded checkpoint says: status, batches, confs, counts. Pure.

use super::Confs;
use super::commit::CommitEntry;
use super::examine;
use super::fault::{Fault, Problem};
use super::load::Checkpoint;
use super::offset::OffsetEntry;
use super::root::Part;
use super::state_ids::OperatorStateIds;
use crate::report::{HistoryEntry, LoggedBatch, Status};
use crate::units::{BatchId, OperatorId, UnixMillis};

/// A batch that changes the partition count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Repartition {
    pub(super) batch: BatchId,
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Checkpoint {
    /// The query's id; `None` when `metadata` is missing or unreadable.
    pub fn query_id(&self) -> Option<&str> {
        self.query_id.as_ref().ok()?.as_deref()
    }

    /// Where the query stands.
    pub fn status(&self) -> Status {
        match (self.last_planned(), self.last_committed()) {
            (None, None) if self.has_started() => Status::NoBatch,
            (None, None) => Status::Empty,
            (Some(_), None) => Status::NoCommittedBatch,
            (planned, committed) if planned <= committed => Status::Committed,
            _ if self.unfinished_repartition().is_some() => Status::UnfinishedRepartition,
            _ => Status::Pending,
        }
    }

    /// Whether there is anything of a checkpoint at all, be it an empty directory of a log.
    pub fn has_anything(&self) -> bool {
        self.has_started() || self.root.has(Part::Commits) || self.root.has(Part::State)
    }

    /// Whether there is more than an empty directory of a log, which a mistyped path leaves.
    fn has_started(&self) -> bool {
        [Part::Metadata, Part::Offsets, Part::Sources].into_iter().any(|part| self.root.has(part))
            || !self.operators.is_empty()
    }

    /// The greatest id in the offset log, readable or not.
    pub fn last_planned(&self) -> Option<BatchId> {
        self.offsets.last()
    }

    /// The greatest id in the commit log, readable or not.
    pub fn last_committed(&self) -> Option<BatchId> {
        self.commits.last()
    }

    /// When the last planned batch's offset entry was written.
    pub fn last_plan_at(&self) -> Option<UnixMillis> {
        self.offsets.modified(self.last_planned()?)
    }

    /// When the last committed batch's commit entry was written.
    pub fn last_commit_at(&self) -> Option<UnixMillis> {
        self.commits.modified(self.last_committed()?)
    }

    /// When the commit entry of `batch` was written.
    pub fn committed_at(&self, batch: BatchId) -> Option<UnixMillis> {
        self.commits.modified(batch)
    }

    /// When the offset entry of `batch` was written.
    pub fn planned_at(&self, batch: BatchId) -> Option<UnixMillis> {
        self.offsets.modified(batch)
    }

    /// The batches with an offset entry, readable or not, oldest first.
    pub fn planned_batches(&self) -> impl DoubleEndedIterator<Item = BatchId> + '_ {
        self.offsets.batches()
    }

    /// The batches with a commit entry, readable or not, oldest first.
    pub fn committed_batches(&self) -> impl DoubleEndedIterator<Item = BatchId> + '_ {
        self.commits.batches()
    }

    /// Whether `batch` has a commit entry, readable or not.
    pub fn is_committed(&self, batch: BatchId) -> bool {
        self.commits.has(batch)
    }

    /// The offset entry of `batch`; `None` when it is missing or unreadable.
    pub fn offset(&self, batch: BatchId) -> Option<&OffsetEntry> {
        self.offsets.get(batch)
    }

    /// The commit entry of `batch`; `None` when it is missing or unreadable.
    pub fn commit(&self, batch: BatchId) -> Option<&CommitEntry> {
        self.commits.get(batch)
    }

    /// Why the offset entry of `batch` says nothing; `None` when it is readable or missing.
    pub fn offset_problem(&self, batch: BatchId) -> Option<&Problem> {
        self.offsets.problem(batch)
    }

    /// Why the commit entry of `batch` says nothing; `None` when it is readable or missing.
    pub fn commit_problem(&self, batch: BatchId) -> Option<&Problem> {
        self.commits.problem(batch)
    }

    /// The format of the newest readable offset entry.
    pub fn offset_log_version(&self) -> Option<u32> {
        self.offsets.readable().next_back().map(|(_, entry)| entry.version)
    }

    /// The format of the newest readable commit entry.
    pub fn commit_log_version(&self) -> Option<u32> {
        self.commits.readable().next_back().map(|(_, entry)| entry.version)
    }

    /// The offset entry that says what held for `batch`: its own, else the newest readable one
    /// below it. In the second case [`Checkpoint::faults_at`] tells.
    pub fn entry_for(&self, batch: BatchId) -> Option<(BatchId, &OffsetEntry)> {
        self.offsets.at_or_below(batch)
    }

    /// The confs pinned for `batch`, by [`Checkpoint::entry_for`]; `None` when there is no entry or
    /// it has no confs.
    pub fn confs_at(&self, batch: BatchId) -> Option<&Confs> {
        self.entry_for(batch)?.1.confs()
    }

    /// The partition count of `batch`, by [`Checkpoint::entry_for`]; never assumed.
    pub fn partitions_at(&self, batch: BatchId) -> Option<u32> {
        self.confs_at(batch)?.partitions()
    }

    /// The count in every retained offset entry, oldest first; `None` for an unreadable one.
    pub fn partition_history(&self) -> Vec<HistoryEntry> {
        let entries = self.planned_batches().map(|batch| HistoryEntry {
            batch,
            partitions: self.offset(batch).and_then(OffsetEntry::partitions),
            repartition: self.repartition(batch).is_some(),
        });
        entries.collect()
    }

    /// What both logs say of each retained batch, oldest first.
    pub fn logged_batches(&self) -> Vec<LoggedBatch> {
        let mut batches: Vec<BatchId> =
            self.planned_batches().chain(self.committed_batches()).collect();
        batches.sort_unstable();
        batches.dedup();
        let one = |batch: BatchId| LoggedBatch {
            batch,
            planned: self.offsets.has(batch),
            planned_at: self.planned_at(batch),
            committed: self.is_committed(batch),
            committed_at: self.committed_at(batch),
            partitions: self.offset(batch).and_then(OffsetEntry::partitions),
            repartition_from: self.repartition(batch).map(|change| change.from),
        };
        batches.into_iter().map(one).collect()
    }

    /// Whether `batch` changes the count: its entry and the one directly before it are readable
    /// and differ. That is also how the engine recognises such a batch.
    pub(super) fn repartition(&self, batch: BatchId) -> Option<Repartition> {
        let before = BatchId(batch.0.checked_sub(1)?);
        let from = self.offset(before)?.partitions()?;
        let to = self.offset(batch)?.partitions()?;
        (from != to).then_some(Repartition { batch, from, to })
    }

    /// The last planned batch, if it is an uncommitted repartition of a query that has committed.
    pub(super) fn unfinished_repartition(&self) -> Option<Repartition> {
        let batch = self.last_planned()?;
        (self.last_committed()? < batch).then(|| self.repartition(batch)).flatten()
    }

    /// The ids in the names of the state files that `batch` wrote for `operator`; `None` when its
    /// files are named by version alone or its commit says nothing.
    pub fn state_ids(&self, batch: BatchId, operator: OperatorId) -> Option<&OperatorStateIds> {
        self.commit(batch)?.state_ids.as_ref()?.operator(operator)
    }

    /// The operators that have a directory under `state/`, by id.
    pub fn operator_dirs(&self) -> &[OperatorId] {
        &self.operators
    }

    /// What is not as in a healthy, idle checkpoint, whichever batch is looked at.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// What keeps confs and partition count of `batch` from being told for certain.
    pub fn faults_at(&self, batch: BatchId) -> Vec<Fault> {
        examine::confs(self, batch)
    }
}
