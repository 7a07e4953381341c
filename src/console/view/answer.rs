//! The third line: the answer to the screen's question, in one sentence.
//!
//! That the numbers are stale and why, where they are. Else on the overview the worst of: that
//! the query failed, what is broken, the most uneven store or traffic, what will hurt. On the
//! partitions screen how the shown store is spread.

use super::super::data::{Data, StoreData};
use super::super::format;
use super::super::heat::Metric;
use super::super::look::{Role, Symbols};
use super::super::overlay::severity;
use super::super::state::{Freshness, Screen, State};
use super::super::text::Row;
use crate::analysis::{Distribution, Spread};
use crate::diagnosis::Severity;
use crate::reader::Depth;
use crate::report::{InspectReport, Status};
use crate::telemetry::timeline::Activity;

/// The answer.
pub(super) fn row(state: &State, symbols: &Symbols) -> Row {
    if state.screen == Screen::Batches {
        return Row::of(" ", Role::Text).joined(super::batches::answer(state));
    }
    let Some(data) = state.data() else { return Row::new() };
    // What the numbers say is no answer while nobody knows whether it still holds.
    if let Freshness::Stale(why) = state.freshness() {
        return Row::of(format!(" X {why}"), Role::Error);
    }
    let answer = match state.screen {
        Screen::Overview => overview(state, data, symbols),
        Screen::Partitions => match state.store() {
            Some(store) => partitions(state, store, symbols),
            None => stateless(data),
        },
        Screen::Keys | Screen::Rows | Screen::WhatIf
            if !data.inspect().stateful || state.operator().is_none() =>
        {
            stateless(data)
        }
        Screen::Keys => super::hot_keys::answer(state, symbols),
        Screen::Rows => super::rows::answer(state, symbols),
        Screen::WhatIf => super::what_if::answer(state, symbols),
        Screen::Batches => super::batches::answer(state),
        Screen::Pauses if !data.inspect().stateful => stateless(data),
        Screen::Pauses => super::pauses::answer(state),
        Screen::Diagnosis => super::diagnosis::answer(state),
    };
    Row::of(" ", Role::Text).joined(answer)
}

fn overview(state: &State, data: &Data, symbols: &Symbols) -> Row {
    if let Some(query) = state.query()
        && let Activity::Failed(ended) = query.activity()
    {
        return super::running::failure(ended, query);
    }
    let worst = state.found.shown().first();
    if let Some(finding) = worst.filter(|finding| finding.severity == Severity::Error) {
        return headline(finding);
    }
    if let Some(row) = status(data.inspect()) {
        return row;
    }
    let ratio = |store: &&StoreData| store.max_over_mean.unwrap_or(0.0);
    let most = data
        .stores
        .iter()
        .max_by(|a, b| a.judged().cmp(&b.judged()).then(ratio(a).total_cmp(&ratio(b))));
    let several = data.stores.len() > 1;
    let place = |store: &StoreData| {
        let key = &store.key;
        if several { format!("  op {} {}", key.operator, key.store) } else { String::new() }
    };
    if let Some(store) = most.filter(|store| store.judged() == Spread::Skewed) {
        let answer = match contrast(state, store) {
            Some(sentence) => Row::of(sentence, Role::Warning),
            None => spread(store, symbols),
        };
        return answer.with(place(store), Role::Muted);
    }
    // A hot key of an aggregation is in its traffic only.
    let busy = data.stores.iter().find_map(|store| Some((store, contrast(state, store)?)));
    if let Some((store, sentence)) = busy {
        return Row::of(sentence, Role::Warning).with(place(store), Role::Muted);
    }
    if let Some(finding) = worst.filter(|finding| finding.severity == Severity::Warning) {
        return headline(finding);
    }
    match most {
        None => stateless(data),
        Some(_) if data.depth() == Depth::Logs => {
            Row::of("Partitions are being looked at.", Role::Muted)
        }
        Some(_) if data.stores.iter().all(|store| store.max_over_mean.is_none()) => {
            Row::of("How the rows are spread is not known: x counts exactly.", Role::Warning)
        }
        Some(most) if most.judged() == Spread::TooLittle => {
            Row::of("There is too little state to call its spread even or not.", Role::Text)
        }
        Some(most) => {
            let ratio = format::ratio(ratio(&most));
            let text = format!(
                "Evenly spread: the largest partition holds {ratio} {} the mean.",
                symbols.times
            );
            Row::of(text, Role::Ok)
        }
    }
}

/// States in which nothing else matters.
fn status(inspect: &InspectReport) -> Option<Row> {
    match inspect.status {
        Status::Empty => {
            Some(Row::of("X Nothing of a checkpoint is in this directory.", Role::Error))
        }
        Status::UnfinishedRepartition => Some(Row::of(
            "X A repartition did not finish: only its own count can go on.",
            Role::Error,
        )),
        Status::NoBatch => {
            Some(Row::of("No batch was planned yet: there is no state.", Role::Warning))
        }
        _ => None,
    }
}

fn headline(finding: &crate::diagnosis::Finding) -> Row {
    let (mark, role) = severity(finding.severity);
    Row::of(format!("{mark} "), role).with(&finding.summary, role)
}

fn stateless(data: &Data) -> Row {
    if data.inspect().stateful {
        Row::of("No store is listed yet.", Role::Text)
    } else {
        Row::of("This query keeps no state: there is no state/ directory with operators.", Role::Ok)
    }
}

/// How the traffic of a store differs from its state; `None` where there is nothing to say.
fn contrast(state: &State, store: &StoreData) -> Option<String> {
    state.contrast(store)?.sentence()
}

/// How the rows of a store are spread.
fn spread(store: &StoreData, symbols: &Symbols) -> Row {
    let Some(report) = &store.spread else {
        return Row::of("Partitions are being looked at.", Role::Muted);
    };
    judged(report.skew.rows.as_ref(), Metric::Rows, symbols)
}

/// How the partitions on view are spread, by what they are compared by. Of rows, that what
/// arrives is spread otherwise than what is held, where it is.
fn partitions(state: &State, store: &StoreData, symbols: &Symbols) -> Row {
    if store.spread.is_none() {
        return Row::of("Partitions are being looked at.", Role::Muted);
    }
    let metric = state.partitions.metric;
    if matches!(metric, Metric::Rows | Metric::Arriving)
        && let Some(sentence) = contrast(state, store)
    {
        return Row::of(sentence, Role::Warning);
    }
    judged(state.compared(store).distribution.as_ref(), metric, symbols)
}

fn judged(distribution: Option<&Distribution>, metric: Metric, symbols: &Symbols) -> Row {
    match distribution {
        None if metric == Metric::Rows => {
            Row::of("Rows are not known: x counts exactly, m compares bytes.", Role::Warning)
        }
        None => Row::of(format!("By {} nothing is known.", metric.word()), Role::Text),
        Some(distribution) => sentence(distribution, metric, symbols),
    }
}

fn sentence(distribution: &Distribution, metric: Metric, symbols: &Symbols) -> Row {
    let (Some(ratio), Some(largest)) = (distribution.max_over_mean, distribution.largest.first())
    else {
        return Row::of(format!("Empty: no partition has any {}.", metric.word()), Role::Text);
    };
    if metric == Metric::SnapshotAge {
        return snapshot_age(distribution);
    }
    let (times, word, verb) = (symbols.times, metric.word(), metric.verb());
    let (id, share) = (largest.partition, format::share(largest.share));
    let ratio_text = format::ratio(ratio);
    if distribution.unknown > distribution.counted {
        let text = format!(
            "Only {} of {} partitions are known: how the {word} are spread is not.",
            format::count(distribution.counted),
            format::count(distribution.counted + distribution.unknown),
        );
        return Row::of(text, Role::Warning);
    }
    let largest = format!("{share} of the {word}, {ratio_text} {times} the mean");
    let mut row = match (metric.judge(distribution), distribution.unknown) {
        (Spread::Skewed, _) => Row::of(format!("Partition {id} {verb} {largest}."), Role::Warning),
        (Spread::TooLittle | Spread::Nothing, _) => {
            let text = format!("Too little to judge: the largest, {id}, {verb} {largest}.");
            Row::of(text, Role::Text)
        }
        (Spread::Even, 0) => {
            Row::of(format!("Evenly spread: the largest, {id}, {verb} {largest}."), Role::Ok)
        }
        // What is not known may be the hottest.
        (Spread::Even, _) => {
            let text = format!("Even where known: the largest, {id}, {verb} {largest}.");
            Row::of(text, Role::Warning)
        }
    };
    if distribution.unknown > 0 {
        row.push(format!(" {} unknown.", format::count(distribution.unknown)), Role::HeatUnknown);
    }
    row
}

/// How far the newest snapshots lie back. A total of ages would say nothing.
fn snapshot_age(ages: &Distribution) -> Row {
    let Some(oldest) = ages.largest.first() else { return Row::new() };
    let versions = |value| format::plural(value, "version", "versions");
    let text = format!(
        "Partition {} is {} past its newest snapshot; half of them are {} or less.",
        oldest.partition,
        versions(ages.max),
        versions(ages.p50)
    );
    let role = match Metric::SnapshotAge.judge(ages) {
        Spread::Skewed => Role::Warning,
        _ => Role::Text,
    };
    Row::of(text, role)
}
