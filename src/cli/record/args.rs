//! The options of `statetop record` and `statetop replay`, and the help that teaches them.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::super::args::{ScreenArgs, TokenArgs};
use super::super::look::ColorChoice;
use super::super::progress::args::{ProgressFormat, Since, ago, since};

pub(crate) const RECORD_EXAMPLES: &str = "\
EXAMPLES:
  statetop record /spark-logs/eventlog_v2_app-1 -o incident.zst
      What the log has. An ending of .zst compresses.
  statetop record http://driver:4040 driver.log -o incident.zst --for 10m
      What two sources tell within ten minutes.
  kubectl logs -f job/fraud | statetop record - -o incident.zst --follow
      Until Ctrl-C.
  statetop replay incident.zst
      At home: the same again, ten times as fast.

WHAT IS IN IT: lines of JSON, each an event; the first says what the file is.
  Kept      ids and names of queries, batches, times, counts and bytes, what
            each partition did, hosts and executors, names of topics, tables
            and paths, offsets, Spark's confs, classes of errors, stack traces
  Left out  passwords, tokens and keys in addresses, settings and JAAS texts;
            addresses of mail; messages of exceptions, since they may quote
            data; values that the program observes (observedMetrics)
  With --keep-text the messages and observed values stay, but for what looks
  like a password, a token or an address of mail: look before you send it.
  Keys and rows of the state are never in it.

EXIT CODES:
  0    recorded; with --follow and --for also after Ctrl-C
  2    wrong usage, or the file is there already
  3    no source can be read, no event is in them, or the file cannot be written
  130  stopped at Ctrl-C before what there is was read";

pub(crate) const REPLAY_EXAMPLES: &str = "\
EXAMPLES:
  statetop replay incident.zst
      Every batch, restart and failure, ten times as fast as it happened.
  statetop replay incident.zst /data/ckpt-copy --speed 60
      In the console, over a copy of the checkpoint: an hour in a minute.
  statetop replay incident.zst --format jsonl | jq 'select(.exception)'
      At once, into a pipe; fields are documented in docs/json.md.
  statetop pauses TARGET --progress incident.zst
      A recording is a source like any other.

A pause of the query is never waited for longer than five seconds. What is
damaged in a recording is told with its line, and the rest is replayed. Logs and
progress JSON can be replayed too.

EXIT CODES:
  0    replayed
  2    wrong usage
  3    it cannot be read, or no event is in it
  130  stopped at Ctrl-C";

/// `statetop record SOURCE… -o FILE`.
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Files, event logs and directories of them, the address of a Spark UI; - is standard input
    #[arg(required = true, value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,
    /// The file to make; compressed with zstd when its name ends in .zst
    #[arg(short, long, required = true, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Go on for so long, such as 90s, 10m or 2h
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    pub(crate) time: Option<Duration>,
    /// Go on until Ctrl-C
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
    /// Keep messages of exceptions and observed values, which may quote data
    #[arg(long)]
    pub(crate) keep_text: bool,
    /// Replace the file if it is there
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
}

/// `statetop replay FILE [TARGET]`.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// A recording
    pub(crate) file: String,
    /// The checkpoint directory of the query, to be shown in the console with it
    pub(crate) target: Option<String>,
    /// So many times as fast as it happened [default: 10; into a pipe at once]
    #[arg(long, value_name = "N", value_parser = speed)]
    pub(crate) speed: Option<f64>,
    /// Print in this format
    #[arg(long, value_name = "FORMAT", help_heading = "Output")]
    pub(crate) format: Option<ProgressFormat>,
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Output", help = super::super::args::COLOR_HELP)]
    pub(crate) color: ColorChoice,
    #[command(flatten)]
    pub(crate) screen: ScreenArgs,
}

fn time(text: &str) -> Result<Duration, String> {
    let hint = || "expected a time such as 90s, 10m or 2h".to_owned();
    ago(text).filter(|time| !time.is_zero()).ok_or_else(hint)
}

fn speed(text: &str) -> Result<f64, String> {
    let speed: Option<f64> = text.trim_end_matches(['x', '×']).parse().ok();
    let is_fit = |speed: &f64| (0.01..=1e6).contains(speed);
    speed.filter(is_fit).ok_or_else(|| "expected a number from 0.01 to 1000000".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_and_times_are_above_nothing() {
        assert_eq!(speed("10"), Ok(10.0));
        assert_eq!(speed("0.5x"), Ok(0.5));
        assert!(["0", "-1", "NaN", "inf", "fast", ""].iter().all(|text| speed(text).is_err()));
        assert_eq!(time("10m"), Ok(Duration::from_secs(600)));
        assert!(["0s", "10", "ten"].iter().all(|text| time(text).is_err()));
    }
}
