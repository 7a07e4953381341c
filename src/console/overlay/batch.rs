//! A window with everything that is known of a batch.

use serde_json::{Map, Value};

use super::super::format;
use super::super::look::{Role, Symbols};
use super::super::state::State;
use super::super::text::{Row, head, width};
use super::{Content, labelled};
use crate::telemetry::timeline::Batch;
use crate::telemetry::{
    Measure, OperatorProgress, PartitionLoad, Progress, Rows, SourceProgress, TaskLoad, Teller,
    Watermark,
};
use crate::units::{BatchId, UnixMillis};

/// Characters of a value of unknown fields that are shown: the rest is for other tools.
const LONGEST: usize = 2_000;
/// Columns between a metric's name and its value.
const GAP: usize = 2;

/// Everything about the batch that is looked at.
pub(super) fn content(state: &State, columns: usize, symbols: &Symbols) -> Content {
    let Some(batch) = state.told_batch() else {
        let gone = Row::of("This batch is not remembered any more.", Role::Text);
        return Content { title: "batch".to_owned(), rows: vec![gone] };
    };
    let mut page = Page { rows: Vec::new(), columns };
    match batch.progress() {
        Some(progress) => page.progress(progress),
        None => page.numbers(batch),
    }
    for load in batch.loads() {
        page.load(load, symbols);
    }
    Content { title: format!("batch {}", batch.id), rows: page.rows }
}

/// What the task of one partition did in a batch.
pub(super) fn task(rows: &mut Vec<Row>, batch: BatchId, task: &TaskLoad, columns: usize) {
    let mut page = Page { rows: Vec::new(), columns };
    page.heading(&format!("Its task in batch {batch}"));
    page.known("took", task.task_ms.map(format::millis));
    page.known("rows arrived", task.arriving.map(format::count));
    page.known("bytes arrived", task.arriving_bytes.map(format::bytes));
    page.known("state rows", task.rows.map(format::count));
    page.known("put", task.updated.map(format::count));
    page.known("removed", task.removed.map(format::count));
    page.known("dropped", task.dropped.map(format::count));
    page.known("memory", task.memory.map(format::bytes));
    let times = [task.update_ms, task.removal_ms, task.commit_ms, task.gc_ms, task.fetch_wait_ms];
    for (label, millis) in
        ["updates", "removals", "commit", "gc", "fetch wait"].into_iter().zip(times)
    {
        page.known(label, millis.map(format::millis));
    }
    page.known("spilled", task.spilled.map(format::bytes));
    page.known("executor", task.executor.as_deref().map(str::to_owned));
    page.known("host", task.host.as_deref().map(str::to_owned));
    let loaded = |loaded| {
        if loaded { "from storage: it was not on the executor" } else { "no: it was there already" }
    };
    page.known("loaded", task.loaded.map(|was| loaded(was).to_owned()));
    rows.append(&mut page.rows);
}

struct Page {
    rows: Vec<Row>,
    columns: usize,
}

impl Page {
    fn heading(&mut self, text: &str) {
        if !self.rows.is_empty() {
            self.rows.push(Row::new());
        }
        self.rows.push(Row::of(text, Role::Strong));
    }

    fn line(&mut self, label: &str, text: &str) {
        labelled(&mut self.rows, label, Role::Muted, text, self.columns);
    }

    fn known(&mut self, label: &str, text: Option<String>) {
        if let Some(text) = text {
            self.line(label, &text);
        }
    }

    /// Names that are longer than the labels, each with its value.
    fn metrics(&mut self, metrics: &[(String, String)]) {
        let room = self.columns.saturating_sub(GAP + 12);
        let widest = metrics.iter().map(|(name, _)| width(name)).max().unwrap_or(0).min(room);
        for (name, value) in metrics {
            let mut row = Row::of(" ", Role::Text).with(head(name, room), Role::Muted);
            row.pad_to(1 + widest + GAP, Role::Text);
            self.rows.push(row.with(value, Role::Text));
        }
    }

    fn numbers(&mut self, batch: &Batch) {
        let numbers = &batch.numbers;
        self.line("kept", "only these numbers: the batch is too long ago for more");
        self.known("trigger", numbers.at.map(moment));
        self.known("took", numbers.took.map(format::millis));
        self.known("rows in", numbers.rows_in.map(format::count));
        self.known("dropped", numbers.dropped.map(format::count));
        self.known("memory", numbers.memory.map(format::bytes));
        self.line("state rows", &rows(numbers.state_rows));
        self.line("watermark", &watermark(numbers.watermark));
    }

    fn progress(&mut self, progress: &Progress) {
        match progress.told_by {
            Teller::Query => self.known("trigger", progress.timestamp.map(moment)),
            Teller::Plan => {
                self.line(
                    "told by",
                    "the Spark UI: how its plan ran, not what went before and after",
                );
                self.known("plan ran at", progress.timestamp.map(moment));
            }
        }
        self.known("took", progress.duration_ms.map(exactly));
        self.known("query", progress.query.id.as_deref().map(str::to_owned));
        self.known("run", progress.query.run.as_deref().map(str::to_owned));
        self.known("name", progress.query.name.as_deref().map(str::to_owned));
        self.known("rows in", progress.rows_in.map(format::count));
        self.known("rows/s in", progress.input_rate.map(format::rate));
        self.known("rows/s done", progress.processed_rate.map(format::rate));
        self.line("watermark", &watermark(progress.watermark));
        let times = [progress.event_time.min, progress.event_time.avg, progress.event_time.max];
        for (label, time) in ["events from", "events avg", "events to"].into_iter().zip(times) {
            self.known(label, time.map(moment));
        }
        self.heading("Phases");
        let phases = progress.phases.iter();
        let phases: Vec<_> = phases.map(|(key, millis)| (key.clone(), exactly(*millis))).collect();
        self.metrics(&phases);
        for (id, operator) in progress.operators.iter().enumerate() {
            self.operator(id, operator);
        }
        for source in &progress.sources {
            self.source(source);
        }
        if let Some(sink) = &progress.sink {
            self.heading("Sink");
            self.known("is", sink.description.clone());
            let rows_out = sink.rows_out.map_or_else(|| "not counted".to_owned(), format::count);
            self.line("rows out", &rows_out);
            self.other(&sink.other);
        }
        if !progress.other.is_empty() {
            self.heading("Other fields");
            self.other(&progress.other);
        }
    }

    fn operator(&mut self, id: usize, operator: &OperatorProgress) {
        let name = operator.name.as_deref().unwrap_or("without a name");
        self.heading(&format!("Operator {id} {name}"));
        self.line("rows", &rows(operator.rows));
        self.known("put", operator.updated.map(format::count));
        self.known("removed", operator.removed.map(format::count));
        self.known("dropped", operator.dropped.map(format::count));
        self.known("memory", operator.memory.map(format::bytes));
        self.known("partitions", operator.partitions.map(format::count));
        self.known("instances", operator.instances.map(format::count));
        let times = [operator.update_ms, operator.removal_ms, operator.commit_ms];
        for (label, millis) in ["updates", "removals", "commits"].into_iter().zip(times) {
            let over = |millis| format!("{}, summed over tasks", format::millis(millis));
            self.known(label, millis.map(over));
        }
        let metrics = operator.custom.iter();
        let metrics: Vec<_> =
            metrics.map(|metric| (metric.name.clone(), measure(metric.value))).collect();
        self.metrics(&metrics);
        let labelled = operator.labelled.iter().map(|metric| {
            let name = format!("{} of {} {}", metric.name, metric.partition, metric.store);
            (name, measure(metric.value))
        });
        let labelled: Vec<_> = labelled.collect();
        self.metrics(&labelled);
        self.other(&operator.other);
    }

    fn source(&mut self, source: &SourceProgress) {
        self.heading("Source");
        self.known("is", source.description.clone());
        self.known("rows in", source.rows_in.map(format::count));
        self.known("rows/s in", source.input_rate.map(format::rate));
        self.known("rows/s done", source.processed_rate.map(format::rate));
        self.known("behind", source.lag.offsets.map(|n| format!("{} offsets", format::count(n))));
        self.known("at worst", source.lag.worst.map(|n| format!("{} offsets", format::count(n))));
        self.known("behind", source.lag.bytes.map(|n| format::bytes(crate::units::Bytes(n))));
        self.known("behind", source.lag.files.map(|n| format::plural(n, "file", "files")));
        let offsets = [&source.start, &source.end, &source.latest];
        for (label, offset) in ["from", "to", "latest"].into_iter().zip(offsets) {
            self.known(label, offset.as_ref().map(json));
        }
        let metrics = source.metrics.iter();
        let metrics: Vec<_> = metrics.map(|(name, value)| (name.clone(), json(value))).collect();
        self.metrics(&metrics);
        self.other(&source.other);
    }

    fn other(&mut self, fields: &Map<String, Value>) {
        for (name, value) in fields {
            let line = format!("{name} = {}", json(value));
            self.line("", &line);
        }
    }

    /// Who had the most to do.
    fn load(&mut self, load: &PartitionLoad, symbols: &Symbols) {
        let name = load.operator_name.as_deref().unwrap_or("an operator");
        let id = load.operator.map_or_else(String::new, |id| format!(" {id}"));
        self.heading(&format!("Tasks of operator{id} {name}"));
        let tasks = load.tasks.len() as u64;
        let of = match load.expected {
            Some(expected) if u64::from(expected) > tasks => {
                format!("{} of {expected} known", format::count(tasks))
            }
            _ => format::count(tasks),
        };
        self.line("tasks", &of);
        let measures: [(&str, Of, Words); 5] = [
            ("rows arrived", |task| task.arriving, format::count),
            ("task time", |task| task.task_ms, format::millis),
            ("commit time", |task| task.commit_ms, format::millis),
            ("gc", |task| task.gc_ms, format::millis),
            (
                "memory",
                |task| task.memory.map(|bytes| bytes.0),
                |n| format::bytes(crate::units::Bytes(n)),
            ),
        ];
        for (label, of, words) in measures {
            let values = load.tasks.iter().filter_map(|task| Some((task.partition, of(task)?)));
            let Some(values) = Largest::of(values) else { continue };
            let text = format!(
                "{} in all; the most, {}, in partition {}: {} {} the mean",
                words(values.total),
                words(values.most),
                values.partition,
                format::ratio(values.ratio),
                symbols.times
            );
            self.line(label, &text);
        }
    }
}

/// A measure of a task.
type Of = fn(&TaskLoad) -> Option<u64>;
/// How a measure is told.
type Words = fn(u64) -> String;

/// The largest of some values, and their sum.
struct Largest {
    total: u64,
    most: u64,
    partition: crate::units::PartitionId,
    ratio: f64,
}

impl Largest {
    fn of(values: impl Iterator<Item = (crate::units::PartitionId, u64)>) -> Option<Self> {
        let all = crate::analysis::Distribution::of(values.map(|(id, value)| (id, Some(value))))?;
        let largest = all.largest.first()?;
        Some(Self {
            total: all.total,
            most: all.max,
            partition: largest.partition,
            ratio: all.max_over_mean?,
        })
    }
}

fn moment(time: UnixMillis) -> String {
    format!("{} UTC", format::moment(time))
}

/// Milliseconds, and in words where those are shorter.
fn exactly(millis: u64) -> String {
    let ms = format!("{} ms", format::count(millis));
    if millis < 1_000 { ms } else { format!("{ms} ({})", format::millis(millis)) }
}

fn rows(rows: Rows) -> String {
    match rows {
        Rows::Known(rows) => format::count(rows),
        Rows::Untracked => "not tracked: rocksdb.trackTotalNumberOfRows is off".to_owned(),
        Rows::Unknown => "not told".to_owned(),
    }
}

fn watermark(watermark: Watermark) -> String {
    match watermark {
        Watermark::At(at) => moment(at),
        Watermark::NotSet => "not set yet".to_owned(),
        Watermark::None => "none, or not told".to_owned(),
    }
}

fn measure(value: Option<Measure>) -> String {
    match value {
        Some(Measure::Whole(number)) => number.to_string(),
        Some(Measure::Real(number)) => format!("{number}"),
        None => "no number".to_owned(),
    }
}

fn json(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{} and so on", text.get(..at).unwrap_or_default()),
        None => text,
    }
}
