//! How evenly a quantity is spread over the partitions of a store.
//!
//! All values are in hand and Gini needs them sorted, so percentiles are taken from the
//! sorted values themselves (nearest rank) and are exact.

use serde::Serialize;

use crate::units::PartitionId;

/// How many of the largest partitions are named.
const LARGEST: usize = 5;

/// The spread of a store's state by rows and by bytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Skew {
    /// Over partitions whose rows are known; `None` when none is.
    pub rows: Option<Distribution>,
    /// Over all partitions; `None` when there are none.
    pub bytes: Option<Distribution>,
}

/// A distribution over partitions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Distribution {
    /// Partitions whose value is known and counted here.
    pub counted: u64,
    /// Partitions whose value is unknown and left out.
    pub unknown: u64,
    /// Sum of the counted values.
    pub total: u64,
    /// Smallest value.
    pub min: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median by nearest rank: the value at rank ⌈0.50 n⌉.
    pub p50: u64,
    /// The value at rank ⌈0.95 n⌉.
    pub p95: u64,
    /// The value at rank ⌈0.99 n⌉.
    pub p99: u64,
    /// Largest value.
    pub max: u64,
    /// Largest value divided by the mean, 1 when all are equal; `None` when the total is 0.
    pub max_over_mean: Option<f64>,
    /// Coefficient of variation: population standard deviation divided by the mean; `None` when the total is 0.
    pub cv: Option<f64>,
    /// Gini coefficient, 0 (all equal) to 1 - 1/n (all in one); `None` when the total is 0.
    pub gini: Option<f64>,
    /// Partitions with value 0.
    pub empty: u64,
    /// The five largest, largest first, ties by partition id.
    pub largest: Vec<Largest>,
}

/// One of the largest partitions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Largest {
    /// Which partition.
    pub partition: PartitionId,
    /// Its value.
    pub value: u64,
    /// Its part of the total, 0 to 1; 0 when the total is 0.
    pub share: f64,
}

impl Distribution {
    /// The distribution of `values`, one per partition; `None` stands for an unknown value.
    ///
    /// Returns `None` when no value is known.
    pub fn of(values: impl IntoIterator<Item = (PartitionId, Option<u64>)>) -> Option<Self> {
        let mut unknown = 0;
        let mut known: Vec<(u64, PartitionId)> = Vec::new();
        for (partition, value) in values {
            match value {
                Some(value) => known.push((value, partition)),
                None => unknown += 1,
            }
        }
        known.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        let (&(min, _), &(max, _)) = (known.first()?, known.last()?);

        let counted = known.len() as u64;
        let total = known.iter().fold(0_u64, |sum, (value, _)| sum.saturating_add(*value));
        let mean = ratio(total, counted);
        let rank = |percent: usize| {
            let rank = (known.len() * percent).div_ceil(100).max(1);
            known.get(rank - 1).map_or(max, |(value, _)| *value)
        };
        let some = total > 0;
        Some(Self {
            counted,
            unknown,
            total,
            min,
            mean,
            p50: rank(50),
            p95: rank(95),
            p99: rank(99),
            max,
            max_over_mean: some.then(|| float(max) / mean),
            cv: some.then(|| deviation(&known, mean) / mean),
            gini: some.then(|| gini(&known, total)),
            empty: known.iter().take_while(|(value, _)| *value == 0).count() as u64,
            largest: known
                .iter()
                .rev()
                .take(LARGEST)
                .map(|&(value, partition)| Largest { partition, value, share: ratio(value, total) })
                .collect(),
        })
    }
}

/// Population standard deviation.
fn deviation(values: &[(u64, PartitionId)], mean: f64) -> f64 {
    let squares: f64 = values.iter().map(|(value, _)| (float(*value) - mean).powi(2)).sum();
    (squares / float(values.len() as u64)).sqrt()
}

/// Gini coefficient of ascending values: `2 Σ i·xᵢ / (n Σ xᵢ) − (n + 1) / n`, i from 1.
fn gini(ascending: &[(u64, PartitionId)], total: u64) -> f64 {
    let n = float(ascending.len() as u64);
    let weighted: f64 =
        (1_u64..).zip(ascending).map(|(rank, (value, _))| float(rank) * float(*value)).sum();
    (2.0 * weighted / (n * float(total)) - (n + 1.0) / n).max(0.0)
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { float(part) / float(whole) }
}

#[expect(clippy::cast_precision_loss, reason = "counts beyond 2^53 lose digits no screen shows")]
fn float(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[Option<u64>]) -> Option<Distribution> {
        Distribution::of((0..).map(PartitionId).zip(values.iter().copied()))
    }

    fn close(a: Option<f64>, b: f64) -> bool {
        a.is_some_and(|a| (a - b).abs() < 1e-12)
    }

    #[test]
    fn an_uneven_spread() {
        // mean 25/5 = 5; squared deviations (1-5)²+(2-5)²+(3-5)²+(4-5)²+(15-5)² = 130.
        let d = of(&[Some(15), Some(1), Some(4), Some(2), Some(3)]).unwrap();
        assert_eq!((d.total, d.min, d.max, d.empty), (25, 1, 15, 0));
        assert_eq!((d.p50, d.p95, d.p99), (3, 15, 15));
        assert!(close(d.max_over_mean, 3.0));
        assert!(close(d.cv, (130.0_f64 / 5.0).sqrt() / 5.0));
        // 2·(1·1+2·2+3·3+4·4+5·15)/(5·25) − 6/5 = 210/125 − 1.2 = 0.48
        assert!(close(d.gini, 0.48));
        assert_eq!(d.largest.iter().map(|l| l.partition.0).collect::<Vec<_>>(), [0, 2, 4, 3, 1]);
        assert!((d.largest[0].share - 0.6).abs() < 1e-12);
    }

    #[test]
    fn equal_values_have_no_skew() {
        let d = of(&[Some(7); 200]).unwrap();
        assert!(close(d.max_over_mean, 1.0) && close(d.cv, 0.0) && close(d.gini, 0.0));
        assert_eq!(d.largest.len(), 5);
        assert_eq!(d.largest[0].partition, PartitionId(0), "ties go to the lower id");
    }

    #[test]
    fn everything_in_one_partition() {
        let d = of(&[Some(0), Some(0), Some(10), Some(0)]).unwrap();
        assert!(close(d.max_over_mean, 4.0));
        assert!(close(d.gini, 0.75));
        assert_eq!(d.empty, 3);
    }

    #[test]
    fn percentiles_are_nearest_rank() {
        let values: Vec<_> = (1..=200).map(Some).collect();
        let d = of(&values).unwrap();
        assert_eq!((d.p50, d.p95, d.p99), (100, 190, 198));
    }

    #[test]
    fn empty_and_unknown() {
        let d = of(&[Some(0), Some(0)]).unwrap();
        assert_eq!((d.total, d.empty, d.max_over_mean, d.cv, d.gini), (0, 2, None, None, None));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[None, None]), None);
        let d = of(&[None, Some(3)]).unwrap();
        assert_eq!((d.counted, d.unknown, d.total), (1, 1, 3));
    }
}
