//! `POST /v1/finish`: a request has ended; what it cost in the end.

use std::borrow::Cow;
use std::fmt::Write as _;

use bytes::Bytes;
use http::Request;
use http_body::Body;
use serde::de::MapAccess;
use sluicegate_core::rule::Amount;
use sluicegate_engine::{Engine, Finished};

use super::json::{Object, Seen, Value};
use super::refusal::Refusal;
use super::{Reply, body, json, reply};

const BODY_BYTES_MAX: usize = 1 << 20;

pub(super) async fn post<B>(engine: &Engine, mut request: Request<B>) -> Result<Reply, Refusal>
where
    B: Body<Data = Bytes> + Unpin,
{
    let body = body::read(&mut request, BODY_BYTES_MAX).await?;
    let now = engine.now();
    let finish: Finish<'_> = json::read(&body)?;
    let permit = finish.permit.as_deref().unwrap_or_default();
    let finished = engine.finish_kept(permit, finish.status, finish.cost, now).await;
    let Finished { reserved, settled } = finished.map_err(Refusal::Finish)?;
    // A permit that was accepted has no letter that needs escaping.
    let mut document = String::with_capacity(64 + permit.len());
    let _ = write!(document, "{{\"permit\":\"{permit}\",\"reserved\":{reserved},\"settled\":{settled}}}");
    Ok(reply::json(document))
}

/// The body.
#[derive(Debug, Default)]
struct Finish<'b> {
    seen: Seen,
    permit: Option<Cow<'b, str>>,
    status: Option<u16>,
    cost: Option<u64>,
}

const FIELDS: [&str; 3] = ["permit", "status", "cost"];

impl<'b> Object<'b> for Finish<'b> {
    fn field<A: MapAccess<'b>>(
        &mut self,
        name: &Cow<'b, str>,
        mut value: Value<'_, 'b, A>,
    ) -> Result<(), A::Error> {
        match FIELDS[self.seen.admit(&FIELDS, name, &mut value)?] {
            "permit" => self.permit = value.text(Ok)?,
            "status" => self.status = value.number(100..=599)?.and_then(|status| status.try_into().ok()),
            _cost => self.cost = value.number(0..=Amount::MAX)?,
        }
        Ok(())
    }

    fn lacks(&self) -> Option<(&'static str, &'static str)> {
        self.permit.is_none().then_some(("permit", "is missing: the permit of a check is expected."))
    }
}
