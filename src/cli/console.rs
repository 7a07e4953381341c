//! `statetop TARGET`: the console on a terminal, else the overview.

use std::sync::Arc;

use super::args::{ConsoleArgs, Format, ReadArgs, ScreenArgs};
use super::exit::{CliError, Exit};
use super::inspect;
use super::read::read;
use super::surroundings::{Stream, Surroundings};
use crate::reader::{Observe, ReadError};

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
            watch(&source, &args.screen, around)
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

/// SEAM: opens the console, `console::run(source, options)`. Until it exists the overview
/// stands in for it.
pub(crate) fn watch(
    source: &Arc<dyn Observe>,
    _screen: &ScreenArgs,
    around: &mut Surroundings<'_>,
) -> Result<Exit, CliError> {
    let all = ReadArgs { batch: None, operator: None, store: None, exact: false };
    let seen = read(source, &all, around)?;
    let look = around.look(super::ColorChoice::Auto);
    inspect::print(&seen, Format::Table, look, around.out)?;
    Ok(Exit::Fine)
}
