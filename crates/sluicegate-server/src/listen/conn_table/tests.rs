//! Whose connection gets a place, and which one is closed for it.

use std::time::Duration;

use sluicegate_core::policy::Network;
use sluicegate_node::ConnTrust;

use super::*;

fn table(connections_max: u32) -> Arc<ConnTable> {
    let per_address = PerAddress::of(connections_max);
    let exempt = Proxies { trusted: vec![Network::parse("10.0.0.0/8").unwrap()], ..Proxies::default() };
    ConnTable::new(ConnLimits { connections_max, per_address, exempt })
}

fn peer(text: &str) -> SocketAddr {
    SocketAddr::new(text.parse().unwrap(), 1)
}

/// A connection that has a request in flight.
fn busy(table: &Arc<ConnTable>, address: &str) -> ConnPermit {
    let place = idle(table, address);
    place.conn.clock.request_began();
    place
}

/// A connection that is open and idle.
fn idle(table: &Arc<ConnTable>, address: &str) -> ConnPermit {
    let Admission::Admitted(place) = table.admit(peer(address)) else { panic!("{address} got no place") };
    place.opened();
    place
}

#[tokio::test(start_paused = true)]
async fn one_address_takes_three_quarters_while_nobody_else_wants_them() {
    let table = table(100);
    let attack: Vec<ConnPermit> = (0..75).map(|_| busy(&table, "192.0.2.1")).collect();
    assert!(matches!(table.admit(peer("192.0.2.1")), Admission::Refused));
    assert!(matches!(table.admit(peer("2001:db8::1")), Admission::Admitted(_)));
    let others: Vec<ConnPermit> = (0..25).map(|_| busy(&table, "192.0.2.2")).collect();
    assert!(matches!(table.admit(peer("192.0.2.3")), Admission::Full), "requests in flight are never closed");
    drop((attack, others));
    assert!(table.is_empty() && table.state.lock().addresses.is_empty() && table.state.lock().open == 0);
}

#[tokio::test(start_paused = true)]
async fn an_address_beyond_its_share_closes_its_own_idle_connections() {
    let table = table(100);
    let theirs: Vec<ConnPermit> = (0..80).map(|_| idle(&table, "192.0.2.1")).collect();
    // From 75 on, each new one was for an old one.
    assert_eq!(theirs.iter().filter(|place| place.conn.is_evicted()).count(), 5);
    assert!(theirs[..5].iter().all(|place| place.conn.is_evicted()), "the longest idle first");
    assert_eq!(table.state.lock().open, 75);
}

#[tokio::test(start_paused = true)]
async fn refused_connections_go_first_and_those_with_a_key_last() {
    let table = table(4);
    let conns = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"].map(|address| idle(&table, address));
    conns[0].conn.trust.set(ConnTrust::Known);
    conns[3].conn.trust.set(ConnTrust::Refused);
    tokio::time::advance(Duration::from_secs(1)).await;
    conns[1].conn.clock.request_began();
    conns[1].conn.clock.request_ended();
    let mut order = Vec::new();
    let mut newcomers = Vec::new();
    for number in 5..9 {
        newcomers.push(busy(&table, &format!("192.0.2.{number}")));
        order.extend(conns.iter().position(|place| {
            place.conn.is_evicted() && {
                let id = place.conn.id;
                !order.contains(&usize::try_from(id).unwrap())
            }
        }));
    }
    assert_eq!(order, [3, 2, 1, 0]);
    assert!(matches!(table.admit(peer("192.0.2.9")), Admission::Full));
}

#[tokio::test(start_paused = true)]
async fn trusted_proxies_are_not_counted_and_tunnels_are_not_idle() {
    let table = table(8);
    let proxied: Vec<ConnPermit> = (0..8).map(|_| busy(&table, "10.0.0.1")).collect();
    assert_eq!(proxied.len(), 8);
    drop(proxied);
    let tunnels: Vec<ConnPermit> = (0..8).map(|number| idle(&table, &format!("192.0.2.{number}"))).collect();
    tunnels.iter().for_each(|place| place.conn.becomes_tunnel());
    assert!(matches!(table.admit(peer("192.0.2.9")), Admission::Full));
}

#[tokio::test(start_paused = true)]
async fn handshakes_of_one_address_have_a_share_of_their_own() {
    let limits = ConnLimits {
        connections_max: 8,
        per_address: PerAddress { connections: 8, requests: 8, handshakes: 2 },
        exempt: Proxies::default(),
    };
    let table = ConnTable::new(limits);
    let mut admitted = Vec::new();
    while let Admission::Admitted(place) = table.admit(peer("192.0.2.1")) {
        admitted.push(place);
    }
    assert_eq!(admitted.len(), 6, "places run short from then on");
    admitted.iter().take(5).for_each(ConnPermit::opened);
    assert!(matches!(table.admit(peer("192.0.2.1")), Admission::Admitted(_)));
}
