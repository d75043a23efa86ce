//! Base62: random characters without bias, and a checksum of six of them.

use super::NoRandomness;

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// 62⁶ is more than 2³².
pub(crate) const CRC_LENGTH: usize = 6;

pub(super) fn is_base62(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_alphanumeric)
}

/// Random characters from the operating system, each equally likely.
pub(crate) fn random<const LENGTH: usize>() -> Result<[u8; LENGTH], NoRandomness> {
    let mut out = [0; LENGTH];
    let mut filled = 0;
    let mut pool = [0; 64];
    while filled < LENGTH {
        getrandom::fill(&mut pool).map_err(|_| NoRandomness)?;
        // Six bits of a byte are 64 values. The two that are no character are thrown away: a remainder would
        // make some characters likelier.
        let characters = pool.iter().filter_map(|byte| ALPHABET.get(usize::from(byte & 63)));
        for (place, character) in out[filled..].iter_mut().zip(characters) {
            *place = *character;
            filled += 1;
        }
    }
    pool.fill(0);
    std::hint::black_box(&pool);
    Ok(out)
}

/// The CRC-32 of `bytes` in base62, with zeros in front.
pub(crate) fn crc(bytes: &[u8]) -> [u8; CRC_LENGTH] {
    let mut rest = crc32fast::hash(bytes);
    let mut out = [b'0'; CRC_LENGTH];
    for place in out.iter_mut().rev() {
        *place = ALPHABET[(rest % 62) as usize];
        rest /= 62;
    }
    out
}
