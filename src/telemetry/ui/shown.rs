//! Metrics of plans as the Spark UI shows them: texts for people.
//!
//! ```text
//! 1,234                                             a sum: exact
//! total (min, med, max (stageId: taskId))           a size or time: rounded from 1 KiB or 1 s on
//! 10.4 KiB (2.1 KiB, 2.1 KiB, 2.1 KiB (stage 4.0: task 8))
//! ```
//! (`SQLMetrics.stringValue`, Spark 3.5 to 4.3; the first line may be missing, and what is in
//! brackets where one task alone told.) Each function gives `None` for what is no such text.

use crate::units::Bytes;

/// An attempt at a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct StageAttempt {
    /// The stage.
    pub(super) stage: u64,
    /// The attempt, counted from 0.
    pub(super) attempt: u64,
}

/// A sum.
pub(super) fn count(text: &str) -> Option<u64> {
    let digits: String = text.trim().chars().filter(|c| *c != ',').collect();
    digits.parse().ok()
}

/// The total of a size, to one decimal of its unit.
pub(super) fn bytes(text: &str) -> Option<Bytes> {
    let (number, unit) = total(text)?;
    let power =
        ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"].iter().position(|it| *it == unit)?;
    scaled(number, 1024_f64.powi(i32::try_from(power).ok()?)).map(Bytes)
}

/// The total of a time in milliseconds, exact below a second.
pub(super) fn millis(text: &str) -> Option<u64> {
    let (number, unit) = total(text)?;
    let millis = match unit {
        "ms" => 1.0,
        "s" => 1_000.0,
        "m" => 60_000.0,
        "h" => 3_600_000.0,
        _ => return None,
    };
    scaled(number, millis)
}

/// The stage of the task that has most of a size or time.
pub(super) fn stage(text: &str) -> Option<StageAttempt> {
    let (_, rest) = text.rsplit_once("(stage ")?;
    let (stage, _) = rest.split_once(':')?;
    let (stage, attempt) = stage.split_once('.')?;
    Some(StageAttempt { stage: stage.parse().ok()?, attempt: attempt.parse().ok()? })
}

/// The number and the unit of the total.
fn total(text: &str) -> Option<(f64, &str)> {
    let shown = text.rsplit_once('\n').map_or(text, |(_, shown)| shown);
    let total = shown.split_once(" (").map_or(shown, |(total, _)| total);
    let (number, unit) = total.trim().split_once(' ')?;
    Some((number.replace(',', "").parse().ok()?, unit))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "neither negative nor infinite; the cast saturates"
)]
fn scaled(number: f64, unit: f64) -> Option<u64> {
    (number.is_finite() && number >= 0.0).then(|| (number * unit).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "total (min, med, max (stageId: taskId))\n";

    #[test]
    fn sums_are_exact() {
        assert_eq!(count("0"), Some(0));
        assert_eq!(count("1,234,567"), Some(1_234_567));
        for other in ["", "1.5", "-1", "12 ms", "many"] {
            assert_eq!(count(other), None, "{other}");
        }
    }

    #[test]
    fn sizes_and_times_have_a_total_in_a_unit() {
        let text = format!("{HEAD}10.4 KiB (2.1 KiB, 2.1 KiB, 2.1 KiB (stage 4.0: task 8))");
        assert_eq!(bytes(&text), Some(Bytes(10_650)), "10.4 × 1024 = 10,649.6");
        assert_eq!(bytes("565.0 B"), Some(Bytes(565)));
        assert_eq!(bytes("2.0 GiB"), Some(Bytes(2 << 30)));
        assert_eq!(bytes("1,023.9 MiB"), Some(Bytes(1_073_636_966)), "1023.9 × 1048576");
        let text = format!("{HEAD}1.5 s (178 ms, 340 ms, 395 ms (stage 2.0: task 7))");
        assert_eq!(millis(&text), Some(1_500));
        assert_eq!(millis("350 ms"), Some(350));
        assert_eq!(millis("2.5 m"), Some(150_000));
        assert_eq!(millis("1.25 h"), Some(4_500_000));
        for other in ["", "12", "1 fortnight", "-3 ms", "NaN s", "x ms"] {
            assert_eq!((bytes(other), millis(other)), (None, None), "{other}");
        }
        assert_eq!(bytes("1e300 EiB"), Some(Bytes(u64::MAX)));
    }

    #[test]
    fn the_largest_part_tells_its_stage() {
        let text = format!("{HEAD}1.5 s (178 ms, 340 ms, 395 ms (stage 12.1: task 7))");
        assert_eq!(stage(&text), Some(StageAttempt { stage: 12, attempt: 1 }));
        for other in ["", HEAD, "350 ms", "(stage 1: task 2)", "(stage x.y: task 2)"] {
            assert_eq!(stage(other), None, "{other}");
        }
    }
}
