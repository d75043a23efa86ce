//! What `identity` means: headers, the cookie, the tier of anonymous callers, the challenge.

use std::ops::RangeInclusive;

use super::range::amount;
use crate::file::sink::Sink;
use crate::file::typed::{
    AddressBody, AmountPer, At, ChallengeBody, Field, IdentityBody, List, Named, SessionCookieBody, Text,
    TierBody, Verbatim, Whole,
};
use crate::file::yaml::shown;
use crate::policy::{
    AddressPrefix, Challenge, HeaderName, Identity, KeyPlace, SecretSource, SessionCookie, TierName,
};
use crate::rule::Windowed;
use crate::time::Nanos;

const HEADER_PREFIX: &str = "header:";

pub(super) fn identity(
    field: &Field<IdentityBody>,
    tiers: &Field<Named<TierBody>>,
    sink: &mut Sink,
) -> Option<Identity> {
    let body = match field {
        Field::Absent => return Some(Identity::default()),
        Field::Wrong => return None,
        Field::Given(at) => &at.value,
    };
    let default = Identity::default();
    let api_key = key_places(&body.api_key, default.api_key, sink);
    let service_token = match body.service_token.given() {
        None => Some(default.service_token),
        Some(at) => header_place(at, "header:X-Service-Token", sink),
    };
    if let (Some(places), Some(token)) = (&api_key, &service_token) {
        report_shared_header(body, places, token, sink);
    }
    let session_cookie = super::section(&body.session_cookie, |cookie| session_cookie(cookie, sink));
    let fingerprint = fingerprint(&body.fingerprint, default.fingerprint, sink);
    let address = super::section(&body.address, |address| address_prefix(address, sink));
    let anonymous = match body.anonymous.given() {
        None => Some(None),
        Some(at) => anonymous(at, tiers, sink).map(Some),
    };
    let challenge = super::optional(&body.challenge, |challenge| self::challenge(challenge, sink));
    let jwt = super::optional(&body.jwt, |body| super::jwt::jwt(body, sink));
    Some(Identity {
        api_key: api_key?,
        service_token: service_token?,
        session_cookie: session_cookie?,
        fingerprint: fingerprint?,
        address: address?,
        anonymous: anonymous?,
        challenge: challenge?,
        jwt: jwt?,
    })
}

fn key_places(field: &Field<List<Text>>, default: Vec<KeyPlace>, sink: &mut Sink) -> Option<Vec<KeyPlace>> {
    let list = match field {
        Field::Absent => return Some(default),
        Field::Wrong => return None,
        Field::Given(at) => at,
    };
    if list.value.0.is_empty() {
        let help = "name at least one, such as bearer";
        sink.report(list.place, "`api_key` names no place where a key may stand", help);
        return None;
    }
    let mut places: Vec<KeyPlace> = Vec::new();
    for at in &list.value.0 {
        let place = match at.value.0.as_str() {
            "bearer" => Some(KeyPlace::Bearer),
            _ => key_header(at, sink).map(KeyPlace::Header),
        };
        if place.as_ref().is_some_and(|place| places.contains(place)) {
            sink.report(at.place, "this place stands here twice", "remove one of the two");
        } else {
            places.extend(place);
        }
    }
    (places.len() == list.value.0.len()).then_some(places)
}

fn key_header(at: &At<Text>, sink: &mut Sink) -> Option<HeaderName> {
    let text = at.value.0.as_str();
    if !text.starts_with(HEADER_PREFIX) {
        let help = sink.did_you_mean(text, ["bearer"], || match HeaderName::new(text) {
            Some(_) => format!("write bearer or header:{text}"),
            None => "write bearer or header:<name>".to_owned(),
        });
        sink.report(at.place, format!("{} is no place where a key may stand", shown(text)), help);
        return None;
    }
    let header = header_place(at, "header:X-API-Key", sink)?;
    if header.as_str() == "authorization" {
        let help = "write bearer: the key then follows the word Bearer in that header";
        sink.report(at.place, "a key does not fill the Authorization header alone", help);
        return None;
    }
    Some(header)
}

/// Reads `header:<name>`.
fn header_place(at: &At<Text>, example: &str, sink: &mut Sink) -> Option<HeaderName> {
    let header = at.value.0.strip_prefix(HEADER_PREFIX).and_then(HeaderName::new);
    if header.is_none() {
        let message = format!("{} is not `header:` and the name of a header", shown(&at.value.0));
        sink.report(at.place, message, format!("write one such as {example}"));
    }
    header
}

/// A service token that came from where API keys come from would make every key a possible bypass.
fn report_shared_header(body: &IdentityBody, places: &[KeyPlace], token: &HeaderName, sink: &mut Sink) {
    let shared = places.iter().any(|place| match place {
        KeyPlace::Bearer => token.as_str() == "authorization",
        KeyPlace::Header(header) => header == token,
    });
    let place = body.service_token.given().map(|at| at.place);
    let place = place.or(body.api_key.given().map(|at| at.place));
    if let (true, Some(place)) = (shared, place) {
        let message = format!("API keys and service tokens both come from the header `{token}`");
        sink.report(place, message, "give `service_token` a header of its own");
    }
}

/// How much of an address goes into the id of a client.
fn address_prefix(body: &AddressBody, sink: &mut Sink) -> Option<AddressPrefix> {
    let default = AddressPrefix::default();
    let (v4_range, v6_range) =
        (AddressPrefix::V4_MIN..=AddressPrefix::V4_MAX, AddressPrefix::V6_MIN..=AddressPrefix::V6_MAX);
    let v4 = bits(&body.v4, default.v4(), &v4_range, "`v4`", sink);
    let v6 = bits(&body.v6, default.v6(), &v6_range, "`v6`", sink);
    AddressPrefix::new(v4?, v6?)
}

fn bits(
    field: &Field<Whole>,
    default: u8,
    range: &RangeInclusive<u8>,
    what: &str,
    sink: &mut Sink,
) -> Option<u8> {
    let Some(at) = field.given() else { return Some(default) };
    let bits = u8::try_from(at.value.0).ok().filter(|bits| range.contains(bits));
    if bits.is_none() {
        let message = format!("{what} is no number of leading bits that tells callers apart");
        let help = format!("write a number from {} to {}", range.start(), range.end());
        sink.report(at.place, message, help);
    }
    bits
}

/// How many sessions an address is issued.
fn per_address(field: &Field<AmountPer>, sink: &mut Sink) -> Option<Windowed> {
    let Some(at) = field.given() else { return Some(SessionCookie::PER_ADDRESS_DEFAULT) };
    let max = SessionCookie::PER_ADDRESS_MAX;
    let limit = amount(at.value.amount, max, "`per_address`", at.place, sink);
    if at.value.window.is_none() {
        let message = "this does not say per how long sessions are counted";
        sink.report(at.place, message, format!("write {}/hour", at.value.amount));
    }
    Some(Windowed { limit: limit?, window: at.value.window? })
}

fn session_cookie(body: &SessionCookieBody, sink: &mut Sink) -> Option<SessionCookie> {
    let per_address = per_address(&body.per_address, sink);
    let max_age = match body.max_age.given() {
        None => Some(SessionCookie::MAX_AGE_DEFAULT),
        Some(at) => {
            let secs =
                u32::try_from(at.value.secs).ok().filter(|secs| *secs <= SessionCookie::MAX_AGE_SECS_MAX);
            if secs.is_none() {
                sink.report(at.place, "no browser keeps a cookie that long", "the longest is 400d");
            }
            secs.map(Nanos::from_secs)
        }
    };
    let name = body.name.given();
    let text = name.map_or(SessionCookie::NAME_DEFAULT, |at| at.value.0.as_str());
    let cookie = SessionCookie::new(text, max_age.unwrap_or(SessionCookie::MAX_AGE_DEFAULT));
    if let (None, Some(at)) = (&cookie, name) {
        let help = "use letters, digits, `-` and `_`, such as sg_session";
        sink.report(at.place, format!("{} is no name of a cookie", shown(text)), help);
    }
    let mut cookie = max_age.and(cookie)?;
    cookie.per_address = per_address?;
    Some(cookie)
}

fn fingerprint(
    field: &Field<List<Text>>,
    default: Vec<HeaderName>,
    sink: &mut Sink,
) -> Option<Vec<HeaderName>> {
    let list = match field {
        Field::Absent => return Some(default),
        Field::Wrong => return None,
        Field::Given(at) => at,
    };
    if list.value.0.len() > Identity::FINGERPRINT_MAX {
        let help = format!("name at most {}", Identity::FINGERPRINT_MAX);
        sink.report(list.place, "a fingerprint of that many headers is too slow to take", help);
        return None;
    }
    let mut headers: Vec<HeaderName> = Vec::new();
    for at in &list.value.0 {
        match HeaderName::new(&at.value.0) {
            None => {
                let message = format!("{} is no name of a header", shown(&at.value.0));
                sink.report(at.place, message, "write one such as user-agent");
            }
            Some(header) if headers.contains(&header) => {
                sink.report(at.place, "this header stands here twice", "remove one of the two");
            }
            Some(header) => headers.push(header),
        }
    }
    (headers.len() == list.value.0.len()).then_some(headers)
}

fn anonymous(at: &At<Text>, tiers: &Field<Named<TierBody>>, sink: &mut Sink) -> Option<TierName> {
    let name = at.value.0.as_str();
    let entries = &tiers.value()?.0;
    let Some(entry) = entries.iter().find(|entry| entry.name == name) else {
        let known = entries.iter().map(|entry| entry.name.as_str());
        let help =
            sink.did_you_mean(name, known, || "define it under `tiers`, or name one that is".to_owned());
        sink.report(at.place, format!("the tier {} is not defined", shown(name)), help);
        return None;
    };
    if entry.body.as_ref().is_some_and(|body| body.bypass.value() == Some(&true)) {
        let message = format!("the tier {} has a bypass, which only a service token may open", shown(name));
        sink.report(at.place, message, "name a tier with limits");
        return None;
    }
    TierName::new(name)
}

fn challenge(body: &ChallengeBody, sink: &mut Sink) -> Option<Challenge> {
    let example = "https://challenges.cloudflare.com/turnstile/v0/siteverify";
    let verify_url = body.verify_url.given().and_then(|at| super::server::http_url(at, example, sink));
    let secret = body.secret.given().and_then(|at| secret_source(at, sink));
    Some(Challenge { verify_url: verify_url?, secret: secret? })
}

/// Where a secret is found.
pub(super) fn secret_source(at: &At<Verbatim>, sink: &mut Sink) -> Option<SecretSource> {
    let source = SecretSource::parse(&at.value.0);
    if source.is_none() {
        // What was typed is not repeated: it is probably the secret.
        let message = "a secret may not stand in the policy file, only where it is found";
        sink.report_secret(at.place, message, "write env:NAME_OF_A_VARIABLE or file:/path/to/the/secret");
    }
    source
}
