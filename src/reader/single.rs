//! The layout of an operator without a grouping key: it is counted, for there is nothing to hash.

use super::ReadError;
use super::opened::Opened;
use crate::analysis::layout::{Layout, Load};
use crate::state::census::Method;
use crate::state::store::Run;
use crate::units::PartitionId;

/// Rows and bytes of files per partition, all but partition 0 empty in a sound checkpoint.
pub(super) fn layout(opened: &Opened, run: Run<'_>) -> Result<Layout, ReadError> {
    let mut partitions = Vec::new();
    for partition in (0..opened.partitions.max(1)).map(PartitionId) {
        let mut load = Load::default();
        for reading in &opened.stores {
            let target = opened.target(&reading.store, partition);
            let census = reading.store.census(partition, &target, Method::Exact, run)?;
            load.rows += census.report.rows.unwrap_or(0);
            load.bytes += census.report.bytes.0;
        }
        partitions.push(load);
    }
    Ok(Layout::of(partitions))
}
