//! Listening to the news of other nodes, for as long as the directory is open.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream as _;
use redis::Msg;
use redis::aio::PubSub;
use tokio::time::timeout;

use super::cache::Cache;
use super::claim;
use super::layout::CHANNEL;
use super::news::News;
use crate::redis::link::Link;

/// How long it may be quiet before the server is asked whether it is still there: a connection that was cut somewhere
/// on its way says nothing at all.
const QUIET: Duration = Duration::from_millis(500);
/// How long the server may take to say so.
const ANSWER: Duration = Duration::from_millis(500);
/// How long it may take to find a server, connect to it and subscribe.
const SUBSCRIBED: Duration = Duration::from_secs(3);
/// How long to wait before another attempt: at first, and at most.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(1_000);

/// A connection over which news come.
pub(super) async fn subscribe(link: &Link) -> Option<PubSub> {
    let subscribed = async {
        let mut news = link.subscriber().await.ok()?;
        news.subscribe(CHANNEL).await.ok()?;
        Some(news)
    };
    timeout(SUBSCRIBED, subscribed).await.ok().flatten()
}

/// Takes in what has changed, for ever. Starts with the connection that is there already.
pub(super) async fn watch(link: Link, fingerprint: String, news: PubSub, listening: Listening) {
    let cache = Arc::clone(&listening.0);
    let (mut heard, mut pause) = (Some((news, listening)), PAUSE_MIN);
    loop {
        if let Some((news, listening)) = heard {
            pause = PAUSE_MIN;
            listen(news, &listening).await;
        }
        tokio::time::sleep(jittered(pause)).await;
        pause = PAUSE_MAX.min(2 * pause);
        // A server that comes back empty is anybody's again.
        let subscribed = match claim(&link, &fingerprint).await {
            Ok(()) => subscribe(&link).await,
            Err(_) => None,
        };
        heard = subscribed.map(|news| (news, Listening::begin(&cache)));
    }
}

/// While this exists, changes are heard of.
pub(super) struct Listening(Arc<Cache>);

impl Listening {
    pub(super) fn begin(cache: &Arc<Cache>) -> Self {
        cache.listen();
        Self(Arc::clone(cache))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.stop_listening();
    }
}

/// Takes in what comes, until nothing can come any more.
async fn listen(news: PubSub, Listening(cache): &Listening) {
    let (mut sink, mut stream) = news.split();
    loop {
        match timeout(QUIET, poll_fn(|context| Pin::new(&mut stream).poll_next(context))).await {
            Ok(Some(message)) => hear(&message, cache),
            Ok(None) => return,
            Err(_) => match timeout(ANSWER, sink.ping::<redis::Value>()).await {
                Ok(Ok(_)) => {}
                Ok(Err(_)) | Err(_) => return,
            },
        }
    }
}

fn hear(message: &Msg, cache: &Cache) {
    match str::from_utf8(message.get_payload_bytes()).ok().and_then(News::parse) {
        Some(news) => cache.hear(news),
        None => cache.hear_of_anything(),
    }
}

/// Between half of it and all of it: nodes that lost the same server do not come back at once.
fn jittered(pause: Duration) -> Duration {
    let mut random = [0; 2];
    // Without random bytes they come at once, and are let in all the same.
    let _ = getrandom::fill(&mut random);
    pause / 2 + pause / 2 * u32::from(u16::from_le_bytes(random)) / u32::from(u16::MAX)
}
