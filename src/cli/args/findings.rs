//! The options of `statetop findings`.

use clap::Args;

use super::{AttachArgs, OutputArgs};

pub(super) const FINDINGS_EXAMPLES: &str = "\
EXAMPLES:
  statetop findings /data/ckpt/fraud_join
      What the checkpoint alone shows.
  statetop findings /data/ckpt/fraud_join --events /var/log/spark-events
      And the running query: its batches, tasks and confs.
  statetop findings fraud-agg
      A query of the configuration file, with its sources.
  */10 * * * *  statetop findings fraud-agg > fraud.txt || mail -s fraud ops < fraud.txt
      In a crontab: mail at error level.
  statetop findings TARGET --format json | jq -r '.findings[] | .id + \" \" + .summary'

Sources are read to their present end. Each finding has its section in
docs/findings.md: what it means, what it is judged by, what to do. Those that are
accepted are left out by the configuration file:

  [findings]
  allow = [\"changelog-off\"]     left out
  warn = [\"query-failed\"]       never more than a warning

EXIT CODES:
  0    read, and no finding is an error
  1    read, and at least one finding is an error
  2    wrong usage
  3    the target or a source cannot be read, or a source tells of no query
  130  given up at Ctrl-C";

/// `statetop findings TARGET`.
#[derive(Debug, Args)]
pub(crate) struct FindingsArgs {
    /// The checkpoint directory of a query, or its name in the configuration file
    pub(crate) target: String,
    /// Open every state file, as `statetop inspect --exact` does
    #[arg(long)]
    pub(crate) exact: bool,
    #[command(flatten)]
    pub(crate) attach: AttachArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
