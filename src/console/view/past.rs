//! How the query was before: what is remembered of it, as lines of one cell's height over time.

use super::super::format;
use super::super::look::{Role, Symbols};
use super::super::state::State;
use super::super::text::{Row, width};
use crate::memory::Sample;
use crate::units::UnixMillis;

/// Fewer samples than this are no past.
const FEWEST: usize = 5;
/// A line is drawn in at most so many cells.
const WIDEST: usize = 24;
/// … and in no fewer.
const NARROWEST: usize = 8;

/// A figure that is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Figure {
    Rows,
    BatchTime,
    Spread,
}

impl Figure {
    const ALL: [Self; 3] = [Self::Rows, Self::BatchTime, Self::Spread];

    fn label(self, symbols: &Symbols) -> String {
        match self {
            Self::Rows => "rows".to_owned(),
            Self::BatchTime => "batch time".to_owned(),
            Self::Spread => format!("max{}mean", symbols.over),
        }
    }

    fn of(self, sample: &Sample) -> Option<f64> {
        match self {
            Self::Rows => sample.rows.map(format::float),
            Self::BatchTime => sample.batch_ms.map(format::float),
            Self::Spread => sample.max_over_mean,
        }
    }

    fn text(self, value: f64) -> String {
        match self {
            Self::Rows => format::compact(format::whole(value)),
            Self::BatchTime => format::millis(format::whole(value)),
            Self::Spread => format::ratio(value),
        }
    }
}

/// The last value of each of so many spans of equal time; nothing where nothing is known.
fn spans(samples: &[Sample], figure: Figure, cells: usize) -> Vec<Option<f64>> {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return Vec::new() };
    let whole = first.at.until(last.at).max(1);
    let mut values = vec![None; cells];
    for sample in samples {
        let part = format::float(first.at.until(sample.at)) / format::float(whole);
        let at = format::whole((part * format::float(cells as u64) - 0.5).max(0.0));
        let at = usize::try_from(at).unwrap_or(0).min(cells.saturating_sub(1));
        if let (Some(value), Some(cell)) = (figure.of(sample), values.get_mut(at)) {
            *cell = Some(value);
        }
    }
    values
}

/// The values as heights from nothing to the greatest.
fn line(values: &[Option<f64>], symbols: &Symbols) -> String {
    let most = values.iter().flatten().copied().fold(0.0, f64::max);
    let levels = symbols.levels.len();
    let mark = |value: &Option<f64>| match value {
        None => " ",
        Some(value) if most <= 0.0 || *value <= 0.0 => symbols.empty,
        Some(value) => {
            let level = format::whole((value / most * format::float(levels as u64)).ceil());
            let level = usize::try_from(level).unwrap_or(levels).clamp(1, levels);
            symbols.levels.get(level - 1).copied().unwrap_or(" ")
        }
    };
    values.iter().map(mark).collect()
}

/// Since when something is remembered; `None` where that is no past worth a line.
fn since(state: &State) -> Option<UnixMillis> {
    let samples = &state.remembered.samples;
    (samples.len() >= FEWEST).then(|| samples.first().map(|sample| sample.at)).flatten()
}

/// One line after a label: the figures that fit beside each other, and since when.
pub(super) fn row(state: &State, label: Row, symbols: &Symbols, columns: usize) -> Option<Row> {
    let since = since(state)?;
    let samples = &state.remembered.samples;
    let when = format!("since {}", format::short_moment(since, state.shown_now()));
    let mut row = label;
    let room = columns.saturating_sub(row.width() + width(&when) + 3);
    let cells = (room / 3).saturating_sub(19).clamp(NARROWEST, WIDEST);
    let start = row.width();
    for figure in Figure::ALL {
        let values = spans(samples, figure, cells);
        let Some(last) = values.iter().rev().flatten().next() else { continue };
        let mut part = Row::of(format!("{} ", figure.label(symbols)), Role::Muted);
        part.push(line(&values, symbols), Role::Bar);
        part.push(format!(" {}   ", figure.text(*last)), Role::Text);
        if row.width() + part.width() - start <= room {
            row.append(part);
        }
    }
    Some(row.with(when, Role::Muted))
}

/// The same for a screen with nothing else on it: a line for each figure.
pub(super) fn lines(state: &State, symbols: &Symbols) -> Vec<String> {
    let Some(since) = since(state) else { return Vec::new() };
    let samples = &state.remembered.samples;
    let mut lines =
        vec![format!("Remembered since {}:", format::short_moment(since, state.shown_now()))];
    for figure in Figure::ALL {
        let values = spans(samples, figure, WIDEST);
        let most = values.iter().flatten().copied().reduce(f64::max);
        let last = values.iter().rev().flatten().next();
        if let (Some(most), Some(last)) = (most, last) {
            // Texts of a message lose blanks on end.
            let drawn = line(&values, symbols).replace(' ', symbols.unknown);
            let (last, most) = (figure.text(*last), figure.text(most));
            lines.push(format!("{drawn} {} {last}, at most {most}", figure.label(symbols)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::look::Charset;
    use crate::units::BatchId;

    fn sample(second: i64, rows: Option<u64>) -> Sample {
        Sample {
            at: UnixMillis(second * 1_000),
            batch: BatchId(0),
            rows,
            bytes: None,
            partitions: None,
            batch_ms: None,
            max_over_mean: None,
        }
    }

    #[test]
    fn values_stand_in_the_span_of_their_time() {
        let samples =
            [sample(0, Some(1)), sample(40, Some(4)), sample(90, None), sample(100, Some(8))];
        let values = spans(&samples, Figure::Rows, 5);
        assert_eq!(values, [Some(1.0), None, Some(4.0), None, Some(8.0)]);
        assert_eq!(line(&values, Charset::Utf8.symbols()), "▁ ▄ █");
        assert_eq!(spans(&[], Figure::Rows, 5), Vec::<Option<f64>>::new());
    }
}
