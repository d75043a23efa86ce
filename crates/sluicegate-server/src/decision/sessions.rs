//! `POST /v1/sessions`: a caller that passed a challenge gets its cookie.
//!
//! Nothing is kept about it: the cookie is signed. Whatever goes wrong, there is no cookie.

mod asked;
mod siteverify;

use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use http::header::SET_COOKIE;
use http::{HeaderValue, Request, StatusCode};
use http_body::Body;
use sluicegate_core::policy::SessionCookie;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::identify::SessionId;
use sluicegate_engine::{Engine, Minting};
use tokio::sync::Semaphore;

use siteverify::{Verdict, verify};

use super::refusal::Refusal;
use super::{Reply, body, reply};
use crate::listen::Peer;

/// An answer to a challenge is far smaller.
const BODY_BYTES_MAX: usize = 16 * 1_024;
/// The most answers that are verified at a time. Anyone may ask for that, and every one is a call to somebody else.
const VERIFIED_AT_ONCE_MAX: usize = 64;
/// How often it is said that answers cannot be verified.
const TELL_EVERY_SECS: u32 = 60;

/// What the verifications of all requests have in common.
#[derive(Debug)]
pub(super) struct Verifying {
    places: Semaphore,
    /// When it was last said that answers cannot be verified; 0: never.
    told: AtomicU32,
}

impl Default for Verifying {
    fn default() -> Self {
        Self { places: Semaphore::new(VERIFIED_AT_ONCE_MAX), told: AtomicU32::new(0) }
    }
}

impl Verifying {
    /// Says why answers cannot be verified, and not for each of a thousand.
    fn tell(&self, why: &dyn std::fmt::Display, now: Timestamp) {
        let (now, told) = (now.as_secs(), self.told.load(Ordering::Relaxed));
        if now.saturating_sub(told) >= TELL_EVERY_SECS {
            self.told.store(now, Ordering::Relaxed);
            tracing::warn!("no sessions are issued, because no challenge can be verified: {why}");
        }
    }
}

pub(super) async fn post<B>(
    engine: &Engine,
    verifying: &Verifying,
    mut request: Request<B>,
    peer: Option<&Peer>,
) -> Result<Reply, Refusal>
where
    B: Body<Data = Bytes> + Unpin,
{
    let policy = engine.policy();
    let identity = &policy.policy().identity;
    let challenge = identity.challenge.as_ref().ok_or(Refusal::NoSessions)?;
    let address = peer.map(|peer| engine.address_of(peer.address().ip(), request.headers()));
    // Before the body is read: anyone may send one.
    if let Some(denial) = address.and_then(|address| engine.check_ip_limit(address, engine.now())) {
        return Err(Refusal::Limited(denial));
    }
    let body = body::read_form(&mut request, BODY_BYTES_MAX).await?;
    let response = asked::response(&body)?;
    // A session that would not be issued is not worth a call to the verifier.
    mint(engine, address, Minting::Peek).await?;
    let _place = verifying.places.try_acquire().map_err(|_| Refusal::CannotVerify)?;
    match verify(challenge, &response, address).await {
        Verdict::Passed => {}
        Verdict::Failed => return Err(Refusal::ChallengeFailed),
        Verdict::Unknown(why) => {
            verifying.tell(&why, engine.now());
            return Err(Refusal::CannotVerify);
        }
    }
    // Two answers may have been verified at once: the last word is with the charge.
    mint(engine, address, Minting::Issue).await?;
    let session = SessionId::random().map_err(|_| Refusal::CannotVerify)?;
    let cookie = &identity.session_cookie;
    let value = engine.sessions().sign(session, engine.now().plus(cookie.max_age));
    let mut reply = reply::bare(StatusCode::NO_CONTENT);
    if let Ok(line) = HeaderValue::try_from(set_cookie(cookie, &value)) {
        reply.headers_mut().insert(SET_COOKIE, line);
    }
    Ok(reply)
}

/// Whether an address is issued another session.
async fn mint(engine: &Engine, address: Option<IpAddr>, minting: Minting) -> Result<(), Refusal> {
    match address {
        Some(address) => engine.mint_session(address, minting, engine.now()).await.map_err(Refusal::Limited),
        None => Ok(()),
    }
}

/// For all of the site, over TLS alone, out of reach of scripts, and not sent along from other sites unless someone
/// follows a link.
fn set_cookie(cookie: &SessionCookie, value: &str) -> String {
    let (name, secs) = (cookie.name(), cookie.max_age.as_secs_ceil());
    format!("{name}={value}; Max-Age={secs}; Path=/; HttpOnly; Secure; SameSite=Lax")
}
