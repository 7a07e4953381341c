//! Series of figures over batches: which batches count, and whether a figure rises.

use crate::telemetry::timeline::{Batch, QueryTimeline};

/// Fewer values than this say nothing about where they go.
pub(super) const ENOUGH: usize = 15;

/// Batches that are looked back at.
pub(super) const SPAN: usize = 60;

/// The last batches of the newest run, oldest first. A restart begins anew: what was before it
/// ran with other confs, perhaps other code.
pub(super) fn recent(query: &QueryTimeline, most: usize) -> Vec<&Batch> {
    let Some(run) = query.current() else { return Vec::new() };
    let mut batches: Vec<&Batch> = run.reported().rev().take(most).collect();
    batches.reverse();
    batches
}

/// The medians of the three thirds of a series: how it goes, whatever single values do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trend {
    /// Of the first third.
    pub first: u64,
    /// Of the middle.
    pub middle: u64,
    /// Of the last.
    pub last: u64,
}

impl Trend {
    /// The trend of values, oldest first; `None` when there are too few.
    pub fn of(values: &[u64]) -> Option<Self> {
        if values.len() < ENOUGH {
            return None;
        }
        let third = values.len() / 3;
        let (first, rest) = values.split_at_checked(third)?;
        let (middle, last) = rest.split_at_checked(rest.len().checked_sub(third)?)?;
        Some(Self { first: median(first)?, middle: median(middle)?, last: median(last)? })
    }

    /// Whether it rises all the way, to at least `times` where it began.
    pub fn rises(&self, times: f64) -> bool {
        use crate::figures::float;
        self.first < self.middle
            && self.middle < self.last
            && float(self.last) >= float(self.first) * times
    }
}

/// The lower median.
pub(super) fn median(values: &[u64]) -> Option<u64> {
    let mut values = values.to_vec();
    let at = values.len().checked_sub(1)? / 2;
    let (_, median, _) = values.select_nth_unstable(at);
    Some(*median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trend_is_told_by_thirds_and_needs_enough_values() {
        let steps: Vec<u64> = (1..=15).collect();
        assert_eq!(Trend::of(&steps), Some(Trend { first: 3, middle: 8, last: 13 }));
        assert_eq!(Trend::of(&steps[1..]), None);
        assert!(Trend::of(&steps).unwrap().rises(4.0));
        assert!(!Trend::of(&steps).unwrap().rises(4.5), "13 is 4.3 times 3");
        // One value that is far off changes no median.
        let mut spiked = vec![10; 15];
        spiked[14] = 10_000;
        assert!(!Trend::of(&spiked).unwrap().rises(1.0));
    }
}
