//! The options of `statetop state`, and the help that teaches them.

use clap::{Args, ValueEnum};

use super::super::args::OperatorArg;
use super::super::look::ColorChoice;
use crate::units::{BatchId, PartitionId};

/// The rows that a table shows when `--limit` does not say.
const TABLE_ROWS: u64 = 100;

/// Follows the options in `--help`, before `state::row::filter::SYNTAX`.
pub(crate) const EXAMPLES: &str = "\
EXAMPLES:
  statetop state /data/ckpt/fraud_join --reveal
      The first 100 rows as a table. Without --reveal, key and value data are masked.
  statetop state TARGET --where \"account_id = 'acct-7' and value.count > 1000\"
      Where all grouping columns are given, only the key's one partition is opened.
  statetop state TARGET --where \"window.start >= '2026-11-01T10:00:00Z'\" --format csv
  statetop state TARGET --format jsonl | jq -c 'select(.undecodable)'
      Every row, exact; what cannot be decoded comes as hexadecimal bytes with the reason.
  statetop state TARGET --changed-in 1841 --format jsonl
      What batch 1841 put and removed, from its changelogs.";

/// `statetop state TARGET`.
#[derive(Debug, Clone, Args)]
pub(crate) struct StateArgs {
    /// The checkpoint directory of a query
    pub(crate) target: String,
    /// Only this stateful operator, by id (0 is nearest the sink) or by name
    #[arg(long, value_name = "ID|NAME", value_parser = super::super::args::operator)]
    pub(crate) operator: Option<OperatorArg>,
    /// Only stores of this name, `default` for most operators
    #[arg(long, value_name = "NAME")]
    pub(crate) store: Option<String>,
    /// Only this column family: a state variable of transformWithState, a side of a join
    #[arg(long, value_name = "NAME")]
    pub(crate) family: Option<String>,
    /// Only this partition
    #[arg(long, value_name = "N", value_parser = partition)]
    pub(crate) partition: Option<PartitionId>,
    /// Only rows for which this condition on key and value columns is true
    #[arg(long = "where", value_name = "EXPR")]
    pub(crate) condition: Option<String>,
    /// Stop after this many rows [default: 100 for a table, else no limit]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// The rows as this batch left them [default: the last committed batch]
    #[arg(long, value_name = "N", value_parser = super::super::args::batch, conflicts_with = "changed_in")]
    pub(crate) batch: Option<BatchId>,
    /// What this batch put and removed, from its changelogs
    #[arg(long, value_name = "N", value_parser = super::super::args::batch)]
    pub(crate) changed_in: Option<BatchId>,
    /// Show key and value data in a table; JSON lines and CSV always carry them
    #[arg(long)]
    pub(crate) reveal: bool,
    /// Also the families that Spark keeps for itself: indexes, counts, timers
    ///
    /// They are left out of every format, unless --family names one.
    #[arg(long)]
    pub(crate) internal: bool,
    /// Print in this format
    #[arg(long, value_name = "FORMAT", default_value = "table", help_heading = "Output")]
    pub(crate) format: RowFormat,
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Output", help = super::super::args::COLOR_HELP)]
    pub(crate) color: ColorChoice,
}

/// The answer to `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    /// For people; data masked without --reveal
    Table,
    /// One JSON object per row; fields are documented in docs/json.md
    Jsonl,
    /// One line per row, key and value as JSON
    Csv,
}

impl StateArgs {
    /// How many rows at most.
    pub(crate) fn rows(&self) -> Option<u64> {
        self.limit.or(match self.format {
            RowFormat::Table => Some(TABLE_ROWS),
            RowFormat::Jsonl | RowFormat::Csv => None,
        })
    }
}

fn partition(text: &str) -> Result<PartitionId, String> {
    text.parse()
        .map(PartitionId)
        .map_err(|_| "a partition is a whole number, such as 37".to_owned())
}
