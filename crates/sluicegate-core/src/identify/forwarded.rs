//! `Forwarded`, as RFC 7239 writes it: `for=192.0.2.60;proto=http, for="[2001:db8::17]:4711"`.

use std::net::IpAddr;

use super::address::{HOPS_MAX, is_port, with_port};

/// The hops of one line, from the right. A line that is not well-formed is one hop that cannot be read: where it ends
/// is not clear, and so neither is which of its hops a proxy wrote.
pub(super) fn hops(line: &[u8]) -> impl Iterator<Item = Option<IpAddr>> {
    // One more than is looked at: whoever counts them notices that there are too many.
    let mut starts = [0; HOPS_MAX + 1];
    let mut count = 0;
    let well_formed = split(line, b',', |start, _| {
        starts[count % starts.len()] = start;
        count += 1;
    });
    let mut end = line.len();
    let kept = if well_formed { count.min(starts.len()) } else { 1 };
    (0..kept).map(move |back| {
        if !well_formed {
            return None;
        }
        let start = starts[(count - 1 - back) % starts.len()];
        let element = &line[start..end];
        end = start.saturating_sub(1);
        node_of(element)
    })
}

/// Calls `part` with where each part starts and ends. Separators within quotes separate nothing. `false`: a quote
/// that was opened is not closed.
fn split(text: &[u8], separator: u8, mut part: impl FnMut(usize, usize)) -> bool {
    let (mut start, mut quoted, mut escaped) = (0, false, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if *byte == separator && !quoted => {
                part(start, at);
                start = at + 1;
            }
            _ => {}
        }
    }
    part(start, text.len());
    !quoted
}

/// The address that an element names in its one `for`.
fn node_of(element: &[u8]) -> Option<IpAddr> {
    let (mut node, mut readable) = (None, true);
    split(element, b';', |start, end| {
        let pair = element[start..end].trim_ascii();
        if pair.is_empty() {
            return;
        }
        match value_of_pair(pair) {
            None => readable = false,
            Some((name, value)) if name.eq_ignore_ascii_case("for") => {
                readable &= node.is_none();
                node = Some(value);
            }
            Some(_) => {}
        }
    });
    node.filter(|_| readable).and_then(|node| with_port(node, is_port_or_hidden))
}

/// A name and its value, without quotes. What is escaped in a value stays so: addresses have nothing to escape.
fn value_of_pair(pair: &[u8]) -> Option<(&str, &str)> {
    let (name, value) = str::from_utf8(pair).ok()?.split_once('=')?;
    let value = match value.strip_prefix('"') {
        Some(quoted) => quoted.strip_suffix('"').filter(|inner| is_inside_of_quotes(inner))?,
        None => Some(value).filter(|value| is_token(value))?,
    };
    is_token(name).then_some((name, value))
}

/// Whether there is no quote inside that is not escaped, and nothing left to escape at the end.
fn is_inside_of_quotes(text: &str) -> bool {
    let mut escaped = false;
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return false,
            _ => {}
        }
    }
    !escaped
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// A port may be one that its proxy keeps to itself.
fn is_port_or_hidden(text: &str) -> bool {
    let hidden = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    is_port(text) || text.strip_prefix('_').is_some_and(hidden)
}
