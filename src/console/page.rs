//! A page of rows, with the cells of its table: made once when it is read, not on every frame.

use serde_json::Value;

use super::hiding;
use super::look::Charset;
use super::text::{head, width};
use crate::reader::{OwnedHalf, OwnedRow, RowsSummary};
use crate::report::Reveal;

/// Columns that a cell is kept for.
const WIDEST: usize = 60;
/// Bytes of a text that are looked at for a cell.
const LOOKED_AT: usize = 4 * WIDEST;

/// The first rows of those asked for.
#[derive(Debug, Clone, Default)]
pub struct RowsPage {
    /// The rows.
    pub rows: Vec<OwnedRow>,
    /// Whether there are more.
    pub more: bool,
    /// What there is to say of them.
    pub summary: RowsSummary,
    /// Columns of keys and values.
    pub columns: Vec<PageColumn>,
    /// What rows differ in besides.
    pub differ: Differ,
}

/// Which of the places of rows differ on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Differ {
    /// Their partitions.
    pub partition: bool,
    /// Their stores.
    pub store: bool,
    /// Their families.
    pub family: bool,
}

/// A column of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageColumn {
    /// Its heading.
    pub title: String,
    /// Whether it is of the key.
    pub of_key: bool,
    /// Whether all of it are numbers or null.
    pub numbers: bool,
    /// The widest cell: masked, shown.
    pub widths: [usize; 2],
    /// A cell of each row: masked, shown.
    pub cells: Vec<[String; 2]>,
}

impl RowsPage {
    /// A page of these rows.
    pub fn new(rows: Vec<OwnedRow>, more: bool, summary: RowsSummary) -> Self {
        let differs = |differ: &dyn Fn(&OwnedRow, &OwnedRow) -> bool| {
            rows.windows(2).any(|pair| matches!(pair, [a, b] if differ(a, b)))
        };
        let differ = Differ {
            partition: differs(&|a, b| a.partition != b.partition),
            store: differs(&|a, b| a.store != b.store),
            family: differs(&|a, b| a.family != b.family),
        };
        let mut columns = half_columns(&rows, true, |row| &row.key);
        columns.extend(half_columns(&rows, false, |row| &row.value));
        Self { rows, more, summary, columns, differ }
    }
}

/// A column for each field where all rows have the same fields, else one of words.
fn half_columns(
    rows: &[OwnedRow],
    of_key: bool,
    half: impl Fn(&OwnedRow) -> &OwnedHalf,
) -> Vec<PageColumn> {
    let names = |half: &OwnedHalf| match half {
        OwnedHalf::Columns(columns) => {
            Some(columns.iter().map(|(name, _)| name.clone()).collect::<Vec<String>>())
        }
        _ => None,
    };
    let first = rows.first().and_then(|row| names(half(row)));
    let Some(titles) =
        first.filter(|first| rows.iter().all(|row| names(half(row)).as_ref() == Some(first)))
    else {
        let title = if of_key { "key" } else { "value" };
        let cells = rows.iter().map(|row| {
            [Reveal::Masked, Reveal::Shown].map(|reveal| {
                let words = hiding::half_words(half(row), reveal, Charset::Utf8.symbols());
                head(&words, WIDEST).to_owned()
            })
        });
        return vec![column(title, of_key, false, cells.collect())];
    };
    let columns = titles.iter().enumerate().map(|(at, title)| {
        let values: Vec<&Value> = rows
            .iter()
            .filter_map(|row| match half(row) {
                OwnedHalf::Columns(columns) => columns.get(at).map(|(_, value)| value),
                _ => None,
            })
            .collect();
        let numbers = values.iter().all(|value| value.is_number() || value.is_null());
        let cells =
            values.iter().map(|value| [Reveal::Masked, Reveal::Shown].map(|r| cell(value, r)));
        column(title, of_key, numbers, cells.collect())
    });
    columns.collect()
}

fn column(title: &str, of_key: bool, numbers: bool, cells: Vec<[String; 2]>) -> PageColumn {
    let widest = |of: &dyn Fn(&[String; 2]) -> &String| {
        cells.iter().map(|cell| width(of(cell))).max().unwrap_or(0)
    };
    let widths = [widest(&|[masked, _]| masked), widest(&|[_, shown]| shown)];
    PageColumn { title: title.to_owned(), of_key, numbers, widths, cells }
}

/// A value in a cell: of a long text only as much as a cell has room for.
fn cell(value: &Value, reveal: Reveal) -> String {
    let words = match (value, reveal) {
        (Value::String(text), Reveal::Shown) => {
            let end = (0..=LOOKED_AT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.get(..end).unwrap_or(text).to_owned()
        }
        _ => hiding::words(value, reveal, Charset::Utf8.symbols()),
    };
    head(&words, WIDEST).to_owned()
}
