//! A query's batches as the columns of a chart: seams between runs and gaps between batch ids
//! are columns too.

use super::query::{Place, QueryTimeline};
use super::{Batch, Run};
use crate::units::BatchId;

/// A column of a chart over batches.
#[derive(Debug, Clone, Copy)]
pub enum Column<'a> {
    /// A batch that was reported, and its run.
    Batch(&'a Run, &'a Batch),
    /// A run begins here.
    Seam(&'a Run),
    /// Batches of which nothing was told lie between these two.
    Gap {
        /// The batch before the gap.
        after: BatchId,
        /// The batch after it.
        before: BatchId,
    },
}

impl QueryTimeline {
    /// The columns of a chart that has room for so many: the newest at the right end, unless the
    /// place in question lies before them; then that is in the middle.
    pub fn track(&self, room: usize, at: Option<Place>) -> Vec<Column<'_>> {
        let Some(newest) = self.newest() else { return Vec::new() };
        let columns = self.columns_to(newest, room);
        match at {
            Some(at) if !shows(&columns, at) => {
                let end = self.step(at, isize::try_from(room / 2).unwrap_or(isize::MAX));
                self.columns_to(end, room)
            }
            _ => columns,
        }
    }

    /// As many columns as there is room for, the last of them the batch at `end`.
    fn columns_to(&self, end: Place, room: usize) -> Vec<Column<'_>> {
        let mut columns = Vec::with_capacity(room.min(4_096));
        let mut later: Option<(&Run, &Batch)> = None;
        for (run, batch) in self.back_from(end) {
            if let Some((later_run, later_batch)) = later {
                if later_run.key != run.key {
                    columns.push(Column::Seam(later_run));
                }
                if batch.id.0.checked_add(1).is_some_and(|next| next < later_batch.id.0) {
                    columns.push(Column::Gap { after: batch.id, before: later_batch.id });
                }
            }
            columns.push(Column::Batch(run, batch));
            later = Some((run, batch));
            if columns.len() >= room {
                break;
            }
        }
        columns.truncate(room);
        columns.reverse();
        columns
    }
}

fn shows(columns: &[Column<'_>], place: Place) -> bool {
    columns.iter().any(|column| {
        matches!(column, Column::Batch(run, batch)
            if run.key == place.run && batch.id == place.batch)
    })
}
