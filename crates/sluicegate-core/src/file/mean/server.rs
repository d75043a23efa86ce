//! What `server` and `store` mean: addresses, networks, URLs.

use std::net::SocketAddr;

use super::credentials::{decision_auth, decision_may, tls_files};
use super::range::count;
use super::{allowance, section};
use crate::file::sink::Sink;
use crate::file::typed::{
    At, Field, ForwardedWord, List, ServerBody, Text, UpstreamHostWord, UpstreamProtocolWord, Verbatim,
};
use crate::file::yaml::shown;
use crate::policy::server::{BadNetwork, OVERRIDE_HEADERS};
use crate::policy::store::RedisLayout;
use crate::policy::url::BadUrl;
use crate::policy::{
    ForwardedHeader, HttpUrl, Network, PassHeaders, Proxies, ProxyProtocol, ServerSettings, StoreSettings,
    UpstreamHost, UpstreamProtocol,
};

pub(super) fn server(body: &ServerBody, sink: &mut Sink) -> Option<ServerSettings> {
    let gateway = address(&body.gateway, ServerSettings::GATEWAY_DEFAULT, sink);
    let decision = address(&body.decision, ServerSettings::DECISION_DEFAULT, sink);
    let admin = address(&body.admin, ServerSettings::ADMIN_DEFAULT, sink);
    let resp = match body.resp.given() {
        None => Some(None),
        Some(_) => address(&body.resp, ServerSettings::RESP_EXAMPLE, sink).map(Some),
    };
    report_shared(body, [gateway, decision, admin, resp.flatten()], sink);
    let upstream = match body.upstream.given() {
        None => Some(None),
        Some(at) => upstream_url(at, sink).map(Some),
    };
    let upstream_protocol = match body.upstream_protocol.value() {
        None | Some(UpstreamProtocolWord::Auto) => UpstreamProtocol::Auto,
        Some(UpstreamProtocolWord::Http2) => UpstreamProtocol::Http2,
    };
    let upstream_host = match body.upstream_host.value() {
        None | Some(UpstreamHostWord::Caller) => UpstreamHost::Caller,
        Some(UpstreamHostWord::Upstream) => UpstreamHost::Upstream,
    };
    let proxies = proxies(body, sink);
    let proxy_protocol = proxy_protocol(body, sink);
    let timeouts = section(&body.timeouts, |body| allowance::timeouts(body, sink));
    let max = section(&body.max, |body| allowance::maxima(body, sink));
    let tunnels = section(&body.tunnels, |body| allowance::tunnels(body, sink));
    let min_body_rate = allowance::min_body_rate(&body.min_body_rate, sink);
    let upstream_connections = count(
        &body.upstream_connections,
        ServerSettings::UPSTREAM_CONNECTIONS_DEFAULT,
        ServerSettings::UPSTREAM_CONNECTIONS_MAX,
        "`upstream_connections`",
        sink,
    );
    let pass_headers = pass_headers(&body.pass_headers, sink);
    Some(ServerSettings {
        gateway: gateway?,
        decision: decision?,
        admin: admin?,
        resp: resp?,
        upstream: upstream?,
        upstream_protocol,
        upstream_host,
        upstream_connections: upstream_connections?,
        proxies: proxies?,
        proxy_protocol,
        tls: tls_files(&body.tls),
        decision_tls: tls_files(&body.decision_tls),
        admin_tls: tls_files(&body.admin_tls),
        resp_tls: tls_files(&body.resp_tls),
        decision_auth: decision_auth(body),
        decision_may: decision_may(body),
        timeouts: timeouts?,
        min_body_rate: min_body_rate?,
        max: max?,
        tunnels: tunnels?,
        pass_headers: pass_headers?,
    })
}

fn pass_headers(field: &Field<List<Text>>, sink: &mut Sink) -> Option<PassHeaders> {
    let Some(list) = field.value() else {
        return Some(PassHeaders::default());
    };
    let known = |at: &At<Text>| {
        let text = at.value.0.to_ascii_lowercase();
        let known = OVERRIDE_HEADERS.into_iter().find(|name| *name == text);
        if known.is_none() {
            let otherwise = || format!("name one of {}", OVERRIDE_HEADERS.join(", "));
            let help = sink.did_you_mean(&text, OVERRIDE_HEADERS, otherwise);
            sink.report(at.place, format!("{} is no header that is removed", shown(&at.value.0)), help);
        }
        known
    };
    list.0.iter().map(known).collect::<Vec<_>>().into_iter().collect::<Option<Vec<_>>>().map(PassHeaders::new)
}

fn address(field: &Field<Verbatim>, default: SocketAddr, sink: &mut Sink) -> Option<SocketAddr> {
    let Some(at) = field.given() else {
        return Some(default);
    };
    let text = at.value.0.as_str();
    let address = text.parse().ok();
    if address.is_none() {
        let help = match text.strip_prefix("localhost:") {
            Some(port) => format!("write 127.0.0.1:{port}"),
            None if text.starts_with(':') => {
                format!("write 0.0.0.0{text} for every address, or 127.0.0.1{text}")
            }
            None if text.parse::<u16>().is_ok() => format!("write 127.0.0.1:{text}"),
            None => format!("write an IP address and a port, such as {default}"),
        };
        sink.report(at.place, format!("{} is no address to listen on", shown(text)), help);
    }
    address
}

/// Reports listeners on one address. Port 0 is whatever the system chooses.
fn report_shared(body: &ServerBody, addresses: [Option<SocketAddr>; 4], sink: &mut Sink) {
    let fields = [&body.gateway, &body.decision, &body.admin, &body.resp];
    for (first, second) in [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)] {
        let at = fields[second].given().or(fields[first].given());
        if let (Some(at), Some(address)) = (at, addresses[first])
            && addresses[second] == Some(address)
            && address.port() != 0
        {
            let help = "give gateway, decision, admin and resp a port of their own each";
            sink.report(at.place, format!("two listeners cannot share {address}"), help);
        }
    }
}

fn proxies(body: &ServerBody, sink: &mut Sink) -> Option<Proxies> {
    let header = match body.forwarded.value() {
        None | Some(ForwardedWord::XForwardedFor) => ForwardedHeader::XForwardedFor,
        Some(ForwardedWord::Forwarded) => ForwardedHeader::Forwarded,
    };
    let trusted = networks(&body.trusted_proxies, sink)?;
    Some(Proxies { trusted, header })
}

/// With nobody trusted, nobody could connect.
fn proxy_protocol(body: &ServerBody, sink: &mut Sink) -> ProxyProtocol {
    let Some(at) = body.proxy_protocol.given().filter(|at| at.value) else {
        return ProxyProtocol::Off;
    };
    let nobody = match &body.trusted_proxies {
        Field::Absent => true,
        Field::Wrong => false,
        Field::Given(list) => list.value.0.is_empty(),
    };
    if nobody {
        let help = "name the proxies in `trusted_proxies`, such as [10.0.0.0/8]";
        sink.report(
            at.key,
            "with `proxy_protocol`, only trusted proxies can connect, and there are none",
            help,
        );
    }
    ProxyProtocol::Required
}

fn networks(field: &Field<List<Text>>, sink: &mut Sink) -> Option<Vec<Network>> {
    let Some(list) = field.value() else {
        return Some(Vec::new());
    };
    let meant: Vec<Option<Network>> = list.0.iter().map(|at| network(at, sink)).collect();
    meant.into_iter().collect()
}

fn network(at: &At<Text>, sink: &mut Sink) -> Option<Network> {
    let problem = match Network::parse(&at.value.0) {
        Ok(network) => return Some(network),
        Err(problem) => problem,
    };
    let text = shown(&at.value.0);
    let (message, help) = match problem {
        BadNetwork::Address => (
            format!("{text} is no address or network"),
            "write one such as 10.0.0.0/8, 127.0.0.1 or 2001:db8::/32".to_owned(),
        ),
        BadNetwork::Prefix => (
            format!("{text} has an impossible prefix length"),
            "write 0 to 32 after the `/` for IPv4, 0 to 128 for IPv6".to_owned(),
        ),
        BadNetwork::HostBits(network) => {
            (format!("{text} has bits set beyond its prefix"), format!("write {network}"))
        }
    };
    sink.report(at.place, message, help);
    None
}

/// A URL that requests can be forwarded to.
pub(super) fn upstream_url(at: &At<Text>, sink: &mut Sink) -> Option<HttpUrl> {
    let url = http_url(at, "http://127.0.0.1:9000", sink)?;
    if url.is_upstream() {
        return Some(url);
    }
    let help = "an upstream is a scheme, a host and perhaps a path, such as http://127.0.0.1:9000/v1";
    report_url(at, "nothing can be forwarded to this URL", help, sink);
    None
}

/// A URL.
pub(super) fn http_url(at: &At<Text>, example: &str, sink: &mut Sink) -> Option<HttpUrl> {
    match HttpUrl::parse(&at.value.0) {
        Ok(url) => Some(url),
        Err(BadUrl::Password) => {
            let help = "remove the user and the password before the `@`: a policy file holds no secrets";
            report_url(at, HOLDS_CREDENTIALS, help, sink);
            None
        }
        Err(problem) => {
            let message = explain(problem, "this is no URL that starts with http:// or https://");
            report_url(at, &message, &format!("write one such as {example}"), sink);
            None
        }
    }
}

pub(super) fn store(at: &At<Text>, sink: &mut Sink) -> Option<StoreSettings> {
    let text = at.value.0.as_str();
    match StoreSettings::parse(text) {
        Ok(store) => Some(store),
        Err(BadUrl::Password) => {
            let help = "a policy file holds no secrets: put the password into the variable SLUICEGATE_REDIS_PASSWORD";
            report_url(at, HOLDS_CREDENTIALS, help, sink);
            None
        }
        Err(problem) => {
            let schemes = RedisLayout::SCHEMES.map(|(scheme, _)| format!("{scheme}://"));
            let help = match problem {
                BadUrl::Scheme if !text.contains(':') => {
                    let otherwise =
                        || format!("write embedded, or a URL that starts with {}", schemes.join(", "));
                    sink.did_you_mean(text, [StoreSettings::EMBEDDED], otherwise)
                }
                _ => "write embedded, or a URL such as redis://127.0.0.1:6379".to_owned(),
            };
            let message =
                format!("this is neither embedded nor a URL that starts with {}", schemes.join(", "));
            report_url(at, &explain(problem, &message), &help, sink);
            None
        }
    }
}

const HOLDS_CREDENTIALS: &str = "this URL holds credentials";

/// Reports something about a URL, which is not shown if it might hold a password, whatever else is wrong with it.
pub(super) fn report_url(at: &At<Text>, message: &str, help: &str, sink: &mut Sink) {
    if at.value.0.contains('@') {
        sink.report_secret(at.place, message, help);
    } else {
        sink.report(at.place, message, help);
    }
}

/// What is wrong with a URL; `scheme` says it of the scheme.
fn explain(problem: BadUrl, scheme: &str) -> String {
    match problem {
        BadUrl::Scheme => scheme.to_owned(),
        BadUrl::Host => "the host of this URL is missing or not one that can be called".to_owned(),
        BadUrl::Port => "the port of this URL is not a number from 1 to 65535".to_owned(),
        BadUrl::Password => HOLDS_CREDENTIALS.to_owned(),
        BadUrl::Character => "this URL holds white space or a control character".to_owned(),
    }
}
