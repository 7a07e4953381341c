//! Rows as a table for people: a block of aligned columns per family, widths from its first
//! rows, data masked unless it is asked for.
//!
//! Memory is bounded: what is measured is cut to cells first, and only so many rows wait.

use std::io::{self, Write};

use super::jsonl::value_json;
use super::{Half, Mask, StateRow};
use crate::cli::look::{Look, Role};
use crate::cli::text::{clean, cut, width};
use crate::report::window_words;
use crate::state::row::render::{Json, hex};
use crate::state::row::value::Value;

/// Rows whose widths decide.
const MEASURED: usize = 200;
/// Cells of the widest column.
const WIDEST: usize = 40;
/// Bytes of a value that are looked at for a cell: more than the widest column can show.
const LOOKED_AT: usize = 4 * WIDEST;
/// A column is not narrower than this for the sake of a terminal's width.
const NARROWEST: usize = 8;
/// Spaces between two columns.
const GAP: usize = 2;
/// Of a timestamp, not worth the room.
const NO_FRACTION: &str = ".000000";
/// What stands for data that is hidden; it says nothing of the length.
const HIDDEN: &str = "***";

/// Gathers the first rows of a family, then writes each as it comes.
#[derive(Debug)]
pub(crate) struct TableWriter<W> {
    out: W,
    look: Look,
    mask: Mask,
    /// Cells of a line; `None` where lines may be as long as they are.
    room: Option<usize>,
    /// Operator, store, family and headings of the rows at hand.
    block: Option<(String, Vec<String>)>,
    waiting: Vec<Vec<String>>,
    widths: Option<Vec<usize>>,
}

impl<W: Write> TableWriter<W> {
    /// A table to `out`.
    pub(crate) fn new(out: W, look: Look, mask: Mask) -> Self {
        Self { out, look, mask, room: None, block: None, waiting: Vec::new(), widths: None }
    }

    /// Lines that a terminal shows whole.
    pub(crate) fn within(self, room: Option<usize>) -> Self {
        Self { room, ..self }
    }

    /// Takes a row; rows of one family should come together.
    pub(crate) fn write(&mut self, row: &StateRow<'_>) -> io::Result<()> {
        let (title, heading) = (title(row), heading(row));
        let same = self.block.as_ref().is_some_and(|block| block.0 == title && block.1 == heading);
        if !same {
            let first = self.block.is_none();
            self.settle()?;
            self.widths = None;
            if !first {
                self.out.write_all(b"\n")?;
            }
            self.block = Some((title, heading));
        }
        let cells = self.cells(row);
        if let Some(widths) = &self.widths {
            return line(&mut self.out, self.look, Role::Text, &cells, widths);
        }
        self.waiting.push(cells);
        if self.waiting.len() >= MEASURED { self.settle() } else { Ok(()) }
    }

    /// Writes what waits. To be called after the last row.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.settle()
    }

    fn settle(&mut self) -> io::Result<()> {
        let Some((title, heading)) = &self.block else { return Ok(()) };
        if self.widths.is_some() {
            return Ok(());
        }
        let columns = 0..heading.len();
        let data: Vec<usize> = columns
            .map(|index| {
                let cells = self.waiting.iter().filter_map(|row| row.get(index));
                cells.map(|cell| width(cell)).max().unwrap_or(0).min(WIDEST)
            })
            .collect();
        let widths = heading.iter().zip(&data);
        let widths = widths.map(|(name, data)| width(name).min(WIDEST).max(*data)).collect();
        let widths = match self.room {
            Some(room) => fitted(widths, &data, room),
            None => widths,
        };
        writeln!(self.out, "{}", self.look.paint(Role::Title, title))?;
        let hidden = heading.get(widths.len()..).unwrap_or_default();
        if !hidden.is_empty() {
            let text = format!("without {}", hidden.join(", "));
            let text = cut(&text, self.room.unwrap_or(usize::MAX), self.look.ellipsis());
            writeln!(self.out, "{}", self.look.paint(Role::Muted, &text))?;
        }
        line(&mut self.out, self.look, Role::Muted, heading, &widths)?;
        for cells in self.waiting.drain(..) {
            line(&mut self.out, self.look, Role::Text, &cells, &widths)?;
        }
        self.widths = Some(widths);
        Ok(())
    }

    fn cells(&self, row: &StateRow<'_>) -> Vec<String> {
        let mut cells = vec![row.at.partition.to_string()];
        cells.extend(row.change.map(|change| change.word().to_owned()));
        for half in [&row.key, &row.value] {
            match half {
                Half::Decoded(Value::Struct(_, values)) => {
                    cells.extend(values.iter().map(|value| cell(value, self.mask)));
                }
                Half::Decoded(value) => cells.push(cell(value, self.mask)),
                Half::Undecodable(bytes) => {
                    let shown = bytes.bytes.get(..LOOKED_AT).unwrap_or(bytes.bytes);
                    let shown = match self.mask {
                        Mask::Shown => format!("0x{}", hex(shown)),
                        Mask::Hidden => HIDDEN.to_owned(),
                    };
                    cells.push(clean(&format!("{}: {shown}", bytes.reason)).into_owned());
                }
                Half::None => cells.push("-".to_owned()),
            }
        }
        cells
    }
}

/// `operator 0, store default, family count`.
fn title(row: &StateRow<'_>) -> String {
    let at = row.at;
    format!("operator {}, store {}, family {}", at.operator, clean(at.store), clean(at.family))
}

fn heading(row: &StateRow<'_>) -> Vec<String> {
    let mut names = vec!["part".to_owned()];
    names.extend(row.change.map(|_| "change".to_owned()));
    for (side, half) in [("key", &row.key), ("value", &row.value)] {
        match half {
            Half::Decoded(Value::Struct(fields, _)) => names.extend(
                fields.iter().map(|field| clean(&format!("{side}.{}", field.name)).into_owned()),
            ),
            Half::Decoded(_) | Half::None => names.push(side.to_owned()),
            Half::Undecodable(_) => names.push(format!("{side} (undecodable)")),
        }
    }
    names
}

/// Widths that fit into a line. Names wider than their data give way first, then the widest
/// columns; where that is not enough, the last ones are left out.
fn fitted(mut widths: Vec<usize>, data: &[usize], room: usize) -> Vec<usize> {
    let total = |widths: &[usize]| widths.iter().sum::<usize>() + GAP * (widths.len().max(1) - 1);
    while total(&widths) > room && widths.len() > 1 {
        let narrowable = widths.iter_mut().zip(data).filter(|(width, _)| **width > NARROWEST);
        match narrowable.max_by_key(|(width, data)| (**width > **data, **width)) {
            Some((width, _)) => *width -= 1,
            None => _ = widths.pop(),
        }
    }
    widths
}

/// A value in a cell. Of a hidden one only its being null is told.
fn cell(value: &Value<'_>, mask: Mask) -> String {
    let text = match (value, mask) {
        (Value::Null, _) => "null".to_owned(),
        (_, Mask::Hidden) => return HIDDEN.to_owned(),
        (Value::String(text), Mask::Shown) => text.chars().take(LOOKED_AT).collect(),
        (Value::Binary(bytes), Mask::Shown) => {
            format!("0x{}", hex(bytes.get(..LOOKED_AT).unwrap_or(bytes)))
        }
        (Value::Struct(..), Mask::Shown) if let Some(window) = window(value) => window,
        (_, Mask::Shown) => {
            let mut json = Vec::new();
            match value_json(value, &mut json) {
                Ok(()) => {
                    let text = String::from_utf8_lossy(&json);
                    let text: String = text.trim_matches('"').chars().take(LOOKED_AT).collect();
                    match value {
                        Value::Timestamp(_) | Value::TimestampNtz(_) => {
                            text.replacen(NO_FRACTION, "", 1)
                        }
                        _ => text,
                    }
                }
                Err(_) => String::new(),
            }
        }
    };
    clean(&text).into_owned()
}

/// A window of time as one short thing. Only a struct of two is looked at, since others can be
/// long.
fn window(value: &Value<'_>) -> Option<String> {
    let Value::Struct(_, values) = value else { return None };
    if values.len() != 2 {
        return None;
    }
    window_words(&serde_json::to_value(Json(value)).ok()?)
}

fn line(
    out: &mut impl Write,
    look: Look,
    role: Role,
    cells: &[String],
    widths: &[usize],
) -> io::Result<()> {
    let mut text = String::new();
    for (cell, width_of) in cells.iter().zip(widths) {
        let shown = cut(cell, *width_of, look.ellipsis());
        let padding = (width_of + GAP).saturating_sub(width(&shown));
        text.push_str(&shown);
        text.extend(std::iter::repeat_n(' ', padding));
    }
    writeln!(out, "{}", look.paint(role, text.trim_end()))
}
