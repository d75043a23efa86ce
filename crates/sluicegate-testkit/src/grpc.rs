//! A gRPC client and a gRPC server, both tonic's, without generated code: a message is its bytes.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf as _, BufMut as _, Bytes};
use http::uri::PathAndQuery;
use tonic::body::Body;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::{MetadataKey, MetadataValue};
use tonic::server::UnaryService;
use tonic::transport::Endpoint;
use tonic::transport::server::{Server, TcpIncoming};
use tonic::{Request, Response, Status};
use tower_layer::Layer;
use tower_service::Service;

/// The method that the calls are made to.
pub const METHOD: &str = "/echo.Echo/Say";

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// Calls [`METHOD`] at this address once, with these metadata, over a connection of its own.
///
/// # Panics
///
/// If nothing listens at the address, or the metadata cannot be sent.
pub async fn call(address: SocketAddr, metadata: &[(&str, &str)], message: &str) -> Result<String, Status> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("it is a URL");
    let channel = endpoint.connect().await.expect("the server listens");
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.expect("the connection is open");
    let mut request = Request::new(Bytes::from(message.to_owned()));
    for (name, value) in metadata {
        let name = MetadataKey::from_bytes(name.as_bytes()).expect("it is a name");
        request.metadata_mut().insert(name, MetadataValue::try_from(*value).expect("it is a value"));
    }
    let reply = client.unary(request, PathAndQuery::from_static(METHOD), BytesCodec).await?;
    Ok(String::from_utf8_lossy(&reply.into_inner()).into_owned())
}

/// Starts a server that answers each call with its own message, behind this layer. It ends with the runtime.
///
/// # Panics
///
/// If there is no port.
pub fn serve_echo<L, R>(layer: L) -> SocketAddr
where
    L: Layer<Echo> + Send + 'static,
    L::Service: Service<http::Request<Body>, Response = http::Response<R>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    <L::Service as Service<http::Request<Body>>>::Future: Send,
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<AnyError>,
{
    let incoming = TcpIncoming::bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("there is a port");
    let address = incoming.local_addr().expect("it is bound");
    tokio::spawn(Server::builder().layer(layer).serve_with_incoming(Echo, incoming));
    address
}

/// The service behind the layer.
#[derive(Clone, Copy, Debug)]
pub struct Echo;

impl Service<http::Request<Body>> for Echo {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async move { Ok(tonic::server::Grpc::new(BytesCodec).unary(Say, request).await) })
    }
}

struct Say;

impl UnaryService<Bytes> for Say {
    type Response = Bytes;
    type Future = Ready<Result<Response<Bytes>, Status>>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        ready(Ok(Response::new(request.into_inner())))
    }
}

#[derive(Clone, Copy)]
struct BytesCodec;

impl Codec for BytesCodec {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for BytesCodec {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(message);
        Ok(())
    }
}

impl Decoder for BytesCodec {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}
