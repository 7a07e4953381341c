//! Several sources as one stream of events.

use std::fs;
use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use statetop::task::Cancel;
use statetop::telemetry::follow::Until;
use statetop::telemetry::source::Source;
use statetop::telemetry::stream::{Means, Span};
use statetop::telemetry::ui::Credentials;
use statetop::telemetry::{EventKind, stream};

use crate::sample;

const PATIENCE: Duration = Duration::from_secs(30);

fn source(path: &std::path::Path, until: Until) -> Source {
    Source::of(path.to_str().unwrap(), until).unwrap()
}

fn span(until: Until) -> Span {
    Span { until, since: None }
}

fn means(stdin: impl std::io::Read + Send + 'static) -> Means {
    Means { stdin: Box::new(stdin), credentials: Credentials::None }
}

#[test]
fn sources_are_read_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("driver.log");
    fs::write(&log, sample("driverlog-oss-4.2.1-query-made-progress-multiline.log")).unwrap();
    let packed = folder.path().join("driver.log.1.gz");
    let mut gzip = GzEncoder::new(fs::File::create(&packed).unwrap(), Compression::fast());
    gzip.write_all(&sample("progress-oss-3.5.8-rocksdb-agg.json")).unwrap();
    gzip.finish().unwrap();
    let stdin = Source::of("-", Until::End).unwrap();
    let sources = vec![source(&packed, Until::End), source(&log, Until::End), stdin];
    let input = std::io::Cursor::new(sample("progress-dbr-delta-idle-no-eventtime.json"));
    let events = stream::events(sources, span(Until::End), means(input), &Cancel::default());
    let batches: Vec<u64> = events
        .iter()
        .map(|event| match event.kind {
            EventKind::Progress(progress) => progress.batch.unwrap().0,
            other => panic!("a progress: {other:?}"),
        })
        .collect();
    assert_eq!(batches, [2, 6, 4]);
}

#[test]
fn a_log_is_followed_while_it_grows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("driver.log");
    let text = sample("driverlog-concurrent-stream-log-update-new-style.log");
    let (beginning, end) = text.split_at(text.len() / 2);
    let cancel = Cancel::default();
    let sources = vec![source(&path, Until::Cancelled)];
    let events = stream::events(sources, span(Until::Cancelled), means(std::io::empty()), &cancel);
    let waiting = events.recv_timeout(PATIENCE).unwrap();
    assert!(matches!(waiting.kind, EventKind::Interrupted(_)), "{waiting:?}");

    let mut file = fs::File::create(&path).unwrap();
    file.write_all(beginning).unwrap();
    file.write_all(end).unwrap();
    // No entry follows the stack trace; after a while none is waited for.
    let ended = events.recv_timeout(PATIENCE).unwrap();
    let EventKind::Terminated(ended) = ended.kind else { panic!("an end: {ended:?}") };
    assert_eq!(ended.class_in_text.as_deref(), Some("CONCURRENT_STREAM_LOG_UPDATE"));

    cancel.cancel();
    assert!(events.recv_timeout(PATIENCE).is_err(), "the stream ends soon");
}
