//! Listening to what nodes tell each other, on a connection of its own.

#[cfg(feature = "redis")]
use std::future::poll_fn;
#[cfg(feature = "redis")]
use std::pin::Pin;
use std::time::Duration;

use crate::redis::driver::Msg;
use crate::redis::driver::PubSub;
#[cfg(feature = "redis")]
use futures_core::Stream as _;
use tokio::time::timeout;

use super::link::Link;

/// How long it may be quiet before the server is asked whether it is still there: a connection that was cut somewhere
/// on its way says nothing at all.
#[cfg(feature = "redis")]
const QUIET: Duration = Duration::from_millis(500);
/// How long the server may take to say so.
#[cfg(feature = "redis")]
const ANSWER: Duration = Duration::from_millis(500);
/// How long it may take to find a server, connect to it and subscribe.
const SUBSCRIBED: Duration = Duration::from_secs(3);
/// How long to wait before another attempt: at first, and at most.
pub(super) const PAUSE_MIN: Duration = Duration::from_millis(20);
/// See [`PAUSE_MIN`].
pub(super) const PAUSE_MAX: Duration = Duration::from_millis(1_000);

/// A connection over which the messages of these channels come.
pub(super) async fn subscribe(link: &Link, channels: &[&str]) -> Option<PubSub> {
    let subscribed = async {
        let mut news = link.subscriber().await.ok()?;
        for channel in channels {
            news.subscribe(channel).await.ok()?;
        }
        Some(news)
    };
    timeout(SUBSCRIBED, subscribed).await.ok().flatten()
}

/// Takes in what comes, until nothing can come any more.
#[cfg(feature = "redis")]
pub(super) async fn listen(news: PubSub, mut hear: impl FnMut(&Msg)) {
    let (mut sink, mut stream) = news.split();
    loop {
        match timeout(QUIET, poll_fn(|context| Pin::new(&mut stream).poll_next(context))).await {
            Ok(Some(message)) => hear(&message),
            Ok(None) => return,
            Err(_) => match timeout(ANSWER, sink.ping::<super::driver::Value>()).await {
                Ok(Ok(_)) => {}
                Ok(Err(_)) | Err(_) => return,
            },
        }
    }
}

/// Never called: there is no connection in a build without a client.
#[cfg(not(feature = "redis"))]
pub(super) async fn listen(news: PubSub, _: impl FnMut(&Msg)) {
    match news.0 {}
}

/// Between half of it and all of it: nodes that lost the same server do not come back at once.
pub(super) fn jittered(pause: Duration) -> Duration {
    let mut random = [0; 2];
    // Without random bytes they come at once, and are let in all the same.
    let _ = getrandom::fill(&mut random);
    pause / 2 + pause / 2 * u32::from(u16::from_le_bytes(random)) / u32::from(u16::MAX)
}
