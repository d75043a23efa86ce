//! Tunnels end with their caller's rights, by their settings, or when they cannot be paid for.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::bed::{STUCK, Setup, at, rest, say, status};
use crate::isolation::Limited;
use crate::upgrading::{echo, open_with};

/// A gateway before an upstream that agrees to tunnels and sends back what it gets.
async fn gateway(server: &str) -> Limited {
    let (mut endings, upstream) = echo().await;
    tokio::spawn(async move { while endings.recv().await.is_some() {} });
    Limited::before(upstream, server).await
}

async fn tunnel(gateway: &Limited, key: &str) -> TcpStream {
    open_with(gateway.address, &format!("X-API-Key: {key}\r\n")).await
}

/// Whether a byte comes back.
async fn flows(tunnel: &mut TcpStream) -> bool {
    let sent = tunnel.write_all(b"x").await.is_ok();
    sent && timeout(STUCK, tunnel.read_u8()).await.unwrap().is_ok()
}

/// Waits until the gateway closes the tunnel.
async fn closed(mut tunnel: TcpStream) {
    assert_eq!(rest(&mut tunnel).await, "");
}

#[tokio::test]
async fn a_tunnel_ends_when_its_key_is_revoked() {
    let gateway = gateway("").await;
    let (revoked, kept) = (gateway.key("acme", "open").await, gateway.key("acme", "open").await);
    let (mut ended, mut other) = (tunnel(&gateway, &revoked).await, tunnel(&gateway, &kept).await);
    assert!(flows(&mut ended).await);
    let keys = gateway.gate.accounts().keys("acme").await.unwrap();
    let id = &keys.iter().find(|key| revoked.contains(&key.id)).unwrap().id;
    gateway.gate.accounts().revoke_key(id).await.unwrap();
    closed(ended).await;
    assert!(flows(&mut other).await, "the tunnel of another key");
}

#[tokio::test]
async fn a_tunnel_ends_when_its_account_is_deleted() {
    let gateway = gateway("").await;
    let key = gateway.key("acme", "open").await;
    let mut ended = tunnel(&gateway, &key).await;
    assert!(flows(&mut ended).await);
    gateway.gate.accounts().delete("acme").await.unwrap();
    closed(ended).await;
}

#[tokio::test]
async fn a_tunnel_ends_when_its_caller_is_blocked() {
    let gateway = gateway("").await;
    let key = gateway.key("acme", "small").await;
    let mut ended = tunnel(&gateway, &key).await;
    assert!(flows(&mut ended).await);
    // Refused five times, and blocked for that.
    let request = format!("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\nx-api-key: {key}\r\n\r\n");
    for _ in 0..5 {
        assert_eq!(status(&say(gateway.address, &request).await), "HTTP/1.1 429 Too Many Requests");
    }
    closed(ended).await;
}

/// With a concurrency limit of one, which the tunnel itself takes: only its quota is charged.
#[tokio::test]
async fn a_tunnel_is_charged_by_the_minute_and_by_the_mib_and_ends_with_the_quota() {
    let gateway = gateway(", tunnels: {cost_per_minute: 100, cost_per_mib: 300}").await;
    let key = gateway.key("acme", "metered").await;
    let mut paid = tunnel(&gateway, &key).await;
    assert!(flows(&mut paid).await);
    // The request, its first minute, its first MiB.
    gateway.used("acme", 401).await;
    let part = vec![b'x'; 256 * 1024];
    let mut back = part.clone();
    for _ in 0..3 {
        paid.write_all(&part).await.unwrap();
        timeout(STUCK, paid.read_exact(&mut back)).await.unwrap().unwrap();
    }
    gateway.used("acme", 701).await;
    let sending =
        async { while paid.write_all(&part).await.is_ok() && paid.read_exact(&mut back).await.is_ok() {} };
    timeout(STUCK, sending).await.unwrap();
    assert_eq!(gateway.used_now("acme").await, 701, "a charge is made as a whole or not at all");
}

#[tokio::test]
async fn a_tunnel_that_is_silent_or_old_is_closed() {
    for settings in ["{idle: 1s}", "{max_age: 1s}"] {
        let gateway = gateway(&format!(", tunnels: {settings}")).await;
        let key = gateway.key("acme", "open").await;
        closed(tunnel(&gateway, &key).await).await;
    }
}

/// Also where no engine has decided on the request.
#[tokio::test]
async fn a_tunnel_that_flows_is_not_closed_for_being_idle() {
    let (_endings, upstream) = echo().await;
    let mut setup = Setup::to(at(upstream, ""));
    setup.forward.tunnels.idle = Duration::from_secs(2);
    let mut flowing = open_with(setup.start().address, "").await;
    for _ in 0..8 {
        assert!(flows(&mut flowing).await);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
