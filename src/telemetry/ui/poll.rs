//! Asks a Spark UI again and again, and tells what became known.
//!
//! ```text
//!  every few seconds:  list of plans ─> microbatches that ended ─> queue
//!  for each of them:   its plans ─> stages of stateful operators ─> their tasks ─> events
//! ```
//! One question at a time. Only tasks of stateful stages of streaming queries are asked for, and
//! only of the newest microbatches where many ended at once.

mod microbatch;

use std::collections::{HashSet, VecDeque};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::Options;
use super::address::Address;
use super::api::{Execution, List};
use super::application::Application;
use super::batches::{Batches, Microbatch};
use super::client::{Client, ClientError};
use super::listing::Listing;
use super::pace::Pace;
use super::tasks::Names;
use super::told::{self, Numbers};
use crate::task::Cancel;
use crate::telemetry::confs;
use crate::telemetry::event::{Environment, EventKind, Started};
use crate::telemetry::event_log::Ended;
use crate::telemetry::follow::Until;
use crate::units::BatchId;

/// How often a microbatch is asked for when something about it cannot be read.
const TRIES: u32 = 2;

/// Why a round was given up.
#[derive(Debug)]
enum Trouble {
    /// Something was not answered.
    Client(ClientError),
    /// Someone asked to stop, or nobody listens.
    Stopped,
}

impl From<ClientError> for Trouble {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

/// What is said once about an application, however often it is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Note {
    PlanGone,
    StageGone,
    TasksGone,
    ManyPlans,
    OddPlans,
    Slow,
}

/// Takes what becomes known.
pub(super) type Tell<'a> = dyn FnMut(EventKind) -> ControlFlow<()> + 'a;

/// Reads one Spark UI.
pub(super) struct Poller<'a> {
    address: &'a Address,
    options: &'a Options,
    cancel: &'a Cancel,
    tell: &'a mut Tell<'a>,
    /// While it answers.
    application: Option<Application>,
    /// What was last known of the application.
    environment: Environment,
    listing: Listing,
    batches: Batches,
    /// Microbatches that ended and were not told yet.
    ended: VecDeque<Microbatch>,
    /// How often the first of them could not be read.
    tries: u32,
    /// Whether what there was at the beginning has been told.
    caught_up: bool,
    names: Names,
    notes: HashSet<Note>,
    pace: Pace,
    /// What went wrong, once that was told.
    trouble: Option<String>,
}

impl<'a> Poller<'a> {
    /// Asks nothing yet.
    pub(super) fn new(
        address: &'a Address,
        options: &'a Options,
        cancel: &'a Cancel,
        tell: &'a mut Tell<'a>,
    ) -> Self {
        Self {
            address,
            options,
            cancel,
            tell,
            application: None,
            environment: Environment::default(),
            listing: Listing::default(),
            batches: Batches::default(),
            ended: VecDeque::new(),
            tries: 0,
            caught_up: false,
            names: Names::default(),
            notes: HashSet::new(),
            pace: Pace::new(options.interval),
            trouble: None,
        }
    }

    /// Asks until all is told, or someone asks to stop.
    pub(super) fn run(mut self) -> Ended {
        match self.rounds() {
            Ok(()) => Ended::Complete,
            Err(_) => Ended::Stopped,
        }
    }

    fn rounds(&mut self) -> Result<(), Trouble> {
        loop {
            let begun = Instant::now();
            match self.round() {
                Ok(()) => self.answered(begun.elapsed())?,
                Err(Trouble::Client(error)) => self.failed(&error)?,
                Err(Trouble::Stopped) => return Err(Trouble::Stopped),
            }
            let has_ended = self.application.as_ref().is_some_and(|it| it.has_ended);
            if self.options.until == Until::End || has_ended {
                return Ok(());
            }
            self.cancel.sleep(self.pace.pause()).map_err(|_| Trouble::Stopped)?;
        }
    }

    /// Asks for all that is new.
    fn round(&mut self) -> Result<(), Trouble> {
        self.connect()?;
        let mut listing = std::mem::take(&mut self.listing);
        let open = self.batches.oldest();
        let mut odd = false;
        let listed = listing.read::<Trouble>(open, &mut |offset, length| {
            let query = [
                ("details", "false".to_owned()),
                ("planDescription", "false".to_owned()),
                ("offset", offset.to_string()),
                ("length", length.to_string()),
            ];
            let page: List<Execution> = self.get(&["sql"], &query)?;
            odd |= page.items.len() < page.listed;
            Ok(page.items)
        });
        self.listing = listing;
        let listed = listed?;
        if odd {
            self.note(Note::OddPlans, |_| {
                "some plans are unlike those of Spark 3.5 to 4.3 and are left out".to_owned()
            })?;
        }
        if listed.dropped > 0 {
            self.interrupted(format!(
                "{} plans were dropped before they could be read: the Spark UI keeps {} \
                 (spark.sql.ui.retainedExecutions)",
                listed.dropped,
                self.conf("spark.sql.ui.retainedExecutions", "1000")
            ))?;
        }
        let taken = self.batches.take(listed.executions);
        for (query, batch) in taken.begun {
            // Of the others it is not known whether they were just started.
            if self.caught_up || batch == BatchId(0) {
                self.tell(EventKind::Started(Started {
                    query,
                    timestamp: None,
                    checkpoint: None,
                }))?;
            }
        }
        self.ended.extend(taken.ended);
        self.pass_over_the_oldest()?;
        while let Some(batch) = self.ended.pop_front() {
            self.microbatch(batch)?;
        }
        self.caught_up = true;
        Ok(())
    }

    /// Finds the application where that is not known, or has to be looked at again.
    fn connect(&mut self) -> Result<(), Trouble> {
        if self.application.is_some() {
            return Ok(());
        }
        let options = self.options;
        let client = Client::new(self.address, &options.credentials, options.limits)?;
        let found = Application::find(client, self.address)?;
        if self.environment.application.as_ref() != Some(&found.id) {
            self.environment = found.environment()?;
            (self.listing, self.batches) = (Listing::default(), Batches::default());
            (self.ended, self.tries) = (VecDeque::new(), 0);
            self.notes.clear();
        }
        self.application = Some(found);
        self.trouble = None;
        // Told again after an interruption: whoever listens sees that it is over.
        self.tell(EventKind::Environment(Box::new(self.environment.clone())))
    }

    fn answered(&mut self, took: Duration) -> Result<(), Trouble> {
        self.pace.answered(took);
        if !self.pace.is_slow() {
            self.notes.remove(&Note::Slow);
            return Ok(());
        }
        let pause = self.pace.pause();
        self.note(Note::Slow, |_| {
            format!(
                "answers are slow ({took:.1?}): asked every {pause:.0?}, to leave the driver alone"
            )
        })
    }

    /// Says what went wrong, the first time that it does.
    fn failed(&mut self, error: &ClientError) -> Result<(), Trouble> {
        self.application = None;
        self.pace.failed();
        let text = error.to_string();
        if self.options.until == Until::End {
            return self.tell(EventKind::Unreadable(text));
        }
        if self.trouble.as_ref() == Some(&text) {
            return Ok(());
        }
        self.trouble = Some(text.clone());
        self.interrupted(format!("{text}. It is asked again, at least once a minute"))
    }

    /// Where many microbatches ended at once, what the tasks of the oldest did is not asked for.
    fn pass_over_the_oldest(&mut self) -> Result<(), Trouble> {
        let all = self.ended.len();
        let Some(oldest) = all.checked_sub(self.options.newest).filter(|oldest| *oldest > 0) else {
            return Ok(());
        };
        for batch in self.ended.drain(..oldest).collect::<Vec<_>>() {
            if told::is_done(&batch) {
                let progress = Numbers::default().progress(&batch);
                self.tell(EventKind::Progress(Box::new(progress)))?;
            }
        }
        self.interrupted(format!(
            "{all} microbatches have ended: of the oldest {oldest} only the times are told, to \
             leave the driver alone"
        ))
    }

    /// Tells of a microbatch. One that cannot be read is tried again, then told without details.
    fn microbatch(&mut self, batch: Microbatch) -> Result<(), Trouble> {
        match self.details(&batch) {
            Ok(events) => {
                self.tries = 0;
                events.into_iter().try_for_each(|kind| self.tell(kind))
            }
            Err(Trouble::Client(error)) if self.tries + 1 >= TRIES => {
                self.tries = 0;
                if told::is_done(&batch) {
                    let progress = Numbers::default().progress(&batch);
                    self.tell(EventKind::Progress(Box::new(progress)))?;
                }
                let what = format!("what microbatch {} did cannot be read: {error}", batch.batch);
                self.interrupted(what)
            }
            Err(trouble) => {
                self.tries += 1;
                self.ended.push_front(batch);
                Err(trouble)
            }
        }
    }

    fn get<T: serde::de::DeserializeOwned>(
        &self,
        parts: &[&str],
        query: &[(&str, String)],
    ) -> Result<T, Trouble> {
        self.cancel.check().map_err(|_| Trouble::Stopped)?;
        let application = self.application.as_ref().ok_or(Trouble::Stopped)?;
        Ok(application.get(parts, query)?)
    }

    /// A conf of the application, else Spark's default.
    fn conf(&self, name: &str, default: &str) -> String {
        confs::value(&self.environment.confs, name).unwrap_or(default).to_owned()
    }

    fn note(&mut self, note: Note, text: impl FnOnce(&Self) -> String) -> Result<(), Trouble> {
        if self.notes.insert(note) { self.interrupted(text(self)) } else { Ok(()) }
    }

    fn interrupted(&mut self, text: String) -> Result<(), Trouble> {
        self.tell(EventKind::Interrupted(text))
    }

    fn tell(&mut self, kind: EventKind) -> Result<(), Trouble> {
        match (self.tell)(kind) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Trouble::Stopped),
        }
    }
}
