//! A made-up source, so that pages can be compared to the letter without a checkpoint.

use std::collections::BTreeMap;
use std::sync::Arc;

use statetop::analysis::{Distribution, Skew};
use statetop::diagnosis::{Finding, FindingId, Severity};
use statetop::reader::{Depth, Mark, Observation, Observe, ReadError, Request};
use statetop::report::{
    ColumnFamilyReport, FamilyCount, Grade, HistoryEntry, InspectReport, OperatorPartitions,
    OperatorReport, PartitionReport, PartitionsReport, Provider, SourceReport, Status,
    StorePartitions, StoreReport, Total,
};
use statetop::task::{Cancel, Progress};
use statetop::units::{BatchId, Bytes, OperatorId, PartitionId, StateVersion, UnixMillis};

/// 2026-11-30T10:34:04Z.
pub(crate) const NOW: UnixMillis = UnixMillis(1_796_034_844_000);

/// A query as a test wants it.
#[derive(Debug, Clone)]
pub(crate) struct Fake {
    pub(crate) inspect: InspectReport,
    pub(crate) partitions: PartitionsReport,
}

impl Observe for Fake {
    fn name(&self) -> &str {
        &self.inspect.checkpoint
    }

    fn mark(&self) -> Result<Mark, ReadError> {
        let (planned, committed) =
            (self.inspect.last_planned_batch, self.inspect.last_committed_batch);
        Ok(Mark { planned, committed })
    }

    fn observe(
        &self,
        request: &Request,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Observation, ReadError> {
        cancel.check()?;
        progress(Progress { done: 1, total: 2, rows: 3, ..Progress::default() });
        if let Some(batch) = request.batch.filter(|batch| batch.0 > 1841) {
            let message = format!("there is no batch {batch}; batches 1742 to 1841 are retained");
            return Err(ReadError::NoSuchBatch(message));
        }
        if let Some(wanted) = request.operator.filter(|id| id.0 > 1) {
            return Err(ReadError::NoSuchStore(format!("there is no operator {wanted}")));
        }
        let mut seen = self.clone();
        if let Some(batch) = request.batch {
            seen.inspect.batch = Some(batch);
            seen.partitions.batch = Some(batch);
            seen.partitions.version = Some(batch.version());
        }
        if request.depth == Depth::Logs {
            seen.partitions.operators.clear();
        }
        seen.partitions.operators.retain(|op| request.operator.is_none_or(|id| op.id == id));
        for operator in &mut seen.partitions.operators {
            operator.stores.retain(|s| request.store.as_ref().is_none_or(|name| s.name == *name));
        }
        if request.depth == Depth::Exact {
            seen.make_exact();
        }
        Ok(Observation {
            inspect: Arc::new(seen.inspect),
            partitions: Arc::new(seen.partitions),
            batches: Arc::new([]),
            depth: request.depth,
            observed_at: NOW,
            took_millis: 12,
        })
    }
}

impl Fake {
    /// The fraud-join of the design: a join with one hot partition beside a deduplication.
    pub(crate) fn fraud_join() -> Self {
        let left: Vec<u64> =
            (0..40).map(|p| if p == 37 { 48_013 } else { 4000 + p * 7 % 90 }).collect();
        let right: Vec<u64> = (0..40).map(|p| 500 + p * 13 % 30).collect();
        let dedupe: Vec<u64> = (0..40).map(|p| 80_000 + p * 101 % 700).collect();
        let join = vec![
            store("left-keyWithIndexToValue", &left),
            store("right-keyWithIndexToValue", &right),
        ];
        let mut fake = Self::of(vec![
            (0, "symmetricHashJoin", join),
            (1, "dedupe", vec![store("default", &dedupe)]),
        ]);
        fake.inspect.findings = vec![finding(Severity::Warning, "snapshot-lag", None)];
        fake
    }

    /// The same with a broken partition.
    pub(crate) fn broken() -> Self {
        let mut fake = Self::fraud_join();
        let file = Some("state/1/12/1839.zip".to_owned());
        fake.partitions.findings = vec![finding(Severity::Error, "missing-sst", file)];
        if let Some(store) = fake.store_mut(1) {
            store.partitions[12].rows = None;
            store.partitions[12].rows_grade = Grade::Unknown;
        }
        fake.sum_up();
        fake
    }

    /// A transformWithState query with families, in which every name is hostile.
    pub(crate) fn hostile() -> Self {
        let mut store = store("de\u{1b}[31mfault", &[20, 0, 3]);
        for partition in &mut store.partitions {
            let rows = partition.rows;
            partition.families = BTreeMap::from([
                (
                    "items\u{1b}]0;owned\u{7}".to_owned(),
                    FamilyCount { internal: false, rows, elements: rows.map(|n| n * 3) },
                ),
                (
                    "$timers\u{9b}2J".to_owned(),
                    FamilyCount { internal: true, rows: Some(1), elements: None },
                ),
            ]);
        }
        let mut fake = Self::of(vec![(0, "transform\u{202e}WithState\r", vec![store])]);
        fake.inspect.checkpoint = String::from("/data/\u{1b}[2Jckpt");
        fake.inspect.query_id = Some("id\u{1b}[0m\n".to_owned());
        fake.inspect.sources[0].summary = String::from("topic\u{1b}[5m");
        fake.inspect.conf.insert("spark.sql.\u{1b}x".to_owned(), "\u{7f}".to_owned());
        fake.inspect.findings = vec![Finding {
            id: FindingId("odd-name"),
            severity: Severity::Warning,
            summary: "a name\u{1b}[1A with control characters".to_owned(),
            detail: "\u{1b}".to_owned(),
            remedy: "look\u{8} at it".to_owned(),
            file: Some("state/0/\u{1b}c".to_owned()),
        }];
        fake
    }

    fn of(operators: Vec<(u32, &str, Vec<StorePartitions>)>) -> Self {
        let partitions = PartitionsReport {
            batch: Some(BatchId(1841)),
            version: Some(StateVersion(1842)),
            operators: operators
                .into_iter()
                .map(|(id, name, stores)| OperatorPartitions {
                    id: OperatorId(id),
                    name: name.to_owned(),
                    stores,
                })
                .collect(),
            findings: Vec::new(),
        };
        let mut fake = Self { inspect: overview(), partitions };
        fake.sum_up();
        fake
    }

    fn store_mut(&mut self, operator: usize) -> Option<&mut StorePartitions> {
        self.partitions.operators.get_mut(operator)?.stores.first_mut()
    }

    fn make_exact(&mut self) {
        for operator in &mut self.partitions.operators {
            for partition in operator.stores.iter_mut().flat_map(|store| &mut store.partitions) {
                if partition.rows.is_some() {
                    partition.rows_grade = Grade::Exact;
                    partition.last_changed = Some(StateVersion(1842));
                }
            }
        }
        self.sum_up();
    }

    /// Makes totals, skew and overview agree with the partitions.
    fn sum_up(&mut self) {
        for store in self.partitions.operators.iter_mut().flat_map(|op| &mut op.stores) {
            store.total.rows = store.partitions.iter().map(|p| p.rows).sum();
            store.total.rows_grade =
                store.partitions.iter().map(|p| p.rows_grade).min().unwrap_or(Grade::Unknown);
            store.skew = Skew {
                rows: Distribution::of(store.partitions.iter().map(|p| (p.partition, p.rows))),
                bytes: Distribution::of(
                    store.partitions.iter().map(|p| (p.partition, Some(p.bytes.0))),
                ),
            };
        }
        self.inspect.operators = self.partitions.operators.iter().map(operator).collect();
    }
}

fn operator(of: &OperatorPartitions) -> OperatorReport {
    OperatorReport {
        id: of.id,
        name: of.name.clone(),
        name_inferred: false,
        stores: of
            .stores
            .iter()
            .map(|store| StoreReport {
                name: store.name.clone(),
                column_families: vec![ColumnFamilyReport {
                    name: "default".to_owned(),
                    internal: false,
                    key_encoder: Some("NoPrefixKeyStateEncoderSpec".to_owned()),
                    key_schema: None,
                    value_schema: None,
                }],
                partitions: u32::try_from(store.partitions.len()).unwrap_or(0),
                rows: store.total.rows,
                rows_grade: store.total.rows_grade,
                bytes: store.total.bytes,
                max_over_mean: store.skew.rows.as_ref().and_then(|rows| rows.max_over_mean),
                key_schema: None,
                value_schema: None,
            })
            .collect(),
    }
}

fn store(name: &str, rows: &[u64]) -> StorePartitions {
    let partitions: Vec<PartitionReport> =
        (0..).zip(rows).map(|(p, rows)| partition(p, *rows)).collect();
    let bytes = partitions.iter().map(|p| p.bytes).sum();
    let files = partitions.iter().map(|p| p.files).sum();
    let total = Total { rows: None, rows_grade: Grade::Unknown, bytes, files };
    StorePartitions {
        name: name.to_owned(),
        total,
        skew: Skew { rows: None, bytes: None },
        partitions,
    }
}

fn partition(id: u32, rows: u64) -> PartitionReport {
    let changelogs = u64::from(id % 4);
    PartitionReport {
        partition: PartitionId(id),
        rows: Some(rows),
        rows_grade: Grade::Snapshot,
        families: BTreeMap::from([(
            "default".to_owned(),
            FamilyCount { internal: false, rows: Some(rows), elements: None },
        )]),
        bytes: Bytes(rows * 107 + 4096),
        files: 4 + changelogs,
        snapshot_version: Some(StateVersion(1842 - changelogs)),
        changelogs,
        oldest_version: Some(StateVersion(1740)),
        files_listed: 112,
        last_written: Some(UnixMillis(NOW.0 - 4000)),
        last_changed: None,
    }
}

fn overview() -> InspectReport {
    let entry = |batch, partitions, repartition| HistoryEntry {
        batch: BatchId(batch),
        partitions: Some(partitions),
        repartition,
    };
    InspectReport {
        checkpoint: "/data/ckpt/fraud_join".to_owned(),
        query_id: Some("10e204a2-6a1c-4f0b-9a3e-0c7de1b2a1f4".to_owned()),
        stateful: true,
        offset_log_version: Some(1),
        commit_log_version: Some(1),
        batch: Some(BatchId(1841)),
        last_planned_batch: Some(BatchId(1842)),
        last_committed_batch: Some(BatchId(1841)),
        last_commit_at: Some(UnixMillis(NOW.0 - 4000)),
        last_plan_at: Some(UnixMillis(NOW.0 - 1000)),
        status: Status::Pending,
        partitions: Some(40),
        partition_history: vec![
            entry(1742, 16, false),
            entry(1743, 16, false),
            entry(1744, 40, true),
            entry(1745, 40, false),
        ],
        provider: Some(Provider::Rocksdb),
        provider_class: Some(
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider".to_owned(),
        ),
        state_checkpoint_format: Some(1),
        changelog: Some(true),
        watermark: Some(UnixMillis(NOW.0 - 604_000)),
        batch_timestamp: Some(UnixMillis(NOW.0 - 6000)),
        conf: BTreeMap::from([("spark.sql.shuffle.partitions".to_owned(), "40".to_owned())]),
        sources: vec![SourceReport {
            id: "0".to_owned(),
            kind: "kafka".to_owned(),
            summary: "orders 12 partitions, next offsets 7..45".to_owned(),
            offset: Some(serde_json::json!({"orders": {"0": 7, "1": 45}})),
        }],
        operators: Vec::new(),
        findings: Vec::new(),
    }
}

fn finding(severity: Severity, id: &'static str, file: Option<String>) -> Finding {
    let (summary, remedy) = match id {
        "missing-sst" => (
            "partition 12 of operator 1 cannot be read: 000017.sst is missing",
            "Restore the file from a backup of the checkpoint; without it the query fails at the next batch that touches this partition, and only a new checkpoint helps.",
        ),
        _ => (
            "the last snapshot of partition 12 is 48 versions old",
            "A restart replays the changelogs since: look at the maintenance task of that executor.",
        ),
    };
    Finding {
        id: FindingId(id),
        severity,
        summary: summary.to_owned(),
        detail: "Expected what the newest snapshot names; found less.".to_owned(),
        remedy: remedy.to_owned(),
        file,
    }
}
