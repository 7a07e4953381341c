//! What a count costs: instances, memory, objects written, and money. Each number with the
//! formula it comes from.
//!
//! Facts: every partition of every store of an operator is a `RocksDB` instance of its own and
//! writes its own objects in each batch. Without bounded memory an instance may take its write
//! buffers and its block cache (Spark leaves `RocksDB`'s write buffers at 2 of 64 MB, and sets
//! the cache to 8 MB by `spark.sql.streaming.stateStore.rocksdb.blockCacheSizeMB`); with it
//! (`boundedMemoryUsage`, `maxMemoryUsageMB`), all instances of a node share one cap, which a
//! greater count does not raise. Must not know about files: the caller counts them.

use serde::Serialize;

use crate::units::{BatchId, Bytes};

/// `RocksDB`'s write buffers of an instance: 2 of 64 MB.
pub const WRITE_BUFFERS: Bytes = Bytes(2 * (64 << 20));
/// Spark's block cache of an instance.
pub const BLOCK_CACHE: Bytes = Bytes(8 << 20);

const DAY: f64 = 86_400.0;

/// The formulas, by the name of the number: for the help and the JSON.
pub const FORMULAS: [(&str, &str); 7] = [
    ("instances", "partitions × stores of the operator"),
    ("instances_per_node", "instances ÷ nodes, rounded up"),
    (
        "memory_unbounded",
        "instances per node × (2 write buffers of 64 MB + 8 MB block cache): at most, without \
         bounded memory",
    ),
    ("memory_bounded", "the cap, at any count; each instance has the cap ÷ instances per node"),
    (
        "objects_per_batch",
        "files of this operator that the last batches wrote ÷ those batches, × partitions ÷ \
         partitions now",
    ),
    ("objects_per_day", "objects per batch × 86,400 s ÷ mean seconds between those batches"),
    ("cost_per_day", "objects per day ÷ 1000 × price per thousand write requests"),
];

/// What one batch wrote.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchWrites {
    /// Which batch.
    pub batch: BatchId,
    /// Files of the operator's stores that it wrote.
    pub files: u64,
    /// Seconds since the batch before it; `None` where that is not known.
    pub interval: Option<f64>,
}

/// What the consequences are computed from.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The count now.
    pub from: u32,
    /// The count in question.
    pub to: u32,
    /// Stores of the operator: 1, or 4 for a stream-stream join before join format 3.
    pub stores: u32,
    /// Nodes of the cluster, when they are told.
    pub nodes: Option<u32>,
    /// `RocksDB` memory of a node, when it is bounded and told.
    pub cap: Option<Bytes>,
    /// Price of a thousand write requests, in any currency.
    pub price_per_thousand: Option<f64>,
    /// The last batches.
    pub batches: &'a [BatchWrites],
}

/// A number now and at the other count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change<T> {
    /// At the present count.
    pub before: T,
    /// At the count in question.
    pub after: T,
}

/// What a count costs. What is not known is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Consequences {
    /// State-store instances of the operator.
    pub instances: Change<u64>,
    /// … on each node.
    pub instances_per_node: Option<Change<u64>>,
    /// `RocksDB` memory of a node at most, without bounded memory.
    pub memory_unbounded: Option<Change<Bytes>>,
    /// `RocksDB` memory of a node, with bounded memory: the cap.
    pub memory_bounded: Option<Bytes>,
    /// What each instance has of the cap.
    pub memory_bounded_per_instance: Option<Change<Bytes>>,
    /// Objects that a batch writes.
    pub objects_per_batch: Option<Change<f64>>,
    /// Objects written in a day.
    pub objects_per_day: Option<Change<f64>>,
    /// Their price.
    pub cost_per_day: Option<Change<f64>>,
    /// The batches that the objects were counted in.
    pub measured: Option<Measured>,
}

/// What the objects were measured by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Measured {
    /// The first batch.
    pub first: BatchId,
    /// The last batch.
    pub last: BatchId,
    /// How many.
    pub batches: u64,
    /// Files that they wrote.
    pub files: u64,
    /// Mean seconds between them; `None` where no interval is known.
    pub interval_seconds: Option<f64>,
}

impl Consequences {
    /// By the [`FORMULAS`].
    pub fn of(setting: &Setting<'_>) -> Self {
        let counts = Change { before: setting.from, after: setting.to };
        let instances = counts.map(|count| u64::from(count) * u64::from(setting.stores));
        let nodes = setting.nodes.filter(|nodes| *nodes > 0).map(u64::from);
        let per_node = nodes.map(|nodes| instances.map(|all| all.div_ceil(nodes)));
        let each = (WRITE_BUFFERS + BLOCK_CACHE).0;
        let measured = Measured::of(setting.batches);
        let per_batch = measured.filter(|_| setting.from > 0).map(|measured| {
            let each = float(measured.files) / float(measured.batches);
            counts.map(|count| each * f64::from(count) / f64::from(setting.from))
        });
        let per_day = measured
            .and_then(|measured| measured.interval_seconds)
            .filter(|seconds| *seconds > 0.0)
            .and_then(|seconds| per_batch.map(|objects| objects.map(|n| n * DAY / seconds)));
        Self {
            instances,
            instances_per_node: per_node,
            memory_unbounded: per_node.map(|n| n.map(|n| Bytes(n.saturating_mul(each)))),
            memory_bounded: setting.cap,
            memory_bounded_per_instance: per_node
                .zip(setting.cap)
                .map(|(n, Bytes(cap))| n.map(|n| Bytes(cap / n.max(1)))),
            objects_per_batch: per_batch,
            objects_per_day: per_day,
            cost_per_day: per_day
                .zip(setting.price_per_thousand)
                .map(|(objects, price)| objects.map(|n| n / 1000.0 * price)),
            measured,
        }
    }
}

impl Measured {
    fn of(batches: &[BatchWrites]) -> Option<Self> {
        let ids = || batches.iter().map(|batch| batch.batch);
        let intervals: Vec<f64> = batches
            .iter()
            .filter_map(|batch| batch.interval)
            .filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
            .collect();
        let known = intervals.len() as u64;
        Some(Self {
            first: ids().min()?,
            last: ids().max()?,
            batches: batches.len() as u64,
            files: batches.iter().fold(0, |sum, batch| sum.saturating_add(batch.files)),
            interval_seconds: (known > 0).then(|| intervals.iter().sum::<f64>() / float(known)),
        })
    }
}

impl<T: Copy> Change<T> {
    /// `f` of both.
    pub fn map<R>(self, f: impl Fn(T) -> R) -> Change<R> {
        Change { before: f(self.before), after: f(self.after) }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts beyond 2^53 lose digits no screen shows")]
fn float(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_by_its_formula() {
        let batch = |batch, files, interval| BatchWrites { batch: BatchId(batch), files, interval };
        let batches = [batch(7, 900, None), batch(8, 800, Some(10.0)), batch(9, 700, Some(30.0))];
        let setting = Setting {
            from: 200,
            to: 300,
            stores: 4,
            nodes: Some(7),
            cap: Some(Bytes(2_000_000_000)),
            price_per_thousand: Some(0.005),
            batches: &batches,
        };
        let all = Consequences::of(&setting);
        assert_eq!(all.instances, Change { before: 800, after: 1200 });
        // 800 / 7 = 114.3, 1200 / 7 = 171.4.
        assert_eq!(all.instances_per_node, Some(Change { before: 115, after: 172 }));
        // 136 MiB each.
        let bytes = |n: u64| Bytes(n * 136 * 1_048_576);
        assert_eq!(all.memory_unbounded, Some(Change { before: bytes(115), after: bytes(172) }));
        assert_eq!(
            all.memory_bounded_per_instance,
            Some(Change { before: Bytes(17_391_304), after: Bytes(11_627_906) })
        );
        // 2400 files in 3 batches, 20 s apart: 4320 batches a day.
        assert_eq!(all.objects_per_batch, Some(Change { before: 800.0, after: 1200.0 }));
        assert_eq!(all.objects_per_day, Some(Change { before: 3_456_000.0, after: 5_184_000.0 }));
        let cost = all.cost_per_day.unwrap();
        assert!((cost.before - 17.28).abs() < 1e-9 && (cost.after - 25.92).abs() < 1e-9);
    }

    #[test]
    fn what_is_not_told_is_not_guessed() {
        let setting = Setting {
            from: 200,
            to: 100,
            stores: 1,
            nodes: None,
            cap: None,
            price_per_thousand: None,
            batches: &[],
        };
        let all = Consequences::of(&setting);
        assert_eq!(all.instances, Change { before: 200, after: 100 });
        assert_eq!((all.instances_per_node, all.memory_unbounded), (None, None));
        assert_eq!((all.objects_per_batch, all.objects_per_day, all.measured), (None, None, None));
    }
}
