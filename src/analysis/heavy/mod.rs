//! The heaviest keys of a store, from a stream of rows.
//!
//! Several workers walk partitions, one [`PartitionKeys`] each; [`HeavyKeys`] gathers what
//! they found. Exact as long as the keys fit the memory allowed; beyond that, the result
//! carries a bound of its error (see `table`). Knows keys as bytes; must not know schemas,
//! files or the terminal.
//!
//! Two ways of counting, by what the caller groups by ([`Scope`]):
//! - the **whole** grouping key decides the partition, so a key lies in one partition only. A
//!   partition's table is reduced to its heaviest keys as soon as the partition is done, and
//!   memory is bounded by the largest partition: exact for any number of keys in all.
//! - a **part** of it (`account_id` over all its windows) is spread over partitions. All
//!   workers share tables that keys are split over by hash, so that no key is held twice and
//!   workers seldom wait for each other.

mod buffers;
mod table;
#[cfg(test)]
mod tests;

use std::hash::BuildHasher;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::{DefaultHashBuilder, HashMap};

use self::buffers::{Buffer, Buffers};
use self::table::KeyTable;
use crate::units::{Bytes, PartitionId};

/// Memory for keys unless another amount is asked for. Three million keys of 30 bytes fit, and
/// with what the process needs besides it stays below 300 MB.
pub const DEFAULT_MEMORY: Bytes = Bytes(224_000_000);
/// With less than this, nothing useful can be counted.
pub const LEAST_MEMORY: Bytes = Bytes(1_000_000);

/// Shared tables that keys of part of the grouping key are split over.
const SHARDS: usize = 16;
/// The bits of a hash that choose the shard: those that the tables inside do not go by.
const SHARD_SHIFT: u32 = 40;
/// The heaviest keys that are kept of each partition, beside the heaviest of all.
const PER_PARTITION: usize = 3;
/// The part of the memory that those may take.
const PER_PARTITION_MEMORY: usize = 8;

/// What rows are weighed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weigh {
    /// The number of rows.
    Rows,
    /// The bytes of rows.
    Bytes,
    /// [`Measure::weight`], as the caller gives it: updates, or a value of the state.
    Given,
}

/// Which columns the keys are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All grouping columns: each key lies in one partition only.
    Whole,
    /// Some of them.
    Part,
}

/// What a row, or several rows of one key, come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Measure {
    /// Rows.
    pub rows: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
    /// The weight where it is given; not looked at for [`Weigh::Rows`] and [`Weigh::Bytes`].
    pub weight: u64,
}

/// How the heaviest keys are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeavyOptions {
    /// How many keys to name.
    pub top: usize,
    /// Memory for keys, over all workers.
    pub memory: Bytes,
    /// What they are weighed by.
    pub weigh: Weigh,
    /// What the keys are made of.
    pub scope: Scope,
    /// How many partitions are walked at once at most.
    pub workers: NonZeroUsize,
}

/// The heaviest keys under construction; shared by the workers.
#[derive(Debug)]
pub struct HeavyKeys {
    options: HeavyOptions,
    hasher: DefaultHashBuilder,
    /// What finished partitions leave for the next ones.
    spare: Mutex<Vec<Own>>,
    shards: Vec<Mutex<KeyTable>>,
    done: Mutex<Done>,
}

/// What finished partitions come to.
#[derive(Debug)]
struct Done {
    total: Measure,
    distinct: Distinct,
    error: u64,
    keys: Vec<HeavyKey>,
    per_partition: HashMap<PartitionId, Vec<HeavyKey>>,
    per_partition_bytes: usize,
}

/// The keys of one partition, held by the worker that walks it.
#[derive(Debug)]
pub struct PartitionKeys<'a> {
    all: &'a HeavyKeys,
    partition: PartitionId,
    own: Own,
    total: Measure,
}

/// Where the keys of a partition go first, by scope.
#[derive(Debug)]
enum Own {
    Whole(Box<KeyTable>),
    Part(Box<Buffers>),
}

/// One of the heaviest keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeavyKey {
    /// The key, as the caller encoded it.
    pub key: Box<[u8]>,
    /// Its rows; at least, where `missed` is not 0.
    pub rows: u64,
    /// Their bytes; at least, where `missed` is not 0.
    pub bytes: u64,
    /// Its weight. The true weight lies in `weight ..= weight + missed`.
    pub weight: u64,
    /// What may be missing from `weight`; 0 when it is exact.
    pub missed: u64,
    /// Partitions that it lies in, by id; those with the least ids where there are more than eight.
    pub partitions: Vec<PartitionId>,
    /// Whether there are more partitions than are listed.
    pub more_partitions: bool,
}

/// How many different keys there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distinct {
    /// Counted.
    Exact(u64),
    /// Estimated within about 2 % (`HyperLogLog`).
    Estimate(u64),
    /// There are this many or more.
    AtLeast(u64),
}

/// The heaviest keys, and what all keys come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heaviest {
    /// Heaviest first, ties by key.
    pub keys: Vec<HeavyKey>,
    /// Whether no key had to be forgotten: everything here is exact.
    pub exact: bool,
    /// No key's weight is off by more, and a key that is not among the heaviest weighs at most
    /// this more than the last of them.
    pub error_bound: u64,
    /// Sums over all rows; always exact. `weight` is the sum of what the keys are weighed by.
    pub total: Measure,
    /// How many keys there are.
    pub distinct: Distinct,
    /// The three heaviest keys of each partition, for [`Scope::Whole`]; partitions are left out
    /// once those keys take too much memory.
    pub per_partition: HashMap<PartitionId, Vec<HeavyKey>>,
}

impl HeavyOptions {
    fn memory(&self) -> usize {
        usize::try_from(self.memory.max(LEAST_MEMORY).0).unwrap_or(usize::MAX)
    }
}

impl HeavyKeys {
    /// Nothing seen yet.
    pub fn new(options: HeavyOptions) -> Self {
        let memory = options.memory();
        let shards = match options.scope {
            Scope::Whole => 0,
            Scope::Part => SHARDS,
        };
        let table = || Mutex::new(KeyTable::new(options.weigh, memory / SHARDS));
        Self {
            options,
            hasher: DefaultHashBuilder::default(),
            spare: Mutex::new(Vec::new()),
            shards: std::iter::repeat_with(table).take(shards).collect(),
            done: Mutex::new(Done {
                total: Measure::default(),
                distinct: Distinct::Exact(0),
                error: 0,
                keys: Vec::new(),
                per_partition: HashMap::new(),
                per_partition_bytes: 0,
            }),
        }
    }

    /// Begins a partition. Each is to be begun once (for all stores that are looked at), and
    /// what was added to it counts when [`PartitionKeys::finish`] is called.
    pub fn partition(&self, partition: PartitionId) -> PartitionKeys<'_> {
        let memory = self.options.memory() / self.options.workers;
        let own = lock(&self.spare).pop().unwrap_or_else(|| match self.options.scope {
            Scope::Whole => Own::Whole(Box::new(KeyTable::new(self.options.weigh, memory))),
            Scope::Part => Own::Part(Box::new(Buffers::new())),
        });
        PartitionKeys { all: self, partition, own, total: Measure::default() }
    }

    /// The result over the finished partitions.
    pub fn finish(self) -> Heaviest {
        let top = self.options.top;
        let done = self.done.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (mut keys, mut error, mut distinct) = (done.keys, done.error, done.distinct);
        for shard in self.shards {
            let table = shard.into_inner().unwrap_or_else(PoisonError::into_inner);
            keys = heaviest(keys, table.top(top), top);
            error = error.max(table.error());
            distinct = distinct.plus(table.distinct());
        }
        Heaviest {
            keys,
            exact: matches!(distinct, Distinct::Exact(_)),
            error_bound: error,
            total: done.total,
            distinct,
            per_partition: done.per_partition,
        }
    }

    fn pour(&self, shard: usize, buffer: &mut Buffer, partition: PartitionId) {
        if let Some(table) = self.shards.get(shard) {
            let mut table = lock(table);
            buffer.pour(|hash, key, measure| {
                table.add(&self.hasher, hash, key, partition, measure);
            });
        }
    }
}

impl PartitionKeys<'_> {
    /// Adds a row, or several rows of one key.
    pub fn add(&mut self, key: &[u8], measure: Measure) {
        let all = self.all;
        let weight = all.options.weigh.of(measure);
        self.total = self.total.plus(Measure { weight, ..measure });
        let hash = all.hasher.hash_one(key);
        match &mut self.own {
            Own::Whole(table) => table.add(&all.hasher, hash, key, self.partition, measure),
            Own::Part(buffers) => {
                let shard = shard_of(hash);
                if let Some(full) = buffers.add(shard, hash, key, measure) {
                    all.pour(shard, full, self.partition);
                }
            }
        }
    }

    /// Counts what was added as part of the whole. A partition that was given up half-way may
    /// be finished too: the result then holds what was read of it. Returns what was added.
    pub fn finish(mut self) -> Measure {
        let top = self.all.options.top;
        match &mut self.own {
            Own::Whole(table) => {
                let found = table.top(top.max(PER_PARTITION));
                let mut done = lock(&self.all.done);
                done.distinct = done.distinct.plus(table.distinct());
                done.error = done.error.max(table.error());
                let memory = self.all.options.memory() / PER_PARTITION_MEMORY;
                done.keep(self.partition, &found, memory);
                let keys = std::mem::take(&mut done.keys);
                done.keys = heaviest(keys, found, top);
                drop(done);
                table.clear();
            }
            Own::Part(buffers) => {
                for (shard, buffer) in buffers.iter_mut().enumerate() {
                    self.all.pour(shard, buffer, self.partition);
                }
            }
        }
        let mut done = lock(&self.all.done);
        done.total = done.total.plus(self.total);
        drop(done);
        lock(&self.all.spare).push(self.own);
        self.total
    }
}

impl Done {
    fn keep(&mut self, partition: PartitionId, found: &[HeavyKey], memory: usize) {
        let kept = found.get(..PER_PARTITION).unwrap_or(found);
        let size: usize = kept.iter().map(|key| key.key.len() + size_of::<HeavyKey>()).sum();
        if self.per_partition_bytes.saturating_add(size) <= memory {
            self.per_partition_bytes += size;
            self.per_partition.insert(partition, kept.to_vec());
        }
    }
}

impl Measure {
    fn plus(self, other: Self) -> Self {
        Self {
            rows: self.rows.saturating_add(other.rows),
            bytes: self.bytes.saturating_add(other.bytes),
            weight: self.weight.saturating_add(other.weight),
        }
    }
}

impl Weigh {
    /// The part of `measure` that counts.
    fn of(self, measure: Measure) -> u64 {
        match self {
            Self::Rows => measure.rows,
            Self::Bytes => measure.bytes,
            Self::Given => measure.weight,
        }
    }
}

impl Distinct {
    /// The number itself, however it was found.
    pub fn number(self) -> u64 {
        match self {
            Self::Exact(number) | Self::Estimate(number) | Self::AtLeast(number) => number,
        }
    }

    /// The number of keys in two sets that have none in common.
    fn plus(self, other: Self) -> Self {
        let sum = self.number().saturating_add(other.number());
        match (self, other) {
            (Self::AtLeast(_), _) | (_, Self::AtLeast(_)) => Self::AtLeast(sum),
            (Self::Estimate(_), _) | (_, Self::Estimate(_)) => Self::Estimate(sum),
            (Self::Exact(_), Self::Exact(_)) => Self::Exact(sum),
        }
    }
}

/// The heaviest of two lists of different keys.
fn heaviest(mut keys: Vec<HeavyKey>, more: Vec<HeavyKey>, top: usize) -> Vec<HeavyKey> {
    keys.extend(more);
    keys.sort_unstable_by(|a, b| b.weight.cmp(&a.weight).then_with(|| a.key.cmp(&b.key)));
    keys.truncate(top);
    keys
}

fn shard_of(hash: u64) -> usize {
    usize::try_from(hash >> SHARD_SHIFT).unwrap_or(0) % SHARDS
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
