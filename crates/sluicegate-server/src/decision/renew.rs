//! `POST /v1/renew`: a request takes longer; its permit and its slot are held for longer.

use std::borrow::Cow;

use bytes::Bytes;
use http::Request;
use http_body::Body;
use serde::de::MapAccess;
use sluicegate_core::time::Nanos;
use sluicegate_engine::Engine;

use super::check::answer::write_permit;
use super::json::{Object, Seen, Value};
use super::refusal::Refusal;
use super::{Reply, body, json, reply};
use crate::field;

const BODY_BYTES_MAX: usize = 1 << 20;

pub(super) async fn post<B>(engine: &Engine, mut request: Request<B>) -> Result<Reply, Refusal>
where
    B: Body<Data = Bytes> + Unpin,
{
    let body = body::read(&mut request, BODY_BYTES_MAX).await?;
    let now = engine.now();
    let renew: Renew<'_> = json::read(&body)?;
    let permit = renew.permit.as_deref().unwrap_or_default();
    let hold = renew.hold_for.unwrap_or(Nanos::ZERO);
    let renewed = engine.renew_kept(permit, hold, now).await.map_err(Refusal::Finish)?;
    let mut document = String::with_capacity(64 + renewed.text.len());
    document.push('{');
    write_permit(&mut document, &renewed);
    document.push('}');
    Ok(reply::json(document))
}

/// The body.
#[derive(Debug, Default)]
struct Renew<'b> {
    seen: Seen,
    permit: Option<Cow<'b, str>>,
    hold_for: Option<Nanos>,
}

const FIELDS: [&str; 2] = ["permit", "hold_for"];

impl<'b> Object<'b> for Renew<'b> {
    fn field<A: MapAccess<'b>>(
        &mut self,
        name: &Cow<'b, str>,
        mut value: Value<'_, 'b, A>,
    ) -> Result<(), A::Error> {
        match FIELDS[self.seen.admit(&FIELDS, name, &mut value)?] {
            "permit" => self.permit = value.text(Ok)?,
            _hold_for => self.hold_for = value.text(|text| field::hold_for(&text))?,
        }
        Ok(())
    }

    fn lacks(&self) -> Option<(&'static str, &'static str)> {
        if self.permit.is_none() {
            return Some(("permit", "is missing: the permit of a check is expected."));
        }
        let span = "is missing: a duration from 1s to 24h is expected, such as 90s or 10m.";
        self.hold_for.is_none().then_some(("hold_for", span))
    }
}
