//! Which partition each key would lie in, for any number of partitions.
//!
//! Spark places a key in partition `pmod(murmur3(grouping columns), count)`: the non-negative
//! modulus of the signed 32-bit hash. So hash and weight of each key are enough to compute
//! the layout at any count exactly; the keys themselves are not kept. Keys with the same hash
//! share a partition at every count and are one record here: 16 bytes for each hash.
//!
//! `pmod(h, n)` is `(h + 2^31) mod n`, turned by `2^31 mod n` places, where `h + 2^31` is
//! unsigned. And `x mod n = (x mod m) mod n` where `n` divides `m`: one pass over the keys, at
//! a common multiple of several counts, serves all of them ([`KeyHashes::curve`]).
//!
//! Must not know how hashes are made, or files.

mod collect;
mod modulus;
#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::thread;

use serde::Serialize;

use self::collect::{Chunk, Columns, merge};
pub use self::collect::{HashCollector, HashWeight, TooManyKeys};
use self::modulus::{Modulus, common_multiples, shift, unshift};
use super::{Distribution, Skew};
use crate::task::{Cancel, map_parallel};
use crate::units::PartitionId;

/// Hashes that are kept unless another limit is asked for: 256 MB of them.
pub const DEFAULT_HASHES: usize = 16_000_000;
/// The largest count that a layout is computed for.
pub const MAX_PARTITIONS: u32 = 1_000_000;

/// With fewer keys than this, another thread costs more than it saves.
const KEYS_PER_WORKER: usize = 50_000;

/// All hashes of an operator's keys, with what they weigh.
#[derive(Debug, Default)]
pub struct KeyHashes {
    parts: Vec<Columns>,
}

/// Rows and bytes of each partition, at one count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// One per partition, in order.
    pub partitions: Vec<Load>,
}

/// What a partition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// Rows.
    pub rows: u64,
    /// Bytes of keys and values, before compression.
    pub bytes: u64,
}

/// How even the rows would be at one count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CurvePoint {
    /// The count.
    pub partitions: u32,
    /// Rows of the largest partition.
    pub max: u64,
    /// Mean rows of a partition.
    pub mean: f64,
    /// The largest divided by the mean; `None` without rows.
    pub max_over_mean: Option<f64>,
    /// Rows at rank ⌈0.99 n⌉.
    pub p99: u64,
    /// Partitions without rows.
    pub empty: u64,
}

/// The keys of one partition by weight, for a verdict on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionHashes {
    /// Which partition.
    pub partition: PartitionId,
    /// Different hashes in it.
    pub distinct: u64,
    /// The heaviest by rows, heaviest first.
    pub heaviest: Vec<HashWeight>,
}

impl KeyHashes {
    /// Everything that the workers gathered.
    ///
    /// # Errors
    /// [`TooManyKeys`] when a collector's last partition was not ended and does not fit.
    pub fn of(collectors: impl IntoIterator<Item = HashCollector>) -> Result<Self, TooManyKeys> {
        let parts = collectors.into_iter().map(|mut collector| {
            collector.end_partition()?;
            Ok(collector.done)
        });
        Ok(Self { parts: parts.collect::<Result<_, _>>()? })
    }

    /// Different hashes: the number of keys, but for the few that share one by chance.
    pub fn len(&self) -> usize {
        self.parts.iter().map(Columns::len).sum()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rows and bytes of each partition at `count`, which is taken as 1 to
    /// [`MAX_PARTITIONS`].
    pub fn layout(&self, count: u32, workers: NonZeroUsize) -> Layout {
        let count = count.clamp(1, MAX_PARTITIONS);
        let modulus = Modulus::new(count);
        let partial = self.on_threads(workers, |chunks| {
            let mut loads = vec![Load::default(); count as usize];
            for chunk in chunks {
                for ((shifted, rows), bytes) in
                    chunk.shifted.iter().zip(chunk.rows).zip(chunk.bytes)
                {
                    if let Some(load) = loads.get_mut(modulus.of(*shifted)) {
                        load.rows += u64::from(*rows);
                        load.bytes = load.bytes.saturating_add(*bytes);
                    }
                }
            }
            loads
        });
        let mut sum = vec![Load::default(); count as usize];
        for loads in partial {
            for (sum, load) in sum.iter_mut().zip(loads) {
                sum.rows = sum.rows.saturating_add(load.rows);
                sum.bytes = sum.bytes.saturating_add(load.bytes);
            }
        }
        sum.rotate_left(modulus.turn());
        Layout { partitions: sum }
    }

    /// How even the rows would be at each of `counts`, in their order. Counts are taken as
    /// above.
    pub fn curve(&self, counts: &[u32], workers: NonZeroUsize) -> Vec<CurvePoint> {
        let groups = common_multiples(counts);
        // Many passes side by side need not wait for each other; a few share their keys.
        let (passes, each) = if groups.len() > workers.get() {
            (workers, NonZeroUsize::MIN)
        } else {
            (NonZeroUsize::MIN, workers)
        };
        let found = map_parallel(&groups, passes, &Cancel::default(), |(multiple, group)| {
            let bins = self.rows_by(*multiple, each);
            let points = group.iter().map(|count| CurvePoint::of(&fold(&bins, *count)));
            points.collect::<Vec<CurvePoint>>()
        });
        let mut points: Vec<CurvePoint> = found.into_iter().flatten().flatten().collect();
        points.sort_unstable_by_key(|point| point.partitions);
        let find = |count: &u32| {
            let count = (*count).clamp(1, MAX_PARTITIONS);
            let at = points.binary_search_by_key(&count, |point| point.partitions).ok()?;
            points.get(at).copied()
        };
        counts.iter().filter_map(find).collect()
    }

    /// The keys of one partition at `count`, the `top` heaviest by rows named.
    pub fn in_partition(
        &self,
        PartitionId(partition): PartitionId,
        count: u32,
        top: usize,
    ) -> PartitionHashes {
        let modulus = Modulus::new(count.clamp(1, MAX_PARTITIONS));
        let mut found: Vec<HashWeight> = Vec::new();
        for chunk in &self.parts {
            for ((shifted, rows), bytes) in chunk.shifted.iter().zip(&chunk.rows).zip(&chunk.bytes)
            {
                if modulus.partition(*shifted) == partition {
                    let hash = unshift(*shifted);
                    found.push(HashWeight { hash, rows: *rows, bytes: *bytes });
                }
            }
        }
        // A key that lies in a wrong partition has its hash in two workers' records.
        merge(&mut found);
        let distinct = found.len() as u64;
        found.sort_unstable_by(|a, b| b.rows.cmp(&a.rows).then(a.hash.cmp(&b.hash)));
        found.truncate(top);
        PartitionHashes { partition: PartitionId(partition), distinct, heaviest: found }
    }

    /// Rows by `(hash + 2^31) mod bins`.
    fn rows_by(&self, bins: u32, workers: NonZeroUsize) -> Vec<u64> {
        let modulus = Modulus::new(bins);
        let partial = self.on_threads(workers, |chunks| {
            let mut sums = vec![0_u64; bins as usize];
            for chunk in chunks {
                for (shifted, rows) in chunk.shifted.iter().zip(chunk.rows) {
                    if let Some(sum) = sums.get_mut(modulus.of(*shifted)) {
                        *sum += u64::from(*rows);
                    }
                }
            }
            sums
        });
        partial
            .into_iter()
            .reduce(|mut sums, more| {
                for (sum, more) in sums.iter_mut().zip(more) {
                    *sum += more;
                }
                sums
            })
            .unwrap_or_default()
    }

    /// `work` on as many threads as there are keys for, each with an equal part of the keys.
    fn on_threads<R: Send>(
        &self,
        workers: NonZeroUsize,
        work: impl Fn(Vec<Chunk<'_>>) -> R + Sync,
    ) -> Vec<R> {
        let workers = workers.get().min(self.len() / KEYS_PER_WORKER).max(1);
        let share = self.len().div_ceil(workers).max(1);
        let mut shares: Vec<Vec<Chunk<'_>>> = Vec::new();
        let mut room = 0;
        for part in &self.parts {
            let mut rest = part.chunk();
            while rest.len() > 0 {
                if room == 0 {
                    shares.push(Vec::new());
                    room = share;
                }
                let (chunk, after) = rest.split(room);
                room -= chunk.len();
                rest = after;
                if let Some(last) = shares.last_mut() {
                    last.push(chunk);
                }
            }
        }
        let own = shares.pop().unwrap_or_default();
        thread::scope(|scope| {
            let work = &work;
            let others: Vec<_> =
                shares.into_iter().map(|chunks| scope.spawn(move || work(chunks))).collect();
            let mut results = vec![work(own)];
            results.extend(others.into_iter().filter_map(|thread| thread.join().ok()));
            results
        })
    }
}

impl Layout {
    /// A layout that was read, or made up.
    pub fn of(partitions: Vec<Load>) -> Self {
        Self { partitions }
    }

    /// How many partitions.
    pub fn count(&self) -> u32 {
        u32::try_from(self.partitions.len()).unwrap_or(u32::MAX)
    }

    /// Rows and bytes of all partitions.
    pub fn total(&self) -> Load {
        self.partitions.iter().fold(Load::default(), |sum, load| Load {
            rows: sum.rows.saturating_add(load.rows),
            bytes: sum.bytes.saturating_add(load.bytes),
        })
    }

    /// The partition with the most rows, the first of several; `None` without partitions.
    pub fn largest(&self) -> Option<(PartitionId, Load)> {
        let loads = (0..).map(PartitionId).zip(self.partitions.iter().copied());
        loads.max_by(|(a_id, a), (b_id, b)| a.rows.cmp(&b.rows).then(b_id.cmp(a_id)))
    }

    /// How evenly rows and bytes are spread.
    pub fn skew(&self) -> Skew {
        let values = |value: fn(&Load) -> u64| {
            let ids = (0..).map(PartitionId);
            Distribution::of(ids.zip(self.partitions.iter().map(|load| Some(value(load)))))
        };
        Skew { rows: values(|load| load.rows), bytes: values(|load| load.bytes) }
    }
}

impl CurvePoint {
    /// The point of rows per partition.
    fn of(rows: &[u64]) -> Self {
        let values = (0..).map(PartitionId).zip(rows.iter().map(|rows| Some(*rows)));
        let partitions = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        match Distribution::of(values) {
            Some(spread) => Self {
                partitions,
                max: spread.max,
                mean: spread.mean,
                max_over_mean: spread.max_over_mean,
                p99: spread.p99,
                empty: spread.empty,
            },
            None => Self { partitions, max: 0, mean: 0.0, max_over_mean: None, p99: 0, empty: 0 },
        }
    }
}

/// The partition of a key with Spark's signed `hash`, at `count` partitions (at least 1).
pub fn partition_of(hash: i32, count: u32) -> PartitionId {
    PartitionId(Modulus::new(count.max(1)).partition(shift(hash)))
}

/// Bins at a multiple of `count`, folded to `count` of them.
fn fold(bins: &[u64], count: u32) -> Vec<u64> {
    let mut sums = vec![0_u64; count as usize];
    for part in bins.chunks(count as usize) {
        for (sum, bin) in sums.iter_mut().zip(part) {
            *sum += bin;
        }
    }
    // Which partition is which does not matter for a point of the curve: not turned.
    sums
}
