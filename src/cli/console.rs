//! `statetop TARGET`: the console on a terminal, else the overview.

use std::sync::Arc;

use super::args::{AttachArgs, ConsoleArgs, Format, OutputArgs, ScreenArgs, credentials};
use super::exit::{CliError, Exit};
use super::inspect;
use super::look::ColorChoice;
use super::read::{read, request};
use super::surroundings::{Stream, Surroundings};
use crate::config::{QueryConfig, Remember};
use crate::console::{
    self, Charset, ConsoleExit, ConsoleOptions, Counting, Keep, Level, LookOptions, Watched,
};
use crate::memory::MemoryError;
use crate::reader::ReadError;
use crate::task::Cancel;
use crate::telemetry::attach::{Attach, Expected, only};

/// Runs the command.
pub(crate) fn run(args: &ConsoleArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    // clap has refused a command line without a target.
    let target = args.target.as_deref().unwrap_or(".");
    show(target, args, around).map_err(|error| with_hint(error, target))
}

fn show(target: &str, args: &ConsoleArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let on_screen =
        matches!(around.out_kind, Stream::Terminal { .. }) && args.output.format.is_none();
    if !on_screen && !args.attach.is_empty() {
        return Err(CliError::NothingToAttach);
    }
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
                ..options(&args.screen, args.output, around)
            };
            let queries = queries(target, &args.attach, around);
            let rules = around.config.rules(target);
            watch(Watched { checkpoint: source, queries, rules }, options)
        }
        (Stream::Terminal { .. } | Stream::Pipe, format) => {
            let seen = read(&source, &args.read, around)?;
            let look = around.look(args.output.color);
            inspect::print(&seen, format.unwrap_or(Format::Table), look, around.out)?;
            Ok(inspect::exit(&seen))
        }
    }
}

/// Where the running query tells of itself: as the command line says, and as the configuration
/// does where the target is one of its queries.
fn queries(target: &str, args: &AttachArgs, around: &Surroundings<'_>) -> Vec<Arc<dyn Attach>> {
    let open = |name: &String, expected| (around.attach)(name, expected);
    let known = around.config.query(target).into_iter();
    let known = known.flat_map(|query| configured(query, around));
    let events = args.events.iter().map(|name| open(name, Expected::EventLog));
    let progress = args.progress.iter().map(|name| open(name, Expected::Text));
    let token = || Expected::SparkUi(args.token.credentials());
    let ui = args.ui.iter().map(|name| open(name, token()));
    let all = known.chain(events).chain(progress).chain(ui);
    match &args.query {
        Some(query) => all.map(|source| only(source, query.clone())).collect(),
        None => all.collect(),
    }
}

/// Where a query of the configuration tells of itself.
pub(crate) fn configured(query: &QueryConfig, around: &Surroundings<'_>) -> Vec<Arc<dyn Attach>> {
    let token = || credentials(query.token_env.as_ref(), query.token_file.as_ref());
    let events = query.events.iter().map(|name| (name, Expected::EventLog));
    let ui = query.ui.iter().map(|name| (name, Expected::SparkUi(token())));
    events.chain(ui).map(|(name, expected)| (around.attach)(name, expected)).collect()
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
pub(crate) fn watch(
    watched: impl Into<Watched>,
    options: ConsoleOptions,
) -> Result<Exit, CliError> {
    match console::run(watched, options)? {
        // There is no list to go back to.
        ConsoleExit::Quit | ConsoleExit::Back => Ok(Exit::Fine),
        ConsoleExit::Signal(number) => Ok(Exit::Signal(number)),
    }
}

/// The console's options from the command line's.
pub(crate) fn options(
    screen: &ScreenArgs,
    output: OutputArgs,
    around: &Surroundings<'_>,
) -> ConsoleOptions {
    ConsoleOptions {
        memory: memory(screen, around),
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

/// Where the console remembers what it sees.
fn memory(screen: &ScreenArgs, around: &Surroundings<'_>) -> Keep {
    match &around.data_directory {
        _ if screen.no_memory || around.config.memory == Remember::Off => Keep::Nowhere,
        Some(directory) => Keep::In(directory.clone()),
        None => Keep::Unusable(MemoryError::NoDirectory.to_string()),
    }
}
