//! Records as comma-separated values.

use std::io::{self, Write};

/// Writes a heading and records. They are gathered first, so that an error of `out` keeps its
/// kind: a closed pipe must be told from a full disk.
pub(crate) fn write<const N: usize>(
    heading: [&str; N],
    records: impl IntoIterator<Item = [String; N]>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(heading)?;
    for record in records {
        csv.write_record(record)?;
    }
    let text = csv.into_inner().map_err(io::Error::other)?;
    out.write_all(&text)
}

/// An unknown value is an empty field.
pub(crate) fn or_empty(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
