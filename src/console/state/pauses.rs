//! The pauses screen's own state: the repartitions that the checkpoint shows, joined with those
//! that are remembered, and with what sources of the running query tell of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::State;
use crate::analysis::pauses::Pause;
use crate::report::PausesReport;
use crate::telemetry::attach::News;
use crate::telemetry::resizes::Resizes;
use crate::units::BatchId;

/// The pauses screen's own state.
#[derive(Debug, Clone, Default)]
pub struct PausesState {
    /// What was read, and with which repartitions on view.
    pub answer: Option<(Vec<BatchId>, Arc<PausesReport>)>,
    /// What could not be read, and why.
    pub trouble: Option<(Vec<BatchId>, String)>,
    /// What was read, with what is remembered and told.
    joined: Option<Arc<PausesReport>>,
    /// What each source tells of resizes, by its place in the list.
    told: BTreeMap<usize, Arc<Resizes>>,
    /// Whether a source has told something since the last joining.
    stale: bool,
    /// The selected line, counted from the newest repartition.
    pub selected: usize,
    /// The first plot that is drawn, where there is no room for all.
    pub plots: usize,
}

impl PausesState {
    /// What is shown.
    pub fn report(&self) -> Option<&PausesReport> {
        self.joined.as_deref()
    }

    /// The repartitions, newest first.
    pub fn listed(&self) -> impl Iterator<Item = &Pause> {
        self.report().map_or(&[][..], |report| &report.pauses).iter().rev()
    }

    /// The selected one.
    pub fn chosen(&self) -> Option<&Pause> {
        self.listed().nth(self.selected)
    }

    /// Takes what a source tells. One that broke off is read again from its start.
    pub fn hear(&mut self, source: usize, news: &News) {
        match news {
            News::Events(events) => {
                let told = Arc::make_mut(self.told.entry(source).or_default());
                for event in events.iter().filter(|event| Resizes::is_about(event)) {
                    told.pass(event.clone());
                    self.stale = true;
                }
            }
            News::Broken { .. } => self.stale |= self.told.remove(&source).is_some(),
            News::Ended => {}
        }
    }

    /// Joins anew when a source has told something.
    pub fn settle(&mut self, remembered: &[Pause]) {
        if self.stale {
            self.join(remembered);
        }
    }

    /// Joins what was read with what is told and remembered.
    pub fn join(&mut self, remembered: &[Pause]) {
        self.stale = false;
        let read = self.answer.as_ref().map(|(_, report)| report.as_ref().clone());
        let told = self.told.values();
        self.joined = read.map(|report| {
            let report = told.fold(report, |report, told| report.with_told(told));
            Arc::new(report.with(remembered.to_vec()))
        });
        let length = self.report().map_or(0, |report| report.pauses.len());
        self.selected = self.selected.min(length.saturating_sub(1));
    }
}

impl State {
    /// The repartitions that the logs show now: with others the pauses are to be read anew.
    pub fn resizes(&self) -> Option<Vec<BatchId>> {
        let inspect = self.data()?.inspect();
        let entries = inspect.partition_history.iter().filter(|entry| entry.repartition);
        inspect.stateful.then(|| entries.map(|entry| entry.batch).collect())
    }

    /// Why the pauses cannot be read.
    pub fn pauses_trouble(&self) -> Option<&str> {
        let (of, why) = self.pauses.trouble.as_ref()?;
        (Some(of) == self.resizes().as_ref()).then_some(why)
    }

    /// Whether what is shown is of the repartitions that the logs show now.
    pub fn pauses_are_known(&self) -> bool {
        let of = self.pauses.answer.as_ref().map(|(of, _)| of);
        of.is_some() && of == self.resizes().as_ref()
    }
}
