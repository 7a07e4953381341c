//! A plot of a few points: axes with labels, a line with its spread, a range.
//!
//! ```text
//!  seconds against rows
//!   60 s│            ░░░░o
//!       │      ░░╌╌╌╌░░  ┆
//!    0 s│░o╌╌░░          ┆
//!        0            4.0M
//! ```

use ratatui::layout::Rect;

use super::super::format;
use super::super::look::{Role, Symbols};
use super::super::paint::Canvas;
use super::super::text::{Row, width};

/// Columns of the labels on the left.
const LABEL: usize = 7;

/// A point, and how it is marked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Dot {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) mark: char,
    pub(super) role: Role,
}

/// `y = base + slope · x`, and how far points are from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Line {
    pub(super) base: f64,
    pub(super) slope: f64,
    pub(super) spread: f64,
}

/// What y may be at an x.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub(super) x: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// What is drawn.
pub(super) struct Plot<'a> {
    pub(super) title: String,
    pub(super) dots: Vec<Dot>,
    pub(super) line: Option<Line>,
    pub(super) span: Option<Span>,
    /// The least that the x axis begins at; `None` for the least x.
    pub(super) from: Option<f64>,
    pub(super) x_text: &'a dyn Fn(f64) -> String,
    pub(super) y_text: &'a dyn Fn(f64) -> String,
}

/// What the axes reach over.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Reach {
    left: f64,
    right: f64,
    top: f64,
}

impl Reach {
    fn of(plot: &Plot<'_>) -> Option<Self> {
        let spans = || plot.span.into_iter();
        let xs = || plot.dots.iter().map(|dot| dot.x).chain(spans().map(|span| span.x));
        let ys = plot.dots.iter().map(|dot| dot.y).chain(spans().map(|span| span.high));
        let left = xs().reduce(f64::min)?;
        let right = xs().reduce(f64::max)?;
        let top = ys.fold(0.0, f64::max);
        let left = plot.from.map_or(left, |from| from.min(left));
        Some(Self { left, right, top: if top > 0.0 { top } else { 1.0 } })
    }

    /// The column of an x; a single one stands in the middle.
    fn column(self, x: f64, columns: usize) -> usize {
        let span = self.right - self.left;
        place(if span > 0.0 { (x - self.left) / span } else { 0.5 }, columns)
    }

    fn x_of(self, column: usize, columns: usize) -> f64 {
        let last = columns.saturating_sub(1).max(1) as u64;
        self.left + (self.right - self.left) * format::float(column as u64) / format::float(last)
    }

    /// The line of a y, counted from the top.
    fn row(self, y: f64, rows: usize) -> usize {
        rows.saturating_sub(1) - place(y / self.top, rows)
    }
}

/// Where a part of the whole, from 0 to 1, lies among so many cells.
fn place(part: f64, cells: usize) -> usize {
    let last = cells.saturating_sub(1);
    let at = format::whole(part.clamp(0.0, 1.0) * format::float(last as u64));
    usize::try_from(at).unwrap_or(last).min(last)
}

/// Draws title, axes and points.
pub(super) fn draw(canvas: &mut Canvas<'_>, plot: &Plot<'_>, area: Rect) {
    let symbols = canvas.symbols();
    canvas.row(area, &Row::of(format!(" {}", plot.title), Role::Muted));
    let rows = usize::from(area.height).saturating_sub(2);
    let columns = usize::from(area.width).saturating_sub(LABEL + 3);
    if rows == 0 || columns < 4 {
        return;
    }
    let Some(reach) = Reach::of(plot) else {
        let below = Rect { y: area.y.saturating_add(1), height: 1, ..area };
        canvas.row(below, &Row::of("   nothing was measured", Role::Muted));
        return;
    };
    let cells = cells(plot, reach, rows, columns, symbols);
    for (at, line) in cells.chunks(columns).enumerate() {
        let label = match at {
            0 => (plot.y_text)(reach.top),
            _ if at + 1 == rows => (plot.y_text)(0.0),
            _ => String::new(),
        };
        let mut row = Row::of(format!("{label:>LABEL$}"), Role::Muted);
        row.push(symbols.wall, Role::Border);
        for (mark, role) in line {
            row.push(mark.to_string(), *role);
        }
        canvas.row(line_of(area, at + 1), &row);
    }
    canvas.row(line_of(area, rows + 1), &axis(plot, reach, columns));
}

fn line_of(area: Rect, line: usize) -> Rect {
    let y = area.y.saturating_add(u16::try_from(line).unwrap_or(u16::MAX));
    Rect { y, height: u16::from(y < area.bottom()), ..area }
}

/// All cells, line by line: the spread lies under the line, the range over it, points over all.
fn cells(
    plot: &Plot<'_>,
    reach: Reach,
    rows: usize,
    columns: usize,
    symbols: &Symbols,
) -> Vec<(char, Role)> {
    let mut cells = vec![(' ', Role::Text); rows * columns];
    let mut put = |column: usize, row: usize, mark: char, role: Role| {
        if let Some(cell) = cells.get_mut(row * columns + column) {
            *cell = (mark, role);
        }
    };
    let first = |text: &str| text.chars().next().unwrap_or(' ');
    let [shade, ..] = symbols.heat;
    if let Some(line) = plot.line {
        for column in 0..columns {
            let y = line.base + line.slope * reach.x_of(column, columns);
            let (low, high) = (reach.row(y - line.spread, rows), reach.row(y + line.spread, rows));
            for row in high..=low {
                if line.spread > 0.0 {
                    put(column, row, first(shade), Role::Muted);
                }
            }
            put(column, reach.row(y, rows), first(symbols.dash), Role::Info);
        }
    }
    if let Some(span) = plot.span {
        let column = reach.column(span.x, columns);
        for row in reach.row(span.high, rows)..=reach.row(span.low, rows) {
            put(column, row, first(symbols.seam), Role::Warning);
        }
    }
    for dot in &plot.dots {
        put(reach.column(dot.x, columns), reach.row(dot.y, rows), dot.mark, dot.role);
    }
    cells
}

/// The values at both ends.
fn axis(plot: &Plot<'_>, reach: Reach, columns: usize) -> Row {
    let (left, right) = ((plot.x_text)(reach.left), (plot.x_text)(reach.right));
    let mut row = Row::of(" ".repeat(LABEL + 1), Role::Muted);
    if left == right || width(&left) + width(&right) + 1 > columns {
        let start = LABEL + 1 + columns.saturating_sub(width(&right)) / 2;
        row.pad_to(start, Role::Muted);
        return row.with(right, Role::Muted);
    }
    row.push(left, Role::Muted);
    row.pad_to(LABEL + 1 + columns - width(&right).min(columns), Role::Muted);
    row.with(right, Role::Muted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::look::Charset;

    fn dot(x: f64, y: f64) -> Dot {
        Dot { x, y, mark: 'o', role: Role::Strong }
    }

    fn drawn(plot: &Plot<'_>, rows: usize, columns: usize) -> Vec<String> {
        let reach = Reach::of(plot).unwrap();
        let cells = cells(plot, reach, rows, columns, Charset::Ascii.symbols());
        cells.chunks(columns).map(|line| line.iter().map(|(mark, _)| *mark).collect()).collect()
    }

    fn plot(dots: Vec<Dot>) -> Plot<'static> {
        let text: &dyn Fn(f64) -> String = &|value| value.to_string();
        Plot {
            title: String::new(),
            dots,
            line: None,
            span: None,
            from: Some(0.0),
            x_text: text,
            y_text: text,
        }
    }

    #[test]
    fn points_stand_where_their_values_say() {
        let points = plot(vec![dot(0.0, 0.0), dot(4.0, 10.0), dot(2.0, 5.0)]);
        assert_eq!(drawn(&points, 3, 5), ["    o", "  o  ", "o    "]);
        // The line y = 10 - 2.5 x falls; the range at 4 reaches from 0 to 5.
        let line = Some(Line { base: 10.0, slope: -2.5, spread: 0.0 });
        let span = Some(Span { x: 4.0, low: 0.0, high: 5.0 });
        let crossed = Plot { line, span, ..plot(vec![dot(4.0, 10.0)]) };
        assert_eq!(drawn(&crossed, 3, 5), ["--  o", "  --|", "    |"]);
    }

    #[test]
    fn one_point_is_in_the_middle_and_nothing_is_no_division_by_zero() {
        let one = Plot { from: None, ..plot(vec![dot(7.0, 0.0)]) };
        assert_eq!(drawn(&one, 2, 5), ["     ", "  o  "]);
        assert_eq!(Reach::of(&plot(Vec::new())), None);
    }
}
