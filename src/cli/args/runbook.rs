//! Options of `statetop runbook`.

use std::path::PathBuf;

use clap::Args;

use super::plan::size;
use super::preflight::{EngineArg, conf};
use crate::units::Bytes;

pub(crate) const RUNBOOK_EXAMPLES: &str = "\
EXAMPLES:
  statetop runbook /data/ckpt/fraud_join --to 400 -o fraud-resize.md
      The document for the review and for the night: why, the checks, the exact commands,
      every failure that can come beside its remedy, the way back.
  statetop runbook TARGET --to 400 --engine databricks --nodes 4 --node-memory-cap 2GB
  statetop runbook TARGET --to 400 | glow -

Everything in it is filled in from this checkpoint as it is now, and it says so: make it anew on
the day. It is written whatever the preflight says; when that is not \"ready\", the document
begins with why, and the exit code is 1.

EXIT CODES:
  0    written; the preflight says ready or no-op
  1    written; the preflight says anything else
  2    wrong usage, or the file exists
  3    the target cannot be read
  130  given up at Ctrl-C; nothing is written";

/// `statetop runbook TARGET --to N`.
#[derive(Debug, Args)]
pub(crate) struct RunbookArgs {
    /// The checkpoint directory of a query, or its name in the configuration file
    pub(crate) target: String,
    /// The partition count of the resize
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) to: u32,
    /// Write the document to this file, which must not exist [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write over the file
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// The engine that would resize [default: the one that the checkpoint shows]
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<EngineArg>,
    /// A conf of the session in which the resize would run; may be given several times
    ///
    /// What is not given is taken to be as the document's own commands set it.
    #[arg(long, value_name = "NAME=VALUE", value_parser = conf)]
    pub(crate) session_conf: Vec<(String, String)>,
    /// Nodes that the state-store instances are spread over
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) nodes: Option<u32>,
    /// Memory that the state stores of a node share where it is bounded, such as 2GB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) node_memory_cap: Option<Bytes>,
}
