//! Ids in paths. What cannot be an id is not found, whatever else it is.

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use sluicegate_store::directory::{AccountId, What};
use sluicegate_store::key_text::KeyId;
use sluicegate_store::token::TokenId;

use super::super::problem::Problem;

/// The account that a path names.
pub(crate) struct AccountPath(pub(crate) AccountId);

/// The key that a path names.
pub(crate) struct KeyPath(pub(crate) KeyId);

impl<S: Send + Sync> FromRequestParts<S> for AccountPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let text = Path::<String>::from_request_parts(parts, state).await;
        let id = text.ok().and_then(|Path(text)| AccountId::new(&text).ok());
        id.map(Self).ok_or_else(|| Problem::not_found(What::Account))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for KeyPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let text = Path::<String>::from_request_parts(parts, state).await;
        let id = text.ok().and_then(|Path(text)| KeyId::parse(&text));
        id.map(Self).ok_or_else(|| Problem::not_found(What::Key))
    }
}

/// The token that a path names.
pub(crate) struct TokenPath(pub(crate) TokenId);

impl<S: Send + Sync> FromRequestParts<S> for TokenPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let text = Path::<String>::from_request_parts(parts, state).await;
        let id = text.ok().and_then(|Path(text)| TokenId::parse(&text));
        id.map(Self).ok_or_else(|| Problem::not_found(What::Token))
    }
}
