//! `POST /admin/v1/blocks`: blocks a caller on every node.

use axum::extract::State;
use axum::{Extension, Json};
use http::StatusCode;
use serde_json::Value;
use sluicegate_core::block::{Block, Caller, Origin, Reason};
use sluicegate_core::file::duration_secs;
use sluicegate_core::time::Nanos;
use sluicegate_engine::identify::ClientId;
use sluicegate_store::directory::{Deed, Note};
use sluicegate_store::key_text::KeyId;
use utoipa::ToSchema;

use super::{BlockBody, caller_of_key, caller_text, noted};
use crate::auth::Call;
use crate::changes::About;
use crate::input::{JsonBody, Object, wrong};
use crate::problem::Problem;
use crate::{Admin, Shared};

/// What heals by itself if it was a mistake.
const LENGTH_DEFAULT_SECS: u32 = 3_600;

/// An address has another owner after a year.
const LENGTH_MAX_SECS: u32 = 365 * 86_400;

/// Who is to be blocked: a client or a key.
#[derive(ToSchema)]
#[schema(as = NewBlock)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it describes what is read by hand, so that every complaint names its field")]
pub(crate) struct NewBlockBody {
    /// The client.
    #[schema(pattern = "^cl_[0-9a-f]{32}$", example = "cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0")]
    client: Option<String>,
    /// The id of the key, in place of a client.
    #[schema(pattern = "^[0-9A-Za-z]{12}$")]
    key: Option<String>,
    /// For how long, from 1s to 365d; absent: 1h.
    #[schema(pattern = "^([0-9]+(s|m|h|d))+$", example = "24h")]
    r#for: Option<String>,
    /// Why, for whoever reads the list.
    #[schema(max_length = 200, example = "scrapes the catalogue")]
    reason: Option<String>,
}

/// Block a caller
///
/// Every node refuses it within a second. A caller that is blocked already is blocked for as long as this says instead.
#[utoipa::path(
    post,
    path = "/admin/v1/blocks",
    tag = "abuse",
    operation_id = "createBlock",
    request_body = NewBlockBody,
    responses(
        (status = 201, description = "The block", body = BlockBody),
        (status = 404, description = "There is no such key"),
        (status = 422, description = "A field is wrong"),
    )
)]
pub(crate) async fn create(
    State(admin): State<Shared>,
    call: Call,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Extension<About>, Json<BlockBody>), Problem> {
    let now = call.now;
    let New { caller, length, reason } = read(&admin, body).await?;
    let block = Block { caller, since: now, until: now.plus(length), origin: Origin::Manual, reason };
    let note = Note {
        deed: Deed::Block,
        target: caller_text(caller),
        before: admin.engine.block_of(caller, now).as_ref().map(noted),
        after: Some(noted(&block)),
    };
    // First: what is done without an entry is worse than an entry of what was tried.
    admin.engine.directory().note(note, &call.writer()).await?;
    let block = admin.engine.block(block, now).await?;
    let about = About(caller_text(caller));
    Ok((StatusCode::CREATED, Extension(about), Json(BlockBody::of(&block))))
}

/// What is to be done.
struct New {
    caller: Caller,
    length: Nanos,
    reason: Option<Reason>,
}

async fn read(admin: &Admin, body: Value) -> Result<New, Problem> {
    let mut body = Object::of(body, &["client", "key", "for", "reason"])?;
    let (client, key) = (body.optional_text("client")?, body.optional_text("key")?);
    let length = match body.optional_text("for")? {
        Some(text) => length(&text)?,
        None => Nanos::from_secs(LENGTH_DEFAULT_SECS),
    };
    let reason = body.optional_text("reason")?.map(|text| {
        Reason::new(&text).map_err(|bad| wrong("reason", &bad.to_string().replacen("it ", "", 1)))
    });
    let reason = reason.transpose()?;
    let caller = match (client, key) {
        (Some(client), None) => match ClientId::parse(&client) {
            Some(client) => Caller::client(client.0),
            None => {
                return Err(wrong("client", "is not a client such as cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0"));
            }
        },
        (None, Some(key)) => match KeyId::parse(&key) {
            Some(id) => caller_of_key(admin, id).await?,
            None => return Err(wrong("key", "is not the id of a key, which has 12 letters and digits")),
        },
        (None, None) => return Err(wrong("client", "is missing")),
        (Some(_), Some(_)) => return Err(wrong("key", "stands beside a client; block one of them")),
    };
    Ok(New { caller, length, reason })
}

fn length(text: &str) -> Result<Nanos, Problem> {
    let Some(secs) = duration_secs(text) else {
        return Err(wrong("for", "is not a duration such as 10m, 24h or 30d"));
    };
    match u32::try_from(secs) {
        Ok(0) => Err(wrong("for", "is no time at all")),
        Ok(secs @ 1..=LENGTH_MAX_SECS) => Ok(Nanos::from_secs(secs)),
        _ => Err(wrong("for", "is longer than 365d")),
    }
}
