//! Every record comes back as it was, and no bytes are taken for one that are not.

use proptest::prelude::*;

use super::*;

fn any_record() -> impl Strategy<Value = Record> {
    let whose = (any::<u128>(), any::<u128>(), any::<u64>(), any::<u64>(), any::<u32>());
    let what = (any::<u32>(), any::<u32>(), any::<u64>(), any::<u64>(), any::<Option<(u64, u64)>>());
    let kind = prop_oneof![Just(Kind::Charge), Just(Kind::Refund), Just(Kind::Correction)];
    let env = prop_oneof![Just(KeyEnv::Live), Just(KeyEnv::Test)];
    let settlement = any::<(u64, u16)>()
        .prop_map(|(reserved, skipped)| Settlement { reserved, skipped: LimitPlaces::from_bits(skipped) });
    let marks = (0u16..4_096, env, 0u16..1 << BilledPrint::BITS);
    (kind, any::<[u64; 2]>(), marks, whose, what, settlement).prop_map(
        |(kind, [at, charged_at], (flags, env, billed), whose, what, settlement)| {
            let (decision, home, account, key, key_number) = whose;
            let (route, tier, cost, overage, idempotency) = what;
            Record {
                kind,
                at: Timestamp::from_nanos(at),
                charged_at: Timestamp::from_nanos(charged_at),
                decision,
                home: HomeId(home),
                account,
                key,
                key_number,
                route,
                tier,
                env,
                unit: Unit::Requests,
                cost,
                overage,
                idempotency: idempotency.map(|(key, request)| Idempotency { key, request }),
                flags: Flags(flags),
                settlement,
                billed: BilledPrint::from_bits(billed),
            }
        },
    )
}

fn sealed(record: &Record, position: u64) -> SlotBytes {
    let mut bytes = encode(record);
    seal(&mut bytes, position);
    bytes
}

proptest! {
    #[test]
    fn a_record_comes_back_as_it_was(record in any_record(), position: u64) {
        prop_assert_eq!(decode(&sealed(&record, position), position), Content::Whole(record));
    }

    #[test]
    fn a_flipped_bit_is_torn(record in any_record(), position: u64, bit in 0..SLOT_BYTES * 8) {
        let mut bytes = sealed(&record, position);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(decode(&bytes, position), Content::Torn);
    }

    #[test]
    fn a_record_of_another_slot_is_torn(record in any_record(), position: u64, distance in 1..u64::MAX) {
        let elsewhere = position.wrapping_add(distance);
        prop_assert_eq!(decode(&sealed(&record, position), elsewhere), Content::Torn);
    }

    #[test]
    fn what_is_missing_words_is_torn(record in any_record(), position: u64, missing in 1usize..0xffff) {
        let mut bytes = sealed(&record, position);
        let before = bytes;
        for word in (0..16).filter(|word| missing >> word & 1 == 1) {
            bytes[word * 8..][..8].fill(0);
        }
        prop_assume!(bytes != before && bytes != [0; SLOT_BYTES]);
        prop_assert_eq!(decode(&bytes, position), Content::Torn);
    }

    #[test]
    fn random_bytes_are_torn(bytes in any::<[[u8; 32]; 4]>(), position: u64) {
        let bytes: SlotBytes = bytes.concat().try_into().unwrap();
        prop_assert_eq!(decode(&bytes, position), Content::Torn);
    }
}

#[test]
fn zeros_are_a_hole_wherever_they_are() {
    for position in [0, 1, u64::from(u32::MAX), u64::MAX] {
        assert_eq!(decode(&[0; SLOT_BYTES], position), Content::Hole);
    }
}

#[test]
fn a_whole_record_of_another_version_is_not_called_torn() {
    let mut bytes = [0; SLOT_BYTES];
    bytes[4] = VERSION + 1;
    seal(&mut bytes, 7);
    assert_eq!(decode(&bytes, 7), Content::Newer { version: VERSION + 1 });
}

/// What is on disks out there: this may only change together with the version.
#[test]
fn the_layout_is_as_written_down() {
    let record = Record { billed: BilledPrint::from_bits(0x2a51), ..refund(KeyEnv::Test) };
    let mut expected = bytes_of_version_1();
    // A refund, and the upper bits of the print; the unit, and the environment in the upper half.
    expected[4..6].copy_from_slice(&[3, 2 | 0x2a << 2]);
    expected[84..86].copy_from_slice(&[1 | 2 << 4, 0x51]);
    assert_eq!(encode(&record), expected);
    // By zlib: crc32(the bytes from the fifth on, both halves of the position mixed).
    assert_eq!(sealed(&record, 1 << 40 | 5)[..4], [255, 0, 32, 58]);
}

/// The bytes that the second version wrote, with the checksum it wrote.
#[test]
fn a_record_of_the_second_version_says_nothing_of_the_billed_quota() {
    let mut bytes = bytes_of_version_1();
    bytes[4] = 2;
    bytes[84..86].copy_from_slice(&[1, 2]);
    bytes[..4].copy_from_slice(&[146, 96, 221, 215]);
    assert_eq!(decode(&bytes, 1 << 40 | 5), Content::Whole(refund(KeyEnv::Test)));
    assert_eq!(decode(&bytes, 1 << 40 | 6), Content::Torn);
}

/// The bytes that the first version wrote, with the checksum it wrote.
#[test]
fn a_record_of_the_first_version_counts_requests_of_a_live_key() {
    let mut bytes = bytes_of_version_1();
    bytes[..4].copy_from_slice(&[185, 186, 217, 239]);
    assert_eq!(decode(&bytes, 1 << 40 | 5), Content::Whole(refund(KeyEnv::Live)));
    assert_eq!(decode(&bytes, 1 << 40 | 6), Content::Torn);
}

#[test]
fn a_unit_or_an_environment_that_is_not_known_is_taken_for_nothing_else() {
    for at in [84, 85] {
        for unknown in [0, 3, 255] {
            let mut bytes = bytes_of_version_1();
            (bytes[4], bytes[84], bytes[85]) = (VERSION_WITHOUT_PRINT, 1, 1);
            bytes[at] = unknown;
            seal(&mut bytes, 7);
            let version = VERSION_WITHOUT_PRINT;
            assert_eq!(decode(&bytes, 7), Content::Newer { version }, "{unknown} at {at}");
        }
    }
    for unknown in [0, 0x10, 0x01, 0x13, 0x31, 0xff] {
        let mut bytes = encode(&refund(KeyEnv::Live));
        bytes[84] = unknown;
        seal(&mut bytes, 7);
        assert_eq!(decode(&bytes, 7), Content::Newer { version: VERSION }, "{unknown}");
    }
}

fn refund(env: KeyEnv) -> Record {
    Record {
        kind: Kind::Refund,
        at: Timestamp::from_nanos(0x0102_0304_0506_0708),
        charged_at: Timestamp::from_nanos(0x0112_1314_1516_1718),
        decision: 0x20,
        home: HomeId(0x30),
        account: 0x40,
        key: 0x50,
        key_number: 0x60,
        route: 0x70,
        tier: 0x71,
        env,
        unit: Unit::Requests,
        cost: 0x80,
        overage: 0x90,
        idempotency: Some(Idempotency { key: 0xa0, request: 0xb0 }),
        flags: Flags::DEGRADED,
        settlement: Settlement::default(),
        billed: BilledPrint::UNKNOWN,
    }
}

/// All but the checksum.
fn bytes_of_version_1() -> SlotBytes {
    let mut expected = [0; SLOT_BYTES];
    expected[4..8].copy_from_slice(&[1, 2, 2, 0x80]);
    expected[8..16].copy_from_slice(&[8, 7, 6, 5, 4, 3, 2, 1]);
    expected[16..24].copy_from_slice(&[0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 1]);
    let bytes = [(24, 0x20), (40, 0x30), (56, 0x40), (64, 0x50), (72, 0x60), (76, 0x70), (80, 0x71)];
    for (at, byte) in bytes.into_iter().chain([(88, 0x80), (96, 0x90), (104, 0xa0), (112, 0xb0)]) {
        expected[at] = byte;
    }
    expected
}

/// What older programs wrote has zeros for it, as above: those are records without a settlement.
#[test]
fn a_settlement_lies_where_zeros_were() {
    let bytes = [0; SLOT_BYTES];
    let mut old = bytes;
    (old[4], old[5]) = (VERSION_WITHOUT_UNIT, 2);
    seal(&mut old, 7);
    let Content::Whole(record) = decode(&old, 7) else { panic!("an old refund") };
    assert_eq!(record.settlement, Settlement::default());
    let settlement = Settlement { reserved: 0x0102_0304, skipped: LimitPlaces::from_bits(0x0506) };
    let bytes = encode(&Record { settlement, ..record });
    assert_eq!((bytes[86], bytes[87]), (6, 5));
    assert_eq!(bytes[120..], [4, 3, 2, 1, 0, 0, 0, 0]);
}
