//! Row checksums (`rowChecksum.enabled`, 4.2+): CRC-32C over the key and the encoded value,
//! kept as a signed little-endian 32-bit number before the value.

use crc_fast::{CrcAlgorithm, Digest};
use thiserror::Error;

/// A value, element or removed key that does not have the checksum written with it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ChecksumMismatch {
    /// The checksum is another one.
    #[error("element {element}: checksum {stored:08x} in the store, {computed:08x} of its bytes")]
    Differs {
        /// Which element of the value, counted from 0; 0 for a plain value.
        element: u64,
        /// The checksum in the store.
        stored: u32,
        /// The checksum of the bytes.
        computed: u32,
    },
    /// The bytes are too few, or not laid out as values with checksums are.
    #[error("element {element}: no checksum and length where they should be")]
    Layout {
        /// Which element of the value, counted from 0.
        element: u64,
    },
}

/// The checksum of a key (as stored, with its column family prefix) and its encoded value;
/// of a removed key, that of the key and nothing.
#[must_use]
pub fn row_checksum(key: &[u8], value: &[u8]) -> u32 {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    digest.update(key);
    digest.update(value);
    // A CRC of 32 bits in a number of 64.
    u32::try_from(digest.finalize()).unwrap_or_default()
}

/// Takes the checksum before a removed key off and checks it: what a changelog keeps of a
/// delete.
///
/// # Errors
/// When the checksum is another one.
pub fn removed_key(wrapped: &[u8]) -> Result<&[u8], ChecksumMismatch> {
    let (stored, key) =
        wrapped.split_first_chunk().ok_or(ChecksumMismatch::Layout { element: 0 })?;
    check(0, u32::from_le_bytes(*stored), key, &[]).map(|()| key)
}

pub(super) fn check(
    element: u64,
    stored: u32,
    key: &[u8],
    value: &[u8],
) -> Result<(), ChecksumMismatch> {
    let computed = row_checksum(key, value);
    if stored == computed {
        Ok(())
    } else {
        Err(ChecksumMismatch::Differs { element, stored, computed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_crc_32c_of_both() {
        // The check value of CRC-32C (RFC 3720, appendix B.4) and of "123456789".
        assert_eq!(row_checksum(b"1234", b"56789"), 0xe306_9283);
        assert_eq!(row_checksum(&[0; 20], &[0; 12]), 0x8a91_36aa);
    }

    #[test]
    fn removed_keys_are_wrapped() {
        let wrapped = [&0xe306_9283_u32.to_le_bytes()[..], b"123456789"].concat();
        assert_eq!(removed_key(&wrapped), Ok(&b"123456789"[..]));
        assert!(removed_key(&wrapped[..12]).is_err());
        assert_eq!(removed_key(b"12"), Err(ChecksumMismatch::Layout { element: 0 }));
    }
}
