//! `GET /admin/v1/blocks`: who is blocked.

use axum::Json;
use axum::extract::State;

use super::{BlockBody, BlockParams, caller_of, caller_text};
use crate::Shared;
use crate::auth::Call;
use crate::input::{PlainListQuery, wrong_query};
use crate::list::List;
use crate::problem::Problem;

/// List who is blocked
///
/// By their own doing or by an administrator, on whichever node.
#[utoipa::path(
    get,
    path = "/admin/v1/blocks",
    tag = "abuse",
    operation_id = "listBlocks",
    params(BlockParams),
    responses((status = 200, description = "A page of blocks", body = List<BlockBody>))
)]
pub(crate) async fn list(
    State(admin): State<Shared>,
    call: Call,
    query: PlainListQuery,
) -> Result<Json<List<BlockBody>>, Problem> {
    let after = match &query.cursor {
        None => None,
        Some(text) => {
            Some(caller_of(text).ok_or_else(|| wrong_query("cursor", "is not the next of a page"))?)
        }
    };
    let max = usize::from(query.limit.get());
    // One more tells whether there is more.
    let mut blocks = admin.engine.blocks(after, call.now, max + 1);
    let more = blocks.len() > max;
    blocks.truncate(max);
    let next = blocks.last().filter(|_| more).map(|block| caller_text(block.caller));
    Ok(Json(List::new(blocks.iter().map(BlockBody::of).collect(), next)))
}
