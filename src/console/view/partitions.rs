//! Partitions: how is it spread?
//!
//! ```text
//!  ┌ 200 partitions by rows, log ───────┐ total 842,113     mean 4,210
//!  │    0  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ │ max 48,013 (37)   max÷mean 11.4 !
//!  │   30> ▒▒▒▒▒▒▒█▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ │ …
//!  └────────────────────────────────────┘ ░░ under 4.2k   2 ▌
//!    part   rows v       Δ   bytes  …
//!  > 37     48,013    +212  5.1 MB  …
//!  partition 37: …
//! ```

use ratatui::layout::Rect;

use super::super::compared::Compared;
use super::super::data::StoreData;
use super::super::format;
use super::super::geometry::{self, PartitionsPlan, Room};
use super::super::heat::HeatScale;
use super::super::look::{Role, Symbols};
use super::super::paint::Canvas;
use super::super::state::State;
use super::super::text::Row;
use super::{map, message, side, table};
use crate::report::PartitionReport;
use crate::telemetry::TaskLoad;
use crate::telemetry::timeline::task_of;
use crate::units::{BatchId, StateVersion, UnixMillis};

/// Draws the partitions screen.
pub(super) fn draw(canvas: &mut Canvas<'_>, state: &State) {
    let Some(chrome) = geometry::chrome(state.size) else { return };
    let Some(store) = state.store() else {
        let stateful = state.data().is_some_and(|data| data.inspect().stateful);
        let why = if stateful {
            "No store was found: no batch has committed state yet."
        } else {
            "This query keeps no state, so there are no partitions to show."
        };
        message(canvas, chrome.body, &[why, "", "1 goes back to the overview."]);
        return;
    };
    let Some(spread) = &store.spread else {
        message(canvas, chrome.body, &[waiting(state, store).as_str()]);
        return;
    };
    let Some(plan) = geometry::partitions_plan(state.size, spread.partitions.len()) else { return };
    let compared = state.compared(store);
    let scale = HeatScale::of(compared.distribution.as_ref(), state.partitions.scale);
    map::draw(canvas, state, store, &compared, &scale, &plan);
    if let Some(area) = plan.side {
        side::draw(canvas, store, &compared, &scale, area);
    }
    table::draw(canvas, state, store, &compared, plan.table);
    detail(canvas, state, store, &compared, &plan);
}

fn waiting(state: &State, store: &StoreData) -> String {
    let partitions = format::plural(store.partitions.into(), "partition", "partitions");
    match state.reading.trouble() {
        Some(why) => {
            format!("The partitions could not be read: {why}. It is tried again by itself.")
        }
        None => format!("Looking at {partitions} of {}.", store.key.store),
    }
}

fn detail(
    canvas: &mut Canvas<'_>,
    state: &State,
    store: &StoreData,
    compared: &Compared,
    plan: &PartitionsPlan,
) {
    let symbols = canvas.symbols();
    let Some(part) = state.selected_partition() else { return };
    let first = first_line(store, part, compared, symbols);
    canvas.row(plan.detail, &first);
    if plan.room == Room::Ample {
        let second = Rect { y: plan.detail.y + 1, height: 1, ..plan.detail };
        let tasks = state.tasks(store.key.operator, store.partitions);
        let task = tasks.and_then(|span| {
            let (batch, load) = *span.batches.first()?;
            Some((batch, task_of(load, part.partition)?))
        });
        let line = match task {
            Some((batch, task)) => task_line(batch, task),
            None => second_line(part, state.shown_now()),
        };
        canvas.row(second, &line);
    }
}

fn first_line(
    store: &StoreData,
    part: &PartitionReport,
    compared: &Compared,
    symbols: &Symbols,
) -> Row {
    let mut row = Row::of(format!(" partition {}: ", part.partition), Role::Strong);
    match part.rows {
        Some(rows) => row.push(format!("{} rows ", format::count(rows)), Role::Strong),
        None => row.push("rows ", Role::Text),
    }
    row.push(format::grade(part.rows_grade, part.changelogs), Role::Muted);
    if compared.metric.is_of_tasks()
        && let Some(value) = compared.of(store, part.partition)
    {
        let (value, word) = (compared.metric.value(value), compared.metric.word());
        row.push(format!("; {value} {word}"), Role::Strong);
    }
    if let Some((share, ratio)) = table::weight(store, part.partition, compared) {
        let (share, ratio) = (format::share(share), format::ratio(ratio));
        row.push(format!(", {share}, {ratio} {} the mean", symbols.times), Role::Text);
    }
    let files = format::plural(part.files, "file", "files");
    row.with(format!("; {} in {files}", format::bytes(part.bytes)), Role::Text)
}

/// What the partition's task did in the last batch that tells.
fn task_line(batch: BatchId, task: &TaskLoad) -> Row {
    let mut row = Row::of(format!("   batch {batch}:"), Role::Muted);
    let mut say = |text: Option<String>, label: &str| {
        if let Some(text) = text {
            row.push(format!(" {text}"), Role::Text);
            row.push(format!(" {label};"), Role::Muted);
        }
    };
    say(task.arriving.map(format::count), "rows arrived");
    say(task.task_ms.map(format::millis), "task");
    say(task.commit_ms.map(format::millis), "commit");
    say(task.gc_ms.filter(|millis| *millis > 0).map(format::millis), "gc");
    say(task.spilled.filter(|bytes| bytes.0 > 0).map(format::bytes), "spilled");
    say(task.fetch_wait_ms.filter(|millis| *millis > 0).map(format::millis), "fetch wait");
    if let Some(executor) = &task.executor {
        row.push(format!(" executor {executor}"), Role::Text);
    }
    if let Some(host) = &task.host {
        row.push(format!(" on {host}"), Role::Text);
    }
    if task.loaded == Some(true) {
        row.push(" loaded anew", Role::Warning);
    }
    row
}

fn second_line(part: &PartitionReport, now: UnixMillis) -> Row {
    let mut row = Row::of("   ", Role::Text);
    match part.snapshot_version {
        Some(version) => row.push(format!("snapshot {version}"), Role::Text),
        None => row.push("no snapshot", Role::Text),
    }
    row.push(
        format!(" + {}", format::plural(part.changelogs, "changelog", "changelogs")),
        Role::Text,
    );
    if let Some(written) = format::told(part.last_written) {
        row.push(format!("; written {}", format::short_moment(written, now)), Role::Text);
    }
    if let Some(batch) = part.last_changed.and_then(StateVersion::batch) {
        row.push(format!("; last changed by batch {batch}"), Role::Text);
    }
    // A store without families has the one that says nothing new.
    if part.families.len() > 1 {
        row.push("; ", Role::Text);
        for (at, (name, count)) in part.families.iter().enumerate() {
            let rows = count.rows.map_or_else(|| "?".to_owned(), format::compact);
            let gap = if at == 0 { "" } else { ", " };
            row.push(format!("{gap}{name} {rows}"), Role::Muted);
        }
    }
    row
}
