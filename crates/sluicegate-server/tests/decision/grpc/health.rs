//! Health: asked once, and watched until the end.

use std::net::SocketAddr;
use std::time::Duration;

use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2::handshake;
use hyper_util::rt::{TokioExecutor, TokioIo};
use sluicegate_core::policy::ServerSettings;
use sluicegate_server::listen::{Listener, ServeSettings, Shutdown, serve};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client::{Client, framed};
use crate::place::{Place, wait};

const CHECK: &str = "grpc.health.v1.Health/Check";
const PLANS: &str = "tiers: {free: {rate: 1}}";
const SOON: Duration = Duration::from_secs(20);

#[test]
fn it_serves_and_says_so() {
    let place = Place::new(PLANS);
    wait(async {
        let mut client = Client::of(&place).await;
        for service in
            ["", "envoy.service.ratelimit.v3.RateLimitService", "envoy.service.auth.v3.Authorization"]
        {
            client.call(CHECK, &format!("service: '{service}'")).await.has(&["status: SERVING"]);
        }
        client
            .call(CHECK, "service: 'envoy.service.ratelimit.v2.RateLimitService'")
            .await
            .failed(5, "no service");
    });
}

#[test]
fn who_watches_is_told_of_the_end_and_does_not_hold_it_up() {
    let place = Place::new(PLANS);
    wait(async {
        let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0)), "--decision").unwrap();
        let (address, shutdown) = (listener.local_addr(), Shutdown::new());
        let settings = ServeSettings::new(&ServerSettings::default(), None);
        let served = tokio::spawn(serve(listener, settings, place.service.clone(), shutdown.clone()));
        let stream = TcpStream::connect(address).await.unwrap();
        let (mut connection, driver) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(driver);
        let mut watching = Vec::new();
        for service in [&b""[..], b"\x0a\x01x"] {
            let request = Request::post("http://sluicegate/grpc.health.v1.Health/Watch")
                .header("content-type", "application/grpc")
                .body(Full::new(bytes::Bytes::from(framed(service))))
                .unwrap();
            watching.push(connection.send_request(request).await.unwrap().into_body());
        }
        let mut unknown = watching.pop().unwrap();
        let mut known = watching.pop().unwrap();
        let first = known.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(*first, framed(b"\x08\x01"), "serving");
        let first = unknown.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(*first, framed(b"\x08\x03"), "no such service");
        assert!(
            timeout(Duration::from_millis(100), known.frame()).await.is_err(),
            "nothing changes meanwhile"
        );
        shutdown.begin();
        let second = timeout(SOON, known.frame()).await.unwrap().unwrap().unwrap().into_data().unwrap();
        assert_eq!(*second, framed(b"\x08\x02"), "not serving");
        for mut watched in [known, unknown] {
            let end = timeout(SOON, watched.frame()).await.unwrap().unwrap().unwrap();
            assert_eq!(end.into_trailers().unwrap()["grpc-status"], "14");
            assert!(timeout(SOON, watched.frame()).await.unwrap().is_none());
        }
        timeout(SOON, served).await.unwrap().unwrap();
    });
}
