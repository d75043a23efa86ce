//! Who may use the admin API: holders of the owner's token or of a named one with a large enough role, and the cookie
//! of a person who signed in with one. Paths that need no token are in one list.

pub(crate) mod cookie;
pub(crate) mod origin;
mod roles;
mod sessions;

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{AUTHORIZATION, CACHE_CONTROL};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_engine::{RefusedSignIn, SignInPort};
use sluicegate_node::Peer;
use sluicegate_store::directory::Writer;
use sluicegate_store::token::Role;

pub(crate) use sessions::{Holder, Lasts, SessionId, Sessions};

use self::origin::Comes;
use super::dashboard;
use super::mount::matched_route;
use super::problem::{Error, Problem};
use super::{Admin, Shared};

/// What needs no token: load balancers ask the first two; people open the third in a browser, and sign in at the last.
pub(crate) const OPEN_PATHS: [&str; 4] = ["/health", "/ready", "/", "/admin/session"];

/// The header that goes with the cookie where something is changed.
const CSRF_HEADER: HeaderName = HeaderName::from_static("x-sluicegate-csrf");

/// What audit entries call the holder of the owner's token.
const ADMIN: &str = "admin";

/// One call: when it came, and from whom. The clock is read once.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) now: Timestamp,
    who: String,
}

impl Call {
    /// Who calls, for people.
    pub(crate) fn who(&self) -> &str {
        &self.who
    }

    /// Who writes, for the audit entry.
    pub(crate) fn writer(self) -> Writer {
        Writer { who: self.who, now: self.now }
    }
}

impl<S: Sync> FromRequestParts<S> for Call {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts
            .extensions
            .get()
            .cloned()
            .ok_or_else(|| Problem::new(Error::Internal, "The call has no caller."))
    }
}

/// Lets a call through that may pass, and forbids caches to keep the answer unless it says how.
pub(crate) async fn check(State(admin): State<Shared>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let mut response = match authorize(&admin, &parts).await {
        Ok(call) => {
            parts.extensions.insert(call);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(problem) => problem.into_response(),
    };
    response.headers_mut().entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

async fn authorize(admin: &Admin, parts: &Parts) -> Result<Call, Problem> {
    let now = admin.engine.now();
    let path = parts.uri.path();
    if OPEN_PATHS.contains(&path) || dashboard::is_open(path) {
        return Ok(Call { now, who: "anybody".to_owned() });
    }
    if let Some(presented) = bearer(&parts.headers) {
        let holder = check_token(admin, presented, parts, now).await?;
        check_role(&holder, parts)?;
        return Ok(Call { now, who: holder.name });
    }
    if cookie::read(&parts.headers).next().is_none() {
        let detail = "Send a token as \"Authorization: Bearer <token>\".";
        return Err(Problem::new(Error::Unauthorized, detail));
    }
    let Some((id, _, holder)) = session(admin, &parts.headers, now) else {
        return Err(Problem::new(Error::Unauthorized, "The session is over. Sign in again."));
    };
    check_forged(id, parts)?;
    check_role(&holder, parts)?;
    Ok(Call { now, who: format!("{} (dashboard)", holder.name) })
}

/// The session of this router among the cookies of a request, which is used now. It ends with the token that it was
/// opened with.
pub(crate) fn session(
    admin: &Admin,
    headers: &HeaderMap,
    now: Timestamp,
) -> Option<(SessionId, Lasts, Holder)> {
    let mut sessions = admin.sessions.lock();
    let (id, lasts, holder) = cookie::read(headers)
        .find_map(|id| sessions.find(id, now).map(|(lasts, holder)| (id, lasts, holder)))?;
    let is_live = holder.token.is_none_or(|token| admin.engine.directory().is_token_live(token, now));
    if !is_live {
        sessions.close(id);
    }
    is_live.then_some((id, lasts, holder))
}

/// Who holds this token. A wrong one is delayed, counted, logged and audited; a right one is answered at once.
pub(crate) async fn check_token(
    admin: &Admin,
    presented: &[u8],
    parts: &Parts,
    now: Timestamp,
) -> Result<Holder, Problem> {
    if admin.token.is(presented) {
        return Ok(Holder { name: ADMIN.to_owned(), role: Role::Owner, token: None });
    }
    if let Some(token) = admin.engine.directory().verify_token(presented, now) {
        return Ok(Holder { name: token.name.as_str().to_owned(), role: token.role, token: Some(token.id) });
    }
    let peer = parts.extensions.get::<Peer>().map(|peer| peer.address().ip());
    let peer = peer.map(|peer| admin.engine.address_of(peer, &parts.headers));
    Err(match admin.engine.refuse_sign_in(peer, SignInPort::Admin, now).await {
        RefusedSignIn::Wrong => Problem::new(Error::Unauthorized, "The token is wrong, expired or revoked."),
        RefusedSignIn::TooMany => {
            let detail = "Too many wrong tokens were sent from this address.";
            Problem::new(Error::TooManyAttempts, detail).retry_after(Nanos::from_secs(2))
        }
    })
}

/// Whether the operation is open to this role.
fn check_role(holder: &Holder, parts: &Parts) -> Result<(), Problem> {
    // What does not exist is nobody's operation: any role may learn that.
    let Some(route) = matched_route(&parts.extensions) else { return Ok(()) };
    let needed = roles::needed(&parts.method, route);
    if holder.role.includes(needed) {
        return Ok(());
    }
    let detail = format!("This needs the role {needed}, and the token has the role {}.", holder.role);
    Err(Problem::new(Error::RoleTooSmall, detail))
}

/// A browser sends the cookie along whoever has it send a request: only our own pages may.
pub(crate) fn check_forged(id: SessionId, parts: &Parts) -> Result<(), Problem> {
    let comes = origin::of(parts);
    if comes == Comes::FromElsewhere {
        return Err(elsewhere());
    }
    if matches!(parts.method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    if comes == Comes::Unknown {
        let detail = "With the cookie, changes need an Origin or a Sec-Fetch-Site that is this server's.";
        return Err(Problem::new(Error::CrossSite, detail));
    }
    let presented = parts.headers.get(CSRF_HEADER);
    if presented.is_some_and(|presented| id.is_csrf(presented.as_bytes())) {
        return Ok(());
    }
    let detail = "With the cookie, changes need the header X-Sluicegate-CSRF as GET /admin/session gives it.";
    Err(Problem::new(Error::CrossSite, detail).field("X-Sluicegate-CSRF"))
}

/// Somebody else's page has sent it.
pub(crate) fn elsewhere() -> Problem {
    Problem::new(Error::CrossSite, "The request was sent by a page of another origin.")
}

/// The token, if the header has the form that it should have.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(AUTHORIZATION)?.as_bytes();
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}
