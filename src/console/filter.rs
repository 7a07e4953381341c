//! What can be typed after `/`.
//!
//! On the overview: a part of an operator's, store's or finding's name. On the partitions
//! screen, in terms of the metric that is shown:
//!
//! | typed | partitions |
//! | --- | --- |
//! | `37` | that one |
//! | `30-40` | from 30 to 40 |
//! | `>1000`, `<5k`, `>1.5M` | with more, with less |
//! | `empty` | without rows |
//! | `unknown` | whose value is not known |
//! | `changed` | whose rows changed since the batch before |

use std::ops::RangeInclusive;

use crate::units::PartitionId;

/// What the partitions screen's filter says, for messages and help.
pub const PARTITION_FILTERS: &str = "37, 30-40, >1000, <5k, empty, unknown, changed";

/// Which partitions the table lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PartitionFilter {
    /// All.
    #[default]
    All,
    /// Those with these ids.
    Ids(RangeInclusive<u32>),
    /// Those with more than this.
    Above(u64),
    /// Those with less than this.
    Below(u64),
    /// Those without rows.
    Empty,
    /// Those whose value is not known.
    Unknown,
    /// Those whose rows changed.
    Changed,
}

impl PartitionFilter {
    /// Reads what was typed; `None` when it means nothing (yet).
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        if let Some(number) = text.strip_prefix('>') {
            return parse_number(number).map(Self::Above);
        }
        if let Some(number) = text.strip_prefix('<') {
            return parse_number(number).map(Self::Below);
        }
        if let Some((from, to)) = text.split_once('-') {
            return Some(Self::Ids(from.trim().parse().ok()?..=to.trim().parse().ok()?));
        }
        match text.as_str() {
            "" => Some(Self::All),
            "empty" => Some(Self::Empty),
            "unknown" | "?" => Some(Self::Unknown),
            "changed" => Some(Self::Changed),
            id => id.parse().ok().map(|id| Self::Ids(id..=id)),
        }
    }

    /// Whether a partition with this value and change is listed.
    pub fn admits(&self, id: PartitionId, value: Option<u64>, change: Option<i64>) -> bool {
        match self {
            Self::All => true,
            Self::Ids(ids) => ids.contains(&id.0),
            Self::Above(limit) => value.is_some_and(|value| value > *limit),
            Self::Below(limit) => value.is_some_and(|value| value < *limit),
            Self::Empty => value == Some(0),
            Self::Unknown => value.is_none(),
            Self::Changed => change.is_some_and(|change| change != 0),
        }
    }
}

/// A whole number, or one with a decimal point and `k`, `M`, `G` or `T`.
fn parse_number(text: &str) -> Option<u64> {
    let text = text.trim().replace([',', '_'], "");
    let (digits, unit) = match text.char_indices().last()? {
        (at, 'k') => (text.get(..at)?, 1_000_u64),
        (at, 'm') => (text.get(..at)?, 1_000_000),
        (at, 'g') => (text.get(..at)?, 1_000_000_000),
        (at, 't') => (text.get(..at)?, 1_000_000_000_000),
        _ => (text.as_str(), 1),
    };
    let (whole, part) = digits.trim().split_once('.').unwrap_or((digits.trim(), ""));
    if part.len() > 3 || !part.chars().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let thousandths: u64 = format!("{part:0<3}").parse().ok()?;
    let whole: u64 = whole.parse().ok()?;
    whole.checked_mul(unit)?.checked_add(thousandths * (unit / 1000))
}

/// Whether one of `texts` has `typed` in it, whatever the case.
pub fn mentions(typed: &str, texts: &[&str]) -> bool {
    let typed = typed.trim().to_lowercase();
    typed.is_empty() || texts.iter().any(|text| text.to_lowercase().contains(&typed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_read() {
        use PartitionFilter as F;
        let cases = [
            ("", Some(F::All)),
            (" 37 ", Some(F::Ids(37..=37))),
            ("30-40", Some(F::Ids(30..=40))),
            (">1000", Some(F::Above(1000))),
            ("> 1,000", Some(F::Above(1000))),
            ("<5k", Some(F::Below(5_000))),
            (">1.5M", Some(F::Above(1_500_000))),
            ("?", Some(F::Unknown)),
            ("Empty", Some(F::Empty)),
            (">", None),
            ("30-", None),
            (">99999999999999999999", None),
            (">9999999999999999T", None),
            ("é", None),
            (">é", None),
        ];
        for (text, filter) in cases {
            assert_eq!(PartitionFilter::parse(text), filter, "{text:?}");
        }
    }

    #[test]
    fn filters_admit() {
        let id = PartitionId(3);
        assert!(PartitionFilter::Above(5).admits(id, Some(6), None));
        assert!(!PartitionFilter::Above(5).admits(id, None, None));
        assert!(PartitionFilter::Unknown.admits(id, None, None));
        assert!(PartitionFilter::Changed.admits(id, None, Some(-1)));
        assert!(!PartitionFilter::Changed.admits(id, None, Some(0)));
    }
}
