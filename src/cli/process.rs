//! The edge: the process's streams, signals and exit code around [`run`].

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::surroundings::{Stream, Surroundings};
use super::{Exit, run};
use crate::config::{self, Config, ConfigError};
use crate::console::look::Environment;
use crate::reader::{CheckpointReader, Observe, ReadError};
use crate::task::Cancel;
use crate::telemetry::attach;
use crate::units::UnixMillis;

/// Columns assumed for a terminal that does not tell.
const COLUMNS: u16 = 80;

/// The whole program.
pub fn main() -> ExitCode {
    // Fails only when a hook is there already: the reports are then that one's.
    let _ = color_eyre::config::HookBuilder::default()
        .theme(color_eyre::config::Theme::new())
        .display_env_section(false)
        .install();
    let mut out = io::BufWriter::new(io::stdout());
    let mut err = io::stderr();
    let out_kind = stream(&io::stdout());
    let err_kind = stream(&io::stderr());
    let config = match configuration() {
        Ok(config) => config,
        Err(error) => {
            let _ = writeln!(err, "statetop: {}", super::clean_lines(&error.to_string()));
            return ExitCode::from(Exit::Usage.code());
        }
    };
    let mut around = Surroundings {
        input: &|| Box::new(io::stdin()),
        out: &mut out,
        out_kind,
        err: &mut err,
        err_kind,
        environment: Environment::read(),
        open: &open,
        attach: &|name, expected| attach::open(name, expected, Box::new(io::stdin())),
        config,
        data_directory: crate::memory::directory().ok(),
        now: UnixMillis::from(SystemTime::now()),
        on_interrupt: &cancel_at_interrupt,
    };
    let exit = run(std::env::args_os(), &mut around);
    // What could not be written is in `exit` already; dropping the writer must not try again.
    let _ = out.flush();
    ExitCode::from(exit.code())
}

/// What the configuration file says. A broken one is told even where it is not needed, so that it
/// is mended before it is; `statetop config` and help work all the same.
fn configuration() -> Result<Config, ConfigError> {
    let first = std::env::args_os().nth(1);
    let unneeded = ["config", "help", "--help", "-h", "--version", "-V"];
    let is_needed = !first.is_some_and(|first| unneeded.iter().any(|word| first == *word));
    match config::path().filter(|_| is_needed) {
        Some(path) => Config::read(&path),
        None => Ok(Config::default()),
    }
}

fn stream(of: &impl IsTerminal) -> Stream {
    if !of.is_terminal() {
        return Stream::Pipe;
    }
    let columns = crossterm::terminal::size().map_or(COLUMNS, |(columns, _)| columns);
    Stream::Terminal { columns: if columns == 0 { COLUMNS } else { columns } }
}

fn open(target: &str) -> Result<Arc<dyn Observe>, ReadError> {
    Ok(Arc::new(CheckpointReader::open(target)?))
}

/// The first Ctrl-C (or request to end) asks the work to stop, which it does between two files
/// and after removing its scratch directories; the second ends the process as if nothing had
/// been arranged.
fn cancel_at_interrupt(cancel: &Cancel) {
    // Without a handler Ctrl-C ends the process at once, which is right as well.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    let cancel = cancel.clone();
    thread::spawn(move || {
        for signal in signals.forever() {
            if cancel.is_cancelled() {
                let _ = emulate_default_handler(signal);
            }
            cancel.cancel();
        }
    });
}
