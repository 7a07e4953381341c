//! The command line as clap sees it: commands, options, and the help that teaches them.
//!
//! One struct per command, made from shared groups of options. What a command does is in
//! the file of its name. Must not know about readers or reports.

mod attach;
mod config;
mod explain;
mod findings;
mod past;
mod plan;
mod preflight;
mod runbook;

use std::ffi::OsString;
use std::time::Duration;

use clap::error::{ContextKind, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

pub(crate) use self::attach::{AttachArgs, TokenArgs, credentials};
use self::config::CONFIG_EXAMPLES;
pub(crate) use self::config::{ConfigArgs, ConfigCommand};
use self::explain::{CAN_I_EXAMPLES, EXPLAIN_EXAMPLES, OFFSETS_EXAMPLES};
pub(crate) use self::explain::{CanIArgs, ExplainArgs, OffsetsArgs};
use self::findings::FINDINGS_EXAMPLES;
pub(crate) use self::findings::FindingsArgs;
use self::past::{HISTORY_EXAMPLES, PAUSES_EXAMPLES};
pub(crate) use self::past::{HistoryArgs, PausesArgs};
use self::plan::{KEYS_EXAMPLES, PLAN_EXAMPLES, VERIFY_EXAMPLES};
pub(crate) use self::plan::{KeysArgs, PlanArgs, VerifyArgs, WeighArg};
use self::preflight::PREFLIGHT_EXAMPLES;
pub(crate) use self::preflight::PreflightArgs;
use self::runbook::RUNBOOK_EXAMPLES;
pub(crate) use self::runbook::RunbookArgs;
use super::look::ColorChoice;
use super::progress::args::{EXAMPLES as PROGRESS_EXAMPLES, ProgressArgs};
use super::record::args::{RECORD_EXAMPLES, REPLAY_EXAMPLES, RecordArgs, ReplayArgs};
use super::state::args::StateArgs;
use super::text;
use crate::units::{BatchId, OperatorId};

const LONG_ABOUT: &str = "\
The operator console for stateful streaming queries: where the state is, which partition \
is hot and which key makes it so, and whether another partition count would help. Reads Spark Structured Streaming checkpoints as they lie on \
disk, without a JVM, and never writes to them.

TARGET is the checkpoint directory of a query, the one with `offsets` and `commits` in it, or the \
name that it has in the configuration file (statetop config).";

const EXAMPLES: &str = "\
EXAMPLES:
  statetop /data/ckpt/fraud_join
      Watch a query in the console; ? shows the keys, q quits.
  statetop /data/ckpt/fraud_join --events /var/log/spark/eventlog_v2_app-1
      Attach to the running query too: 5 shows its batches.
  kubectl logs -f driver | statetop /data/ckpt/fraud_join --progress -
  statetop demo
      Watch a recorded query with a hot partition.
  statetop inspect /data/ckpt/fraud_join
      Is anything wrong, and where? Batches, state and findings on one page.
  statetop partitions /data/ckpt/fraud_join --exact | head -20
      Which partitions are the largest? Every row counted.
  statetop keys /data/ckpt/fraud_join --by account_id
      Which keys make it so?
  statetop plan /data/ckpt/fraud_join --to 400
      Would 400 partitions help? Every key rehashed.
  statetop preflight /data/ckpt/fraud_join --to 400
      Would the resize go through, and would the state be right afterwards?
  statetop state TARGET --where \"account_id = 'acct-7'\" --reveal
      The rows of one key, from the one partition that has them.
  statetop verify TARGET
      Is every file, row and key as it should be?
  statetop findings TARGET --events /var/log/spark-events
      What is wrong with the checkpoint and with the running query?
  statetop pauses TARGET
      How long did past resizes take, and how long may the next?
  statetop scan /data/ckpt
      Which of these queries should be resized?
  statetop inspect TARGET --batch 1838 --format json
      The state as it was after batch 1838, as far as the files reach.
  statetop explain driver.log --checkpoint TARGET
      What do these errors mean, here?
  kubectl logs -f job/fraud | statetop progress -
      What does the running query say? Reads logs and progress JSON.
  statetop record http://driver:4040 -o incident.zst --for 10m
      Take it home, and look again: statetop replay incident.zst

EXIT CODES:
  0    read, and nothing broken was found (verify reads everything)
  1    read, and at least one finding is an error
  2    wrong usage, or no such operator, store or batch
  3    the target cannot be read
  130  given up at Ctrl-C";

const INSPECT_EXAMPLES: &str = "\
EXAMPLES:
  statetop inspect /data/ckpt/fraud_join
  statetop inspect /data/ckpt/fraud_join --exact
      Open every store and count, instead of taking the snapshots' own counts.
  statetop inspect TARGET --format json | jq '.findings[].summary'
  statetop inspect TARGET > report.txt || echo 'something is broken'";

const PARTITIONS_EXAMPLES: &str = "\
EXAMPLES:
  statetop partitions /data/ckpt/fraud_join | head -20
      Statistics and the largest partitions of the first store.
  statetop partitions TARGET --operator dedupe --exact
      Every row of one operator counted.
  statetop partitions TARGET --format csv > partitions.csv
  statetop partitions TARGET --format json | jq '.operators[].stores[].total'";

const SCAN_EXAMPLES: &str = "\
EXAMPLES:
  statetop scan /data/ckpt s3://team-bucket/checkpoints
      Which queries should be resized? Most to gain first.
  statetop scan /data/ckpt --console
      The same as a screen: Enter opens a checkpoint, Esc comes back.
  statetop scan /data --depth 8 --limit 20
  statetop scan /data --format json | jq '.checkpoints[] | {path, standing}'
  statetop scan /data --format csv > queries.csv

RANKED BY:
  large    more than 1 GB per partition in a store
  skewed   the largest partition has more than twice the mean, by rows
  empty    100 instances or more, of fewer than 1,000 rows each
  Within these, by how far the bound is exceeded; among equals, an old count
  (the same in every retained batch) comes first. Checkpoints that cannot be
  resized follow, and those with nothing to gain are last.

EXIT CODES:
  0    all were read, and none has an error (statetop inspect PATH tells them)
  1    a checkpoint has an error, or something below a root could not be read
  2    wrong usage
  3    no root can be read
  130  stopped at Ctrl-C; what was read is printed and marked partial";

const DEMO_EXAMPLES: &str = "\
EXAMPLES:
  statetop demo
  statetop demo --speed 1s
  statetop demo | less
      The same report as a table.";

pub(super) const COLOR_HELP: &str = "When to use colours; auto honours NO_COLOR";

/// Watch, inspect and measure the state of a streaming query.
#[derive(Debug, Parser)]
#[command(
    name = "statetop",
    version,
    long_about = LONG_ABOUT,
    after_help = "Try `statetop demo`, or --help for examples and exit codes.",
    after_long_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    arg_required_else_help = true,
    max_term_width = 80
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) console: ConsoleArgs,
}

fn state_help() -> String {
    format!("{}\n\n{}", super::state::args::EXAMPLES, crate::state::row::filter::SYNTAX)
}

/// What to do other than open the console.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Watch the bundled recording of a real query
    #[command(after_long_help = DEMO_EXAMPLES)]
    Demo(DemoArgs),
    /// Print the overview: batches, operators, stores, findings
    #[command(after_long_help = INSPECT_EXAMPLES)]
    Inspect(InspectArgs),
    /// Print how each store's state is spread over its partitions
    #[command(after_long_help = PARTITIONS_EXAMPLES)]
    Partitions(PartitionsArgs),
    /// Print the rows of state stores
    #[command(after_long_help = state_help())]
    State(StateArgs),
    /// Print the heaviest keys of an operator or a partition
    #[command(after_long_help = KEYS_EXAMPLES)]
    Keys(KeysArgs),
    /// Print what another partition count would do
    #[command(after_long_help = PLAN_EXAMPLES)]
    Plan(PlanArgs),
    /// Say what a resize would come to, before the query is stopped
    #[command(after_long_help = PREFLIGHT_EXAMPLES)]
    Preflight(PreflightArgs),
    /// The document for the review and the night of a resize, filled in from this checkpoint
    #[command(after_long_help = RUNBOOK_EXAMPLES)]
    Runbook(RunbookArgs),
    /// Check every file, checksum, row and key; ends with a one-line verdict
    #[command(after_long_help = VERIFY_EXAMPLES)]
    Verify(VerifyArgs),
    /// Print what is wrong with a checkpoint and its running query; for cron
    #[command(after_long_help = FINDINGS_EXAMPLES)]
    Findings(FindingsArgs),
    /// Print every resize that was seen, and how long the next may take
    #[command(after_long_help = PAUSES_EXAMPLES)]
    Pauses(PausesArgs),
    /// Print what is remembered of a query: rows, batch time and skew over time
    #[command(after_long_help = HISTORY_EXAMPLES)]
    History(HistoryArgs),
    /// Explain errors: by name, or all in a log or stack trace
    #[command(after_long_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArgs),
    /// Say whether a change of the query is allowed on the same checkpoint
    #[command(after_long_help = CAN_I_EXAMPLES)]
    CanI(CanIArgs),
    /// Print how far each source is read, for a new checkpoint to go on from
    #[command(after_long_help = OFFSETS_EXAMPLES)]
    Offsets(OffsetsArgs),
    /// Show, check or begin the configuration file
    #[command(after_long_help = CONFIG_EXAMPLES)]
    Config(ConfigArgs),
    /// Find every checkpoint below some folders, ranked by what a resize would bring
    #[command(after_long_help = SCAN_EXAMPLES)]
    Scan(ScanArgs),
    /// Print what running queries tell: microbatches, restarts, failures
    #[command(after_long_help = PROGRESS_EXAMPLES)]
    Progress(ProgressArgs),
    /// Keep what running queries tell in a file, to take an incident home
    #[command(after_long_help = RECORD_EXAMPLES)]
    Record(RecordArgs),
    /// Show a recording again, at its own pace or faster
    #[command(after_long_help = REPLAY_EXAMPLES)]
    Replay(ReplayArgs),
}

/// `statetop TARGET`.
#[derive(Debug, Args)]
pub(crate) struct ConsoleArgs {
    /// The checkpoint directory of a query
    ///
    /// On a terminal it is opened in the console. With --format, or when the output goes to
    /// a file or pipe, the overview is printed instead, as `statetop inspect` does.
    #[arg(required = true)]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) attach: AttachArgs,
    #[command(flatten)]
    pub(crate) screen: ScreenArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `statetop demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Time between two batches of the recording
    #[arg(long, value_name = "TIME", default_value = "4s", value_parser = interval)]
    pub(crate) speed: Duration,
    #[command(flatten)]
    pub(crate) screen: ScreenArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `statetop inspect TARGET`.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// The checkpoint directory of a query
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `statetop partitions TARGET`.
#[derive(Debug, Args)]
pub(crate) struct PartitionsArgs {
    /// The checkpoint directory of a query
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `statetop scan ROOT…`.
#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    /// Folders to look through: plain paths or cloud addresses
    ///
    /// A folder may be a checkpoint itself. Parts of checkpoints and partitions of tables are
    /// not searched, and symbolic links are not followed.
    #[arg(required = true, value_name = "ROOT")]
    pub(crate) roots: Vec<String>,
    /// Levels below each root to look at; 0 is the root alone
    #[arg(long, value_name = "N", default_value_t = 6)]
    pub(crate) depth: u32,
    /// Print only the first N checkpoints; all are scanned
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Print all columns, however long the lines
    #[arg(long)]
    pub(crate) wide: bool,
    /// Show the list as a screen, on which Enter opens a checkpoint in the console
    ///
    /// Checkpoints are listed while the scan is still running; Esc stops it and keeps what was
    /// read. Needs a terminal.
    #[arg(long, conflicts_with_all = ["limit", "wide", "format"])]
    pub(crate) console: bool,
    #[command(flatten)]
    pub(crate) screen: ScreenArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What to read and how deep.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct ReadArgs {
    /// Show the state as this batch left it [default: the last committed batch]
    #[arg(long, value_name = "N", value_parser = batch, allow_negative_numbers = true)]
    pub(crate) batch: Option<BatchId>,
    /// Only this stateful operator, by id (0 is nearest the sink) or by name
    #[arg(long, value_name = "ID|NAME", value_parser = operator)]
    pub(crate) operator: Option<OperatorArg>,
    /// Only stores of this name, `default` for most operators
    #[arg(long, value_name = "NAME")]
    pub(crate) store: Option<String>,
    /// Count every row: open the stores and replay changelogs
    ///
    /// Without it, row counts are what the newest snapshot of each partition says of itself,
    /// which costs milliseconds; changelogs after the snapshot are not in them.
    #[arg(long)]
    pub(crate) exact: bool,
}

/// How the console looks and how often it reads.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Console")]
pub(crate) struct ScreenArgs {
    /// How often the console looks for new batches
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = interval)]
    pub(crate) refresh: Duration,
    /// A built-in theme by name, or a theme file
    ///
    /// Built in: default, light, high-contrast, colour-blind, mono.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) theme: Option<String>,
    /// Draw with ASCII characters only
    #[arg(long)]
    pub(crate) ascii: bool,
    /// Neither remember what is seen nor show what is remembered (statetop history)
    #[arg(long)]
    pub(crate) no_memory: bool,
}

/// How plain output looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Print in this format [default: table]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    #[arg(long, value_name = "WHEN", default_value = "auto", help = COLOR_HELP)]
    pub(crate) color: ColorChoice,
}

/// The answer to `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// The whole report; fields are documented in docs/json.md
    Json,
    /// One line per store, partition or checkpoint
    Csv,
}

/// The answer to `--operator`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OperatorArg {
    /// As `stateOperators` and the `state` directory number them.
    Id(OperatorId),
    /// As the physical plan calls it.
    Name(String),
}

/// An error that names the likely mistake: clap takes a mistyped command for a target, and
/// then complains about the target's second argument.
pub(crate) fn friendlier(error: clap::Error, args: &[OsString]) -> clap::Error {
    let second = error.get(ContextKind::InvalidSubcommand);
    let first = args.iter().skip(1).find(|arg| !arg.as_encoded_bytes().starts_with(b"-"));
    let (ErrorKind::ArgumentConflict, Some(second), Some(first)) = (error.kind(), second, first)
    else {
        return error;
    };
    let mut command = Cli::command();
    let commands: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    let first = first.to_string_lossy();
    let message = if commands.contains(&first.as_ref()) {
        format!("options come after the command: statetop {first} ...")
    } else {
        format!(
            "'{}' is not a command, and a target stands alone: '{second}' is too much\n\n  \
             commands: {}",
            text::clean(&first),
            commands.join(", ")
        )
    };
    command.error(ErrorKind::UnknownArgument, message)
}

pub(super) fn batch(text: &str) -> Result<BatchId, String> {
    text.parse().map(BatchId).map_err(|_| "a batch id is a whole number, such as 1841".to_owned())
}

#[expect(clippy::unnecessary_wraps, reason = "clap expects a Result")]
pub(super) fn operator(text: &str) -> Result<OperatorArg, String> {
    Ok(text
        .parse()
        .map_or_else(|_| OperatorArg::Name(text.to_owned()), |id| OperatorArg::Id(OperatorId(id))))
}

/// `500ms`, `2s`, `1.5s`, `1m`, or seconds without a unit; from 100 ms to an hour.
fn interval(text: &str) -> Result<Duration, String> {
    let hint = || "expected a time from 100ms to 1h, such as 500ms, 2s or 1m".to_owned();
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(unit_at).ok_or_else(hint)?;
    let scale = match unit {
        "ms" => 0.001,
        "s" | "" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(hint()),
    };
    let seconds = number.trim().parse::<f64>().map_err(|_| hint())? * scale;
    if (0.1..=3600.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(hint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times_have_units_and_bounds() {
        let millis = |text| interval(text).ok().map(|time| time.as_millis());
        assert_eq!(millis("500ms"), Some(500));
        assert_eq!(millis("2s"), Some(2000));
        assert_eq!(millis("1.5s"), Some(1500));
        assert_eq!(millis("3"), Some(3000));
        assert_eq!(millis("1m"), Some(60_000));
        for wrong in ["", "s", "0", "-1s", "99ms", "2h", "1e99", "NaN", "inf", "2 days", "2é"] {
            assert_eq!(millis(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn operators_go_by_id_or_name() {
        assert_eq!(operator("3"), Ok(OperatorArg::Id(OperatorId(3))));
        assert_eq!(operator("dedupe"), Ok(OperatorArg::Name("dedupe".to_owned())));
    }

    #[test]
    fn a_target_may_stand_alone_or_after_a_command() {
        let parse = |args: &[&str]| {
            Cli::try_parse_from(std::iter::once("statetop").chain(args.iter().copied()))
        };
        assert_eq!(parse(&["/ckpt"]).unwrap().console.target.as_deref(), Some("/ckpt"));
        assert!(matches!(parse(&["inspect", "/c"]).unwrap().command, Some(Command::Inspect(_))));
        assert!(matches!(parse(&["demo"]).unwrap().command, Some(Command::Demo(_))));
        assert!(parse(&["--exact"]).is_err());
        assert!(parse(&["inspect"]).is_err());
        assert!(parse(&[]).is_err());
    }
}
