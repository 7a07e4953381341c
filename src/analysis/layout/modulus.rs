//! Remainders: of a hash by a count, and counts that share one pass.

use super::MAX_PARTITIONS;

/// A pass at a common multiple of two counts beats two passes up to about this many bins; with
/// more, the bins no longer fit a core's caches.
const COMMON_BINS: u64 = 1 << 15;
/// A divisor and its reciprocal: Lemire, Kaser, Kurz, "Faster Remainder by Direct
/// Computation" (2019), which is exact for 32-bit numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Modulus {
    divisor: u32,
    reciprocal: u64,
}

impl Modulus {
    pub(super) fn new(divisor: u32) -> Self {
        // Wraps to 0 for the divisor 1, for which the remainder is then 0, as it should be.
        Self { divisor, reciprocal: (u64::MAX / u64::from(divisor)).wrapping_add(1) }
    }

    #[expect(clippy::cast_possible_truncation, reason = "less than the divisor")]
    pub(super) fn of(self, value: u32) -> usize {
        let fraction = self.reciprocal.wrapping_mul(u64::from(value));
        ((u128::from(fraction) * u128::from(self.divisor)) >> 64) as usize
    }

    /// How far partition 0 lies behind bin 0: `2^31 mod divisor`.
    pub(super) fn turn(self) -> usize {
        (1_usize << 31) % self.divisor as usize
    }

    pub(super) fn partition(self, shifted: u32) -> u32 {
        let (bin, turn, all) = (self.of(shifted), self.turn(), self.divisor as usize);
        let partition = if bin >= turn { bin - turn } else { bin + all - turn };
        u32::try_from(partition).unwrap_or(0)
    }
}

/// `hash + 2^31`.
pub(super) fn shift(hash: i32) -> u32 {
    hash.cast_unsigned() ^ (1 << 31)
}

pub(super) fn unshift(shifted: u32) -> i32 {
    (shifted ^ (1 << 31)).cast_signed()
}

/// Groups counts under common multiples that are small enough, largest first.
pub(super) fn common_multiples(counts: &[u32]) -> Vec<(u32, Vec<u32>)> {
    let mut counts: Vec<u32> =
        counts.iter().map(|count| (*count).clamp(1, MAX_PARTITIONS)).collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts.dedup();
    let mut groups: Vec<(u32, Vec<u32>)> = Vec::new();
    for count in counts {
        let fitting = groups.iter_mut().filter_map(|group| {
            let multiple = common_multiple(group.0, count);
            let limit = COMMON_BINS.max(u64::from(group.0));
            (multiple <= limit).then(|| Some((u32::try_from(multiple).ok()?, group))).flatten()
        });
        // The group that grows the least.
        match fitting
            .min_by_key(|(multiple, group)| u64::from(*multiple) * 1000 / u64::from(group.0))
        {
            Some((multiple, group)) => {
                group.0 = multiple;
                group.1.push(count);
            }
            None => groups.push((count, vec![count])),
        }
    }
    groups
}

fn common_multiple(a: u32, b: u32) -> u64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    u64::from(a) / u64::from(x.max(1)) * u64::from(b)
}
