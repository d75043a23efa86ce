//! What of an address counts, hashed: no address itself is kept.

use std::net::IpAddr;

use sluicegate_core::plan::HomeId;
use sluicegate_core::policy::AddressPrefix;
use sluicegate_store::hash::HomeHasher;

/// An address as limits count it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Prefixes {
    /// All of an IPv4 address, the /64 of an IPv6 address.
    pub own: u64,
    /// The /48 of an IPv6 address: what one customer of a provider may be given, 65,536 times a /64.
    pub network: Option<u64>,
}

/// What an address is counted by.
pub fn prefixes(homes: &HomeHasher, address: IpAddr) -> Prefixes {
    let network = match address.to_canonical() {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => Some(short(homes, &[b"network", &address.octets()[..6]])),
    };
    Prefixes { own: own(homes, &prefix_of(address)), network }
}

/// Where the meters are that the callers in a tier share behind an address under pressure.
pub(crate) fn prefix_home(homes: &HomeHasher, address: IpAddr, tier: &str) -> HomeId {
    homes.of_parts(&[b"pressure", &prefix_of(address), tier.as_bytes()])
}

pub(super) fn own(homes: &HomeHasher, prefix: &[u8; 9]) -> u64 {
    short(homes, &[b"address", prefix])
}

#[expect(clippy::cast_possible_truncation, reason = "half of a keyed hash tells addresses apart well enough")]
pub(super) fn short(homes: &HomeHasher, parts: &[&[u8]]) -> u64 {
    homes.of_parts(parts).0 as u64
}

/// What of an address goes into the id of a client. The default is what [`prefix_of`] says.
pub(super) fn blended(address: IpAddr, bits: AddressPrefix) -> [u8; 9] {
    let mut prefix = prefix_of(address);
    let bits = if prefix[0] == 4 { bits.v4() } else { bits.v6() };
    for (at, byte) in (0_u8..).zip(&mut prefix[1..]) {
        // How many bits of this byte stay.
        let left = bits.saturating_sub(8 * at).min(8);
        *byte &= u8::MAX.checked_shl(u32::from(8 - left)).unwrap_or(0);
    }
    prefix
}

/// What of an address counts: all of IPv4, the /64 of IPv6. The rest of an IPv6 address is the caller's to choose.
pub(super) fn prefix_of(address: IpAddr) -> [u8; 9] {
    let mut prefix = [0; 9];
    // An IPv4 address in the clothes of IPv6 is unwrapped first: the /64 of all of them is the same.
    match address.to_canonical() {
        IpAddr::V4(address) => {
            prefix[0] = 4;
            prefix[1..5].copy_from_slice(&address.octets());
        }
        IpAddr::V6(address) => {
            prefix[0] = 6;
            prefix[1..].copy_from_slice(&address.octets()[..8]);
        }
    }
    prefix
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use proptest::prelude::*;

    use super::*;

    fn of(address: impl Into<IpAddr>) -> Prefixes {
        prefixes(&HomeHasher::new([7; 16]), address.into())
    }

    fn parsed(text: &str) -> Prefixes {
        of(text.parse::<IpAddr>().unwrap())
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_one_caller() {
        assert_eq!(parsed("2001:db8::1"), parsed("2001:db8::ffff"));
        assert_eq!(parsed("2001:db8::1"), parsed("2001:0DB8:0:0:8000::"));
        assert_ne!(parsed("2001:db8::1").own, parsed("2001:db8:0:1::1").own);
        assert_eq!(parsed("2001:db8::1").network, parsed("2001:db8:0:ffff::1").network);
        assert_ne!(parsed("2001:db8::1").network, parsed("2001:db8:1::1").network);
        assert_eq!(parsed("::ffff:192.0.2.1"), parsed("192.0.2.1"));
        assert_eq!(parsed("192.0.2.1").network, None);
        assert_ne!(parsed("192.0.2.1"), parsed("192.0.2.2"));
        // Not the same as an IPv6 network that has the same bytes.
        assert_ne!(parsed("192.0.2.1").own, parsed("c000:201::").own);
    }

    proptest! {
        #[test]
        fn mapped_addresses_are_the_ipv4_addresses_and_never_one(a: u32, b: u32) {
            let (a, b) = (Ipv4Addr::from(a), Ipv4Addr::from(b));
            prop_assert_eq!(of(a.to_ipv6_mapped()), of(a));
            prop_assert_eq!(a == b, of(a.to_ipv6_mapped()) == of(b.to_ipv6_mapped()));
        }

        #[test]
        fn one_network_of_64_bits_is_one_caller(network in 0x2000_u64 << 48..0x4000 << 48, a: u64, b: u64, other: u64) {
            let address = |network: u64, host: u64| Ipv6Addr::from((u128::from(network) << 64) | u128::from(host));
            prop_assert_eq!(of(address(network, a)), of(address(network, b)));
            let other = (0x2000 << 48) | (other >> 3);
            prop_assert_eq!(network == other, of(address(network, a)).own == of(address(other, b)).own);
            let same_48 = network >> 16 == other >> 16;
            prop_assert_eq!(same_48, of(address(network, a)).network == of(address(other, b)).network);
        }
    }
}
