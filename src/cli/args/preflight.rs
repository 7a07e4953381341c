//! Options of `statetop preflight`.

use clap::{Args, ValueEnum};

use super::OutputArgs;
use super::plan::size;
use crate::preflight::{Engine, Session};
use crate::units::Bytes;

pub(crate) const PREFLIGHT_EXAMPLES: &str = "\
EXAMPLES:
  statetop preflight /data/ckpt/fraud_join --to 400
      Would a resize to 400 go through, and would the state be right afterwards? Reads
      only; the query may be running.
  statetop preflight TARGET --to 400 --engine databricks --nodes 4 --node-memory-cap 2GB
  statetop preflight TARGET --to 400 \\
      --session-conf spark.sql.streaming.stateStore.checkpointFormatVersion=2
      With the confs that the session of the resize would have: some decide how it ends.
  statetop preflight TARGET --to 400 --format json | jq '.outcome, .error_class'

OUTCOMES:
  ready             the engine would do it, and the state would be right
  no-op             the count is in force already
  refused           the engine would say why, and change nothing
  would break       the engine would fail after it has written: the query would not start
                    any more, and only the same count could be tried again
  would lose state  the engine would succeed, and state or output would be lost
  unknown           not everything that decides is known; the checks say what is missing

The checks are made in the engine's own order; the first one that stops it decides. Checks that
no engine makes follow, and decide nothing.

EXIT CODES:
  0    ready
  1    refused, would break, would lose state, or unknown
  2    wrong usage
  3    the target cannot be read
  4    no-op
  130  given up at Ctrl-C; the checks made until then are printed";

/// `statetop preflight TARGET --to N`.
#[derive(Debug, Args)]
pub(crate) struct PreflightArgs {
    /// The checkpoint directory of a query
    pub(crate) target: String,
    /// The partition count that a resize would ask for
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(i64).range(..=1_000_000)
    )]
    pub(crate) to: i64,
    /// The engine that would resize [default: the one that the checkpoint shows]
    ///
    /// Databricks where the provider's class or the address is of Databricks, else spark-4.3.
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<EngineArg>,
    /// A conf of the session in which the resize would run; may be given several times
    ///
    /// What is not given is taken to have its default. Pinned confs come from the checkpoint.
    #[arg(long, value_name = "NAME=VALUE", value_parser = conf)]
    pub(crate) session_conf: Vec<(String, String)>,
    /// What the repartition is called with: false skips a batch that failed
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub(crate) enforce_exactly_once_sink: bool,
    /// Do not rehash every key: whether the count helps is then unknown
    #[arg(long)]
    pub(crate) quick: bool,
    /// Nodes that the state-store instances would be spread over
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) nodes: Option<u32>,
    /// Memory that the state stores of a node share where it is bounded, such as 2GB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) node_memory_cap: Option<Bytes>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The answer to `--engine`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineArg {
    /// Databricks Runtime 18: a conf, then a start
    Databricks,
    /// Open-source Spark 4.2: the repartition of its checkpoint manager
    #[value(name = "spark-4.2")]
    Spark42,
    /// Open-source Spark 4.3: the same
    #[value(name = "spark-4.3")]
    Spark43,
}

impl From<EngineArg> for Engine {
    fn from(arg: EngineArg) -> Self {
        match arg {
            EngineArg::Databricks => Self::Databricks,
            EngineArg::Spark42 => Self::Spark42,
            EngineArg::Spark43 => Self::Spark43,
        }
    }
}

pub(super) fn conf(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            let (name, value) = (name.trim(), value.trim());
            Session::check(name, value)?;
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("expected NAME=VALUE, such as spark.sql.shuffle.partitions=200".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_spark_would_not_take_are_refused() {
        const FORMAT: &str = "spark.sql.streaming.stateStore.checkpointFormatVersion";
        const CHANGELOG: &str =
            "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled";
        for good in [format!("{FORMAT}=2"), format!("{CHANGELOG}=TRUE"), "spark.x=y".to_owned()] {
            assert!(conf(&good).is_ok(), "{good}");
        }
        for bad in [format!("{FORMAT}=banana"), format!("{CHANGELOG}=1"), "spark.x".to_owned()] {
            assert!(conf(&bad).is_err(), "{bad}");
        }
    }
}
