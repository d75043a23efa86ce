//! The body of `server`.

use super::{List, Text, Verbatim, body};

body! {
    /// Addresses and what stands behind and before them. Read once, at start.
    struct ServerBody {
        /// Where callers connect. Default: 127.0.0.1:8080.
        "gateway" => gateway: Verbatim,
        /// Where decisions are asked for. Default: 127.0.0.1:8081.
        "decision" => decision: Verbatim,
        /// Where the admin API and the dashboard are. Default: 127.0.0.1:9090.
        "admin" => admin: Verbatim,
        /// Where admitted requests are forwarded. Default: a built-in echo.
        "upstream" => upstream: Text,
        /// Addresses and networks whose `X-Forwarded-For` is believed. Default: none.
        "trusted_proxies" => trusted_proxies: List<Text>,
        /// The certificate of the gateway. Default: none, plain HTTP.
        "tls" => tls: TlsBody,
    }
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
