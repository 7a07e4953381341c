//! Aligned columns of cleaned text.
//!
//! Widths come from the longest cell. When a line is wider than the terminal, the columns
//! of names give way; numbers are never cut. Must not know about reports.

use super::look::{Look, Role};
use super::text;

/// Spaces between two columns.
const GAP: usize = 2;
/// A name is not cut below this many cells.
const NARROWEST_NAME: usize = 8;

/// Which side of its column a cell keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Names; cut when the line is too long.
    Left,
    /// Numbers; never cut.
    Right,
}

/// One cell: cleaned text and its role.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    role: Role,
}

impl Cell {
    /// A cell for text of any origin.
    pub(crate) fn new(role: Role, text: &str) -> Self {
        Self { text: text::clean(text).into_owned(), role }
    }

    /// A cell without emphasis.
    pub(crate) fn plain(text: &str) -> Self {
        Self::new(Role::Text, text)
    }
}

/// A table under construction.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table with these headings.
    pub(crate) fn new(columns: Vec<(&'static str, Align)>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row with one cell per column.
    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// The heading and the rows as lines, indented by `indent`.
    pub(crate) fn lines(&self, look: Look, indent: usize) -> Vec<String> {
        let widths = self.widths(look.columns.saturating_sub(indent));
        let heading: Vec<Cell> =
            self.columns.iter().map(|(title, _)| Cell::new(Role::Muted, title)).collect();
        std::iter::once(&heading)
            .chain(&self.rows)
            .map(|row| self.line(row, &widths, look, indent))
            .collect()
    }

    /// Whether no cell is cut.
    pub(crate) fn fits(&self, look: Look, indent: usize) -> bool {
        total(&self.natural_widths()) <= look.columns.saturating_sub(indent)
    }

    fn natural_widths(&self) -> Vec<usize> {
        let columns = self.columns.iter().enumerate();
        columns
            .map(|(index, (title, _))| {
                let cells = self.rows.iter().filter_map(|row| row.get(index));
                cells.map(|cell| text::width(&cell.text)).fold(text::width(title), usize::max)
            })
            .collect()
    }

    fn widths(&self, room: usize) -> Vec<usize> {
        let mut widths = self.natural_widths();
        let mut excess = total(&widths).saturating_sub(room);
        while excess > 0 {
            let names = widths.iter_mut().zip(&self.columns);
            let widest = names
                .filter(|(width, (_, align))| *align == Align::Left && **width > NARROWEST_NAME)
                .max_by_key(|(width, _)| **width);
            let Some((width, _)) = widest else { break };
            *width -= 1;
            excess -= 1;
        }
        widths
    }

    fn line(&self, row: &[Cell], widths: &[usize], look: Look, indent: usize) -> String {
        let mut line = " ".repeat(indent);
        // Padding is written before the next text only, so that no line ends in spaces.
        let mut pending = 0;
        for ((cell, width), (_, align)) in row.iter().zip(widths).zip(&self.columns) {
            let text = text::cut(&cell.text, *width, look.ellipsis());
            let padding = width.saturating_sub(text::width(&text));
            let (before, after) = match align {
                Align::Left => (0, padding),
                Align::Right => (padding, 0),
            };
            if text.is_empty() {
                pending += width + GAP;
                continue;
            }
            line.push_str(&" ".repeat(pending + before));
            line.push_str(&look.paint(cell.role, &text));
            pending = after + GAP;
        }
        line
    }
}

/// Cells of a line with columns of these widths.
fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::look::Paint;
    use crate::console::Charset;

    const LOOK: Look = Look { paint: Paint::Plain, charset: Charset::Ascii, columns: 80 };

    fn table() -> Table {
        let columns = vec![("op", Align::Right), ("operator", Align::Left), ("rows", Align::Right)];
        let mut table = Table::new(columns);
        table.push(vec![
            Cell::plain("0"),
            Cell::plain("symmetricHashJoin"),
            Cell::plain("842,113"),
        ]);
        table.push(vec![Cell::plain("11"), Cell::plain("dedupe"), Cell::plain("7")]);
        table
    }

    #[test]
    fn numbers_to_the_right_names_to_the_left() {
        assert_eq!(
            table().lines(LOOK, 1),
            [
                " op  operator              rows",
                "  0  symmetricHashJoin  842,113",
                " 11  dedupe                   7",
            ]
        );
    }

    #[test]
    fn names_give_way_when_the_line_is_too_long() {
        let narrow = Look { columns: 24, ..LOOK };
        assert_eq!(
            table().lines(narrow, 0),
            ["op  operator        rows", " 0  symmetric..  842,113", "11  dedupe             7"]
        );
        assert!(table().fits(LOOK, 0) && !table().fits(narrow, 0));
        let hopeless = Look { columns: 5, ..LOOK };
        assert!(table().lines(hopeless, 0).iter().all(|line| !line.is_empty()));
    }

    #[test]
    fn hostile_names_are_cleaned() {
        let mut table = Table::new(vec![("store", Align::Left)]);
        table.push(vec![Cell::plain("\x1b]0;x\x07")]);
        assert_eq!(table.lines(LOOK, 0).last().unwrap(), "\\u{1b}]0;x\\u{7}");
    }
}
