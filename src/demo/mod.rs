//! The demo: a recorded checkpoint of a real query, played back so that the console has
//! something live to watch.
//!
//! ```text
//! assets/demo.tar.zst ──archive──► staging/ ──player──► checkpoint/ ◄── reader
//! ```
//! The recording is unpacked into a folder of its own in the user's cache. The checkpoint
//! starts without its last batches; the player moves their files in, batch by batch, in the
//! order in which Spark wrote them. After the last batch the demo stays as a query that has
//! gone quiet. Must not know what the files mean, beyond `offsets` first and `commits` last.

mod archive;
mod folder;
mod player;
mod script;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::reader::{Mark, Observation, Observe, ReadError, ReadState, Request};
use crate::task::{Cancel, Progress};
use folder::DemoFolder;
use player::{Player, Stage};

/// The recording, compressed.
const RECORDING: &[u8] = include_bytes!("../../assets/demo.tar.zst");

/// Batches that arrive while one watches.
const HELD_BACK: usize = 10;
/// Time between two batches that were there from the start.
const PAST_INTERVAL: Duration = Duration::from_secs(4);

/// How the recording is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// All batches at once.
    Complete,
    /// The last batches one by one.
    Live {
        /// Time from one batch to the next.
        every: Duration,
    },
}

/// Why the demo cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The recording is not what it should be.
    #[error("the demo recording is damaged: {0}")]
    Damaged(String),
    /// The cache folder cannot be written.
    #[error("cannot unpack the demo in {path}")]
    Unpack {
        /// The folder or file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The unpacked checkpoint cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// A running demo. Dropping it stops the playback and removes its folder.
pub struct Demo {
    source: Arc<dyn Observe>,
    // Stopped before the folder goes, for fields are dropped in this order.
    _player: Option<Player>,
    _folder: DemoFolder,
}

impl Demo {
    /// Unpacks the recording and starts the playback; `open` opens the checkpoint.
    ///
    /// # Errors
    /// When the recording cannot be unpacked or opened.
    pub fn start(
        pace: Pace,
        open: impl FnOnce(&Path) -> Result<Arc<dyn Observe>, ReadError>,
    ) -> Result<Self, DemoError> {
        Self::of(RECORDING, &folder::base(), pace, open)
    }

    fn of(
        recording: &[u8],
        base: &Path,
        pace: Pace,
        open: impl FnOnce(&Path) -> Result<Arc<dyn Observe>, ReadError>,
    ) -> Result<Self, DemoError> {
        let folder = DemoFolder::create(base)?;
        let script = archive::unpack(recording, &folder.staging())?;
        let name = format!("demo: {}", script.name());
        let mut stage = Stage::new(script, folder.staging(), folder.checkpoint());
        let (past, interval) = match pace {
            Pace::Complete => (stage.len(), PAST_INTERVAL),
            Pace::Live { every } => (stage.len().saturating_sub(HELD_BACK).max(1), every),
        };
        stage.set_up(past, SystemTime::now(), interval)?;
        let source = Arc::new(Named { name, inner: open(&folder.checkpoint())? });
        let player = match pace {
            Pace::Complete => None,
            Pace::Live { every } => Some(Player::start(stage, every)),
        };
        Ok(Self { source, _player: player, _folder: folder })
    }

    /// What there is to watch, called `demo: …`.
    pub fn source(&self) -> Arc<dyn Observe> {
        Arc::clone(&self.source)
    }
}

/// A source under another name, for the folder's own means nothing to anyone.
struct Named {
    name: String,
    inner: Arc<dyn Observe>,
}

impl Observe for Named {
    fn name(&self) -> &str {
        &self.name
    }

    fn state(&self) -> Option<&dyn ReadState> {
        self.inner.state()
    }

    fn mark(&self) -> Result<Mark, ReadError> {
        self.inner.mark()
    }

    fn observe(
        &self,
        request: &Request,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Observation, ReadError> {
        let mut observation = self.inner.observe(request, cancel, progress)?;
        Arc::make_mut(&mut observation.inspect).checkpoint.clone_from(&self.name);
        Ok(observation)
    }
}

#[cfg(test)]
mod tests;
