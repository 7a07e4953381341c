//! The options of the commands about a query's past: pauses and history.

use clap::Args;

use super::{OutputArgs, TokenArgs};

pub(super) const PAUSES_EXAMPLES: &str = "\
EXAMPLES:
  statetop pauses /data/ckpt/fraud_join
      Every resize that was seen, and how long the next may take.
  statetop pauses TARGET --events /spark-logs/eventlog_v2_app-1
      With what the query itself told: batch times before and after, and on
      Databricks the pause. May be given several times.
  statetop pauses TARGET --progress driver.log
      Spark's own time of each offline repartition is in its driver's log.
  statetop pauses TARGET --format json | jq '.estimate'
  statetop pauses TARGET --format csv > pauses.csv

WHERE THE TIMES COME FROM:
  entries   the times of the log entries' files: the pause is from the offset
            entry of the repartition batch to its commit, the outage from the
            commit before it to the first one after it
  driver    the driver's log of an offline repartition
  progress  durationMs[\"controlBatch.REPARTITION\"] of the batch after it
  Of several the most direct counts: progress, driver, entries. An outage is
  that of the entries where they are still there. Batch times are what the
  query reports where a source tells, else from offset to commit entry.

The estimate is a line through the pauses that were measured, with a range. One
pause alone leaves open what part of it grows with the rows, so its range is wide.
Without any there is no estimate: rehearse on a copy of the checkpoint.

What was seen is remembered (see statetop history), so that it outlives the
batches that the checkpoint retains; --forgetful neither reads nor adds to it.";

pub(super) const HISTORY_EXAMPLES: &str = "\
EXAMPLES:
  statetop history /data/ckpt/fraud_join
      Rows, batch time and skew over time, and every resize.
  statetop history 10e204a2-7f3c-4c1e-9d0b-2f1d5a6b7c8d
      The same by query id, when the checkpoint is gone.
  statetop history TARGET --format csv > history.csv
  statetop history TARGET --forget
      Remove what is remembered of this query.

Kept in one file per query id below the data directory (STATETOP_DATA_DIR, else
~/.local/share/statetop), at most a few MB: samples become fewer with age,
resizes are kept. Never in the checkpoint. No key or value is ever in it.";

/// `statetop pauses TARGET`.
#[derive(Debug, Args)]
pub(crate) struct PausesArgs {
    /// The checkpoint directory of a query
    pub(crate) target: String,
    /// Neither use nor add to what is remembered of the query
    #[arg(long)]
    pub(crate) forgetful: bool,
    /// Add what this event log of the query tells; may be given several times
    #[arg(long, value_name = "SOURCE", help_heading = "What the query told")]
    pub(crate) events: Vec<String>,
    /// Add what progress JSON, a driver's log or a recording tells; - is standard input
    #[arg(long, value_name = "SOURCE", help_heading = "What the query told")]
    pub(crate) progress: Vec<String>,
    /// Add what the Spark UI of the running application tells: the counts only
    #[arg(long, value_name = "URL", help_heading = "What the query told")]
    pub(crate) ui: Option<String>,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `statetop history TARGET`.
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The checkpoint directory of a query, or its query id
    pub(crate) target: String,
    /// Remove what is remembered
    #[arg(long, conflicts_with = "format")]
    pub(crate) forget: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
