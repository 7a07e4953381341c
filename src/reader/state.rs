//! The doors to rows, keys, plans and verification of one checkpoint.

use std::io;
use std::ops::ControlFlow;

use super::checkpoint::CheckpointReader;
use super::opened::Opened;
use super::session::Wanted;
use super::{
    Depth, HistoryRequest, KeyHistory, KeysRequest, MakeEncoder, Observe, PlanBasis, PlanRequest,
    PreflightRequest, ReadError, ReadState, Request, RowsRequest, RowsSummary, StateRow,
    VerifyRequest, changes, history, keys, pauses, plan, preflight, rows, verify,
};
use crate::diagnosis::Finding;
use crate::report::{KeysReport, PausesReport, PreflightCheck, PreflightReport, VerifyReport};
use crate::state::store::{Counter, Run};
use crate::task::{Cancel, Progress};
use crate::units::{BatchId, OperatorId};

impl CheckpointReader {
    fn opened(
        &self,
        batch: Option<BatchId>,
        operator: Option<OperatorId>,
        store: Option<&str>,
        cancel: &Cancel,
    ) -> Result<Opened, ReadError> {
        let checkpoint = self.load(cancel)?;
        Opened::new(&self.storage, checkpoint, batch, Wanted { operator, store })
    }
}

/// Tells how far a reading is, from the partitions done and what the counter has.
fn teller<'a>(
    counter: &'a Counter,
    progress: &'a (dyn Fn(Progress) + Sync),
) -> impl Fn(u64, u64) + Sync + 'a {
    move |done, total| {
        progress(Progress { done, total, rows: counter.rows(), bytes: counter.bytes() });
    }
}

impl ReadState for CheckpointReader {
    fn rows(
        &self,
        request: &RowsRequest,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
        emit: &mut dyn FnMut(&StateRow<'_>) -> ControlFlow<()>,
    ) -> Result<RowsSummary, ReadError> {
        let opened =
            self.opened(request.batch, request.operator, request.store.as_deref(), cancel)?;
        let counter = Counter::default();
        let run = Run { cancel, counter: &counter };
        rows::each(&opened, request, run, &teller(&counter, progress), emit)
    }

    fn encoded_rows(
        &self,
        request: &RowsRequest,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
        encoder: &MakeEncoder<'_>,
        out: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<RowsSummary, ReadError> {
        let opened =
            self.opened(request.batch, request.operator, request.store.as_deref(), cancel)?;
        let counter = Counter::default();
        let run = Run { cancel, counter: &counter };
        rows::encoded(&opened, request, run, &teller(&counter, progress), encoder, out)
    }

    fn changes(
        &self,
        request: &RowsRequest,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
        emit: &mut dyn FnMut(&StateRow<'_>) -> ControlFlow<()>,
    ) -> Result<RowsSummary, ReadError> {
        let opened =
            self.opened(request.batch, request.operator, request.store.as_deref(), cancel)?;
        let counter = Counter::default();
        let run = Run { cancel, counter: &counter };
        changes::each(&opened, request, run, &teller(&counter, progress), emit)
    }

    fn history(
        &self,
        request: &HistoryRequest,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<KeyHistory, ReadError> {
        let (operator, store) = (Some(request.operator), Some(request.store.as_str()));
        let opened = self.opened(request.batch, operator, store, cancel)?;
        let counter = Counter::default();
        let run = Run { cancel, counter: &counter };
        history::of(&opened, request, run, &teller(&counter, progress))
    }

    fn keys(
        &self,
        request: &KeysRequest,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<KeysReport, ReadError> {
        let opened =
            self.opened(request.batch, request.operator, request.store.as_deref(), cancel)?;
        opened.one_operator()?;
        let counter = Counter::default();
        let run = Run { cancel, counter: &counter };
        keys::keys(&opened, request, run, &teller(&counter, progress))
    }

    fn plan(
        &self,
        request: &PlanRequest,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<PlanBasis, ReadError> {
        let opened =
            self.opened(request.batch, request.operator, request.store.as_deref(), cancel)?;
        opened.one_operator()?;
        let counter = Counter::default();
        let run = Run { cancel, counter: &counter };
        plan::basis(&opened, run, &teller(&counter, progress))
    }

    fn verify(
        &self,
        request: &VerifyRequest,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<VerifyReport, ReadError> {
        let logs = Request {
            batch: request.batch,
            depth: Depth::Logs,
            operator: request.operator,
            store: request.store.clone(),
        };
        let files =
            self.observe(&Request { depth: Depth::Snapshot, ..logs.clone() }, cancel, &|_| {});
        let logs = self.observe(&logs, cancel, &|_| {})?;
        if !logs.inspect.stateful && logs.inspect.batch.is_some() {
            return Ok(verify::of_logs(&logs.inspect));
        }
        // Files that no batch in the logs can have written are seen by listing only.
        let ahead = files?.inspect.findings.clone().into_iter();
        let ahead = ahead.filter(|finding| finding.id.0 == "state-ahead-of-logs");
        let opened =
            self.opened(request.batch, request.operator, request.store.as_deref(), cancel)?;
        let counter = Counter::default();
        let run = Run { cancel, counter: &counter };
        let catalog = opened.findings(&[]);
        let of_logs = logs.inspect.findings.iter().cloned().chain(ahead);
        let of_logs: Vec<Finding> = of_logs.filter(|finding| !catalog.contains(finding)).collect();
        verify::verify(&opened, &of_logs, run, &teller(&counter, progress))
    }

    fn preflight(
        &self,
        request: &PreflightRequest,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
        tell: &mut dyn FnMut(&PreflightCheck),
    ) -> Result<PreflightReport, ReadError> {
        preflight::run(self, request, cancel, progress, tell)
    }

    fn pauses(
        &self,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<PausesReport, ReadError> {
        pauses::of(self, cancel, progress)
    }
}
