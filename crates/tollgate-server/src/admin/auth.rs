//! Who may use the admin API: the bearer of the token. What anybody may see is in one list.

mod failures;

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{AUTHORIZATION, CACHE_CONTROL};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use tollgate_core::time::Timestamp;
use tollgate_store::directory::Writer;

pub(crate) use failures::Failures;

use self::failures::Failed;
use super::problem::{Error, Problem};
use super::{Admin, Shared};

/// What needs no token: load balancers ask the first two, people open the last one in a browser.
pub(crate) const OPEN_PATHS: [&str; 3] = ["/health", "/ready", "/"];

/// The header in which whoever holds the token says who they are.
pub(crate) const ACTOR_HEADER: &str = "X-Tollgate-Actor";

/// The most characters of it.
pub(crate) const ACTOR_LENGTH_MAX: usize = 100;

/// What audit entries call the holder of the token.
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

/// Lets a call through that may pass, and forbids caches to keep the answer.
pub(crate) async fn check(State(admin): State<Shared>, mut request: Request, next: Next) -> Response {
    let mut response = match authorize(&admin, &request) {
        Ok(call) => {
            request.extensions_mut().insert(call);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    };
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn authorize(admin: &Admin, request: &Request) -> Result<Call, Problem> {
    let now = admin.engine.now();
    if OPEN_PATHS.contains(&request.uri().path()) {
        return Ok(Call { now, who: "anybody".to_owned() });
    }
    let Some(presented) = bearer(request.headers()) else {
        let detail = "Send the admin token as \"Authorization: Bearer <token>\".";
        return Err(Problem::new(Error::Unauthorized, detail));
    };
    if !admin.token.is(presented) {
        return Err(match admin.failures.lock().count(now) {
            Failed::Wrong => Problem::new(Error::Unauthorized, "The admin token is wrong."),
            Failed::TooMany { retry_after } => {
                let detail = "Too many wrong admin tokens were sent within a minute.";
                Problem::new(Error::TooManyAttempts, detail).retry_after(retry_after)
            }
        });
    }
    Ok(Call { now, who: who(request.headers())? })
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
