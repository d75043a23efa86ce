//! The decision flow, as one list of steps. It exists once, whatever store the meters are in:
//!
//! 1. [`Engine::begin`]: policy snapshot, id and time are taken once ([`RequestContext`]).
//! 2. [`Engine::prepare`] (`prepare.rs`): per-IP limit, identity (`identify.rs`), blocks, route, scope, load
//!    shedding. It ends in a decision, or in an [`Attempt`]: a question to the meters.
//! 3. A driver asks the meters and writes the record: `memory.rs` in this process, `redis.rs` in a store that nodes
//!    share, which falls back to `memory.rs` while the store cannot be reached.
//! 4. [`Engine::judge`] and [`Engine::conclude`] (`conclude.rs`): what the answer means. It ends in a decision, or in
//!    the next question.
//!
//! Steps 2 and 4 do no I/O and never wait. A driver is a loop over them.

mod attempt;
mod conclude;
mod context;
mod continuation;
mod identify;
mod memory;
mod prepare;
mod pressure;
mod redis;
mod refund;
mod replay;

use sluicegate_core::time::Timestamp;

use crate::decision::Decision;
use crate::engine::Engine;
use crate::jwt::Tokens;
use crate::request::{CallerRequest, Credential};

pub(crate) use attempt::{Attempt, Next, Question};
pub(crate) use conclude::{answer_of, refusal};
pub(crate) use context::RequestContext;
pub use continuation::Continuation;
pub(crate) use identify::Caller;

impl Engine {
    /// Decides whether a request may pass. If it may, it has been charged and recorded.
    ///
    /// Only for an engine whose meters are in this process; [`Engine::decided`] works with every store.
    pub fn decide(&self, request: &CallerRequest<'_>, now: Timestamp) -> Decision {
        let context = self.begin(request, now);
        let mut decision = match self.prepare(&context) {
            Next::Decided(decision) => decision,
            Next::Ask(attempt) => self.drive_memory(&context, attempt),
        };
        self.seen(&context, &mut decision);
        decision
    }

    /// The context of a request: what it is decided by is read here, once.
    pub(crate) fn begin<'w>(&self, request: &'w CallerRequest<'w>, now: Timestamp) -> RequestContext<'w> {
        let id = self.ids.next(now, request.front.finisher());
        let policy = self.snapshot.load_full();
        let credential = match request.credential {
            Credential::Headers(headers) => crate::identify::credential(&policy.policy().identity, headers),
            Credential::KeyFrom { key, .. } => Credential::Key(key),
            other => other,
        };
        let token = match (&policy.policy().identity.jwt, credential) {
            (Some(jwt), Credential::Key(text)) if Tokens::is_token(text) => {
                Some(self.tokens.verify(text, jwt, policy.version(), &self.homes, now))
            }
            _ => None,
        };
        let (verified, account, client, by) = (None, None, None, None);
        RequestContext { request, policy, credential, id, now, token, verified, account, client, by }
    }
}
