//! The metrics of stateful operators, by the names that Spark gives them (`StateStoreWriter`, 3.5 to
//! 4.3). Must not know where their values come from.

/// A metric of a stateful operator, by the names that Spark gives in `StateStoreWriter` and, for
/// [`Metric::Loaded`], in the `RocksDB` provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Metric {
    Rows,
    Updated,
    Removed,
    Dropped,
    Memory,
    UpdateMs,
    RemovalMs,
    CommitMs,
    /// Instances that were loaded from storage (4.2 and later).
    Loaded,
}

impl Metric {
    /// How many there are.
    pub(super) const COUNT: usize = 9;

    /// The metric of this name; `None` for others.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            ROWS => Self::Rows,
            "number of updated state rows" => Self::Updated,
            "number of removed state rows" => Self::Removed,
            "number of rows which are dropped by watermark" => Self::Dropped,
            "memory used by state" => Self::Memory,
            "time to update" => Self::UpdateMs,
            "time to remove" => Self::RemovalMs,
            "time to commit changes" => Self::CommitMs,
            "RocksDB: load - number of state loads from external storage" => Self::Loaded,
            _ => return None,
        })
    }
}

/// The metric that every stateful operator has, and nothing else.
pub(super) const ROWS: &str = "number of total state rows";
