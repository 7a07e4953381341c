//! Below the chart: the batch that is looked at, in three lines. The rest is in a window.

use super::super::super::format;
use super::super::super::look::{Role, Symbols};
use super::super::super::state::State;
use super::super::super::text::Row;
use super::bars;
use super::lines::short_name;
use crate::telemetry::timeline::{Batch, Column, Numbers, QueryTimeline, Run};
use crate::telemetry::{Rows, Watermark};

/// Sources that are named on a line.
const SOURCES: usize = 3;

/// The lines.
pub(super) fn rows(state: &State, query: &QueryTimeline, symbols: &Symbols) -> Vec<Row> {
    let Some(place) = state.place() else { return Vec::new() };
    let (Some(run), Some(batch)) = (query.run(place.run), query.batch(place)) else {
        let gone = format!(" batch {} is too long ago: nothing of it is remembered", place.batch);
        return vec![Row::of(gone, Role::Muted)];
    };
    vec![time(batch), flow(batch), place_in_time(state, query, run, batch, symbols)]
}

/// When, how long, and the phases that took most.
fn time(batch: &Batch) -> Row {
    let numbers = &batch.numbers;
    let mut row = Row::of(format!(" batch {} ", batch.id), Role::Strong);
    if let Some(at) = numbers.at {
        row.push(format::clock(at), Role::Text);
    }
    match numbers.took {
        Some(took) => row.push(format!(" took {}", format::millis(took)), Role::Strong),
        None => row.push(" took ?", Role::HeatUnknown),
    }
    let Some(progress) = batch.progress() else {
        let words = ": only these numbers are kept of a batch so long ago";
        return row.with(words, Role::Muted);
    };
    let mut phases: Vec<(&str, u64)> = progress
        .phases
        .iter()
        .filter(|(key, millis)| key != "triggerExecution" && *millis > 0)
        .map(|(key, millis)| (key.as_str(), *millis))
        .collect();
    phases.sort_by_key(|(_, millis)| std::cmp::Reverse(*millis));
    for (at, (key, millis)) in phases.into_iter().enumerate() {
        row.push(if at == 0 { ": " } else { ", " }, Role::Muted);
        row.push(format!("{key} "), Role::Muted);
        row.push(format::millis(millis), Role::Text);
    }
    row
}

/// What came in, what is behind, what is kept.
fn flow(batch: &Batch) -> Row {
    let numbers = &batch.numbers;
    let mut row = Row::of("   ", Role::Text);
    let mut say = |text: String, role: Role| {
        if row.width() > 3 {
            row.push("; ", Role::Muted);
        }
        row.push(text, role);
    };
    if let Some(rows) = numbers.rows_in {
        say(format!("{} rows in", format::count(rows)), Role::Text);
    }
    if let Some((text, role)) = watermark(numbers) {
        say(text, role);
    }
    let sources = batch.progress().map_or(&[][..], |progress| &progress.sources);
    let behind: Vec<String> = sources
        .iter()
        .take(SOURCES)
        .filter_map(|source| {
            let behind = source.lag.offsets.or(source.lag.files).or(source.lag.worst);
            let behind = behind.filter(|behind| *behind > 0)?;
            let name = source.description.as_deref().map_or("source", short_name);
            Some(format!("{name} {} behind", format::compact(behind)))
        })
        .collect();
    for source in behind {
        say(source, Role::Text);
    }
    if let Some(dropped) = numbers.dropped.filter(|dropped| *dropped > 0) {
        say(format!("{} dropped as too late", format::count(dropped)), Role::Warning);
    }
    match numbers.state_rows {
        Rows::Known(rows) => say(format!("{} rows of state", format::count(rows)), Role::Text),
        Rows::Untracked => say("rows of state not tracked".to_owned(), Role::HeatUnknown),
        Rows::Unknown => {}
    }
    row
}

fn watermark(numbers: &Numbers) -> Option<(String, Role)> {
    match numbers.watermark {
        Watermark::None => None,
        Watermark::NotSet => Some(("watermark not set yet".to_owned(), Role::Muted)),
        Watermark::At(at) => {
            let now = numbers.latest_event.or(numbers.at).unwrap_or(at);
            let lag = numbers
                .watermark_lag()
                .map_or_else(String::new, |lag| format!(", {} behind events", format::millis(lag)));
            Some((format!("watermark {}{lag}", format::short_moment(at, now)), Role::Text))
        }
    }
}

/// Its run, what is missing before it, and whether the other screens can show it.
fn place_in_time(
    state: &State,
    query: &QueryTimeline,
    run: &Run,
    batch: &Batch,
    symbols: &Symbols,
) -> Row {
    let number = query.runs().iter().position(|known| known.key == run.key).unwrap_or(0) as u64;
    let number = number + 1 + query.forgotten.runs;
    let mut row = Row::of(format!("   run {number}"), Role::Text);
    if let Some(began) = run.began() {
        let now = batch.numbers.at.unwrap_or(began);
        let word = if run.started.is_some() { "since" } else { "seen since" };
        row.push(format!(" {word} {}", format::short_moment(began, now)), Role::Text);
    }
    let place = crate::telemetry::timeline::Place { run: run.key, batch: batch.id };
    let before = query.track(3, Some(place));
    let gap = before.iter().find_map(|column| match column {
        Column::Gap { after, before } if *before == batch.id => Some((*after, *before)),
        _ => None,
    });
    if let Some((after, before)) = gap {
        match bars::repartition_between(state, after, before) {
            Some((at, Some(count))) => {
                let text = format!("; batch {at} before it was a repartition to {count}");
                row.push(text, Role::Info);
            }
            Some((at, None)) => {
                row.push(format!("; batch {at} before it was a repartition"), Role::Info);
            }
            None => {
                let first = after.0.saturating_add(1);
                let last = before.0.saturating_sub(1);
                let which = if first == last {
                    format!("batch {first} was not told")
                } else {
                    format!("batches {first} to {last} were not told")
                };
                row.push(format!("; {which}"), Role::Warning);
            }
        }
    }
    if state.chosen.is_some() {
        match state.not_retained() {
            Some(_) => row.push("; its state is not retained", Role::Muted),
            None => row.push(format!(" {} 1 to 4 show its state", symbols.arrow), Role::Muted),
        }
    }
    row
}
