//! `statetop TARGET`: the console on a terminal, else the overview.

use std::sync::Arc;

use super::args::{ConsoleArgs, Format, OutputArgs, ScreenArgs};
use super::exit::{CliError, Exit};
use super::inspect;
use super::look::ColorChoice;
use super::read::{read, request};
use super::surroundings::{Stream, Surroundings};
use crate::console::{self, Charset, ConsoleExit, ConsoleOptions, Counting, Level, LookOptions};
use crate::reader::{Observe, ReadError};
use crate::task::Cancel;

/// Runs the command.
pub(crate) fn run(args: &ConsoleArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    // clap has refused a command line without a target.
    let target = args.target.as_deref().unwrap_or(".");
    show(target, args, around).map_err(|error| with_hint(error, target))
}

fn show(target: &str, args: &ConsoleArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let source = around.open_target(target)?;
    match (around.out_kind, args.output.format) {
        (Stream::Terminal { .. }, None) => {
            // A target that is not there is told now, on a screen that stays.
            source.mark()?;
            let request = request(source.as_ref(), &args.read, &Cancel::default())?;
            let options = ConsoleOptions {
                batch: request.batch,
                operator: request.operator,
                store: request.store,
                counting: if args.read.exact { Counting::Exact } else { Counting::Snapshot },
                ..options(&args.screen, args.output)
            };
            watch(source, options)
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

/// Shows a source in the console until the operator leaves it.
pub(crate) fn watch(source: Arc<dyn Observe>, options: ConsoleOptions) -> Result<Exit, CliError> {
    match console::run(source, options)? {
        // There is no list to go back to.
        ConsoleExit::Quit | ConsoleExit::Back => Ok(Exit::Fine),
        ConsoleExit::Signal(number) => Ok(Exit::Signal(number)),
    }
}

/// The console's options from the command line's.
pub(crate) fn options(screen: &ScreenArgs, output: OutputArgs) -> ConsoleOptions {
    ConsoleOptions {
        refresh: screen.refresh,
        look: LookOptions {
            theme: screen.theme.clone(),
            themes_folder: directories::ProjectDirs::from("", "", "statetop")
                .map(|folders| folders.config_dir().join("themes")),
            level: (output.color == ColorChoice::Never).then_some(Level::Mono),
            charset: screen.ascii.then_some(Charset::Ascii),
        },
        ..ConsoleOptions::default()
    }
}
