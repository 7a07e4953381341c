//! Hand-made reports, and a console driven without a terminal.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "tests and the benchmark each use a part of this"
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use statetop::analysis::{Distribution, Skew};
use statetop::console::asking::{Question, Reply};
use statetop::console::effect::Effect;
use statetop::console::look::{Charset, Level, Look, Theme};
use statetop::console::msg::{Key, Msg, Outcome, Size, Ticket};
use statetop::console::state::{Settings, State};
use statetop::console::{update, view};
use statetop::diagnosis::{Finding, FindingId, Severity};
use statetop::reader::{Depth, Mark, Observation};
use statetop::report::{
    ColumnFamilyReport, FamilyCount, Grade, HistoryEntry, InspectReport, OperatorPartitions,
    OperatorReport, PartitionReport, PartitionsReport, Provider, SourceReport, Status,
    StorePartitions, StoreReport, Total,
};
use statetop::units::{BatchId, Bytes, OperatorId, PartitionId, StateVersion, UnixMillis};

/// 2026-11-29 10:34:00 UTC.
pub const NOW: UnixMillis = UnixMillis(1_795_948_440_000);
pub const BATCH: u64 = 1841;

/// A store by the rows of its partitions.
#[derive(Debug, Clone)]
pub struct Store {
    pub operator: u32,
    pub operator_name: &'static str,
    pub name: &'static str,
    pub grade: Grade,
    pub rows: Vec<Option<u64>>,
    pub families: Vec<&'static str>,
}

/// A number that looks random and is the same on every run.
pub fn noise(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Around `mean` rows in each of `n` partitions, give or take a tenth.
pub fn even(n: u64, mean: u64, seed: u64) -> Vec<Option<u64>> {
    let spread = (mean / 5).max(1);
    (0..n).map(|i| Some(mean - spread / 2 + noise(seed ^ (i << 8)) % spread)).collect()
}

/// The same with one partition that dominates.
pub fn hot(n: u64, mean: u64, at: usize, times: u64) -> Vec<Option<u64>> {
    let mut rows = even(n, mean, 7);
    rows[at] = Some(mean * times + 13);
    rows
}

/// A join whose left side has a hot partition, and an even deduplication.
pub fn usual() -> Vec<Store> {
    vec![
        Store {
            operator: 0,
            operator_name: "symmetricHashJoin",
            name: "left-keyWithIndexToValue",
            grade: Grade::Exact,
            rows: hot(200, 4_000, 37, 11),
            families: vec!["default"],
        },
        Store {
            operator: 0,
            operator_name: "symmetricHashJoin",
            name: "right-keyWithIndexToValue",
            grade: Grade::Exact,
            rows: even(200, 507, 3),
            families: vec!["default"],
        },
        Store {
            operator: 1,
            operator_name: "dedupe",
            name: "default",
            grade: Grade::Snapshot,
            rows: even(200, 16_000, 5),
            families: vec!["default"],
        },
    ]
}

fn partition(store: &Store, id: u32, rows: Option<u64>, batch: u64) -> PartitionReport {
    let grade = if rows.is_some() { store.grade } else { Grade::Unknown };
    let changelogs = noise(u64::from(id)) % 4;
    let families = store.families.iter().enumerate().map(|(at, name)| {
        let internal = name.starts_with('_');
        let rows = rows.map(|rows| if at == 0 { rows } else { rows / 3 });
        let elements = rows.filter(|_| grade == Grade::Exact);
        ((*name).to_owned(), FamilyCount { internal, rows, elements })
    });
    PartitionReport {
        partition: PartitionId(id),
        rows,
        rows_grade: grade,
        families: families.collect(),
        bytes: Bytes(rows.unwrap_or(900).saturating_mul(105).saturating_add(2_300)),
        files: 4 + changelogs,
        snapshot_version: Some(StateVersion((batch + 1).saturating_sub(changelogs))),
        changelogs,
        oldest_version: Some(StateVersion((batch + 1).saturating_sub(100))),
        files_listed: 112,
        last_written: Some(UnixMillis(NOW.0 - 4_500)),
        last_changed: (grade == Grade::Exact).then_some(StateVersion(batch + 1)),
    }
}

fn spread(store: &Store, batch: u64) -> StorePartitions {
    let partitions: Vec<_> =
        (0..).zip(&store.rows).map(|(id, rows)| partition(store, id, *rows, batch)).collect();
    let rows = Distribution::of(partitions.iter().map(|p| (p.partition, p.rows)));
    let bytes = Distribution::of(partitions.iter().map(|p| (p.partition, Some(p.bytes.0))));
    StorePartitions {
        name: store.name.to_owned(),
        total: Total {
            rows: partitions.iter().try_fold(0_u64, |sum, p| Some(sum.saturating_add(p.rows?))),
            rows_grade: partitions.iter().map(|p| p.rows_grade).min().unwrap_or(Grade::Unknown),
            bytes: partitions.iter().map(|p| p.bytes).sum(),
            files: partitions.iter().map(|p| p.files).sum(),
        },
        skew: Skew { rows, bytes },
        partitions,
    }
}

/// The partitions report of `stores`.
pub fn partitions_report(stores: &[Store], batch: u64) -> PartitionsReport {
    let mut operators: Vec<OperatorPartitions> = Vec::new();
    for store in stores {
        let id = OperatorId(store.operator);
        if operators.last().is_none_or(|last| last.id != id) {
            let name = store.operator_name.to_owned();
            operators.push(OperatorPartitions { id, name, stores: Vec::new() });
        }
        operators.last_mut().unwrap().stores.push(spread(store, batch));
    }
    PartitionsReport {
        batch: Some(BatchId(batch)),
        version: Some(StateVersion(batch + 1)),
        operators,
        findings: Vec::new(),
    }
}

fn store_report(store: &Store, depth: Depth) -> StoreReport {
    let spread = spread(store, BATCH);
    let known = depth > Depth::Logs;
    let family = |name: &&str| ColumnFamilyReport {
        name: (*name).to_owned(),
        internal: name.starts_with('_'),
        key_encoder: None,
        key_schema: None,
        value_schema: None,
    };
    StoreReport {
        name: store.name.to_owned(),
        column_families: store.families.iter().map(family).collect(),
        partitions: u32::try_from(store.rows.len()).unwrap(),
        rows: spread.total.rows.filter(|_| known),
        rows_grade: if known { spread.total.rows_grade } else { Grade::Unknown },
        bytes: if known { spread.total.bytes } else { Bytes(0) },
        max_over_mean: spread.skew.rows.and_then(|rows| rows.max_over_mean).filter(|_| known),
        key_schema: None,
        value_schema: None,
    }
}

/// The overview report of `stores`.
pub fn inspect_report(stores: &[Store], batch: u64, depth: Depth) -> InspectReport {
    let mut operators: Vec<OperatorReport> = Vec::new();
    for store in stores {
        let id = OperatorId(store.operator);
        if operators.last().is_none_or(|last| last.id != id) {
            operators.push(OperatorReport {
                id,
                name: store.operator_name.to_owned(),
                name_inferred: false,
                stores: Vec::new(),
            });
        }
        operators.last_mut().unwrap().stores.push(store_report(store, depth));
    }
    let entry = |batch: u64, partitions: u32| HistoryEntry {
        batch: BatchId(batch),
        partitions: Some(partitions),
        repartition: false,
    };
    let count = stores.first().map_or(200, |store| u32::try_from(store.rows.len()).unwrap());
    InspectReport {
        checkpoint: "s3://ckpt/fraud_join".to_owned(),
        query_id: Some("10e204a2-1d1f-4c5a-9f5e-07e1f2d7c111".to_owned()),
        stateful: !stores.is_empty(),
        offset_log_version: Some(1),
        commit_log_version: Some(1),
        batch: Some(BatchId(batch)),
        last_planned_batch: Some(BatchId(batch)),
        last_committed_batch: Some(BatchId(batch)),
        last_commit_at: Some(UnixMillis(NOW.0 - 4_000)),
        last_plan_at: Some(UnixMillis(NOW.0 - 6_000)),
        status: Status::Committed,
        partitions: (!stores.is_empty()).then_some(count),
        partition_history: vec![entry(1790, 32), entry(1791, count), entry(batch, count)],
        provider: Some(Provider::Rocksdb),
        provider_class: Some(
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider".to_owned(),
        ),
        state_checkpoint_format: Some(1),
        changelog: Some(true),
        watermark: Some(UnixMillis(NOW.0 - 600_000)),
        batch_timestamp: Some(UnixMillis(NOW.0 - 6_000)),
        conf: BTreeMap::new(),
        sources: vec![SourceReport {
            id: "0".to_owned(),
            kind: "kafka".to_owned(),
            summary: "orders 12 partitions, next offsets 70,411..74,802".to_owned(),
            offset: None,
        }],
        operators,
        findings: Vec::new(),
    }
}

/// An observation of `stores` at `batch`.
pub fn observation(stores: &[Store], batch: u64, depth: Depth) -> Observation {
    let mut partitions = partitions_report(stores, batch);
    if depth == Depth::Logs {
        partitions.operators.clear();
    }
    Observation {
        inspect: Arc::new(inspect_report(stores, batch, depth)),
        partitions: Arc::new(partitions),
        batches: Arc::new([]),
        depth,
        observed_at: NOW,
        took_millis: 12,
    }
}

/// The same observation with another overview report.
pub fn with_inspect(
    mut observation: Observation,
    change: impl FnOnce(&mut InspectReport),
) -> Observation {
    let mut inspect = observation.inspect.as_ref().clone();
    change(&mut inspect);
    observation.inspect = Arc::new(inspect);
    observation
}

/// Three findings of the three severities.
pub fn findings() -> Vec<Finding> {
    vec![
        Finding {
            id: FindingId("missing-sst"),
            severity: Severity::Error,
            summary: "Partition 12 of op 0 left-keyWithIndexToValue cannot be loaded: 000017-4f0c.sst is missing".to_owned(),
            detail: "The snapshot of version 1838 names 7 SST files; 1 of them is not in the directory. \
                     Spark will fail when it loads this partition from this snapshot.".to_owned(),
            remedy: "Restore the file from a copy of the bucket, or go back to a batch whose snapshot is whole: 1830.".to_owned(),
            file: Some("state/0/12/left-keyWithIndexToValue/1838.zip".to_owned()),
        },
        Finding {
            id: FindingId("snapshot-lag"),
            severity: Severity::Warning,
            summary: "partition 101: the newest snapshot is 48 versions old".to_owned(),
            detail: "A restart replays 48 changelogs for it.".to_owned(),
            remedy: "Look whether maintenance runs on that executor.".to_owned(),
            file: None,
        },
        Finding {
            id: FindingId("ignored-count"),
            severity: Severity::Info,
            summary: "400 partitions are asked for by the session, 200 are in force".to_owned(),
            detail: "The count in the checkpoint wins.".to_owned(),
            remedy: "Resize if 400 is meant.".to_owned(),
            file: None,
        },
    ]
}

/// A console without a terminal: messages go in, effects and screens come out.
pub struct Console {
    pub state: State,
    pub effects: Vec<Effect>,
}

impl Console {
    pub fn new(width: u16, height: u16) -> Self {
        Self::with(Settings { refresh: 2_000, ..Settings::default() }, width, height)
    }

    pub fn with(settings: Settings, width: u16, height: u16) -> Self {
        let target = if settings.target.is_empty() {
            "s3://ckpt/fraud_join".to_owned()
        } else {
            settings.target
        };
        let settings = Settings { target, ..settings };
        let mut state = State::new(settings, Size { width, height }, NOW);
        let effects = update::start(&mut state);
        Self { state, effects }
    }

    pub fn send(&mut self, msg: Msg) -> &mut Self {
        let effects = update::update(&mut self.state, msg);
        self.effects.extend(effects);
        self
    }

    pub fn keys(&mut self, keys: &str) -> &mut Self {
        for c in keys.chars() {
            self.send(Msg::Key(match c {
                '\n' => Key::Enter,
                '\t' => Key::Tab,
                '\u{1b}' => Key::Esc,
                c => Key::Char(c),
            }));
        }
        self
    }

    pub fn after(&mut self, millis: i64) -> &mut Self {
        let now = UnixMillis(self.state.now.0 + millis);
        self.send(Msg::Now(now))
    }

    /// The newest read that was asked for.
    pub fn last_read(&self) -> Option<(Ticket, Depth)> {
        self.effects.iter().rev().find_map(|effect| match effect {
            Effect::Read(_, ticket, request) => Some((*ticket, request.depth)),
            _ => None,
        })
    }

    pub fn answer(&mut self, outcome: Outcome) -> &mut Self {
        let (ticket, _) = self.last_read().expect("a read was asked for");
        self.send(Msg::Read(ticket, Box::new(outcome)))
    }

    /// Answers reads as long as new ones are asked for.
    pub fn observe(&mut self, stores: &[Store], batch: u64) -> &mut Self {
        self.observe_with(stores, batch, |_| {})
    }

    pub fn observe_with(
        &mut self,
        stores: &[Store],
        batch: u64,
        change: impl Fn(&mut InspectReport),
    ) -> &mut Self {
        let mark = mark(batch);
        self.send(Msg::Marked(Ok(mark)));
        let mut answered = None;
        while let Some((ticket, depth)) = self.last_read() {
            if answered == Some(ticket) {
                break;
            }
            answered = Some(ticket);
            let observation = with_inspect(observation(stores, batch, depth), &change);
            self.answer(Outcome::Done(observation));
        }
        self
    }

    pub fn buffer(&self, look: &Look) -> Buffer {
        let Size { width, height } = self.state.size;
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        view::draw(&self.state, look, &mut buffer);
        buffer
    }

    pub fn screen(&self) -> String {
        text(&self.buffer(&look("default", Level::Ansi256, Charset::Utf8)))
    }
}

impl Console {
    /// The newest question that was asked.
    pub fn last_question(&self) -> Option<(Ticket, Question)> {
        self.effects.iter().rev().find_map(|effect| match effect {
            Effect::Ask(ticket, question) => Some((*ticket, question.as_ref().clone())),
            _ => None,
        })
    }

    /// Answers the newest question.
    pub fn reply(&mut self, reply: Reply) -> &mut Self {
        let (ticket, _) = self.last_question().expect("a question was asked");
        self.send(Msg::Answer(ticket, Box::new(reply)))
    }
}

pub fn mark(batch: u64) -> Mark {
    Mark { planned: Some(BatchId(batch)), committed: Some(BatchId(batch)) }
}

pub fn look(theme: &str, level: Level, charset: Charset) -> Look {
    Look::new(&Theme::built_in(theme).unwrap(), level, charset).unwrap()
}

/// The characters of a screen.
pub fn text(buffer: &Buffer) -> String {
    let area = buffer.area;
    let mut text = String::new();
    for y in 0..area.height {
        let mut line = String::new();
        let mut skip = 0;
        for x in 0..area.width {
            let symbol = buffer[(x, y)].symbol();
            if skip > 0 {
                skip -= 1;
                continue;
            }
            line.push_str(symbol);
            skip = unicode_width::UnicodeWidthStr::width(symbol).saturating_sub(1);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The look of tests that are about something else.
pub fn look_of_tests() -> Look {
    look("default", Level::Ansi256, Charset::Utf8)
}

/// 80x24.
pub fn console_size() -> Size {
    Size { width: 80, height: 24 }
}
