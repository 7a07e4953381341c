//! max÷mean over counts: a point for each count, the present one and the chosen one marked.
//!
//! ```text
//!  max÷mean by count
//!  22.8┤                  · ·
//!      │            · [o]
//!      │     ·· [x]
//!   1.0┤· · ·
//!       25      200      1600
//! ```

use ratatui::layout::Rect;

use super::super::format;
use super::super::look::{Role, Symbols};
use super::super::paint::Canvas;
use super::super::text::Row;

/// Columns of the labels on the left.
const LABEL: usize = 6;

/// A count and its max÷mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) count: u32,
    pub(super) ratio: f64,
}

/// What is drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Curve<'a> {
    /// By count.
    pub(super) points: &'a [Point],
    /// The present count.
    pub(super) now: Option<Point>,
    /// The count in question.
    pub(super) chosen: Option<Point>,
}

/// One mark: its column, its line counted from the top, its text.
type Mark = (usize, usize, &'static str, Role);

/// Draws title, axes and points.
pub(super) fn draw(canvas: &mut Canvas<'_>, curve: Curve<'_>, area: Rect) {
    let symbols = canvas.symbols();
    let title = format!(" max{}mean by count", symbols.over);
    canvas.row(area, &Row::of(title, Role::Muted));
    let lines = usize::from(area.height).saturating_sub(2);
    let columns = usize::from(area.width).saturating_sub(LABEL + 2);
    let Some(range) = Range::of(curve).filter(|_| lines > 0 && columns > 3) else { return };
    let mut marks: Vec<Mark> = curve
        .points
        .iter()
        .map(|point| (range.x(*point, columns), range.y(*point, lines), symbols.point, Role::Info))
        .collect();
    let at = |point: Point| (range.x(point, columns).clamp(1, columns - 2), range.y(point, lines));
    let (now, chosen) = (curve.now.map(at), curve.chosen.map(at));
    // Two brackets on one line would be one tangle.
    let close =
        matches!((now, chosen), (Some((a, y)), Some((b, z))) if y == z && a.abs_diff(b) < 3);
    let texts = if close { ["x", "o"] } else { ["[x]", "[o]"] };
    for ((place, text), role) in
        [now, chosen].into_iter().zip(texts).zip([Role::Strong, Role::Warning])
    {
        if let Some((x, y)) = place {
            marks.push((x - usize::from(!close), y, text, role));
        }
    }
    for line in 0..lines {
        let label = match line {
            0 => format::ratio(range.top),
            _ if line + 1 == lines => format::ratio(1.0),
            _ => String::new(),
        };
        let mut row = Row::of(format!("{label:>LABEL$}"), Role::Muted);
        row.push(symbols.wall, Role::Border);
        row.append(plotted(&marks, line, columns));
        canvas.row(line_of(area, line + 1), &row);
    }
    canvas.row(line_of(area, lines + 1), &axis(range, curve, columns, symbols));
}

fn line_of(area: Rect, line: usize) -> Rect {
    let y = area.y.saturating_add(u16::try_from(line).unwrap_or(u16::MAX));
    Rect { y, height: u16::from(y < area.bottom()), ..area }
}

/// One line of the plot; later marks lie over earlier ones.
fn plotted(marks: &[Mark], line: usize, columns: usize) -> Row {
    let mut cells: Vec<(char, Role)> = vec![(' ', Role::Text); columns];
    for (x, _, text, role) in marks.iter().filter(|(_, y, _, _)| *y == line) {
        for (at, c) in text.chars().enumerate() {
            if let Some(cell) = cells.get_mut(x + at) {
                *cell = (c, *role);
            }
        }
    }
    let mut row = Row::new();
    for (c, role) in cells {
        row.push(c.to_string(), role);
    }
    row
}

/// The counts at both ends, and the present one between them where it fits.
fn axis(range: Range, curve: Curve<'_>, columns: usize, _symbols: &Symbols) -> Row {
    let (low, high) = (range.low.to_string(), range.high.to_string());
    let mut row = Row::of(" ".repeat(LABEL + 1), Role::Muted).with(&low, Role::Muted);
    let end = LABEL + 1 + columns - high.len().min(columns);
    if let Some(now) = curve.now {
        let text = now.count.to_string();
        let x = LABEL + 1 + range.x(now, columns).saturating_sub(text.len() / 2);
        if x > row.width() && x + text.len() < end {
            row.pad_to(x, Role::Muted);
            row.push(text, Role::Strong);
        }
    }
    row.pad_to(end, Role::Muted);
    row.with(high, Role::Muted)
}

/// What the axes reach over.
#[derive(Debug, Clone, Copy)]
struct Range {
    low: u32,
    high: u32,
    top: f64,
}

impl Range {
    fn of(curve: Curve<'_>) -> Option<Self> {
        let all = || curve.points.iter().copied().chain(curve.now).chain(curve.chosen);
        let top = all().map(|point| point.ratio).fold(1.0, f64::max);
        Some(Self {
            low: all().map(|point| point.count).min()?.max(1),
            high: all().map(|point| point.count).max()?,
            // A little above 1, so that an even store is a line at the bottom.
            top: top.max(2.0),
        })
    }

    /// Both are placed by their logarithm: twice as many is the same step everywhere, and a key
    /// that no count splits is a straight line.
    fn x(self, point: Point, columns: usize) -> usize {
        let span = f64::from(self.high).ln() - f64::from(self.low).ln();
        let part = (f64::from(point.count.max(1)).ln() - f64::from(self.low).ln()) / span.max(1e-9);
        place(part, columns)
    }

    fn y(self, point: Point, lines: usize) -> usize {
        lines - 1 - place(point.ratio.max(1.0).ln() / self.top.ln(), lines)
    }
}

/// Where a part of the whole, from 0 to 1, lies among so many cells.
fn place(part: f64, cells: usize) -> usize {
    let last = cells.saturating_sub(1);
    let at = format::whole(part.clamp(0.0, 1.0) * format::float(last as u64));
    usize::try_from(at).unwrap_or(last).min(last)
}
