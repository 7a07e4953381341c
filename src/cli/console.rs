//! `statetop TARGET`: the console on a terminal, else the overview.

use std::sync::Arc;

use super::args::{ConsoleArgs, Format, ReadArgs, ScreenArgs};
use super::exit::{CliError, Exit};
use super::inspect;
use super::read::read;
use super::surroundings::{Stream, Surroundings};
use crate::reader::Observe;

/// Runs the command.
pub(crate) fn run(args: &ConsoleArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    // clap has refused a command line without a target.
    let target = args.target.as_deref().unwrap_or(".");
    let source = (around.open)(target)?;
    match (around.out_kind, args.output.format) {
        (Stream::Terminal { .. }, None) => watch(&source, &args.screen, around),
        (Stream::Terminal { .. } | Stream::Pipe, format) => {
            let seen = read(&source, &args.read, around)?;
            let look = around.look(args.output.color);
            inspect::print(&seen, format.unwrap_or(Format::Table), look, around.out)?;
            Ok(inspect::exit(&seen))
        }
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
