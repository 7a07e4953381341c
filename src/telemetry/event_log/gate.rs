//! Which events of an application's log are passed on: those of the query that is asked for,
//! from the moment on that is asked for.
//!
//! Must not know where events come from.

use std::sync::Arc;

use crate::telemetry::event::{Event, EventKind, QueryRef};
use crate::units::UnixMillis;

/// Notes that are held back of a log that may be none of a streaming query.
const MAX_HELD: usize = 16;

/// Lets events of one application through, or not.
#[derive(Debug)]
pub(super) struct Gate {
    query: Option<Arc<str>>,
    since: Option<UnixMillis>,
    /// The latest moment that the log has told: the time of events that have none of their own.
    now: Option<UnixMillis>,
    /// What is not about a query, until an event shows that the log has one that is wanted.
    held: Option<Vec<Event>>,
}

/// How a log came to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chosen {
    /// The operator named it: everything about it matters.
    Named,
    /// It lies in a directory that the operator named: it may have nothing to do with streaming,
    /// or be no event log at all.
    Listed,
}

impl Gate {
    pub(super) fn new(query: Option<Arc<str>>, since: Option<UnixMillis>, chosen: Chosen) -> Self {
        Self { query, since, now: None, held: (chosen == Chosen::Listed).then(Vec::new) }
    }

    /// Passes the event on to `out`, holds it back, or drops it.
    pub(super) fn take(&mut self, event: Event, out: &mut dyn FnMut(Event)) {
        let moment = moment(&event.kind);
        self.now = self.now.max(moment);
        let Some(query) = query(&event.kind) else {
            return self.note(event, out);
        };
        let wanted = self.query.is_none() || self.query == query.id;
        if !wanted {
            return;
        }
        if self.is_early(moment) {
            // The confs of a session are told once: they hold for what comes later.
            if matches!(event.kind, EventKind::Environment(_)) {
                self.note(event, out);
            }
            return;
        }
        self.held.take().into_iter().flatten().for_each(&mut *out);
        out(event);
    }

    /// Something about the log itself.
    fn note(&mut self, event: Event, out: &mut dyn FnMut(Event)) {
        let environment = matches!(event.kind, EventKind::Environment(_));
        if !environment && self.is_early(None) {
            return;
        }
        match &mut self.held {
            None => out(event),
            Some(held) if held.len() < MAX_HELD => held.push(event),
            Some(_) => {}
        }
    }

    fn is_early(&self, moment: Option<UnixMillis>) -> bool {
        match (self.since, moment.or(self.now)) {
            (Some(since), Some(moment)) => moment < since,
            _ => false,
        }
    }
}

/// The query that an event is about.
fn query(kind: &EventKind) -> Option<&QueryRef> {
    match kind {
        EventKind::Started(started) => Some(&started.query),
        EventKind::Progress(progress) => Some(&progress.query),
        EventKind::Idle { query, .. } => Some(query),
        EventKind::Terminated(terminated) => Some(&terminated.query),
        EventKind::PartitionLoad(load) => Some(&load.query),
        EventKind::Environment(environment) => environment.query.as_ref(),
        _ => None,
    }
}

/// When what an event tells was done.
fn moment(kind: &EventKind) -> Option<UnixMillis> {
    match kind {
        EventKind::Started(started) => started.timestamp,
        EventKind::Progress(progress) => {
            let took = i64::try_from(progress.duration_ms.unwrap_or(0)).unwrap_or(0);
            progress.timestamp.map(|began| UnixMillis(began.0.saturating_add(took)))
        }
        EventKind::Idle { timestamp, .. } => *timestamp,
        EventKind::Terminated(terminated) => terminated.timestamp,
        EventKind::PartitionLoad(load) => load.timestamp,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::event::{Place, Terminated};

    fn event(kind: EventKind) -> Event {
        Event { place: Place { source: "log".into(), line: None }, kind }
    }

    fn of(id: &str) -> QueryRef {
        QueryRef { id: Some(id.into()), ..QueryRef::default() }
    }

    fn idle(id: &str, at: i64) -> Event {
        event(EventKind::Idle { query: of(id), timestamp: Some(UnixMillis(at)) })
    }

    fn ended(id: &str) -> Event {
        event(EventKind::Terminated(Terminated {
            query: of(id),
            timestamp: None,
            exception: None,
            error_class: None,
            class_in_text: None,
        }))
    }

    fn note(text: &str) -> Event {
        event(EventKind::Interrupted(text.to_owned()))
    }

    fn pass(mut gate: Gate, events: &[Event]) -> Vec<Event> {
        let mut out = Vec::new();
        for event in events {
            gate.take(event.clone(), &mut |event| out.push(event));
        }
        out
    }

    #[test]
    fn a_log_of_many_says_nothing_until_it_has_the_query() {
        let gate = || Gate::new(Some("a".into()), None, Chosen::Listed);
        assert_eq!(pass(gate(), &[note("x"), idle("b", 1), note("y")]), []);
        let events = [note("x"), idle("b", 1), idle("a", 2), note("y")];
        assert_eq!(pass(gate(), &events), [note("x"), idle("a", 2), note("y")]);
        let named = Gate::new(None, None, Chosen::Named);
        assert_eq!(pass(named, &[note("x")]), [note("x")]);
    }

    #[test]
    fn what_has_no_time_has_that_of_what_came_before() {
        let gate = Gate::new(None, Some(UnixMillis(10)), Chosen::Named);
        let events = [idle("a", 5), ended("a"), note("x"), idle("a", 10), ended("a"), note("y")];
        assert_eq!(pass(gate, &events), [idle("a", 10), ended("a"), note("y")]);
    }
}
