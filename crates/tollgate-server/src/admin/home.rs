//! `GET /`: a page for people that says where the API is.

use axum::response::Html;

/// Show where the API is
#[utoipa::path(
    get,
    path = "/",
    tag = "process",
    operation_id = "home",
    responses((status = 200, description = "A page for people", body = String, content_type = "text/html"))
)]
pub(crate) async fn home() -> Html<&'static str> {
    Html(include_str!("home/home.html"))
}
