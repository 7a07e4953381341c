//! Which count to choose, from the curve of max÷mean over counts.

use serde::Serialize;

use super::layout::{CurvePoint, MAX_PARTITIONS};

/// The largest partition may be this many times the mean unless another bound is asked for.
/// A stage ends with its slowest task: half as long again as the mean is what hashing a few
/// hundred keys per partition gives anyway.
pub const DEFAULT_BOUND: f64 = 1.5;
/// Counts that are looked at for a number of cores; more are thinned out evenly.
const CANDIDATES: u32 = 101;

/// The count to choose, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recommendation {
    /// The count.
    pub partitions: u32,
    /// Its largest partition divided by its mean; `None` without rows.
    pub max_over_mean: Option<f64>,
    /// The bound that it was to keep.
    pub bound: f64,
    /// Whether it keeps it.
    pub within_bound: bool,
    /// The reason, one sentence.
    pub why: String,
}

/// The counts that give each core one to two partitions: `cores ..= 2 · cores`.
pub fn candidates(cores: u32) -> Vec<u32> {
    let from = cores.clamp(1, MAX_PARTITIONS);
    let to = from.saturating_mul(2).min(MAX_PARTITIONS);
    let step = (to - from).div_ceil(CANDIDATES - 1).max(1);
    let mut counts: Vec<u32> = (from..=to).step_by(step as usize).collect();
    if counts.last() != Some(&to) {
        counts.push(to);
    }
    counts
}

/// The smallest count of the curve that keeps max÷mean within `bound`, else the one that comes
/// nearest. With `cores`, only counts of [`candidates`]' range are looked at. `None` when the
/// curve has no count in it.
pub fn recommend(curve: &[CurvePoint], cores: Option<u32>, bound: f64) -> Option<Recommendation> {
    let range = cores.map_or(1..=u32::MAX, |cores| {
        let from = cores.clamp(1, MAX_PARTITIONS);
        from..=from.saturating_mul(2)
    });
    let looked_at: Vec<&CurvePoint> =
        curve.iter().filter(|point| range.contains(&point.partitions)).collect();
    let ratio = |point: &CurvePoint| point.max_over_mean.unwrap_or(1.0);
    let within =
        looked_at.iter().filter(|point| ratio(point) <= bound).min_by_key(|point| point.partitions);
    let nearest = || {
        looked_at
            .iter()
            .min_by(|a, b| ratio(a).total_cmp(&ratio(b)).then(a.partitions.cmp(&b.partitions)))
    };
    let point = within.or_else(nearest)?;
    let (first, last) = (
        looked_at.iter().map(|point| point.partitions).min()?,
        looked_at.iter().map(|point| point.partitions).max()?,
    );
    let range = match cores {
        Some(cores) => {
            format!("of {first} to {last} (1 to 2 partitions for each of {cores} cores)")
        }
        None if first == last => format!("at {first}, the only count looked at"),
        None => format!("of {first} to {last}"),
    };
    let why = match (point.max_over_mean, within.is_some()) {
        (None, _) => format!("the smallest count {range}: there are no rows to spread"),
        (Some(ratio), true) => format!(
            "the smallest count {range} that keeps the largest partition within {bound:.1} times \
             the mean ({ratio:.2})"
        ),
        (Some(ratio), false) => format!(
            "no count {range} keeps the largest partition within {bound:.1} times the mean; this \
             one comes nearest ({ratio:.2})"
        ),
    };
    Some(Recommendation {
        partitions: point.partitions,
        max_over_mean: point.max_over_mean,
        bound,
        within_bound: within.is_some(),
        why,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(partitions: u32, ratio: f64) -> CurvePoint {
        let max_over_mean = Some(ratio);
        CurvePoint { partitions, max: 0, mean: 1.0, max_over_mean, p99: 0, empty: 0 }
    }

    #[test]
    fn cores_give_counts() {
        assert_eq!(candidates(4), [4, 5, 6, 7, 8]);
        assert_eq!(candidates(0), [1, 2]);
        let many = candidates(1000);
        assert_eq!((many.len(), many.first(), many.last()), (101, Some(&1000), Some(&2000)));
        let odd = candidates(151);
        assert_eq!((odd.first(), odd.last()), (Some(&151), Some(&302)));
    }

    #[test]
    fn the_smallest_within_the_bound_else_the_nearest() {
        let curve = [point(50, 1.2), point(100, 1.7), point(150, 1.5), point(200, 1.4)];
        let chosen =
            |cores, bound| recommend(&curve, cores, bound).map(|r| (r.partitions, r.within_bound));
        assert_eq!(chosen(None, 1.5), Some((50, true)));
        assert_eq!(chosen(Some(100), 1.5), Some((150, true)));
        assert_eq!(chosen(Some(100), 1.1), Some((200, false)));
        assert_eq!(chosen(Some(300), 1.5), None);
        assert_eq!(
            recommend(&curve, Some(100), 1.5).unwrap().why,
            "the smallest count of 100 to 200 (1 to 2 partitions for each of 100 cores) that keeps \
             the largest partition within 1.5 times the mean (1.50)"
        );
    }
}
