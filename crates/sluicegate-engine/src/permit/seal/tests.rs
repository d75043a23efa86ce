//! Permits as text: read as they were written, and nothing else is one.

use proptest::prelude::*;

use super::*;

fn permit() -> SealedPermit {
    SealedPermit {
        decision: DecisionId(u128::MAX - 1),
        home: HomeId(7 << 100),
        node: 3,
        account: u64::MAX,
        key: 0,
        key_number: NonZeroU32::new(9),
        tier: TierName::new("custom:acme").unwrap(),
        route: Some("convert".to_owned()),
        cost: Amount::new(Amount::MAX),
        settles: Settles::TrueCost,
        refund_on: RefundOn::ServerError,
        charged_at: Timestamp::from_secs(1_791_201_600),
        ends: Timestamp::from_secs(1_791_201_660),
        holder: 1,
        slot: SlotId(u64::MAX),
        name: Some(Idempotency { key: 1, request: 2 }),
        kept: Kept::Here,
        flags: Flags::DEGRADED | Flags::OWED,
        limits: vec![LimitPrint { algorithm: 1, state: u32::MAX }],
    }
}

fn plain() -> SealedPermit {
    let (settles, refund_on, kept) = (Settles::Nothing, RefundOn::Nothing, Kept::Store);
    let (name, route, cost, limits) = (None, None, None, Vec::new());
    SealedPermit { settles, refund_on, kept, name, route, cost, limits, key_number: None, ..permit() }
}

#[test]
fn a_permit_is_read_as_it_was_written_by_every_node_with_the_secret() {
    for permit in [permit(), plain()] {
        let text = PermitKey::new(b"secret").seal(&permit).unwrap();
        assert!(text.starts_with("permit_") && text.len() < 400, "{text}");
        assert_eq!(PermitKey::new(b"secret").open(&text), Some(permit.clone()));
        assert_eq!(PermitKey::new(b"another").open(&text), None);
        // Random bits: the same permit is never the same text.
        assert_ne!(PermitKey::new(b"secret").seal(&permit).unwrap(), text);
    }
}

#[test]
fn a_changed_cut_or_longer_text_is_no_permit() {
    let key = PermitKey::new(b"secret");
    let text = key.seal(&permit()).unwrap();
    for place in 0..text.len() {
        assert_eq!(key.open(&text[..place]), None);
        let mut bytes = text.clone().into_bytes();
        bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
        assert_eq!(key.open(str::from_utf8(&bytes).unwrap()), None, "{place}");
    }
    for more in ["A", "AAAA", "=", " ", "\0"] {
        assert_eq!(key.open(&format!("{text}{more}")), None);
    }
    assert_eq!(key.open(&"permit_".repeat(1_000)), None);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".{0,300}", bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let key = PermitKey::new(b"secret");
        prop_assert_eq!(key.open(&text), None);
        let mut sealed = PREFIX.to_owned();
        base64url::encode(&bytes, &mut sealed);
        prop_assert_eq!(key.open(&sealed), None);
        // Also behind the MAC nothing panics.
        let _ = SealedPermit::read(&bytes);
    }

    #[test]
    fn what_is_cut_behind_the_mac_is_refused(cut in 0_usize..150) {
        let mut bytes = Vec::new();
        permit().write([0; 16], &mut bytes);
        bytes.truncate(cut.min(bytes.len() - 1));
        prop_assert_eq!(SealedPermit::read(&bytes), None);
    }
}
