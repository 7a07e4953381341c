//! `statetop replay`: a recording again, in the console over a checkpoint, or as lines.

use std::io;

use super::console;
use super::exit::{CliError, Exit, INTERRUPTED};
use super::progress::args::ProgressFormat;
use super::progress::{Printer, Style};
use super::record::args::ReplayArgs;
use super::surroundings::{Stream, Surroundings};
use crate::console::{ConsoleOptions, Keep, Screen, Watched};
use crate::task::Cancel;
use crate::telemetry::attach::{Attach, Deaf};
use crate::telemetry::follow::Until;
use crate::telemetry::recording::Replay;
use crate::telemetry::source::Source;

/// How many times as fast as it happened where nothing else is said.
const SPEED: f64 = 10.0;

/// Runs the command.
pub(crate) fn run(args: &ReplayArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let source = Source::of(&args.file, Until::End)?;
    let on_screen = matches!(around.out_kind, Stream::Terminal { .. }) && args.format.is_none();
    let Some(target) = &args.target else {
        // On a terminal somebody watches; a pipe wants all of it.
        let at_once = if on_screen { SPEED } else { f64::INFINITY };
        let replay = Replay::new(source, args.speed.unwrap_or(at_once));
        return print(&replay, args, around);
    };
    if !on_screen {
        return Err(CliError::NothingToReplayInto);
    }
    let checkpoint = around.open_target(target)?;
    // A target that is not there is told now, on a screen that stays.
    checkpoint.mark()?;
    let replay = Replay::new(source, args.speed.unwrap_or(SPEED));
    let queries: Vec<std::sync::Arc<dyn Attach>> = vec![std::sync::Arc::new(replay)];
    let output = super::args::OutputArgs { format: None, color: args.color };
    let options = ConsoleOptions {
        screen: Screen::Batches,
        // What is replayed is not what is: it is not remembered.
        memory: Keep::Nowhere,
        ..console::options(&args.screen, output, around)
    };
    let rules = around.config.rules(target);
    console::watch(Watched { checkpoint, queries, rules }, options)
}

/// Prints lines, each as soon as it is told.
fn print(
    replay: &Replay,
    args: &ReplayArgs,
    around: &mut Surroundings<'_>,
) -> Result<Exit, CliError> {
    let cancel = Cancel::default();
    (around.on_interrupt)(&cancel);
    let look = around.look(args.color);
    let format = args.format.unwrap_or(ProgressFormat::Table);
    let mut printer = Printer::new(look, format, Style::Plain, None);
    let mut written: io::Result<()> = Ok(());
    // A replay fails by events; only writing can fail here.
    let _ = replay.follow(&cancel, &mut |events| {
        let mut all = events.into_iter();
        written = all.try_for_each(|event| printer.event(event, &mut *around.out));
        if args.speed.is_some() || matches!(around.out_kind, Stream::Terminal { .. }) {
            written = std::mem::replace(&mut written, Ok(())).and_then(|()| around.out.flush());
        }
        if written.is_ok() { Ok(()) } else { Err(Deaf) }
    });
    written?;
    if cancel.is_cancelled() {
        return Ok(INTERRUPTED);
    }
    if printer.told() == 0 {
        around.out.flush()?;
        return Err(CliError::NoEvents(args.file.clone()));
    }
    Ok(Exit::Fine)
}
