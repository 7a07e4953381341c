//! The stateful operators of a progress object, and their custom metrics.

use serde_json::{Map, Value};

use crate::telemetry::event::{Custom, OperatorProgress, PartitionLabelled, Rows};
use crate::telemetry::fields::Fields;
use crate::telemetry::number;
use crate::units::{Bytes, PartitionId};

/// What stands between the name of a labelled metric and its partition.
const LABEL: &str = ".partition_";

/// Reads one of `stateOperators`.
pub(super) fn parse(object: Map<String, Value>) -> OperatorProgress {
    let mut fields = Fields::of(object);
    let updated = fields.read("numRowsUpdated", number::count);
    let removed = fields.read("numRowsRemoved", number::count);
    let (custom, labelled) = metrics(&mut fields);
    OperatorProgress {
        name: fields.read("operatorName", |value| number::text(value).map(str::to_owned)),
        rows: rows(fields.read("numRowsTotal", number::count), updated, removed),
        updated,
        removed,
        dropped: fields.read("numRowsDroppedByWatermark", number::count),
        memory: fields.read("memoryUsedBytes", number::count).map(Bytes),
        partitions: fields.read("numShufflePartitions", number::count),
        instances: fields.read("numStateStoreInstances", number::count),
        update_ms: fields.read("allUpdatesTimeMs", number::count),
        removal_ms: fields.read("allRemovalsTimeMs", number::count),
        commit_ms: fields.read("commitTimeMs", number::count),
        custom,
        labelled,
        other: fields.rest(),
    }
}

/// What a total stands for. Without row tracking Spark reports 0, always. A batch that puts more
/// rows than it removes cannot leave 0; one that removes all that it puts can, so that such a 0
/// says nothing.
pub(in crate::telemetry) fn rows(
    total: Option<u64>,
    updated: Option<u64>,
    removed: Option<u64>,
) -> Rows {
    let (updated, removed) = (updated.unwrap_or(0), removed.unwrap_or(0));
    match total {
        None => Rows::Unknown,
        Some(0) if updated > removed => Rows::Untracked,
        Some(0) if updated > 0 => Rows::Unknown,
        Some(total) => Rows::Known(total),
    }
}

/// `customMetrics`, those of one partition apart.
fn metrics(fields: &mut Fields) -> (Vec<Custom>, Vec<PartitionLabelled>) {
    let (mut custom, mut labelled) = (Vec::new(), Vec::new());
    for (name, value) in fields.object("customMetrics").unwrap_or_default() {
        let value = number::measure(&value);
        match label(&name) {
            Some((name, partition, store)) => {
                let (name, store) = (name.to_owned(), store.to_owned());
                labelled.push(PartitionLabelled { name, partition, store, value });
            }
            None => custom.push(Custom { name, value }),
        }
    }
    (custom, labelled)
}

/// The parts of `NAME.partition_P_STORE`; stores are called `default` or such as
/// `left-keyToNumValues`.
fn label(text: &str) -> Option<(&str, PartitionId, &str)> {
    let (name, label) = text.split_once(LABEL)?;
    let (partition, store) = label.split_once('_')?;
    let digits = partition.bytes().all(|byte| byte.is_ascii_digit());
    let partition = partition.parse().ok().filter(|_| digits)?;
    (!name.is_empty() && !store.is_empty()).then_some((name, PartitionId(partition), store))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_of_nothing_is_not_taken_at_its_word() {
        let of = |total, updated, removed| rows(Some(total), Some(updated), Some(removed));
        assert_eq!(of(734, 304, 0), Rows::Known(734));
        assert_eq!(of(0, 0, 0), Rows::Known(0));
        assert_eq!(of(0, 729, 397), Rows::Untracked);
        assert_eq!(of(0, 10, 10), Rows::Unknown, "all of them may be gone again");
        assert_eq!(of(0, 0, 144), Rows::Known(0));
        assert_eq!(rows(None, Some(1), None), Rows::Unknown);
        assert_eq!(rows(Some(0), None, None), Rows::Known(0));
    }

    #[test]
    fn labels_have_a_partition_and_a_store() {
        assert_eq!(
            label("SnapshotLastUploaded.partition_12_right-keyWithIndexToValue"),
            Some(("SnapshotLastUploaded", PartitionId(12), "right-keyWithIndexToValue"))
        );
        assert_eq!(
            label("a.b.partition_0_store_1"),
            Some(("a.b", PartitionId(0), "store_1")),
            "names have dots, stores underscores"
        );
        for other in [
            "rocksdbGetCount",
            "x.partition_1",
            "x.partition_+1_a",
            "x.partition_a_b",
            ".partition_1_a",
        ] {
            assert_eq!(label(other), None, "{other}");
        }
    }
}
