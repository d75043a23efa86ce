//! Where requests come from, by what peers and headers say.

use crate::policy::Network;
use http::HeaderValue;
use proptest::prelude::*;

use super::*;

/// The proxies that are trusted in these tests.
fn proxies(header: ForwardedHeader) -> Proxies {
    let trusted = ["10.0.0.0/8", "2001:db8:ffff::/48"].map(|text| Network::parse(text).unwrap());
    Proxies { trusted: trusted.to_vec(), header }
}

fn of(header: ForwardedHeader, peer: &str, lines: &[(&HeaderName, &str)]) -> String {
    let mut headers = HeaderMap::new();
    for (name, line) in lines {
        headers.append(*name, HeaderValue::from_bytes(line.as_bytes()).unwrap());
    }
    address(peer.parse().unwrap(), &headers, &proxies(header)).to_string()
}

fn check(header: ForwardedHeader, name: &HeaderName, vectors: &[(&str, &[&str], &str)]) {
    for (peer, lines, expected) in vectors {
        let named: Vec<_> = lines.iter().map(|line| (name, *line)).collect();
        assert_eq!(of(header, peer, &named), *expected, "{peer} {lines:?}");
    }
}

const PROXY: &str = "10.0.0.1";

#[test]
fn x_forwarded_for_is_read_from_the_right_to_the_first_that_is_not_trusted() {
    check(
        ForwardedHeader::XForwardedFor,
        &FORWARDED_FOR,
        &[
            // Nobody is believed but a trusted peer.
            ("192.0.2.9", &["1.1.1.1"], "192.0.2.9"),
            ("192.0.2.9", &["10.0.0.7"], "192.0.2.9"),
            ("::ffff:192.0.2.9", &["1.1.1.1"], "192.0.2.9"),
            ("2001:db8::9", &["1.1.1.1"], "2001:db8::9"),
            ("::1", &["1.1.1.1"], "::1"),
            // A trusted peer.
            (PROXY, &[], PROXY),
            (PROXY, &["1.1.1.1"], "1.1.1.1"),
            ("::ffff:10.0.0.1", &["1.1.1.1"], "1.1.1.1"),
            ("2001:db8:ffff::1", &["1.1.1.1"], "1.1.1.1"),
            (PROXY, &["  1.1.1.1\t"], "1.1.1.1"),
            // Whatever the caller wrote stands to the left of what the proxy wrote.
            (PROXY, &["6.6.6.6, 1.1.1.1"], "1.1.1.1"),
            (PROXY, &["6.6.6.6,1.1.1.1"], "1.1.1.1"),
            (PROXY, &["junk, 1.1.1.1"], "1.1.1.1"),
            (PROXY, &["10.0.0.9, 1.1.1.1"], "1.1.1.1"),
            (PROXY, &["127.0.0.1, 1.1.1.1"], "1.1.1.1"),
            (PROXY, &[", , 1.1.1.1"], "1.1.1.1"),
            // Proxies behind proxies.
            (PROXY, &["6.6.6.6, 1.1.1.1, 10.0.0.7"], "1.1.1.1"),
            (PROXY, &["1.1.1.1, 10.0.0.7, 2001:db8:ffff::2, ::ffff:10.0.0.8"], "1.1.1.1"),
            (PROXY, &["10.0.0.7"], "10.0.0.7"),
            (PROXY, &["10.0.0.7, 10.0.0.8"], "10.0.0.7"),
            // Several lines are one list, in their order.
            (PROXY, &["6.6.6.6", "1.1.1.1"], "1.1.1.1"),
            (PROXY, &["1.1.1.1", "10.0.0.7"], "1.1.1.1"),
            (PROXY, &["6.6.6.6, 1.1.1.1", "10.0.0.7, 10.0.0.8"], "1.1.1.1"),
            (PROXY, &["junk", "1.1.1.1"], "1.1.1.1"),
            // Every way to write an address.
            (PROXY, &["1.1.1.1:8080"], "1.1.1.1"),
            (PROXY, &["2001:db8::1"], "2001:db8::1"),
            (PROXY, &["2001:DB8:0:0:0:0:0:1"], "2001:db8::1"),
            (PROXY, &["[2001:db8::1]"], "2001:db8::1"),
            (PROXY, &["[2001:db8::1]:443"], "2001:db8::1"),
            (PROXY, &["::ffff:1.1.1.1"], "1.1.1.1"),
            (PROXY, &["[::ffff:1.1.1.1]:443"], "1.1.1.1"),
            (PROXY, &["::ffff:101:101"], "1.1.1.1"),
        ],
    );
}

#[test]
fn a_hop_of_x_forwarded_for_that_cannot_be_read_makes_all_of_it_worth_nothing() {
    check(
        ForwardedHeader::XForwardedFor,
        &FORWARDED_FOR,
        &[
            (PROXY, &[""], PROXY),
            (PROXY, &["unknown"], PROXY),
            (PROXY, &["6.6.6.6, unknown"], PROXY),
            (PROXY, &["6.6.6.6, junk, 10.0.0.7"], PROXY),
            (PROXY, &["6.6.6.6,"], PROXY),
            (PROXY, &["6.6.6.6", ""], PROXY),
            (PROXY, &["6.6.6.6 7.7.7.7"], PROXY),
            (PROXY, &["6.6.6.6; 7.7.7.7"], PROXY),
            (PROXY, &["\"1.1.1.1\""], PROXY),
            (PROXY, &["for=1.1.1.1"], PROXY),
            (PROXY, &["01.1.1.1"], PROXY),
            (PROXY, &["1.1.1"], PROXY),
            (PROXY, &["16843009"], PROXY),
            (PROXY, &["0x1.1.1.1"], PROXY),
            (PROXY, &["1.1.1.256"], PROXY),
            (PROXY, &["1.1.1.1:"], PROXY),
            (PROXY, &["1.1.1.1:port"], PROXY),
            (PROXY, &["1.1.1.1:123456"], PROXY),
            (PROXY, &["[1.1.1.1]:80"], PROXY),
            (PROXY, &["[2001:db8::1"], PROXY),
            (PROXY, &["[2001:db8::1]443"], PROXY),
            (PROXY, &["[2001:db8::1]:"], PROXY),
            (PROXY, &["fe80::1%eth0"], PROXY),
            (PROXY, &["[fe80::1%1]:80"], PROXY),
            (PROXY, &["1.1.1.1/32"], PROXY),
            (PROXY, &["\u{ff11}.1.1.1"], PROXY),
        ],
    );
}

#[test]
fn forwarded_is_read_as_its_rfc_writes_it() {
    check(
        ForwardedHeader::Forwarded,
        &FORWARDED,
        &[
            ("192.0.2.9", &["for=1.1.1.1"], "192.0.2.9"),
            (PROXY, &[], PROXY),
            (PROXY, &["for=1.1.1.1"], "1.1.1.1"),
            (PROXY, &["For=1.1.1.1"], "1.1.1.1"),
            (PROXY, &["FOR=\"1.1.1.1\""], "1.1.1.1"),
            (PROXY, &["for=1.1.1.1;proto=http;by=203.0.113.43"], "1.1.1.1"),
            (PROXY, &["proto=http;host=example.com;for=1.1.1.1"], "1.1.1.1"),
            (PROXY, &["proto=http ; for=1.1.1.1 ;"], "1.1.1.1"),
            (PROXY, &["for=\"1.1.1.1:4711\""], "1.1.1.1"),
            (PROXY, &["for=\"1.1.1.1:_hidden\""], "1.1.1.1"),
            (PROXY, &["For=\"[2001:db8:cafe::17]:4711\""], "2001:db8:cafe::17"),
            (PROXY, &["for=\"[2001:db8:cafe::17]\""], "2001:db8:cafe::17"),
            (PROXY, &["for=\"[::ffff:1.1.1.1]\""], "1.1.1.1"),
            // Extensions may hold whatever separates elsewhere.
            (PROXY, &["ext=\"a,b;for=6.6.6.6,\\\"for=6.6.6.6\";for=1.1.1.1"], "1.1.1.1"),
            (PROXY, &["for=6.6.6.6, ext=\"\\\\\";for=1.1.1.1"], "1.1.1.1"),
            // From the right, over all lines.
            (PROXY, &["for=6.6.6.6, for=1.1.1.1"], "1.1.1.1"),
            (PROXY, &["for=6.6.6.6", "for=1.1.1.1, for=10.0.0.7"], "1.1.1.1"),
            (PROXY, &["for=1.1.1.1", "for=10.0.0.7, for=\"[2001:db8:ffff::2]\""], "1.1.1.1"),
            (PROXY, &["for=10.0.0.7"], "10.0.0.7"),
            (PROXY, &["for=\"broken", "for=1.1.1.1"], "1.1.1.1"),
            (PROXY, &["for=_gazonk, for=1.1.1.1"], "1.1.1.1"),
            // What hides itself, or cannot be read.
            (PROXY, &["for=unknown"], PROXY),
            (PROXY, &["for=_hidden"], PROXY),
            (PROXY, &["for=\"_gazonk:80\""], PROXY),
            (PROXY, &["for=6.6.6.6, for=unknown"], PROXY),
            (PROXY, &["for=6.6.6.6, for=_hidden, for=10.0.0.7"], PROXY),
            (PROXY, &["for=6.6.6.6, proto=http"], PROXY),
            (PROXY, &["for=6.6.6.6,"], PROXY),
            (PROXY, &[""], PROXY),
            (PROXY, &["1.1.1.1"], PROXY),
            (PROXY, &["for"], PROXY),
            (PROXY, &["for="], PROXY),
            (PROXY, &["for=1.1.1.1;for=6.6.6.6"], PROXY),
            (PROXY, &["for=1.1.1.1;for=1.1.1.1"], PROXY),
            (PROXY, &["for=1.1.1.1:80"], PROXY),
            (PROXY, &["for=[2001:db8::1]"], PROXY),
            (PROXY, &["for=\"2001:db8::1\""], PROXY),
            (PROXY, &["for=2001:db8::1"], PROXY),
            (PROXY, &["for =1.1.1.1"], PROXY),
            (PROXY, &["for= 1.1.1.1"], PROXY),
            (PROXY, &["for=\"1.1.1.1"], PROXY),
            (PROXY, &["for=\"1.1.1.1\"x"], PROXY),
            (PROXY, &["for=\"\\1.1.1.1\""], PROXY),
            (PROXY, &["for=\"1.1.1.1:\""], PROXY),
            (PROXY, &["for=\"1.1.1.1:_\""], PROXY),
            // A quote that a caller leaves open swallows what its proxy wrote after it: then nothing is believed.
            (PROXY, &["for=6.6.6.6;x=\", for=1.1.1.1"], PROXY),
            (PROXY, &["for=\u{e9}"], PROXY),
        ],
    );
}

#[test]
fn the_header_that_was_not_chosen_is_not_looked_at() {
    let both = [(&FORWARDED_FOR, "1.1.1.1"), (&FORWARDED, "for=2.2.2.2")];
    assert_eq!(of(ForwardedHeader::XForwardedFor, PROXY, &both), "1.1.1.1");
    assert_eq!(of(ForwardedHeader::Forwarded, PROXY, &both), "2.2.2.2");
    assert_eq!(of(ForwardedHeader::XForwardedFor, PROXY, &both[1..]), PROXY);
    assert_eq!(of(ForwardedHeader::Forwarded, PROXY, &both[..1]), PROXY);
}

#[test]
fn more_hops_than_there_are_proxies_are_not_read() {
    for (header, name, write) in [
        (ForwardedHeader::XForwardedFor, &FORWARDED_FOR, "10.0.0.7"),
        (ForwardedHeader::Forwarded, &FORWARDED, "for=10.0.0.7"),
    ] {
        let first = write.replace("10.0.0.7", "1.1.1.1");
        let with = |proxies: usize| {
            let line = format!("{first}{}", format!(", {write}").repeat(proxies));
            of(header, PROXY, &[(name, &line)])
        };
        assert_eq!(with(HOPS_MAX - 1), "1.1.1.1");
        assert_eq!(with(HOPS_MAX), PROXY);
        assert_eq!(with(1_000), PROXY);
        // Far more than are read, but the last one is the caller's.
        let line = format!("{}{first}", format!("{write}, ").repeat(1_000));
        assert_eq!(of(header, PROXY, &[(name, &line)]), "1.1.1.1");
    }
}

/// Pieces of which headers are made, and bytes that belong in none.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "for=", "\"", "\\", ",", ";", "=", " ", "1.1.1.1", "10.0.0.7", "[", "]", "::", ":", "80", "_x",
        "unknown", "2001:db8",
    ];
    let piece = prop::sample::select(pieces.to_vec()).prop_map(|piece| piece.as_bytes().to_vec());
    let junk = prop::collection::vec(prop_oneof![Just(b'\t'), 0x20_u8..0x7f, 0x80_u8..], 0..4);
    prop::collection::vec(prop_oneof![4 => piece, 1 => junk], 0..80).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn no_bytes_are_too_much(lines in prop::collection::vec(line(), 0..4)) {
        let chosen = [(ForwardedHeader::XForwardedFor, &FORWARDED_FOR), (ForwardedHeader::Forwarded, &FORWARDED)];
        for (header, name) in chosen {
            let mut headers = HeaderMap::new();
            for line in &lines {
                headers.append(name, HeaderValue::from_bytes(line).unwrap());
            }
            address(PROXY.parse().unwrap(), &headers, &proxies(header));
        }
    }

    #[test]
    fn what_a_caller_writes_never_changes_what_its_proxy_wrote(mut said in line(), own: u32) {
        let own = IpAddr::V4(own.into());
        let trusted = proxies(ForwardedHeader::XForwardedFor);
        prop_assume!(!trusted.trusts(own));
        said.extend_from_slice(format!(", {own}, 10.0.0.9").as_bytes());
        let mut headers = HeaderMap::new();
        headers.append(FORWARDED_FOR, HeaderValue::from_bytes(&said).unwrap());
        prop_assert_eq!(address(PROXY.parse().unwrap(), &headers, &trusted), own);
    }

    #[test]
    fn what_a_caller_forwards_is_its_own_address_or_the_peer(mut said in line(), own: u32) {
        let own = IpAddr::V4(own.into());
        let trusted = proxies(ForwardedHeader::Forwarded);
        prop_assume!(!trusted.trusts(own));
        said.extend_from_slice(format!(", for={own}, for=10.0.0.9").as_bytes());
        let mut headers = HeaderMap::new();
        headers.append(FORWARDED, HeaderValue::from_bytes(&said).unwrap());
        let found = address(PROXY.parse().unwrap(), &headers, &trusted);
        prop_assert!(found == own || found == PROXY.parse::<IpAddr>().unwrap());
    }
}
