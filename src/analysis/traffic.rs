//! Skew of traffic and skew of state: two different things.
//!
//! Traffic is what arrives at a partition; state is what stays there. A hot key of an
//! aggregation is one row of state however often it comes, so its partition is slow and holds
//! no more than the others. Numbers from numbers: knows neither events nor reports.

use super::spread::{ROWS_TO_JUDGE, Spread};
use super::{Distribution, Largest};
use crate::figures::share;
use crate::units::PartitionId;

/// With less task time than this per partition, in milliseconds, the scheduling of tasks is most
/// of the differences.
pub const MILLIS_TO_JUDGE: f64 = 20.0;

/// Two shares of one partition are different things when one is at least this many times the
/// other.
const APART: f64 = 2.0;

/// How traffic and state compare.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Contrast {
    /// Both are even, or there is too little of them to say.
    Even,
    /// One partition takes far more than its part of what arrives, and holds no such part of the
    /// state.
    Traffic {
        /// The partition.
        partition: PartitionId,
        /// Its part of the state, where that is known.
        of_state: Option<f64>,
        /// Its part of what arrives.
        of_traffic: f64,
    },
    /// One partition holds far more than its part of the state, and takes no such part of what
    /// arrives: it is old, not hot.
    State {
        /// The partition.
        partition: PartitionId,
        /// Its part of the state.
        of_state: f64,
        /// Its part of what arrives.
        of_traffic: Option<f64>,
    },
    /// The same partition leads in both.
    Both {
        /// The partition.
        partition: PartitionId,
        /// Its part of the state.
        of_state: f64,
        /// Its part of what arrives.
        of_traffic: f64,
    },
    /// Both are skewed, each in another partition.
    Apart {
        /// Takes the most, and which part.
        traffic: (PartitionId, f64),
        /// Holds the most, and which part.
        state: (PartitionId, f64),
    },
}

/// A partition's part of a whole; `None` when it is not known.
pub type ShareOf<'a> = &'a dyn Fn(PartitionId) -> Option<f64>;

impl Contrast {
    /// Compares the rows that arrive with the rows of the state. The two functions tell the part
    /// of a partition in each.
    pub fn of(
        traffic: &Distribution,
        of_traffic: ShareOf<'_>,
        state: Option<&Distribution>,
        of_state: ShareOf<'_>,
    ) -> Self {
        let busy =
            leader(traffic, Spread::judge(traffic.max_over_mean, traffic.mean, ROWS_TO_JUDGE));
        let full = state.and_then(|state| leader(state, Spread::of_rows(state)));
        match (busy, full) {
            (None, None) => Self::Even,
            (Some(Largest { partition, share: of_traffic, .. }), None) => {
                match of_state(partition) {
                    Some(of_state) if of_traffic < of_state * APART => {
                        Self::Both { partition, of_state, of_traffic }
                    }
                    of_state => Self::Traffic { partition, of_state, of_traffic },
                }
            }
            (None, Some(Largest { partition, share: of_state, .. })) => {
                match of_traffic(partition) {
                    Some(of_traffic) if of_state < of_traffic * APART => {
                        Self::Both { partition, of_state, of_traffic }
                    }
                    of_traffic => Self::State { partition, of_state, of_traffic },
                }
            }
            (Some(busy), Some(full)) if busy.partition == full.partition => Self::Both {
                partition: busy.partition,
                of_state: full.share,
                of_traffic: busy.share,
            },
            (Some(busy), Some(full)) => Self::Apart {
                traffic: (busy.partition, busy.share),
                state: (full.partition, full.share),
            },
        }
    }

    /// The same in one sentence; `None` where there is nothing to say.
    pub fn sentence(&self) -> Option<String> {
        Some(match *self {
            Self::Even => return None,
            Self::Traffic { partition, of_state: Some(of_state), of_traffic } => format!(
                "Partition {partition} holds {} of the rows but takes {} of those arriving.",
                share(of_state),
                share(of_traffic)
            ),
            Self::Traffic { partition, of_state: None, of_traffic } => {
                format!("Partition {partition} takes {} of the arriving rows.", share(of_traffic))
            }
            Self::State { partition, of_state, of_traffic: Some(of_traffic) } => format!(
                "Partition {partition} holds {} of the rows but takes only {} of those arriving.",
                share(of_state),
                share(of_traffic)
            ),
            Self::State { partition, of_state, of_traffic: None } => {
                format!("Partition {partition} holds {} of the rows.", share(of_state))
            }
            Self::Both { partition, of_state, of_traffic } => format!(
                "Partition {partition} holds {} of the rows and takes {} of those arriving.",
                share(of_state),
                share(of_traffic)
            ),
            Self::Apart { traffic: (busy, takes), state: (full, holds) } => format!(
                "Partition {busy} takes {} of the arriving rows; {full} holds {} of the state.",
                share(takes),
                share(holds)
            ),
        })
    }
}

/// The largest, where it is far above the others.
fn leader(distribution: &Distribution, spread: Spread) -> Option<Largest> {
    distribution.largest.first().copied().filter(|_| spread == Spread::Skewed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distribution(values: &[u64]) -> Distribution {
        Distribution::of((0..).map(PartitionId).zip(values.iter().copied().map(Some))).unwrap()
    }

    /// Each value as a part of their sum.
    fn shares(values: &[u64]) -> impl Fn(PartitionId) -> Option<f64> {
        let total: u64 = values.iter().sum();
        let values = values.to_vec();
        move |id| {
            let value = values.get(usize::try_from(id.0).ok()?)?;
            Some(crate::figures::float(*value) / crate::figures::float(total))
        }
    }

    fn contrast(traffic: &[u64], state: &[u64]) -> Contrast {
        Contrast::of(
            &distribution(traffic),
            &shares(traffic),
            Some(&distribution(state)),
            &shares(state),
        )
    }

    #[test]
    fn a_hot_key_of_an_aggregation_is_traffic_without_state() {
        // Of 1000 arriving rows 220 go to partition 1; of 1000 rows of state it holds 6.
        let found = contrast(&[195, 220, 195, 195, 195], &[250, 6, 248, 248, 248]);
        assert_eq!(found, Contrast::Even, "1.1 times the mean is no skew");
        let traffic: Vec<u64> = std::iter::once(220).chain([20; 39]).collect();
        let state: Vec<u64> = std::iter::once(6).chain([25; 39]).collect();
        // 220 of 1000 is 8.8 times the mean of 25; 6 of 981 is 0.6 %.
        let found = contrast(&traffic, &state);
        assert_eq!(
            found.sentence().unwrap(),
            "Partition 0 holds 0.6 % of the rows but takes 22.0 % of those arriving."
        );
    }

    #[test]
    fn state_may_be_skewed_without_traffic_with_it_or_elsewhere() {
        let even = [100; 10];
        let mut hot = [100; 10];
        hot[3] = 900;
        let mut other = [100; 10];
        other[7] = 600;
        // 900 of 1800 are a half; 100 of 1000 a tenth; 600 of 1500 are 40 %.
        let words = |traffic: &[u64], state: &[u64]| contrast(traffic, state).sentence();
        assert_eq!(
            words(&even, &hot).unwrap(),
            "Partition 3 holds 50.0 % of the rows but takes only 10.0 % of those arriving."
        );
        assert_eq!(
            words(&hot, &hot).unwrap(),
            "Partition 3 holds 50.0 % of the rows and takes 50.0 % of those arriving."
        );
        assert_eq!(
            words(&other, &hot).unwrap(),
            "Partition 7 takes 40.0 % of the arriving rows; 3 holds 50.0 % of the state."
        );
        assert_eq!(words(&even, &even), None);
        let without = Contrast::of(&distribution(&hot), &shares(&hot), None, &|_| None);
        assert_eq!(without.sentence().unwrap(), "Partition 3 takes 50.0 % of the arriving rows.");
    }

    #[test]
    fn shares_that_are_nearly_the_same_are_no_contrast() {
        // 40 of 100 rows of state are twice the mean of 20, which is no skew yet; 480 of 880
        // arriving rows are 2.7 times their mean. 54.5 % is not twice 40 %.
        assert_eq!(
            contrast(&[480, 100, 100, 100, 100], &[40, 15, 15, 15, 15]).sentence().unwrap(),
            "Partition 0 holds 40.0 % of the rows and takes 54.5 % of those arriving."
        );
    }

    #[test]
    fn a_handful_of_rows_is_no_skew() {
        assert_eq!(contrast(&[9, 0, 0, 0], &[100; 4]), Contrast::Even);
    }
}
