//! Pretending to be somebody else, or many.

use super::{THREE, admitted, forwarded};
use crate::bed::Bed;

#[test]
fn attack_01_a_spoofed_left_most_hop_gets_no_fresh_bucket() {
    let bed = Bed::start(THREE);
    let spoofed = |number: u8| forwarded(&format!("198.51.100.{number}, 203.0.113.9"));
    assert_eq!(admitted(&bed, (0..10).map(spoofed)), 3);
    // Nor is the bucket of somebody else used up by it.
    assert_eq!(admitted(&bed, [forwarded("198.51.100.1")]), 1);
    // Whoever is no proxy is not asked for whom it calls.
    let open = Bed::start(&THREE.replace("[127.0.0.1/32]", "[]"));
    let spoofed = |number: u8| forwarded(&format!("198.51.100.{number}"));
    assert_eq!(admitted(&open, (0..10).map(spoofed)), 3);
}

#[test]
fn attack_02_rotating_through_an_ipv6_network_or_its_spellings_is_one_caller() {
    let bed = Bed::start(THREE);
    let rotated = |number: u16| forwarded(&format!("2001:db8:7:7:{number:x}::1"));
    assert_eq!(admitted(&bed, (1..10).map(rotated)), 3);
    let spelled =
        ["2001:db8:8:8::1", "2001:0db8:0008:0008:0:0:0:1", "2001:DB8:8:8:0::1", "[2001:db8:8:8::1]:443"];
    assert_eq!(admitted(&bed, spelled.map(forwarded)), 3);
}

#[test]
fn attack_03_mapped_addresses_are_not_one_caller() {
    let bed = Bed::start(THREE);
    let mapped = |number: u8| forwarded(&format!("::ffff:203.0.113.{number}"));
    assert_eq!(admitted(&bed, (0..10).map(mapped)), 10);
    // They are the addresses that they map.
    let both = ["::ffff:203.0.113.0", "203.0.113.0", "203.0.113.0"];
    assert_eq!(admitted(&bed, both.map(forwarded)), 2);
}

#[test]
fn attack_12_parts_of_a_name_cannot_be_shifted_into_each_other() {
    let bed = Bed::start(THREE);
    let blend = |agent: &str, language: &str| {
        forwarded("203.0.113.1").header("User-Agent", agent).header("Accept-Language", language)
    };
    assert_eq!(admitted(&bed, (0..4).map(|_| blend("ab", "c"))), 3);
    for (agent, language) in [("a", "bc"), ("abc", ""), ("ab,", "c"), ("ab|c", ""), ("", "abc")] {
        assert_eq!(admitted(&bed, [blend(agent, language)]), 1, "{agent:?} {language:?}");
    }
}
