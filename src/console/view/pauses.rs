//! Pauses: how long did past resizes take, and how long may the next?
//!
//! ```text
//!  pause by rows: ╌ fit ░ spread ┆ next      pause over time
//!   58 s│            ░░╌╌┆                        52 s│               O
//!    0 s│o╌╌╌░░░░                                  0 s│o      o
//!        0                 3.2M                        2026-03-14  2026-11-29
//!    when              count      rows   pause  outage  batch time
//!  > 2026-11-29 02:05  200 → 400  3.2M  52.1 s   1m34s  8.2 s → 5.1 s
//!  detail of the selected one
//! ```

use ratatui::layout::Rect;

use super::super::format;
use super::super::geometry::window;
use super::super::look::{Role, Symbols};
use super::super::paint::Canvas;
use super::super::places;
use super::super::state::{Keeping, State};
use super::super::text::Row;
use super::asked;
use super::columns::{self, Column};
use super::plot::{self, Dot, Line, Plot, Span};
use crate::analysis::pauses::{Around, Estimate, Pause, TimeSource, Timed};
use crate::report::PausesReport;
use crate::units::UnixMillis;

/// The plots, in the order in which Tab goes through them.
const PLOTS: [Kind; 5] = [Kind::BySize, Kind::OverTime, Kind::BatchTime, Kind::Spread, Kind::Files];

/// What a plot shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Pause against rows of the state.
    BySize,
    /// Pause over time.
    OverTime,
    /// Batch time before and after each resize.
    BatchTime,
    /// Largest partition divided by the mean, before and after.
    Spread,
    /// Files per batch, before and after.
    Files,
}

/// How many plots there are.
pub(in crate::console) fn plots() -> usize {
    PLOTS.len()
}

/// Draws the pauses screen.
pub(super) fn draw(canvas: &mut Canvas<'_>, state: &State) {
    let Some(chrome) = super::super::geometry::chrome(state.size) else { return };
    if let Some(why) = state.pauses_trouble() {
        return asked::trouble(canvas, why, "r tries again, 1 goes back.", chrome.body);
    }
    let Some(report) = state.pauses.report() else {
        let what = "the batches around each resize that the checkpoint retains";
        return asked::waiting(canvas, state, what, chrome.body);
    };
    if report.pauses.is_empty() {
        let paragraphs = none_seen(state);
        let texts: Vec<&str> = paragraphs.iter().map(String::as_str).collect();
        return super::message(canvas, chrome.body, &texts);
    }
    let Some(plan) = places::pauses(state.size, report.pauses.len()) else { return };
    let symbols = canvas.symbols();
    let from = state.pauses.plots;
    for (area, kind) in plan.plots.iter().zip(PLOTS.iter().cycle().skip(from).take(PLOTS.len())) {
        draw_plot(canvas, *kind, report, state.pauses.chosen(), *area);
    }
    table(canvas, state, plan.table);
    canvas.rows(plan.detail, &detail(state, report, symbols, usize::from(plan.detail.width)));
}

/// What is said when there was no resize.
fn none_seen(state: &State) -> Vec<String> {
    let retained = state.retained();
    let reach = match (retained.first(), retained.last()) {
        (Some(first), Some(last)) => format!(" ({} to {})", first.batch, last.batch),
        _ => String::new(),
    };
    let remembered = match state.remembered.keeping {
        Keeping::Adding | Keeping::ReadOnly(_) => " None is remembered either.",
        _ => "",
    };
    vec![
        format!("No resize is in the batches that the checkpoint retains{reach}.{remembered}"),
        String::new(),
        "How long one takes is never guessed: copy the checkpoint, resize the copy, and measure. \
         A resize that this console sees is remembered."
            .to_owned(),
    ]
}

/// The answer to the screen's question.
pub(super) fn answer(state: &State) -> Row {
    let Some(report) = state.pauses.report() else { return Row::new() };
    match (&report.estimate, &report.no_estimate) {
        (Some(estimate), _) => Row::of(estimate_words(estimate), Role::Text),
        (None, Some(why)) if report.now.rows.is_none() => {
            Row::of(format!("No estimate: {why}."), Role::Warning)
        }
        (None, _) => Row::of("No estimate: rehearse on a copy.", Role::Warning),
    }
}

fn estimate_words(estimate: &Estimate) -> String {
    let from = format::plural(estimate.observations, "measured resize", "measured resizes");
    let (low, high) = (format::millis(estimate.low_ms), format::millis(estimate.high_ms));
    let range = if low == high { format!("about {low}") } else { format!("{low} to {high}") };
    format!("The next, of {} rows: {range}, by {from}.", format::compact(estimate.rows))
}

fn draw_plot(
    canvas: &mut Canvas<'_>,
    kind: Kind,
    report: &PausesReport,
    chosen: Option<&Pause>,
    area: Rect,
) {
    let symbols = canvas.symbols();
    let millis = |value: f64| format::millis(format::whole(value));
    let rows = |value: f64| format::compact(format::whole(value));
    let span = span_of(report);
    let day = |value: f64| when(value, span);
    let order = |value: f64| {
        let at = usize::try_from(format::whole(value)).unwrap_or(0);
        let pause = report.pauses.get(at);
        pause.map_or_else(String::new, |pause| counts(pause, symbols))
    };
    let ratio = |value: f64| format::ratio(value);
    let mark = |pause: &Pause, x: f64, y: f64| {
        let is_chosen = chosen == Some(pause);
        let (mark, role) = if is_chosen { ('O', Role::Warning) } else { ('o', Role::Strong) };
        Dot { x, y, mark, role }
    };
    let timed = |pause: &Pause| Some(format::float(pause.pause?.millis));
    let measured = |x: &dyn Fn(&Pause) -> Option<f64>| -> Vec<Dot> {
        let dots =
            report.pauses.iter().filter_map(|pause| Some(mark(pause, x(pause)?, timed(pause)?)));
        dots.collect()
    };
    let plot = match kind {
        Kind::BySize => {
            let fit = report.estimate.as_ref().and_then(|estimate| estimate.fit);
            Plot {
                title: size_title(report, symbols),
                dots: measured(&|pause| Some(format::float(pause.rows?))),
                line: fit.map(|fit| Line {
                    base: fit.fixed_ms,
                    slope: fit.per_million_ms / 1e6,
                    spread: fit.spread_ms.unwrap_or(0.0),
                }),
                span: report.estimate.as_ref().map(|estimate| Span {
                    x: format::float(estimate.rows),
                    low: format::float(estimate.low_ms),
                    high: format::float(estimate.high_ms),
                }),
                from: Some(0.0),
                x_text: &rows,
                y_text: &millis,
            }
        }
        Kind::OverTime => Plot {
            title: "pause over time".to_owned(),
            dots: measured(&|pause| Some(signed(pause.at?))),
            line: None,
            span: None,
            from: None,
            x_text: &day,
            y_text: &millis,
        },
        Kind::BatchTime => around("batch time", report, |side| side.batch_ms, &order, &millis),
        Kind::Spread => {
            let title = format!("max{}mean", symbols.over);
            around(&title, report, |side| side.max_over_mean, &order, &ratio)
        }
        Kind::Files => around("files a batch", report, |side| side.files_per_batch, &order, &rows),
    };
    plot::draw(canvas, &plot, area);
}

fn size_title(report: &PausesReport, symbols: &Symbols) -> String {
    let estimate = report.estimate.as_ref();
    let fit = estimate.and_then(|estimate| estimate.fit);
    let [shade, ..] = symbols.heat;
    let parts = [
        fit.map(|_| format!("{} fit", symbols.dash)),
        fit.and_then(|fit| fit.spread_ms).map(|_| format!("{shade} spread")),
        estimate.map(|_| format!("{} next", symbols.seam)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.as_slice() {
        [] => "pause by rows".to_owned(),
        parts => format!("pause by rows: {}", parts.join("  ")),
    }
}

/// A figure before (x) and after (o) each resize, in their order.
fn around<'a>(
    name: &str,
    report: &PausesReport,
    side: fn(&Around) -> Option<f64>,
    x_text: &'a dyn Fn(f64) -> String,
    y_text: &'a dyn Fn(f64) -> String,
) -> Plot<'a> {
    let dots = report.pauses.iter().zip(0_u32..).flat_map(|(pause, at)| {
        let dot = |y: Option<f64>, mark, role| y.map(|y| Dot { x: f64::from(at), y, mark, role });
        let before = dot(side(&pause.before), 'x', Role::Info);
        let after = dot(side(&pause.after), 'o', Role::Strong);
        before.into_iter().chain(after)
    });
    Plot {
        title: format!("{name}: x before o after"),
        dots: dots.collect(),
        line: None,
        span: None,
        from: None,
        x_text,
        y_text,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a moment on an axis of some eighty columns")]
fn signed(at: UnixMillis) -> f64 {
    at.0 as f64
}

/// A moment on the axis: the time where all are of a day or two, else the date.
fn when(value: f64, span: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "it was a moment before")]
    let moment = format::moment(UnixMillis(value as i64));
    let (day, time) = moment.split_once(' ').unwrap_or((&moment, ""));
    let short = time.rsplit_once(':').map_or(time, |(minute, _)| minute);
    if span < TWO_DAYS {
        format!("{} {short}", day.get(5..).unwrap_or(day))
    } else {
        day.to_owned()
    }
}

/// Milliseconds from the first to the last of the pauses.
fn span_of(report: &PausesReport) -> f64 {
    let moments = || report.pauses.iter().filter_map(|pause| pause.at);
    moments()
        .min()
        .zip(moments().max())
        .map_or(0.0, |(first, last)| format::float(first.until(last)))
}

/// Two days, in milliseconds.
const TWO_DAYS: f64 = 2.0 * 86_400_000.0;

/// `200 → 400`.
fn counts(pause: &Pause, symbols: &Symbols) -> String {
    let count = |count: Option<u32>| {
        count.map_or_else(|| "?".to_owned(), |count| format::count(count.into()))
    };
    format!("{} {} {}", count(pause.from), symbols.arrow, count(pause.to))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Id {
    When,
    Counts,
    Rows,
    Bytes,
    Pause,
    Outage,
    BatchTime,
    Spread,
    Files,
    By,
}

fn table(canvas: &mut Canvas<'_>, state: &State, area: Rect) {
    let symbols = canvas.symbols();
    let listed: Vec<&Pause> = state.pauses.listed().collect();
    let wide = |id: Id| {
        let cells =
            listed.iter().map(|pause| super::super::text::width(&cell(pause, id, symbols).0));
        cells.max().unwrap_or(0)
    };
    let number = |id, title: &str, rank| Column::number(id, title, wide(id), rank);
    let all = vec![
        number(Id::When, "when (UTC)", 250),
        number(Id::Counts, "count", 255),
        number(Id::Rows, "rows", 240),
        number(Id::Bytes, "bytes", 150),
        number(Id::Pause, "pause", 254),
        number(Id::Outage, "outage", 230),
        number(Id::BatchTime, "batch time", 200),
        number(Id::Spread, &format!("max{}mean", symbols.over), 180),
        number(Id::Files, "files a batch", 140),
        Column::words(Id::By, "by", wide(Id::By), wide(Id::By), 170),
    ];
    let columns = columns::fit(all, usize::from(area.width).saturating_sub(3));
    let mut head = Row::of("  ", Role::Text);
    head.append(columns::line(&columns, symbols, |id| {
        let title = columns.iter().find(|column| column.id == id).map(|one| one.title.clone());
        (title.unwrap_or_default(), Role::Muted)
    }));
    let below = Rect { y: area.y.saturating_add(1), height: area.height.saturating_sub(1), ..area };
    canvas.row(area, &head);
    let selected = state.pauses.selected;
    let shown = window(selected, listed.len(), usize::from(below.height));
    let first = shown.start;
    let rows: Vec<Row> = (first..)
        .zip(listed.get(shown).unwrap_or_default())
        .map(|(at, pause)| {
            let mark = if at == selected { "> " } else { "  " };
            let cells = columns::line(&columns, symbols, |id| cell(pause, id, symbols));
            let row = Row::of(mark, Role::Strong).joined(cells);
            if at == selected { row.in_role(Role::Selection) } else { row }
        })
        .collect();
    canvas.rows(below, &rows);
}

fn cell(pause: &Pause, id: Id, symbols: &Symbols) -> (String, Role) {
    let text = |text: Option<String>| match text {
        Some(text) => (text, Role::Text),
        None => ("-".to_owned(), Role::Muted),
    };
    let time = |timed: Option<Timed>| text(timed.map(|timed| format::millis(timed.millis)));
    match id {
        Id::When => text(pause.at.map(minute)),
        Id::Counts => (counts(pause, symbols), Role::Strong),
        Id::Rows => text(pause.rows.map(format::compact)),
        Id::Bytes => text(pause.bytes.map(format::bytes)),
        Id::Pause if !pause.finished => ("unfinished".to_owned(), Role::Error),
        Id::Pause => time(pause.pause),
        Id::Outage => time(pause.outage),
        Id::BatchTime => text(change(pause, |side| side.batch_ms, &by_millis, symbols)),
        Id::Spread => text(change(pause, |side| side.max_over_mean, &format::ratio, symbols)),
        Id::Files => text(change(pause, |side| side.files_per_batch, &by_count, symbols)),
        Id::By => (pause.pause.map_or("-", |timed| by(timed.source)).to_owned(), Role::Muted),
    }
}

fn by_millis(value: f64) -> String {
    format::millis(format::whole(value))
}

fn by_count(value: f64) -> String {
    format::compact(format::whole(value))
}

/// `8.2 s → 5.1 s`; `None` when neither is known.
fn change(
    pause: &Pause,
    side: fn(&Around) -> Option<f64>,
    form: &dyn Fn(f64) -> String,
    symbols: &Symbols,
) -> Option<String> {
    let (before, after) = (side(&pause.before), side(&pause.after));
    before.or(after)?;
    let text = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), form);
    Some(format!("{} {} {}", text(before), symbols.arrow, text(after)))
}

/// `2026-11-29 02:05`.
fn minute(at: UnixMillis) -> String {
    let moment = format::moment(at);
    moment.rsplit_once(':').map_or(moment.clone(), |(minute, _)| minute.to_owned())
}

fn by(source: TimeSource) -> &'static str {
    match source {
        TimeSource::Checkpoint => "entries",
        TimeSource::DriverLog => "driver",
        TimeSource::Progress => "progress",
    }
}

/// What is known of the selected one, and what the line through all says.
fn detail(state: &State, report: &PausesReport, symbols: &Symbols, columns: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(pause) = state.pauses.chosen() {
        rows.push(around_words(pause, symbols, columns));
        rows.push(sources_words(pause));
    }
    let fit = report.estimate.as_ref().and_then(|estimate| estimate.fit);
    if let Some(fit) = fit {
        let mut row = Row::of(" fit ", Role::Muted);
        row.push(
            format!(
                "{} + {} per million rows",
                by_millis(fit.fixed_ms),
                by_millis(fit.per_million_ms)
            ),
            Role::Text,
        );
        if let Some(spread) = fit.spread_ms {
            row.push(format!(", {} {}", symbols.give_or_take, by_millis(spread)), Role::Text);
        }
        rows.push(row);
    }
    if let Some((what, why)) = state.remembered.trouble() {
        rows.push(Row::of(format!(" {what}: {why}"), Role::Warning));
    }
    rows
}

/// `batch 1842: batch time 8.2 s → 5.1 s   max÷mean 6.1 → 1.3   files a batch 812 → 1.6k`.
fn around_words(pause: &Pause, symbols: &Symbols, columns: usize) -> Row {
    let mut row = Row::of(format!(" batch {}", pause.batch), Role::Strong);
    let over = format!("max{}mean", symbols.over);
    let facts = [
        ("batch time", change(pause, |side| side.batch_ms, &by_millis, symbols)),
        (over.as_str(), change(pause, |side| side.max_over_mean, &format::ratio, symbols)),
        ("files a batch", change(pause, |side| side.files_per_batch, &by_count, symbols)),
    ];
    let mut told = false;
    for (label, value) in facts {
        let Some(value) = value else { continue };
        let fact = Row::of(format!("   {label} "), Role::Muted).with(value, Role::Text);
        if row.width() + fact.width() <= columns {
            row.append(fact);
            told = true;
        }
    }
    if !told {
        row.push("   nothing is known of the batches around it", Role::Muted);
    }
    row
}

/// Where the times of the selected one come from.
fn sources_words(pause: &Pause) -> Row {
    let from = |source: TimeSource| match source {
        TimeSource::Checkpoint => "by the times of the log entries",
        TimeSource::DriverLog => "by the driver's log",
        TimeSource::Progress => "by the progress of the batch after it",
    };
    match (pause.pause, pause.outage) {
        (Some(one), Some(other)) if one.source == other.source => {
            Row::of(" pause and outage ", Role::Muted).with(from(one.source), Role::Text)
        }
        (Some(one), Some(other)) => Row::of(" pause ", Role::Muted)
            .with(from(one.source), Role::Text)
            .with(", outage ", Role::Muted)
            .with(from(other.source), Role::Text),
        (Some(one), None) => Row::of(" pause ", Role::Muted).with(from(one.source), Role::Text),
        (None, _) if pause.finished => {
            Row::of(" pause not measured: the log entries have no times", Role::Text)
        }
        (None, _) => Row::of(" an attempt that did not finish", Role::Error),
    }
}
