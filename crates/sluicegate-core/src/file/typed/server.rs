//! The body of `server`.

use super::{List, Span, Text, Verbatim, Whole, body, words};

body! {
    /// Addresses and what stands behind and before them. Read once, at start.
    struct ServerBody {
        /// Where callers connect. Default: 127.0.0.1:8080.
        "gateway" => gateway: Verbatim,
        /// Where decisions are asked for. Default: 127.0.0.1:8081.
        "decision" => decision: Verbatim,
        /// Where the admin API and the dashboard are. Default: 127.0.0.1:9090.
        "admin" => admin: Verbatim,
        /// Where clients of Redis ask, with CL.THROTTLE and SLUICEGATE.CHECK, such as 127.0.0.1:6380. Default: nowhere.
        "resp" => resp: Verbatim,
        /// Where admitted requests are forwarded. Default: a built-in echo.
        "upstream" => upstream: Text,
        /// What the upstream is spoken to in: HTTP/2 for calls of gRPC and HTTP/1.1 for everything else, or http2 for
        /// everything. Default: auto.
        "upstream_protocol" => upstream_protocol: UpstreamProtocolWord,
        /// What the upstream is called in `Host`: what the caller called the gateway, or its own name. Default: caller.
        "upstream_host" => upstream_host: UpstreamHostWord,
        /// How many HTTP/2 connections one upstream may have. More are opened as streams and window are used.
        /// Default: 64.
        "upstream_connections" => upstream_connections: Whole,
        /// Addresses and networks of proxies that are believed about who called them. Default: none.
        "trusted_proxies" => trusted_proxies: List<Text>,
        /// The header in which they say it; the other one is never looked at. Default: x-forwarded-for.
        "forwarded" => forwarded: ForwardedWord,
        /// Whether every connection to the gateway starts with a header of the PROXY protocol, version 1 or 2. Those
        /// that do not, and those of proxies that are not trusted, are closed. Default: false.
        "proxy_protocol" => proxy_protocol: bool,
        /// The certificate of the gateway. Default: none, plain HTTP.
        "tls" => tls: TlsBody,
        /// The certificate of the decision port. With `client_ca`, callers show a certificate in place of a token.
        /// Default: none, plain HTTP.
        "decision_tls" => decision_tls: TlsBody,
        /// The certificate of the admin port. With `client_ca`, callers show a certificate as well as a token.
        /// Default: none, plain HTTP.
        "admin_tls" => admin_tls: TlsBody,
        /// The certificate of the RESP port. With `client_ca`, clients show a certificate in place of a token.
        /// Default: none, plain TCP.
        "resp_tls" => resp_tls: TlsBody,
        /// Whether the decision port and the RESP port need a token with the role `decide`: `token` always, `none`
        /// never. Default: where the port is not on loopback.
        "decision_auth" => decision_auth: DecisionAuthWord,
        /// What callers of the decision port and the RESP port without a token may do: `vouch` for an account or a tier
        /// without its key, `refund` what was charged. Tokens have permissions of their own. Default: none.
        "decision_may" => decision_may: List<MayWord>,
        /// How long callers and the upstream may take.
        "timeouts" => timeouts: TimeoutsBody,
        /// The bytes per second, on average, that a caller must send of a body or take of an answer while the gateway
        /// waits for it. Default: none.
        "min_body_rate" => min_body_rate: Whole,
        /// How much callers may send.
        "max" => max: MaximaBody,
        /// WebSockets and other upgraded connections.
        "tunnels" => tunnels: TunnelsBody,
        /// Headers by which a caller could change what the upstream takes its request for, such as
        /// `x-http-method-override` or `cf-connecting-ip`. They are removed unless they are named here or come from
        /// `trusted_proxies`. Default: none.
        "pass_headers" => pass_headers: List<Text>,
    }
}

words! {
    /// The header in which proxies say who called them.
    enum ForwardedWord { XForwardedFor = "x-forwarded-for", Forwarded = "forwarded" }
}

words! {
    /// Whether decisions need a token.
    enum DecisionAuthWord { Token = "token", None = "none" }
}

words! {
    /// What callers without a token may do.
    enum MayWord { Vouch = "vouch", Refund = "refund" }
}

words! {
    /// What the upstream is spoken to in.
    enum UpstreamProtocolWord { Auto = "auto", Http2 = "http2" }
}

words! {
    /// What the upstream is called in `Host`.
    enum UpstreamHostWord { Caller = "caller", Upstream = "upstream" }
}

body! {
    /// A certificate chain and its key, as PEM files.
    struct TlsBody {
        /// The file of the certificate chain.
        required "cert" => cert: Text,
        /// The file of the private key.
        required "key" => key: Text,
        /// The file of the certificate authorities of callers: each must show a certificate of one of them. Default:
        /// callers need no certificate.
        "client_ca" => client_ca: Text,
    }
}

body! {
    /// How long callers and the upstream may take.
    struct TimeoutsBody {
        /// Opening a connection to the upstream. Default: 5s.
        "connect" => connect: Span,
        /// The head of the upstream's answer. Default: 60s.
        "read" => read: Span,
        /// The next part of a body, in either direction. Default: 60s.
        "idle" => idle: Span,
        /// The next part of an answer that is an event stream or a gRPC call, from the upstream. Default: 1h.
        "stream_idle" => stream_idle: Span,
        /// A whole request, from its head to the last byte of its answer. Default: none.
        "request" => request: Span,
        /// The next request on an open connection. Default: 75s.
        "keep_alive" => keep_alive: Span,
        /// The head of a request, from its first byte on. Default: 10s.
        "header" => header: Span,
    }
}

body! {
    /// How much callers may send.
    struct MaximaBody {
        /// The bytes of a request's body. Default: 104_857_600.
        "body" => body: Whole,
        /// The bytes of a request's head. Default: 32_768.
        "headers" => headers: Whole,
        /// The number of a request's headers. Default: 100.
        "header_count" => header_count: Whole,
        /// The bytes of a request's path and query. Default: 8_192.
        "uri" => uri: Whole,
        /// The connections at a time. Default: 10_000.
        "connections" => connections: Whole,
        /// The callers without a key that have meters of their own; more share some. Default: 1_000_000.
        "clients" => clients: Whole,
        /// What one address may take of it when places run short.
        "per_address" => per_address: PerAddressBody,
    }
}

body! {
    /// What one address, or one /64 of IPv6, may take while fewer than a quarter of the places are free. Peers in
    /// `trusted_proxies` are exempt; requests count for the caller that they name.
    struct PerAddressBody {
        /// The connections at a time. Default: a quarter of `connections`.
        "connections" => connections: Whole,
        /// The requests in flight at a time. Default: a quarter of `connections`.
        "requests" => requests: Whole,
        /// The handshakes at a time. Default: a quarter of `connections`.
        "handshakes" => handshakes: Whole,
    }
}

body! {
    /// WebSockets and other upgraded connections.
    struct TunnelsBody {
        /// How long neither side may send anything. Default: 10m.
        "idle" => idle: Span,
        /// How long a tunnel may last. Default: no maximum.
        "max_age" => max_age: Span,
        /// What every minute that begins costs, charged to the caller's quotas. Default: none.
        "cost_per_minute" => cost_per_minute: Whole,
        /// What every MiB that begins costs, both directions together, charged to the caller's quotas. Default: none.
        "cost_per_mib" => cost_per_mib: Whole,
    }
}
