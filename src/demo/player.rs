//! Lets a recording's files appear in the checkpoint, at once or batch by batch.
//!
//! Files are moved by rename within one file system, so a reader sees a file whole or not at
//! all, and each gets the time at which it appears as its modification time.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};

use super::DemoError;
use super::script::{BatchFiles, Moment, Script};

/// Parts of an interval that pass before a batch is planned, runs, and is committed.
const RHYTHM: [(Moment, f64); 3] = [(Moment::Plan, 0.5), (Moment::Run, 0.3), (Moment::Commit, 0.2)];

/// The files still behind the curtain, and the checkpoint in front of it.
#[derive(Debug)]
pub(super) struct Stage {
    batches: std::collections::VecDeque<BatchFiles>,
    staging: PathBuf,
    checkpoint: PathBuf,
}

impl Stage {
    pub(super) fn new(script: Script, staging: PathBuf, checkpoint: PathBuf) -> Self {
        Self { batches: script.batches.into(), staging, checkpoint }
    }

    /// Batches still to come.
    pub(super) fn len(&self) -> usize {
        self.batches.len()
    }

    /// Shows the first `past` batches and every file that belongs to no batch. The last of
    /// them seems to end `now`, the others `interval` apart before it.
    pub(super) fn set_up(
        &mut self,
        past: usize,
        now: SystemTime,
        interval: Duration,
    ) -> Result<(), DemoError> {
        let ago = |batches: usize| {
            let batches = u32::try_from(batches).unwrap_or(u32::MAX);
            now.checked_sub(interval.saturating_mul(batches)).unwrap_or(now)
        };
        self.show_unlisted(ago(past))?;
        for remaining in (0..past).rev() {
            let Some(batch) = self.batches.pop_front() else { break };
            for (moment, _) in RHYTHM {
                self.show(&batch, moment, ago(remaining))?;
            }
        }
        Ok(())
    }

    /// Shows the files that a batch brings at one moment.
    fn show(&self, batch: &BatchFiles, moment: Moment, time: SystemTime) -> Result<(), DemoError> {
        let files = batch.files.iter().filter(|file| Moment::of(file) == moment);
        files.into_iter().try_for_each(|file| self.reveal(Path::new(file), time))
    }

    fn show_unlisted(&self, time: SystemTime) -> Result<(), DemoError> {
        let listed: HashSet<&Path> =
            self.batches.iter().flat_map(|batch| &batch.files).map(Path::new).collect();
        let mut folders = vec![self.staging.clone()];
        while let Some(folder) = folders.pop() {
            let cannot = |source| DemoError::Unpack { path: folder.clone(), source };
            for entry in fs::read_dir(&folder).map_err(cannot)? {
                let entry = entry.map_err(cannot)?;
                let path = entry.path();
                if entry.file_type().map_err(cannot)?.is_dir() {
                    folders.push(path);
                } else if let Ok(file) = path.strip_prefix(&self.staging)
                    && !listed.contains(file)
                {
                    self.reveal(file, time)?;
                }
            }
        }
        Ok(())
    }

    /// Moves one file from behind the curtain. A file that Spark removed again before the
    /// recording ended is listed but not there: nothing to move.
    fn reveal(&self, file: &Path, time: SystemTime) -> Result<(), DemoError> {
        let (from, to) = (self.staging.join(file), self.checkpoint.join(file));
        let moved = || -> io::Result<()> {
            File::options().write(true).open(&from)?.set_modified(time)?;
            if let Some(folder) = to.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::rename(&from, &to)
        };
        match moved() {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !from.exists() => Ok(()),
            other => other.map_err(|source| DemoError::Unpack { path: to.clone(), source }),
        }
    }
}

/// A thread that plays the remaining batches; stopped when dropped.
#[derive(Debug)]
pub(super) struct Player {
    /// Dropping it wakes the thread and ends it.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Player {
    /// Plays one batch of `stage` per interval `every`.
    pub(super) fn start(mut stage: Stage, every: Duration) -> Self {
        let (stop, stopped) = bounded::<()>(0);
        let waits = move |part: f64| {
            let pause = stopped.recv_timeout(every.mul_f64(part));
            matches!(pause, Err(RecvTimeoutError::Timeout))
        };
        let thread = thread::spawn(move || {
            while let Some(batch) = stage.batches.pop_front() {
                for (moment, part) in RHYTHM {
                    // A file that cannot be moved ends the show: the query has gone quiet.
                    if !waits(part) || stage.show(&batch, moment, SystemTime::now()).is_err() {
                        return;
                    }
                }
            }
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the player's was reported by the hook already.
            let _ = thread.join();
        }
    }
}
