//! Batches: what does the running query do?
//!
//! ```text
//!    4.0 s│                █                       p50     1.1 s
//!         │    █  ▓        █                       p95     2.0 s
//!  ~ 2.0 s│╌╌╌╌█╌╌█╌╌╌╌╌╌╌╌█╌╌╌╌╌╌┆╌╌╌╌╌           p99     3.9 s
//!       0 │████████████████████   ┆█████           max     4.1 s
//!          1784         ^1801          1841
//!  rows/s in ▁▂▃▅▂▁▁▁▂▃▂▁▂▃▁▂▃▂▁▂▃▁▁▂▃▁          812   max 1.2k
//!  █ addBatch  ▓ planning  ▒ sources  ░ logs  · other  ┆ restart
//!  batch 1801 …
//! ```

mod bars;
mod chart;
mod detail;
mod lines;

use ratatui::layout::Rect;

use super::super::format;
use super::super::look::{Role, Symbols};
use super::super::paint::Canvas;
use super::super::places;
use super::super::state::State;
use super::super::text::Row;
use super::{message, past};
use crate::analysis::times::{Cadence, Times};
use crate::telemetry::timeline::{
    Activity, Choice, Column, Condition, Phase, Place, QueryTimeline, Timeline,
};
use chart::Chart;

/// The least columns of a chart with which a batch gets more than one.
const BATCHES_NAMED: usize = 5;

/// Draws the batches screen.
pub(super) fn draw(canvas: &mut Canvas<'_>, state: &State) {
    let Some(chrome) = super::super::geometry::chrome(state.size) else { return };
    let query = match (state.timeline(), state.choice()) {
        (None, _) => {
            let texts = unattached(state, canvas.symbols());
            return paragraphs(canvas, chrome.body, &texts);
        }
        (Some(_), None) => {
            return message(canvas, chrome.body, &["Reading which query the checkpoint is of."]);
        }
        (Some(timeline), Some(choice)) => match choice.query() {
            Some(query) => query,
            None => return paragraphs(canvas, chrome.body, &unfound(state, timeline, choice)),
        },
    };
    if query.newest().is_none() {
        return paragraphs(canvas, chrome.body, &nothing_reported(query));
    }
    let series = lines::series(query, state.size);
    let Some(plan) = places::batches(state.size, u16::try_from(series.len()).unwrap_or(u16::MAX))
    else {
        return;
    };
    let chart = Chart::of(query, state.place(), plan.columns());
    bars::draw(canvas, state, &chart, &plan);
    lines::draw(canvas, &chart, &series, &plan);
    canvas.row(plan.legend, &legend(state, &chart, canvas.symbols()));
    let mut below = detail::rows(state, query, canvas.symbols());
    let columns = usize::from(plan.detail.width);
    below.truncate(usize::from(plan.detail.height.saturating_sub(plan.remembered)));
    if plan.remembered > 0 {
        let label = Row::of(" past     ", Role::Muted);
        below.extend(past::row(state, label, canvas.symbols(), columns));
    }
    canvas.rows(plan.detail, &below);
}

/// The batch that is drawn at a place of the screen.
pub(in crate::console) fn batch_at(state: &State, x: u16, y: u16) -> Option<Place> {
    let query = state.query()?;
    let plan = places::batches(state.size, 0)?;
    let drawn = y >= plan.chart.y && y < plan.chrome.body.bottom();
    let x = usize::from(x.checked_sub(plan.label)?);
    Chart::of(query, state.place(), plan.columns()).at(x).filter(|_| drawn)
}

fn paragraphs(canvas: &mut Canvas<'_>, area: Rect, texts: &[String]) {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    message(canvas, area, &texts);
}

/// How to attach a source.
fn unattached(state: &State, symbols: &Symbols) -> Vec<String> {
    let mut texts = vec![
        "statetop TARGET --events PATH".to_owned(),
        "follows Spark's event log: batches, and what the tasks of each partition do.".to_owned(),
        String::new(),
        "statetop TARGET --progress PATH".to_owned(),
        "follows progress JSON or a driver's log; - is standard input.".to_owned(),
    ];
    if let ([first, ..], [.., last]) = (state.retained(), state.retained()) {
        let (first, last) = (first.batch, last.batch);
        texts.push(String::new());
        texts.push(format!(
            "The state of batches {first} to {last} is retained: [ and ] go through it on the \
             other screens."
        ));
    }
    let past = past::lines(state, symbols);
    if !past.is_empty() {
        texts.push(String::new());
        texts.extend(past);
    }
    texts
}

/// Why none of the queries that were told of is shown.
fn unfound(state: &State, timeline: &Timeline, choice: Choice<'_>) -> Vec<String> {
    let queries = timeline.queries();
    let number = format::plural(queries.len() as u64, "query", "queries");
    let id = state.data().and_then(|data| data.inspect().query_id.clone());
    let id = id.unwrap_or_else(|| "none".to_owned());
    let mut texts = match choice {
        Choice::Others => {
            vec![format!("The sources tell of {number}, and none has this checkpoint's id, {id}:")]
        }
        Choice::Unclear => vec![format!(
            "The sources tell of {number}; which is this checkpoint's cannot be told, for not all \
             have an id (the checkpoint's is {id}):"
        )],
        _ => vec!["Nothing was told of any query yet.".to_owned()],
    };
    texts.extend(queries.iter().take(BATCHES_NAMED).map(|query| {
        let name = query.name.as_deref().unwrap_or("without a name");
        let id = query.id.as_deref().unwrap_or("no id");
        let last = query.newest().map(|place| format!(", last batch {}", place.batch));
        format!("  {name}, {id}{}", last.unwrap_or_default())
    }));
    if queries.len() > BATCHES_NAMED {
        texts.push(format!("  and {} more", queries.len() - BATCHES_NAMED));
    }
    for source in timeline.sources() {
        texts.push(String::new());
        texts.push(format!("{}: {}", source.name, super::running::condition(source)));
    }
    texts
}

fn nothing_reported(query: &QueryTimeline) -> Vec<String> {
    let name = query.name.as_deref().unwrap_or("The query");
    let told = match query.activity() {
        Activity::Failed(ended) => {
            let why = ended.headline().or(ended.class.as_deref()).unwrap_or("no reason given");
            format!("{name} failed before it reported a batch: {why}")
        }
        Activity::Stopped(_) => format!("{name} was stopped before it reported a batch."),
        Activity::Idle(_) => format!("{name} waits for data and has reported no batch yet."),
        _ => format!("{name} was started and has reported no batch yet."),
    };
    vec![told, String::new(), "A batch is reported when it is done.".to_owned()]
}

/// The marks that are on the chart.
fn legend(state: &State, chart: &Chart<'_>, symbols: &Symbols) -> Row {
    let mut row = Row::of(" ", Role::Text);
    for (phase, mark) in Phase::ALL.into_iter().zip(symbols.phases) {
        let shown = chart.batches().any(|batch| batch.numbers.phases.of_phase(phase) > 0);
        if shown || phase == Phase::Execute {
            row.push(mark, bars::role(phase));
            row.push(format!(" {}  ", phase.word()), Role::Muted);
        }
    }
    let has = |what: fn(&Column<'_>) -> bool| chart.columns().iter().any(what);
    if has(|column| matches!(column, Column::Seam(_))) {
        row.push(symbols.seam, Role::Border);
        row.push(" restart  ", Role::Muted);
    }
    let gaps = || {
        chart.columns().iter().filter_map(|column| match *column {
            Column::Gap { after, before } => Some(bars::repartition_between(state, after, before)),
            _ => None,
        })
    };
    if gaps().any(|repartition| repartition.is_some()) {
        row.push(bars::REPARTITION, Role::PhaseControl);
        row.push(" repartition  ", Role::Muted);
    }
    if gaps().any(|repartition| repartition.is_none()) {
        row.push(bars::GAP, Role::Warning);
        row.push(" not told  ", Role::Muted);
    }
    if chart.is_cut() {
        row.push(bars::CUT, Role::Warning);
        row.push(" longer  ", Role::Muted);
    }
    row
}

/// The answer to the screen's question.
pub(super) fn answer(state: &State) -> Row {
    let Some(query) = state.query() else {
        return match (state.timeline(), state.choice()) {
            (None, _) => Row::of("No running query is attached. To attach one:", Role::Text),
            (Some(timeline), Some(Choice::Nobody)) if is_broken(timeline) => {
                Row::of("X No attached source can be read.", Role::Error)
            }
            (_, Some(Choice::Nobody) | None) => Row::of("Nothing was told yet.", Role::Muted),
            (_, Some(_)) => {
                Row::of("No attached source tells of this checkpoint's query.", Role::Warning)
            }
        };
    };
    if let Activity::Failed(ended) = query.activity() {
        return super::running::failure(ended, query);
    }
    let Some(times) = times(query, state.place()) else {
        return Row::of("How long batches take was not told.", Role::Muted);
    };
    let (usual, slow) = (times.percentile(50.0), times.percentile(95.0));
    if let (Activity::Stopped(_), Some(last)) = (query.activity(), query.newest()) {
        let took = format::millis(usual);
        let text = format!("Stopped after batch {}. A batch took {took}.", last.batch);
        return Row::of(text, Role::Warning);
    }
    let words = |millis| format::millis(millis);
    match cadence(query, state.place()) {
        Cadence::About(every) if slow > every && times.count() >= MANY => Row::of(
            format!(
                "1 batch in 20 takes {} or more; triggers come about every {}.",
                words(slow),
                words(every)
            ),
            Role::Warning,
        ),
        Cadence::About(every) => Row::of(
            format!(
                "A batch takes {} of the about {} between triggers.",
                words(usual),
                words(every)
            ),
            Role::Ok,
        ),
        Cadence::BackToBack => Row::of(
            format!("Batches run back to back, {} each: none waits for a trigger.", words(usual)),
            Role::Text,
        ),
        Cadence::Unknown => Row::of(
            format!("A batch takes {}; there are too few to say more.", words(usual)),
            Role::Text,
        ),
    }
}

fn is_broken(timeline: &Timeline) -> bool {
    let broken = |condition: &Condition| matches!(condition, Condition::Broken { .. });
    timeline.sources().iter().all(|source| broken(&source.condition))
}

/// Batches whose times make the distribution: those up to the one that is looked at.
const TIMED: usize = 1_000;
/// With fewer batches than this nothing is said of one in twenty.
const MANY: u64 = 20;
/// Batches of one run from which the interval is told.
const PACED: usize = 100;

/// How long the batches up to a place took.
pub(super) fn times(query: &QueryTimeline, at: Option<Place>) -> Option<Times> {
    let batches = query.back_from(at?).take(TIMED);
    Times::of(batches.filter_map(|(_, batch)| batch.numbers.took))
}

/// How often batches of the run at a place begin. Only neighbours tell an interval.
pub(super) fn cadence(query: &QueryTimeline, at: Option<Place>) -> Cadence {
    let Some(at) = at else { return Cadence::Unknown };
    let mut next = None;
    let mut paced: Vec<(i64, u64)> = query
        .back_from(at)
        .take(PACED)
        .take_while(|(run, batch)| {
            let neighbour = next.is_none_or(|next: u64| next == batch.id.0.saturating_add(1));
            next = Some(batch.id.0);
            run.key == at.run && neighbour
        })
        .map_while(|(_, batch)| Some((batch.numbers.at?.0, batch.numbers.took?)))
        .collect();
    paced.reverse();
    Cadence::of(&paced)
}
