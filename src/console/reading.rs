//! What to read next, and how fresh what is shown is.
//!
//! ```text
//!  start ─> Logs ─> Snapshot ─┬─> (mark changed) ─> Snapshot ─> …
//!                             └─> (x)  Exact ─> (mark changed) ─> Exact ─> …
//! ```
//!
//! Nothing is queued: after every event [`Reading::pump`] compares what is shown with what
//! is wanted, and starts the read that is missing if its lane is free. However many batches
//! arrive during a read, one read follows it. Pure: no clock, no thread.

use super::data::Data;
use super::effect::{Effect, Lane};
use super::msg::{Outcome, Ticket};
use crate::reader::{Depth, Mark, Observation, Request};
use crate::task::Progress;
use crate::units::{BatchId, UnixMillis};

/// The longest pause between two attempts.
const LONGEST_PAUSE: u64 = 30_000;
/// How much longer than two intervals a silent source may take before it counts as gone.
const GRACE: u64 = 3_000;

/// Whether exact counts are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Counting {
    /// The newest snapshot's own counts do.
    #[default]
    Snapshot,
    /// Every store is to be opened and counted, again for each new batch.
    Exact,
}

/// A read under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// Which read.
    pub ticket: Ticket,
    /// How deep it looks.
    pub depth: Depth,
    /// How far it has come, once it has said so.
    pub progress: Option<Progress>,
    mark: Option<Mark>,
    batch: Option<BatchId>,
}

/// A read that is to be shown.
#[derive(Debug)]
pub struct Accepted {
    /// What was read.
    pub observation: Observation,
    /// The newest log entries that were known when the read began.
    pub mark: Option<Mark>,
    /// The batch that was asked for.
    pub asked: Option<BatchId>,
}

/// Why reading does not work at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What was said.
    pub reason: String,
    /// Failed attempts in a row.
    pub attempts: u32,
    retry_at: UnixMillis,
}

/// What is being read, what is wanted, and when the checkpoint last answered.
#[derive(Debug, Clone)]
pub struct Reading {
    refresh: u64,
    batch: Option<BatchId>,
    counting: Counting,
    quick: Option<Running>,
    exact: Option<Running>,
    tickets: u64,
    again: bool,
    seen: Option<Mark>,
    contact: Option<UnixMillis>,
    read_trouble: Option<Trouble>,
    watch_trouble: Option<String>,
}

impl Reading {
    /// Nothing read yet.
    pub fn new(refresh: u64, batch: Option<BatchId>, counting: Counting) -> Self {
        Self {
            refresh,
            batch,
            counting,
            quick: None,
            exact: None,
            tickets: 0,
            again: false,
            seen: None,
            contact: None,
            read_trouble: None,
            watch_trouble: None,
        }
    }

    /// Whether exact counts are wanted.
    pub fn counting(&self) -> Counting {
        self.counting
    }

    /// The newest log entries that were seen.
    pub fn seen(&self) -> Option<Mark> {
        self.seen
    }

    /// The batch that is looked at; `None` for the newest.
    pub fn pinned(&self) -> Option<BatchId> {
        self.batch
    }

    /// The exact count under way.
    pub fn exact_run(&self) -> Option<&Running> {
        self.exact.as_ref()
    }

    /// Any read under way, the slow one first.
    pub fn run(&self) -> Option<&Running> {
        self.exact.as_ref().or(self.quick.as_ref())
    }

    /// The last failure, if nothing has worked since.
    pub fn trouble(&self) -> Option<&str> {
        let read = self.read_trouble.as_ref().map(|trouble| trouble.reason.as_str());
        read.or(self.watch_trouble.as_deref())
    }

    /// When the checkpoint last answered that what is shown is the newest.
    pub fn contact(&self) -> Option<UnixMillis> {
        self.contact
    }

    /// When what is shown begins to count as stale, unless the checkpoint answers before.
    pub fn stale_at(&self) -> Option<UnixMillis> {
        let grace = if self.trouble().is_some() { 0 } else { GRACE };
        Some(later(self.contact?, self.refresh.saturating_mul(2).saturating_add(grace)))
    }

    /// Starts whatever read is missing.
    pub fn pump(&mut self, shown: Option<&Data>, now: UnixMillis) -> Vec<Effect> {
        if self.read_trouble.as_ref().is_some_and(|trouble| now < trouble.retry_at) {
            return Vec::new();
        }
        let Some((lane, depth)) = self.missing(shown) else { return Vec::new() };
        if self.slot(lane).is_some() {
            return Vec::new();
        }
        self.again = false;
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let running = Running { ticket, depth, progress: None, mark: self.seen, batch: self.batch };
        *self.slot(lane) = Some(running);
        let request = Request { batch: self.batch, depth, operator: None, store: None };
        vec![Effect::Read(lane, ticket, request)]
    }

    /// The read that would bring what is shown up to what is wanted.
    fn missing(&self, shown: Option<&Data>) -> Option<(Lane, Depth)> {
        let Some(shown) = shown else { return Some((Lane::Quick, Depth::Logs)) };
        let wanted = match self.counting {
            Counting::Exact => (Lane::Exact, Depth::Exact),
            Counting::Snapshot => (Lane::Quick, Depth::Snapshot),
        };
        let changed = self.batch.is_none() && self.seen.is_some_and(|seen| seen != shown.mark);
        // Another batch is looked at first quickly, then as deep as is wanted.
        if shown.depth() == Depth::Logs || shown.asked != self.batch {
            Some((Lane::Quick, Depth::Snapshot))
        } else if shown.depth() < wanted.1 || changed || self.again {
            Some(wanted)
        } else {
            None
        }
    }

    /// The watcher has looked.
    pub fn marked(&mut self, looked: Result<Mark, String>, shown: Option<&Data>, now: UnixMillis) {
        match looked {
            Ok(mark) => {
                self.watch_trouble = None;
                self.seen = Some(mark);
                let current = shown.is_some_and(|shown| shown.mark == mark);
                if self.contact.is_some()
                    && (current || self.batch.is_some() || self.run().is_some())
                {
                    self.contact = Some(now);
                }
            }
            Err(reason) => self.watch_trouble = Some(reason),
        }
    }

    /// A read tells how far it is; whether that is shown.
    pub fn progressed(&mut self, ticket: Ticket, progress: Progress) -> bool {
        let mut lanes = [&mut self.quick, &mut self.exact].into_iter().flatten();
        let Some(running) = lanes.find(|running| running.ticket == ticket) else { return false };
        running.progress = Some(progress);
        true
    }

    /// A read has ended. Returns what is to be shown instead of `shown`.
    pub fn finished(
        &mut self,
        ticket: Ticket,
        outcome: Outcome,
        shown: Option<&Data>,
        now: UnixMillis,
    ) -> Option<Accepted> {
        let running = self.take(ticket)?;
        match outcome {
            Outcome::Done(observation) => {
                self.contact = Some(now);
                self.read_trouble = None;
                let accepted = Accepted { observation, mark: running.mark, asked: running.batch };
                self.accepts(&accepted, shown).then_some(accepted)
            }
            Outcome::Failed(reason) => {
                self.fail(reason, now);
                None
            }
            Outcome::Cancelled => None,
        }
    }

    /// Exact counts are not replaced by snapshot counts while exact ones are wanted: old
    /// numbers with their age are better than numbers that jump between grades.
    fn accepts(&self, newer: &Accepted, shown: Option<&Data>) -> bool {
        let exact = self.counting == Counting::Exact;
        let same = |shown: &Data| shown.asked == newer.asked;
        let less = |shown: &Data| newer.observation.depth < shown.depth();
        !shown.is_some_and(|shown| exact && same(shown) && less(shown))
    }

    fn fail(&mut self, reason: String, now: UnixMillis) {
        let attempts = self.read_trouble.as_ref().map_or(0, |trouble| trouble.attempts) + 1;
        let factor = 1_u64.checked_shl(attempts - 1).unwrap_or(u64::MAX);
        let pause = self.refresh.saturating_mul(factor).min(LONGEST_PAUSE);
        let retry_at = later(now, pause);
        self.read_trouble = Some(Trouble { reason, attempts, retry_at });
    }

    fn take(&mut self, ticket: Ticket) -> Option<Running> {
        [&mut self.quick, &mut self.exact]
            .into_iter()
            .find(|lane| lane.is_some_and(|running| running.ticket == ticket))
            .and_then(Option::take)
    }

    /// Exact counts from now on, or no longer. What was counted stays on screen until the
    /// next batch.
    pub fn set_counting(&mut self, counting: Counting) -> Vec<Effect> {
        self.counting = counting;
        self.read_trouble = None;
        match counting {
            Counting::Snapshot if self.exact.take().is_some() => vec![Effect::Cancel(Lane::Exact)],
            _ => Vec::new(),
        }
    }

    /// Looks at this batch from now on; `None` follows the newest. Reads of another are given up.
    pub fn look_at(&mut self, batch: Option<BatchId>) -> Vec<Effect> {
        if self.batch == batch {
            return Vec::new();
        }
        self.batch = batch;
        self.read_trouble = None;
        let lanes = [(Lane::Quick, self.quick.take()), (Lane::Exact, self.exact.take())];
        let running = lanes.into_iter().filter(|(_, running)| running.is_some());
        running.map(|(lane, _)| Effect::Cancel(lane)).collect()
    }

    /// Reads again although nothing seems to have changed.
    pub fn reload(&mut self) -> Vec<Effect> {
        self.again = true;
        self.read_trouble = None;
        vec![Effect::Poll]
    }

    fn slot(&mut self, lane: Lane) -> &mut Option<Running> {
        match lane {
            Lane::Quick => &mut self.quick,
            Lane::Exact => &mut self.exact,
        }
    }
}

/// A moment `millis` after another.
pub fn later(UnixMillis(time): UnixMillis, millis: u64) -> UnixMillis {
    UnixMillis(time.saturating_add_unsigned(millis))
}
