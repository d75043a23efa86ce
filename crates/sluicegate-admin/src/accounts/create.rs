//! `POST /admin/v1/accounts`: makes an account.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use http::header::LOCATION;
use sluicegate_store::directory::{AccountId, DisplayName, NewAccount, ZoneName, billing_day};
use utoipa::ToSchema;

use super::{AccountBody, defined_tier};
use crate::auth::Call;
use crate::input::{JsonBody, Object, wrong};
use crate::mount::Mount;
use crate::problem::Problem;
use crate::{Admin, Shared};

/// An account to be made.
#[derive(ToSchema)]
#[schema(as = NewAccount)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it describes what is read by hand, so that every complaint names its field")]
pub(crate) struct NewAccountBody {
    /// Its id; absent: a random one.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", example = "acme")]
    id: Option<String>,
    /// What people call it.
    #[schema(max_length = 200, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$", example = "Acme Ltd.")]
    name: String,
    /// One of the tiers of the policy in force.
    #[schema(example = "pro")]
    tier: String,
    /// The day on which its billing months begin; the last day of months that are shorter.
    #[schema(minimum = 1, maximum = 31, example = 15)]
    billing_day: Option<u8>,
    /// The IANA name of the zone in which its days and months begin.
    #[schema(example = "Europe/Berlin")]
    timezone: Option<String>,
}

/// Make an account
#[utoipa::path(
    post,
    path = "/admin/v1/accounts",
    tag = "accounts",
    operation_id = "createAccount",
    request_body = NewAccountBody,
    responses(
        (status = 201, description = "The account", body = AccountBody,
            headers(("Location" = String, description = "The path of the account"))),
        (status = 409, description = "The id is taken"),
        (status = 422, description = "A field is wrong, or the tier is not defined"),
    )
)]
pub(crate) async fn create(
    State(admin): State<Shared>,
    call: Call,
    mount: Mount,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, [(http::HeaderName, String); 1], Json<AccountBody>), Problem> {
    let new = read(&admin, body)?;
    let account = admin.engine.directory().create_account(new, &call.writer()).await?;
    let location = mount.path(&format!("/admin/v1/accounts/{}", account.id));
    Ok((StatusCode::CREATED, [(LOCATION, location)], Json(account.into())))
}

fn read(admin: &Admin, body: serde_json::Value) -> Result<NewAccount, Problem> {
    let mut body = Object::of(body, &["id", "name", "tier", "billing_day", "timezone"])?;
    Ok(NewAccount {
        id: body.optional_text("id")?.map(|id| AccountId::new(&id)).transpose()?,
        name: DisplayName::new(&body.text("name")?)?,
        tier: defined_tier(&body.text("tier")?, admin.engine.policy().policy())?,
        billing_day: match body.optional_whole("billing_day")? {
            Some(day) => {
                // A number that is no byte is no day either.
                let day = u8::try_from(day).map_err(|_| wrong("billing_day", "is not a day from 1 to 31"))?;
                Some(billing_day(day)?)
            }
            None => None,
        },
        timezone: body.optional_text("timezone")?.map(|zone| ZoneName::new(&zone)).transpose()?,
    })
}
