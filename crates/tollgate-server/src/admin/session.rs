//! `/admin/session`: signing in to the dashboard and out of it. A session stands for the token, in a browser only.

pub(super) mod create;
pub(super) mod delete;
pub(super) mod show;

use http::Extensions;
use serde::Serialize;
use utoipa::ToSchema;

use super::auth::{Lasts, SessionId};
use super::instant;
use crate::listen::{Peer, Scheme};

/// Whether somebody is signed in.
#[derive(Serialize, ToSchema)]
#[schema(as = Session)]
pub(crate) struct SessionBody {
    /// Whether the cookie is that of a session.
    signed_in: bool,
    /// What requests that change something send along as `X-Tollgate-CSRF`.
    #[schema(required, pattern = "^[0-9a-f]{64}$")]
    csrf: Option<String>,
    /// When the session ends in any case.
    #[schema(required, format = DateTime, example = "2026-11-02T00:00:00.000Z")]
    expires_at: Option<String>,
    /// When it ends if it is not used.
    #[schema(required, format = DateTime, example = "2026-11-01T13:00:00.000Z")]
    idle_until: Option<String>,
}

impl SessionBody {
    const NONE: Self = Self { signed_in: false, csrf: None, expires_at: None, idle_until: None };

    fn of(id: SessionId, lasts: Lasts) -> Self {
        Self {
            signed_in: true,
            csrf: Some(id.csrf()),
            expires_at: Some(instant::text(lasts.until)),
            idle_until: Some(instant::text(lasts.idle_until)),
        }
    }
}

/// How the connection was made that a request came over.
fn scheme(extensions: &Extensions) -> Scheme {
    extensions.get::<Peer>().map_or(Scheme::Http, Peer::scheme)
}
