//! How a record lies in its slot: 128 bytes, little endian.
//!
//! ```text
//!   0  CRC-32   4  version   5  kind   6  flags    8  at          16  charged_at   24  decision
//!  40  home    56  account            64  key     72  key_number  76  route        80  tier
//!  84  unit, env   85  billed   86  skipped   88  cost   96  overage  104  idempotency: key, request  120  reserved
//! ```
//!
//! `unit` is 1 for requests; `env` is 1 for live and 2 for test. They share a byte, the unit in its lower half. A unit
//! or an environment that this program does not know is taken for that of a newer version, never for another. `billed`
//! has the lower bits of the print of the billed quota; the others are the upper six of the kind.
//!
//! Version 2 had the unit and the environment in bytes of their own, and no print. Version 1 had zeros there: its
//! records count requests, and as live.
//!
//! `skipped` and `reserved` are the settlement of a refund or a correction. Older programs wrote zeros there.
//! Everything else is the same in all versions.
//!
//! The checksum covers the record's position too: bytes that stray to another slot are not taken for a record.
//! The first word is never zero and is written last, so a slot whose first word is zero holds no whole record.

use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::plan::HomeId;
use sluicegate_core::tariff::LimitPlaces;
use sluicegate_core::time::Timestamp;

use super::{BilledPrint, Flags, Idempotency, Kind, Record, Settlement, Unit};

/// The size of a slot.
pub(crate) const SLOT_BYTES: usize = 128;

/// The bytes of a slot.
pub(crate) type SlotBytes = [u8; SLOT_BYTES];

/// The version that is written.
const VERSION: u8 = 3;
/// The version without a print of the billed quota, which is read as well.
const VERSION_WITHOUT_PRINT: u8 = 2;
/// The version without a unit and an environment, which is read as well.
const VERSION_WITHOUT_UNIT: u8 = 1;

/// How many bits of its byte the kind has. The others are those of the print that do not fit the byte of that.
const KIND_BITS: u32 = u8::BITS - (BilledPrint::BITS - u8::BITS);
/// How many bits of the byte that they share the unit has.
const UNIT_BITS: u32 = 4;

/// The bit of the flags, not one of [`Flags`], that says there is an idempotency key.
const IDEMPOTENT: u16 = 1 << 15;

/// What lies in a slot.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Content {
    /// Nothing was ever written here.
    Hole,
    /// Something, but not a whole record.
    Torn,
    /// A record.
    Whole(Record),
    /// A whole record in a layout that this program does not know.
    Newer { version: u8 },
}

/// The bytes of a record, but for the checksum: they can be made before its position is known.
#[inline]
pub(crate) fn encode(record: &Record) -> SlotBytes {
    let mut bytes = [0; SLOT_BYTES];
    let (idempotent, Idempotency { key, request }) = match record.idempotency {
        Some(idempotency) => (IDEMPOTENT, idempotency),
        None => (0, Idempotency { key: 0, request: 0 }),
    };
    bytes[4] = VERSION;
    let kind = match record.kind {
        Kind::Charge => 1,
        Kind::Refund => 2,
        Kind::Correction => 3,
    };
    let [low, high] = record.billed.to_bits().to_le_bytes();
    bytes[5] = kind | high << KIND_BITS;
    bytes[6..8].copy_from_slice(&(record.flags.0 | idempotent).to_le_bytes());
    bytes[8..16].copy_from_slice(&record.at.as_nanos().to_le_bytes());
    bytes[16..24].copy_from_slice(&record.charged_at.as_nanos().to_le_bytes());
    bytes[24..40].copy_from_slice(&record.decision.to_le_bytes());
    bytes[40..56].copy_from_slice(&record.home.0.to_le_bytes());
    bytes[56..64].copy_from_slice(&record.account.to_le_bytes());
    bytes[64..72].copy_from_slice(&record.key.to_le_bytes());
    bytes[72..76].copy_from_slice(&record.key_number.to_le_bytes());
    bytes[76..80].copy_from_slice(&record.route.to_le_bytes());
    bytes[80..84].copy_from_slice(&record.tier.to_le_bytes());
    bytes[84] = record.unit.number() | env_number(record.env) << UNIT_BITS;
    bytes[85] = low;
    bytes[88..96].copy_from_slice(&record.cost.to_le_bytes());
    bytes[96..104].copy_from_slice(&record.overage.to_le_bytes());
    bytes[104..112].copy_from_slice(&key.to_le_bytes());
    bytes[112..120].copy_from_slice(&request.to_le_bytes());
    bytes[86..88].copy_from_slice(&record.settlement.skipped.to_bits().to_le_bytes());
    bytes[120..128].copy_from_slice(&record.settlement.reserved.to_le_bytes());
    bytes
}

/// Completes the bytes of a record that will stand at `position`.
#[inline]
pub(crate) fn seal(bytes: &mut SlotBytes, position: u64) {
    let sum = checksum(bytes, position);
    bytes[0..4].copy_from_slice(&sum.to_le_bytes());
}

/// What lies in the slot at `position`. Any bytes will do.
#[inline]
pub(crate) fn decode(bytes: &SlotBytes, position: u64) -> Content {
    if u32::from_le_bytes(part(bytes, 0)) != checksum(bytes, position) || bytes[4] == 0 {
        return if bytes == &[0; SLOT_BYTES] { Content::Hole } else { Content::Torn };
    }
    let (unit, env) = match bytes[4] {
        VERSION_WITHOUT_UNIT => (Some(Unit::Requests), Some(KeyEnv::Live)),
        VERSION_WITHOUT_PRINT => (Unit::from_number(bytes[84]), env_from_number(bytes[85])),
        VERSION => {
            let unit = bytes[84] & ((1 << UNIT_BITS) - 1);
            (Unit::from_number(unit), env_from_number(bytes[84] >> UNIT_BITS))
        }
        _ => (None, None),
    };
    let (Some(unit), Some(env)) = (unit, env) else { return Content::Newer { version: bytes[4] } };
    let (kind, billed) = match bytes[4] {
        VERSION => {
            let print = u16::from_le_bytes([bytes[85], bytes[5] >> KIND_BITS]);
            (bytes[5] & ((1 << KIND_BITS) - 1), BilledPrint::from_bits(print))
        }
        _ => (bytes[5], BilledPrint::UNKNOWN),
    };
    let kind = match kind {
        1 => Kind::Charge,
        2 => Kind::Refund,
        3 => Kind::Correction,
        _ => return Content::Torn,
    };
    let flags = u16::from_le_bytes(part(bytes, 6));
    let (key, request) = (u64::from_le_bytes(part(bytes, 104)), u64::from_le_bytes(part(bytes, 112)));
    Content::Whole(Record {
        kind,
        at: Timestamp::from_nanos(u64::from_le_bytes(part(bytes, 8))),
        charged_at: Timestamp::from_nanos(u64::from_le_bytes(part(bytes, 16))),
        decision: u128::from_le_bytes(part(bytes, 24)),
        home: HomeId(u128::from_le_bytes(part(bytes, 40))),
        account: u64::from_le_bytes(part(bytes, 56)),
        key: u64::from_le_bytes(part(bytes, 64)),
        key_number: u32::from_le_bytes(part(bytes, 72)),
        route: u32::from_le_bytes(part(bytes, 76)),
        tier: u32::from_le_bytes(part(bytes, 80)),
        env,
        unit,
        cost: u64::from_le_bytes(part(bytes, 88)),
        overage: u64::from_le_bytes(part(bytes, 96)),
        idempotency: (flags & IDEMPOTENT != 0).then_some(Idempotency { key, request }),
        flags: Flags(flags & !IDEMPOTENT),
        settlement: Settlement {
            reserved: u64::from_le_bytes(part(bytes, 120)),
            skipped: LimitPlaces::from_bits(u16::from_le_bytes(part(bytes, 86))),
        },
        billed,
    })
}

const fn env_number(env: KeyEnv) -> u8 {
    match env {
        KeyEnv::Live => 1,
        KeyEnv::Test => 2,
    }
}

const fn env_from_number(number: u8) -> Option<KeyEnv> {
    match number {
        1 => Some(KeyEnv::Live),
        2 => Some(KeyEnv::Test),
        _ => None,
    }
}

/// Over the position, both halves of it mixed, and everything but the checksum itself.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the halves of the position")]
fn checksum(bytes: &SlotBytes, position: u64) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(position as u32 ^ (position >> 32) as u32);
    hasher.update(&bytes[4..]);
    hasher.finalize()
}

/// `LENGTH` bytes from `start` on.
#[inline]
fn part<const LENGTH: usize>(bytes: &SlotBytes, start: usize) -> [u8; LENGTH] {
    let mut part = [0; LENGTH];
    part.copy_from_slice(&bytes[start..start + LENGTH]);
    part
}

#[cfg(test)]
mod tests;
