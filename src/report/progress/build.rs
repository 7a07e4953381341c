//! From events and seams to lines.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    ConfLine, EnvironmentLine, LagLine, LineKind, LoadLine, OperatorLine, ProgressLine,
    RepartitionLine, RepartitionWord, SinkLine, SourceLine, TellerWord,
};
use crate::figures::span;
use crate::telemetry::seams::{Resize, Seam};
use crate::telemetry::{
    Custom, Environment, Event, EventKind, Measure, OperatorProgress, PartitionLoad, Place,
    Progress, QueryRef, RepartitionNote, RepartitionStage, Rows, SinkProgress, SourceProgress,
    TaskLoad, Teller, Terminated, Watermark,
};
use crate::units::{OperatorId, UnixMillis};

impl ProgressLine {
    /// The line of an event.
    pub fn of_event(event: Event) -> Self {
        let Event { place, kind } = event;
        match kind {
            EventKind::Started(started) => Self {
                timestamp: started.timestamp,
                checkpoint: started.checkpoint,
                ..Self::new(LineKind::Started, &place).about(&started.query)
            },
            EventKind::Progress(progress) => Self::of_progress(*progress, &place),
            EventKind::Idle { query, timestamp } => {
                Self { timestamp, ..Self::new(LineKind::Idle, &place).about(&query) }
            }
            EventKind::Terminated(ended) => Self::of_end(ended, &place),
            EventKind::PartitionLoad(load) => Self::of_load(&load, &place),
            EventKind::Environment(environment) => {
                let query = environment.query.clone().unwrap_or_default();
                Self {
                    environment: Some(EnvironmentLine::of(*environment)),
                    ..Self::new(LineKind::Environment, &place).about(&query)
                }
            }
            EventKind::Repartition(note) => Self::of_repartition(note, &place),
            EventKind::ConfRestored(conf) => Self {
                timestamp: conf.timestamp,
                conf: Some(ConfLine { key: conf.key, asked: conf.asked, kept: conf.kept }),
                ..Self::new(LineKind::ConfRestored, &place).about(&conf.query)
            },
            EventKind::Interrupted(text) => {
                Self { text: Some(text), ..Self::new(LineKind::Interrupted, &place) }
            }
            EventKind::Unreadable(text) => {
                Self { text: Some(text), ..Self::new(LineKind::Unreadable, &place) }
            }
        }
    }

    /// The line of what lies before an event, as it stands in the line of the event.
    pub fn of_seam(seam: &Seam, next: &Self) -> Self {
        let place = Place { source: next.source.as_str().into(), line: next.source_line };
        let line = |kind| Self {
            query_id: next.query_id.clone(),
            run_id: next.run_id.clone(),
            name: next.name.clone(),
            timestamp: next.timestamp,
            text: Some(words(seam)),
            ..Self::new(kind, &place)
        };
        match seam {
            Seam::Restart { .. } => line(LineKind::Restart),
            Seam::Gap { first, last, resize } => Self {
                batch_id: Some(*first),
                last_batch_id: Some(*last),
                repartition: resize.map(RepartitionLine::seen),
                ..line(LineKind::Gap)
            },
            Seam::Resize { before, resize } => Self {
                batch_id: Some(*before),
                repartition: Some(RepartitionLine::seen(*resize)),
                ..line(LineKind::Repartition)
            },
        }
    }

    fn new(kind: LineKind, place: &Place) -> Self {
        Self {
            kind,
            told_by: None,
            query_id: None,
            run_id: None,
            name: None,
            batch_id: None,
            timestamp: None,
            rows_in: None,
            batch_duration_ms: None,
            duration_ms: Map::new(),
            input_rate: None,
            processed_rate: None,
            event_time_max: None,
            watermark: None,
            operators: Vec::new(),
            sources: Vec::new(),
            sink: None,
            partition_load: Vec::new(),
            exception: None,
            error_class: None,
            checkpoint: None,
            repartition: None,
            conf: None,
            environment: None,
            last_batch_id: None,
            text: None,
            source: place.source.as_ref().to_owned(),
            source_line: place.line,
        }
    }

    fn about(self, query: &QueryRef) -> Self {
        let text = |part: &Option<Arc<str>>| part.as_deref().map(str::to_owned);
        let (query_id, run_id, name) = (text(&query.id), text(&query.run), text(&query.name));
        Self { query_id, run_id, name, ..self }
    }

    fn of_progress(progress: Progress, place: &Place) -> Self {
        let phases = progress.phases.into_iter().map(|(name, millis)| (name, millis.into()));
        Self {
            told_by: Some(match progress.told_by {
                Teller::Query => TellerWord::Query,
                Teller::Plan => TellerWord::Plan,
            }),
            batch_id: progress.batch,
            timestamp: progress.timestamp,
            rows_in: progress.rows_in,
            batch_duration_ms: progress.duration_ms,
            duration_ms: phases.collect(),
            input_rate: progress.input_rate,
            processed_rate: progress.processed_rate,
            event_time_max: progress.event_time.max,
            watermark: match progress.watermark {
                Watermark::At(moment) => Some(moment),
                Watermark::NotSet => Some(UnixMillis(0)),
                Watermark::None => None,
            },
            operators: progress.operators.into_iter().map(OperatorLine::of).collect(),
            sources: progress.sources.into_iter().map(SourceLine::of).collect(),
            sink: progress.sink.map(SinkLine::of),
            ..Self::new(LineKind::Progress, place).about(&progress.query)
        }
    }

    fn of_end(ended: Terminated, place: &Place) -> Self {
        Self {
            timestamp: ended.timestamp,
            error_class: ended.class_in_text.or(ended.error_class),
            exception: ended.exception,
            ..Self::new(LineKind::Terminated, place).about(&ended.query)
        }
    }

    fn of_load(load: &PartitionLoad, place: &Place) -> Self {
        let tasks = load.tasks.iter().map(|task| LoadLine::of(load.operator, task));
        Self {
            batch_id: load.batch,
            timestamp: load.timestamp,
            partition_load: tasks.collect(),
            ..Self::new(LineKind::PartitionLoad, place).about(&load.query)
        }
    }

    fn of_repartition(note: RepartitionNote, place: &Place) -> Self {
        let to = Some(u64::from(note.partitions));
        let mut line = Self {
            batch_id: note.batch,
            timestamp: note.timestamp,
            checkpoint: note.checkpoint,
            ..Self::new(LineKind::Repartition, place)
        };
        let (stage, duration_ms) = match note.stage {
            RepartitionStage::Begun => (RepartitionWord::Begun, None),
            RepartitionStage::Planned => (RepartitionWord::Planned, None),
            RepartitionStage::Done { duration_ms } => (RepartitionWord::Done, duration_ms),
            RepartitionStage::Failed { exception, class_in_text } => {
                (line.exception, line.error_class) = (exception, class_in_text);
                (RepartitionWord::Failed, None)
            }
        };
        line.repartition = Some(RepartitionLine { stage, from: None, to, duration_ms });
        line
    }
}

impl OperatorLine {
    fn of(operator: OperatorProgress) -> Self {
        let (rows, rows_tracked) = match operator.rows {
            Rows::Known(rows) => (Some(rows), Some(true)),
            Rows::Untracked => (None, Some(false)),
            Rows::Unknown => (None, None),
        };
        let labelled = operator.labelled.into_iter().map(|metric| {
            let name = format!("{}.partition_{}_{}", metric.name, metric.partition, metric.store);
            (name, measure(metric.value))
        });
        let custom =
            operator.custom.into_iter().map(|Custom { name, value }| (name, measure(value)));
        Self {
            name: operator.name,
            rows,
            rows_known: rows.is_some(),
            rows_tracked,
            updated: operator.updated,
            removed: operator.removed,
            dropped: operator.dropped,
            memory_bytes: operator.memory,
            partitions: operator.partitions,
            custom: labelled.chain(custom).collect(),
        }
    }
}

fn measure(value: Option<Measure>) -> Value {
    match value {
        Some(Measure::Whole(number)) => number.into(),
        Some(Measure::Real(number)) => number.into(),
        None => Value::Null,
    }
}

impl SourceLine {
    fn of(source: SourceProgress) -> Self {
        let lag = source.lag;
        Self {
            description: source.description,
            start: source.start,
            end: source.end,
            latest: source.latest,
            rows_in: source.rows_in,
            lag: LagLine {
                offsets: lag.offsets,
                worst: lag.worst,
                bytes: lag.bytes,
                files: lag.files,
            },
        }
    }
}

impl SinkLine {
    fn of(sink: SinkProgress) -> Self {
        Self { description: sink.description, rows_out: sink.rows_out }
    }
}

impl LoadLine {
    fn of(operator: Option<OperatorId>, task: &TaskLoad) -> Self {
        Self {
            operator,
            partition: task.partition,
            rows: task.rows,
            updated: task.updated,
            removed: task.removed,
            memory_bytes: task.memory,
            arriving: task.arriving,
            task_ms: task.task_ms,
            commit_ms: task.commit_ms,
            executor: task.executor.as_deref().map(str::to_owned),
        }
    }
}

impl EnvironmentLine {
    fn of(environment: Environment) -> Self {
        let confs = environment.confs.into_iter().map(|(name, value)| (name, value.into()));
        Self {
            spark_version: environment.spark_version,
            application: environment.application,
            confs: confs.collect(),
        }
    }
}

impl RepartitionLine {
    fn seen(Resize { from, to, pause_ms }: Resize) -> Self {
        Self { stage: RepartitionWord::Seen, from, to, duration_ms: pause_ms }
    }
}

/// What a seam is, as a sentence.
fn words(seam: &Seam) -> String {
    match seam {
        Seam::Restart { from, to } => format!("restarted: run {to} after {from}"),
        Seam::Gap { first, last, resize: None } if first == last => {
            format!("batch {first} left no progress: a repartition, or lost")
        }
        Seam::Gap { first, last, resize: None } => {
            format!("batches {first} to {last} left no progress: lost, or a repartition among them")
        }
        Seam::Gap { first, last, resize: Some(resize) } if first == last => {
            format!("batch {first} left no progress: {}", resized(*resize))
        }
        Seam::Gap { first, last, resize: Some(resize) } => {
            format!("batches {first} to {last} left no progress: among them {}", resized(*resize))
        }
        Seam::Resize { before, resize } => format!("before batch {before}: {}", resized(*resize)),
    }
}

/// `a repartition from 5 to 8 partitions, which took 6.6 s`.
fn resized(Resize { from, to, pause_ms }: Resize) -> String {
    let counts = match (from, to) {
        (Some(from), Some(to)) if from != to => format!(" from {from} to {to} partitions"),
        (_, Some(to)) => format!(" to {to} partitions"),
        (_, None) => String::new(),
    };
    let took = pause_ms.map(|millis| format!(", which took {}", span(millis)));
    format!("a repartition{counts}{}", took.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::BatchId;

    #[test]
    fn seams_are_sentences() {
        let resize = Resize { from: Some(5), to: Some(8), pause_ms: Some(6642) };
        let gap = |last, resize| Seam::Gap { first: BatchId(9), last: BatchId(last), resize };
        for (seam, expected) in [
            (gap(9, None), "batch 9 left no progress: a repartition, or lost"),
            (gap(11, None), "batches 9 to 11 left no progress: lost, or a repartition among them"),
            (
                gap(9, Some(resize)),
                "batch 9 left no progress: a repartition from 5 to 8 partitions, which took 6.6 s",
            ),
            (
                Seam::Resize {
                    before: BatchId(10),
                    resize: Resize { from: None, to: Some(400), pause_ms: Some(43_912) },
                },
                "before batch 10: a repartition to 400 partitions, which took 43.9 s",
            ),
            (Seam::Restart { from: "a".into(), to: "b".into() }, "restarted: run b after a"),
        ] {
            assert_eq!(words(&seam), expected);
        }
    }
}
