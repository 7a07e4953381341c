//! The command line: one file per command, printing the reports as tables, JSON or CSV.
//!
//! ```text
//! args ──► read ──► Observation ──► inspect / partitions ──► page ──► table, answer, text
//!                        │                              └──► json, csv
//!                        └────────► console (a terminal and no --format)
//! ```
//! Everything a run touches comes in through [`Surroundings`]; [`run`] never ends the process
//! and never panics on what it reads. Must not know file formats: data comes from
//! [`Observe`](crate::reader::Observe) alone.

mod answer;
mod args;
mod can_i;
mod config;
mod console;
mod csv;
mod demo;
mod exit;
mod explain;
mod findings;
mod history;
mod inspect;
mod json;
mod keys;
mod look;
mod number;
mod offsets;
mod page;
mod partitions;
mod pauses;
mod plan;
mod preflight;
mod process;
mod progress;
mod read;
mod record;
mod replay;
mod runbook;
mod scan;
mod state;
mod surroundings;
mod table;
mod text;
mod verify;
mod written;

use std::ffi::OsString;
use std::io::Write;

use clap::Parser;

use args::{Cli, Command};
use exit::CliError;
pub use exit::Exit;
pub use look::{ColorChoice, Look, Paint};
pub use process::main;
pub use surroundings::{Open, OpenSource, Stream, Surroundings};
use text::clean;

/// Runs one command line and says how it ended. Messages have been written by then.
pub fn run(
    args: impl IntoIterator<Item = impl Into<OsString>>,
    around: &mut Surroundings<'_>,
) -> Exit {
    let mut args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    if args.len() == 1 {
        args.extend(configured(around));
    }
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return usage(&args::friendlier(error, &args), around),
    };
    let ended = match &cli.command {
        None => console::run(&cli.console, around),
        Some(Command::Demo(args)) => demo::run(args, around),
        Some(Command::Inspect(args)) => inspect::run(args, around),
        Some(Command::Partitions(args)) => partitions::run(args, around),
        Some(Command::State(args)) => state::run(args, around),
        Some(Command::Keys(args)) => keys::run(args, around),
        Some(Command::Plan(args)) => plan::run(args, around),
        Some(Command::Preflight(args)) => preflight::run(args, around),
        Some(Command::Runbook(args)) => runbook::run(args, around),
        Some(Command::Verify(args)) => verify::run(args, around),
        Some(Command::Findings(args)) => findings::run(args, around),
        Some(Command::Pauses(args)) => pauses::run(args, around),
        Some(Command::History(args)) => history::run(args, around),
        Some(Command::Explain(args)) => explain::run(args, around),
        Some(Command::CanI(args)) => can_i::run(args, around),
        Some(Command::Offsets(args)) => offsets::run(args, around),
        Some(Command::Config(args)) => config::run(args, around),
        Some(Command::Scan(args)) => scan::run(args, around),
        Some(Command::Progress(args)) => progress::run(args, around),
        Some(Command::Record(args)) => record::run(args, around),
        Some(Command::Replay(args)) => replay::run(args, around),
    };
    match ended.and_then(|exit| around.out.flush().map(|()| exit).map_err(CliError::from)) {
        Ok(exit) => exit,
        Err(error) => {
            complain(&error, around);
            error.exit()
        }
    }
}

/// What the program's name alone stands for where the configuration has queries: the list of
/// them, as a screen where there is a terminal.
fn configured(around: &Surroundings<'_>) -> Vec<OsString> {
    let queries = around.config.queries.iter();
    let mut roots: Vec<OsString> = queries.map(|query| query.checkpoint.clone().into()).collect();
    if !roots.is_empty() {
        let screen = matches!(around.out_kind, Stream::Terminal { .. });
        let options = ["scan", "--depth", "0"].into_iter().chain(screen.then_some("--console"));
        let options = options.chain(["--"]).map(OsString::from);
        roots.splice(0..0, options);
    }
    roots
}

/// Prints help, version or what is wrong with the command line.
fn usage(error: &clap::Error, around: &mut Surroundings<'_>) -> Exit {
    let (stream, kind): (&mut dyn Write, _) = if error.use_stderr() {
        (&mut *around.err, around.err_kind)
    } else {
        (&mut *around.out, around.out_kind)
    };
    let text = match Paint::of(ColorChoice::Auto, kind, &around.environment) {
        Paint::Ansi => error.render().ansi().to_string(),
        Paint::Plain => error.render().to_string(),
    };
    // Nobody is left to tell when this fails.
    let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
    if error.use_stderr() { Exit::Usage } else { Exit::Fine }
}

/// Prints an error and its causes, unless the operator knows already.
fn complain(error: &CliError, around: &mut Surroundings<'_>) {
    if !error.is_worth_a_message() {
        return;
    }
    let first: &dyn std::error::Error = error;
    let causes = std::iter::successors(Some(first), |error| error.source());
    let messages: Vec<String> = causes.map(|error| clean_lines(&error.to_string())).collect();
    // Nobody is left to tell when this fails.
    let _ = writeln!(around.err, "statetop: {}", messages.join(": "));
}

/// Cleans each line, keeping the line breaks of our own messages.
fn clean_lines(message: &str) -> String {
    message.lines().map(clean).collect::<Vec<_>>().join("\n")
}
