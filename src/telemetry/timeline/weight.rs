//! About how many bytes an event takes: what the bounds on memory are counted in. It need not
//! be exact, only never far too low.

use serde_json::{Map, Value};

use crate::telemetry::{OperatorProgress, PartitionLoad, Progress, SourceProgress, TaskLoad};

/// What a value or an allocation takes besides its contents.
const EACH: usize = 48;

/// Of a progress.
pub(super) fn of_progress(progress: &Progress) -> usize {
    let phases = progress.phases.iter().map(|(key, _)| EACH + key.len()).sum::<usize>();
    let sink = progress
        .sink
        .as_ref()
        .map_or(0, |sink| sink.description.as_ref().map_or(0, String::len) + of_map(&sink.other));
    size_of::<Progress>()
        + phases
        + progress.operators.iter().map(of_operator).sum::<usize>()
        + progress.sources.iter().map(of_source).sum::<usize>()
        + sink
        + of_map(&progress.other)
}

/// Of what the tasks of a batch did.
pub(super) fn of_load(load: &PartitionLoad) -> usize {
    size_of::<PartitionLoad>() + load.tasks.len().saturating_mul(size_of::<TaskLoad>() + EACH)
}

fn of_operator(operator: &OperatorProgress) -> usize {
    let custom = operator.custom.iter().map(|metric| 2 * EACH + metric.name.len());
    let labelled =
        operator.labelled.iter().map(|metric| 3 * EACH + metric.name.len() + metric.store.len());
    size_of::<OperatorProgress>()
        + custom.sum::<usize>()
        + labelled.sum::<usize>()
        + of_map(&operator.other)
}

fn of_source(source: &SourceProgress) -> usize {
    let offsets = [&source.start, &source.end, &source.latest];
    let metrics = source.metrics.iter().map(|(key, value)| EACH + key.len() + of_value(value));
    size_of::<SourceProgress>()
        + source.description.as_ref().map_or(0, String::len)
        + offsets.into_iter().flatten().map(of_value).sum::<usize>()
        + metrics.sum::<usize>()
        + of_map(&source.other)
}

fn of_map(map: &Map<String, Value>) -> usize {
    map.iter().map(|(key, value)| 2 * EACH + key.len() + of_value(value)).sum()
}

/// A parser has bounded how deep a value is nested.
fn of_value(value: &Value) -> usize {
    EACH + match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(of_value).sum(),
        Value::Object(fields) => of_map(fields),
    }
}
