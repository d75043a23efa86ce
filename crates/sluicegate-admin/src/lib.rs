//! Internal to Sluicegate: no semver promise. Use `sluicegate-tower` with the feature `admin`.
//!
//! The admin API: accounts, keys, callers that misbehave, the policy, the audit trail, and how the process is doing.
//!
//! This file is its table of contents; every endpoint is a file of its own, named by what it does. Types that are
//! serialised live here and nowhere deeper: the directory knows nothing of JSON.

mod accounts;
mod alerts;
mod asked;
mod audit;
mod auth;
mod blocks;
mod changes;
mod clients;
mod clock;
mod dashboard;
mod decisions;
mod directory;
mod events;
mod health;
mod input;
mod keys;
mod ledger;
mod list;
mod metrics;
mod mount;
mod openapi;
mod overview;
mod policy;
mod pressure;
mod problem;
mod ready;
mod service;
mod session;
pub mod tiers;
mod token;
mod tokens;
mod top;
mod usage;
mod webhook;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use parking_lot::Mutex;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_engine::{Books, Engine};
use sluicegate_node::{ReloadState, instant};
use utoipa::OpenApi as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use service::AdminService;
pub use token::{AdminToken, BadToken};

use auth::Sessions;
use problem::{Error, Problem};

/// What the admin API works on.
#[derive(Clone, Debug)]
pub struct AdminState {
    /// What was used. Its engine decides, and knows accounts and keys.
    pub books: Arc<Books>,
    /// Opens the API.
    pub token: AdminToken,
    /// The policy file.
    pub reload: Arc<ReloadState>,
}

/// What endpoints see.
struct Admin {
    engine: Arc<Engine>,
    books: Arc<Books>,
    token: AdminToken,
    reload: Arc<ReloadState>,
    sessions: Mutex<Sessions>,
    started: Timestamp,
    /// How long the process had run by then. Steps of the clock do not change it.
    started_after: Nanos,
}

type Shared = Arc<Admin>;

/// The API and the dashboard: at the root of a server, or nested below any prefix of an application.
///
/// The prefix is taken from each request. `Router::nest("/ops", …)` routes `/ops` and what is below it to this
/// router, but not `/ops/`; `Router::nest_service("/ops", …)` does both.
pub fn router(state: AdminState) -> Router {
    let AdminState { books, token, reload } = state;
    let engine = Arc::clone(books.engine());
    let (started, started_after) = (engine.now(), engine.uptime());
    let sessions = Mutex::default();
    let admin = Arc::new(Admin { engine, books, token, reload, sessions, started, started_after });
    let (router, _) = contents().split_for_parts();
    dashboard::routes(router)
        .fallback(|| async { Problem::new(Error::NotFound, "There is nothing at this path.") })
        .method_not_allowed_fallback(|| async {
            Problem::new(Error::MethodNotAllowed, "The header Allow lists the methods of this path.")
        })
        .layer(from_fn_with_state(Arc::clone(&admin), changes::tell))
        // Around everything: what is not there is nobody's business either.
        .layer(from_fn_with_state(Arc::clone(&admin), auth::check))
        .with_state(admin)
}

/// Every call.
fn contents() -> OpenApiRouter<Shared> {
    OpenApiRouter::with_openapi(openapi::Description::openapi())
        .routes(routes!(accounts::list::list, accounts::create::create))
        .routes(routes!(accounts::show::show, accounts::delete::delete))
        .routes(routes!(accounts::tier::tier))
        .routes(routes!(accounts::custom::custom))
        .routes(routes!(accounts::limits::limits))
        .routes(routes!(keys::list::list, keys::create::create))
        .routes(routes!(keys::revoke_many::revoke_many))
        .routes(routes!(keys::show::show, keys::revoke::revoke, keys::update::update))
        .routes(routes!(keys::rotate::rotate))
        .routes(routes!(tokens::list::list, tokens::create::create))
        .routes(routes!(tokens::revoke::revoke))
        .routes(routes!(directory::adopt))
        .routes(routes!(blocks::list::list, blocks::create::create, blocks::delete::delete_of))
        .routes(routes!(blocks::delete::delete))
        .routes(routes!(clients::show::show))
        .routes(routes!(clients::reset::reset))
        .routes(routes!(usage::show::show))
        .routes(routes!(usage::export::export))
        .routes(routes!(usage::reconcile::reconcile))
        .routes(routes!(ledger::show))
        .routes(routes!(pressure::list))
        .routes(routes!(overview::overview))
        .routes(routes!(top::top))
        .routes(routes!(decisions::list::list))
        .routes(routes!(decisions::show::show))
        .routes(routes!(events::follow))
        .routes(routes!(tiers::list::list))
        .routes(routes!(policy::show::show))
        .routes(routes!(policy::validate::validate))
        .routes(routes!(alerts::list))
        .routes(routes!(webhook::show))
        .routes(routes!(audit::list))
        .routes(routes!(openapi::show))
        .routes(routes!(metrics::metrics))
        .routes(routes!(clock::confirm))
        .routes(routes!(health::health))
        .routes(routes!(ready::ready))
        .routes(routes!(session::show::show, session::create::create, session::delete::delete))
        .routes(routes!(dashboard::home))
}
