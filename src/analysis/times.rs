//! How long microbatches take, and how often they come.
//!
//! Batch times come by the thousand and from the past only by number, so they go into a
//! histogram: its values are within a thousandth of the true ones.

use hdrhistogram::Histogram;

use crate::figures::float;

/// Digits that a value keeps.
const DIGITS: u8 = 3;
/// The longest time that is told apart, in milliseconds: a week.
const LONGEST: u64 = 7 * 24 * 3_600_000;
/// Batches have to wait for a trigger at least this much longer than they take, before their
/// distance is called an interval.
const WAITS: f64 = 1.1;

/// A distribution of times in milliseconds.
#[derive(Debug, Clone)]
pub struct Times {
    histogram: Histogram<u64>,
}

impl Times {
    /// The distribution of `millis`; `None` when there are none.
    pub fn of(millis: impl IntoIterator<Item = u64>) -> Option<Self> {
        let mut histogram = Histogram::new_with_max(LONGEST, DIGITS).ok()?;
        for time in millis {
            histogram.saturating_record(time);
        }
        (!histogram.is_empty()).then_some(Self { histogram })
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The time that `percent` of a hundred are not above.
    pub fn percentile(&self, percent: f64) -> u64 {
        self.histogram.value_at_percentile(percent)
    }

    /// The longest.
    pub fn max(&self) -> u64 {
        self.histogram.max()
    }

    /// The shortest.
    pub fn min(&self) -> u64 {
        self.histogram.min()
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        self.histogram.mean()
    }

    /// How many are in each of so many classes of equal width from 0 to `end`; what is longer is
    /// in the last.
    pub fn classes(&self, classes: usize, end: u64) -> Vec<u64> {
        let mut counts = vec![0_u64; classes];
        let width = (float(end) + 1.0) / float(classes.max(1) as u64);
        for value in self.histogram.iter_recorded() {
            let class = crate::figures::whole((float(value.value_iterated_to()) / width).floor());
            let class = usize::try_from(class).unwrap_or(usize::MAX).min(classes.saturating_sub(1));
            if let Some(count) = counts.get_mut(class) {
                *count += value.count_at_value();
            }
        }
        counts
    }
}

/// How often batches begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cadence {
    /// About every so many milliseconds: the median distance of two starts. A trigger interval is
    /// told by no source.
    About(u64),
    /// Each as soon as the one before it is done.
    BackToBack,
    /// There are too few to tell.
    Unknown,
}

/// Batches from which a cadence is told.
const ENOUGH: usize = 3;

impl Cadence {
    /// The cadence of batches that began at these times and took so long, both in milliseconds
    /// and oldest first, without batches missing in between.
    pub fn of(batches: &[(i64, u64)]) -> Self {
        let mut distances: Vec<u64> = batches
            .windows(2)
            .filter_map(|pair| match pair {
                [(one, _), (next, _)] => u64::try_from(next.checked_sub(*one)?).ok(),
                _ => None,
            })
            .collect();
        let mut took: Vec<u64> = batches.iter().map(|(_, took)| *took).collect();
        if distances.len() < ENOUGH {
            return Self::Unknown;
        }
        match (median(&mut distances), median(&mut took)) {
            (Some(distance), Some(took)) if float(distance) > float(took) * WAITS => {
                Self::About(distance)
            }
            (Some(_), Some(_)) => Self::BackToBack,
            _ => Self::Unknown,
        }
    }
}

/// The lower median.
fn median(values: &mut [u64]) -> Option<u64> {
    let at = values.len().checked_sub(1)? / 2;
    let (_, median, _) = values.select_nth_unstable(at);
    Some(*median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_times() {
        let times = Times::of(1..=1_000).unwrap();
        assert_eq!(times.count(), 1_000);
        let of = [50.0, 95.0, 99.0].map(|percent| times.percentile(percent));
        assert_eq!(of, [500, 950, 990]);
        assert_eq!((times.min(), times.max()), (1, 1_000));
        assert!((times.mean() - 500.5).abs() < 0.01);
        assert!(Times::of([]).is_none());
    }

    #[test]
    fn long_times_keep_three_digits() {
        // A first batch of 41,880 ms among 99 of 900 ms.
        let times = Times::of(std::iter::repeat_n(900, 99).chain([41_880])).unwrap();
        assert_eq!((times.percentile(50.0), times.percentile(99.0)), (900, 900));
        assert!(times.max().abs_diff(41_880) <= 42);
        assert_eq!(Times::of([u64::MAX]).map(|times| times.count()), Some(1));
    }

    #[test]
    fn classes_hold_all_times() {
        let times = Times::of([0, 1, 5, 9, 9]).unwrap();
        assert_eq!(times.classes(2, 9), [2, 3], "0 to 4, 5 to 9");
        assert_eq!(times.classes(2, 3), [2, 3], "0 to 1, 2 and more");
        assert_eq!(times.classes(1, 9), [5]);
        assert_eq!(times.classes(0, 9), Vec::<u64>::new());
    }

    #[test]
    fn an_interval_is_told_from_batches_that_wait_for_it() {
        let every =
            |distance: i64, took: u64| (0..6_i64).map(|n| (n * distance, took)).collect::<Vec<_>>();
        assert_eq!(Cadence::of(&every(10_000, 1_200)), Cadence::About(10_000));
        assert_eq!(Cadence::of(&every(1_200, 1_190)), Cadence::BackToBack);
        assert_eq!(Cadence::of(&every(10_000, 1_200)[..3]), Cadence::Unknown);
        // One batch that was late: the distances are 10, 10, 14, 6 and 10 s.
        let late = [0, 10_000, 20_000, 34_000, 40_000, 50_000].map(|at| (at, 900));
        assert_eq!(Cadence::of(&late), Cadence::About(10_000));
        assert_eq!(Cadence::of(&[(i64::MIN, 1), (i64::MAX, 1)]), Cadence::Unknown);
    }
}
