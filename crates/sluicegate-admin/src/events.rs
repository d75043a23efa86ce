//! `GET /admin/v1/events`: what happens, as it happens.

mod body;
mod frame;

use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderName, Response};
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_engine::pulse::Subscription;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use self::body::EventBody;
use super::Shared;
use super::problem::{Error, Problem};
use sluicegate_node::Peer;

/// How often those who listen are told what became of requests.
const TICK: Duration = Duration::from_secs(1);

/// A line that says nothing is sent with every so many ticks, so that nobody takes the connection for a dead one.
const COMMENT_EVERY: u64 = 15;

/// How many frames wait for the connection, beside what waits for this listener in the engine.
const FRAMES_MAX: usize = 8;

/// Follow what happens
///
/// Server-sent events. `decision`: a decision in short, at most 50 a second, refusals before admissions. `tick`: once a
/// second, what became of requests in the second before. `change`: something was changed: a `reload`, an `account`, a
/// `key`, a `block`, an `alert` or the `mode`. `missed`: so many events were lost, because they were not read fast
/// enough. At most 32 may listen.
#[utoipa::path(
    get,
    path = "/admin/v1/events",
    tag = "decisions",
    operation_id = "followEvents",
    responses(
        (status = 200, description = "Events, without end", body = String, content_type = "text/event-stream"),
        (status = 503, description = "Too many listen already"),
    )
)]
pub(crate) async fn follow(
    State(admin): State<Shared>,
    peer: Option<Extension<Peer>>,
) -> Result<Response<Body>, Problem> {
    let subscription = admin.engine.pulse().subscribe().map_err(|full| {
        let detail = format!("Nobody else can listen now: {full}.");
        Problem::new(Error::Unavailable, detail).retry_after(Nanos::from_secs(10))
    })?;
    let (frames, waiting) = mpsc::channel(FRAMES_MAX);
    tokio::spawn(async move {
        tokio::select! {
            // An end that has begun does not wait for those who would listen for ever.
            () = over(peer.map(|Extension(peer)| peer)) => {}
            () = frames.closed() => {}
            () = write(&admin, subscription, &frames) => {}
        }
    });
    let mut response = Response::new(Body::new(EventBody::new(waiting)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, http::HeaderValue::from_static("text/event-stream"));
    // Some proxies would keep events back until there are many.
    headers.insert(HeaderName::from_static("x-accel-buffering"), http::HeaderValue::from_static("no"));
    Ok(response)
}

async fn over(peer: Option<Peer>) {
    match peer {
        Some(peer) => peer.draining().await,
        None => std::future::pending().await,
    }
}

/// Writes what happens until nobody reads it any more. While the reader is slow nothing is taken from the engine, which
/// counts what is lost then.
async fn write(admin: &Shared, mut subscription: Subscription, frames: &mpsc::Sender<Bytes>) {
    if frames.send(frame::comment("listening")).await.is_err() {
        return;
    }
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut told, mut round) = (whole_second(admin.engine.now()), 0_u64);
    loop {
        let text = tokio::select! {
            heard = subscription.next() => frame::heard(&heard),
            _ = ticks.tick() => {
                round += 1;
                let now = admin.engine.now();
                admin.engine.beat(now);
                let seconds = admin.engine.pulse().seconds(told, now);
                told = whole_second(now);
                frame::ticks(&seconds, admin.engine.store_mode(), round.is_multiple_of(COMMENT_EVERY))
            }
        };
        if !text.is_empty() && frames.send(text).await.is_err() {
            return;
        }
    }
}

fn whole_second(at: Timestamp) -> Timestamp {
    Timestamp::from_secs(at.as_secs())
}
