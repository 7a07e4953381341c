//! Options of `keys` and `plan`, and the words they are written in.

use clap::Args;

use super::{OperatorArg, OutputArgs, batch, operator};
use crate::units::{BatchId, Bytes, PartitionId};

/// Counts that one curve may have.
const MOST_COUNTS: usize = 1000;
/// Counts that a range without a step comes to.
const RANGE_POINTS: u32 = 100;

pub(crate) const KEYS_EXAMPLES: &str = "\
EXAMPLES:
  statetop keys /data/ckpt/fraud_join --by account_id
      The twenty accounts with the most rows, over all their windows.
  statetop keys TARGET --by account_id,window --partition 37 --reveal
      What fills partition 37? Keys in full.
  statetop keys TARGET --by account_id --weigh updates
      Which keys were written most often in the last batches: the nearest thing to traffic
      that a checkpoint holds. A hot key of an aggregation shows here, not in rows: however
      many events it has, it is one row for each window.
  statetop keys TARGET --by account_id --weigh value:count
      Weighed by an aggregate that the state itself keeps.
  statetop keys TARGET --by account_id --format json | jq '.keys[0].key'

Counts are exact as long as the keys fit --memory. Beyond that the lightest are forgotten, and
weights are shown with the error that this can have made, such as 81,204 ± 120: the true weight
is 81,204 or at most 120 more.

Rows are rows of the store: a list of a key is one row however many elements it has (weigh it by
bytes), and the start of a session is no grouping column, since it plays no part in the hash.
CSV and JSON have keys in full.";

pub(crate) const PLAN_EXAMPLES: &str = "\
EXAMPLES:
  statetop plan /data/ckpt/fraud_join --to 400
      Every key rehashed: the exact layout at 400 partitions, and whether it helps.
  statetop plan TARGET --curve 50..800
      How uneven would a hundred counts be? Recommends one.
  statetop plan TARGET --curve 50..800:25 --cores 96
      Steps of 25, and all counts that give 96 cores one to two partitions each.
  statetop plan TARGET --to 400 --nodes 4 --node-memory-cap 2GB --price 0.005
      What 400 costs: instances, memory, objects written.

VERDICTS:
  uniform_growth  evenly spread and large: more partitions make each smaller
  collision       a few keys share a partition by chance; another count parts them
  hot_key         one key is too much for any partition; no count splits it
  balanced        nothing to gain
  wrong_knob      the count is not what is wrong

FORMULAS:
  partition           pmod(murmur3(grouping columns), count)
  instances           partitions x stores of the operator
  instances per node  instances / nodes, rounded up
  memory, unbounded   instances per node x (2 write buffers of 64 MB + 8 MB block cache):
                      at most, without spark...rocksdb.boundedMemoryUsage
  memory, bounded     the cap, at any count; an instance has cap / instances per node
  objects per batch   files that the last batches wrote / those batches, x partitions /
                      partitions now
  objects per day     objects per batch x 86,400 s / mean seconds between those batches
  cost per day        objects per day / 1000 x price";

pub(crate) const VERIFY_EXAMPLES: &str = "\
EXAMPLES:
  statetop verify /data/ckpt/fraud_join && echo sound
      Reads everything: the logs, each snapshot, table file and changelog that is retained,
      checksums of files and rows, and every key and value of the last committed batch.
  statetop verify TARGET --format json | jq '.faults[].detail'

WHAT IS CHECKED:
  files      sizes, Spark's checksum files, block checksums, end marks, that every retained
             batch can be put together from what is there
  rows       keys and values decode as their schema says; row checksums, where there are some
  placement  each key lies in the partition that its grouping key hashes to

Exit code 0 only when nothing is wrong.";

/// `statetop keys TARGET`.
#[derive(Debug, Args)]
pub(crate) struct KeysArgs {
    /// The checkpoint directory of a query
    pub(crate) target: String,
    /// Grouping columns to sum rows up by, one or several [default: all of them]
    ///
    /// A nested column goes by its path: window.start.
    #[arg(long, value_name = "COL", value_delimiter = ',')]
    pub(crate) by: Vec<String>,
    /// How many keys to name
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) top: u32,
    /// What keys are weighed by: rows, bytes, updates or value:FIELD
    ///
    /// updates counts how often a key was written over the last batches, by their changelogs.
    /// value:FIELD sums up a whole number that the state keeps, such as value:count.
    #[arg(long, value_name = "MEASURE", default_value = "rows", value_parser = weigh)]
    pub(crate) weigh: WeighArg,
    /// Only this partition
    #[arg(long, value_name = "N", value_parser = partition)]
    pub(crate) partition: Option<PartitionId>,
    /// Memory for keys; beyond it the result has an error bound
    #[arg(long, value_name = "SIZE", default_value = "224MB", value_parser = size)]
    pub(crate) memory: Bytes,
    /// Show keys in full; JSON always does
    #[arg(long)]
    pub(crate) reveal: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `statetop plan TARGET`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The checkpoint directory of a query
    pub(crate) target: String,
    /// The partition count to look at [default: the recommended one]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) to: Option<u32>,
    /// Counts to compare: 50..800 (a hundred of them), 50..800:25 (in steps), or 100,200,400
    #[arg(long, value_name = "COUNTS", value_parser = counts)]
    pub(crate) curve: Option<Counts>,
    /// Cores of the cluster: recommend a count that gives each one to two partitions
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) cores: Option<u32>,
    /// How many times the mean the largest partition may be
    #[arg(long, value_name = "RATIO", default_value = "1.5", value_parser = bound)]
    pub(crate) bound: f64,
    /// Show the hot key in full; JSON always does
    #[arg(long)]
    pub(crate) reveal: bool,
    #[command(flatten)]
    pub(crate) cost: CostArgs,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `statetop verify TARGET`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The checkpoint directory of a query
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What the consequences of a count are computed from.
#[derive(Debug, Clone, Copy, PartialEq, Args)]
#[command(next_help_heading = "Consequences")]
pub(crate) struct CostArgs {
    /// Nodes that the state-store instances are spread over
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) nodes: Option<u32>,
    /// Memory that the state stores of a node share where it is bounded, such as 2GB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) node_memory_cap: Option<Bytes>,
    /// Price of a thousand write requests, in your currency
    #[arg(long, value_name = "PRICE", value_parser = price)]
    pub(crate) price: Option<f64>,
}

/// Which state to read.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct PlaceArgs {
    /// The state as this batch left it [default: the last committed batch]
    #[arg(long, value_name = "N", value_parser = batch, allow_negative_numbers = true)]
    pub(crate) batch: Option<BatchId>,
    /// This stateful operator, by id (0 is nearest the sink) or by name [default: the only one]
    #[arg(long, value_name = "ID|NAME", value_parser = operator)]
    pub(crate) operator: Option<OperatorArg>,
    /// Only the store of this name [default: all stores of the operator]
    #[arg(long, value_name = "NAME")]
    pub(crate) store: Option<String>,
}

/// The answer to `--weigh`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WeighArg {
    /// Rows.
    Rows,
    /// Bytes of keys and values.
    Bytes,
    /// Writes over the last batches.
    Updates,
    /// A field of the value.
    Value(String),
}

/// The answer to `--curve`: ascending, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counts(pub(crate) Vec<u32>);

fn weigh(text: &str) -> Result<WeighArg, String> {
    match text {
        "rows" => Ok(WeighArg::Rows),
        "bytes" => Ok(WeighArg::Bytes),
        "updates" => Ok(WeighArg::Updates),
        _ => match text.split_once(':') {
            Some(("value", field)) if !field.is_empty() => Ok(WeighArg::Value(field.to_owned())),
            _ => Err("expected rows, bytes, updates or value:FIELD".to_owned()),
        },
    }
}

fn partition(text: &str) -> Result<PartitionId, String> {
    text.parse().map(PartitionId).map_err(|_| "a partition is a whole number from 0".to_owned())
}

/// `50..800`, `50..800:25`, `100,200,400`, or a mix of them.
fn counts(text: &str) -> Result<Counts, String> {
    let hint = || "expected counts such as 50..800, 50..800:25 or 100,200,400".to_owned();
    let number = |text: &str| -> Result<u32, String> {
        let number = text.trim().parse::<u32>().map_err(|_| hint())?;
        if (1..=1_000_000).contains(&number) {
            Ok(number)
        } else {
            Err("a count is a whole number from 1 to 1,000,000".to_owned())
        }
    };
    let mut counts = Vec::new();
    for part in text.split(',') {
        let Some((from, rest)) = part.split_once("..") else {
            counts.push(number(part)?);
            continue;
        };
        let (to, step) = match rest.split_once(':') {
            Some((to, step)) => (number(to)?, Some(number(step)?)),
            None => (number(rest)?, None),
        };
        let from = number(from)?;
        if from > to {
            return Err(format!("the range {from}..{to} is empty"));
        }
        match step {
            Some(step) => {
                counts.extend((from..=to).step_by(step as usize).take(MOST_COUNTS + 1));
            }
            None => counts.extend(spread(from, to)),
        }
        if counts.len() > MOST_COUNTS {
            return Err(format!("at most {MOST_COUNTS} counts at a time"));
        }
    }
    counts.sort_unstable();
    counts.dedup();
    if counts.len() > MOST_COUNTS {
        return Err(format!("at most {MOST_COUNTS} counts at a time"));
    }
    Ok(Counts(counts))
}

/// A hundred counts from `from` to `to`, both among them, or all when there are fewer.
fn spread(from: u32, to: u32) -> Vec<u32> {
    let points = (to - from + 1).min(RANGE_POINTS);
    let last = u64::from(points.saturating_sub(1).max(1));
    let at = |index: u32| {
        let offset = u64::from(index) * u64::from(to - from) / last;
        from.saturating_add(u32::try_from(offset).unwrap_or(0))
    };
    (0..points).map(at).collect()
}

/// `500MB`, `2GB`, `1.5GiB`, or bytes without a unit.
pub(super) fn size(text: &str) -> Result<Bytes, String> {
    let hint = || "expected a size such as 500MB or 2GB".to_owned();
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(unit_at).ok_or_else(hint)?;
    let scale = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1_048_576.0,
        "gib" => 1_073_741_824.0,
        "tib" => 1_099_511_627_776.0,
        _ => return Err(hint()),
    };
    let bytes = number.trim().parse::<f64>().map_err(|_| hint())? * scale;
    if (1.0..=1e15).contains(&bytes) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        Ok(Bytes(bytes as u64))
    } else {
        Err(hint())
    }
}

fn price(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(price) if price.is_finite() && price >= 0.0 => Ok(price),
        _ => Err("expected a price for a thousand requests, such as 0.005".to_owned()),
    }
}

fn bound(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(bound) if (1.0..=1000.0).contains(&bound) => Ok(bound),
        _ => Err("expected a ratio from 1, such as 1.5".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_ranges_and_lists() {
        let of = |text| counts(text).map(|counts| counts.0);
        assert_eq!(of("50..800:250"), Ok(vec![50, 300, 550, 800]));
        assert_eq!(of("400, 100,200,100"), Ok(vec![100, 200, 400]));
        assert_eq!(of("3..6,8"), Ok(vec![3, 4, 5, 6, 8]));
        let many = of("50..800").unwrap();
        assert_eq!((many.len(), many.first(), many.last()), (100, Some(&50), Some(&800)));
        assert_eq!(of("7..7"), Ok(vec![7]));
        for wrong in ["", "a", "0", "5..", "9..3", "1..5:0", "1..1000000:1", "1000001", "-1..3"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("2GB"), Ok(Bytes(2_000_000_000)));
        assert_eq!(size("1.5 GiB"), Ok(Bytes(1_610_612_736)));
        assert_eq!(size("300"), Ok(Bytes(300)));
        for wrong in ["", "GB", "-1", "1XB", "1e99GB", "NaN"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn measures_have_names() {
        assert_eq!(weigh("value:count"), Ok(WeighArg::Value("count".to_owned())));
        assert_eq!(weigh("updates"), Ok(WeighArg::Updates));
        assert!(weigh("value:").is_err() && weigh("row").is_err());
    }

    #[test]
    fn the_definitions_are_sound() {
        KeysArgs::augment_args(clap::Command::new("keys")).debug_assert();
        PlanArgs::augment_args(clap::Command::new("plan")).debug_assert();
    }
}
