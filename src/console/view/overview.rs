//! Overview: is anything wrong, and where?
//!
//! ```text
//!  ─────────────────────────────────────────────────
//!  run     running, last told 4 s ago   since 08:12        (a source is attached)
//!  load    in 812 rows/s   behind 1,204   batch took 1.2 s
//!  batch   1842 planned 3 s ago, 1841 committed: …
//!  count   200 since batch 12, 32 before      watermark …
//!  query   10e204a2   RocksDB   changelog on   format 1
//!  source  kafka orders 12 partitions, next offsets 7..45
//!  ─────────────────────────────────────────────────
//!  stores
//!  ─ 3 findings ────────────────────────────────────
//!  findings
//! ```

use ratatui::layout::Rect;

use super::super::data::{Data, StoreData};
use super::super::format;
use super::super::geometry::{Chrome, window};
use super::super::look::{Role, Symbols};
use super::super::overlay::severity;
use super::super::paint::{Canvas, bar};
use super::super::state::{Item, State, is_open};
use super::super::text::{Row, spread, width};
use super::{past, running, stores};
use crate::diagnosis::Finding;
use crate::reader::Depth;
use crate::report::{HistoryEntry, InspectReport, Provider, Status};
use crate::units::UnixMillis;

/// Columns of the labels.
const LABEL: usize = 10;
/// Source lines on a screen of 24 rows.
const FEW_SOURCES: usize = 2;
/// From this height of the body on there is room for what is remembered.
const PAST: usize = 16;

/// Draws the overview.
pub(super) fn draw(canvas: &mut Canvas<'_>, state: &State, chrome: Chrome) {
    let Some(data) = state.data() else { return };
    let symbols = canvas.symbols();
    let columns = usize::from(chrome.body.width);
    let facts = facts(state, data, symbols, columns, usize::from(chrome.body.height));
    let plan = Plan::of(
        chrome.body,
        facts.len(),
        state.listed_stores().len(),
        state.listed_findings().len(),
    );
    canvas.line_of(plan.upper_rule, symbols.line, Role::Border);
    canvas.rows(plan.facts, &facts);
    canvas.line_of(plan.middle_rule, symbols.line, Role::Border);
    let selected = state.selected_item();
    stores::draw(canvas, state, selected.as_ref(), plan.stores);
    findings(canvas, state, selected.as_ref(), plan.findings_rule, plan.findings);
    if let Some(store) = state.store().filter(|_| plan.largest.height > 2) {
        largest(canvas, store, plan.largest);
    }
}

/// The largest partitions of a store, below everything else on tall screens.
fn largest(canvas: &mut Canvas<'_>, store: &StoreData, area: Rect) {
    let symbols = canvas.symbols();
    let Some(rows) = store.spread.as_ref().and_then(|spread| spread.skew.rows.as_ref()) else {
        return;
    };
    let rule = Rect { height: 1, ..area };
    canvas.line_of(rule, symbols.line, Role::Border);
    let title = format!(" largest partitions of op {} {} ", store.key.operator, store.key.store);
    canvas.row(Rect { x: area.x + 1, ..rule }, &Row::of(title, Role::Strong));
    let digits = rows.largest.iter().map(|largest| format::count(largest.value).len()).max();
    let digits = digits.unwrap_or(0);
    let lines: Vec<Row> = rows
        .largest
        .iter()
        .map(|largest| {
            let value = format::count(largest.value);
            let part = format::float(largest.value) / format::float(rows.max.max(1));
            Row::of(format!("  {:>6}  ", largest.partition), Role::Text)
                .with(format!("{value:>digits$}"), Role::Strong)
                .with(format!("  {:>6}  ", format::share(largest.share)), Role::Text)
                .with(bar(symbols, part, 40), Role::Bar)
        })
        .collect();
    canvas.rows(Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area }, &lines);
}

/// Where the parts are.
struct Plan {
    upper_rule: Rect,
    facts: Rect,
    middle_rule: Rect,
    stores: Rect,
    findings_rule: Rect,
    findings: Rect,
    largest: Rect,
}

/// Lines of the largest partitions, with their rule.
const LARGEST: u16 = 6;

impl Plan {
    /// Facts first; stores and findings share the rest, each taking what the other leaves.
    fn of(body: Rect, facts: usize, stores: usize, findings: usize) -> Self {
        let height = |lines: usize| u16::try_from(lines).unwrap_or(u16::MAX);
        let facts = height(facts).min(body.height.saturating_sub(9));
        let rest = body.height.saturating_sub(facts + 3);
        let stores = height(stores).max(1).saturating_add(1);
        let findings = height(findings);
        let half = rest / 2;
        let stores = stores.min(half.max(rest.saturating_sub(findings)));
        let below = rest.saturating_sub(stores);
        let largest = if below > findings + LARGEST { LARGEST } else { 0 };
        let line = |y: u16, height: u16| Rect { y: body.y + y, height, ..body };
        Self {
            upper_rule: line(0, 1),
            facts: line(1, facts),
            middle_rule: line(1 + facts, 1),
            stores: line(2 + facts, stores),
            findings_rule: line(2 + facts + stores, 1),
            findings: line(3 + facts + stores, if largest > 0 { findings } else { below }),
            largest: line(3 + facts + stores + findings + 1, largest),
        }
    }
}

fn fact(label: &str) -> Row {
    let mut row = Row::of(" ", Role::Text).with(label, Role::Muted);
    row.pad_to(LABEL, Role::Text);
    row
}

/// Adds a labelled value to a line.
fn also(row: &mut Row, label: &str, value: &str, role: Role) {
    if row.width() > LABEL {
        row.push("   ", Role::Text);
    }
    if !label.is_empty() {
        row.push(format!("{label} "), Role::Muted);
    }
    row.push(value, role);
}

fn facts(state: &State, data: &Data, symbols: &Symbols, columns: usize, height: usize) -> Vec<Row> {
    let inspect = data.inspect();
    let [run, load] = running::facts(state, fact, columns);
    // In a low window the first two lines are all there is.
    let lines = [run, Some(batches(state, inspect)), load, Some(count(inspect))];
    let mut rows: Vec<Row> = lines.into_iter().flatten().collect();
    let watermark = watermark(inspect, columns);
    // One line for both where there is room.
    match rows.last_mut() {
        Some(last) if last.width() + watermark.width() + 3 <= columns => {
            last.push("   ", Role::Text);
            last.append(watermark);
        }
        _ if !watermark.is_empty() => rows.push(fact("time").joined(watermark)),
        _ => {}
    }
    rows.push(query(data, columns));
    let room = if height > 24 { height / 4 } else { FEW_SOURCES };
    rows.extend(sources(inspect, symbols, room));
    if height > PAST {
        rows.extend(past::row(state, fact("past"), symbols, columns));
    }
    rows
}

fn query(data: &Data, columns: usize) -> Row {
    let inspect = data.inspect();
    let mut row = fact("query");
    match inspect.query_id.as_deref() {
        // Eight digits tell queries apart; the rest is for copying from wide screens.
        Some(id) if columns < 100 => also(&mut row, "", id.get(..8).unwrap_or(id), Role::Text),
        Some(id) => also(&mut row, "", id, Role::Text),
        None => also(&mut row, "", "no id", Role::Muted),
    }
    if !inspect.stateful {
        also(&mut row, "", "stateless", Role::Strong);
        return row;
    }
    match inspect.provider {
        Some(Provider::Rocksdb) => also(&mut row, "provider", "RocksDB", Role::Text),
        Some(Provider::Hdfs) => also(&mut row, "provider", "HDFS-backed", Role::Text),
        Some(Provider::Other) => {
            let class = inspect.provider_class.as_deref().unwrap_or("unknown");
            also(&mut row, "provider", class.rsplit('.').next().unwrap_or(class), Role::Warning);
        }
        None => also(&mut row, "provider", "?", Role::Muted),
    }
    if let Some(changelog) = inspect.changelog {
        also(&mut row, "changelog", if changelog { "on" } else { "off" }, Role::Text);
    }
    if let Some(format) = inspect.state_checkpoint_format {
        also(&mut row, "format", &format.to_string(), Role::Text);
    }
    also(&mut row, "read", &format::clock(data.observation.observed_at), Role::Text);
    row
}

fn batches(state: &State, inspect: &InspectReport) -> Row {
    let number = |batch: Option<crate::units::BatchId>| {
        batch.map_or_else(|| "none".to_owned(), |b| b.to_string())
    };
    let planned = number(inspect.last_planned_batch);
    let committed = number(inspect.last_committed_batch);
    let mut row = fact("batch");
    let open = is_open(inspect.status);
    if open {
        let age =
            format::told(inspect.last_plan_at).map(|at| format::age(at.until(state.shown_now())));
        let age = age.map_or_else(String::new, |age| format!(" {age} ago"));
        row.push(format!("{planned} planned{age}, {committed} committed: "), Role::Text);
    }
    let repartition_to = || {
        let last = inspect.partition_history.last().and_then(|entry| entry.partitions);
        last.map_or_else(String::new, |count| format!(" to {count}"))
    };
    let (text, role) = match inspect.status {
        Status::Committed => (format!("{committed}, planned and committed"), Role::Ok),
        Status::Pending => ("running, or stopped in the middle".to_owned(), Role::Warning),
        Status::UnfinishedRepartition => {
            (format!("X unfinished repartition{}", repartition_to()), Role::Error)
        }
        Status::NoBatch => ("none planned yet".to_owned(), Role::Warning),
        Status::NoCommittedBatch => ("the first batch never finished".to_owned(), Role::Warning),
        Status::Empty => ("X nothing here".to_owned(), Role::Error),
    };
    row.push(text, role);
    if let Some(pinned) = state.reading.pinned() {
        let why = if state.chosen.is_some() { "chosen with [ and ]" } else { "as asked for" };
        row.push(format!("   shown: {pinned}, {why}"), Role::Info);
    }
    row
}

fn count(inspect: &InspectReport) -> Row {
    let mut row = fact("count");
    let Some(partitions) = inspect.partitions else {
        row.push(if inspect.stateful { "not known" } else { "-" }, Role::Muted);
        return row;
    };
    row.push(format::count(partitions.into()), Role::Strong);
    let (since, before) = since(&inspect.partition_history, partitions);
    if let Some(since) = since {
        let word = if before.is_some() || since.batch.0 == 0 { "since" } else { "since at least" };
        row.push(format!(" {word} batch {}", since.batch), Role::Text);
    }
    match before {
        Some(before) => row.push(format!(", {} before", format::count(before.into())), Role::Info),
        None if since.is_some_and(|since| since.batch.0 == 0) => {
            row.push(" (never changed)", Role::Muted);
        }
        None => {}
    }
    row
}

/// The first retained batch of the run of `partitions` that reaches to the newest such
/// batch, and the count before that run.
fn since(history: &[HistoryEntry], partitions: u32) -> (Option<HistoryEntry>, Option<u32>) {
    let newest = history.iter().rposition(|entry| entry.partitions == Some(partitions));
    let mut first = None;
    for entry in newest.and_then(|newest| history.get(..=newest)).unwrap_or_default().iter().rev() {
        match entry.partitions {
            Some(count) if count == partitions => first = Some(*entry),
            Some(other) => return (first, Some(other)),
            None => {}
        }
    }
    (first, None)
}

fn watermark(inspect: &InspectReport, columns: usize) -> Row {
    let Some(watermark) = inspect.watermark.filter(|_| inspect.stateful) else { return Row::new() };
    let mut row = Row::of("watermark ", Role::Muted);
    if watermark == UnixMillis(0) {
        return row.with("not set yet", Role::Text);
    }
    let now = inspect.batch_timestamp.unwrap_or(watermark);
    let time = if columns < 100 {
        format::short_moment(watermark, now)
    } else {
        format::moment(watermark)
    };
    row.push(time, Role::Text);
    if let Some(batch) = inspect.batch_timestamp.filter(|batch| *batch > watermark) {
        row.push(format!(", {} behind", format::age(watermark.until(batch))), Role::Muted);
    }
    row
}

fn sources(inspect: &InspectReport, symbols: &Symbols, room: usize) -> Vec<Row> {
    let total = inspect.sources.len();
    let shown = if total > room { room.saturating_sub(1) } else { total };
    let mut rows: Vec<Row> = inspect
        .sources
        .iter()
        .take(shown)
        .map(|source| {
            fact("source")
                .with(&source.kind, Role::Strong)
                .with(" ", Role::Text)
                .with(&source.summary, Role::Text)
        })
        .collect();
    if shown < total {
        rows.push(
            fact("")
                .with(format!("{} {} more sources", symbols.ellipsis, total - shown), Role::Muted),
        );
    }
    rows
}

fn findings(
    canvas: &mut Canvas<'_>,
    state: &State,
    selected: Option<&Item>,
    rule: Rect,
    area: Rect,
) {
    let symbols = canvas.symbols();
    let listed = state.listed_findings();
    canvas.line_of(rule, symbols.line, Role::Border);
    let title = match listed.len() {
        0 if state.data().is_some_and(|data| data.depth() < Depth::Exact) => {
            " no findings so far; x opens every state file ".to_owned()
        }
        0 => " no findings ".to_owned(),
        number => format!(" {} ", format::plural(number as u64, "finding", "findings")),
    };
    let title = match state.found.allowed() {
        0 => title,
        allowed => format!("{}, {} allowed ", title.trim_end(), format::count(allowed)),
    };
    let inset = Rect { x: rule.x + 1, width: rule.width.saturating_sub(1), ..rule };
    canvas.row(inset, &Row::of(title, Role::Strong));
    let is_selected = |finding: &Finding| match selected {
        Some(Item::Finding(key)) => key.names(finding),
        _ => false,
    };
    let at = listed.iter().position(|finding| is_selected(finding)).unwrap_or(0);
    let shown = window(at, listed.len(), usize::from(area.height));
    let id_width = listed.iter().map(|finding| width(finding.id.0)).max().unwrap_or(0).min(28);
    let rows: Vec<Row> = listed
        .get(shown)
        .unwrap_or_default()
        .iter()
        .map(|finding| {
            finding_row(finding, id_width, is_selected(finding), symbols, usize::from(area.width))
        })
        .collect();
    canvas.rows(area, &rows);
}

fn finding_row(
    finding: &Finding,
    id_width: usize,
    selected: bool,
    symbols: &Symbols,
    columns: usize,
) -> Row {
    let (mark, role) = severity(finding.severity);
    let mut row =
        Row::of(if selected { ">" } else { " " }, Role::Strong).with(format!("{mark} "), role);
    row.push(finding.id.0, role);
    row.pad_to(3 + id_width + 2, Role::Text);
    row.push(&finding.summary, Role::Text);
    let key = if selected { Row::of("Enter more ", Role::Muted) } else { Row::new() };
    let row = spread(row, key, columns, symbols.ellipsis);
    if selected { row.in_role(Role::Selection) } else { row }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::BatchId;

    fn history(counts: &[Option<u32>]) -> Vec<HistoryEntry> {
        (10..)
            .zip(counts)
            .map(|(batch, partitions)| HistoryEntry {
                batch: BatchId(batch),
                partitions: *partitions,
                repartition: false,
            })
            .collect()
    }

    #[test]
    fn a_count_holds_since_its_run_began() {
        let batch = |entry: Option<HistoryEntry>| entry.map(|entry| entry.batch.0);
        let (first, before) = since(&history(&[Some(5), Some(8), None, Some(8)]), 8);
        assert_eq!((batch(first), before), (Some(11), Some(5)));
        let (first, before) = since(&history(&[Some(8), Some(8)]), 8);
        assert_eq!((batch(first), before), (Some(10), None));
        let (first, before) = since(&history(&[Some(8), Some(4)]), 8);
        assert_eq!((batch(first), before), (Some(10), None), "an inspected batch before a resize");
        assert_eq!(since(&[], 8), (None, None));
    }
}
