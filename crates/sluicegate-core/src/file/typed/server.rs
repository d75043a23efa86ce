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
        /// Addresses and networks of proxies that are believed about who called them. Default: none.
        "trusted_proxies" => trusted_proxies: List<Text>,
        /// The header in which they say it; the other one is never looked at. Default: x-forwarded-for.
        "forwarded" => forwarded: ForwardedWord,
        /// Whether every connection to the gateway starts with a header of the PROXY protocol, version 1 or 2. Those
        /// that do not, and those of proxies that are not trusted, are closed. Default: false.
        "proxy_protocol" => proxy_protocol: bool,
        /// The certificate of the gateway. Default: none, plain HTTP.
        "tls" => tls: TlsBody,
        /// How long callers and the upstream may take.
        "timeouts" => timeouts: TimeoutsBody,
        /// How much callers may send.
        "max" => max: MaximaBody,
    }
}

words! {
    /// The header in which proxies say who called them.
    enum ForwardedWord { XForwardedFor = "x-forwarded-for", Forwarded = "forwarded" }
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
    }
}
