//! Spark's hash of a grouping key, which says in which partition the key's state lies.
//!
//! Murmur3 (x86, 32 bits) with seed 42, chained: the hash of one column is the seed of the next,
//! a null leaves it as it is. Structs chain over their fields, arrays over their elements, maps
//! over keys and values. Bytes past the last block of four are mixed in one by one as blocks of
//! their own, unlike in the original. (`Murmur3Hash`, `HashPartitioning` in Spark.)

use super::row::types::DataType;
use super::row::value::Value;
use crate::units::PartitionId;

/// The seed of the first column.
pub const SEED: KeyHash = KeyHash(42);

const FLOAT_NAN: u32 = 0x7fc0_0000;
const DOUBLE_NAN: u64 = 0x7ff8_0000_0000_0000;
/// Decimals of more digits than this do not fit in 64 bits and are hashed as bytes.
const MAX_LONG_DIGITS: u8 = 18;

/// The hash of the columns so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyHash(pub i32);

impl KeyHash {
    /// The partition of a key with this hash among `partitions`: the remainder that is not
    /// negative. Partition 0 of none.
    #[inline]
    pub fn partition(self, partitions: u32) -> PartitionId {
        // Counts beyond 31 bits do not exist; with fewer, the division is a quick one.
        let count = i32::try_from(partitions).unwrap_or(i32::MAX);
        let at = self.0.checked_rem_euclid(count).unwrap_or(0);
        PartitionId(at.unsigned_abs())
    }

    /// Chains a value of 32 bits: boolean (0 or 1), byte, short, integer, date, float bits.
    #[must_use]
    #[inline]
    pub fn int(self, value: i32) -> Self {
        Self(finish(mix(self.0.cast_unsigned(), value.cast_unsigned()), 4))
    }

    /// Chains a value of 64 bits: long, timestamp, double bits, decimal of up to 18 digits.
    #[must_use]
    #[inline]
    pub fn long(self, value: i64) -> Self {
        let value = value.cast_unsigned();
        #[expect(clippy::cast_possible_truncation, reason = "the halves, low first")]
        let (low, high) = (value as u32, (value >> 32) as u32);
        Self(finish(mix(mix(self.0.cast_unsigned(), low), high), 8))
    }

    /// Chains a float: -0.0 counts as 0.0, and every NaN as the same one.
    #[must_use]
    pub fn float(self, value: f32) -> Self {
        let bits = match value {
            nan if nan.is_nan() => FLOAT_NAN,
            0.0 => 0,
            other => other.to_bits(),
        };
        self.int(bits.cast_signed())
    }

    /// Chains a double: -0.0 counts as 0.0, and every NaN as the same one.
    #[must_use]
    pub fn double(self, value: f64) -> Self {
        let bits = match value {
            nan if nan.is_nan() => DOUBLE_NAN,
            0.0 => 0,
            other => other.to_bits(),
        };
        self.long(bits.cast_signed())
    }

    /// Chains bytes: strings, binaries, and decimals of more than 18 digits as the shortest
    /// big-endian two's complement.
    #[must_use]
    #[inline]
    pub fn bytes(self, value: &[u8]) -> Self {
        let mut hash = self.0.cast_unsigned();
        let (blocks, tail) = value.as_chunks::<4>();
        for block in blocks {
            hash = mix(hash, u32::from_le_bytes(*block));
        }
        for byte in tail {
            hash = mix(hash, i32::from(byte.cast_signed()).cast_unsigned());
        }
        // Spark's lengths are 32-bit; longer values cannot be in a row.
        Self(finish(hash, u32::try_from(value.len()).unwrap_or(u32::MAX)))
    }

    /// Chains a decimal by its unscaled value.
    #[must_use]
    pub fn decimal(self, unscaled: i128, precision: u8) -> Self {
        match i64::try_from(unscaled) {
            Ok(small) if precision <= MAX_LONG_DIGITS => self.long(small),
            _ => self.bytes(shortest(&unscaled.to_be_bytes())),
        }
    }

    /// Chains a decoded value of the given type. `None` for types that cannot be in a grouping
    /// key or are not known.
    pub fn value(self, value: &Value<'_>, data_type: &DataType) -> Option<Self> {
        let narrow = |wide: &i64| i32::try_from(*wide).ok();
        Some(match (value, data_type) {
            (Value::Null, _) => self,
            (Value::Boolean(flag), _) => self.int(i32::from(*flag)),
            (Value::Integer(value), DataType::Long) => self.long(*value),
            (Value::Integer(value), _) => self.int(narrow(value)?),
            (Value::Float(value), _) => self.float(*value),
            (Value::Double(value), _) => self.double(*value),
            (Value::Decimal { unscaled, .. }, DataType::Decimal { precision, .. }) => {
                self.decimal(*unscaled, *precision)
            }
            (Value::String(text), _) => self.bytes(text.as_bytes()),
            (Value::Binary(bytes), _) => self.bytes(bytes),
            (Value::Date(days), _) => self.int(*days),
            (Value::YearMonthInterval(months, _), _) => self.int(*months),
            (
                Value::Timestamp(long)
                | Value::TimestampNtz(long)
                | Value::Time(long)
                | Value::DayTimeInterval(long, _),
                _,
            ) => self.long(*long),
            (
                Value::TimestampNanos { micros, nanos }
                | Value::TimestampNtzNanos { micros, nanos },
                _,
            ) => self.long(*micros).int(i32::from(*nanos)),
            (Value::CalendarInterval { months, days, micros }, _) => {
                self.long(*micros).int(*days).int(*months)
            }
            (Value::Struct(fields, values), _) => fields
                .iter()
                .zip(values)
                .try_fold(self, |hash, (field, value)| hash.value(value, &field.data_type))?,
            (Value::Array(elements), DataType::Array(of)) => {
                elements.iter().try_fold(self, |hash, element| hash.value(element, of))?
            }
            (Value::Map(entries), DataType::Map(key_type, value_type)) => {
                entries.iter().try_fold(self, |hash, (key, value)| {
                    hash.value(key, key_type)?.value(value, value_type)
                })?
            }
            _ => return None,
        })
    }
}

/// Big-endian two's complement without the leading bytes that only repeat the sign.
fn shortest(mut bytes: &[u8]) -> &[u8] {
    while let [first, second, ..] = bytes {
        let repeats = (*first == 0 && *second < 0x80) || (*first == 0xff && *second >= 0x80);
        match bytes.split_first() {
            Some((_, rest)) if repeats => bytes = rest,
            _ => break,
        }
    }
    bytes
}

#[inline]
fn mix(hash: u32, block: u32) -> u32 {
    let block = block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    (hash ^ block).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}

#[inline]
fn finish(hash: u32, length: u32) -> i32 {
    let hash = hash ^ length;
    let hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    let hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    (hash ^ (hash >> 16)).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of `hash` in the reference of Spark's SQL functions.
    #[test]
    fn the_example_of_sparks_documentation() {
        let array = Value::Array(vec![Value::Integer(123)]);
        let of = DataType::Array(Box::new(DataType::Integer));
        let hash = SEED.bytes(b"Spark").value(&array, &of).unwrap().int(2);
        assert_eq!(hash, KeyHash(-1_321_691_492));
    }

    #[test]
    fn nulls_leave_the_seed_and_an_empty_key_hashes_to_it() {
        assert_eq!(SEED.value(&Value::Null, &DataType::Long), Some(SEED));
        // 42 mod 5 = 2: where a repartition puts the row of an aggregate without keys.
        assert_eq!(SEED.partition(5), PartitionId(2));
    }

    #[test]
    fn the_remainder_is_never_negative() {
        // -7 = -2 * 5 + 3
        assert_eq!(KeyHash(-7).partition(5), PartitionId(3));
        assert_eq!(KeyHash(i32::MIN).partition(1), PartitionId(0));
        assert_eq!(KeyHash(7).partition(0), PartitionId(0));
    }

    #[test]
    fn zeros_and_nans_are_one() {
        assert_eq!(SEED.double(-0.0), SEED.double(0.0));
        assert_eq!(SEED.double(0.0), SEED.long(0));
        let odd = f64::from_bits(0xfff8_0000_0000_0001);
        assert_eq!(SEED.double(odd), SEED.double(f64::NAN));
        assert_eq!(SEED.float(-0.0), SEED.int(0));
    }

    #[test]
    fn wide_decimals_are_their_shortest_bytes() {
        assert_eq!(shortest(&255_i128.to_be_bytes()), [0, 255]);
        assert_eq!(shortest(&127_i128.to_be_bytes()), [127]);
        assert_eq!(shortest(&(-1_i128).to_be_bytes()), [255]);
        assert_eq!(shortest(&(-129_i128).to_be_bytes()), [255, 127]);
        assert_eq!(shortest(&0_i128.to_be_bytes()), [0]);
        assert_eq!(SEED.decimal(5, 18), SEED.long(5));
        assert_eq!(SEED.decimal(5, 19), SEED.bytes(&[5]));
    }
}
