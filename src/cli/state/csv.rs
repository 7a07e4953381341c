//! Rows as comma-separated values: key and value as JSON, so that rows of unlike families fit
//! the same columns.

use std::io::{self, Write};

use super::jsonl::value_json;
use super::{Half, StateRow};
use crate::cli::text::clean;
use crate::state::row::render::hex;

/// The columns.
const HEADING: [&str; 8] =
    ["partition", "operator", "store", "family", "change", "key", "value", "undecodable"];

/// Appends the heading to `out`.
pub(crate) fn push_heading(out: &mut Vec<u8>) -> io::Result<()> {
    record(HEADING.map(str::to_owned), out)
}

/// Appends one row to `out`. What cannot be decoded is `0x` and hexadecimal digits.
pub(crate) fn push(row: &StateRow<'_>, out: &mut Vec<u8>) -> io::Result<()> {
    let reasons: Vec<&str> = [&row.key, &row.value]
        .into_iter()
        .filter_map(|half| match half {
            Half::Undecodable(bytes) => Some(bytes.reason.as_str()),
            Half::Decoded(_) | Half::None => None,
        })
        .collect();
    let fields = [
        row.at.partition.to_string(),
        row.at.operator.to_string(),
        clean(row.at.store).into_owned(),
        clean(row.at.family).into_owned(),
        row.change.map(crate::reader::Change::word).unwrap_or_default().to_owned(),
        text(&row.key)?,
        text(&row.value)?,
        clean(&reasons.join("; ")).into_owned(),
    ];
    record(fields, out)
}

fn text(half: &Half<'_>) -> io::Result<String> {
    match half {
        Half::None => Ok(String::new()),
        Half::Undecodable(bytes) => Ok(format!("0x{}", hex(bytes.bytes))),
        Half::Decoded(value) => {
            let mut json = Vec::new();
            value_json(value, &mut json)?;
            String::from_utf8(json).map_err(io::Error::other)
        }
    }
}

fn record(fields: [String; 8], out: &mut Vec<u8>) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(&mut *out);
    csv.write_record(fields)?;
    csv.flush()
}

/// Writes rows as they come.
#[derive(Debug)]
pub(crate) struct CsvWriter<W> {
    out: W,
    buffer: Vec<u8>,
}

impl<W: Write> CsvWriter<W> {
    /// Writes the heading.
    pub(crate) fn new(mut out: W) -> io::Result<Self> {
        let mut buffer = Vec::new();
        push_heading(&mut buffer)?;
        out.write_all(&buffer)?;
        Ok(Self { out, buffer })
    }

    /// Writes a row.
    pub(crate) fn write(&mut self, row: &StateRow<'_>) -> io::Result<()> {
        self.buffer.clear();
        push(row, &mut self.buffer)?;
        self.out.write_all(&self.buffer)
    }
}
