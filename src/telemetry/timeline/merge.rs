//! One batch told twice: by progress JSON and by an event log, or by a source that was read
//! again. What is missing in the first telling is filled in from the other, so that telling
//! something again changes nothing.

use crate::telemetry::{
    OperatorProgress, PartitionLoad, Progress, Rows, SinkProgress, SourceProgress, TaskLoad,
    Watermark,
};

/// Fills in what is missing in a progress.
pub(super) fn progress(into: &mut Progress, other: Progress) {
    let Progress { query, batch: _, timestamp, duration_ms, phases, .. } = other;
    fill(&mut into.query.id, query.id);
    fill(&mut into.query.run, query.run);
    fill(&mut into.query.name, query.name);
    fill(&mut into.timestamp, timestamp);
    fill(&mut into.duration_ms, duration_ms);
    if into.phases.is_empty() {
        into.phases = phases;
    }
    fill(&mut into.rows_in, other.rows_in);
    fill(&mut into.input_rate, other.input_rate);
    fill(&mut into.processed_rate, other.processed_rate);
    fill(&mut into.event_time.min, other.event_time.min);
    fill(&mut into.event_time.avg, other.event_time.avg);
    fill(&mut into.event_time.max, other.event_time.max);
    if into.watermark == Watermark::None {
        into.watermark = other.watermark;
    }
    all(&mut into.operators, other.operators, operator);
    all(&mut into.sources, other.sources, source);
    match (&mut into.sink, other.sink) {
        (Some(into), Some(other)) => sink(into, other),
        (into, other) => fill(into, other),
    }
    for (key, value) in other.other {
        into.other.entry(key).or_insert(value);
    }
}

fn fill<T>(into: &mut Option<T>, other: Option<T>) {
    if into.is_none() {
        *into = other;
    }
}

/// Pairs by place; what only the other has is added.
fn all<T>(into: &mut Vec<T>, other: Vec<T>, pair: fn(&mut T, T)) {
    let mut others = other.into_iter();
    for (into, other) in into.iter_mut().zip(others.by_ref()) {
        pair(into, other);
    }
    into.extend(others);
}

fn operator(into: &mut OperatorProgress, other: OperatorProgress) {
    fill(&mut into.name, other.name);
    if into.rows == Rows::Unknown {
        into.rows = other.rows;
    }
    fill(&mut into.updated, other.updated);
    fill(&mut into.removed, other.removed);
    fill(&mut into.dropped, other.dropped);
    fill(&mut into.memory, other.memory);
    fill(&mut into.partitions, other.partitions);
    fill(&mut into.instances, other.instances);
    fill(&mut into.update_ms, other.update_ms);
    fill(&mut into.removal_ms, other.removal_ms);
    fill(&mut into.commit_ms, other.commit_ms);
    if into.custom.is_empty() {
        into.custom = other.custom;
    }
    if into.labelled.is_empty() {
        into.labelled = other.labelled;
    }
}

fn source(into: &mut SourceProgress, other: SourceProgress) {
    fill(&mut into.description, other.description);
    fill(&mut into.start, other.start);
    fill(&mut into.end, other.end);
    fill(&mut into.latest, other.latest);
    fill(&mut into.rows_in, other.rows_in);
    fill(&mut into.input_rate, other.input_rate);
    fill(&mut into.processed_rate, other.processed_rate);
    if into.metrics.is_empty() {
        into.metrics = other.metrics;
    }
    fill(&mut into.lag.offsets, other.lag.offsets);
    fill(&mut into.lag.worst, other.lag.worst);
    fill(&mut into.lag.bytes, other.lag.bytes);
    fill(&mut into.lag.files, other.lag.files);
}

fn sink(into: &mut SinkProgress, other: SinkProgress) {
    fill(&mut into.description, other.description);
    fill(&mut into.rows_out, other.rows_out);
}

/// Whether two tellings are of the same stateful operator.
pub(super) fn same_operator(a: &PartitionLoad, b: &PartitionLoad) -> bool {
    match (a.operator, b.operator) {
        (Some(a), Some(b)) => a == b,
        _ => a.operator_name == b.operator_name,
    }
}

/// Adds the tasks of another telling. Of a task that both tell of, what the later says counts (it
/// may have been running before), and what it does not say is kept (sources tell different things).
pub(super) fn load(into: &mut PartitionLoad, other: PartitionLoad) {
    fill(&mut into.operator, other.operator);
    fill(&mut into.operator_name, other.operator_name);
    into.timestamp = into.timestamp.max(other.timestamp);
    into.expected = into.expected.max(other.expected);
    if into.tasks.is_empty() {
        into.tasks = other.tasks;
    } else {
        into.tasks.extend(other.tasks);
    }
    tidy(&mut into.tasks);
}

/// One task for each partition, in the order of partitions: the last that was told, with what only
/// earlier ones say.
pub(super) fn tidy(tasks: &mut Vec<TaskLoad>) {
    let tidy = |pair: &[TaskLoad]| matches!(pair, [a, b] if a.partition < b.partition);
    if tasks.windows(2).all(tidy) {
        return;
    }
    tasks.reverse();
    tasks.sort_by_key(|task| task.partition);
    tasks.dedup_by(|earlier, task| {
        let same = earlier.partition == task.partition;
        if same {
            self::task(task, earlier);
        }
        same
    });
}

fn task(into: &mut TaskLoad, other: &mut TaskLoad) {
    fill(&mut into.rows, other.rows);
    fill(&mut into.updated, other.updated);
    fill(&mut into.removed, other.removed);
    fill(&mut into.dropped, other.dropped);
    fill(&mut into.memory, other.memory);
    fill(&mut into.arriving, other.arriving);
    fill(&mut into.arriving_bytes, other.arriving_bytes);
    fill(&mut into.task_ms, other.task_ms);
    fill(&mut into.update_ms, other.update_ms);
    fill(&mut into.removal_ms, other.removal_ms);
    fill(&mut into.commit_ms, other.commit_ms);
    fill(&mut into.gc_ms, other.gc_ms);
    fill(&mut into.spilled, other.spilled);
    fill(&mut into.fetch_wait_ms, other.fetch_wait_ms);
    fill(&mut into.executor, other.executor.take());
    fill(&mut into.host, other.host.take());
    fill(&mut into.loaded, other.loaded);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::PartitionId;

    fn task(partition: u32, rows: u64) -> TaskLoad {
        TaskLoad { partition: PartitionId(partition), rows: Some(rows), ..TaskLoad::default() }
    }

    #[test]
    fn of_two_tellings_of_a_task_the_later_counts() {
        let mut tasks = vec![task(2, 20), task(0, 1), task(2, 22), task(1, 10), task(0, 3)];
        tidy(&mut tasks);
        let told: Vec<_> = tasks.iter().map(|task| (task.partition.0, task.rows)).collect();
        assert_eq!(told, [(0, Some(3)), (1, Some(10)), (2, Some(22))]);
    }

    #[test]
    fn what_only_an_earlier_telling_says_is_kept() {
        let arrived = TaskLoad { rows: None, arriving: Some(7), ..task(1, 0) };
        let mut tasks = vec![task(1, 10), arrived];
        tidy(&mut tasks);
        assert_eq!(tasks, [TaskLoad { arriving: Some(7), ..task(1, 10) }]);
    }
}
