//! Columns of a table that give way in an order: first the shrinkable shrink, then the
//! least important go. Widths come from the caller, so that they do not jump with the rows
//! on view.

use super::super::look::{Role, Symbols};
use super::super::text::{Row, cut, width};

/// Blanks between two columns.
const GAP: usize = 2;

/// Which end of its column a text stands at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::console) enum Align {
    Left,
    Right,
}

/// One column: `id` is the caller's name for it.
#[derive(Debug, Clone)]
pub(in crate::console) struct Column<Id> {
    pub id: Id,
    pub title: String,
    pub width: usize,
    pub least: usize,
    pub align: Align,
    /// The column with the lowest goes first.
    pub rank: u8,
}

impl<Id> Column<Id> {
    /// A column of numbers, as wide as its widest.
    pub(in crate::console) fn number(
        id: Id,
        title: impl Into<String>,
        columns: usize,
        rank: u8,
    ) -> Self {
        let title = title.into();
        let wide = columns.max(width(&title));
        Self { id, title, width: wide, least: wide, align: Align::Right, rank }
    }

    /// A column of words, which may be cut down to `least`.
    pub(in crate::console) fn words(
        id: Id,
        title: impl Into<String>,
        columns: usize,
        least: usize,
        rank: u8,
    ) -> Self {
        let title = title.into();
        let wide = columns.max(width(&title));
        Self { id, title, width: wide, least: least.min(wide), align: Align::Left, rank }
    }
}

/// The columns that fit in `room`, with the widths that they get.
pub(in crate::console) fn fit<Id>(mut columns: Vec<Column<Id>>, room: usize) -> Vec<Column<Id>> {
    loop {
        let gaps = columns.len().saturating_sub(1) * GAP;
        let least: usize = columns.iter().map(|column| column.least).sum::<usize>() + gaps;
        if least <= room || columns.len() <= 1 {
            break;
        }
        let dropped = columns.iter().enumerate().min_by_key(|(_, column)| column.rank);
        let Some(at) = dropped.map(|(at, _)| at) else { break };
        columns.remove(at);
    }
    shrink(&mut columns, room);
    columns
}

/// Takes what is too much from the least important columns that can spare it.
fn shrink<Id>(columns: &mut [Column<Id>], room: usize) {
    let gaps = columns.len().saturating_sub(1) * GAP;
    let wide: usize = columns.iter().map(|column| column.width).sum::<usize>() + gaps;
    let mut excess = wide.saturating_sub(room);
    let mut by_rank: Vec<&mut Column<Id>> = columns.iter_mut().collect();
    by_rank.sort_by_key(|column| column.rank);
    for column in by_rank {
        let taken = excess.min(column.width.saturating_sub(column.least));
        column.width -= taken;
        excess -= taken;
    }
}

/// Columns left over to the right of the last one, its gap taken off.
pub(in crate::console) fn rest<Id>(columns: &[Column<Id>], room: usize) -> usize {
    let used: usize = columns.iter().map(|column| column.width + GAP).sum();
    room.saturating_sub(used)
}

/// One line: for every column its text and role.
pub(in crate::console) fn line<Id: Copy>(
    columns: &[Column<Id>],
    symbols: &Symbols,
    mut cell: impl FnMut(Id) -> (String, Role),
) -> Row {
    let mut row = Row::new();
    for (at, column) in columns.iter().enumerate() {
        if at > 0 {
            row.push(" ".repeat(GAP), Role::Text);
        }
        let (text, role) = cell(column.id);
        let text = cut(&super::super::text::sanitise(&text), column.width, symbols.ellipsis);
        let blanks = " ".repeat(column.width.saturating_sub(width(&text)));
        match column.align {
            Align::Left => {
                row.push(text, role);
                row.push(blanks, Role::Text);
            }
            Align::Right => {
                row.push(blanks, Role::Text);
                row.push(text, role);
            }
        }
    }
    row
}

/// The line of titles.
pub(in crate::console) fn head<Id: Copy + PartialEq>(
    columns: &[Column<Id>],
    symbols: &Symbols,
) -> Row {
    line(columns, symbols, |id| {
        let title =
            columns.iter().find(|column| column.id == id).map(|column| column.title.clone());
        (title.unwrap_or_default(), Role::Muted)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::look::Charset;

    fn columns() -> Vec<Column<u8>> {
        vec![
            Column::words(0, "name", 20, 8, 90),
            Column::number(1, "rows", 9, 80),
            Column::number(2, "files", 5, 10),
        ]
    }

    #[test]
    fn words_shrink_before_numbers_go() {
        let all = fit(columns(), 38);
        assert_eq!(all.iter().map(|column| column.width).collect::<Vec<_>>(), [20, 9, 5]);
        let less = fit(columns(), 30);
        assert_eq!(less.iter().map(|column| column.width).collect::<Vec<_>>(), [12, 9, 5]);
        let few = fit(columns(), 24);
        assert_eq!(few.iter().map(|column| column.id).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn lines_are_as_wide_as_their_columns() {
        let symbols = Charset::Utf8.symbols();
        let columns = fit(columns(), 30);
        let row = line(&columns, symbols, |id| match id {
            0 => ("漢字漢字漢字漢字".to_owned(), Role::Text),
            _ => ("7".to_owned(), Role::Text),
        });
        assert_eq!(row.width(), 30);
        assert_eq!(head(&columns, symbols).width(), 30);
    }
}
