//! A caller that knows the services by their descriptors alone, and writes and reads messages as text.

use std::fmt::Write as _;
use std::net::SocketAddr;

use bytes::{BufMut as _, Bytes, BytesMut};
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost_reflect::prost::Message as _;
use prost_reflect::text_format::FormatOptions;
use prost_reflect::{DescriptorPool, DynamicMessage, MethodDescriptor};
use tokio::net::TcpStream;

use crate::place::Place;
use crate::wire::start;

pub(crate) const RATE_LIMIT: &str = "envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
pub(crate) const CHECK: &str = "envoy.service.auth.v3.Authorization/Check";

pub(crate) fn pool() -> DescriptorPool {
    DescriptorPool::decode(&include_bytes!("../../../proto/descriptors.bin")[..]).unwrap()
}

pub(crate) fn method(path: &str) -> MethodDescriptor {
    let (service, name) = path.split_once('/').unwrap();
    let service = pool().get_service_by_name(service).unwrap();
    service.methods().find(|method| method.name() == name).unwrap()
}

/// A message with its five bytes before it.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    let mut framed = BytesMut::new();
    framed.put_u8(0);
    framed.put_u32(message.len().try_into().unwrap());
    framed.extend_from_slice(message);
    framed.to_vec()
}

/// The messages in a body.
pub(crate) fn unframed(mut body: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while let Some((&[flag, a, b, c, d], rest)) = body.split_first_chunk::<5>() {
        assert_eq!(flag, 0);
        let (message, rest) = rest.split_at(u32::from_be_bytes([a, b, c, d]) as usize);
        messages.push(message.to_vec());
        body = rest;
    }
    assert!(body.is_empty());
    messages
}

/// How a call ended, and the messages it gave.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) http_status: u16,
    pub(crate) grpc_status: Option<u8>,
    pub(crate) message: String,
    pub(crate) body: Bytes,
}

/// An answer as text, in which fields can be looked for.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: u8,
    pub(crate) message: String,
    pub(crate) text: String,
}

impl Said {
    /// Whether all of these stand in the answer.
    #[track_caller]
    pub(crate) fn has(&self, parts: &[&str]) {
        assert_eq!(self.status, 0, "{}", self.message);
        for part in parts {
            assert!(self.text.contains(part), "{part} is not in\n{}", self.text);
        }
    }

    /// The call failed with this code, and a word of the message.
    #[track_caller]
    pub(crate) fn failed(&self, status: u8, word: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert!(self.message.contains(word), "{self:?}");
    }
}

pub(crate) struct Client {
    connection: SendRequest<Full<Bytes>>,
    pub(crate) transcript: String,
    /// The token of the port.
    pub(crate) bearer: Option<String>,
}

impl Client {
    pub(crate) async fn of(place: &Place) -> Self {
        Self::to(start(place)).await
    }

    pub(crate) async fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let (connection, driver) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(driver);
        Self { connection, transcript: String::new(), bearer: None }
    }

    /// Sends these bytes as the body of a call.
    pub(crate) async fn send(&self, path: &str, body: Vec<u8>) -> Ended {
        let request = Request::post(format!("http://sluicegate/{path}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers");
        let request = match &self.bearer {
            None => request,
            Some(token) => request.header("authorization", format!("Bearer {token}")),
        };
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        let (head, body) = self.connection.clone().send_request(request).await.unwrap().into_parts();
        let collected = body.collect().await.unwrap();
        let trailers = collected.trailers().cloned().unwrap_or_default();
        let said = |name: &str| find(&head.headers, name).or_else(|| find(&trailers, name));
        Ended {
            http_status: head.status.as_u16(),
            grpc_status: said("grpc-status").map(|status| status.parse().unwrap()),
            message: said("grpc-message").unwrap_or_default(),
            body: collected.to_bytes(),
        }
    }

    /// Calls with a message as text.
    pub(crate) async fn call(&mut self, path: &str, text: &str) -> Said {
        self.call_as(path, text, text).await
    }

    /// The same, of which something else is written down: keys are not the same each time.
    pub(crate) async fn call_as(&mut self, path: &str, text: &str, shown: &str) -> Said {
        let (input, output) = (method(path).input(), method(path).output());
        let asked = DynamicMessage::parse_text_format(input, text).unwrap();
        let ended = self.send(path, framed(&asked.encode_to_vec())).await;
        let answers = unframed(&ended.body).into_iter().map(|bytes| {
            let answer = DynamicMessage::decode(output.clone(), &*bytes).unwrap();
            answer.to_text_format_with_options(&FormatOptions::new().pretty(true))
        });
        let said = Said {
            status: ended.grpc_status.unwrap(),
            message: ended.message,
            text: answers.collect::<Vec<_>>().join("\n"),
        };
        let out = &mut self.transcript;
        writeln!(out, "> {path}\n> {shown}\n< {} {}\n{}\n", said.status, said.message, said.text).unwrap();
        said
    }

    /// A call of the rate limit service with these descriptors, in which keys stand by name.
    pub(crate) async fn limit(&mut self, place: &Place, descriptors: &str) -> Said {
        let text = format!("domain: 'api' {descriptors}");
        self.call_as(RATE_LIMIT, &place.with_keys(&text), &text).await
    }

    /// A call of external authorization with these attributes of the request.
    pub(crate) async fn check(&mut self, place: &Place, http: &str) -> Said {
        let text = format!(
            "attributes {{ source {{ address {{ socket_address {{ address: '192.0.2.9' }} }} }} \
             request {{ http {{ {http} }} }} }}"
        );
        self.call_as(CHECK, &place.with_keys(&text), &text).await
    }
}

fn find(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).map(|value| value.to_str().unwrap().to_owned())
}

/// A descriptor with these entries, and whatever else it has.
pub(crate) fn descriptor(entries: &[(&str, &str)], more: &str) -> String {
    let entries: String =
        entries.iter().map(|(key, value)| format!("entries {{ key: '{key}' value: '{value}' }} ")).collect();
    format!("descriptors {{ {entries}{more} }}")
}
