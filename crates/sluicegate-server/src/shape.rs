//! Requests that two servers could read in two ways are refused before anyone asks whose they are.
//!
//! A limit on `/api/search` is worth nothing if `/api/./search` slips past it and means the same to the upstream.
//! Rewriting a path is no way out: the signature of a caller, or a cache, may be over what was sent. So nothing is
//! rewritten: what is ambiguous is answered with 400.

use std::fmt;
use std::net::Ipv6Addr;

use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Method, Version, request};

/// What is wrong with a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// There is no `Host`.
    HostMissing,
    /// There are several `Host`s.
    HostRepeated,
    /// The `Host` names no host.
    HostInvalid,
    /// The `Host` is not the one of the request's target.
    HostDisagrees,
    /// The length of the body is given in two ways, or in one that is no length.
    LengthAmbiguous,
    /// The body is coded in a way other than `chunked`.
    CodingUnknown,
    /// The method is not written in capitals.
    MethodSmall,
    /// The path does not start with `/`.
    PathRelative,
    /// The path has `.` or `..` as a part, plain or encoded.
    PathDots,
    /// The path has two slashes in a row, or a part that begins with `;`.
    PathEmptySegment,
    /// The path has a slash or a backslash in encoded form, or a backslash.
    PathEncodedSlash,
    /// The path has a control character in encoded form.
    PathControl,
    /// The path has a `%` that is not followed by two digits.
    PathPercent,
    /// The path has characters outside of ASCII that are not encoded.
    PathNotAscii,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HostMissing => "The request has no Host header.",
            Self::HostRepeated => "The request has several Host headers.",
            Self::HostInvalid => "The Host header names no host.",
            Self::HostDisagrees => "The Host header is not the host of the request's target.",
            Self::LengthAmbiguous => "The length of the request's body is not given in exactly one way.",
            Self::CodingUnknown => "The request's Transfer-Encoding is something else than chunked.",
            Self::MethodSmall => "The request's method has small letters.",
            Self::PathRelative => "The request's path does not start with a slash.",
            Self::PathDots => "The request's path has . or .. as a part.",
            Self::PathEmptySegment => {
                "The request's path has two slashes in a row, or a part that begins with a semicolon."
            }
            Self::PathEncodedSlash => "The request's path has a backslash, or an encoded slash or backslash.",
            Self::PathControl => "The request's path has an encoded control character.",
            Self::PathPercent => {
                "The request's path has a percent sign without two hexadecimal digits after it."
            }
            Self::PathNotAscii => "The request's path has characters that should be percent-encoded.",
        })
    }
}

impl std::error::Error for Malformed {}

/// Whether the request can be read in one way only.
pub fn check(parts: &request::Parts) -> Result<(), Malformed> {
    check_host(parts)?;
    check_length(&parts.headers)?;
    // Routes name methods in capitals, and some upstreams do not care.
    if parts.method.as_str().bytes().any(|byte| byte.is_ascii_lowercase()) {
        return Err(Malformed::MethodSmall);
    }
    match parts.uri.path() {
        "*" if parts.method == Method::OPTIONS => Ok(()),
        path => check_path(path.as_bytes()),
    }
}

fn check_host(parts: &request::Parts) -> Result<(), Malformed> {
    let mut hosts = parts.headers.get_all(HOST).iter();
    let host = hosts.next();
    if hosts.next().is_some() {
        return Err(Malformed::HostRepeated);
    }
    match (host, parts.uri.authority()) {
        (None, Some(authority)) if parts.version == Version::HTTP_2 => check_authority(authority.as_str()),
        (None, _) if parts.version == Version::HTTP_10 => Ok(()),
        (None, _) => Err(Malformed::HostMissing),
        (Some(host), authority) => {
            let host = host.to_str().map_err(|_| Malformed::HostInvalid)?;
            check_authority(host)?;
            match authority {
                Some(authority) if !authority.as_str().eq_ignore_ascii_case(host) => {
                    Err(Malformed::HostDisagrees)
                }
                _ => Ok(()),
            }
        }
    }
}

/// Checks a name or an address with or without a port. Neither users nor lists have a place here.
fn check_authority(text: &str) -> Result<(), Malformed> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (text, ""),
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let named = match host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')) {
        Some(inner) => inner.parse::<Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(plain),
    };
    let numbered =
        port.is_empty() || (port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok());
    if named && numbered { Ok(()) } else { Err(Malformed::HostInvalid) }
}

fn check_length(headers: &HeaderMap) -> Result<(), Malformed> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    match (codings.next(), lengths.next()) {
        (None, None) => Ok(()),
        (Some(_), Some(_)) => Err(Malformed::LengthAmbiguous),
        (Some(coding), None) => {
            let chunked = coding.as_bytes().eq_ignore_ascii_case(b"chunked") && codings.next().is_none();
            if chunked { Ok(()) } else { Err(Malformed::CodingUnknown) }
        }
        (None, Some(length)) => {
            let digits =
                |value: &HeaderValue| !value.is_empty() && value.as_bytes().iter().all(u8::is_ascii_digit);
            let one = digits(length) && lengths.all(|other| other == length);
            if one { Ok(()) } else { Err(Malformed::LengthAmbiguous) }
        }
    }
}

/// Whether a path can be read in one way only.
pub fn check_path(path: &[u8]) -> Result<(), Malformed> {
    let Some((b'/', rest)) = path.split_first() else {
        return Err(Malformed::PathRelative);
    };
    let mut segments = rest.split(|byte| *byte == b'/').peekable();
    while let Some(segment) = segments.next() {
        if segment.is_empty() && segments.peek().is_some() {
            return Err(Malformed::PathEmptySegment);
        }
        check_segment(segment)?;
    }
    Ok(())
}

/// Checks what stands between two slashes, as a server would see it that decodes it.
fn check_segment(segment: &[u8]) -> Result<(), Malformed> {
    // What the segment is when it is decoded, as far as it consists of dots. Some servers cut it off at a `;`.
    let mut dots = Some(0_u8);
    let mut bytes = segment.iter();
    let mut ended = false;
    let mut first = true;
    while let Some(&byte) = bytes.next() {
        let decoded = match byte {
            b'%' => {
                let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
                let (high, low) = (digit(bytes.next()), digit(bytes.next()));
                let (Some(high), Some(low)) = (high, low) else {
                    return Err(Malformed::PathPercent);
                };
                match u8::try_from(high * 16 + low).unwrap_or(0) {
                    b'/' | b'\\' => return Err(Malformed::PathEncodedSlash),
                    0..=0x1f | 0x7f => return Err(Malformed::PathControl),
                    decoded => decoded,
                }
            }
            b'\\' => return Err(Malformed::PathEncodedSlash),
            0x80.. => return Err(Malformed::PathNotAscii),
            byte => byte,
        };
        match decoded {
            b'.' if !ended => dots = dots.and_then(|dots| dots.checked_add(1)),
            // Who cuts off parameters is left with an empty segment.
            b';' if first => return Err(Malformed::PathEmptySegment),
            b';' => ended = true,
            _ if !ended => dots = None,
            _ => {}
        }
        first = false;
    }
    if matches!(dots, Some(1 | 2)) { Err(Malformed::PathDots) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
