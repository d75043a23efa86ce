//! Listening to the news of other nodes, for as long as the directory is open.

use std::sync::Arc;

use crate::redis::driver::Msg;
use crate::redis::driver::PubSub;

use super::cache::Cache;
use super::claim;
use super::layout::CHANNEL;
use super::news::News;
use crate::redis::channel::{self, PAUSE_MAX, PAUSE_MIN, jittered};
use crate::redis::link::Link;

/// A connection over which news come.
pub(super) async fn subscribe(link: &Link) -> Option<PubSub> {
    channel::subscribe(link, CHANNEL).await
}

/// Takes in what has changed, for ever. Starts with the connection that is there already.
pub(super) async fn watch(link: Link, fingerprint: String, news: PubSub, listening: Listening) {
    let cache = Arc::clone(&listening.0);
    let (mut heard, mut pause) = (Some((news, listening)), PAUSE_MIN);
    loop {
        if let Some((news, listening)) = heard {
            pause = PAUSE_MIN;
            channel::listen(news, |message| hear(message, &listening.0)).await;
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

fn hear(message: &Msg, cache: &Cache) {
    match str::from_utf8(message.get_payload_bytes()).ok().and_then(News::parse) {
        Some(news) => cache.hear(news),
        None => cache.hear_of_anything(),
    }
}
