//! Version 1: a line of text, `PROXY TCP4 192.0.2.1 198.51.100.1 56324 443`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Malformed, Said};

/// What every line starts with.
pub(super) const START: &[u8] = b"PROXY ";

/// The longest line that can be needed, with its end.
pub(super) const LENGTH_MAX: usize = 107;

/// Who called, by a line with its end.
pub(super) fn parse(line: &[u8]) -> Result<Said, Malformed> {
    let line = line.strip_suffix(b"\r\n").ok_or(Malformed::Line)?;
    let line = str::from_utf8(line).map_err(|_| Malformed::Line)?;
    let mut words = line.split(' ');
    if words.next() != Some("PROXY") {
        return Err(Malformed::Line);
    }
    match words.next() {
        // Whatever follows is not looked at: the proxy itself says that it means nothing.
        Some("UNKNOWN") => Ok(Said::Itself),
        Some("TCP4") => addresses::<Ipv4Addr>(words),
        Some("TCP6") => addresses::<Ipv6Addr>(words),
        _ => Err(Malformed::Line),
    }
}

/// The first of two addresses with their ports. The second one is ours, as the caller knows it.
fn addresses<'l, A>(mut words: impl Iterator<Item = &'l str>) -> Result<Said, Malformed>
where
    A: std::str::FromStr + Into<IpAddr>,
{
    let mut next = || words.next().ok_or(Malformed::Line);
    let address = |text: &str| text.parse::<A>().map(Into::into).map_err(|_| Malformed::Line);
    let (caller, _ours) = (address(next()?)?, address(next()?)?);
    let (port, _ours) = (port(next()?)?, port(next()?)?);
    match words.next() {
        None => Ok(Said::Caller(SocketAddr::new(caller, port))),
        Some(_) => Err(Malformed::Line),
    }
}

fn port(text: &str) -> Result<u16, Malformed> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain).ok_or(Malformed::Line)
}
