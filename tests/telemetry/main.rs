//! Sources of events as people have them, each with its right reading; see `samples/README.md`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod damaged;
mod logs;
mod progress;
mod streams;

use statetop::telemetry::text::TextReader;
use statetop::telemetry::{Event, EventKind, Progress, Terminated};

fn sample(name: &str) -> Vec<u8> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/telemetry/samples/");
    std::fs::read(format!("{directory}{name}")).unwrap()
}

/// The events of a source.
fn events(bytes: &[u8]) -> Vec<Event> {
    let mut reader = TextReader::new("sample".into());
    let mut events = reader.feed(bytes);
    events.extend(reader.finish());
    events
}

fn kinds(name: &str) -> Vec<EventKind> {
    events(&sample(name)).into_iter().map(|event| event.kind).collect()
}

/// The only progress in a sample.
fn progress(name: &str) -> Progress {
    match kinds(name).as_slice() {
        [EventKind::Progress(progress)] => progress.as_ref().clone(),
        other => panic!("one progress in {name}: {other:?}"),
    }
}

/// The ends of queries in a sample.
fn ends(name: &str) -> Vec<Terminated> {
    let ended = |kind| match kind {
        EventKind::Terminated(ended) => Some(ended),
        _ => None,
    };
    kinds(name).into_iter().filter_map(ended).collect()
}
