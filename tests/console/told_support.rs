//! A made-up running query.
#![allow(dead_code, reason = "tests and the benchmark each use a part of this")]

use serde_json::{Map, json};
use statetop::console::msg::Msg;
use statetop::console::state::Settings;
use statetop::report::{HistoryEntry, InspectReport};
use statetop::telemetry::attach::News;
use statetop::telemetry::{
    Custom, Event, EventKind, EventTime, Lag, Measure, OperatorProgress, PartitionLabelled,
    PartitionLoad, Place, Progress, QueryRef, Rows, SinkProgress, SourceProgress, Started,
    TaskLoad, Teller, Terminated, Watermark,
};
use statetop::units::{BatchId, Bytes, OperatorId, PartitionId, UnixMillis};

#[allow(clippy::wildcard_imports, reason = "the pieces that every test of screens is made of")]
use crate::support::*;

/// The id of the checkpoint in [`inspect_report`].
pub(crate) const QUERY: &str = "10e204a2-1d1f-4c5a-9f5e-07e1f2d7c111";
/// The batch that was a repartition: it reports nothing.
pub(crate) const REPARTITION: u64 = 1_791;
/// Milliseconds between two triggers.
const EVERY: u64 = 10_000;

pub(crate) fn query(run: &str) -> QueryRef {
    QueryRef { id: Some(QUERY.into()), run: Some(run.into()), name: Some("fraud_join".into()) }
}

pub(crate) fn event(kind: EventKind) -> Event {
    Event { place: Place { source: "/logs/app-1".into(), line: Some(7) }, kind }
}

/// When a batch began: the newest 6 seconds ago, the repartition and the restart took a minute.
pub(crate) fn began(batch: u64) -> UnixMillis {
    let behind = BATCH.cast_signed() - batch.cast_signed();
    let outage = if batch < REPARTITION { 60_000 } else { 0 };
    UnixMillis(NOW.0 - 6_000 - behind * EVERY.cast_signed() - outage)
}

fn run_of(batch: u64) -> &'static str {
    if batch < REPARTITION { "run-1" } else { "run-2" }
}

/// What the query reports of a batch.
pub(crate) fn progress(batch: u64) -> Progress {
    let random = |salt: u64, most: u64| noise(batch << 8 | salt) % most;
    let planning = if batch == REPARTITION + 1 { 3_400 } else { 60 + random(1, 40) };
    let slow = if batch == BATCH - 11 { 7_000 } else { 0 };
    let add = 800 + random(2, 500) + slow;
    let (latest, wal, commits) = (20 + random(3, 20), 40 + random(4, 30), 35 + random(5, 30));
    let took = add + planning + latest + wal + commits + 12;
    let rows = 7_000 + random(6, 3_000);
    let phases = [
        ("addBatch", add),
        ("commitOffsets", commits),
        ("getBatch", 1),
        ("latestOffset", latest),
        ("queryPlanning", planning),
        ("triggerExecution", took),
        ("walCommit", wal),
    ];
    let at = began(batch);
    #[expect(clippy::cast_precision_loss, reason = "small")]
    let rate = |rows: u64, millis: u64| Some(rows as f64 * 1_000.0 / millis as f64);
    Progress {
        told_by: Teller::Query,
        query: query(run_of(batch)),
        batch: Some(BatchId(batch)),
        timestamp: Some(at),
        duration_ms: Some(took),
        phases: phases.map(|(key, millis)| (key.to_owned(), millis)).into(),
        rows_in: Some(rows),
        input_rate: rate(rows, EVERY),
        processed_rate: rate(rows, took),
        event_time: EventTime {
            min: Some(UnixMillis(at.0 - 40_000)),
            avg: Some(UnixMillis(at.0 - 20_000)),
            max: Some(UnixMillis(at.0 - 1_000)),
        },
        watermark: Watermark::At(UnixMillis(at.0 - 601_000)),
        operators: vec![operator("symmetricHashJoin", batch), operator("dedupe", batch)],
        sources: vec![
            source("KafkaV2[Subscribe[orders]]", 900 + random(7, 400), rows / 2),
            source("KafkaV2[Subscribe[payments]]", 0, rows - rows / 2),
        ],
        sink: Some(SinkProgress {
            description: Some("DeltaSink[s3://bucket/out]".to_owned()),
            rows_out: None,
            other: Map::new(),
        }),
        other: Map::new(),
    }
}

fn operator(name: &str, batch: u64) -> OperatorProgress {
    let kept = 400_000 + (batch % 1_000) * 800;
    OperatorProgress {
        name: Some(name.to_owned()),
        rows: Rows::Known(kept),
        updated: Some(5_000),
        removed: Some(4_200),
        dropped: Some(if batch.is_multiple_of(17) { 34 } else { 0 }),
        memory: Some(Bytes(80_000_000 + batch * 100)),
        partitions: Some(200),
        instances: Some(800),
        update_ms: Some(9_000),
        removal_ms: Some(1_000),
        commit_ms: Some(15_000),
        custom: vec![Custom {
            name: "rocksdbGetCount".to_owned(),
            value: Some(Measure::Whole(10_000)),
        }],
        labelled: vec![PartitionLabelled {
            name: "SnapshotLastUploaded".to_owned(),
            partition: PartitionId(12),
            store: "default".to_owned(),
            value: Some(Measure::Whole(-1)),
        }],
        other: Map::new(),
    }
}

fn source(description: &str, behind: u64, rows: u64) -> SourceProgress {
    SourceProgress {
        description: Some(description.to_owned()),
        start: Some(json!({"orders": {"0": 1_200, "1": 1_188}})),
        end: Some(json!({"orders": {"0": 1_300, "1": 1_288}})),
        latest: None,
        rows_in: Some(rows),
        input_rate: None,
        processed_rate: None,
        metrics: vec![("maxOffsetsBehindLatest".to_owned(), json!("700"))],
        lag: Lag { offsets: Some(behind), worst: Some(behind / 2), bytes: None, files: None },
        other: Map::new(),
    }
}

/// What the tasks of the join did: partition 37 takes 22 % of the rows that arrive.
pub(crate) fn load(batch: u64, operator: u32, partitions: u32) -> PartitionLoad {
    let task = |partition: u32| {
        let hot = partition == 37 && operator == 0;
        let arriving = if hot { 2_200 } else { 39 + noise(u64::from(partition)) % 3 };
        TaskLoad {
            partition: PartitionId(partition),
            rows: Some(4_000),
            arriving: Some(arriving),
            task_ms: Some(if hot { 900 } else { 60 + noise(u64::from(partition)) % 30 }),
            commit_ms: Some(20 + noise(u64::from(partition)) % 10),
            memory: Some(Bytes(400_000 + noise(u64::from(partition)) % 9_000)),
            executor: Some((partition % 4).to_string().into()),
            host: Some("10.0.0.7".into()),
            loaded: Some(false),
            ..TaskLoad::default()
        }
    };
    PartitionLoad {
        query: query(run_of(batch)),
        batch: Some(BatchId(batch)),
        operator: Some(OperatorId(operator)),
        operator_name: Some("StreamingSymmetricHashJoin".to_owned()),
        timestamp: Some(began(batch)),
        tasks: (0..partitions).map(task).collect(),
        expected: Some(partitions),
    }
}

pub(crate) fn started(run: &str, at: UnixMillis) -> Event {
    event(EventKind::Started(Started { query: query(run), timestamp: Some(at), checkpoint: None }))
}

pub(crate) fn terminated(run: &str, exception: Option<&str>) -> Event {
    event(EventKind::Terminated(Terminated {
        query: query(run),
        timestamp: None,
        exception: exception.map(str::to_owned),
        error_class: None,
        class_in_text: exception.map(|_| "STATE_STORE_COMMIT_VALIDATION_FAILED".to_owned()),
    }))
}

pub(crate) fn reported(batch: u64) -> Event {
    event(EventKind::Progress(Box::new(progress(batch))))
}

/// Two runs with a repartition between them, up to the newest batch.
pub(crate) fn story() -> Vec<Event> {
    let mut events = vec![started("run-1", began(1_722))];
    events.extend((1_722..REPARTITION).map(reported));
    events.push(terminated("run-1", None));
    events.push(started("run-2", UnixMillis(began(REPARTITION + 1).0 - 3_000)));
    events.extend((REPARTITION + 1..=BATCH).map(reported));
    for batch in BATCH - 12..=BATCH {
        events.push(event(EventKind::PartitionLoad(Box::new(load(batch, 0, 200)))));
    }
    events
}

/// The checkpoint as it was when that query ran: the last hundred batches are retained.
pub(crate) fn retained(inspect: &mut InspectReport) {
    let entry = |batch: u64| HistoryEntry {
        batch: BatchId(batch),
        partitions: Some(if batch < REPARTITION { 32 } else { 200 }),
        repartition: batch == REPARTITION,
    };
    inspect.partition_history = (BATCH - 99..=BATCH).map(entry).collect();
}

/// A state whose store is even: only its traffic is hot.
pub(crate) fn even_state() -> Vec<Store> {
    let mut stores = usual();
    stores[0].rows = even(200, 4_000, 7);
    stores
}

impl Console {
    /// A console to which a source is attached, and a checkpoint that was read.
    pub(crate) fn attached(width: u16, height: u16) -> Self {
        let mut console = Self::attaching(width, height);
        console.observe_with(&even_state(), BATCH, retained);
        console
    }

    /// The same before anything is read.
    pub(crate) fn attaching(width: u16, height: u16) -> Self {
        let settings = Settings {
            refresh: 2_000,
            sources: vec!["/logs/app-1".to_owned()],
            operator: Some(OperatorId(0)),
            ..Settings::default()
        };
        Self::with(settings, width, height)
    }

    pub(crate) fn hear(&mut self, events: Vec<Event>) -> &mut Self {
        self.send(Msg::Told(0, News::Events(events)))
    }
}
