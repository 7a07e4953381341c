//! `statetop scan --console`: the list as a screen, from which a checkpoint is opened.

use std::sync::Arc;

use super::super::args::ScanArgs;
use super::super::console;
use super::super::exit::{CliError, Exit};
use super::super::surroundings::{Stream, Surroundings};
use crate::console::scan::{self, Find};
use crate::console::{ConsoleExit, Watched};
use crate::reader::{ReadError, ScanNews, ScanRequest};
use crate::report::ScanReport;
use crate::task::Cancel;

/// Everything below some folders.
struct Folders(ScanRequest);

impl Find for Folders {
    fn roots(&self) -> &[String] {
        &self.0.roots
    }

    fn scan(
        &self,
        cancel: &Cancel,
        news: &(dyn Fn(ScanNews<'_>) + Sync),
    ) -> Result<ScanReport, ReadError> {
        crate::reader::scan(&self.0, cancel, news)
    }
}

/// Shows the list until the operator leaves it.
pub(super) fn run(
    args: &ScanArgs,
    request: ScanRequest,
    around: &Surroundings<'_>,
) -> Result<Exit, CliError> {
    if around.out_kind == Stream::Pipe {
        return Err(CliError::NoTerminal);
    }
    let options = console::options(&args.screen, args.output, around);
    let finder = Arc::new(Folders(request));
    let open = |path: &str| -> Result<Watched, ReadError> {
        let checkpoint = (around.open)(path)?;
        let known = around.config.queries.iter().filter(|query| query.checkpoint == path);
        let queries = known.flat_map(|query| console::configured(query, around)).collect();
        Ok(Watched { checkpoint, queries, rules: around.config.rules(path) })
    };
    match scan::run(finder, &open, &options)? {
        ConsoleExit::Quit | ConsoleExit::Back => Ok(Exit::Fine),
        ConsoleExit::Signal(number) => Ok(Exit::Signal(number)),
    }
}
