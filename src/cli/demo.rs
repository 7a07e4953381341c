//! `statetop demo`: the console on a recorded query, or the overview of its last batch.
//!
//! It is small enough to be counted exactly all the time.

use super::args::{DemoArgs, Format, ReadArgs};
use super::console;
use super::exit::{CliError, Exit};
use super::inspect;
use super::read::read;
use super::surroundings::{Stream, Surroundings};
use crate::console::{ConsoleOptions, Counting, Keep};
use crate::demo::{Demo, Pace};

/// Runs the command.
pub(crate) fn run(args: &DemoArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let live = around.out_kind != Stream::Pipe && args.output.format.is_none();
    let pace = if live { Pace::Live { every: args.speed } } else { Pace::Complete };
    // Lives until the command ends: dropping it removes the unpacked files.
    let demo = Demo::start(pace, |folder| (around.open)(&folder.to_string_lossy()))?;
    if live {
        let options = ConsoleOptions {
            counting: Counting::Exact,
            // A recording is the same every time.
            memory: Keep::Nowhere,
            ..console::options(&args.screen, args.output, around)
        };
        return console::watch(demo.source(), options);
    }
    let all = ReadArgs { batch: None, operator: None, store: None, exact: true };
    let seen = read(&demo.source(), &all, around)?;
    let look = around.look(args.output.color);
    inspect::print(&seen, args.output.format.unwrap_or(Format::Table), look, around.out)?;
    Ok(Exit::Fine)
}
