//! `statetop replay`: a recording again, in the console over a checkpoint, or as lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

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
use crate::telemetry::recording::{self, Replay};
use crate::telemetry::source::{Source, SourceKind};

/// How many times as fast as it happened where nothing else is said.
const SPEED: f64 = 10.0;
/// Bytes of a first line that are looked at: it has the names of sources.
const LONGEST: u64 = 64 << 10;

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

/// Lines name their source where the recording is of several.
fn style(file: &str) -> Style {
    let several = first_line(file).is_ok_and(|line| recording::sources(&line).len() > 1);
    if several { Style::WithSource } else { Style::Plain }
}

/// The beginning of a file, compressed or not, up to its first line break.
fn first_line(file: &str) -> io::Result<String> {
    let plain = BufReader::new(File::open(file)?);
    let mut line = Vec::new();
    match Source::of(file, Until::End).map(|source| source.kind) {
        Ok(SourceKind::Text(_)) => plain.take(LONGEST).read_until(b'\n', &mut line)?,
        Ok(SourceKind::Zstd(_)) => {
            let unpacked = zstd::Decoder::with_buffer(plain)?;
            BufReader::new(unpacked).take(LONGEST).read_until(b'\n', &mut line)?
        }
        _ => 0,
    };
    Ok(String::from_utf8_lossy(&line).into_owned())
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
    let mut printer = Printer::new(look, format, style(&args.file), None);
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
