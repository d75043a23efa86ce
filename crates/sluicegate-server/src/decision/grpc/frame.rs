//! Messages on the wire: each has five bytes before it, a flag and a length.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use http_body::Body;
use prost::Message;

use super::super::body;
use super::status::{Code, Status};

/// The largest message. A call of a proxy is a few hundred bytes; one with a hundred descriptors fits.
pub(super) const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// The flag and the length.
const PREFIX: usize = 5;

/// Reads the one message of a call. One that comes in one piece is not copied.
pub(super) async fn read_one<B, M>(body: &mut B) -> Result<M, Status>
where
    B: Body<Data = Bytes> + Unpin,
    M: Message + Default,
{
    let mut first = piece(body).await?.unwrap_or_default();
    if let Some(length) = declared(&first)?
        && first.len() == PREFIX + length
        && body.is_end_stream()
    {
        first.advance(PREFIX);
        return decoded(first);
    }
    let mut messages = Messages { body, held: BytesMut::from(&first[..]) };
    let one = messages.next().await?;
    match (one, messages.next().await?) {
        (Some(one), None) => decoded(one),
        (None, _) => Err(Status::new(Code::InvalidArgument, "the call has no message")),
        (Some(_), Some(_)) => Err(Status::new(Code::InvalidArgument, "the call has more than one message")),
    }
}

/// The messages of a body, one after the other.
pub(super) struct Messages<B> {
    body: B,
    held: BytesMut,
}

impl<B> Messages<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    pub(super) fn new(body: B) -> Self {
        Self { body, held: BytesMut::new() }
    }

    /// The next one; nothing at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Status> {
        loop {
            if let Some(length) = declared(&self.held)?
                && self.held.len() - PREFIX >= length
            {
                self.held.advance(PREFIX);
                return Ok(Some(self.held.split_to(length).freeze()));
            }
            match piece(&mut self.body).await? {
                Some(more) => self.held.extend_from_slice(&more),
                None if self.held.is_empty() => return Ok(None),
                None => return Err(Status::new(Code::InvalidArgument, "the message broke off")),
            }
        }
    }
}

/// How long the message that begins here is, if that much of it has come. It is refused by its first five bytes.
fn declared(held: &[u8]) -> Result<Option<usize>, Status> {
    let Some((&[flag, a, b, c, d], _)) = held.split_first_chunk::<PREFIX>() else { return Ok(None) };
    if flag != 0 {
        return Err(Status::new(Code::Unimplemented, "messages are not taken compressed"));
    }
    let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
    if length > MESSAGE_BYTES_MAX {
        let message = format!("a message may have at most {MESSAGE_BYTES_MAX} bytes");
        return Err(Status::new(Code::ResourceExhausted, message));
    }
    Ok(Some(length))
}

async fn piece<B>(body: &mut B) -> Result<Option<Bytes>, Status>
where
    B: Body<Data = Bytes> + Unpin,
{
    body::piece(body).await.map_err(|_| Status::new(Code::Cancelled, "the call broke off"))
}

/// A message from its bytes.
pub(super) fn decoded<M: Message + Default>(bytes: Bytes) -> Result<M, Status> {
    M::decode(bytes)
        .map_err(|error| Status::new(Code::InvalidArgument, format!("the message cannot be read: {error}")))
}

/// A message with its prefix.
pub(super) fn framed(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut framed = BytesMut::with_capacity(PREFIX + length);
    framed.put_u8(0);
    // Answers are far smaller than the largest message there is.
    framed.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    message.encode_raw(&mut framed);
    framed.freeze()
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use http_body::Frame;

    use super::super::message::health::HealthCheckRequest;
    use super::*;

    struct Pieces(VecDeque<Bytes>);

    impl Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
        }
    }

    async fn read(pieces: &[&[u8]]) -> Result<String, Code> {
        let mut body = Pieces(pieces.iter().map(|piece| Bytes::copy_from_slice(piece)).collect());
        let read: Result<HealthCheckRequest, _> = read_one(&mut body).await;
        read.map(|request| request.service).map_err(|status| status.code())
    }

    #[tokio::test]
    async fn a_message_is_read_however_it_comes() {
        let whole = b"\0\0\0\0\x05\x0a\x03abc";
        assert_eq!(read(&[whole]).await, Ok("abc".to_owned()));
        for cut in 0..whole.len() {
            assert_eq!(read(&[&whole[..cut], &whole[cut..]]).await, Ok("abc".to_owned()), "{cut}");
        }
        let bytes: Vec<&[u8]> = whole.chunks(1).collect();
        assert_eq!(read(&bytes).await, Ok("abc".to_owned()));
        assert_eq!(read(&[b"\0\0\0\0\0"]).await, Ok(String::new()), "an empty message is one");
    }

    #[tokio::test]
    async fn what_is_no_message_is_refused() {
        for (piece, code) in [
            (&b""[..], Code::InvalidArgument),
            (b"\0\0\0", Code::InvalidArgument),
            (b"\0\0\0\0\x05\x0a\x03ab", Code::InvalidArgument),
            (b"\0\0\0\0\x05\x0a\x03abc\0", Code::InvalidArgument),
            (b"\0\0\0\0\0\0\0\0\0\0", Code::InvalidArgument),
            (b"\0\0\0\0\x02\x0a\x05", Code::InvalidArgument),
            (b"\x01\0\0\0\0", Code::Unimplemented),
            (b"\0\xff\xff\xff\xff", Code::ResourceExhausted),
            (b"\0\0\x10\0\x01", Code::ResourceExhausted),
        ] {
            assert_eq!(read(&[piece]).await, Err(code), "{piece:?}");
            assert_eq!(read(&[piece, b""]).await, Err(code), "{piece:?}");
        }
    }

    #[test]
    fn what_is_framed_can_be_read() {
        let framed = framed(&HealthCheckRequest { service: "abc".to_owned() });
        assert_eq!(framed, &b"\0\0\0\0\x05\x0a\x03abc"[..]);
    }
}
