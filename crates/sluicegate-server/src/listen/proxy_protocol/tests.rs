//! Headers, well made and otherwise.

use std::net::{IpAddr, SocketAddr};

use proptest::prelude::*;

use super::*;

fn line(text: &str) -> Result<String, Malformed> {
    v1::parse(text.as_bytes()).map(shown)
}

fn shown(said: Said) -> String {
    match said {
        Said::Caller(caller) => caller.to_string(),
        Said::Itself => "itself".to_owned(),
    }
}

#[test]
fn lines_of_version_1_name_the_caller() {
    for (text, caller) in [
        ("PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n", "192.0.2.1:56324"),
        ("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", "255.255.255.255:65535"),
        ("PROXY TCP4 192.0.2.1 198.51.100.1 0 443\r\n", "192.0.2.1:0"),
        ("PROXY TCP6 2001:db8::1 2001:db8::2 56324 443\r\n", "[2001:db8::1]:56324"),
        ("PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\n", "[::ffff:192.0.2.1]:1"),
        ("PROXY UNKNOWN\r\n", "itself"),
        ("PROXY UNKNOWN ffff::1 junk and more\r\n", "itself"),
    ] {
        assert!(text.len() <= v1::LENGTH_MAX);
        assert_eq!(line(text).unwrap(), caller);
    }
    let longest = ["ffff"; 8].join(":");
    let longest = format!("PROXY UNKNOWN {longest} {longest} 65535 65535\r\n");
    assert_eq!((longest.len(), line(&longest).unwrap().as_str()), (v1::LENGTH_MAX, "itself"));
}

#[test]
fn lines_that_say_anything_else_are_malformed() {
    for text in [
        "",
        "\r\n",
        "PROXY\r\n",
        "PROXY \r\n",
        "PROXY TCP4\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443",
        "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 56324\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443 1\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443 \r\n",
        "PROXY TCP4  192.0.2.1 198.51.100.1 56324 443\r\n",
        "PROXY TCP4 2001:db8::1 2001:db8::2 56324 443\r\n",
        "PROXY TCP6 192.0.2.1 198.51.100.1 56324 443\r\n",
        "PROXY TCP4 192.0.2.01 198.51.100.1 56324 443\r\n",
        "PROXY TCP4 192.0.2.1 junk 56324 443\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 65536 443\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 +1 443\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 01 443\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 1 -1\r\n",
        "PROXY UDP4 192.0.2.1 198.51.100.1 1 2\r\n",
        "PROXY tcp4 192.0.2.1 198.51.100.1 1 2\r\n",
        "proxy TCP4 192.0.2.1 198.51.100.1 1 2\r\n",
        "PROXY\tTCP4 192.0.2.1 198.51.100.1 1 2\r\n",
    ] {
        assert_eq!(line(text), Err(Malformed::Line), "{text:?}");
    }
    assert_eq!(v1::parse(b"PROXY TCP4 \xff\r\n"), Err(Malformed::Line));
}

fn block(command: u8, kind: u8, block: &[u8]) -> Result<String, Malformed> {
    let length = u16::try_from(block.len()).unwrap().to_be_bytes();
    let head = [command, kind, length[0], length[1]];
    assert_eq!(v2::block_length(head), Ok(block.len()));
    v2::parse(head, block).map(shown)
}

#[test]
fn blocks_of_version_2_name_the_caller() {
    let v4 = [192, 0, 2, 1, 198, 51, 100, 1, 0xdc, 0x04, 1, 187];
    assert_eq!(block(0x21, 0x11, &v4).unwrap(), "192.0.2.1:56324");
    let with_more = [&v4[..], &[0x01, 0, 2, b'h', b'2']].concat();
    assert_eq!(block(0x21, 0x11, &with_more).unwrap(), "192.0.2.1:56324");
    let mut v6 = [0; 36];
    v6[..2].copy_from_slice(&[0x20, 0x01]);
    v6[15] = 9;
    v6[33] = 80;
    assert_eq!(block(0x21, 0x21, &v6).unwrap(), "[2001::9]:80");
    for (command, kind) in [(0x20, 0x00), (0x20, 0x11), (0x20, 0xff), (0x21, 0x00), (0x21, 0x31)] {
        assert_eq!(block(command, kind, &[]).unwrap(), "itself");
        assert_eq!(block(command, 0x00, &v4).unwrap(), "itself");
    }
}

#[test]
fn blocks_that_say_anything_else_are_malformed() {
    let v4 = [192, 0, 2, 1, 198, 51, 100, 1, 0xdc, 0x04, 1, 187];
    for length in 0..12 {
        assert_eq!(block(0x21, 0x11, &v4[..length]), Err(Malformed::BlockTooShort));
    }
    assert_eq!(block(0x21, 0x21, &[0; 35]), Err(Malformed::BlockTooShort));
    for (command, kind) in
        [(0x22, 0x11), (0x2f, 0x11), (0x21, 0x12), (0x21, 0x22), (0x21, 0x32), (0x21, 0x41)]
    {
        assert_eq!(block(command, kind, &v4), Err(Malformed::Unknown), "{command:x} {kind:x}");
    }
    for version in [0x01, 0x11, 0x31, 0xf1] {
        assert_eq!(v2::block_length([version, 0x11, 0, 12]), Err(Malformed::Unknown));
    }
    assert_eq!(v2::block_length([0x21, 0x11, 0x10, 0x00]), Ok(v2::BLOCK_MAX));
    assert_eq!(v2::block_length([0x21, 0x11, 0x10, 0x01]), Err(Malformed::BlockTooLong));
}

proptest! {
    #[test]
    fn no_bytes_are_too_much(
        bytes: Vec<u8>,
        head: [u8; v2::HEAD],
        words in "PROXY( (TCP4|TCP6|UNKNOWN|[0-9a-f.:]{1,20})){0,7} ?\r\n",
    ) {
        let _ = v1::parse(&bytes);
        let _ = v1::parse(words.as_bytes());
        let _ = v2::block_length(head);
        let _ = v2::parse(head, &bytes);
        let _ = v2::parse([0x21, head[1], head[2], head[3]], &bytes);
    }

    #[test]
    fn both_versions_say_the_same(caller: SocketAddr, more: Vec<u8>) {
        let (family, kind) = if caller.is_ipv4() { ("TCP4", 0x11) } else { ("TCP6", 0x21) };
        let line = format!("PROXY {family} {0} {0} {1} {1}\r\n", caller.ip(), caller.port());
        let address = match caller.ip() {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        let port = caller.port().to_be_bytes();
        let block = [&address[..], &address, &port, &port, &more].concat();
        let expected = SocketAddr::new(caller.ip(), caller.port());
        prop_assert_eq!(v1::parse(line.as_bytes()), Ok(Said::Caller(expected)));
        prop_assert_eq!(v2::parse([0x21, kind, 0, 0], &block), Ok(Said::Caller(expected)));
    }
}
