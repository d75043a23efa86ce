//! `POST /v1/check`: may this request pass?

pub(super) mod answer;
mod asked;
mod client;

use bytes::Bytes;
use http::Request;
use http_body::Body;
use sluicegate_engine::Engine;

pub(super) use asked::Check;

use super::refusal::Refusal;
use super::{Reply, body, json, reply};
use crate::keep::keep;

/// A check is small. The largest that is valid has a long path and a hundred headers.
const BODY_BYTES_MAX: usize = 1 << 20;

pub(super) async fn post<B>(engine: &Engine, mut request: Request<B>) -> Result<Reply, Refusal>
where
    B: Body<Data = Bytes> + Unpin,
{
    let body = body::read(&mut request, BODY_BYTES_MAX).await?;
    // Not before the body has come: a caller that sends it slowly is not charged in the past.
    let now = engine.now();
    let check: Check<'_> = json::read(&body)?;
    let mut decision = engine.decided(&check.request(), now).await;
    let permit = keep(engine, &mut decision, check.hold(), now);
    let mut document = String::with_capacity(answer::CAPACITY);
    answer::write(&mut document, &decision, permit.as_ref());
    Ok(reply::json(document))
}
