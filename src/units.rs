//! The small vocabulary of ids, sizes and times that every other module shares.
//!
//! Each is a newtype so that a batch is never mistaken for the state version it
//! reads, nor bytes for rows. Nothing here knows about files, Spark or the screen.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

id!(
    /// A microbatch of a query, counted from 0. Started when `offsets/N` exists,
    /// finished when `commits/N` exists.
    BatchId(u64)
);
id!(
    /// A version of a state store. Batch N reads version N and writes version N + 1.
    StateVersion(u64)
);
id!(
    /// A partition of a stateful operator, `0..n`.
    PartitionId(u32)
);
id!(
    /// A stateful operator of a query. 0 is the one nearest the sink.
    OperatorId(u32)
);
id!(
    /// A size in bytes.
    Bytes(u64)
);
id!(
    /// A moment in milliseconds since 1970-01-01T00:00:00Z.
    UnixMillis(i64)
);

impl BatchId {
    /// The state version that this batch writes: N + 1.
    pub fn version(self) -> StateVersion {
        StateVersion(self.0.saturating_add(1))
    }
}

impl StateVersion {
    /// The batch that wrote this version, or `None` for version 0, the empty store.
    pub fn batch(self) -> Option<BatchId> {
        self.0.checked_sub(1).map(BatchId)
    }
}

impl std::ops::Add for Bytes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self(0), |sum, next| sum + next)
    }
}

impl UnixMillis {
    /// Milliseconds from `self` to `later`, 0 when `later` is earlier.
    pub fn until(self, later: Self) -> u64 {
        u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0)
    }

    /// ISO 8601 in UTC with milliseconds, `2026-11-01T10:00:00.000Z`.
    ///
    /// `None` when the year lies outside -9999..=9999.
    pub fn iso(self) -> Option<String> {
        let time = jiff::Timestamp::from_millisecond(self.0).ok()?;
        Some(time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
    }
}

impl From<std::time::SystemTime> for UnixMillis {
    fn from(time: std::time::SystemTime) -> Self {
        let millis = |d: std::time::Duration| i64::try_from(d.as_millis()).unwrap_or(i64::MAX);
        match time.duration_since(std::time::UNIX_EPOCH) {
            Ok(after) => Self(millis(after)),
            Err(before) => Self(-millis(before.duration())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_writes_the_version_after_its_own_number() {
        assert_eq!(BatchId(0).version(), StateVersion(1));
        assert_eq!(StateVersion(1).batch(), Some(BatchId(0)));
        assert_eq!(StateVersion(0).batch(), None);
    }

    #[test]
    fn times_print_in_utc_with_milliseconds() {
        assert_eq!(UnixMillis(0).iso().as_deref(), Some("1970-01-01T00:00:00.000Z"));
        assert_eq!(
            UnixMillis(1_762_000_000_123).iso().as_deref(),
            Some("2025-11-01T12:26:40.123Z")
        );
        assert_eq!(UnixMillis(i64::MAX).iso(), None);
    }
}
