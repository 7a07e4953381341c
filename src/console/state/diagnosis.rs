//! The diagnosis screen's own state: the count in question, and the checks of its preflight as
//! they come in.

use std::sync::Arc;

use super::State;
use crate::analysis::layout::MAX_PARTITIONS;
use crate::console::asking::PreflightQuestion;
use crate::report::{CheckStatus, PreflightCheck, PreflightReport};

/// The diagnosis screen's own state.
#[derive(Debug, Clone, Default)]
pub struct DiagnosisState {
    /// The count in question; 0 before the screen was opened.
    pub to: u32,
    /// The checks that have been made, in their order.
    pub checks: Vec<PreflightCheck>,
    /// The answer, and to what.
    pub answer: Option<(PreflightQuestion, Arc<PreflightReport>)>,
    /// What could not be read, and why.
    pub trouble: Option<(PreflightQuestion, String)>,
    /// The selected check, by its id; the one that matters most before one was selected.
    pub selected: Option<&'static str>,
}

impl DiagnosisState {
    /// The answer at the count in question.
    pub fn report(&self) -> Option<&PreflightReport> {
        let (asked, report) = self.answer.as_ref()?;
        (asked.to == self.to).then_some(report)
    }

    /// Why there is none.
    pub fn trouble(&self) -> Option<&str> {
        let (asked, why) = self.trouble.as_ref()?;
        (asked.to == self.to).then_some(why)
    }

    /// Goes to a count: what is known of another one is forgotten.
    pub fn go(&mut self, to: u32) {
        let to = to.clamp(1, MAX_PARTITIONS);
        if to != self.to {
            self.to = to;
            self.checks.clear();
        }
    }

    /// A check was made, or more is known of it.
    pub fn told(&mut self, check: PreflightCheck) {
        match self.checks.iter_mut().find(|told| told.id == check.id) {
            Some(told) => *told = check,
            None => self.checks.push(check),
        }
    }

    /// Where the selected check stands: as long as none was selected, the first that is refused,
    /// else the first that is not passed.
    pub fn at(&self) -> usize {
        let place = |wanted: &dyn Fn(&PreflightCheck) -> bool| self.checks.iter().position(wanted);
        self.selected
            .and_then(|id| place(&|check| check.id == id))
            .or_else(|| place(&|check| check.status == CheckStatus::Refused))
            .or_else(|| place(&|check| check.status != CheckStatus::Passed))
            .unwrap_or(0)
    }
}

impl State {
    /// What the diagnosis screen asks; `None` before the count in force is known.
    pub fn preflight(&self) -> Option<PreflightQuestion> {
        let to = self.diagnosis.to;
        (to > 0).then_some(PreflightQuestion { to, nodes: self.what_if.nodes })
    }

    /// The count that the screen opens with: the one of the what-if screen, else twice as many.
    pub fn count_to_diagnose(&self) -> Option<u32> {
        let from = self.data()?.inspect().partitions?;
        Some(if self.what_if.to > 0 { self.what_if.to } else { from.saturating_mul(2) })
    }
}
