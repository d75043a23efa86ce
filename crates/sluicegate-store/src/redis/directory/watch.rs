//! Listening to the news of other nodes, for as long as the directory is open.

use std::sync::Arc;
use std::time::Duration;

use crate::redis::driver::Msg;
use crate::redis::driver::PubSub;

use super::Shared;
use super::ask::Server;
use super::cache::Cache;
use super::layout::{CHANNEL, FORMAT_CHANNEL};
use super::news::{News, Subject};
use crate::redis::channel::{self, PAUSE_MAX, PAUSE_MIN, jittered};
use crate::redis::link::Link;

/// How often it is looked whether the store was emptied.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// A connection over which news come.
pub(super) async fn subscribe(link: &Link) -> Option<PubSub> {
    // In this order: nobody takes this node for one of an earlier version in between.
    channel::subscribe(link, &[FORMAT_CHANNEL, CHANNEL]).await
}

/// Takes in what has changed, for ever. Starts with the connection that is there already.
pub(super) async fn watch(shared: Arc<Shared>, news: PubSub, listening: Listening) {
    let Server { link, identity } = &shared.server;
    let (mut heard, mut pause) = (Some((news, listening)), PAUSE_MIN);
    loop {
        if let Some((news, listening)) = heard {
            pause = PAUSE_MIN;
            tokio::select! {
                () = channel::listen(news, |message| hear(message, &shared, &listening.0)) => {}
                () = look_regularly(&shared.server) => {}
            }
        }
        tokio::time::sleep(jittered(pause)).await;
        pause = PAUSE_MAX.min(2 * pause);
        // A server that comes back empty, or as another, is listened to: it may be adopted by another node.
        let subscribed = match identity.claim(link).await {
            Ok(_) => subscribe(link).await,
            Err(_) => None,
        };
        heard = subscribed.map(|news| (news, Listening::begin(&shared.cache)));
    }
}

/// Looks now and then whether the store is still the one that is known, for ever. Nobody may ask it for a long time.
async fn look_regularly(Server { link, identity }: &Server) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        // What cannot be asked now is asked again.
        let _ = identity.claim(link).await;
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

fn hear(message: &Msg, shared: &Shared, cache: &Cache) {
    match str::from_utf8(message.get_payload_bytes()).ok().and_then(News::parse) {
        Some(News { of: Subject::Tokens, .. }) => shared.tokens.changed.notify_one(),
        Some(news) => cache.hear(news),
        None => {
            shared.tokens.changed.notify_one();
            cache.hear_of_anything();
        }
    }
}
