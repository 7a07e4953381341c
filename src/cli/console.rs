//! `statetop TARGET`: the console on a terminal, else the overview.

use std::sync::Arc;

use super::args::{ConsoleArgs, Format, ReadArgs, ScreenArgs};
use super::exit::{CliError, Exit};
use super::inspect;
use super::read::{read, request};
use super::surroundings::{Stream, Surroundings};
use crate::console::look::{Charset, LookOptions};
use crate::console::{self, ConsoleExit, ConsoleOptions, Counting};
use crate::reader::{Observe, ReadError};
use crate::task::Cancel;

/// Runs the command.
pub(crate) fn run(args: &ConsoleArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    // clap has refused a command line without a target.
    let target = args.target.as_deref().unwrap_or(".");
    show(target, args, around).map_err(|error| with_hint(error, target))
}

fn show(target: &str, args: &ConsoleArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let source = (around.open)(target)?;
    match (around.out_kind, args.output.format) {
        (Stream::Terminal { .. }, None) => {
            // A target that is not there is told now, on a screen that stays.
            source.mark()?;
            watch(&source, &args.read, &args.screen)
        }
        (Stream::Terminal { .. } | Stream::Pipe, format) => {
            let seen = read(&source, &args.read, around)?;
            let look = around.look(args.output.color);
            inspect::print(&seen, format.unwrap_or(Format::Table), look, around.out)?;
            Ok(inspect::exit(&seen))
        }
    }
}

/// A plain word that cannot be read may be a mistyped command.
fn with_hint(error: CliError, target: &str) -> CliError {
    match error {
        CliError::Read(ReadError::Unreadable(message))
            if target.chars().all(|c| c.is_ascii_lowercase()) =>
        {
            let message = format!("{message}; `statetop help` lists the commands");
            CliError::Read(ReadError::Unreadable(message))
        }
        other => other,
    }
}

/// Opens the console; what it was asked for on the command line is shown first.
pub(crate) fn watch(
    source: &Arc<dyn Observe>,
    args: &ReadArgs,
    screen: &ScreenArgs,
) -> Result<Exit, CliError> {
    let request = request(source.as_ref(), args, &Cancel::default())?;
    let options = ConsoleOptions {
        refresh: screen.refresh,
        batch: request.batch,
        operator: request.operator,
        store: request.store,
        counting: if args.exact { Counting::Exact } else { Counting::Snapshot },
        look: LookOptions {
            theme: screen.theme.as_ref().map(|theme| theme.to_string_lossy().into_owned()),
            charset: screen.ascii.then_some(Charset::Ascii),
            ..LookOptions::default()
        },
        ..ConsoleOptions::default()
    };
    Ok(match console::run(Arc::clone(source), options)? {
        ConsoleExit::Quit => Exit::Fine,
        ConsoleExit::Signal(signal) => Exit::Signal(signal),
    })
}
