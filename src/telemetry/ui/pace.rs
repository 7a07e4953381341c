//! How often a Spark UI is asked: it is served by the driver, which has other things to do.
//!
//! Must not know clocks: times come in as durations.

use std::time::Duration;

/// The longest pause, whatever happens, in intervals: a minute of those that are usual.
const LONGEST: u32 = 30;
/// For one part of asking there are so many parts of leaving it alone.
const REST: u32 = 2;
/// Answers that take less are never called slow, however short the interval is.
const QUICK: Duration = Duration::from_secs(1);

/// How long to wait before asking again.
#[derive(Debug)]
pub(super) struct Pace {
    interval: Duration,
    failures: u32,
    took: Duration,
    /// How often on end answers were slow.
    slow: u32,
}

impl Pace {
    /// Asks once in an interval where answers are quick.
    pub(super) fn new(interval: Duration) -> Self {
        Self { interval, failures: 0, took: Duration::ZERO, slow: 0 }
    }

    /// It answered all that was asked, which took so long.
    pub(super) fn answered(&mut self, took: Duration) {
        (self.failures, self.took) = (0, took);
        let is_slow = took > QUICK && self.pause() > self.interval.saturating_mul(2);
        self.slow = if is_slow { self.slow.saturating_add(1) } else { 0 };
    }

    /// It did not.
    pub(super) fn failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }

    /// The pause before it is asked again: the interval; longer where answers are slow; doubled
    /// with each failure.
    pub(super) fn pause(&self) -> Duration {
        if self.failures > 0 {
            let doubled = 2_u32.saturating_pow(self.failures - 1);
            return self.interval.saturating_mul(doubled.min(LONGEST));
        }
        let longest = self.interval.saturating_mul(LONGEST);
        self.interval.max(self.took.saturating_mul(REST)).min(longest)
    }

    /// Whether answers are so slow that it is asked much less often than it was meant to be. The
    /// first time does not count: there was more to ask.
    pub(super) fn is_slow(&self) -> bool {
        self.failures == 0 && self.slow > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_double_the_pause_up_to_a_minute() {
        let mut pace = Pace::new(Duration::from_secs(2));
        let mut pauses = Vec::new();
        for _ in 0..7 {
            pace.failed();
            pauses.push(pace.pause().as_secs());
        }
        assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 60]);
        for _ in 0..100 {
            pace.failed();
        }
        assert_eq!(pace.pause().as_secs(), 60);
        pace.answered(Duration::from_millis(10));
        assert_eq!(pace.pause().as_secs(), 2);
    }

    #[test]
    fn slow_answers_stretch_the_pause() {
        let mut pace = Pace::new(Duration::from_secs(2));
        for (took, pause, slow) in [
            (100, 2_000, false),
            (1_800, 3_600, false),
            (3_000, 6_000, false),
            (4_000, 8_000, true),
        ] {
            pace.answered(Duration::from_millis(took));
            assert_eq!(pace.pause(), Duration::from_millis(pause));
            assert_eq!(pace.is_slow(), slow, "{took}");
        }
        pace.answered(Duration::from_secs(40));
        assert_eq!(pace.pause().as_secs(), 60);
    }

    #[test]
    fn a_short_interval_makes_no_answer_slow() {
        let mut pace = Pace::new(Duration::from_millis(10));
        for _ in 0..3 {
            pace.answered(Duration::from_millis(300));
            assert_eq!((pace.pause(), pace.is_slow()), (Duration::from_millis(300), false));
        }
    }
}
