//! Rows of one worker on their way to the shared tables, a buffer for each.
//!
//! So a table is locked once for many rows, and they find it in the core's cache.

use super::{Measure, SHARDS};

/// A buffer is full with this many rows …
const ROWS: usize = 1024;
/// … or this many bytes of keys.
const KEYS: usize = 1 << 16;

/// The buffers of one worker.
#[derive(Debug)]
pub(super) struct Buffers([Buffer; SHARDS]);

/// Rows for one table.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    rows: Vec<Row>,
    keys: Vec<u8>,
}

#[derive(Debug)]
struct Row {
    hash: u64,
    /// Where its key ends in `keys`; it begins where the one before ends.
    key_end: usize,
    measure: Measure,
}

impl Buffers {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|_| Buffer::default()))
    }

    /// Adds a row to the buffer of `shard`, and returns the buffer when it is full.
    pub(super) fn add(
        &mut self,
        shard: usize,
        hash: u64,
        key: &[u8],
        measure: Measure,
    ) -> Option<&mut Buffer> {
        let buffer = self.0.get_mut(shard)?;
        buffer.add(hash, key, measure);
        (buffer.rows.len() >= ROWS || buffer.keys.len() >= KEYS).then_some(buffer)
    }

    /// All buffers, in the order of their tables.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Buffer> {
        self.0.iter_mut()
    }
}

impl Buffer {
    fn add(&mut self, hash: u64, key: &[u8], measure: Measure) {
        let end = self.keys.len();
        // Stores are sorted by key, so rows of one key often follow each other.
        let before = self.rows.len().checked_sub(2).and_then(|at| self.rows.get(at));
        let start = before.map_or(0, |row| row.key_end);
        if let Some(last) = self.rows.last_mut().filter(|last| last.hash == hash)
            && self.keys.get(start..) == Some(key)
        {
            last.measure = last.measure.plus(measure);
            return;
        }
        self.keys.extend_from_slice(key);
        self.rows.push(Row { hash, key_end: end + key.len(), measure });
    }

    /// Hands over all rows and empties the buffer.
    pub(super) fn pour(&mut self, mut into: impl FnMut(u64, &[u8], Measure)) {
        let mut start = 0;
        for row in &self.rows {
            into(row.hash, self.keys.get(start..row.key_end).unwrap_or_default(), row.measure);
            start = row.key_end;
        }
        self.rows.clear();
        self.keys.clear();
        self.keys.shrink_to(2 * KEYS);
    }
}
