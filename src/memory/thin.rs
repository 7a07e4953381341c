//! Which samples are kept when there are too many: fewer the older they are. Pure.

use super::Record;
use crate::units::UnixMillis;

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const MONTH: u64 = 30 * DAY;

/// The time between two samples of an age that are both kept.
fn apart(age: u64) -> u64 {
    match age {
        ..DAY => MINUTE,
        DAY..MONTH => 15 * MINUTE,
        _ => 6 * HOUR,
    }
}

/// The records that are kept: all that are no samples, and of the samples the first of each span
/// of their age. Order is kept.
pub(super) fn thinned(records: Vec<Record>, now: UnixMillis) -> Vec<Record> {
    let mut last: Option<UnixMillis> = None;
    let mut keep = |record: &Record| {
        let Record::Sample(sample) = record else { return true };
        let near = last.is_some_and(|last| last.until(sample.at) < apart(sample.at.until(now)));
        // A clock that was set back begins anew.
        if near && last.is_some_and(|last| sample.at >= last) {
            return false;
        }
        last = Some(sample.at);
        true
    };
    records.into_iter().filter(|record| keep(record)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Sample;
    use super::*;
    use crate::analysis::pauses::Pause;
    use crate::units::BatchId;

    fn sample(at: i64) -> Record {
        Record::Sample(Sample {
            at: UnixMillis(at),
            batch: BatchId(1),
            rows: None,
            bytes: None,
            partitions: None,
            batch_ms: None,
            max_over_mean: None,
        })
    }

    #[test]
    fn samples_become_fewer_with_age_and_repartitions_stay() {
        let day = 86_400_000_i64;
        let now = UnixMillis(100 * day);
        // Every ten seconds for an hour: today 60 of 360 remain, ten days ago 4, ninety days ago 1.
        for (days_ago, kept) in [(0, 60), (10, 4), (90, 1)] {
            let begin = now.0 - days_ago * day - 3_600_000;
            let records = (0..360).map(|at| sample(begin + at * 10_000)).collect();
            assert_eq!(thinned(records, now).len(), kept, "{days_ago} days ago");
        }
        let repartitions = vec![Record::Repartition(Pause::of(BatchId(3))); 5];
        assert_eq!(thinned(repartitions.clone(), now), repartitions);
    }
}
