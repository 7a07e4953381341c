use super::*;
use std::time::Duration;

use crate::cli::args::{OutputArgs, ScreenArgs};
use crate::cli::look::{ColorChoice, Paint};
use crate::console::Charset;
use crate::diagnosis::candidate::{Judgement, Reason};
use crate::report::{Grade, ScanObstacle, ScanReason, ScannedOperator, Unreadable, scan_words};
use crate::units::{BatchId, Bytes, OperatorId, PartitionId};

const LOOK: Look = Look { paint: Paint::Plain, charset: Charset::Utf8, columns: 80 };

fn checkpoint(path: &str, standing: Standing) -> ScannedCheckpoint {
    ScannedCheckpoint {
        path: path.to_owned(),
        name: None,
        query_id: Some("10e204a2-5a60-4c1b-8f1d-27d0a1f6a3c4".to_owned()),
        status: Status::Committed,
        operators: vec![ScannedOperator { id: OperatorId(0), name: "dedupe".to_owned() }],
        provider: Some(Provider::Rocksdb),
        partitions: Some(200),
        rows: Some(2_000_000),
        rows_grade: Grade::Snapshot,
        bytes: Bytes(100_000_000),
        rows_per_partition: Some(10_000.0),
        max_over_mean: Some(11.4),
        first_batch: Some(BatchId(1742)),
        last_batch: Some(BatchId(1841)),
        last_commit_at: Some(UnixMillis(1_796_034_840_000)),
        last_commit_age: Some(4000),
        batch_ms: Some(1_200),
        errors: 0,
        warnings: 1,
        standing,
        reasons: Vec::new(),
        obstacles: Vec::new(),
        judged: Judgement { standing, reasons: Vec::new(), obstacles: Vec::new() },
        findings: Vec::new(),
    }
}

fn report() -> ScanReport {
    let skewed =
        Reason::Skewed { operator: OperatorId(0), partition: PartitionId(37), max_over_mean: 11.4 };
    let mut gain = checkpoint("/data/a-team-with-a-long-name/fraud_join", Standing::Gain);
    gain.reasons =
        vec![ScanReason { kind: skewed.kind(), factor: skewed.factor(), text: skewed.sentence() }];
    let mut forbidden = checkpoint("/data/\u{1b}[2Jlegacy", Standing::Forbidden);
    forbidden.max_over_mean = None;
    forbidden.obstacles = vec![ScanObstacle { kind: "provider", text: String::new() }];
    ScanReport {
        roots: vec!["/data".to_owned()],
        extent: Extent::Complete,
        observed_at: UnixMillis(1_796_034_844_000),
        directories: 12,
        too_deep: 3,
        found: 4,
        checkpoints: vec![gain, forbidden, checkpoint("/data", Standing::Healthy)],
        unreadable: vec![Unreadable {
            path: "/data/locked".to_owned(),
            kind: UnreadableKind::Directory,
            reason: "permission denied".to_owned(),
        }],
    }
}

fn args() -> ScanArgs {
    ScanArgs {
        roots: vec!["/data".to_owned()],
        depth: 6,
        limit: None,
        wide: false,
        console: false,
        screen: ScreenArgs {
            refresh: Duration::from_secs(2),
            theme: None,
            ascii: false,
            no_memory: true,
        },
        output: OutputArgs { format: None, color: ColorChoice::Never },
    }
}

#[test]
fn a_page_fits_eighty_columns() {
    let page = page(&report(), &args(), LOOK);
    let expected = "\
/data
3 checkpoints: a resize may help 1; something forbids it for 1.

  path                     parts       rows   bytes  max÷mean  age  resize
  a-team-with…/fraud_join    200  2,000,000  100 MB    11.4 !  4 s  skewed
  \\u{1b}[2Jlegacy            200  2,000,000  100 MB         -  4 s  no: provider
  .                          200  2,000,000  100 MB      11.4  4 s  -

provider   the state store is not RocksDB
skewed     the largest partition has more than twice the mean; another count
           spreads it, unless a single key holds it

not read: 1
  /data/locked
    permission denied

3 directories lie deeper than --depth 6 and were not looked into.
";
    assert_eq!(page, expected);
}

#[test]
fn of_named_queries_one_sees_how_they_do() {
    let mut orders = checkpoint("/data/orders", Standing::Healthy);
    orders.name = Some("orders".to_owned());
    orders.errors = 2;
    let mut fraud = checkpoint("/data/fraud", Standing::Gain);
    fraud.name = Some("fraud-agg".to_owned());
    fraud.batch_ms = None;
    let lines = table::lines(&report(), &[orders, fraud], LOOK);
    assert_eq!(
        lines,
        [
            "  name       status     batch  age       rows  max÷mean  batch time  findings",
            "  orders     committed   1841  4 s  2,000,000      11.4       1.2 s  2 X 1 !",
            "  fraud-agg  committed   1841  4 s  2,000,000      11.4           -  1 !",
        ]
    );
}

#[test]
fn more_room_shows_more_columns_and_less_room_fewer() {
    let heading = |columns| {
        let lines = table::lines(&report(), &report().checkpoints, Look { columns, ..LOOK });
        lines.first().cloned().unwrap_or_default()
    };
    let words = |columns| heading(columns).split_whitespace().count();
    assert_eq!(words(usize::MAX), 17);
    assert!(words(120) > words(80) && words(80) > words(50));
    assert!(heading(40).contains("path") && heading(40).contains("resize"));
    for columns in [40, 60, 80, 100, 140, 200] {
        let lines = table::lines(&report(), &report().checkpoints, Look { columns, ..LOOK });
        assert!(lines.iter().all(|line| text::width(line) <= columns), "{columns}: {lines:#?}");
    }
}

#[test]
fn a_limit_says_of_how_many() {
    let limited = ScanArgs { limit: Some(1), ..args() };
    let page = page(&report(), &limited, LOOK);
    assert!(page.contains("The first 1 of 3.") && !page.contains("legacy"), "{page}");
}

#[test]
fn exit_codes_follow_what_was_read() {
    let sound = ScanReport { unreadable: Vec::new(), ..report() };
    assert_eq!(exit(&sound), Exit::Fine);
    assert_eq!(exit(&report()), Exit::Findings);
    let link = Unreadable { kind: UnreadableKind::Link, ..report().unreadable.remove(0) };
    assert_eq!(exit(&ScanReport { unreadable: vec![link], ..report() }), Exit::Fine);
    let mut broken = sound.clone();
    if let Some(one) = broken.checkpoints.first_mut() {
        one.errors = 1;
    }
    assert_eq!(exit(&broken), Exit::Findings);
    assert_eq!(exit(&ScanReport { extent: Extent::Cancelled, ..sound }), Exit::Signal(2));
}

#[test]
fn every_kind_has_a_word_and_a_meaning() {
    for (word, meaning) in scan_words::KINDS.map(word) {
        assert!(word.len() <= 10 && !meaning.is_empty(), "{word}");
    }
}
