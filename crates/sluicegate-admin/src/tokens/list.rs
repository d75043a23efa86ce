//! `GET /admin/v1/tokens`: the tokens that are not revoked.

use axum::Json;
use axum::extract::State;

use super::TokenBody;
use crate::Shared;
use crate::auth::Call;
use crate::list::List;
use crate::problem::Problem;

/// List tokens
///
/// Those that are not revoked, expired ones included, in the order in which they were created: at most 1,000.
#[utoipa::path(
    get,
    path = "/admin/v1/tokens",
    tag = "tokens",
    operation_id = "listTokens",
    responses((status = 200, description = "All tokens", body = List<TokenBody>))
)]
pub(crate) async fn list(State(admin): State<Shared>, call: Call) -> Result<Json<List<TokenBody>>, Problem> {
    let tokens = admin.engine.directory().list_tokens().await?;
    Ok(Json(List::new(tokens.iter().map(|token| TokenBody::of(token, call.now)).collect(), None)))
}
