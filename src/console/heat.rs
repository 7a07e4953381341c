//! From a partition's value to a step of the heat scale.
//!
//! Steps are cut at multiples of the mean, never at the smallest and largest value: an
//! evenly spread store must look even, and a cell must not change its colour because some
//! other partition grew.

use std::ops::Range;

use super::format::{bytes, compact, count, float, millis, whole};
use super::look::HEAT_STEPS;
use crate::analysis::spread::ROWS_TO_JUDGE;
use crate::analysis::traffic::MILLIS_TO_JUDGE;
use crate::analysis::{Distribution, Spread};
use crate::units::Bytes;

/// How steps are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Each step is the same factor above the one below.
    #[default]
    Log,
    /// Each step is the same amount above the one below.
    Linear,
}

impl Scale {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Log => Self::Linear,
            Self::Linear => Self::Log,
        }
    }

    /// Its word on screen.
    pub fn word(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Linear => "linear",
        }
    }
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Metric {
    /// Keys.
    #[default]
    Rows,
    /// Bytes of files.
    Bytes,
    /// Rows that arrive, by the tasks of the running query.
    Arriving,
    /// Milliseconds that tasks take.
    TaskTime,
    /// Milliseconds that their commits take.
    CommitTime,
    /// Bytes of memory of the state stores.
    Memory,
    /// Versions since the newest snapshot.
    SnapshotAge,
}

impl Metric {
    /// All of them, in the order of the chooser.
    pub const ALL: [Self; 7] = [
        Self::Rows,
        Self::Bytes,
        Self::Arriving,
        Self::TaskTime,
        Self::CommitTime,
        Self::Memory,
        Self::SnapshotAge,
    ];

    /// Its words on screen.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Bytes => "bytes",
            Self::Arriving => "rows arriving",
            Self::TaskTime => "task time",
            Self::CommitTime => "commit time",
            Self::Memory => "memory",
            Self::SnapshotAge => "snapshot age",
        }
    }

    /// The heading of its column.
    pub fn title(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Bytes => "bytes",
            Self::Arriving => "arriving",
            Self::TaskTime => "task",
            Self::CommitTime => "commit",
            Self::Memory => "memory",
            Self::SnapshotAge => "snap age",
        }
    }

    /// What it is, for the chooser.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Rows => "keys in the state",
            Self::Bytes => "files of the state",
            Self::Arriving => "read from the shuffle, as map-side combining left them",
            Self::TaskTime => "from launch to end of the task",
            Self::CommitTime => "of the task's state stores",
            Self::Memory => "of the operator's state stores",
            Self::SnapshotAge => "versions that a load replays",
        }
    }

    /// What a partition does with its part of it.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Rows | Self::Bytes | Self::Memory => "holds",
            Self::Arriving | Self::TaskTime | Self::CommitTime => "takes",
            Self::SnapshotAge => "has",
        }
    }

    /// Whether the tasks of a running query tell it.
    pub fn is_of_tasks(self) -> bool {
        matches!(self, Self::Arriving | Self::TaskTime | Self::CommitTime | Self::Memory)
    }

    /// Whether a distribution of it is skewed.
    pub fn judge(self, distribution: &Distribution) -> Spread {
        let enough = match self {
            Self::Rows => return Spread::of_rows(distribution),
            Self::Bytes | Self::Memory => return Spread::of_bytes(distribution),
            Self::Arriving => ROWS_TO_JUDGE,
            Self::TaskTime | Self::CommitTime => MILLIS_TO_JUDGE,
            Self::SnapshotAge => VERSIONS_TO_JUDGE,
        };
        Spread::judge(distribution.max_over_mean, distribution.mean, enough)
    }

    /// A value in full.
    pub(super) fn value(self, value: u64) -> String {
        match self {
            Self::Rows | Self::Arriving | Self::SnapshotAge => count(value),
            Self::Bytes | Self::Memory => bytes(Bytes(value)),
            Self::TaskTime | Self::CommitTime => millis(value),
        }
    }

    /// A value in as few columns as say it.
    pub(super) fn short(self, value: u64) -> String {
        match self {
            Self::Rows | Self::Arriving | Self::SnapshotAge => compact(value),
            Self::Bytes | Self::Memory => bytes(Bytes(value)),
            Self::TaskTime | Self::CommitTime => millis(value),
        }
    }
}

/// Snapshots are uploaded every ten versions or so: with fewer to replay none of them lags.
const VERSIONS_TO_JUDGE: f64 = 5.0;

/// How hot a partition is. Ordered as a group of partitions shows its hottest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Heat {
    /// Without rows.
    Empty,
    /// The value is not known. Below every step, so that it never hides the hottest of a group;
    /// the legend tells how many there are.
    Unknown,
    /// A step of the scale.
    Step(usize),
}

/// Where the steps of a store are cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeatScale {
    scale: Scale,
    mean: f64,
    low: f64,
    high: f64,
}

/// Where the mean stands on the log scale, in steps: in the middle of a step, so that small
/// differences around it do not show as two colours.
const MEAN_AT: f64 = 3.5;
/// The log scale's upper end in octaves above the mean is at least this: four times the mean.
const HIGHEST_LEAST: f64 = 2.0;
/// The linear scale's upper end is at least three times the mean.
const TOP_LEAST: f64 = 3.0;

/// The steps that share a mark, from cool to hot.
pub const CLASSES: [Range<usize>; 4] = [0..2, 2..5, 5..7, 7..HEAT_STEPS];

impl HeatScale {
    /// The scale for a distribution. Its ends move only when the largest value passes
    /// another half octave (log) or another whole multiple (linear) of the mean.
    pub fn of(distribution: Option<&Distribution>, scale: Scale) -> Self {
        let mean = distribution.map_or(0.0, |d| d.mean);
        let most = distribution.and_then(|d| d.max_over_mean).unwrap_or(1.0);
        Self::around(mean, most, scale)
    }

    /// The scale around a mean, whose largest value is `most` times the mean.
    pub fn around(mean: f64, most: f64, scale: Scale) -> Self {
        let (low, high) = match scale {
            Scale::Log => {
                let high = ((most.log2() * 2.0).ceil() / 2.0).max(HIGHEST_LEAST);
                (-high * MEAN_AT / (float(HEAT_STEPS as u64) - MEAN_AT), high)
            }
            Scale::Linear => (0.0, most.ceil().max(TOP_LEAST)),
        };
        Self { scale, mean, low, high }
    }

    /// How hot a value is.
    pub fn heat(&self, value: Option<u64>) -> Heat {
        match value {
            None => Heat::Unknown,
            Some(0) => Heat::Empty,
            Some(value) if self.mean > 0.0 => Heat::Step(self.step(float(value) / self.mean)),
            Some(_) => Heat::Step(0),
        }
    }

    fn step(&self, multiple: f64) -> usize {
        let position = match self.scale {
            Scale::Log => multiple.log2(),
            Scale::Linear => multiple,
        };
        let steps = float(HEAT_STEPS as u64);
        let step = (position - self.low) / (self.high - self.low) * steps;
        let step = usize::try_from(whole(step.max(0.0).floor())).unwrap_or(HEAT_STEPS);
        step.min(HEAT_STEPS - 1)
    }

    /// The value at which a step begins.
    pub fn begins(&self, step: usize) -> u64 {
        let part = float(step as u64) / float(HEAT_STEPS as u64);
        let position = self.low + (self.high - self.low) * part;
        let multiple = match self.scale {
            Scale::Log => position.exp2(),
            Scale::Linear => position,
        };
        whole(multiple * self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::PartitionId;

    fn scale(values: &[u64], scale: Scale) -> HeatScale {
        let values = (0..).map(PartitionId).zip(values.iter().map(|value| Some(*value)));
        HeatScale::of(Distribution::of(values).as_ref(), scale)
    }

    #[test]
    fn an_even_store_has_one_colour() {
        for kind in [Scale::Log, Scale::Linear] {
            let scale = scale(&[980, 1_010, 1_000, 1_020, 990], kind);
            let steps: Vec<_> = [980, 1_000, 1_020].map(|v| scale.heat(Some(v))).into();
            assert!(steps.iter().all(|step| *step == steps[0]), "{kind:?} {steps:?}");
        }
    }

    #[test]
    fn a_hot_partition_is_at_the_top_and_the_rest_below_the_middle() {
        let mut values = [100; 40];
        values[7] = 3_000;
        for kind in [Scale::Log, Scale::Linear] {
            let scale = scale(&values, kind);
            assert_eq!(scale.heat(Some(3_000)), Heat::Step(HEAT_STEPS - 1), "{kind:?}");
            assert!(scale.heat(Some(100)) < Heat::Step(HEAT_STEPS / 2), "{kind:?}");
        }
    }

    #[test]
    fn empty_and_unknown_are_not_low() {
        let scale = scale(&[0, 5, 7], Scale::Log);
        assert_eq!(scale.heat(Some(0)), Heat::Empty);
        assert_eq!(scale.heat(None), Heat::Unknown);
        assert!(scale.heat(Some(1)) > Heat::Empty);
        let nothing = HeatScale::of(None, Scale::Log);
        assert_eq!(nothing.heat(Some(3)), Heat::Step(0));
    }

    #[test]
    fn a_step_begins_where_its_values_do() {
        for kind in [Scale::Log, Scale::Linear] {
            let scale = scale(&[1_000_000, 3_000_000, 44_000_000], kind);
            for step in 1..HEAT_STEPS {
                let begin = scale.begins(step);
                assert_eq!(scale.heat(Some(begin + 10)), Heat::Step(step), "{kind:?}");
                assert_eq!(scale.heat(Some(begin - 10)), Heat::Step(step - 1), "{kind:?}");
            }
        }
    }
}
