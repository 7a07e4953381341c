//! Whether a spread is skew: the one judgement behind every mark and sentence.

use super::Distribution;

/// Beyond this many times the mean the largest partition is the slow task of its stage.
pub const SKEWED: f64 = 2.0;
/// With fewer rows than this per partition, chance alone makes one partition the largest, and
/// no task is slow because of it.
pub const ROWS_TO_JUDGE: f64 = 10.0;
/// With fewer bytes than this per partition, the files' own overhead is most of them.
pub const BYTES_TO_JUDGE: f64 = 65_536.0;

/// How something is spread over partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spread {
    /// Nothing in it, or nothing known.
    Nothing,
    /// Too little to call it skew.
    TooLittle,
    /// As even as hashing makes it.
    Even,
    /// The largest is what everyone waits for.
    Skewed,
}

impl Spread {
    /// How rows are spread.
    pub fn of_rows(rows: &Distribution) -> Self {
        Self::judge(rows.max_over_mean, rows.mean, ROWS_TO_JUDGE)
    }

    /// How bytes are spread.
    pub fn of_bytes(bytes: &Distribution) -> Self {
        Self::judge(bytes.max_over_mean, bytes.mean, BYTES_TO_JUDGE)
    }

    /// How something is spread of which a partition should have `enough` on the mean.
    pub fn judge(max_over_mean: Option<f64>, mean: f64, enough: f64) -> Self {
        match max_over_mean {
            None => Self::Nothing,
            Some(_) if mean < enough => Self::TooLittle,
            Some(ratio) if ratio > SKEWED => Self::Skewed,
            Some(_) => Self::Even,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_are_no_skew() {
        // 8 rows over 4 partitions, all in one: four times the mean of 2.
        assert_eq!(Spread::judge(Some(4.0), 2.0, ROWS_TO_JUDGE), Spread::TooLittle);
        assert_eq!(Spread::judge(Some(4.0), 10.0, ROWS_TO_JUDGE), Spread::Skewed);
        assert_eq!(Spread::judge(Some(2.0), 10.0, ROWS_TO_JUDGE), Spread::Even);
        assert_eq!(Spread::judge(None, 0.0, ROWS_TO_JUDGE), Spread::Nothing);
    }
}
