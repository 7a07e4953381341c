//! From a question about rows to its answer: what the lane of questions does.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::super::asking::{Question, Reply, RowsQuestion};
use super::super::page::RowsPage;
use super::super::state::{Basis, curve_counts};
use crate::preflight::Request;
use crate::reader::{Observe, OwnedHalf, OwnedRow, ReadError, ReadState, RowsRequest};
use crate::report::PreflightCheck;
use crate::state::row::filter::Parsed;
use crate::task::{Cancel, Progress};

/// Rows on a page.
const PAGE: usize = 1_000;
/// About the most bytes of rows on a page.
const PAGE_BYTES: usize = 32 << 20;

/// Asks a source.
pub(super) fn answer(
    source: &dyn Observe,
    question: &Question,
    cancel: &Cancel,
    tell: &(dyn Fn(Progress) + Sync),
    told: &dyn Fn(&PreflightCheck),
) -> Reply {
    let Some(state) = source.state() else {
        return Reply::Failed("only reports are to be had here, no rows".to_owned());
    };
    let reply = match question {
        Question::Keys(request) => {
            state.keys(request, cancel, tell).map(|report| Reply::Keys(Arc::new(report)))
        }
        Question::History(request) => {
            state.history(request, cancel, tell).map(|history| Reply::History(Arc::new(history)))
        }
        Question::Pauses(_) => {
            state.pauses(cancel, tell).map(|report| Reply::Pauses(Arc::new(report)))
        }
        Question::Preflight(asked) => {
            let request = Request { nodes: asked.nodes, ..Request::to(asked.to.into()) };
            let report = state.preflight(&request, cancel, tell, &mut |check| told(check));
            report.map(|report| Reply::Preflight(Arc::new(report)))
        }
        Question::Rows(question) => rows(state, question, cancel, tell),
        Question::Plan(request) => state.plan(request, cancel, tell).map(|plan| {
            let curve = plan.curve(&curve_counts(plan.from()));
            Reply::Plan(Basis { plan: Arc::new(plan), curve: curve.into() })
        }),
    };
    reply.unwrap_or_else(|error| match error {
        ReadError::Cancelled(_) => Reply::Cancelled,
        ReadError::BadCondition(why) => Reply::Refused(why),
        error => Reply::Failed(error.to_string()),
    })
}

fn rows(
    state: &dyn ReadState,
    question: &RowsQuestion,
    cancel: &Cancel,
    tell: &(dyn Fn(Progress) + Sync),
) -> Result<Reply, ReadError> {
    let RowsQuestion { batch, scope, condition } = question;
    let condition = match condition.as_str() {
        "" => None,
        text => Some(Parsed::of(text).map_err(|error| ReadError::BadCondition(error.to_string()))?),
    };
    let request = RowsRequest {
        batch: *batch,
        operator: Some(scope.operator),
        store: scope.store.clone(),
        partition: scope.partition,
        key: scope.key.clone(),
        condition,
        ..RowsRequest::default()
    };
    let (mut page, mut more) = (Vec::new(), false);
    let mut bytes = 0_usize;
    let summary = state.rows(&request, cancel, tell, &mut |row| {
        // One row more than is shown tells that there are more.
        if page.len() >= PAGE || bytes >= PAGE_BYTES {
            more = true;
            return ControlFlow::Break(());
        }
        let row = OwnedRow::of(row);
        bytes = bytes.saturating_add(weight(&row.key)).saturating_add(weight(&row.value));
        page.push(row);
        ControlFlow::Continue(())
    })?;
    Ok(Reply::Rows(Arc::new(RowsPage::new(page, more, summary))))
}

/// About as many bytes as a half takes.
fn weight(half: &OwnedHalf) -> usize {
    match half {
        OwnedHalf::Columns(columns) => {
            columns.iter().map(|(name, value)| name.len() + json_weight(value)).sum()
        }
        OwnedHalf::Single(value) => json_weight(value),
        OwnedHalf::Undecodable { reason, hex } => reason.len() + hex.len(),
        OwnedHalf::None => 0,
    }
}

fn json_weight(value: &serde_json::Value) -> usize {
    use serde_json::Value;
    // A value itself takes some 32 bytes, whatever is in it.
    32 + match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(json_weight).sum(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| name.len() + json_weight(value)).sum()
        }
        _ => 0,
    }
}
