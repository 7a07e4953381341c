//! What every reading of rows checks by the way: that each key lies in the partition where its
//! hash says, and that it can be decoded.

use std::collections::BTreeMap;

use crate::state::fault::{FaultKind, Outcome, StateFault};
use crate::state::grouping::Grouping;
use crate::state::hash::KeyHash;
use crate::state::placement;
use crate::state::reading::FamilyReading;
use crate::state::row::decoder::KeyColumns;
use crate::state::store::Store;
use crate::units::PartitionId;

/// Right partitions of misplaced keys that are told apart.
const MAX_TARGETS: usize = 8;

/// The checks of one store in one partition.
#[derive(Debug)]
pub(super) struct Checks {
    partition: PartitionId,
    partitions: u32,
    /// Keys that were hashed.
    pub(super) placed: u64,
    misplaced: u64,
    /// Where misplaced keys belong, and how many; of some of them.
    belong: BTreeMap<PartitionId, u64>,
    undecodable: u64,
    first_reason: Option<String>,
    pub(super) checksums: u64,
    bad_checksums: u64,
    foreign: u64,
}

impl Checks {
    pub(super) fn new(partition: PartitionId, partitions: u32) -> Self {
        Self {
            partition,
            partitions,
            placed: 0,
            misplaced: 0,
            belong: BTreeMap::new(),
            undecodable: 0,
            first_reason: None,
            checksums: 0,
            bad_checksums: 0,
            foreign: 0,
        }
    }

    /// Hashes a key and notes whether it is in its place; `None` when it has no hash.
    pub(super) fn place(
        &mut self,
        family: &FamilyReading,
        columns: &KeyColumns<'_>,
    ) -> Option<KeyHash> {
        let Grouping::Columns(grouping) = &family.grouping else { return None };
        let hash = match columns {
            KeyColumns::View(view) => placement::hash(view, grouping),
            KeyColumns::Values(values) => placement::hash_values(values, grouping),
        };
        let hash = match hash {
            Ok(hash) => hash,
            Err(reason) => {
                self.undecodable(&reason);
                return None;
            }
        };
        self.placed += 1;
        let right = hash.partition(self.partitions);
        if right != self.partition {
            self.misplaced += 1;
            if self.belong.len() < MAX_TARGETS || self.belong.contains_key(&right) {
                *self.belong.entry(right).or_default() += 1;
            }
        }
        Some(hash)
    }

    /// Notes a key or value that cannot be decoded.
    pub(super) fn undecodable(&mut self, reason: &str) {
        self.undecodable += 1;
        self.first_reason.get_or_insert_with(|| reason.to_owned());
    }

    /// Notes a key that belongs to no family.
    pub(super) fn foreign(&mut self) {
        self.foreign += 1;
    }

    /// Notes checksums that fit.
    pub(super) fn checksums_fit(&mut self, count: u64) {
        self.checksums += count;
    }

    /// Notes a checksum that does not fit.
    pub(super) fn checksum_differs(&mut self) {
        self.bad_checksums += 1;
    }

    /// What was found wrong.
    pub(super) fn faults(self, store: &Store) -> Vec<StateFault> {
        let mut kinds = Vec::new();
        if self.misplaced > 0 {
            let belong = self.belong.into_iter().collect();
            kinds.push(FaultKind::Misplaced { keys: self.misplaced, belong });
        }
        if self.bad_checksums > 0 {
            kinds.push(FaultKind::RowChecksums(self.bad_checksums));
        }
        if let Some(reason) = self.first_reason {
            kinds.push(FaultKind::Undecodable(self.undecodable, reason));
        }
        if self.foreign > 0 {
            let what = "start with the id of no column family that the snapshot knows";
            kinds.push(FaultKind::Rows(self.foreign, what));
        }
        let fault = |kind| StateFault {
            operator: store.operator,
            store: store.name.clone(),
            partition: Some(self.partition),
            file: store.dir(self.partition),
            kind,
            outcome: Outcome::Lost,
        };
        kinds.into_iter().map(fault).collect()
    }
}
