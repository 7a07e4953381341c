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

use super::super::asking::{Question, Reply};
use super::super::effect::Lane;
use super::super::msg::{Msg, Outcome, Ticket};
use super::{Incoming, answers};
use crate::reader::{Observe, ReadError, Request};
use crate::report::PreflightCheck;
use crate::task::{Cancel, Progress};

/// The shortest time between two reports of progress: nobody reads faster.
const PROGRESS: Duration = Duration::from_millis(100);

struct Job {
    ticket: Ticket,
    work: Work,
    cancel: Cancel,
}

/// What a lane can do.
enum Work {
    Read(Request),
    Answer(Box<Question>),
}

/// A lane's thread, seen from the loop.
struct Handle {
    jobs: Sender<Job>,
    running: Cancel,
}

impl Handle {
    fn start(&mut self, ticket: Ticket, work: Work) {
        self.running = Cancel::default();
        let job = Job { ticket, work, cancel: self.running.clone() };
        // The thread lives as long as the handle: sending cannot fail.
        let _ = self.jobs.send(job);
    }
}

/// The lanes of a console.
pub struct Lanes {
    quick: Handle,
    exact: Handle,
    questions: Handle,
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
        let exact = lane("exact counts", Arc::clone(&source))?;
        Ok(Self { quick, exact, questions: lane("questions", source)? })
    }

    /// Begins a read.
    pub fn start(&mut self, lane: Lane, ticket: Ticket, request: Request) {
        self.handle(lane).start(ticket, Work::Read(request));
    }

    /// Gives up what a lane reads.
    pub fn cancel(&mut self, lane: Lane) {
        self.handle(lane).running.cancel();
    }

    /// Asks a question.
    pub fn ask(&mut self, ticket: Ticket, question: Box<Question>) {
        self.questions.start(ticket, Work::Answer(question));
    }

    /// Gives up what is being asked.
    pub fn stop_asking(&mut self) {
        self.questions.running.cancel();
    }

    /// Gives up everything.
    pub fn cancel_all(&mut self) {
        self.cancel(Lane::Quick);
        self.cancel(Lane::Exact);
        self.stop_asking();
    }

    fn handle(&mut self, lane: Lane) -> &mut Handle {
        match lane {
            Lane::Quick => &mut self.quick,
            Lane::Exact => &mut self.exact,
        }
    }
}

fn work(source: &dyn Observe, queue: &Receiver<Job>, sender: &Sender<Incoming>) {
    // Nobody listens once the console is gone.
    let answer = |msg: Msg| drop(sender.send(Incoming::Msg(msg)));
    for mut job in queue {
        for newer in queue.try_iter() {
            answer(job.given_up());
            job = newer;
        }
        let done = catch_unwind(AssertUnwindSafe(|| run(source, &job, sender)));
        answer(done.unwrap_or_else(|_| job.failed()));
    }
}

impl Job {
    fn given_up(&self) -> Msg {
        self.answer(Outcome::Cancelled, Reply::Cancelled)
    }

    fn failed(&self) -> Msg {
        let why = "the reader failed in a way it should not: please report this";
        self.answer(Outcome::Failed(why.to_owned()), Reply::Failed(why.to_owned()))
    }

    fn answer(&self, outcome: Outcome, reply: Reply) -> Msg {
        match self.work {
            Work::Read(_) => Msg::Read(self.ticket, Box::new(outcome)),
            Work::Answer(_) => Msg::Answer(self.ticket, Box::new(reply)),
        }
    }
}

fn run(source: &dyn Observe, job: &Job, sender: &Sender<Incoming>) -> Msg {
    if job.cancel.is_cancelled() {
        return job.given_up();
    }
    let last = Mutex::new(None::<Instant>);
    let tell = |progress: Progress| {
        // Whoever cannot have the lock at once leaves it to the one who has it.
        let Ok(mut last) = last.try_lock() else { return };
        if last.is_none_or(|at| at.elapsed() >= PROGRESS) {
            *last = Some(Instant::now());
            let msg = match job.work {
                Work::Read(_) => Msg::Progress(job.ticket, progress),
                Work::Answer(_) => Msg::Asking(job.ticket, progress),
            };
            let _ = sender.try_send(Incoming::Msg(msg));
        }
    };
    match &job.work {
        Work::Read(request) => {
            let outcome = match source.observe(request, &job.cancel, &tell) {
                Ok(observation) => Outcome::Done(observation),
                Err(ReadError::Cancelled(_)) => Outcome::Cancelled,
                Err(error) => Outcome::Failed(error.to_string()),
            };
            Msg::Read(job.ticket, Box::new(outcome))
        }
        Work::Answer(question) => {
            // Few, and each is shown: they wait for room in the queue.
            let told = |check: &PreflightCheck| {
                let msg = Msg::Checked(job.ticket, Box::new(check.clone()));
                let _ = sender.send(Incoming::Msg(msg));
            };
            let reply = answers::answer(source, question, &job.cancel, &tell, &told);
            Msg::Answer(job.ticket, Box::new(reply))
        }
    }
}
