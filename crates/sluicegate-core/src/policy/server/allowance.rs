//! How long callers and the upstream may take, and how much callers may send.

use std::time::Duration;

/// How long callers and the upstream may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timeouts {
    /// Opening a connection to the upstream.
    pub connect: Duration,
    /// The head of the upstream's answer.
    pub read: Duration,
    /// The next part of a body, in either direction.
    pub idle: Duration,
    /// The next part of an answer that is an event stream or a gRPC call, from the upstream.
    pub stream_idle: Duration,
    /// A whole request, from its head to the last byte of its answer; nothing: no maximum.
    pub request: Option<Duration>,
    /// The next request on an open connection.
    pub keep_alive: Duration,
    /// The head of a request, from its first byte on.
    pub header: Duration,
}

impl Timeouts {
    /// Several times what a connection across the world takes, with one lost packet.
    pub const CONNECT_DEFAULT: Duration = Duration::from_secs(5);
    /// What most clients and proxies wait for an answer.
    pub const READ_DEFAULT: Duration = Duration::from_secs(60);
    /// A body that stands still for longer than an answer may take is dead.
    pub const IDLE_DEFAULT: Duration = Duration::from_secs(60);
    /// Streams of events are quiet while nothing happens. One without a heartbeat for an hour is taken to be dead.
    pub const STREAM_IDLE_DEFAULT: Duration = Duration::from_secs(60 * 60);
    /// Longer than the minute after which load balancers close their end: the side that reuses a connection closes it.
    pub const KEEP_ALIVE_DEFAULT: Duration = Duration::from_secs(75);
    /// A head is a few packets. Who takes longer keeps a connection busy on purpose.
    pub const HEADER_DEFAULT: Duration = Duration::from_secs(10);
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Self::CONNECT_DEFAULT,
            read: Self::READ_DEFAULT,
            idle: Self::IDLE_DEFAULT,
            stream_idle: Self::STREAM_IDLE_DEFAULT,
            request: None,
            keep_alive: Self::KEEP_ALIVE_DEFAULT,
            header: Self::HEADER_DEFAULT,
        }
    }
}

/// How much callers may send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Maxima {
    /// The bytes of a request's body.
    pub body: u64,
    /// The bytes of a request's head.
    pub headers: u32,
    /// The number of a request's headers.
    pub header_count: u32,
    /// The bytes of a request's path and query.
    pub uri: u32,
    /// The connections at a time.
    pub connections: u32,
    /// The callers without a key that have meters of their own. More share some, so that memory has an end.
    pub clients: u32,
    /// What one address may take while places run short.
    pub per_address: PerAddress,
}

/// What one address, or one /64 of IPv6, may take while places run short.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PerAddress {
    /// The connections at a time.
    pub connections: u32,
    /// The requests in flight at a time.
    pub requests: u32,
    /// The handshakes at a time.
    pub handshakes: u32,
}

impl PerAddress {
    /// One address may take this part of the places: three more can do the same before newcomers wait.
    const DEFAULT_DIVISOR: u32 = 4;

    /// The defaults for this many connections.
    pub const fn of(connections: u32) -> Self {
        let part = connections / Self::DEFAULT_DIVISOR;
        let part = if part == 0 { 1 } else { part };
        Self { connections: part, requests: part, handshakes: part }
    }
}

impl Maxima {
    /// 100 MiB: an upload, not a disk. Bodies are passed on, not kept, so this costs no memory.
    pub const BODY_DEFAULT: u64 = 100 * 1024 * 1024;
    /// 32 KiB: large cookies and tokens fit.
    pub const HEADERS_DEFAULT: u32 = 32 * 1024;
    /// Several times what browsers send.
    pub const HEADER_COUNT_DEFAULT: u32 = 100;
    /// 8 KiB: what servers behind a gateway accept.
    pub const URI_DEFAULT: u32 = 8 * 1024;
    /// With 64 KiB for each this is at most 640 MiB; a usual one takes a tenth of that.
    pub const CONNECTIONS_DEFAULT: u32 = 10_000;
    /// About 200 MiB of meters.
    pub const CLIENTS_DEFAULT: u32 = 1_000_000;

    /// The largest body that can be asked for: 1 TiB.
    pub const BODY_MAX: u64 = 1 << 40;
    /// The smallest head that can be asked for: less is no limit but an outage.
    pub const HEADERS_MIN: u32 = 1024;
    /// The largest head that can be asked for: 1 MiB for every connection.
    pub const HEADERS_MAX: u32 = 1024 * 1024;
    /// The most headers that can be asked for.
    pub const HEADER_COUNT_MAX: u32 = 10_000;
    /// The longest path and query that can be asked for, a little less than what fits 16 bits.
    pub const URI_MAX: u32 = 65_000;
    /// The most connections that can be asked for.
    pub const CONNECTIONS_MAX: u32 = 1_000_000;
    /// The most callers without a key that can be asked for.
    pub const CLIENTS_MAX: u32 = 100_000_000;
}

impl Default for Maxima {
    fn default() -> Self {
        Self {
            body: Self::BODY_DEFAULT,
            headers: Self::HEADERS_DEFAULT,
            header_count: Self::HEADER_COUNT_DEFAULT,
            uri: Self::URI_DEFAULT,
            connections: Self::CONNECTIONS_DEFAULT,
            clients: Self::CLIENTS_DEFAULT,
            per_address: PerAddress::of(Self::CONNECTIONS_DEFAULT),
        }
    }
}
