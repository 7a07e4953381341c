//! Made-up keys, rows, histories and plans.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::json;
use statetop::analysis::consequences::BatchWrites;
use statetop::console::asking::{Question, Reply};
use statetop::console::page::RowsPage;
use statetop::console::state::{Basis, curve_counts};
use statetop::reader::{
    Change, Half, HistoryRequest, KeyChange, KeyHistory, KeysRequest, MadeUpPlan, MakeEncoder,
    OwnedHalf, OwnedRow, PlanBasis, PlanRequest, ReadError, ReadState, RowsRequest, RowsSummary,
    StateRow, VerifyRequest, Weighing, Whereabouts,
};
use statetop::report::{
    Grade, KeyOffers, KeyReport, KeysReport, Known, PausesReport, VerifyReport,
};
use statetop::state::row::types::{DataType, Field};
use statetop::state::row::value::Value;
use statetop::task::{Cancel, Progress};
use statetop::units::{BatchId, Bytes, OperatorId, PartitionId};

use crate::support::*;

/// One key of 29,288 rows in partition 37, and many light ones.
pub(crate) fn keys_report(request: &KeysRequest) -> KeysReport {
    let whole = request.by.is_empty();
    let by: Vec<String> =
        if whole { vec!["account_id".to_owned(), "window".to_owned()] } else { request.by.clone() };
    let hour = |n: u64| format!("2026-11-29T{:02}:00:00.000000Z", n % 24);
    let key_of = |n: u64| {
        let columns = by.iter().map(|name| {
            let value = match name.as_str() {
                "window" => json!({"start": hour(n), "end": hour(n + 1)}),
                _ => json!(format!("acct-{n}")),
            };
            (name.clone(), value)
        });
        serde_json::Value::Object(columns.collect())
    };
    let total: u64 = if request.partition.is_some() { 44_013 } else { 842_113 };
    let key = |n: u64, rows: u64| {
        let partition = PartitionId(if n == 7 { 37 } else { u32::try_from(n * 13 % 200).unwrap() });
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let share = |whole: u64| rows as f64 / whole as f64;
        KeyReport {
            key: key_of(n),
            rows,
            bytes: Bytes(rows * 105),
            weight: rows,
            error: 0,
            share: share(total),
            share_of_partition: (whole || n == 7).then(|| share(44_013)),
            partitions: vec![partition],
            more_partitions: !whole && n != 7,
        }
    };
    let mut keys = vec![key(7, 29_288)];
    keys.extend((0..30).filter(|n| *n != 7).map(|n| key(n, 900 - n * 17)));
    KeysReport {
        checkpoint: "s3://ckpt/fraud_join".to_owned(),
        batch: Some(BatchId(BATCH)),
        operator: request.operator.unwrap_or(OperatorId(0)),
        operator_name: "symmetricHashJoin".to_owned(),
        stores: usual()[..2].iter().map(|store| store.name.to_owned()).collect(),
        partitions: 200,
        partition: request.partition,
        by,
        whole_key: whole,
        weigh: request.weigh.name(),
        updates_of: (request.weigh == Weighing::Updates).then_some((BatchId(1742), BatchId(BATCH))),
        exact: true,
        error_bound: 0,
        total,
        total_rows: total,
        total_bytes: Bytes(total * 105),
        distinct: 4_012,
        distinct_is: Known::Exact,
        grade: Grade::Exact,
        partial: false,
        partitions_read: if request.partition.is_some() { 1 } else { 200 },
        unreadable: Vec::new(),
        keys,
        findings: Vec::new(),
        offers: KeyOffers {
            columns: vec!["account_id".to_owned(), "window".to_owned()],
            numbers: vec!["count".to_owned(), "sum".to_owned()],
        },
    }
}

fn columns(columns: &[(&str, serde_json::Value)]) -> OwnedHalf {
    OwnedHalf::Columns(
        columns.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
    )
}

/// Rows of one family, the third with a long note.
pub(crate) fn rows(number: u64) -> Vec<OwnedRow> {
    let row = |n: u64| {
        let note = match n {
            2 => "a text that is much longer than any cell, with  two blanks ".repeat(8),
            3 => "line\nbreak \u{1b}[31m".to_owned(),
            _ => format!("note {n}"),
        };
        OwnedRow {
            operator: OperatorId(0),
            store: "left-keyWithIndexToValue".to_owned(),
            family: "default".to_owned(),
            partition: PartitionId(37),
            key: columns(&[("account_id", json!("acct-7")), ("index", json!(n))]),
            value: columns(&[
                ("amount", json!(n * 1_117 % 9_973)),
                ("at", json!("2026-11-29T10:24:00.000000Z")),
                ("note", if n == 1 { json!(null) } else { json!(note) }),
                ("tags", json!(["a", {"b": n}])),
            ]),
        }
    };
    (0..number).map(row).collect()
}

/// Rows of several families, one of them not decoded.
pub(crate) fn mixed_rows() -> Vec<OwnedRow> {
    let mut all = rows(3);
    "counts".clone_into(&mut all[0].family);
    all[0].value = columns(&[("n", json!(3))]);
    "events".clone_into(&mut all[1].family);
    all[1].partition = PartitionId(5);
    all[1].value = OwnedHalf::Single(json!("x"));
    "events".clone_into(&mut all[2].family);
    all[2].value = OwnedHalf::Undecodable {
        reason: "17 bytes are no row: its size is a multiple of 8".to_owned(),
        hex: "00ff".repeat(40),
    };
    all
}

pub(crate) fn page(rows: Vec<OwnedRow>, more: bool) -> Reply {
    let summary = RowsSummary {
        batch: Some(BatchId(BATCH)),
        rows: rows.len() as u64,
        opened: 1,
        ..RowsSummary::default()
    };
    Reply::Rows(Arc::new(RowsPage::new(rows, more, summary)))
}

pub(crate) fn history() -> KeyHistory {
    let change = |batch, change, value| KeyChange { batch: BatchId(batch), change, value };
    KeyHistory {
        changes: vec![
            change(BATCH, Change::Put, columns(&[("amount", json!(12)), ("note", json!("new"))])),
            change(BATCH - 1, Change::Remove, OwnedHalf::None),
            change(
                BATCH - 9,
                Change::Put,
                columns(&[("amount", json!(7)), ("note", json!("old"))]),
            ),
        ],
        looked_at: Some((BatchId(BATCH - 19), BatchId(BATCH))),
        partial: false,
        findings: Vec::new(),
    }
}

/// 4,000 keys of about 200 rows, and one that is 40,000 of partition 37 at 200 partitions.
pub(crate) fn plan() -> PlanBasis {
    let light = (0..4_000_u64).map(|n| {
        let hash = u32::try_from(noise(n) >> 32).unwrap().cast_signed();
        let rows = 150 + noise(n + 77_000) % 100;
        (hash, rows, rows * 100)
    });
    let batch = |n| BatchWrites { batch: BatchId(n), files: 250, interval: Some(10.0) };
    PlanBasis::made_up(MadeUpPlan {
        operator_name: "symmetricHashJoin".to_owned(),
        from: 200,
        keys: light.chain([(37, 40_000, 4_000_000)]).collect(),
        names: vec![(37, json!({"account_id": "acct-7"}))],
        writes: (BATCH - 9..=BATCH).map(batch).collect(),
        partial: false,
    })
    .unwrap()
}

pub(crate) fn basis() -> Reply {
    let plan = plan();
    let curve = plan.curve(&curve_counts(plan.from())).into();
    Reply::Plan(Basis { plan: Arc::new(plan), curve })
}

impl Console {
    /// Answers questions as long as new ones are asked.
    pub(crate) fn answer_all(&mut self) -> &mut Self {
        let mut answered = None;
        while let Some((ticket, question)) = self.last_question() {
            if answered == Some(ticket) {
                break;
            }
            answered = Some(ticket);
            self.reply(match question {
                Question::Keys(request) => Reply::Keys(Arc::new(keys_report(&request))),
                Question::Rows(_) => page(rows(40), false),
                Question::History(_) => Reply::History(Arc::new(history())),
                Question::Plan(_) => basis(),
                Question::Pauses(_) => Reply::Pauses(Arc::new(crate::pauses::report(3))),
                Question::Preflight(asked) => {
                    let ready = statetop::report::PreflightOutcome::Ready;
                    Reply::Preflight(Arc::new(crate::diagnosis::report(ready, asked.to.into())))
                }
            });
        }
        self
    }
}

/// A source whose rows are made up, for the lane that asks.
pub(crate) struct MadeUpState;

impl ReadState for MadeUpState {
    fn rows(
        &self,
        request: &RowsRequest,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
        emit: &mut dyn FnMut(&StateRow<'_>) -> ControlFlow<()>,
    ) -> Result<RowsSummary, ReadError> {
        cancel.check()?;
        progress(Progress { done: 1, total: 1, rows: 3, ..Progress::default() });
        let fields = [Field { name: "n".to_owned(), data_type: DataType::Long }];
        let mut passed = 0;
        for n in 0..1_500 {
            let at = Whereabouts {
                partition: request.partition.unwrap_or_default(),
                operator: OperatorId(0),
                store: "default",
                family: "default",
            };
            let key = Half::Decoded(Value::Struct(&fields, vec![Value::Integer(n)]));
            passed += 1;
            if emit(&StateRow { at, change: None, key, value: Half::None }).is_break() {
                break;
            }
        }
        Ok(RowsSummary { rows: passed, ..RowsSummary::default() })
    }

    fn encoded_rows(
        &self,
        _: &RowsRequest,
        _: &Cancel,
        _: &(dyn Fn(Progress) + Sync),
        _: &MakeEncoder<'_>,
        _: &mut dyn FnMut(&[u8]) -> std::io::Result<()>,
    ) -> Result<RowsSummary, ReadError> {
        Ok(RowsSummary::default())
    }

    fn changes(
        &self,
        _: &RowsRequest,
        _: &Cancel,
        _: &(dyn Fn(Progress) + Sync),
        _: &mut dyn FnMut(&StateRow<'_>) -> ControlFlow<()>,
    ) -> Result<RowsSummary, ReadError> {
        Ok(RowsSummary::default())
    }

    fn history(
        &self,
        _: &HistoryRequest,
        _: &Cancel,
        _: &(dyn Fn(Progress) + Sync),
    ) -> Result<KeyHistory, ReadError> {
        Ok(history())
    }

    fn keys(
        &self,
        request: &KeysRequest,
        cancel: &Cancel,
        _: &(dyn Fn(Progress) + Sync),
    ) -> Result<KeysReport, ReadError> {
        match request.by.first() {
            Some(column) => Err(ReadError::BadCondition(format!("there is no column {column:?}"))),
            // Until it is given up.
            None if request.partition.is_none() => {
                while cancel.check().is_ok() {
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
                Ok(KeysReport { partial: true, ..keys_report(request) })
            }
            None => Ok(keys_report(request)),
        }
    }

    fn plan(
        &self,
        _: &PlanRequest,
        _: &Cancel,
        _: &(dyn Fn(Progress) + Sync),
    ) -> Result<PlanBasis, ReadError> {
        Ok(plan())
    }

    fn verify(
        &self,
        _: &VerifyRequest,
        _: &Cancel,
        _: &(dyn Fn(Progress) + Sync),
    ) -> Result<VerifyReport, ReadError> {
        Err(ReadError::Unreadable("made-up state is not verified".to_owned()))
    }

    fn preflight(
        &self,
        _: &statetop::preflight::Request,
        _: &Cancel,
        _: &(dyn Fn(Progress) + Sync),
        _: &mut dyn FnMut(&statetop::report::PreflightCheck),
    ) -> Result<statetop::report::PreflightReport, ReadError> {
        Err(ReadError::Unreadable("nothing is made up for it".to_owned()))
    }

    fn pauses(&self, _: &Cancel, _: &(dyn Fn(Progress) + Sync)) -> Result<PausesReport, ReadError> {
        Err(ReadError::Unreadable("made-up state was never resized".to_owned()))
    }
}
