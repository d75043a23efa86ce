//! `POST /admin/v1/keys/revoke`: revokes keys that have leaked. Whole keys are compared and never repeated: neither in
//! the answer nor in a log.

use std::collections::BTreeSet;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use sluicegate_store::directory::{Verified, Writer};
use sluicegate_store::key_text::{KeyId, PresentedKey};
use utoipa::ToSchema;

use crate::auth::Call;
use crate::changes::About;
use crate::input::{JsonBody, Object, wrong};
use crate::problem::Problem;
use crate::{Admin, Shared};

/// The most keys of one call.
const KEYS_MAX: usize = 1_000;

/// Keys that have leaked.
#[derive(ToSchema)]
#[schema(as = LeakedKeys)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it describes what is read by hand, so that every complaint names its field")]
pub(crate) struct LeakedKeysBody {
    /// Ids of keys, or whole keys.
    #[schema(min_items = 1, max_items = 1000, example = json!(["4fVZ8pQ2mX0c"]))]
    keys: Vec<String>,
}

/// What became of keys that have leaked. Each is listed once, by its id.
#[derive(Serialize, ToSchema, Default)]
#[schema(as = RevokedKeys)]
pub(crate) struct RevokedKeysBody {
    /// Those that are revoked by this call.
    #[schema(example = json!(["4fVZ8pQ2mX0c"]))]
    revoked: Vec<String>,
    /// Those that were revoked before.
    already_revoked: Vec<String>,
    /// Whole keys whose id is known and whose secret is not that of the key now: nothing was done to them.
    other_secret: Vec<String>,
    /// The places in the list, from 0, of what is no key of this server.
    unknown: Vec<usize>,
}

/// Revoke keys that have leaked
///
/// Takes ids, and whole keys as they were found. A whole key is revoked if its secret is one that the key has now.
/// Every revocation is an audit entry. Whole keys are never repeated.
#[utoipa::path(
    post,
    path = "/admin/v1/keys/revoke",
    tag = "keys",
    operation_id = "revokeKeys",
    request_body = LeakedKeysBody,
    responses(
        (status = 200, description = "What became of them", body = RevokedKeysBody),
        (status = 422, description = "A field is wrong"),
    )
)]
pub(crate) async fn revoke_many(
    State(admin): State<Shared>,
    call: Call,
    JsonBody(body): JsonBody,
) -> Result<(Extension<About>, Json<RevokedKeysBody>), Problem> {
    let keys = Object::of(body, &["keys"])?.optional_texts("keys")?;
    let keys = keys.ok_or_else(|| wrong("keys", "is missing"))?;
    if keys.is_empty() || keys.len() > KEYS_MAX {
        return Err(wrong("keys", &format!("has no entry, or more than {KEYS_MAX}")));
    }
    let by = call.writer();
    let mut done = RevokedKeysBody::default();
    let mut seen = BTreeSet::new();
    for (place, text) in keys.iter().enumerate() {
        let text = text.trim();
        let presented = PresentedKey::parse(text).ok();
        let Some(id) = presented.map(|presented| presented.id).or_else(|| KeyId::parse(text)) else {
            done.unknown.push(place);
            continue;
        };
        let fate = revoke(&admin, &by, id, presented).await?;
        match fate {
            Fate::Unknown => done.unknown.push(place),
            fate if !seen.insert((fate, id)) => {}
            Fate::Revoked => done.revoked.push(id.to_string()),
            Fate::Before if done.revoked.iter().any(|revoked| *revoked == id.as_str()) => {}
            Fate::Before => done.already_revoked.push(id.to_string()),
            Fate::OtherSecret => done.other_secret.push(id.to_string()),
        }
    }
    let about = About(format!("{} that had leaked", done.revoked.len()));
    Ok((Extension(about), Json(done)))
}

/// What becomes of one key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Revoked,
    Before,
    OtherSecret,
    Unknown,
}

async fn revoke(
    admin: &Admin,
    by: &Writer,
    id: KeyId,
    presented: Option<PresentedKey<'_>>,
) -> Result<Fate, Problem> {
    let directory = admin.engine.directory();
    let Some(found) = directory.find_key(id).await? else { return Ok(Fate::Unknown) };
    if found.revoked_at.is_some() {
        return Ok(Fate::Before);
    }
    if let Some(presented) = presented {
        // What anybody can make up, an id with any secret behind it, revokes nothing.
        let verified = directory.fetch(&presented, by.now).await?;
        let has_ended = found.expires_at.is_some_and(|at| at <= by.now);
        if matches!(verified, Verified::Invalid) && !has_ended {
            return Ok(Fate::OtherSecret);
        }
    }
    directory.revoke_key(id, by).await?;
    Ok(Fate::Revoked)
}
