//! The partitions screen's own state: what is selected, compared, sorted and filtered.

use super::super::compared::Compared;
use super::super::data::{StoreData, StoreKey};
use super::super::filter::PartitionFilter;
use super::super::heat::{Metric, Scale};
use crate::report::PartitionReport;
use crate::units::PartitionId;

/// Which part of the partitions screen has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Focus {
    /// The heatmap.
    Map,
    /// The table.
    #[default]
    Table,
}

/// What the table of partitions is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SortBy {
    /// Rows.
    #[default]
    Rows,
    /// Change of rows since the batch before.
    Change,
    /// Bytes.
    Bytes,
    /// Changelogs on top of the snapshot.
    Changelogs,
    /// Version of the snapshot.
    Snapshot,
    /// What is compared, where it has a column of its own.
    Compared,
    /// Partition id.
    Partition,
}

impl SortBy {
    /// The next one in the order of the keys.
    #[must_use]
    pub fn next(self, metric: Metric) -> Self {
        match self {
            Self::Partition if !matches!(metric, Metric::Rows | Metric::Bytes) => Self::Compared,
            Self::Rows => Self::Change,
            Self::Change => Self::Bytes,
            Self::Bytes => Self::Changelogs,
            Self::Changelogs => Self::Snapshot,
            Self::Snapshot => Self::Partition,
            Self::Partition | Self::Compared => Self::Rows,
        }
    }

    /// The column of what is compared.
    pub fn of(metric: Metric) -> Self {
        match metric {
            Metric::Rows => Self::Rows,
            Metric::Bytes => Self::Bytes,
            _ => Self::Compared,
        }
    }

    /// The direction that shows what one looks for first.
    pub fn usual(self) -> Direction {
        match self {
            Self::Partition | Self::Snapshot => Direction::Up,
            _ => Direction::Down,
        }
    }
}

/// The direction of a sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Smallest first.
    Up,
    /// Largest first.
    #[default]
    Down,
}

/// The partitions screen's own state.
#[derive(Debug, Clone, Default)]
pub struct PartitionsState {
    /// The store shown; the first when it is not there.
    pub store: Option<StoreKey>,
    /// The selected partition.
    pub selected: Option<PartitionId>,
    /// What has the keys.
    pub focus: Focus,
    /// What is compared.
    pub metric: Metric,
    /// How the heat scale is cut.
    pub scale: Scale,
    /// What the table is sorted by.
    pub sort: SortBy,
    /// Which way.
    pub direction: Direction,
    /// What was typed after `/`.
    pub filter: String,
    /// The table's partitions by id: filtered and sorted.
    pub order: Vec<PartitionId>,
}

impl PartitionsState {
    /// What was typed, understood; everything while it means nothing.
    pub fn parsed_filter(&self) -> PartitionFilter {
        PartitionFilter::parse(&self.filter).unwrap_or_default()
    }
}

pub(super) fn order(
    store: &StoreData,
    compared: &Compared,
    view: &PartitionsState,
) -> Vec<PartitionId> {
    let filter = view.parsed_filter();
    let mut keyed: Vec<(Option<i128>, PartitionId)> = store
        .partitions()
        .iter()
        .enumerate()
        .filter_map(|(place, part)| {
            let change = store.change(part.partition);
            let value = compared.at(place);
            let admitted = filter.admits(part.partition, value, change);
            admitted.then(|| (sort_key(part, change, value, view.sort), part.partition))
        })
        .collect();
    keyed.sort_unstable_by(|a, b| match view.direction {
        Direction::Up => a.cmp(b),
        Direction::Down => b.0.cmp(&a.0).then(a.1.cmp(&b.1)),
    });
    keyed.into_iter().map(|(_, id)| id).collect()
}

fn sort_key(
    part: &PartitionReport,
    change: Option<i64>,
    value: Option<u64>,
    by: SortBy,
) -> Option<i128> {
    match by {
        SortBy::Rows => part.rows.map(i128::from),
        SortBy::Change => change.map(i128::from),
        SortBy::Bytes => Some(i128::from(part.bytes.0)),
        SortBy::Changelogs => Some(i128::from(part.changelogs)),
        SortBy::Snapshot => part.snapshot_version.map(|version| i128::from(version.0)),
        SortBy::Compared => value.map(i128::from),
        SortBy::Partition => Some(i128::from(part.partition.0)),
    }
}
