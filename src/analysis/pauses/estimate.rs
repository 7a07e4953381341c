//! What the next repartition may take, from those that were seen. Never a guess: without an
//! observation there is no estimate.
//!
//! The model is `pause = fixed + rate · rows`, both not negative: a repartition reads, shuffles
//! and writes every row, and has a cost of its own (a job's start, files of each partition).

use serde::Serialize;

use crate::figures::float;

/// A line through the observations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Fit {
    /// Milliseconds that do not depend on rows.
    pub fixed_ms: f64,
    /// Milliseconds per million rows.
    pub per_million_ms: f64,
    /// The observations' standard deviation from the line in milliseconds; `None` with fewer
    /// than three.
    pub spread_ms: Option<f64>,
}

/// How long a repartition may take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// Rows that it is for.
    pub rows: u64,
    /// Milliseconds at least.
    pub low_ms: u64,
    /// Milliseconds at most.
    pub high_ms: u64,
    /// Repartitions that it comes from.
    pub observations: u64,
    /// The line that it comes from; `None` where all observations have the same rows, or there
    /// is one only.
    pub fit: Option<Fit>,
}

/// The estimate for `rows` from observed (rows, milliseconds); `None` without observations.
///
/// One observation leaves the share of the fixed cost open: the range goes from "all of it is
/// fixed" to "all of it is per row". With more of them, the range is the line's value and twice
/// the deviation to both sides, and never narrower than the nearest single observation allows
/// where rows lie outside those that were seen.
pub fn estimate(rows: u64, observed: &[(u64, u64)]) -> Option<Estimate> {
    let observations = u64::try_from(observed.len()).unwrap_or(u64::MAX);
    let nearest = observed.iter().min_by_key(|(seen, _)| seen.abs_diff(rows))?;
    let fit = fit(observed);
    let (low, high) = match fit {
        None => single(rows, observed),
        Some(line) => {
            let value = line.fixed_ms + line.per_million_ms * float(rows) / 1e6;
            let margin = line.spread_ms.map_or_else(|| worst(&line, observed), |sd| 2.0 * sd);
            let (low, high) = (value - margin, value + margin);
            let (least, most) = extremes(observed);
            if (least..=most).contains(&rows) {
                (low, high)
            } else {
                let (one_low, one_high) = single(rows, &[*nearest]);
                (low.min(one_low), high.max(one_high))
            }
        }
    };
    Some(Estimate { rows, low_ms: round(low), high_ms: round(high), observations, fit })
}

/// The range that observations allow each by itself.
fn single(rows: u64, observed: &[(u64, u64)]) -> (f64, f64) {
    let ends = observed.iter().flat_map(|(seen, millis)| {
        let fixed = float(*millis);
        let per_row = if *seen == 0 { fixed } else { fixed * float(rows) / float(*seen) };
        [fixed, per_row]
    });
    ends.fold((f64::MAX, 0.0), |(low, high), end| (low.min(end), high.max(end)))
}

fn extremes(observed: &[(u64, u64)]) -> (u64, u64) {
    let rows = observed.iter().map(|(rows, _)| *rows);
    (rows.clone().min().unwrap_or(0), rows.max().unwrap_or(0))
}

/// The greatest distance of an observation from the line.
fn worst(line: &Fit, observed: &[(u64, u64)]) -> f64 {
    let far = observed.iter().map(|seen| residual(line, *seen).abs());
    far.fold(0.0, f64::max)
}

fn residual(line: &Fit, (rows, millis): (u64, u64)) -> f64 {
    float(millis) - line.fixed_ms - line.per_million_ms * float(rows) / 1e6
}

/// Least squares with neither part negative; `None` where the rows do not differ.
fn fit(observed: &[(u64, u64)]) -> Option<Fit> {
    let (least, most) = extremes(observed);
    if observed.len() < 2 || least == most {
        return None;
    }
    let points: Vec<(f64, f64)> =
        observed.iter().map(|(rows, millis)| (float(*rows) / 1e6, float(*millis))).collect();
    let n = float(u64::try_from(points.len()).unwrap_or(u64::MAX));
    let mean = |part: fn(&(f64, f64)) -> f64| points.iter().map(part).sum::<f64>() / n;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let along = points.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>();
    let both = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>();
    let slope = both / along;
    let (fixed, slope) = if slope < 0.0 {
        (y, 0.0)
    } else if y - slope * x < 0.0 {
        // Through the origin.
        let squares = points.iter().map(|point| point.0.powi(2)).sum::<f64>();
        let products = points.iter().map(|point| point.0 * point.1).sum::<f64>();
        (0.0, products / squares)
    } else {
        (y - slope * x, slope)
    };
    let line = Fit { fixed_ms: fixed, per_million_ms: slope, spread_ms: None };
    let spread = (observed.len() > 2).then(|| {
        let squares = observed.iter().map(|seen| residual(&line, *seen).powi(2)).sum::<f64>();
        (squares / (n - 2.0)).sqrt()
    });
    Some(Fit { spread_ms: spread, ..line })
}

fn round(millis: f64) -> u64 {
    crate::figures::whole(millis.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_observation_there_is_no_estimate() {
        assert_eq!(estimate(1_000_000, &[]), None);
    }

    #[test]
    fn one_observation_leaves_the_fixed_part_open() {
        // 10 s for 1 M rows; for 3 M: 10 s if all is fixed, 30 s if all is per row.
        let told = estimate(3_000_000, &[(1_000_000, 10_000)]).unwrap();
        assert_eq!((told.low_ms, told.high_ms, told.observations), (10_000, 30_000, 1));
        assert_eq!(told.fit, None);
        // For 0.5 M the other way round.
        let told = estimate(500_000, &[(1_000_000, 10_000)]).unwrap();
        assert_eq!((told.low_ms, told.high_ms), (5_000, 10_000));
    }

    #[test]
    fn a_line_is_found_again() {
        // 11 s + 13 s per million, exactly.
        let seen = [(1_000_000, 24_000), (2_000_000, 37_000), (4_000_000, 63_000)];
        let told = estimate(3_000_000, &seen).unwrap();
        let fit = told.fit.unwrap();
        assert!((fit.fixed_ms - 11_000.0).abs() < 0.001, "{fit:?}");
        assert!((fit.per_million_ms - 13_000.0).abs() < 0.001, "{fit:?}");
        assert_eq!((told.low_ms, told.high_ms), (50_000, 50_000));
    }

    #[test]
    fn what_lies_off_the_line_widens_the_range() {
        // Means 2 and 22; slope ((-1)(-4) + (1)(0) + 0) / 2 = 2; fixed 22 - 4 = 18.
        // Residuals -2, -2, 4; squares 24; deviation sqrt(24 / (3 - 2)) = 4.899.
        let seen = [(1_000_000, 18_000), (3_000_000, 22_000), (2_000_000, 26_000)];
        let told = estimate(2_000_000, &seen).unwrap();
        assert!((told.fit.unwrap().spread_ms.unwrap() - 4_898.979).abs() < 0.01);
        assert_eq!((told.low_ms, told.high_ms), (22_000 - 9_798, 22_000 + 9_798));
    }

    #[test]
    fn beyond_what_was_seen_a_single_observation_bounds_the_range_too() {
        // Through (1 M, 10 s) and (2 M, 20 s) the line says 100 s at 10 M; 20 s may be all fixed.
        let told = estimate(10_000_000, &[(1_000_000, 10_000), (2_000_000, 20_000)]).unwrap();
        assert_eq!((told.low_ms, told.high_ms), (20_000, 100_000));
    }

    #[test]
    fn neither_part_is_ever_negative() {
        let falling = estimate(1_500_000, &[(1_000_000, 20_000), (2_000_000, 10_000)]).unwrap();
        let fit = falling.fit.unwrap();
        assert_eq!((fit.fixed_ms, fit.per_million_ms), (15_000.0, 0.0));
        assert_eq!((falling.low_ms, falling.high_ms), (10_000, 20_000));
        let steep = estimate(2_000_000, &[(1_000_000, 1_000), (2_000_000, 10_000)]).unwrap();
        assert!(steep.fit.unwrap().fixed_ms.abs() < f64::EPSILON);
    }

    #[test]
    fn a_state_without_rows_is_no_division_by_zero() {
        let told = estimate(0, &[(0, 5_000)]).unwrap();
        assert_eq!((told.low_ms, told.high_ms), (5_000, 5_000));
    }
}
