//! Writes a recording.

use std::io::{self, Write};

use super::{Entry, Header, Texts, VERSION, mask};
use crate::telemetry::event::Event;
use crate::units::UnixMillis;

/// A recording that is being written.
#[derive(Debug)]
pub struct Recorder<W> {
    out: W,
    texts: Texts,
}

impl<W: Write> Recorder<W> {
    /// Begins a recording of sources with these names.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(
        mut out: W,
        sources: &[String],
        texts: Texts,
        begun: UnixMillis,
    ) -> io::Result<Self> {
        let header = Header {
            statetop_recording: VERSION,
            statetop: env!("CARGO_PKG_VERSION"),
            begun,
            sources: sources.iter().map(|name| mask::secrets(name)).collect(),
            text: texts,
        };
        line(&header, &mut out)?;
        Ok(Self { out, texts })
    }

    /// Adds an event, without what looks secret or personal.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, event: Event, heard: UnixMillis) -> io::Result<()> {
        let Event { place, kind } = event;
        let event = Entry {
            heard: Some(heard),
            source: mask::secrets(&place.source),
            line: place.line,
            statetop_event: mask::event(kind, self.texts),
        };
        line(&event, &mut self.out)
    }

    /// Writes out what waits, so that it is there whatever happens next.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// What it was written to.
    pub fn into_inner(self) -> W {
        self.out
    }
}

fn line(value: &impl serde::Serialize, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::telemetry::event::{
        Custom, EventKind, Lag, Measure, OperatorProgress, PartitionLabelled, PartitionLoad, Place,
        Progress, QueryRef, Rows, SinkProgress, SourceProgress, Started, TaskLoad, Teller,
        Watermark,
    };
    use crate::telemetry::text::TextReader;
    use crate::units::{BatchId, Bytes, OperatorId, PartitionId};

    fn written(events: Vec<Event>) -> Vec<u8> {
        let names = ["driver.log".to_owned()];
        let mut recorder =
            Recorder::begin(Vec::new(), &names, Texts::Masked, UnixMillis(5)).unwrap();
        for event in events {
            recorder.add(event, UnixMillis(6)).unwrap();
        }
        recorder.into_inner()
    }

    fn read(bytes: &[u8]) -> Vec<Event> {
        let mut reader = TextReader::new("a.recording".into());
        let mut events = reader.feed(bytes);
        events.extend(reader.finish());
        events
    }

    fn query() -> QueryRef {
        QueryRef { id: Some("q".into()), run: Some("r".into()), name: Some("fraud".into()) }
    }

    fn at(line: u64, kind: EventKind) -> Event {
        Event { place: Place { source: Arc::from("driver.log"), line: Some(line) }, kind }
    }

    /// An event with something in every field.
    fn progress() -> EventKind {
        let other = serde_json::Map::from_iter([("isNew".to_owned(), true.into())]);
        let operator = OperatorProgress {
            name: Some("stateStoreSave".to_owned()),
            rows: Rows::Known(7),
            updated: Some(1),
            removed: Some(2),
            dropped: Some(3),
            memory: Some(Bytes(4)),
            partitions: Some(5),
            instances: Some(5),
            update_ms: Some(6),
            removal_ms: Some(7),
            commit_ms: Some(8),
            custom: vec![Custom { name: "x".to_owned(), value: Some(Measure::Real(0.5)) }],
            labelled: vec![PartitionLabelled {
                name: "SnapshotLastUploaded".to_owned(),
                partition: PartitionId(3),
                store: "default".to_owned(),
                value: Some(Measure::Whole(-1)),
            }],
            other: other.clone(),
        };
        let source = SourceProgress {
            description: Some("KafkaV2[Subscribe[payments]]".to_owned()),
            start: Some(serde_json::json!({"payments": {"0": 5}})),
            end: Some(serde_json::json!({"payments": {"0": 9}})),
            latest: None,
            rows_in: Some(4),
            input_rate: Some(2.5),
            processed_rate: None,
            metrics: vec![("avgOffsetsBehindLatest".to_owned(), "0.0".into())],
            lag: Lag { offsets: Some(0), ..Lag::default() },
            other: other.clone(),
        };
        EventKind::Progress(Box::new(Progress {
            told_by: Teller::Query,
            query: query(),
            batch: Some(BatchId(3)),
            timestamp: Some(UnixMillis(1_000)),
            duration_ms: Some(70),
            phases: vec![("addBatch".to_owned(), 60)],
            rows_in: Some(4),
            input_rate: Some(2.5),
            processed_rate: Some(0.25),
            event_time: crate::telemetry::EventTime::default(),
            watermark: Watermark::At(UnixMillis(9)),
            operators: vec![operator],
            sources: vec![source],
            sink: Some(SinkProgress {
                description: Some("noop".to_owned()),
                rows_out: None,
                other: other.clone(),
            }),
            other,
        }))
    }

    fn load() -> EventKind {
        let task = TaskLoad {
            partition: PartitionId(1),
            arriving: Some(9),
            executor: Some("driver".into()),
            host: Some("host".into()),
            ..TaskLoad::default()
        };
        EventKind::PartitionLoad(Box::new(PartitionLoad {
            query: query(),
            batch: Some(BatchId(3)),
            operator: Some(OperatorId(0)),
            operator_name: Some("StateStoreSave".to_owned()),
            timestamp: Some(UnixMillis(1_060)),
            tasks: vec![task],
            expected: Some(2),
        }))
    }

    #[test]
    fn what_is_read_is_what_was_told_with_its_place() {
        let started = Started { query: query(), timestamp: None, checkpoint: Some("/c".into()) };
        let events = vec![
            at(1, EventKind::Started(started)),
            at(2, progress()),
            at(3, load()),
            at(4, EventKind::Interrupted("was rotated".to_owned())),
        ];
        let bytes = written(events.clone());
        assert!(super::super::begins(&bytes));
        let first = String::from_utf8(bytes.clone()).unwrap();
        let sources = super::super::sources(first.lines().next().unwrap());
        assert_eq!(sources, ["driver.log"]);
        assert_eq!(read(&bytes), events);
    }

    #[test]
    fn damage_is_told_with_its_line_and_the_rest_is_read() {
        let bytes = written(vec![at(2, progress()), at(3, load()), at(4, progress())]);
        let text = String::from_utf8(bytes).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let half = |line: &str| line.get(..line.len() / 2).unwrap().to_owned();
        for spoilt in [
            half(lines[2]),
            lines[2].replace("\"partition\":1", "\"partition\":\"one\""),
            lines[2].replace("partition_load", "partition_lood"),
        ] {
            let all = [lines[0], lines[1], &spoilt, lines[3]].join("\n");
            let events = read(all.as_bytes());
            let damage: Vec<_> = events
                .iter()
                .filter(|event| matches!(event.kind, EventKind::Unreadable(_)))
                .map(|event| (&*event.place.source, event.place.line))
                .collect();
            assert_eq!(damage, [("a.recording", Some(3))], "{events:?}");
            let told = |event: &&Event| matches!(event.kind, EventKind::Progress(_));
            assert_eq!(events.iter().filter(told).count(), 2);
        }
    }

    #[test]
    fn a_newer_form_is_said() {
        let events = read(b"{\"statetop_recording\":2}\n");
        let [Event { kind: EventKind::Unreadable(why), .. }] = events.as_slice() else {
            panic!("{events:?}")
        };
        assert!(why.contains("version 2: expected 1"), "{why}");
    }
}
