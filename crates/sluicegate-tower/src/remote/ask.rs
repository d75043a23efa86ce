//! What is asked about a request: who calls, as its headers say, and for what.

use std::collections::BTreeMap;
use std::net::IpAddr;

use http::HeaderMap;
use http::header::COOKIE;
use http::request::Parts;
use sluicegate_client::decision::{Caller, Check, Visitor};
use sluicegate_core::answer::ErrorCode;
use sluicegate_core::identify::{self, NameHeader, Presented};
use sluicegate_core::policy::{Identity, Proxies};

use crate::peer::{self, FindPeer};

/// How callers are told apart.
#[derive(Clone, Debug)]
pub(super) struct Asks {
    pub(super) identity: Identity,
    pub(super) proxies: Proxies,
    pub(super) peer: FindPeer,
    pub(super) hold: Hold,
    pub(super) names: Names,
}

/// What `Idempotency-Key` of a caller means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Names {
    /// Nothing: the decision service charges a name once, and a caller could make everything free with one header.
    Ignored,
    /// The service behind the layer recognises repeats by it.
    Vouched,
}

/// Whether a request is finished later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hold {
    /// Only if one of its limits needs it.
    IfNeeded,
    /// It is: its true cost may be another.
    Yes,
}

impl Asks {
    /// What is asked, or why nothing needs to be.
    pub(super) fn check(&self, parts: &Parts) -> Result<Check, ErrorCode> {
        let headers = &parts.headers;
        let peer = peer::address(self.peer, &parts.extensions);
        let address = peer.map(|peer| identify::address(peer, headers, &self.proxies));
        let mut check = match identify::presented(&self.identity, headers) {
            Presented::Key(key) => of(Caller::key(key), address),
            Presented::ServiceToken(token) => of(Caller::service_token(token), address),
            Presented::Nothing => Check::of(Caller::Visitor(self.visitor(headers, address))),
            Presented::Ambiguous => return Err(ErrorCode::AmbiguousKey),
        };
        check = match NameHeader::of(parts.method.as_str(), headers) {
            _ if self.names == Names::Ignored => check,
            NameHeader::Absent => check,
            NameHeader::Given(name) => check.idempotency_key(name),
            NameHeader::Malformed => return Err(ErrorCode::InvalidIdempotencyKey),
        };
        if self.hold == Hold::Yes {
            check = check.hold();
        }
        Ok(check.method(parts.method.clone()).path(path(parts)))
    }

    fn visitor(&self, headers: &HeaderMap, ip: Option<IpAddr>) -> Visitor {
        let names = self.identity.fingerprint.iter().map(|name| name.as_str());
        let told = names.filter_map(|name| Some((name.to_owned(), joined(headers, name, ", ")?)));
        Visitor {
            ip,
            cookie: joined(headers, COOKIE.as_str(), "; "),
            headers: told.collect::<BTreeMap<_, _>>(),
        }
    }
}

fn of(caller: Caller, address: Option<IpAddr>) -> Check {
    match address {
        Some(address) => Check::of(caller).address(address),
        None => Check::of(caller),
    }
}

/// The path; that of `OPTIONS *` is the root.
fn path(parts: &Parts) -> &str {
    Some(parts.uri.path()).filter(|path| path.starts_with('/')).unwrap_or("/")
}

/// All lines of a header as one.
fn joined(headers: &HeaderMap, name: &str, separator: &str) -> Option<String> {
    let lines = headers.get_all(name).iter().map(|line| String::from_utf8_lossy(line.as_bytes()));
    lines.map(Into::into).reduce(|all: String, line| all + separator + &line)
}
