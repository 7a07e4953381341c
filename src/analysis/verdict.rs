//! Would another count help? One sentence, and the numbers it rests on.
//!
//! The order of the questions: is the count the knob at all; is there anything to gain; is it
//! one key, which no count splits; a few keys that met by chance, which another count parts;
//! or growth, which more partitions share out. Judges rows. Must not know the keys themselves:
//! they are hashes here, and the caller puts the key of the hot one beside the evidence.

use serde::Serialize;

use super::layout::{HashWeight, Layout, MAX_PARTITIONS, PartitionHashes, partition_of};
use super::spread::ROWS_TO_JUDGE;
use crate::units::PartitionId;

/// An even partition with fewer rows than this gains nothing from being split: it is scanned
/// and snapshotted in well under a second.
pub const ROWS_WORTH_SPLITTING: u64 = 100_000;
/// … nor with fewer bytes than `RocksDB`'s default write buffer, 64 MB: it fits into memory in
/// one piece.
pub const BYTES_WORTH_SPLITTING: u64 = 64 << 20;
/// A collision is of keys that can be counted on two hands: with more of them the partition is
/// full, not unlucky.
pub const COLLIDING_KEYS: usize = 10;
/// Those keys make most of the partition: this part of its rows.
pub const MOST: f64 = 0.5;
/// How far above the present count is searched for one that parts colliding keys: beyond four
/// times as many instances the cure costs more than the illness.
const SEARCH: u32 = 4;
/// How many of the heaviest keys of the largest partition a verdict asks for.
pub const KEYS_ASKED: usize = COLLIDING_KEYS;

/// What a verdict is about.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The layout now.
    pub before: &'a Layout,
    /// The layout at the count in question.
    pub after: &'a Layout,
    /// The keys of the largest partition of `before` (see [`Layout::largest`]), the
    /// [`KEYS_ASKED`] heaviest named; `None` for an operator without a grouping key.
    pub largest: Option<&'a PartitionHashes>,
    /// The largest partition may be this many times the mean.
    pub bound: f64,
    /// What is known to be the matter, when it is not the count.
    pub wrong_knob: Option<WrongKnob>,
}

/// Symptoms that another knob cures, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WrongKnob {
    /// The operator has no grouping key: all its state is in partition 0 at any count.
    NoGroupingKey,
    /// The query keeps no state: its shuffles follow the session setting.
    Stateless,
    /// The count asked for is the one in force.
    SameCount,
    /// The cluster changed size: instances have to move, not keys.
    ClusterResized,
}

/// What another count would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// Evenly spread and large: more partitions make each smaller.
    UniformGrowth,
    /// A few keys share a partition by chance; another count parts them.
    Collision,
    /// One key is too much for any partition; no count splits it.
    HotKey,
    /// Nothing to gain.
    Balanced,
    /// The count is not what is wrong.
    WrongKnob,
}

/// The verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// What it comes to.
    pub kind: VerdictKind,
    /// One sentence, without the key.
    pub text: String,
    /// The numbers behind it.
    pub evidence: Evidence,
}

/// The numbers behind a verdict; what does not belong to its kind is null or empty.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Evidence {
    /// The largest partition now.
    pub partition: Option<PartitionId>,
    /// Its rows.
    pub max_before: u64,
    /// Rows of the largest partition at the other count.
    pub max_after: u64,
    /// The largest divided by the mean, now; `None` without rows.
    pub max_over_mean_before: Option<f64>,
    /// … and at the other count.
    pub max_over_mean_after: Option<f64>,
    /// The bound that was judged by.
    pub bound: f64,
    /// Hot key: its grouping columns.
    pub key: Option<serde_json::Value>,
    /// Hot key: Spark's hash of it.
    pub hash: Option<i32>,
    /// Hot key: its rows.
    pub key_rows: Option<u64>,
    /// Hot key: its part of the partition's rows.
    pub share: Option<f64>,
    /// Hot key: what helps in place of another count.
    pub instead: Vec<String>,
    /// Collision: how many keys make most of the partition.
    pub keys: Option<u64>,
    /// Collision: whether they all lie in different partitions at the other count.
    pub separate: Option<bool>,
    /// Collision: the smallest count above the present one at which they do.
    pub separate_at: Option<u32>,
    /// Balanced: the smallest count that keeps partitions below a sensible size, where it is
    /// half of the present one or less.
    pub smaller_count: Option<u32>,
    /// Wrong knob: what is the matter.
    pub wrong_knob: Option<WrongKnob>,
}

impl Verdict {
    /// Judges a case.
    pub fn of(case: &Case<'_>) -> Self {
        let facts = Facts::of(case);
        if let Some(knob) = case.wrong_knob {
            return facts.wrong_knob(knob);
        }
        if facts.ratio > case.bound
            && let Some(largest) = case.largest
        {
            let hottest = largest.heaviest.first();
            if let Some(key) = hottest.filter(|key| facts.is_hot(key)) {
                return facts.hot_key(key);
            }
            if facts.mean >= ROWS_TO_JUDGE
                && let Some(keys) = facts.colliding(largest)
            {
                return facts.collision(keys);
            }
        }
        facts.of_size()
    }
}

/// The sentence for a hot key, with the key under the name that it may be shown by.
pub fn hot_key_sentence(name: &str, evidence: &Evidence) -> String {
    let share = evidence.share.unwrap_or(0.0) * 100.0;
    let partition = evidence.partition.unwrap_or(PartitionId(0));
    format!(
        "{name} holds {share:.0} % of partition {partition}; no count splits a key: the largest \
         partition goes from {} to {} times the mean",
        times(evidence.max_over_mean_before),
        times(evidence.max_over_mean_after)
    )
}

/// A case with what all its questions need.
struct Facts<'a> {
    case: &'a Case<'a>,
    mean: f64,
    ratio: f64,
    evidence: Evidence,
}

impl<'a> Facts<'a> {
    fn of(case: &'a Case<'a>) -> Self {
        let before = case.before.skew().rows;
        let after = case.after.skew().rows;
        let largest = before.as_ref().and_then(|rows| rows.largest.first());
        let ratio_before = before.as_ref().and_then(|rows| rows.max_over_mean);
        let evidence = Evidence {
            partition: largest.map(|largest| largest.partition),
            max_before: before.as_ref().map_or(0, |rows| rows.max),
            max_after: after.as_ref().map_or(0, |rows| rows.max),
            max_over_mean_before: ratio_before,
            max_over_mean_after: after.as_ref().and_then(|rows| rows.max_over_mean),
            bound: case.bound,
            ..Evidence::default()
        };
        let mean = before.as_ref().map_or(0.0, |rows| rows.mean);
        Self { case, mean, ratio: ratio_before.unwrap_or(0.0), evidence }
    }

    fn now(&self) -> u32 {
        self.case.before.count()
    }

    fn then(&self) -> u32 {
        self.case.after.count()
    }

    /// A key that alone is more than the bound allows a partition, or that makes most of the
    /// largest one: whatever the count, its partition stays the slow one.
    fn is_hot(&self, key: &HashWeight) -> bool {
        let rows = f64::from(key.rows);
        let too_much = rows > self.case.bound * self.mean;
        let most = rows >= MOST * float(self.evidence.max_before);
        (too_much || most) && rows >= ROWS_TO_JUDGE
    }

    fn hot_key(mut self, key: &HashWeight) -> Verdict {
        self.evidence.hash = Some(key.hash);
        self.evidence.key_rows = Some(u64::from(key.rows));
        self.evidence.share = Some(f64::from(key.rows) / float(self.evidence.max_before.max(1)));
        self.evidence.instead = vec![
            "salt the key in the query: group by the key and a small number first, then by the \
             key"
            .to_owned(),
            "aggregate before the join or the stateful operator, so that fewer rows arrive per \
             key"
            .to_owned(),
        ];
        let text = hot_key_sentence("One key", &self.evidence);
        Verdict { kind: VerdictKind::HotKey, text, evidence: self.evidence }
    }

    /// The few keys that make most of the partition, if they are few. Keys not much lighter than
    /// the last of those are with them, so that none of some equals is left out.
    fn colliding<'b>(&self, largest: &'b PartitionHashes) -> Option<&'b [HashWeight]> {
        let asked = largest.heaviest.get(..COLLIDING_KEYS).unwrap_or(&largest.heaviest);
        let mut rows = 0.0;
        for (number, key) in (1..).zip(asked) {
            rows += f64::from(key.rows);
            if rows >= MOST * float(self.evidence.max_before) {
                let others = asked.iter().skip(number);
                let equals = others.take_while(|other| other.rows > key.rows / 2).count();
                return asked.get(..number + equals).filter(|_| number > 1);
            }
        }
        None
    }

    fn collision(mut self, keys: &[HashWeight]) -> Verdict {
        let (now, then) = (self.now(), self.then());
        let separate = are_separate(keys, then);
        let search = now.saturating_add(1)..=now.saturating_mul(SEARCH).min(MAX_PARTITIONS);
        let at = search.into_iter().find(|count| are_separate(keys, *count));
        self.evidence.keys = Some(keys.len() as u64);
        self.evidence.separate = Some(separate);
        self.evidence.separate_at = at;
        let outcome = match (separate, at) {
            (true, _) => format!("at {then} they separate"),
            (false, Some(at)) => format!("at {then} some still share one, at {at} they separate"),
            (false, None) => format!("at {then} some still share one"),
        };
        let text = format!(
            "{} keys make most of partition {}; {outcome}: the largest partition goes from {} to \
             {} rows",
            keys.len(),
            self.partition(),
            self.evidence.max_before,
            self.evidence.max_after
        );
        Verdict { kind: VerdictKind::Collision, text, evidence: self.evidence }
    }

    /// Growth, or nothing to gain.
    fn of_size(mut self) -> Verdict {
        let (now, then) = (self.now(), self.then());
        let total = self.case.before.total();
        let largest_bytes = self.case.before.partitions.iter().map(|load| load.bytes).max();
        let large = self.evidence.max_before >= ROWS_WORTH_SPLITTING
            || largest_bytes.unwrap_or(0) >= BYTES_WORTH_SPLITTING;
        let (from, to) = (self.evidence.max_before, self.evidence.max_after);
        let uneven = self.ratio > self.case.bound && self.mean >= ROWS_TO_JUDGE;
        if total.rows > 0 && (large || uneven) {
            let spread = if uneven { "Many keys fill" } else { "The keys are spread evenly over" };
            let text = if then >= now {
                format!(
                    "{spread} the partitions, so more of them help: at {then} the largest goes \
                     from {from} to {to} rows"
                )
            } else {
                format!(
                    "{spread} the partitions, so more of them would help, not fewer: at {then} the \
                     largest goes from {from} to {to} rows"
                )
            };
            return Verdict { kind: VerdictKind::UniformGrowth, text, evidence: self.evidence };
        }
        let least = total.rows.div_ceil(ROWS_WORTH_SPLITTING);
        let least = least.max(total.bytes.div_ceil(BYTES_WORTH_SPLITTING)).max(1);
        let smaller = u32::try_from(least).ok().filter(|least| *least <= now / 2);
        self.evidence.smaller_count = smaller;
        let less = smaller.map_or_else(String::new, |_| "; a smaller count would do".to_owned());
        let text = if total.rows == 0 {
            "There are no rows to spread".to_owned()
        } else if self.mean < ROWS_TO_JUDGE {
            format!(
                "Nothing to gain: there are fewer than {ROWS_TO_JUDGE:.0} rows for each \
                 partition{less}"
            )
        } else {
            format!(
                "Nothing to gain: the largest partition has {from} rows, {} times the mean{less}",
                times(self.evidence.max_over_mean_before)
            )
        };
        Verdict { kind: VerdictKind::Balanced, text, evidence: self.evidence }
    }

    fn wrong_knob(mut self, knob: WrongKnob) -> Verdict {
        self.evidence.wrong_knob = Some(knob);
        let text = match knob {
            WrongKnob::NoGroupingKey => {
                "The operator has no grouping key: all its state is in partition 0 at any count"
            }
            WrongKnob::Stateless => {
                "The query keeps no state, so there is nothing to repartition: its shuffles follow \
                 spark.sql.shuffle.partitions of the session"
            }
            WrongKnob::SameCount => "The count is in force already: nothing would change",
            WrongKnob::ClusterResized => {
                "The cluster changed size: instances have to move to other executors (state \
                 rebalancing), the count can stay"
            }
        };
        Verdict { kind: VerdictKind::WrongKnob, text: text.to_owned(), evidence: self.evidence }
    }

    fn partition(&self) -> PartitionId {
        self.evidence.partition.unwrap_or(PartitionId(0))
    }
}

fn are_separate(keys: &[HashWeight], count: u32) -> bool {
    let mut partitions: Vec<PartitionId> =
        keys.iter().map(|key| partition_of(key.hash, count)).collect();
    partitions.sort_unstable();
    partitions.windows(2).all(|pair| matches!(pair, [a, b] if a != b))
}

fn times(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.1}"))
}

#[expect(clippy::cast_precision_loss, reason = "counts beyond 2^53 lose digits no screen shows")]
fn float(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::super::layout::{HashCollector, KeyHashes};
    use super::*;
    use std::num::NonZeroUsize;

    fn judge(keys: &[(i32, u64)], from: u32, to: u32) -> Verdict {
        let mut collector = HashCollector::new(1000);
        for (hash, rows) in keys {
            collector.add(*hash, *rows, rows * 10).unwrap();
        }
        let hashes = KeyHashes::of([collector]).unwrap();
        let one = NonZeroUsize::MIN;
        let (before, after) = (hashes.layout(from, one), hashes.layout(to, one));
        let (largest, _) = before.largest().unwrap();
        let largest = hashes.in_partition(largest, from, KEYS_ASKED);
        Verdict::of(&Case {
            before: &before,
            after: &after,
            largest: Some(&largest),
            bound: 1.5,
            wrong_knob: None,
        })
    }

    #[test]
    fn one_key_is_too_much() {
        // At 4: partition 1 has 610 + 390 = 1000, the others 100: mean 325, ratio 3.08. At 8
        // the 390 (hash 5) part from the 610 (hash 1): 610 of mean 162.5, ratio 3.75.
        let verdict = judge(&[(1, 610), (5, 390), (0, 100), (2, 100), (3, 100)], 4, 8);
        assert_eq!(verdict.kind, VerdictKind::HotKey);
        assert_eq!(
            verdict.text,
            "One key holds 61 % of partition 1; no count splits a key: the largest partition goes \
             from 3.1 to 3.8 times the mean"
        );
        assert_eq!((verdict.evidence.hash, verdict.evidence.key_rows), (Some(1), Some(610)));
        assert_eq!(verdict.evidence.instead.len(), 2);
    }

    #[test]
    fn a_few_keys_share_a_partition() {
        // At 4: partition 1 has hashes 1, 5, 13 with 100 each, the others 100: mean 150, ratio
        // 2. None is over 1.5 · 150. Two of them make most, and the third is their equal. At 8:
        // 1→1, 5→5, 13→5; at 5: 1, 0, 3.
        let keys = [(1, 100), (5, 100), (13, 100), (0, 100), (2, 100), (3, 100)];
        let verdict = judge(&keys, 4, 8);
        assert_eq!(verdict.kind, VerdictKind::Collision);
        assert_eq!(
            verdict.text,
            "3 keys make most of partition 1; at 8 some still share one, at 5 they separate: the \
             largest partition goes from 300 to 200 rows"
        );
        assert_eq!(verdict.evidence.separate_at, Some(5));
    }

    #[test]
    fn even_and_large() {
        let keys: Vec<(i32, u64)> = (0..8).map(|hash| (hash, 600_000)).collect();
        let verdict = judge(&keys, 4, 8);
        assert_eq!(verdict.kind, VerdictKind::UniformGrowth);
        let (from, to) = (verdict.evidence.max_before, verdict.evidence.max_after);
        assert_eq!((from, to), (1_200_000, 600_000));
        assert!(judge(&keys, 8, 4).text.contains("not fewer"));
    }

    #[test]
    fn nothing_to_gain() {
        let keys: Vec<(i32, u64)> = (0..8).map(|hash| (hash, 100)).collect();
        let verdict = judge(&keys, 8, 4);
        assert_eq!(verdict.kind, VerdictKind::Balanced);
        assert_eq!(verdict.evidence.smaller_count, Some(1));
        assert_eq!(
            verdict.text,
            "Nothing to gain: the largest partition has 100 rows, 1.0 times the mean; a smaller \
             count would do"
        );
        let few = judge(&[(0, 1), (1, 3), (5, 1)], 4, 8);
        assert_eq!(few.kind, VerdictKind::Balanced, "too little to judge");
        assert_eq!(judge(&[(0, 0)], 4, 8).text, "There are no rows to spread");
    }

    #[test]
    fn the_count_is_not_the_knob() {
        let layout = Layout::of(Vec::new());
        let verdict = Verdict::of(&Case {
            before: &layout,
            after: &layout,
            largest: None,
            bound: 1.5,
            wrong_knob: Some(WrongKnob::NoGroupingKey),
        });
        assert_eq!(verdict.kind, VerdictKind::WrongKnob);
        let json = serde_json::to_value(&verdict).unwrap();
        assert_eq!(json["kind"], "wrong_knob");
        assert_eq!(json["evidence"]["wrong_knob"], "no_grouping_key");
    }
}
