//! Who may use the admin API: the bearer of the token, or of the cookie of somebody who signed in with it. What anybody
//! may see is in one list.

pub(crate) mod cookie;
mod failures;
pub(crate) mod origin;
mod sessions;

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{AUTHORIZATION, CACHE_CONTROL};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use sluicegate_core::time::Timestamp;
use sluicegate_store::directory::Writer;

pub(crate) use failures::Failures;
pub(crate) use sessions::{Lasts, SessionId, Sessions};

use self::failures::Failed;
use self::origin::Comes;
use super::dashboard;
use super::problem::{Error, Problem};
use super::{Admin, Shared};

/// What needs no token: load balancers ask the first two; people open the third in a browser, and sign in at the last.
pub(crate) const OPEN_PATHS: [&str; 4] = ["/health", "/ready", "/", "/admin/session"];

/// The header in which whoever holds the token says who they are.
pub(crate) const ACTOR_HEADER: &str = "X-Sluicegate-Actor";

/// The most characters of it.
pub(crate) const ACTOR_LENGTH_MAX: usize = 100;

/// The header that goes with the cookie where something is changed.
const CSRF_HEADER: HeaderName = HeaderName::from_static("x-sluicegate-csrf");

/// What audit entries call the holder of the token.
const ADMIN: &str = "admin";

/// What they call whoever has signed in.
const DASHBOARD: &str = "admin (dashboard)";

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
    let mut response = match authorize(&admin, &parts) {
        Ok(call) => {
            parts.extensions.insert(call);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(problem) => problem.into_response(),
    };
    response.headers_mut().entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn authorize(admin: &Admin, parts: &Parts) -> Result<Call, Problem> {
    let now = admin.engine.now();
    let path = parts.uri.path();
    if OPEN_PATHS.contains(&path) || dashboard::is_open(path) {
        return Ok(Call { now, who: "anybody".to_owned() });
    }
    if let Some(presented) = bearer(&parts.headers) {
        check_token(admin, presented, now)?;
        return Ok(Call { now, who: who(&parts.headers)? });
    }
    if cookie::read(&parts.headers).next().is_none() {
        let detail = "Send the admin token as \"Authorization: Bearer <token>\".";
        return Err(Problem::new(Error::Unauthorized, detail));
    }
    let Some((id, _)) = session(admin, &parts.headers, now) else {
        return Err(Problem::new(Error::Unauthorized, "The session is over. Sign in again."));
    };
    check_forged(id, parts)?;
    Ok(Call { now, who: DASHBOARD.to_owned() })
}

/// The session of this router among the cookies of a request, which is used now.
pub(crate) fn session(admin: &Admin, headers: &HeaderMap, now: Timestamp) -> Option<(SessionId, Lasts)> {
    let mut sessions = admin.sessions.lock();
    cookie::read(headers).find_map(|id| sessions.find(id, now).map(|lasts| (id, lasts)))
}

/// Whether this is the admin token. Wrong ones are counted.
pub(crate) fn check_token(admin: &Admin, presented: &[u8], now: Timestamp) -> Result<(), Problem> {
    if admin.token.is(presented) {
        return Ok(());
    }
    Err(match admin.failures.lock().count(now) {
        Failed::Wrong => Problem::new(Error::Unauthorized, "The admin token is wrong."),
        Failed::TooMany { retry_after } => {
            let detail = "Too many wrong admin tokens were sent within a minute.";
            Problem::new(Error::TooManyAttempts, detail).retry_after(retry_after)
        }
    })
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

fn who(headers: &HeaderMap) -> Result<String, Problem> {
    let Some(value) = headers.get(ACTOR_HEADER) else {
        return Ok(ADMIN.to_owned());
    };
    let printable = |name: &&str| {
        !name.is_empty() && name.chars().count() <= ACTOR_LENGTH_MAX && !name.chars().any(char::is_control)
    };
    let name = str::from_utf8(value.as_bytes()).ok().map(str::trim).filter(printable);
    name.map(|name| format!("{ADMIN} ({name})")).ok_or_else(|| {
        let detail = format!("{ACTOR_HEADER} is not 1 to {ACTOR_LENGTH_MAX} printable characters.");
        Problem::new(Error::InvalidHeader, detail).field(ACTOR_HEADER)
    })
}
