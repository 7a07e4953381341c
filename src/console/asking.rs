//! Questions about the rows themselves: keys, rows, histories, plans. They may take long, are
//! asked one at a time, and can be given up with what was found until then.
//!
//! Like [`reading`](super::reading), pure: what is asked and how far it is, no thread, no clock.

use std::sync::Arc;

use super::effect::Effect;
use super::msg::Ticket;
use super::page::RowsPage;
use super::state::{Basis, RowsScope};
use crate::reader::{HistoryRequest, KeyHistory, KeysRequest, PlanRequest};
use crate::report::{KeysReport, PausesReport, PreflightReport};
use crate::task::Progress;
use crate::units::{BatchId, UnixMillis};

/// Before this much time has passed a speed says nothing.
const WARM_UP: u64 = 500;

/// Something to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// The heaviest keys.
    Keys(KeysRequest),
    /// A page of rows.
    Rows(RowsQuestion),
    /// What the last batches did to a key.
    History(HistoryRequest),
    /// All that is needed to say what another count would do.
    Plan(PlanRequest),
    /// The repartitions that the checkpoint shows. With others in its logs than these it is
    /// another question.
    Pauses(Vec<BatchId>),
    /// What a resize would come to.
    Preflight(PreflightQuestion),
}

/// A resize.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreflightQuestion {
    /// The count.
    pub to: u32,
    /// Nodes of the cluster, when the operator has said so.
    pub nodes: Option<u32>,
}

/// Which rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowsQuestion {
    /// As this batch left them; `None` for the last committed.
    pub batch: Option<BatchId>,
    /// Whose.
    pub scope: RowsScope,
    /// The condition, as it was typed; empty for none.
    pub condition: String,
}

/// How a question ended.
#[derive(Debug, Clone)]
pub enum Reply {
    /// The heaviest keys.
    Keys(Arc<KeysReport>),
    /// Rows.
    Rows(Arc<RowsPage>),
    /// A history.
    History(Arc<KeyHistory>),
    /// A plan.
    Plan(Basis),
    /// Repartitions.
    Pauses(Arc<PausesReport>),
    /// What a resize would come to.
    Preflight(Arc<PreflightReport>),
    /// The question itself is wrong; the text says how.
    Refused(String),
    /// It could not be read; the text says why.
    Failed(String),
    /// Given up before anything was read.
    Cancelled,
}

/// A question under way.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Which.
    pub ticket: Ticket,
    /// What was asked.
    pub question: Question,
    /// Since when.
    pub since: UnixMillis,
    /// How far it is, and when that was said.
    pub progress: Option<(UnixMillis, Progress)>,
    /// Whether it is being given up.
    pub stopping: bool,
}

/// How fast it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Rows in a second.
    pub rows: u64,
    /// Milliseconds that are left, if it goes on like that.
    pub left: Option<u64>,
}

impl Asked {
    /// How fast it goes; `None` while that says nothing.
    pub fn pace(&self) -> Option<Pace> {
        let (at, progress) = self.progress?;
        let millis = Some(self.since.until(at)).filter(|millis| *millis >= WARM_UP)?;
        let rows = u128::from(progress.rows) * 1000 / u128::from(millis);
        let left = u64::checked_sub(progress.total, progress.done)
            .filter(|_| progress.done > 0)
            .map(|left| u128::from(millis) * u128::from(left) / u128::from(progress.done));
        let short = |value: u128| u64::try_from(value).unwrap_or(u64::MAX);
        Some(Pace { rows: short(rows), left: left.map(short) })
    }
}

/// The one question under way.
#[derive(Debug, Clone, Default)]
pub struct Asking {
    tickets: u64,
    asked: Option<Asked>,
    again: bool,
}

impl Asking {
    /// The question under way.
    pub fn asked(&self) -> Option<&Asked> {
        self.asked.as_ref()
    }

    /// Asks, and gives up what was asked before: its answer will not be looked at.
    pub fn ask(&mut self, question: Question, now: UnixMillis) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.asked.take().is_some() {
            effects.push(Effect::StopAsking);
        }
        self.again = false;
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let asked = Asked {
            ticket,
            question: question.clone(),
            since: now,
            progress: None,
            stopping: false,
        };
        self.asked = Some(asked);
        effects.push(Effect::Ask(ticket, Box::new(question)));
        effects
    }

    /// Whether what is known is to be asked anew.
    pub fn again(&self) -> bool {
        self.again
    }

    /// What is known is to be asked anew.
    pub fn set_again(&mut self) {
        self.again = true;
    }

    /// Asks for what was found until now.
    pub fn stop(&mut self) -> Vec<Effect> {
        match &mut self.asked {
            Some(asked) if !asked.stopping => {
                asked.stopping = true;
                vec![Effect::StopAsking]
            }
            _ => Vec::new(),
        }
    }

    /// It tells how far it is; whether that is of interest.
    pub fn progressed(&mut self, ticket: Ticket, progress: Progress, now: UnixMillis) -> bool {
        let Some(asked) = self.asked.as_mut().filter(|asked| asked.ticket == ticket) else {
            return false;
        };
        asked.progress = Some((now, progress));
        true
    }

    /// It has ended. Returns what was asked; `None` when nobody waits for it any more.
    pub fn finished(&mut self, ticket: Ticket) -> Option<Question> {
        self.asked.take_if(|asked| asked.ticket == ticket).map(|asked| asked.question)
    }
}
