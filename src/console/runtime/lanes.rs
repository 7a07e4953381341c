//! Threads that read: one for each kind, so that a long count never delays a quick look.
//!
//! A lane does one read at a time and of those that wait only the newest; a panic in a
//! reader is a failed read, not the end of the console.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::super::effect::Lane;
use super::super::msg::{Msg, Outcome, Ticket};
use super::Incoming;
use crate::reader::{Observe, ReadError, Request};
use crate::task::{Cancel, Progress};

/// The shortest time between two reports of progress: nobody reads faster.
const PROGRESS: Duration = Duration::from_millis(100);

struct Job {
    ticket: Ticket,
    request: Request,
    cancel: Cancel,
}

/// A lane's thread, seen from the loop.
struct Handle {
    jobs: Sender<Job>,
    running: Cancel,
}

/// The lanes of a console.
pub struct Lanes {
    quick: Handle,
    exact: Handle,
}

impl Lanes {
    /// Starts a thread for each lane.
    ///
    /// # Errors
    /// When the system has no more threads.
    pub fn new(source: Arc<dyn Observe>, sender: &Sender<Incoming>) -> io::Result<Self> {
        let lane = |name: &str, source: Arc<dyn Observe>| -> io::Result<Handle> {
            let (jobs, queue) = unbounded();
            let sender = sender.clone();
            let thread = thread::Builder::new().name(name.to_owned());
            thread.spawn(move || work(source.as_ref(), &queue, &sender))?;
            Ok(Handle { jobs, running: Cancel::default() })
        };
        let quick = lane("quick reads", Arc::clone(&source))?;
        Ok(Self { quick, exact: lane("exact counts", source)? })
    }

    /// Begins a read.
    pub fn start(&mut self, lane: Lane, ticket: Ticket, request: Request) {
        let handle = self.handle(lane);
        handle.running = Cancel::default();
        let job = Job { ticket, request, cancel: handle.running.clone() };
        // The thread lives as long as the handle: sending cannot fail.
        let _ = handle.jobs.send(job);
    }

    /// Gives up what a lane reads.
    pub fn cancel(&mut self, lane: Lane) {
        self.handle(lane).running.cancel();
    }

    /// Gives up everything.
    pub fn cancel_all(&mut self) {
        self.cancel(Lane::Quick);
        self.cancel(Lane::Exact);
    }

    fn handle(&mut self, lane: Lane) -> &mut Handle {
        match lane {
            Lane::Quick => &mut self.quick,
            Lane::Exact => &mut self.exact,
        }
    }
}

fn work(source: &dyn Observe, queue: &Receiver<Job>, sender: &Sender<Incoming>) {
    for mut job in queue {
        for newer in queue.try_iter() {
            answer(sender, job.ticket, Outcome::Cancelled);
            job = newer;
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| read(source, &job, sender)));
        let outcome = outcome.unwrap_or_else(|_| {
            Outcome::Failed(
                "the reader failed in a way it should not: please report this".to_owned(),
            )
        });
        answer(sender, job.ticket, outcome);
    }
}

fn answer(sender: &Sender<Incoming>, ticket: Ticket, outcome: Outcome) {
    // Nobody listens once the console is gone.
    let _ = sender.send(Incoming::Msg(Msg::Read(ticket, Box::new(outcome))));
}

fn read(source: &dyn Observe, job: &Job, sender: &Sender<Incoming>) -> Outcome {
    if job.cancel.is_cancelled() {
        return Outcome::Cancelled;
    }
    let last = Mutex::new(None::<Instant>);
    let tell = |progress: Progress| {
        // Whoever cannot have the lock at once leaves it to the one who has it.
        let Ok(mut last) = last.try_lock() else { return };
        if last.is_none_or(|at| at.elapsed() >= PROGRESS) {
            *last = Some(Instant::now());
            let _ = sender.try_send(Incoming::Msg(Msg::Progress(job.ticket, progress)));
        }
    };
    match source.observe(&job.request, &job.cancel, &tell) {
        Ok(observation) => Outcome::Done(observation),
        Err(ReadError::Cancelled(_)) => Outcome::Cancelled,
        Err(error) => Outcome::Failed(error.to_string()),
    }
}
