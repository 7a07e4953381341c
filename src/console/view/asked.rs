//! A question under way, and one that could not be answered.

use ratatui::layout::Rect;

use super::super::asking::{Asked, Question};
use super::super::format;
use super::super::look::{Role, Symbols};
use super::super::paint::{Canvas, bar};
use super::super::state::State;
use super::super::text::{Row, wrap};

/// Columns of the longest bar.
const BAR: usize = 40;

/// What is being read, while there is nothing else to show. `what` ends the sentence.
pub(super) fn waiting(canvas: &mut Canvas<'_>, state: &State, what: &str, area: Rect) {
    let Some(asked) = state.asking.asked() else {
        super::message(canvas, area, &[&format!("Waiting to read {what}.")]);
        return;
    };
    let symbols = canvas.symbols();
    let mut rows: Vec<Row> = wrap(&format!("Reading {what}."), usize::from(area.width) - 8)
        .into_iter()
        .map(|line| Row::of(line, Role::Strong))
        .collect();
    rows.push(Row::new());
    rows.push(far(asked));
    if let Some((_, progress)) = asked.progress.filter(|(_, progress)| progress.total > 0) {
        let part = format::float(progress.done) / format::float(progress.total);
        rows.push(Row::of(bar(symbols, part, BAR), Role::Bar));
    }
    rows.push(Row::new());
    rows.push(if asked.stopping {
        Row::of("Stopping.", Role::Warning)
    } else {
        Row::of("Esc", Role::Key).with(" stops; what was read until then is shown", Role::Muted)
    });
    let place = Rect {
        x: area.x + 4,
        y: area.y + 1 + area.height / 6,
        width: area.width.saturating_sub(8),
        height: area.height.saturating_sub(1 + area.height / 6),
    };
    canvas.rows(place, &rows);
}

/// `12 of 200 partitions, 1.2M rows, 812k rows/s, about 9 s left`.
fn far(asked: &Asked) -> Row {
    let Some((_, progress)) = asked.progress else {
        return Row::of("the logs and schemas first", Role::Muted);
    };
    let unit = match asked.question {
        Question::History(_) => "changelogs",
        _ => "partitions",
    };
    let (done, total) = (format::count(progress.done), format::count(progress.total));
    let mut row = Row::of(format!("{done} of {total} {unit}"), Role::Text);
    if progress.rows > 0 {
        row.push(format!(", {} rows", format::compact(progress.rows)), Role::Text);
    }
    if progress.bytes.0 > 0 {
        row.push(format!(", {}", format::bytes(progress.bytes)), Role::Text);
    }
    let Some(pace) = asked.pace() else { return row };
    if pace.rows > 0 {
        row.push(format!(", {} rows/s", format::compact(pace.rows)), Role::Text);
    }
    if let Some(left) = pace.left.filter(|left| *left >= 1_000) {
        row.push(format!(", about {} left", format::age(left)), Role::Text);
    }
    row
}

/// The same in the few words that the tabs line has room for.
pub(super) fn short(state: &State, _symbols: &Symbols) -> Option<Row> {
    let asked = state.asking.asked()?;
    let what = match &asked.question {
        Question::Keys(_) => "keys",
        Question::Rows(_) => "rows",
        Question::History(_) => "changelogs",
        Question::Plan(_) => "hashes",
        Question::Pauses(_) => "resizes",
        Question::Preflight(_) => "checks",
    };
    let mut row = Row::of(format!("reading {what}"), Role::Info);
    if let Some((_, progress)) = asked.progress {
        let (done, total) = (format::count(progress.done), format::count(progress.total));
        row.push(format!(" {done} of {total}"), Role::Strong);
    }
    Some(row.with(" ", Role::Text))
}

/// Why there is nothing to show, in the words of a console.
pub(super) fn trouble(canvas: &mut Canvas<'_>, why: &str, hint: &str, area: Rect) {
    let why = why.replace(" with --store", ": o").replace("--store", "o");
    let mut paragraphs: Vec<&str> = why.lines().collect();
    paragraphs.extend(["", hint]);
    super::message(canvas, area, &paragraphs);
}
