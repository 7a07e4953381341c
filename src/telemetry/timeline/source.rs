//! How a source is doing, and what it said of the application.

use std::sync::Arc;

use crate::telemetry::{Environment, EventKind, Place};
use crate::units::UnixMillis;

/// How a source is doing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Condition {
    /// It was not heard of yet.
    #[default]
    Silent,
    /// It tells what there is to tell.
    Told,
    /// It was interrupted and sees to that itself; the text says how.
    Interrupted(String),
    /// It cannot be read at all.
    Broken {
        /// Why.
        why: String,
        /// When it is tried again; `None` for never.
        again_at: Option<UnixMillis>,
    },
    /// It has told all that it has.
    Ended,
}

/// A piece that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// Where it stands.
    pub place: Place,
    /// Why not.
    pub why: String,
}

/// A source, and how it is doing.
#[derive(Debug, Clone)]
pub struct SourceLine {
    /// Its name, as the operator gave it.
    pub name: Arc<str>,
    /// How it is doing.
    pub condition: Condition,
    /// What it told, unreadable pieces left out.
    pub events: u64,
    /// How often it was interrupted.
    pub interruptions: u64,
    /// Pieces of it that could not be read.
    pub unreadable: u64,
    /// The last of them.
    pub last_unread: Option<Unread>,
    /// What its application runs on.
    pub environment: Option<Arc<Environment>>,
}

impl SourceLine {
    pub(super) fn new(name: Arc<str>) -> Self {
        Self {
            name,
            condition: Condition::Silent,
            events: 0,
            interruptions: 0,
            unreadable: 0,
            last_unread: None,
            environment: None,
        }
    }

    pub(super) fn heard(&mut self, place: &Place, kind: &EventKind) {
        match kind {
            EventKind::Unreadable(why) => {
                self.unreadable = self.unreadable.saturating_add(1);
                self.last_unread = Some(Unread { place: place.clone(), why: why.clone() });
                self.condition = Condition::Told;
                return;
            }
            EventKind::Interrupted(how) => {
                self.interruptions = self.interruptions.saturating_add(1);
                self.condition = Condition::Interrupted(how.clone());
                return;
            }
            EventKind::Environment(environment) if environment.query.is_none() => {
                self.environment = Some(Arc::new(environment.as_ref().clone()));
            }
            _ => {}
        }
        self.events = self.events.saturating_add(1);
        self.condition = Condition::Told;
    }

    pub(super) fn broken(&mut self, why: String, again_at: Option<UnixMillis>) {
        self.condition = Condition::Broken { why, again_at };
    }

    pub(super) fn ended(&mut self) {
        self.condition = Condition::Ended;
    }
}
