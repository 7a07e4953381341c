//! The numbers of a microbatch that charts are drawn from: small, and kept longest.

use super::phases::Phases;
use crate::telemetry::{Lag, Progress, Rows, SourceProgress, Watermark};
use crate::units::{Bytes, UnixMillis};

/// A microbatch in numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Numbers {
    /// When its trigger began.
    pub at: Option<UnixMillis>,
    /// How long it took, in milliseconds.
    pub took: Option<u64>,
    /// The same by phase.
    pub phases: Phases,
    /// Rows that came in.
    pub rows_in: Option<u64>,
    /// Rows per second that came in since the batch before.
    pub input_rate: Option<f64>,
    /// Rows per second while it ran.
    pub processed_rate: Option<f64>,
    /// How far its sources are behind: offsets, bytes and files added up, the worst partition of
    /// all of them.
    pub behind: Lag,
    /// The watermark it ran with.
    pub watermark: Watermark,
    /// The latest event time in it.
    pub latest_event: Option<UnixMillis>,
    /// Rows in the state of all operators.
    pub state_rows: Rows,
    /// Memory of all state stores.
    pub memory: Option<Bytes>,
    /// Rows that came too late for the watermark.
    pub dropped: Option<u64>,
}

impl Default for Numbers {
    fn default() -> Self {
        Self {
            at: None,
            took: None,
            phases: Phases::default(),
            rows_in: None,
            input_rate: None,
            processed_rate: None,
            behind: Lag::default(),
            watermark: Watermark::None,
            latest_event: None,
            state_rows: Rows::Unknown,
            memory: None,
            dropped: None,
        }
    }
}

impl Numbers {
    /// The numbers of a progress.
    pub fn of(progress: &Progress) -> Self {
        let operators = &progress.operators;
        Self {
            at: progress.timestamp,
            took: progress.duration_ms,
            phases: Phases::of(&progress.phases, progress.duration_ms),
            rows_in: progress.rows_in,
            input_rate: progress.input_rate,
            processed_rate: progress.processed_rate,
            behind: behind(&progress.sources),
            watermark: progress.watermark,
            latest_event: progress.event_time.max,
            state_rows: state_rows(operators.iter().map(|operator| operator.rows)),
            memory: added(operators.iter().map(|operator| operator.memory.map(|bytes| bytes.0)))
                .map(Bytes),
            dropped: added(operators.iter().map(|operator| operator.dropped)),
        }
    }

    /// When it ended: its start and how long it took.
    pub fn ended(&self) -> Option<UnixMillis> {
        Some(UnixMillis(self.at?.0.saturating_add_unsigned(self.took?)))
    }

    /// Milliseconds from the watermark to the latest event of the batch: what the state has to
    /// hold on to. `None` without either; 0 where the watermark is ahead.
    pub fn watermark_lag(&self) -> Option<u64> {
        match self.watermark {
            Watermark::At(watermark) => Some(watermark.until(self.latest_event?)),
            Watermark::NotSet | Watermark::None => None,
        }
    }

    /// Fills in what is missing here from another telling of the same batch.
    pub fn fill_from(&mut self, other: &Self) {
        let fresh = self.phases == Phases::default();
        if fresh || (self.took.is_none() && other.took.is_some()) {
            self.phases = other.phases;
        }
        self.at = self.at.or(other.at);
        self.took = self.took.or(other.took);
        self.rows_in = self.rows_in.or(other.rows_in);
        self.input_rate = self.input_rate.or(other.input_rate);
        self.processed_rate = self.processed_rate.or(other.processed_rate);
        self.behind = Lag {
            offsets: self.behind.offsets.or(other.behind.offsets),
            worst: self.behind.worst.or(other.behind.worst),
            bytes: self.behind.bytes.or(other.behind.bytes),
            files: self.behind.files.or(other.behind.files),
        };
        if self.watermark == Watermark::None {
            self.watermark = other.watermark;
        }
        self.latest_event = self.latest_event.or(other.latest_event);
        if self.state_rows == Rows::Unknown {
            self.state_rows = other.state_rows;
        }
        self.memory = self.memory.or(other.memory);
        self.dropped = self.dropped.or(other.dropped);
    }
}

/// The sum of what is known; `None` when nothing is.
fn added(values: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    values.flatten().reduce(u64::saturating_add)
}

/// One operator whose rows are not known makes the sum unknown.
fn state_rows(rows: impl Iterator<Item = Rows>) -> Rows {
    rows.reduce(|sum, rows| match (sum, rows) {
        (Rows::Known(sum), Rows::Known(rows)) => Rows::Known(sum.saturating_add(rows)),
        (Rows::Untracked, _) | (_, Rows::Untracked) => Rows::Untracked,
        (Rows::Unknown, _) | (_, Rows::Unknown) => Rows::Unknown,
    })
    .unwrap_or(Rows::Unknown)
}

fn behind(sources: &[SourceProgress]) -> Lag {
    let sum = |of: fn(&Lag) -> Option<u64>| added(sources.iter().map(|source| of(&source.lag)));
    Lag {
        offsets: sum(|lag| lag.offsets),
        worst: sources.iter().filter_map(|source| source.lag.worst).max(),
        bytes: sum(|lag| lag.bytes),
        files: sum(|lag| lag.files),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_operator_that_does_not_count_its_rows_makes_the_sum_unknown() {
        let sum = |rows: &[Rows]| state_rows(rows.iter().copied());
        assert_eq!(sum(&[Rows::Known(208), Rows::Known(2_583)]), Rows::Known(2_791));
        assert_eq!(sum(&[Rows::Known(208), Rows::Untracked]), Rows::Untracked);
        assert_eq!(sum(&[Rows::Unknown, Rows::Known(1)]), Rows::Unknown);
        assert_eq!(sum(&[]), Rows::Unknown);
    }

    #[test]
    fn the_lag_of_a_watermark_is_counted_from_the_latest_event() {
        let numbers =
            |watermark, latest| Numbers { watermark, latest_event: latest, ..Numbers::default() };
        let at = |time| Watermark::At(UnixMillis(time));
        assert_eq!(numbers(at(4_000), Some(UnixMillis(10_000))).watermark_lag(), Some(6_000));
        assert_eq!(numbers(at(20_000), Some(UnixMillis(10_000))).watermark_lag(), Some(0));
        assert_eq!(numbers(Watermark::NotSet, Some(UnixMillis(10_000))).watermark_lag(), None);
        assert_eq!(numbers(at(4_000), None).watermark_lag(), None);
    }
}
