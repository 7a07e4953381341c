//! What the command line may touch of the world around it, in one place, so that a whole run
//! can be played in a test.
//!
//! The binary fills this from the process; tests fill it with buffers and a made-up source.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use super::look::{ColorChoice, Look, Paint};
use crate::config::Config;
use crate::console::Charset;
use crate::console::look::Environment;
use crate::reader::{Observe, ReadError};
use crate::task::Cancel;
use crate::telemetry::attach::{Attach, Expected};
use crate::units::UnixMillis;

/// Columns of a page that goes to a file or pipe.
const PIPE_COLUMNS: usize = 80;

/// Opens the target that the operator named.
pub type Open<'a> = dyn Fn(&str) -> Result<Arc<dyn Observe>, ReadError> + 'a;

/// Makes a source of a running query ready to be followed.
pub type OpenSource<'a> = dyn Fn(&str, Expected) -> Arc<dyn Attach> + 'a;

/// The world around a run.
pub struct Surroundings<'a> {
    /// Gives standard input.
    pub input: &'a dyn Fn() -> Box<dyn Read + Send>,
    /// Standard output.
    pub out: &'a mut dyn Write,
    /// What standard output is.
    pub out_kind: Stream,
    /// Standard error.
    pub err: &'a mut (dyn Write + Send),
    /// What standard error is.
    pub err_kind: Stream,
    /// The environment variables that decide how output looks.
    pub environment: Environment,
    /// Opens the target that the operator named.
    pub open: &'a Open<'a>,
    /// Makes a source of a running query ready to be followed.
    pub attach: &'a OpenSource<'a>,
    /// What the configuration file says.
    pub config: Config,
    /// The data directory, where what is remembered of queries lies; `None` where there is none.
    pub data_directory: Option<PathBuf>,
    /// The time at which the run began.
    pub now: UnixMillis,
    /// Arranges that Ctrl-C cancels; called once, before a report is read.
    pub on_interrupt: &'a dyn Fn(&Cancel),
}

/// Where output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// A terminal of this many columns.
    Terminal {
        /// Cells in a line.
        columns: u16,
    },
    /// A file or pipe.
    Pipe,
}

impl Surroundings<'_> {
    /// Opens a target: a query that has a name in the configuration, or a path or an address.
    ///
    /// # Errors
    /// When the address is malformed or of a kind that is not supported.
    pub(crate) fn open_target(&self, target: &str) -> Result<Arc<dyn Observe>, ReadError> {
        (self.open)(self.config.target(target))
    }

    /// How plain output to standard output looks.
    pub(crate) fn look(&self, choice: ColorChoice) -> Look {
        let columns = match self.out_kind {
            Stream::Terminal { columns } => usize::from(columns).max(40),
            Stream::Pipe => PIPE_COLUMNS,
        };
        Look {
            paint: Paint::of(choice, self.out_kind, &self.environment),
            charset: Charset::of(&self.environment),
            columns,
        }
    }
}
