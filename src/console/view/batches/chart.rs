//! Which batch is drawn in which column.

use crate::telemetry::timeline::{Batch, Column, Place, QueryTimeline};

/// The widest that a batch is drawn, with a blank beside it.
const WIDEST: usize = 4;
/// A batch that takes this many times what nine in ten take is cut off, so that the others can
/// be told apart.
const OUTLIER: u64 = 4;

/// The columns of a chart over batches.
#[derive(Debug)]
pub(super) struct Chart<'a> {
    columns: Vec<Column<'a>>,
    /// Cells that a column takes.
    per: usize,
    /// Cells of all of them.
    pub(super) width: usize,
    /// The batch that is looked at.
    at: Option<Place>,
    /// What the uppermost cell stands for, in milliseconds.
    pub(super) top: u64,
    longest: u64,
}

impl<'a> Chart<'a> {
    /// The chart of a query's batches around the one that is looked at.
    pub(super) fn of(query: &'a QueryTimeline, at: Option<Place>, width: usize) -> Self {
        let columns = query.track(width, at);
        let per = (width / columns.len().max(1)).clamp(1, WIDEST);
        let mut chart = Self { columns, per, width, at, top: 0, longest: 0 };
        let mut times: Vec<u64> = chart.batches().map(drawn).collect();
        times.sort_unstable();
        chart.longest = times.last().copied().unwrap_or(0);
        let most = times.get(times.len() * 9 / 10).copied().unwrap_or(0).max(1);
        let cut = chart.longest > most.saturating_mul(OUTLIER);
        chart.top = nice(if cut { most.saturating_mul(2) } else { chart.longest });
        chart
    }

    /// All columns from left to right.
    pub(super) fn columns(&self) -> &[Column<'a>] {
        &self.columns
    }

    /// The batches among them.
    pub(super) fn batches(&self) -> impl DoubleEndedIterator<Item = &'a Batch> + '_ {
        self.columns.iter().filter_map(|column| match column {
            Column::Batch(_, batch) => Some(*batch),
            Column::Seam(_) | Column::Gap { .. } => None,
        })
    }

    /// Whether a bar is longer than there is room for.
    pub(super) fn is_cut(&self) -> bool {
        self.longest > self.top
    }

    /// The column that is drawn in a cell. A batch is drawn in all cells of its column but the
    /// last, if there are several; anything else in the first.
    pub(super) fn cell(&self, x: usize) -> Option<&Column<'a>> {
        let within = x % self.per;
        let column = self.columns.get(x / self.per)?;
        let drawn = match column {
            Column::Batch(..) => self.per == 1 || within + 1 < self.per,
            Column::Seam(_) | Column::Gap { .. } => within == 0,
        };
        drawn.then_some(column)
    }

    /// The batch at a cell.
    pub(super) fn at(&self, x: usize) -> Option<Place> {
        self.columns.get(x / self.per).and_then(place)
    }

    /// Whether a column is the batch that is looked at.
    pub(super) fn is_chosen(&self, column: &Column<'_>) -> bool {
        self.at.is_some() && place(column) == self.at
    }

    /// The cell at which a column begins.
    pub(super) fn x_of(&self, column: usize) -> usize {
        column * self.per
    }

    /// The cell of the batch that is looked at.
    pub(super) fn chosen_x(&self) -> Option<usize> {
        let column = self.columns.iter().position(|column| self.is_chosen(column))?;
        Some(self.x_of(column))
    }

    /// The batch that is looked at.
    pub(super) fn chosen(&self) -> Option<&'a Batch> {
        self.columns.iter().find(|column| self.is_chosen(column)).and_then(|column| match column {
            Column::Batch(_, batch) => Some(*batch),
            Column::Seam(_) | Column::Gap { .. } => None,
        })
    }
}

fn place(column: &Column<'_>) -> Option<Place> {
    match column {
        Column::Batch(run, batch) => Some(Place { run: run.key, batch: batch.id }),
        Column::Seam(_) | Column::Gap { .. } => None,
    }
}

/// How long a bar is drawn.
pub(super) fn drawn(batch: &Batch) -> u64 {
    batch.numbers.phases.total().max(batch.numbers.took.unwrap_or(0))
}

/// The least of 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10… that is not below a time, so that the axis
/// does not change with every batch.
fn nice(millis: u64) -> u64 {
    const STEPS: [u64; 10] = [10, 12, 15, 20, 25, 30, 40, 50, 60, 80];
    let mut unit = 1_u64;
    loop {
        for step in STEPS {
            match step.checked_mul(unit) {
                Some(top) if top >= millis => return top,
                Some(_) => {}
                None => return millis,
            }
        }
        unit = unit.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_a_round_number() {
        let tops = [0, 10, 11, 999, 1_001, 41_880, u64::MAX].map(nice);
        assert_eq!(tops, [10, 10, 12, 1_000, 1_200, 50_000, u64::MAX]);
    }
}
