//! The options of the commands that explain: explain, can-i, offsets.

use clap::Args;

use super::{OutputArgs, batch};
use crate::units::BatchId;

pub(super) const EXPLAIN_EXAMPLES: &str = "\
EXAMPLES:
  statetop explain STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_FAILED
      What it means, whether data is lost, what to do first and what not.
  statetop explain driver.log --checkpoint /data/ckpt/fraud_join
      Every error in a log, deepest cause first, about this checkpoint.
  kubectl logs driver | statetop explain -
  statetop explain 55019
      All conditions with an SQLSTATE.
  statetop explain driver.log --format json | jq '.errors[] | select(.deepest)'

Reads drivers' logs (plain, structured, gzip), stack traces and listener events
as they are, of any size. Known are the conditions of Spark 3.5 to 4.3 about
state, checkpoints and streams, those of Databricks and of the Kafka connector,
and messages without a class of Spark 3.x. docs/errors.md lists them.

EXIT CODES:
  0    every error that was found is explained
  1    no error was found, or one of those found is not known
  2    no error is known by that name; those that are alike are named
  3    the text or the checkpoint cannot be read";

pub(super) const CAN_I_EXAMPLES: &str = "\
EXAMPLES:
  statetop can-i
      Every change that is known, with its answer.
  statetop can-i add-filter
  statetop can-i 'change the grouping keys'
  statetop can-i change output mode --format json | jq -r '.changes[].answer'

EXIT CODES:
  0    yes
  1    no, or it depends
  2    no such change is known, or several fit equally well";

pub(super) const OFFSETS_EXAMPLES: &str = "\
EXAMPLES:
  statetop offsets /data/ckpt/orders_agg
      How far each source is read, and how a new checkpoint goes on from there.
  statetop offsets TARGET --starting-offsets > starting-offsets.json
      For Kafka: the JSON of the option startingOffsets, and nothing else.
  statetop offsets TARGET --batch 1838 --format json

These are the ends of the last committed batch, which are the beginnings of the
next one. The end of a batch that is planned and not committed is not printed: a
new query that began there would skip what that batch was to read.";

/// `statetop explain NAME|FILE|-`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// An error's name, an SQLSTATE, a file with a log or stack trace, or - for standard input
    #[arg(value_name = "NAME|FILE|-")]
    pub(crate) source: String,
    /// Say what the errors mean for this checkpoint
    #[arg(long, value_name = "TARGET")]
    pub(crate) checkpoint: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `statetop can-i CHANGE`.
#[derive(Debug, Args)]
pub(crate) struct CanIArgs {
    /// The change, by its name or in words; without one, all are listed
    #[arg(value_name = "CHANGE")]
    pub(crate) change: Vec<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `statetop offsets TARGET`.
#[derive(Debug, Args)]
pub(crate) struct OffsetsArgs {
    /// The checkpoint directory of a query
    pub(crate) target: String,
    /// The offsets after this batch [default: the last committed batch]
    #[arg(long, value_name = "N", value_parser = batch, allow_negative_numbers = true)]
    pub(crate) batch: Option<BatchId>,
    /// Print only the JSON of Kafka's option startingOffsets
    #[arg(long, conflicts_with = "format")]
    pub(crate) starting_offsets: bool,
    /// Only this source, by its id; needed for --starting-offsets where several are Kafka's
    #[arg(long, value_name = "ID")]
    pub(crate) source: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
