//! Keys: which are the heaviest?
//!
//! ```text
//!  by account_id   weighed by rows   all stores   4,012 keys   48,013 rows
//!  batch 1841; 2 newer: r reads again
//!    account_id         rows    bytes  of part  of all
//!  > …7               29,288   3.1 MB   61.0 %   3.5 %  ██████████
//!  key 1: account_id=…7
//!    29,288 rows, 3.1 MB, in partition 37
//! ```

use ratatui::layout::Rect;

use super::super::format;
use super::super::geometry::window;
use super::super::hiding;
use super::super::look::{Role, Symbols};
use super::super::paint::{Canvas, bar};
use super::super::places;
use super::super::state::State;
use super::super::text::{Row, cut, sanitise, width};
use super::asked;
use super::columns::{self, Column};
use crate::report::{KeyReport, KeysReport, Known};

/// The least columns that a bar is worth.
const BAR: usize = 6;
/// Beyond this a bar says nothing more.
const LONGEST_BAR: usize = 30;
/// Partitions of a key that are named in the table.
const NAMED: usize = 3;
/// From this part of what is looked at on, a key is worth a warning.
const HEAVY: f64 = 0.2;
/// … unless it is no heavier than keys are on average: this multiple of it.
const HEAVIER: f64 = 3.0;
/// Columns that a key keeps in the answer.
const LEAST_KEY: usize = 16;
/// From this multiple of the mean on, it is worth a word.
const STANDS_OUT: f64 = 10.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Id {
    /// A column of the key, by its place.
    Key(usize),
    Weight,
    Rows,
    Bytes,
    Share,
    Other,
    Partitions,
    Bar,
}

/// Draws the keys screen.
pub(super) fn draw(canvas: &mut Canvas<'_>, state: &State) {
    let Some(plan) = places::keys(state.size) else { return };
    let symbols = canvas.symbols();
    if let Some(why) = state.hot_keys.trouble() {
        let hint = if why.contains("no grouping key") {
            "2, then v: its rows. Esc goes back."
        } else {
            "b other columns, w another weight, o one store, r tries again, Esc goes back."
        };
        asked::trouble(canvas, why, hint, plan.chrome.body);
        return;
    }
    let Some(report) = state.hot_keys.report() else {
        asked::waiting(canvas, state, &subject(state), plan.chrome.body);
        return;
    };
    let facts = facts(report);
    let note = note(report, symbols);
    match (plan.facts.height, note) {
        (1, Some(note)) => canvas.row(plan.facts, &note),
        (_, note) => {
            canvas.row(plan.facts, &facts);
            let height = plan.facts.height.saturating_sub(1);
            let below = Rect { y: plan.facts.y + 1, height, ..plan.facts };
            let batch = || super::batch_read(state, report.batch);
            canvas.row(below, &note.unwrap_or_else(batch));
        }
    }
    table(canvas, state, report, plan.table);
    detail(canvas, state, report, plan.detail);
}

/// `the keys of op 0 symmetricHashJoin, partition 37`.
fn subject(state: &State) -> String {
    let Some(scope) = &state.hot_keys.scope else { return "keys".to_owned() };
    let name = state.stores_of(scope.operator).next().map(|store| store.operator_name.as_str());
    let mut text = format!("the keys of op {} {}", scope.operator, name.unwrap_or_default());
    if let Some(store) = &scope.store {
        text = format!("{text}, store {store}");
    }
    if let Some(partition) = scope.partition {
        text = format!("{text}, partition {partition}");
    }
    text
}

fn facts(report: &KeysReport) -> Row {
    let mut row = Row::of(" by ", Role::Muted).with(report.by.join(", "), Role::Strong);
    if let Some((first, last)) = report.updates_of {
        row.push("   ", Role::Muted);
        row.push(&report.weigh, Role::Strong);
        row.push(format!(" of batches {first}-{last}"), Role::Muted);
    } else {
        row.push("   weighed by ", Role::Muted);
        row.push(&report.weigh, Role::Strong);
    }
    let stores = report.stores.len() as u64;
    if stores > 1 {
        row.push(format!("   {stores} stores"), Role::Muted);
    }
    let about = match report.distinct_is {
        Known::Exact => "",
        Known::Estimate => "about ",
        Known::AtLeast => "at least ",
    };
    row.push(format!("   {about}"), Role::Muted);
    row.push(format::plural(report.distinct, "key", "keys"), Role::Text);
    if !is_updates(report) {
        row.push(format!("   {}", format::plural(report.total_rows, "row", "rows")), Role::Text);
    }
    if own_weight(report) {
        row.push(format!("   {} in all", format::count(report.total)), Role::Text);
    }
    row
}

/// Whether what is weighed are records of changelogs: then there are no rows to tell of.
fn is_updates(report: &KeysReport) -> bool {
    report.updates_of.is_some()
}

/// What keeps the numbers from being the whole truth, the worst first.
fn note(report: &KeysReport, symbols: &Symbols) -> Option<Row> {
    if report.partial {
        let read = format::count(report.partitions_read.into());
        let wanted = if report.partition.is_some() { 1 } else { report.partitions };
        let text = format!(
            " PARTIAL: stopped after {read} of {}; r reads all",
            format::plural(wanted.into(), "partition", "partitions")
        );
        return Some(Row::of(text, Role::Warning));
    }
    if !report.unreadable.is_empty() {
        let missing = format::plural(report.unreadable.len() as u64, "partition", "partitions");
        let ids: Vec<String> = report.unreadable.iter().take(5).map(ToString::to_string).collect();
        let text = format!(" X {missing} could not be read: {}", ids.join(", "));
        return Some(Row::of(text, Role::Error));
    }
    if let Some(bad) = super::worst(&report.findings) {
        return Some(bad);
    }
    if report.exact {
        return None;
    }
    let text = format!(
        " {} {}: more keys than memory holds; no weight is too high",
        symbols.give_or_take,
        format::count(report.error_bound)
    );
    Some(Row::of(text, Role::Warning))
}

/// Whether the weight is neither the rows nor the bytes.
fn own_weight(report: &KeysReport) -> bool {
    report.weigh != "rows" && report.weigh != "bytes"
}

fn table(canvas: &mut Canvas<'_>, state: &State, report: &KeysReport, area: Rect) {
    let symbols = canvas.symbols();
    let listed = state.hot_keys.listed();
    let room = usize::from(area.width).saturating_sub(3);
    let mut columns = columns::fit(all_columns(state, report, symbols), room);
    let bar_width = match columns.pop_if(|last| last.id == Id::Bar) {
        Some(_) => columns::rest(&columns, room).min(LONGEST_BAR),
        None => 0,
    };
    let head = Row::of("  ", Role::Text).joined(columns::head(&columns, symbols));
    canvas.row(area, &head);
    let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    if listed.is_empty() {
        let text = if report.keys.is_empty() {
            "  no keys: nothing is kept here"
        } else {
            "  no key fits the filter; Esc clears it"
        };
        canvas.row(below, &Row::of(text, Role::Muted));
        return;
    }
    let selected = state.selected_key().map(|key| &key.key);
    let at = listed.iter().position(|key| Some(&key.key) == selected).unwrap_or(0);
    let shown = window(at, listed.len(), usize::from(below.height));
    let heaviest = report.keys.first().map_or(1, |key| key.weight.max(1));
    let lines = listed.get(shown).unwrap_or_default().iter().map(|key| {
        let is_selected = Some(&key.key) == selected;
        let cells = columns::line(&columns, symbols, |id| cell(state, report, key, id, symbols));
        let mut row = Row::of(if is_selected { "> " } else { "  " }, Role::Strong).joined(cells);
        if is_selected {
            row = row.in_role(Role::Selection);
        }
        if bar_width > 0 {
            let part = format::float(key.weight) / format::float(heaviest);
            row = row.with("  ", Role::Text).with(bar(symbols, part, bar_width), Role::Bar);
        }
        row
    });
    canvas.rows(below, &lines.collect::<Vec<Row>>());
}

fn all_columns(state: &State, report: &KeysReport, symbols: &Symbols) -> Vec<Column<Id>> {
    let text = |id: Id| {
        let keys = report.keys.iter();
        keys.map(|key| width(&cell(state, report, key, id, symbols).0)).max().unwrap_or(0)
    };
    let number = |id: Id, title: &str, rank: u8| Column::number(id, title, text(id), rank);
    let mut columns: Vec<Column<Id>> = Vec::new();
    for (at, name) in report.by.iter().enumerate() {
        // A window is long and says little: it gives way before a name does.
        let is_struct = report
            .keys
            .first()
            .is_some_and(|key| part_of_key(key, at).is_some_and(serde_json::Value::is_object));
        let title = sanitise(name).into_owned();
        let (least, rank) = if is_struct { (12, 97) } else { (16, 100) };
        columns.push(Column::words(Id::Key(at), title, text(Id::Key(at)).max(8), least, rank));
    }
    if own_weight(report) {
        columns.push(number(Id::Weight, &report.weigh, 98));
    }
    let (share, other) = match report.partition {
        Some(_) => ("of part", "of all"),
        None => ("of all", "of part"),
    };
    if !is_updates(report) {
        columns.push(number(Id::Rows, "rows", 96));
    }
    columns.extend([
        number(Id::Bytes, "bytes", 60),
        number(Id::Share, share, 90),
        number(Id::Other, other, 80),
    ]);
    if report.partition.is_none() {
        columns.push(number(Id::Partitions, "part", 70));
    }
    columns.push(Column::words(Id::Bar, "", BAR, BAR, 50));
    columns
}

/// A key with its names before its windows, which are long and tell less.
fn short_first(key: &serde_json::Value) -> serde_json::Value {
    let Some(columns) = key.as_object() else { return key.clone() };
    let (long, short): (Vec<_>, Vec<_>) = columns.iter().partition(|(_, value)| value.is_object());
    let ordered = short.into_iter().chain(long);
    ordered.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// A column of a key, by its place.
fn part_of_key(key: &KeyReport, at: usize) -> Option<&serde_json::Value> {
    key.key.as_object()?.values().nth(at)
}

fn cell(
    state: &State,
    report: &KeysReport,
    key: &KeyReport,
    id: Id,
    symbols: &Symbols,
) -> (String, Role) {
    let dash = || ("-".to_owned(), Role::Muted);
    match id {
        Id::Key(at) => match part_of_key(key, at) {
            Some(part) => (hiding::words(part, state.reveal, symbols), Role::Text),
            None => dash(),
        },
        Id::Weight => (with_error(key.weight, key.error, symbols), Role::Strong),
        Id::Rows => {
            let error = if report.weigh == "rows" { key.error } else { 0 };
            (with_error(key.rows, error, symbols), Role::Strong)
        }
        Id::Bytes => (format::bytes(key.bytes), Role::Text),
        Id::Share => (format::share(key.share), Role::Text),
        Id::Other => match other_share(state, report, key) {
            Some(share) => (format::share(share), Role::Text),
            None => dash(),
        },
        Id::Partitions => (partitions(key, symbols), Role::Text),
        Id::Bar => (String::new(), Role::Text),
    }
}

/// A key's part of its partition where all are looked at, of all where one partition is.
fn other_share(state: &State, report: &KeysReport, key: &KeyReport) -> Option<f64> {
    if report.partition.is_none() {
        return key.share_of_partition;
    }
    // What all partitions hold is known of rows only, from the counts.
    if report.weigh != "rows" {
        return None;
    }
    let stores = state.stores_of(report.operator);
    let counted = stores.filter(|store| report.stores.contains(&store.key.store));
    let all = counted.map(|store| store.rows).sum::<Option<u64>>()?;
    (all >= report.total && all > 0).then(|| format::float(key.weight) / format::float(all))
}

/// `81,204`, or `81,204 ± 120` when it may be off.
fn with_error(value: u64, error: u64, symbols: &Symbols) -> String {
    match error {
        0 => format::count(value),
        error => {
            format!("{} {} {}", format::count(value), symbols.give_or_take, format::count(error))
        }
    }
}

/// `37`, `3, 9`, or `3, 9, 12, …` when there is no room for all.
fn partitions(key: &KeyReport, symbols: &Symbols) -> String {
    let mut shown: Vec<String> =
        key.partitions.iter().take(NAMED).map(ToString::to_string).collect();
    if key.more_partitions || key.partitions.len() > NAMED {
        shown.push(symbols.ellipsis.to_owned());
    }
    shown.join(", ")
}

/// The selected key in full.
fn detail(canvas: &mut Canvas<'_>, state: &State, report: &KeysReport, area: Rect) {
    let symbols = canvas.symbols();
    let Some(key) = state.selected_key() else { return };
    let rank = report.keys.iter().position(|other| other.key == key.key).unwrap_or(0) + 1;
    let words = hiding::words(&key.key, state.reveal, symbols);
    let first = Row::of(format!(" key {rank}: "), Role::Strong).with(words, Role::Text);
    canvas.row(area, &first);
    if area.height < 2 {
        return;
    }
    let (one, many) = if is_updates(report) { ("update", "updates") } else { ("row", "rows") };
    let (rows, bytes) = (format::plural(key.rows, one, many), format::bytes(key.bytes));
    let ids: Vec<String> = key.partitions.iter().map(ToString::to_string).collect();
    let place = match ids.as_slice() {
        [] => String::new(),
        [one] if !key.more_partitions => format!(" in partition {one}"),
        some if key.more_partitions => format!(" in partitions {} and more", some.join(", ")),
        some => format!(" in partitions {}", some.join(", ")),
    };
    let second = Row::of(format!("   {rows}, {bytes}{place}"), Role::Text);
    canvas.row(Rect { y: area.y + 1, height: 1, ..area }, &second);
}

/// The answer: whether one key stands out.
pub(super) fn answer(state: &State, symbols: &Symbols) -> Row {
    let keys = &state.hot_keys;
    if keys.trouble().is_some() {
        return Row::of("The keys cannot be told.", Role::Warning);
    }
    let Some(report) = keys.report() else { return Row::of("Reading keys.", Role::Muted) };
    let Some(first) = report.keys.first().filter(|_| report.total > 0) else {
        return Row::of("There are no keys.", Role::Text);
    };
    let share = format::share(first.share);
    let what = match report.partition {
        Some(partition) => format!("partition {partition}"),
        None => format!("all {}", report.weigh),
    };
    let of_its_own = match (first.share_of_partition, first.partitions.as_slice()) {
        (Some(share), [partition]) if report.partition.is_none() => {
            format!(", {} of partition {partition}", format::share(share))
        }
        _ => String::new(),
    };
    let largest_part = first.share.max(first.share_of_partition.unwrap_or(0.0));
    let mean = format::float(report.total) / format::float(report.distinct.max(1));
    let times = format::float(first.weight) / mean;
    let columns = usize::from(state.size.width);
    let fitting = |before: &str, afters: &[String]| -> String {
        let room = columns.saturating_sub(width(before) + LEAST_KEY + 1);
        let fits = afters.iter().find(|after| width(after) <= room).or(afters.last());
        fits.cloned().unwrap_or_default()
    };
    let (before, after, role) = if largest_part >= HEAVY && times >= HEAVIER {
        let split = if report.whole_key { "; no count splits it." } else { "." };
        let has = format!(" has {share} of {what}");
        let all = [format!("{has}{of_its_own}{split}"), format!("{has}{of_its_own}."), has + "."];
        ("", fitting("", &all), Role::Warning)
    } else if times >= STANDS_OUT {
        let text = format!(" has {share} of {what}");
        let times = format!(", {} {} a key.", format::ratio(times), symbols.times);
        let all = [format!("{text}{of_its_own}{times}"), text + &times];
        ("", fitting("", &all), Role::Info)
    } else {
        let before = "No key stands out: the heaviest, ";
        let all = [format!(", has {share} of {what}."), format!(", has {share}.")];
        (before, fitting(before, &all), Role::Ok)
    };
    // The numbers are the answer; a long key gives way to them.
    let room = columns.saturating_sub(width(before) + width(&after) + 1).max(LEAST_KEY);
    let words = hiding::words(&short_first(&first.key), state.reveal, symbols);
    let words = cut(&sanitise(&words), room, symbols.ellipsis);
    Row::of(before, role).with(words, Role::Strong).with(after, role)
}
