//! The options of `statetop progress`, and the help that teaches them.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::super::args::TokenArgs;
use super::super::look::ColorChoice;
use crate::telemetry::number;
use crate::units::UnixMillis;

pub(crate) const EXAMPLES: &str = "\
EXAMPLES:
  statetop progress /logs/driver.log
      Every microbatch, restart and failure of every query in it.
  kubectl logs -f job/fraud | statetop progress -
      The same, as it happens.
  statetop progress /logs/listener.jsonl --follow --since 1h
  statetop progress driver.log --format jsonl |
    jq -r 'select(.kind == \"terminated\") | .error_class'
  statetop progress driver.log --format csv > batches.csv
  statetop progress /spark-logs --follow --since 1h
      Every application with a streaming query in a directory of event logs.
  statetop progress http://driver:4040 --follow
      A running query whose logs are out of reach.

SOURCES, alone or mixed:
  progress JSON  of a StreamingQueryListener, recentProgress or lastProgress;
                 one object per line, arrays, or printed on many lines
  drivers' logs  of log4j in any layout, or structured (JSON); progress is in
                 them at level INFO, failures and ignored confs always
  event logs     of Spark: one log, or a directory of many; compressed or not,
                 finished or growing; with what each partition did
  a Spark UI     http://host:4040, behind a gateway with its prefix; a history
                 server as http://host:18080/history/APP. It tells batches and
                 what arrives at each partition, no watermark and no rates
  pipelines      their event log on Databricks, exported as JSON
  recordings     of statetop record, compressed or not
  What is compressed with gzip is unpacked. Times without a zone are UTC.

BETWEEN THE BATCHES:
  restarted  the run id changed
  batch 9 left no progress
             An offline repartition takes a batch id and reports nothing; or
             the source lost the batch.
  not read   Something looks like an event and is none. Reading goes on.

EXIT CODES:
  0    events were read, whatever they tell
  2    wrong usage
  3    no source can be read, or no event is in them
  130  stopped at Ctrl-C";

/// `statetop progress SOURCE…`.
#[derive(Debug, Args)]
pub(crate) struct ProgressArgs {
    /// Files, event logs and directories of them, the address of a Spark UI; - is standard input
    #[arg(required = true, value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,
    /// Go on reading while the files grow, until Ctrl-C
    ///
    /// Files that are cut, rotated or not there yet are followed too. Standard input is always
    /// read as it comes. A Spark UI is asked every two seconds, less often when it is slow.
    #[arg(long)]
    pub(crate) follow: bool,
    /// Leave out what is older: so long ago, or a moment
    ///
    /// Such as 30m, 2h or 3d; 2026-11-30 or 2026-11-30T16:00:00Z, without a zone in UTC.
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub(crate) since: Option<Since>,
    /// Only this query, by its name, id or run id
    #[arg(long, value_name = "ID|NAME")]
    pub(crate) query: Option<String>,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
    /// Print in this format
    #[arg(long, value_name = "FORMAT", default_value = "table", help_heading = "Output")]
    pub(crate) format: ProgressFormat,
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Output", help = super::super::args::COLOR_HELP)]
    pub(crate) color: ColorChoice,
}

/// The answer to `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressFormat {
    /// For people
    Table,
    /// One JSON object per event; fields are documented in docs/json.md
    Jsonl,
    /// One line per event
    Csv,
}

/// The answer to `--since`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// So long before now.
    Ago(Duration),
    /// A moment.
    At(UnixMillis),
}

impl Since {
    /// The moment that is meant.
    pub(crate) fn moment(self, now: UnixMillis) -> UnixMillis {
        match self {
            Self::At(moment) => moment,
            Self::Ago(time) => {
                let millis = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
                UnixMillis(now.0.saturating_sub(millis))
            }
        }
    }
}

pub(crate) fn since(text: &str) -> Result<Since, String> {
    ago(text).map(Since::Ago).or_else(|| number::moment(text).map(Since::At)).ok_or_else(|| {
        "expected a time such as 30m, 2h or 3d, or a moment such as 2026-11-30T16:00:00Z".to_owned()
    })
}

/// `90s`, `30m`, `2h`, `3d`.
pub(crate) fn ago(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds: u64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    let number: u64 = number.trim().parse().ok()?;
    number.checked_mul(seconds).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_an_age_or_a_moment() {
        let now = UnixMillis(10_000_000_000);
        let at = |text| since(text).map(|since| since.moment(now).0).ok();
        assert_eq!(at("90s"), Some(now.0 - 90_000));
        assert_eq!(at("30m"), Some(now.0 - 1_800_000));
        assert_eq!(at("2h"), Some(now.0 - 7_200_000));
        assert_eq!(at("3d"), Some(now.0 - 259_200_000));
        assert_eq!(at("1970-01-02"), Some(86_400_000));
        assert_eq!(at("1970-01-02T00:00:01Z"), Some(86_401_000));
        for wrong in ["", "h", "2", "2w", "-1h", "soon", "99999999999999999999d", "é"] {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }
}
