//! What is asked: the body of a check.

use std::borrow::Cow;
use std::sync::LazyLock;

use http::HeaderMap;
use serde::de::MapAccess;
use sluicegate_core::rule::Amount;
use sluicegate_core::time::Nanos;
use sluicegate_engine::{CallerRequest, Credential, Front, Hold, Name, Purpose};

use super::super::json::{Object, Seen, Value};
use super::client::Client;
use crate::field;

/// One check, as it was asked for.
#[derive(Debug, Default)]
pub(in crate::decision) struct Check<'b> {
    seen: Seen,
    key: Option<Cow<'b, str>>,
    service_token: Option<Cow<'b, str>>,
    client: Option<Client>,
    method: Option<Cow<'b, str>>,
    path: Option<Cow<'b, str>>,
    cost: Option<Amount>,
    idempotency_key: Option<Cow<'b, str>>,
    hold: bool,
    hold_for: Option<Nanos>,
    peek: bool,
}

const FIELDS: [&str; 10] = [
    "key",
    "service_token",
    "client",
    "method",
    "path",
    "cost",
    "idempotency_key",
    "hold",
    "hold_for",
    "peek",
];

impl<'b> Object<'b> for Check<'b> {
    fn field<A: MapAccess<'b>>(
        &mut self,
        name: &Cow<'b, str>,
        mut value: Value<'_, 'b, A>,
    ) -> Result<(), A::Error> {
        match FIELDS[self.seen.admit(&FIELDS, name, &mut value)?] {
            "key" => self.key = value.text(Ok)?,
            "service_token" => self.service_token = value.text(Ok)?,
            "client" => self.client = value.object()?,
            "method" => self.method = value.text(field::method)?,
            "path" => self.path = value.text(field::path)?,
            "cost" => self.cost = value.number(1..=Amount::MAX)?.and_then(Amount::new),
            "idempotency_key" => self.idempotency_key = value.text(field::idempotency_key)?,
            "hold" => self.hold = value.boolean()?.unwrap_or_default(),
            "hold_for" => self.hold_for = value.text(|text| field::hold_for(&text))?,
            _peek => self.peek = value.boolean()?.unwrap_or_default(),
        }
        Ok(())
    }

    fn lacks(&self) -> Option<(&'static str, &'static str)> {
        const ONE: &str = "is one caller too many: give one of \"key\", \"service_token\" and \"client\".";
        match (&self.key, &self.service_token, &self.client) {
            (Some(_), Some(_), _) => Some(("service_token", ONE)),
            // Where a caller with a key comes from counts. What else it has says nothing that its key does not.
            (Some(_), _, Some(client)) | (_, Some(_), Some(client)) if !client.is_only_an_address() => {
                Some((
                    "client",
                    "may hold nothing but \"ip\" and the header \"origin\" where the caller has a key or a token.",
                ))
            }
            _ => None,
        }
    }
}

/// What is known of a caller that says nothing.
static NO_HEADERS: LazyLock<HeaderMap> = LazyLock::new(HeaderMap::new);

impl Check<'_> {
    /// The request to be decided on.
    pub(in crate::decision) fn request(&self) -> CallerRequest<'_> {
        let credential = match (&self.key, &self.service_token, &self.client) {
            (Some(key), _, Some(client)) => Credential::KeyFrom { key, headers: &client.headers },
            (Some(key), ..) => Credential::Key(key),
            (_, Some(token), _) => Credential::ServiceToken(token),
            (.., Some(client)) => Credential::Nothing { headers: &client.headers },
            (None, None, None) => Credential::Nothing { headers: &NO_HEADERS },
        };
        CallerRequest {
            credential,
            address: self.client.as_ref().and_then(|client| client.address),
            method: self.method.as_deref().unwrap_or("GET"),
            path: self.path.as_deref().unwrap_or("/"),
            cost: self.cost,
            idempotency_key: self.idempotency_key.as_deref().map(|text| Name::Given { text, query: None }),
            purpose: if self.peek { Purpose::Peek } else { Purpose::Charge },
            hold: self.hold(),
            front: Front::Decision,
        }
    }

    /// Whether somebody will finish it.
    pub(in crate::decision) fn hold(&self) -> Hold {
        match self.hold_for {
            Some(span) => Hold::For(span),
            None if self.hold => Hold::Yes,
            None => Hold::IfNeeded,
        }
    }
}
