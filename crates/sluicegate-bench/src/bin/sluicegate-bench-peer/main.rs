//! The servers that are measured beside `sluicegate serve`: small, and with the same allocator and the same runtime.
//!
//! They are a binary of their own because the suite `core` counts allocations, which would slow them down.

mod accept;
mod empty;
mod limits;
mod proxy;

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context as _;
use clap::{Parser, ValueEnum};
use tokio::net::TcpListener;

/// As in `sluicegate`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A server to be measured beside Sluicegate.
#[derive(Parser)]
#[command(name = "sluicegate-bench-peer")]
struct Arguments {
    /// Which one
    peer: Peer,
    /// Where it listens, on the loopback address
    #[arg(long)]
    port: u16,
    /// Where `bare-proxy` sends requests
    #[arg(long)]
    upstream: Option<SocketAddr>,
    /// How many limits `limitador-axum` checks for each request
    #[arg(long, default_value_t = 2)]
    limits: u32,
}

#[derive(Clone, Copy, ValueEnum)]
enum Peer {
    /// hyper, reading the request and answering a small JSON text
    EmptyHyper,
    /// hyper, answering 100 bytes: what stands behind the proxies
    Upstream,
    /// An axum handler around the limitador crate, in memory
    LimitadorAxum,
    /// hyper forwarding to hyper, without limits
    BareProxy,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(arguments))
}

async fn serve(arguments: Arguments) -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port)).await?;
    match arguments.peer {
        Peer::EmptyHyper => accept::serve(listener, empty::Empty(empty::SMALL_JSON)).await,
        Peer::Upstream => accept::serve(listener, empty::Empty(empty::HUNDRED_BYTES)).await,
        Peer::LimitadorAxum => limits::serve(listener, arguments.limits).await,
        Peer::BareProxy => {
            let upstream = arguments.upstream.context("--upstream is wanted")?;
            accept::serve(listener, proxy::Proxy::new(upstream)?).await
        }
    }
}
