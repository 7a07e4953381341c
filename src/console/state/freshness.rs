//! How old what is shown is, and when that next reads differently.

use super::super::format;
use super::super::reading::later;
use super::{Screen, State, is_open};
use crate::units::UnixMillis;

/// How much the numbers on screen can be relied on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Freshness {
    /// Nothing was read yet.
    Loading,
    /// Nothing could be read; the text says why.
    Failed(String),
    /// What is shown is the newest, or soon will be.
    Live,
    /// Held by the operator.
    Paused,
    /// The checkpoint does not answer; the text says why.
    Stale(String),
}

impl State {
    /// How much the numbers on screen can be relied on.
    pub fn freshness(&self) -> Freshness {
        if self.hold.is_some() {
            return Freshness::Paused;
        }
        if self.newest.is_none() {
            let trouble = self.reading.trouble();
            return trouble.map_or(Freshness::Loading, |why| Freshness::Failed(why.to_owned()));
        }
        match (self.reading.stale_at(), self.reading.contact()) {
            (Some(at), Some(contact)) if self.now > at => {
                let silent = format::age(contact.until(self.now));
                Freshness::Stale(match self.reading.trouble() {
                    Some(why) => format!("Stale for {silent}: {why}"),
                    None => format!("Stale: no answer from the checkpoint for {silent}"),
                })
            }
            _ => Freshness::Live,
        }
    }

    /// When the screen is next due to change by the passing of time alone.
    pub fn next_change(&self) -> Option<UnixMillis> {
        if self.hold.is_some() {
            return None;
        }
        let ages = self.ages().into_iter().flatten().map(|since| {
            let age = since.until(self.now);
            // A moment in the future reads "0 s" until it is a second past.
            let base = if since > self.now { since } else { self.now };
            later(base, format::age_changes_in(age))
        });
        let stale = self.reading.stale_at().map(|at| later(at, 1)).filter(|at| *at > self.now);
        let judged = self.found.due().map(|at| if at > self.now { at } else { later(self.now, 1) });
        ages.chain(stale).chain(judged).min()
    }

    /// The moments whose age is on screen.
    fn ages(&self) -> [Option<UnixMillis>; 4] {
        let told = self.told_of();
        let Some(data) = self.data() else { return [told, None, None, None] };
        let inspect = data.inspect();
        let pending = self.screen == Screen::Overview && is_open(inspect.status);
        let stale = matches!(self.freshness(), Freshness::Stale(_));
        let pinned = self.reading.pinned().is_some();
        [
            if pinned {
                Some(data.observation.observed_at)
            } else {
                format::told(inspect.last_commit_at)
            },
            format::told(inspect.last_plan_at).filter(|_| pending),
            self.reading.contact().filter(|_| stale),
            told,
        ]
    }

    /// When the running query was last heard of, where that is on screen.
    fn told_of(&self) -> Option<UnixMillis> {
        let shown = matches!(self.screen, Screen::Overview | Screen::Batches);
        let run = self.query().filter(|_| shown)?.current()?;
        run.heard()
    }
}
