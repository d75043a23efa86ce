//! Blocks: callers that are refused for a while, whatever they have left.

pub(super) mod create;
pub(super) mod delete;
pub(super) mod list;

use std::num::NonZeroU32;

use serde::Serialize;
use serde_json::{Value, json};
use sluicegate_core::block::{Block, Caller, Origin, Reason};
use sluicegate_core::plan::{HomeId, Sharer};
use sluicegate_engine::identify::ClientId;
use sluicegate_store::directory::What;
use sluicegate_store::key_text::KeyId;
use utoipa::{IntoParams, ToSchema};

use super::problem::Problem;
use super::{Admin, instant};

/// A caller that is blocked.
#[derive(Serialize, ToSchema)]
#[schema(as = Block)]
pub(crate) struct BlockBody {
    /// Who: a client, or a key as the meters know it.
    #[schema(example = "cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0")]
    id: String,
    /// What it is.
    kind: CallerKind,
    /// Since when.
    #[schema(format = DateTime, example = "2026-11-01T12:00:00.000Z")]
    since: String,
    /// Until when.
    #[schema(format = DateTime, example = "2026-11-01T13:00:00.000Z")]
    until: String,
    /// Who has blocked it.
    origin: BlockOrigin,
    /// What the administrator had to say.
    #[schema(required, max_length = 200, example = "scrapes the catalogue")]
    reason: Option<String>,
}

/// What a caller is.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CallerKind {
    /// A caller without a key.
    Client,
    /// A key.
    Key,
}

/// Who has blocked.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum BlockOrigin {
    /// It was refused too often.
    Automatic,
    /// An administrator.
    Manual,
}

/// The parameters of the list, for the description of the API.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "it describes what is read by hand, so that every complaint names its parameter"
)]
pub(crate) struct BlockParams {
    /// How many entries at most.
    #[param(minimum = 1, maximum = 1000, default = 100, required = false)]
    limit: u16,
    /// The `next` of the page before.
    #[param(required = false)]
    cursor: String,
}

/// Whose block, for the description of the API.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "it describes what is read by hand, so that every complaint names its parameter"
)]
pub(crate) struct CallerParams {
    /// The client, or the id of the key.
    #[param(example = "cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0")]
    client: String,
}

impl BlockBody {
    pub(super) fn of(block: &Block) -> Self {
        Self {
            id: caller_text(block.caller),
            kind: if block.caller.sharer == Sharer::ALL { CallerKind::Client } else { CallerKind::Key },
            since: instant::text(block.since),
            until: instant::text(block.until),
            origin: match block.origin {
                Origin::Automatic => BlockOrigin::Automatic,
                Origin::Manual => BlockOrigin::Manual,
            },
            reason: block.reason.as_ref().map(|reason| reason.as_str().to_owned()),
        }
    }
}

/// What the audit trail says of a block.
pub(super) fn noted(block: &Block) -> Value {
    json!({
        "since": instant::text(block.since),
        "until": instant::text(block.until),
        "origin": match block.origin {
            Origin::Automatic => "automatic",
            Origin::Manual => "manual",
        },
        "reason": block.reason.as_ref().map(Reason::as_str),
    })
}

const KEY_PREFIX: &str = "ky_";

/// A caller as people see it.
pub(super) fn caller_text(caller: Caller) -> String {
    match caller.sharer.get() {
        0 => ClientId(caller.home).to_string(),
        key => format!("{KEY_PREFIX}{:032x}_{key}", caller.home.0),
    }
}

/// The caller that this text is, unless it is something that would have to be looked up.
pub(super) fn caller_of(text: &str) -> Option<Caller> {
    if let Some(client) = ClientId::parse(text) {
        return Some(Caller::client(client.0));
    }
    let (home, key) = text.strip_prefix(KEY_PREFIX)?.split_once('_')?;
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if home.len() != 32 || !home.bytes().all(is_digit) || !key.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let home = HomeId(u128::from_str_radix(home, 16).ok()?);
    Some(Caller::key(home, Sharer::key(key.parse::<NonZeroU32>().ok()?)))
}

/// The key of this id, as the meters know it.
pub(super) async fn caller_of_key(admin: &Admin, id: KeyId) -> Result<Caller, Problem> {
    let directory = admin.engine.directory();
    let key = directory.find_key(id).await?.ok_or_else(|| Problem::not_found(What::Key))?;
    let account = directory.account(key.account.as_str()).await?;
    let account = account.ok_or_else(|| Problem::not_found(What::Key))?;
    let number = NonZeroU32::new(key.number).ok_or_else(|| Problem::not_found(What::Key))?;
    Ok(Caller::key(account.home, Sharer::key(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_read_as_it_is_written() {
        let home = HomeId(0x0f1e_2d3c_4b5a_6978_8796_a5b4_c3d2_e1f0);
        let key = Caller::key(home, Sharer::key(7.try_into().unwrap()));
        for (caller, text) in [
            (Caller::client(home), "cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0"),
            (key, "ky_0f1e2d3c4b5a69788796a5b4c3d2e1f0_7"),
        ] {
            assert_eq!(caller_text(caller), text);
            assert_eq!(caller_of(text), Some(caller));
        }
    }

    #[test]
    fn what_is_no_caller_is_none() {
        for text in [
            "",
            "cl_",
            "ky_0f1e2d3c4b5a69788796a5b4c3d2e1f0",
            "ky_0f1e2d3c4b5a69788796a5b4c3d2e1f0_0",
            "ky_0f1e2d3c4b5a69788796a5b4c3d2e1f0_+7",
            "ky_0F1E2D3C4B5A69788796A5B4C3D2E1F0_7",
            "4fVZ8pQ2mX0c",
        ] {
            assert_eq!(caller_of(text), None, "{text}");
        }
    }
}
