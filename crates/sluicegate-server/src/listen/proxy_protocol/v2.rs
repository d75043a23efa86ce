//! Version 2: a signature, four bytes that say what follows, and a block of addresses and of what else is known.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Malformed, Said};

/// What every header starts with: nothing that HTTP or TLS could start with.
pub(super) const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";

/// The bytes after it: version and command, kind of addresses, length of the block.
pub(super) const HEAD: usize = 4;

/// The largest block that is taken. Addresses have 36 bytes; what may follow them, names and certificates, is skipped.
pub(super) const BLOCK_MAX: usize = 4_096;

const VERSION: u8 = 0x20;
const LOCAL: u8 = 0x0;
const PROXY: u8 = 0x1;

const UNSPECIFIED: u8 = 0x00;
const TCP_OVER_IPV4: u8 = 0x11;
const TCP_OVER_IPV6: u8 = 0x21;
const UNIX_STREAM: u8 = 0x31;

/// How long the block is.
pub(super) fn block_length(head: [u8; HEAD]) -> Result<usize, Malformed> {
    let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
    if head[0] & 0xf0 != VERSION {
        return Err(Malformed::Unknown);
    }
    if length > BLOCK_MAX { Err(Malformed::BlockTooLong) } else { Ok(length) }
}

/// Who called, by all that follows the signature.
pub(super) fn parse(head: [u8; HEAD], block: &[u8]) -> Result<Said, Malformed> {
    match head[0] {
        command if command == VERSION | LOCAL => return Ok(Said::Itself),
        command if command == VERSION | PROXY => {}
        _ => return Err(Malformed::Unknown),
    }
    match head[1] {
        TCP_OVER_IPV4 => {
            let (caller, port) = split::<4>(block)?;
            Ok(Said::Caller(SocketAddr::new(Ipv4Addr::from(caller).into(), port)))
        }
        TCP_OVER_IPV6 => {
            let (caller, port) = split::<16>(block)?;
            Ok(Said::Caller(SocketAddr::new(Ipv6Addr::from(caller).into(), port)))
        }
        UNSPECIFIED | UNIX_STREAM => Ok(Said::Itself),
        _ => Err(Malformed::Unknown),
    }
}

/// The caller's address and port out of a block of two addresses and two ports.
fn split<const N: usize>(block: &[u8]) -> Result<([u8; N], u16), Malformed> {
    let short = Malformed::BlockTooShort;
    let (caller, rest) = block.split_first_chunk::<N>().ok_or(short)?;
    let (_ours, rest) = rest.split_first_chunk::<N>().ok_or(short)?;
    let (port, rest) = rest.split_first_chunk::<2>().ok_or(short)?;
    let (_ours, _more) = rest.split_first_chunk::<2>().ok_or(short)?;
    Ok((*caller, u16::from_be_bytes(*port)))
}
