//! `statetop config`: where the configuration file is, what it says, what is wrong with it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use super::args::{ConfigArgs, ConfigCommand};
use super::exit::{CliError, Exit};
use super::surroundings::Surroundings;
use super::{clean, json};
use crate::config::{self, Config, ConfigError, SAMPLE};
use crate::figures::plural;

/// Runs the command.
pub(crate) fn run(args: &ConfigArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let path = config::path().ok_or(CliError::NoConfigDirectory)?;
    let shown = clean(&path.display().to_string()).into_owned();
    match args.command {
        ConfigCommand::Path => writeln!(around.out, "{shown}")?,
        ConfigCommand::Init => {
            begin(&path)?;
            writeln!(around.out, "{shown} is written; all of it is commented out.")?;
        }
        ConfigCommand::Check if !path.exists() => {
            writeln!(around.out, "There is no {shown}: statetop config init writes a sample.")?;
        }
        ConfigCommand::Check => {
            let config = Config::read(&path)?;
            let queries = plural(config.queries.len() as u64, "query", "queries");
            writeln!(around.out, "{shown} is fine: {queries}.")?;
        }
        ConfigCommand::Show => json::write(&Config::read(&path)?, around.out)?,
    }
    Ok(Exit::Fine)
}

/// Writes the sample where there is no file.
fn begin(path: &Path) -> Result<(), ConfigError> {
    let failed = |error: io::Error| ConfigError::Io { path: path.to_owned(), error };
    fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
    file.write_all(SAMPLE.as_bytes()).map_err(failed)
}
