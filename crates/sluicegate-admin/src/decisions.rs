//! Decisions: why requests were refused.

mod body;
pub(super) mod list;
mod sentence;
pub(super) mod show;

pub(crate) use body::{BriefBody, ExplanationBody};
