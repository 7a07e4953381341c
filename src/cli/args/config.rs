//! The options of `statetop config`.

use clap::{Args, Subcommand};

pub(super) const CONFIG_EXAMPLES: &str = "\
EXAMPLES:
  statetop config path
      Where the file is looked for: STATETOP_CONFIG, else ~/.config/statetop/config.toml.
  statetop config init
      Write a commented sample there, if there is no file yet.
  statetop config check
      Tell everything that is wrong with it, with lines.
  statetop config show
      What it says, as it is understood.

A query in the file has a name: `statetop fraud-agg` opens it, and `statetop`
alone lists all of them.";

/// `statetop config`.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

/// What to do with the configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print where the file is looked for
    Path,
    /// Write a commented sample, if there is no file yet
    Init,
    /// Tell everything that is wrong with the file
    Check,
    /// Print what the file says
    Show,
}
