//! `GET /admin/v1/accounts/{id}/limits`: what every limit of an account says now.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::AccountLimit;
use sluicegate_store::directory::{AccountId, AccountRecord, Directory, Page, PageLimit, What};
use sluicegate_store::key_text::{KeyEnv, KeyId};
use utoipa::ToSchema;

use crate::auth::Call;
use crate::input::AccountPath;
use crate::keys::Env;
use crate::problem::Problem;
use crate::{Admin, Shared};

/// The most keys whose own meters are shown: the first that were made and are not revoked.
const KEYS_MAX: usize = 1_000;

/// What all limits of an account say.
#[derive(Serialize, ToSchema)]
pub(crate) struct Limits {
    items: Vec<LimitBody>,
}

/// What one limit says.
#[derive(Serialize, ToSchema)]
#[schema(as = LimitNow)]
pub(crate) struct LimitBody {
    /// The limit.
    #[schema(example = "rate")]
    name: String,
    /// The amount per its window.
    #[schema(example = 100)]
    limit: u64,
    /// What counts against it.
    #[schema(example = 1)]
    used: u64,
    /// The most that would be admitted now.
    #[schema(example = 99)]
    remaining: u64,
    /// How long until more is free: for a rate the next unit, for a quota its reset.
    #[schema(example = 10)]
    reset_ms: u64,
    /// The key whose own meter it is; absent where the keys of the account share one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, pattern = "^[0-9A-Za-z]{12}$", example = "4fVZ8pQ2mX0c")]
    key: Option<String>,
    /// `test` for a meter of test keys; absent for one of live keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "test")]
    env: Option<Env>,
}

/// Show what every limit of an account says now
#[utoipa::path(
    get,
    path = "/admin/v1/accounts/{id}/limits",
    tag = "accounts",
    operation_id = "showLimits",
    params(("id" = String, Path, description = "The account", example = "acme")),
    responses(
        (status = 200, description = "Its limits; none if its tier has none", body = Limits),
        (status = 404, description = "There is no such account"),
    )
)]
pub(crate) async fn limits(
    State(admin): State<Shared>,
    call: Call,
    AccountPath(id): AccountPath,
) -> Result<Json<Limits>, Problem> {
    let directory = admin.engine.directory();
    let account = directory.account(id.as_str()).await?.ok_or_else(|| Problem::not_found(What::Account))?;
    let keys = usable_keys(directory, &id, call.now).await?;
    let limits = admin.engine.limits_of(&account, &numbers(&keys), call.now).await?;
    Ok(Json(Limits::of(limits, &keys)))
}

impl Limits {
    /// What the limits of an account say if it has the tier of `record`, with what was used so far.
    pub(super) async fn under(
        record: &AccountRecord,
        admin: &Admin,
        now: Timestamp,
    ) -> Result<Self, Problem> {
        let directory = admin.engine.directory();
        let account = directory.account(record.id.as_str()).await?;
        let account = account.ok_or_else(|| Problem::not_found(What::Account))?;
        let keys = usable_keys(directory, &record.id, now).await?;
        let limits = admin.engine.limits_under(record, &account, &numbers(&keys), now).await?;
        Ok(Self::of(limits, &keys))
    }

    fn of(limits: Vec<AccountLimit>, keys: &BTreeMap<NonZeroU32, KeyId>) -> Self {
        Self { items: limits.into_iter().map(|limit| LimitBody::of(limit, keys)).collect() }
    }
}

fn numbers(keys: &BTreeMap<NonZeroU32, KeyId>) -> Vec<NonZeroU32> {
    keys.keys().copied().collect()
}

impl LimitBody {
    fn of(limit: AccountLimit, keys: &BTreeMap<NonZeroU32, KeyId>) -> Self {
        let AccountLimit { key, now } = limit;
        Self {
            name: now.name.to_string(),
            limit: now.limit,
            used: now.used,
            remaining: now.remaining,
            reset_ms: now.reset.as_millis_ceil(),
            key: key.and_then(|number| keys.get(&number)).map(KeyId::to_string),
            env: key.map(KeyEnv::of_tagged).filter(|env| *env == KeyEnv::Test).map(|_| Env::Test),
        }
    }
}

/// The keys of the account that are not revoked, by their tagged numbers.
async fn usable_keys(
    directory: &Directory,
    account: &AccountId,
    now: Timestamp,
) -> Result<BTreeMap<NonZeroU32, KeyId>, Problem> {
    let mut keys = BTreeMap::new();
    let mut page = Page { limit: PageLimit::new(u64::from(PageLimit::MAX))?, cursor: None };
    loop {
        let part = directory.list_keys(account.as_str(), page).await?;
        for key in part.items.iter().filter(|key| key.restrictions.limits.is_some()) {
            // From then on its own limits are shown with those of the account.
            directory.key(key.id, now).await?;
        }
        let usable = part.items.iter().filter(|key| key.revoked_at.is_none());
        let numbered = usable.filter_map(|key| Some((key.env.tag(NonZeroU32::new(key.number)?), key.id)));
        keys.extend(numbered.take(KEYS_MAX - keys.len()));
        if part.next.is_none() || keys.len() == KEYS_MAX {
            return Ok(keys);
        }
        page.cursor = part.next;
    }
}
