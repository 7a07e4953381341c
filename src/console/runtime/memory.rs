//! The thread that remembers: it opens the memory of the query, reads it, and adds to it. Files
//! may be slow, so nobody waits for it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::super::effect::Remember;
use super::super::msg::{MemoryNews, Msg};
use super::Incoming;
use crate::analysis::pauses::{Pause, merge};
use crate::memory::{Memory, MemoryError, Record, Writer};
use crate::reader::Observe;
use crate::task::Cancel;
use crate::units::UnixMillis;

/// What may wait: a slow disk costs samples, not memory.
const QUEUE: usize = 16;

/// The memory's thread, seen from the loop.
pub(super) struct MemoryLane {
    jobs: Option<Sender<Remember>>,
    cancel: Cancel,
}

impl MemoryLane {
    /// Starts the thread; without a directory nothing is remembered.
    ///
    /// # Errors
    /// When the system has no more threads.
    pub(super) fn new(
        directory: Option<PathBuf>,
        source: Arc<dyn Observe>,
        sender: &Sender<Incoming>,
    ) -> io::Result<Self> {
        let cancel = Cancel::default();
        let Some(directory) = directory else { return Ok(Self { jobs: None, cancel }) };
        let (jobs, queue) = bounded(QUEUE);
        let keeper = Keeper {
            directory,
            source,
            cancel: cancel.clone(),
            memory: None,
            writer: None,
            pauses: Vec::new(),
        };
        let sender = sender.clone();
        thread::Builder::new()
            .name("memory".to_owned())
            .spawn(move || keeper.work(&queue, &sender))?;
        Ok(Self { jobs: Some(jobs), cancel })
    }

    /// Begins what is wanted.
    pub(super) fn start(&self, what: Remember) {
        if let Some(jobs) = &self.jobs {
            let _ = jobs.try_send(what);
        }
    }

    /// Gives up what is being read.
    pub(super) fn cancel(&self) {
        self.cancel.cancel();
    }
}

/// Who has the file.
struct Keeper {
    directory: PathBuf,
    source: Arc<dyn Observe>,
    cancel: Cancel,
    memory: Option<Memory>,
    writer: Option<Writer>,
    pauses: Vec<Pause>,
}

impl Keeper {
    fn work(mut self, queue: &Receiver<Remember>, sender: &Sender<Incoming>) {
        for what in queue {
            let news = match what {
                Remember::Open(id) => Some(self.open(&id)),
                Remember::Add(sample) => self
                    .add(|writer| Ok(writer.sample(sample)?.then_some(MemoryNews::Added(sample)))),
                Remember::Resizes => self.resizes(),
            };
            if let Some(news) = news
                && sender.send(Incoming::Msg(Msg::Remembered(news))).is_err()
            {
                return;
            }
        }
    }

    fn open(&mut self, id: &str) -> MemoryNews {
        let opened = Memory::of(&self.directory, id).and_then(|memory| {
            let known = memory.read()?;
            Ok((memory, known))
        });
        let (memory, known) = match opened {
            Ok(opened) => opened,
            Err(error) => return MemoryNews::Failed(error.to_string()),
        };
        let read_only = match memory.writer(UnixMillis::from(SystemTime::now())) {
            Ok(writer) => {
                self.writer = Some(writer);
                None
            }
            Err(MemoryError::Locked(_)) => {
                Some("another statetop has it; this one adds nothing".to_owned())
            }
            Err(error) => Some(error.to_string()),
        };
        self.memory = Some(memory);
        self.pauses = known.pauses();
        MemoryNews::Opened { samples: known.samples(), pauses: self.pauses.clone(), read_only }
    }

    /// Adds something; a file that cannot be written is given up.
    fn add(
        &mut self,
        what: impl FnOnce(&mut Writer) -> Result<Option<MemoryNews>, MemoryError>,
    ) -> Option<MemoryNews> {
        match what(self.writer.as_mut()?) {
            Ok(news) => news,
            Err(error) => {
                self.writer = None;
                Some(MemoryNews::Failed(error.to_string()))
            }
        }
    }

    /// Reads the repartitions that the checkpoint shows, and adds those that are new.
    fn resizes(&mut self) -> Option<MemoryNews> {
        let report = self.source.state()?.pauses(&self.cancel, &|_| {}).ok()?;
        let known = self.pauses.clone();
        let news: Vec<Pause> = report
            .pauses
            .into_iter()
            .filter(|pause| pause.finished && !known.contains(pause))
            .collect();
        self.pauses = merge(known.into_iter().chain(news.iter().cloned()));
        let pauses = self.pauses.clone();
        self.add(|writer| {
            for pause in news {
                writer.add(&Record::Repartition(pause))?;
            }
            Ok(Some(MemoryNews::Resizes(pauses)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Sample;
    use crate::reader::{Mark, Observation, ReadError, Request};
    use crate::task::Progress;
    use crate::units::BatchId;

    /// A source that shows nothing.
    struct Nothing;

    impl Observe for Nothing {
        fn name(&self) -> &'static str {
            "nothing"
        }

        fn mark(&self) -> Result<Mark, ReadError> {
            Ok(Mark::default())
        }

        fn observe(
            &self,
            _: &Request,
            _: &Cancel,
            _: &(dyn Fn(Progress) + Sync),
        ) -> Result<Observation, ReadError> {
            Err(ReadError::Unreadable("nothing".to_owned()))
        }
    }

    const ID: &str = "11111111-2222-4333-8444-555555555501";

    /// A lane, and what it tells.
    fn lane(directory: &std::path::Path) -> (MemoryLane, impl Fn() -> MemoryNews) {
        let (sender, inbox) = bounded(16);
        let lane = MemoryLane::new(Some(directory.to_owned()), Arc::new(Nothing), &sender).unwrap();
        let next = move || match inbox.recv_timeout(std::time::Duration::from_secs(20)).unwrap() {
            Incoming::Msg(Msg::Remembered(news)) => news,
            other => panic!("{other:?}"),
        };
        (lane, next)
    }

    fn sample(batch: u64) -> Sample {
        Sample {
            at: UnixMillis(1_796_000_000_000 + i64::try_from(batch).unwrap() * 60_000),
            batch: BatchId(batch),
            rows: Some(7),
            bytes: None,
            partitions: Some(5),
            batch_ms: None,
            max_over_mean: None,
        }
    }

    #[test]
    fn the_first_console_adds_and_the_second_reads_what_it_added() {
        let folder = tempfile::tempdir().unwrap();
        let (first, told_first) = lane(folder.path());
        first.start(Remember::Open(ID.to_owned()));
        assert!(matches!(told_first(), MemoryNews::Opened { read_only: None, .. }));
        first.start(Remember::Add(sample(1)));
        assert!(matches!(told_first(), MemoryNews::Added(added) if added == sample(1)));
        let (second, told_second) = lane(folder.path());
        second.start(Remember::Open(ID.to_owned()));
        let MemoryNews::Opened { samples, read_only: Some(why), .. } = told_second() else {
            panic!("it is not ours")
        };
        assert_eq!(samples, [sample(1)]);
        assert!(why.contains("another statetop"), "{why}");
        second.start(Remember::Add(sample(2)));
        first.start(Remember::Add(sample(3)));
        assert!(matches!(told_first(), MemoryNews::Added(added) if added == sample(3)));
        let known = Memory::of(folder.path(), ID).unwrap().read().unwrap();
        assert_eq!(known.samples(), [sample(1), sample(3)], "the second one added nothing");
    }

    #[test]
    fn a_directory_that_is_none_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let (lane, told) = lane(&file);
        lane.start(Remember::Open(ID.to_owned()));
        assert!(matches!(told(), MemoryNews::Failed(why) if why.contains("file")));
    }
}
