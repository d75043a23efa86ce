//! `POST /v1/check/batch`: many checks at once, each decided on its own, in order.

use std::borrow::Cow;

use bytes::Bytes;
use http::Request;
use http_body::Body;
use serde::de::MapAccess;
use sluicegate_engine::{Engine, Hold, Unsettled};

use super::check::{Check, answer};
use super::json::{Object, Seen, Value};
use super::refusal::Refusal;
use super::{Reply, body, json, reply};
use crate::keep::keep;

/// The most checks of a batch.
const CHECKS_MAX: usize = 1_000;

/// Four KiB for each check.
const BODY_BYTES_MAX: usize = 4 << 20;

pub(super) async fn post<B>(engine: &Engine, mut request: Request<B>) -> Result<Reply, Refusal>
where
    B: Body<Data = Bytes> + Unpin,
{
    let body = body::read(&mut request, BODY_BYTES_MAX).await?;
    let now = engine.now();
    // All are decided before any is waited for: those that wait for the disk wait for the same flush.
    let mut decided: Vec<(Unsettled<&Engine>, Hold)> = Vec::new();
    // All are read before any is decided: a batch that is half wrong charges nothing.
    let batch: Batch<'_> = json::read(&body)?;
    for check in batch.checks.iter().flatten() {
        decided.push((engine.unsettled(&check.request(), now).await, check.hold()));
    }
    let mut document = String::with_capacity(decided.len() * answer::CAPACITY);
    document.push_str("{\"results\":[");
    for (index, (unsettled, hold)) in decided.into_iter().enumerate() {
        let mut decision = unsettled.settled().await;
        let permit = keep(engine, &mut decision, hold, now);
        if index > 0 {
            document.push(',');
        }
        answer::write(&mut document, &decision, permit.as_ref());
    }
    document.push_str("]}");
    Ok(reply::json(document))
}

/// The body.
#[derive(Debug, Default)]
struct Batch<'b> {
    seen: Seen,
    checks: Option<Vec<Check<'b>>>,
}

impl<'b> Object<'b> for Batch<'b> {
    fn field<A: MapAccess<'b>>(
        &mut self,
        name: &Cow<'b, str>,
        mut value: Value<'_, 'b, A>,
    ) -> Result<(), A::Error> {
        self.seen.admit(&["checks"], name, &mut value)?;
        self.checks = Some(value.objects(CHECKS_MAX)?);
        Ok(())
    }

    fn lacks(&self) -> Option<(&'static str, &'static str)> {
        self.checks.is_none().then_some(("checks", "is missing: a list of checks is expected."))
    }
}
