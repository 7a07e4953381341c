//! Hashes and weights as they are gathered, partition by partition.

use super::modulus::shift;

/// Rows of a partition that wait to be merged by hash; more are merged before the partition
/// ends.
const MERGE_AT: usize = 1 << 17;
/// The grouping keys of one hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashWeight {
    /// Spark's signed hash.
    pub hash: i32,
    /// Their rows.
    pub rows: u32,
    /// Bytes of those rows' keys and values.
    pub bytes: u64,
}

/// There are more different hashes than may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more than {limit} different keys in one worker's partitions")]
pub struct TooManyKeys {
    /// The collector's limit.
    pub limit: usize,
}

/// Gathers hashes while partitions are walked; one per worker.
#[derive(Debug)]
pub struct HashCollector {
    limit: usize,
    /// The rows of the partition that is being walked.
    tail: Vec<HashWeight>,
    /// How long the tail may grow before it is merged.
    merge_at: usize,
    pub(super) done: Columns,
}

/// Records as columns: the curve needs no bytes, so it does not read them.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// `hash + 2^31`.
    pub(super) shifted: Vec<u32>,
    pub(super) rows: Vec<u32>,
    pub(super) bytes: Vec<u64>,
}

impl HashCollector {
    /// An empty one that keeps up to `limit` different hashes.
    pub fn new(limit: usize) -> Self {
        Self { limit, tail: Vec::new(), merge_at: MERGE_AT, done: Columns::default() }
    }

    /// Adds a row, or several rows of one key.
    ///
    /// # Errors
    /// [`TooManyKeys`] when the limit is passed: no layout can be computed then.
    pub fn add(&mut self, hash: i32, rows: u64, bytes: u64) -> Result<(), TooManyKeys> {
        let mut rest = rows;
        let mut bytes = bytes;
        // More rows of one key than a record counts are several records.
        loop {
            let now = u32::try_from(rest).unwrap_or(u32::MAX);
            self.tail.push(HashWeight { hash, rows: now, bytes });
            rest -= u64::from(now);
            bytes = 0;
            if rest == 0 {
                break;
            }
        }
        if self.tail.len() >= self.merge_at {
            merge(&mut self.tail);
            self.merge_at = (self.tail.len() * 2).max(MERGE_AT);
            if self.tail.len() + self.done.len() > self.limit {
                return Err(TooManyKeys { limit: self.limit });
            }
        }
        Ok(())
    }

    /// Ends a partition. Keys of other partitions have other hashes.
    ///
    /// # Errors
    /// [`TooManyKeys`], as above.
    pub fn end_partition(&mut self) -> Result<(), TooManyKeys> {
        merge(&mut self.tail);
        self.merge_at = MERGE_AT;
        if self.tail.len() + self.done.len() > self.limit {
            return Err(TooManyKeys { limit: self.limit });
        }
        self.done.append(&self.tail);
        self.tail.clear();
        self.tail.shrink_to(MERGE_AT);
        Ok(())
    }
}

/// Sorts by hash and makes one record of those with the same, where its rows fit.
pub(super) fn merge(records: &mut Vec<HashWeight>) {
    records.sort_unstable_by_key(|record| record.hash);
    records.dedup_by(|record, kept| {
        if record.hash != kept.hash {
            return false;
        }
        let Some(rows) = kept.rows.checked_add(record.rows) else { return false };
        kept.rows = rows;
        kept.bytes = kept.bytes.saturating_add(record.bytes);
        true
    });
}

impl Columns {
    pub(super) fn len(&self) -> usize {
        self.shifted.len()
    }

    fn append(&mut self, records: &[HashWeight]) {
        self.shifted.extend(records.iter().map(|record| shift(record.hash)));
        self.rows.extend(records.iter().map(|record| record.rows));
        self.bytes.extend(records.iter().map(|record| record.bytes));
    }

    pub(super) fn chunk(&self) -> Chunk<'_> {
        Chunk { shifted: &self.shifted, rows: &self.rows, bytes: &self.bytes }
    }
}

/// A run of records.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk<'a> {
    pub(super) shifted: &'a [u32],
    pub(super) rows: &'a [u32],
    pub(super) bytes: &'a [u64],
}

impl Chunk<'_> {
    pub(super) fn len(&self) -> usize {
        self.shifted.len()
    }

    pub(super) fn split(self, at: usize) -> (Self, Self) {
        let at = at.min(self.len());
        let (shifted, shifted_rest) = self.shifted.split_at(at);
        let (rows, rows_rest) = self.rows.split_at(at);
        let (bytes, bytes_rest) = self.bytes.split_at(at);
        (
            Self { shifted, rows, bytes },
            Self { shifted: shifted_rest, rows: rows_rest, bytes: bytes_rest },
        )
    }
}
