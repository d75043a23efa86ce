//! Clients: callers without a key, and what is held against them.

pub(super) mod reset;
pub(super) mod show;

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use sluicegate_engine::identify::ClientId;

use super::problem::{Error, Problem};

/// The client that a path names.
pub(crate) struct ClientPath(pub(crate) ClientId);

impl<S: Send + Sync> FromRequestParts<S> for ClientPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let text = Path::<String>::from_request_parts(parts, state).await;
        let id = text.ok().and_then(|Path(text)| ClientId::parse(&text));
        id.map(Self).ok_or_else(nobody)
    }
}

/// Nobody can be called so, or nobody is a client here.
fn nobody() -> Problem {
    Problem::new(Error::NotFound, "There is no such client.")
}
