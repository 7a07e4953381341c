//! How a run ends: the exit codes that `--help` documents, and which error gives which.

use std::io;

use crate::console::ConsoleError;
use crate::diagnosis::{Finding, Severity};
use crate::memory::MemoryError;
use crate::reader::ReadError;

/// The exit code of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: read, and nothing is broken.
    Fine,
    /// 1: read, and there is a finding at error level.
    Findings,
    /// 2: the command line asks for something that does not exist.
    Usage,
    /// 3: the target cannot be read, or the output cannot be written.
    CannotRead,
    /// 4: what was asked for is so already.
    Noop,
    /// 128 and the signal's number: asked to end by it. Ctrl-C is signal 2, so 130.
    Signal(i32),
}

impl Exit {
    /// The number that the process ends with.
    pub fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Findings => 1,
            Self::Usage => 2,
            Self::CannotRead => 3,
            Self::Noop => 4,
            Self::Signal(number) => u8::try_from(number.saturating_add(128)).unwrap_or(u8::MAX),
        }
    }

    /// Fine, unless a finding is an error.
    pub(crate) fn by_findings<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Self {
        let broken = findings.into_iter().any(|finding| finding.severity == Severity::Error);
        if broken { Self::Findings } else { Self::Fine }
    }
}

/// Given up at Ctrl-C.
pub(crate) const INTERRUPTED: Exit = Exit::Signal(signal_hook::consts::SIGINT);

/// Why a command ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("{0}")]
    NoSuchOperator(String),
    #[error("{0}")]
    NoSuchQuery(String),
    #[error("--console needs a terminal; without it the list is printed")]
    NoTerminal,
    #[error(
        "--events, --progress and --ui attach the console, which needs a terminal and no --format; \
         `statetop progress SOURCE` prints what a source tells"
    )]
    NothingToAttach,
    #[error("cannot write the output")]
    Write(#[source] io::Error),
    #[error(
        "{file} would lie in the checkpoint {checkpoint}, into which nothing is written; choose another place"
    )]
    InCheckpoint { file: String, checkpoint: String },
    #[error("{file} is there already; --force replaces it, or give another name")]
    FileExists { file: String },
    #[error("{file} cannot be written")]
    File {
        file: String,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Console(#[from] ConsoleError),
    #[error(transparent)]
    Demo(#[from] crate::demo::DemoError),
    #[error(transparent)]
    Source(#[from] crate::telemetry::source::SourceError),
    #[error(
        "no event of a streaming query in {0}; expected progress JSON, a driver's log (at level \
         INFO it has the progress), an event log, a recording, or the Spark UI of an application that \
         has one"
    )]
    NoEvents(String),
    #[error("{0} is one of the sources: a recording goes into a file of its own")]
    RecordingIsSource(String),
    #[error(
        "a TARGET is for the console, which needs a terminal and no --format; without it \
         `statetop replay FILE` prints what the recording tells"
    )]
    NothingToReplayInto,
    #[error("there is no configuration directory: set HOME or STATETOP_CONFIG")]
    NoConfigDirectory,
    #[error(transparent)]
    Config(#[from] crate::config::ConfigError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error("{0}")]
    Tables(String),
    #[error(
        "{name} cannot be read; expected a file with a log or stack trace, - for standard input, or an error's name"
    )]
    Text {
        name: String,
        #[source]
        error: io::Error,
    },
    #[error(
        "no error is known as {name}{}; docs/errors.md lists those that are",
        if nearest.is_empty() { String::new() } else { format!("; did you mean {}?", nearest.join(" or ")) }
    )]
    NoSuchError { name: String, nearest: Vec<String> },
    #[error("no change is known that fits {0:?}; `statetop can-i` lists all")]
    NoSuchChange(String),
    #[error("{0}")]
    NoOffsets(String),
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

impl CliError {
    /// The exit code for this error.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Read(
                ReadError::NoSuchBatch(_) | ReadError::NoSuchStore(_) | ReadError::BadCondition(_),
            )
            | Self::NoSuchOperator(_)
            | Self::NoSuchError { .. }
            | Self::NoSuchChange(_)
            | Self::NoOffsets(_)
            | Self::FileExists { .. }
            | Self::InCheckpoint { .. }
            | Self::NoSuchQuery(_)
            | Self::NoTerminal
            | Self::NothingToAttach
            | Self::NothingToReplayInto
            | Self::RecordingIsSource(_)
            | Self::Config(_)
            | Self::NoConfigDirectory
            | Self::Memory(MemoryError::BadId(_))
            | Self::Console(ConsoleError::Look(_)) => Exit::Usage,
            Self::Read(ReadError::Cancelled(_)) => INTERRUPTED,
            Self::Write(error) | Self::Read(ReadError::Output(error))
                if error.kind() == io::ErrorKind::BrokenPipe =>
            {
                Exit::Fine
            }
            Self::Read(_)
            | Self::Write(_)
            | Self::Console(_)
            | Self::Demo(_)
            | Self::Memory(_)
            | Self::Tables(_)
            | Self::Text { .. }
            | Self::File { .. }
            | Self::Source(_)
            | Self::NoEvents(_) => Exit::CannotRead,
        }
    }

    /// Whether the operator needs to be told: not when they stopped it or their pager left.
    pub(crate) fn is_worth_a_message(&self) -> bool {
        !matches!(self.exit(), Exit::Fine | Exit::Signal(_))
    }
}
