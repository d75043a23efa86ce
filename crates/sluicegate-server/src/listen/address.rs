//! What an address counts by: IPv4 as it is, IPv6 by its /64, because one caller has that many addresses.

use std::net::IpAddr;

/// An IPv4 address, or a /64 of IPv6.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum AddressPrefix {
    V4(u32),
    V6(u64),
}

impl AddressPrefix {
    /// What this address counts by. An IPv4-mapped IPv6 address is the IPv4 address.
    pub(crate) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address.into()),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                let part = |segment: u16, shift: u32| u64::from(segment) << shift;
                Self::V6(part(a, 48) | part(b, 32) | part(c, 16) | part(d, 0))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv6_counts_by_its_64_and_mapped_ipv4_is_ipv4() {
        let of = |text: &str| AddressPrefix::of(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}
