//! How many requests each address has in flight: when there are many of all, one address has no more than its share.
//!
//! The address is the caller's, also behind trusted proxies, which have no share of their own.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use http::HeaderMap;
use parking_lot::Mutex;
use sluicegate_core::identify::address;
use sluicegate_core::policy::{Proxies, ServerSettings};

use crate::listen::AddressPrefix;

/// Callers that count in different parts do not wait for each other.
const PARTS: usize = 16;

/// The requests in flight of all addresses.
#[derive(Debug)]
pub struct InFlightByAddress {
    proxies: Proxies,
    /// From so many in flight on, one address has its share only.
    short_from: u32,
    per_address: u32,
    total: AtomicU32,
    parts: [Mutex<BTreeMap<AddressPrefix, u32>>; PARTS],
}

/// A request in flight. Dropping it ends it.
#[derive(Debug)]
pub(super) struct AddressTurn {
    table: Arc<InFlightByAddress>,
    prefix: Option<AddressPrefix>,
}

/// The address has its share of requests in flight already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TooManyInFlight;

impl InFlightByAddress {
    /// As the policy file says.
    pub fn new(server: &ServerSettings) -> Arc<Self> {
        let max = server.max.connections;
        Arc::new(Self {
            proxies: server.proxies.clone(),
            short_from: max - max / 4,
            per_address: server.max.per_address.requests,
            total: AtomicU32::new(0),
            parts: Default::default(),
        })
    }

    /// Begins a request of the caller that its peer and headers name.
    pub(super) fn begin(
        self: &Arc<Self>,
        peer: IpAddr,
        headers: &HeaderMap,
    ) -> Result<AddressTurn, TooManyInFlight> {
        let caller = address(peer, headers, &self.proxies);
        let prefix = (!self.proxies.trusts(caller)).then(|| AddressPrefix::of(caller));
        let is_short = self.total.load(Relaxed) >= self.short_from;
        if let Some(prefix) = prefix {
            let mut counts = self.part(prefix).lock();
            let count = counts.entry(prefix).or_default();
            if is_short && *count >= self.per_address {
                return Err(TooManyInFlight);
            }
            *count += 1;
        }
        self.total.fetch_add(1, Relaxed);
        Ok(AddressTurn { table: Arc::clone(self), prefix })
    }

    fn part(&self, prefix: AddressPrefix) -> &Mutex<BTreeMap<AddressPrefix, u32>> {
        let bits = match prefix {
            AddressPrefix::V4(bits) => u64::from(bits),
            AddressPrefix::V6(bits) => bits,
        };
        // The low bits tell neighbours apart; a few of the others, for networks that are given out in steps.
        let place = usize::try_from((bits ^ (bits >> 16) ^ (bits >> 8)) % PARTS as u64).unwrap_or(0);
        &self.parts[place]
    }
}

impl Drop for AddressTurn {
    fn drop(&mut self) {
        self.table.total.fetch_sub(1, Relaxed);
        let Some(prefix) = self.prefix else { return };
        let mut counts = self.table.part(prefix).lock();
        if let Some(count) = counts.get_mut(&prefix) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&prefix);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sluicegate_core::policy::{Maxima, Network, PerAddress};

    use super::*;

    fn table() -> Arc<InFlightByAddress> {
        let max = Maxima { connections: 8, per_address: PerAddress::of(8), ..Maxima::default() };
        let trusted = vec![Network::parse("10.0.0.0/8").unwrap()];
        let proxies = Proxies { trusted, ..Proxies::default() };
        InFlightByAddress::new(&ServerSettings { max, proxies, ..ServerSettings::default() })
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn one_address_has_its_share_once_there_are_many() {
        let (table, headers) = (table(), HeaderMap::new());
        let mut turns: Vec<AddressTurn> =
            (0..6).map(|_| table.begin(ip("192.0.2.1"), &headers).unwrap()).collect();
        assert_eq!(table.begin(ip("192.0.2.1"), &headers).unwrap_err(), TooManyInFlight);
        turns.push(table.begin(ip("192.0.2.2"), &headers).unwrap());
        turns.clear();
        assert_eq!(table.total.load(Relaxed), 0);
        assert!(table.parts.iter().all(|part| part.lock().is_empty()));
    }

    #[test]
    fn behind_a_trusted_proxy_its_callers_are_counted_and_not_the_proxy() {
        let table = table();
        let of = |caller: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("x-forwarded-for", http::HeaderValue::from_static(caller));
            headers
        };
        let _turns: Vec<AddressTurn> =
            (0..6).map(|_| table.begin(ip("10.0.0.1"), &of("192.0.2.1")).unwrap()).collect();
        assert_eq!(table.begin(ip("10.0.0.1"), &of("192.0.2.1")).unwrap_err(), TooManyInFlight);
        let _other = table.begin(ip("10.0.0.1"), &of("192.0.2.2")).unwrap();
        let _proxy: Vec<AddressTurn> =
            (0..6).map(|_| table.begin(ip("10.0.0.1"), &HeaderMap::new()).unwrap()).collect();
    }
}
