//! The findings on screen: of the checkpoint and of its running query together, as far as the
//! configuration lets them through. Made anew when there is something new to judge, not for each
//! frame.

use super::super::reading::later;
use super::State;
use crate::diagnosis::lints::{Evidence, Told, lints};
use crate::diagnosis::{Finding, Rules};
use crate::reader::Depth;
use crate::telemetry::timeline::{Activity, Place};
use crate::units::{BatchId, UnixMillis};

/// The shortest time between two judgements of a running query, in milliseconds: a source that
/// catches up tells thousands of batches at once.
const PATIENCE: u64 = 500;

/// What is found, and what that was judged by.
#[derive(Debug, Default)]
pub struct Findings {
    shown: Vec<Finding>,
    allowed: u64,
    read: Option<Read>,
    heard: Option<Heard>,
    judged_at: Option<UnixMillis>,
    due: Option<UnixMillis>,
}

/// Which observation was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Read {
    observed_at: UnixMillis,
    took_millis: u64,
    depth: Depth,
    batch: Option<BatchId>,
}

/// How far the running query had told when it was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Heard {
    newest: Option<Place>,
    runs: usize,
    has_ended: bool,
    confs: usize,
    environments: usize,
}

impl Findings {
    /// The findings, most severe first.
    pub fn shown(&self) -> &[Finding] {
        &self.shown
    }

    /// How many are left out because the configuration allows them.
    pub fn allowed(&self) -> u64 {
        self.allowed
    }

    /// When they are to be judged anew, if nothing else happens before.
    pub fn due(&self) -> Option<UnixMillis> {
        self.due
    }
}

impl State {
    /// Judges anew where something new was read or told. What is held still stays as it was.
    pub fn judge(&mut self) {
        if self.hold.is_some() {
            return;
        }
        let (read, heard) = (self.read_so_far(), self.heard_so_far());
        if (read, heard) == (self.found.read, self.found.heard) {
            self.found.due = None;
            return;
        }
        let soonest = self.found.judged_at.map(|at| later(at, PATIENCE));
        // A clock that was set back is no reason to wait.
        let early =
            soonest.is_some_and(|at| self.now < at && self.found.judged_at <= Some(self.now));
        if read == self.found.read && early {
            self.found.due = soonest;
            return;
        }
        let (shown, allowed) = judged(self, &self.settings.rules);
        self.dirty |= shown != self.found.shown || allowed != self.found.allowed;
        let judged_at = Some(self.now);
        self.found = Findings { shown, allowed, read, heard, judged_at, due: None };
    }

    fn read_so_far(&self) -> Option<Read> {
        let data = self.data()?;
        let observation = &data.observation;
        Some(Read {
            observed_at: observation.observed_at,
            took_millis: observation.took_millis,
            depth: observation.depth,
            batch: data.batch(),
        })
    }

    fn heard_so_far(&self) -> Option<Heard> {
        let (timeline, query) = (self.timeline()?, self.query()?);
        let confs = query.current().map_or(0, |run| run.confs.len());
        let sources = timeline.sources().iter();
        Some(Heard {
            newest: query.newest(),
            runs: query.runs().len(),
            has_ended: matches!(query.activity(), Activity::Stopped(_) | Activity::Failed(_)),
            confs: confs + timeline.confs_restored().len(),
            environments: sources.filter(|source| source.environment.is_some()).count(),
        })
    }
}

fn judged(state: &State, rules: &Rules) -> (Vec<Finding>, u64) {
    let data = state.data();
    let mut found = data.map(|data| data.findings.clone()).unwrap_or_default();
    let told = state.timeline().zip(state.query());
    // What was never read is not judged: logs alone say nothing of files.
    found.extend(lints(&Evidence {
        inspect: data.map(super::Data::inspect),
        partitions: data.map(|data| data.observation.partitions.as_ref()),
        told: told.map(|(timeline, query)| Told::of(timeline, query)),
    }));
    rules.apply(found)
}
