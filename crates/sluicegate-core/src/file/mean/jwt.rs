//! What `identity.jwt` means: where keys are found, and what claims have to say.

use crate::file::sink::Sink;
use crate::file::typed::{At, Field, JwtBody, OneOrMore, Span, Text};
use crate::file::yaml::shown;
use crate::policy::{JwksSource, Jwt};
use crate::time::Nanos;

const FILE_PREFIX: &str = "file:";

pub(super) fn jwt(body: &JwtBody, sink: &mut Sink) -> Option<Jwt> {
    let jwks = body.jwks.given().and_then(|at| jwks(at, sink));
    let issuer = body.issuer.given().and_then(|at| text(at, "this issuer", sink));
    let audience = audience(&body.audience, sink);
    let account = body.account.given().and_then(|at| text(at, "this name of a claim", sink));
    let tier = optional_text(&body.tier, sink);
    let scopes = optional_text(&body.scopes, sink);
    let leeway = at_most(&body.leeway, Jwt::LEEWAY_DEFAULT, (Jwt::LEEWAY_SECS_MAX, "5m"), sink);
    let stale = at_most(&body.stale_max, Jwt::STALE_MAX_DEFAULT, (Jwt::STALE_SECS_MAX, "7d"), sink);
    Some(Jwt {
        jwks: jwks?,
        issuer: issuer?,
        audience: audience?,
        account: account?,
        tier: tier?,
        scopes: scopes?,
        leeway: leeway?,
        stale_max: stale?,
    })
}

fn jwks(at: &At<Text>, sink: &mut Sink) -> Option<JwksSource> {
    if let Some(path) = at.value.0.strip_prefix(FILE_PREFIX) {
        let path = path.strip_prefix("//").filter(|rest| rest.starts_with('/')).unwrap_or(path);
        if path.starts_with('/') {
            return Some(JwksSource::File(path.into()));
        }
        let message = format!("{} is not `file:` and the path of a file", shown(&at.value.0));
        sink.report(at.place, message, "write one such as file:/etc/sluicegate/jwks.json");
        return None;
    }
    let example = "https://login.example.com/.well-known/jwks.json or file:/etc/sluicegate/jwks.json";
    super::server::http_url(at, example, sink).map(JwksSource::Url)
}

fn text(at: &At<Text>, what: &str, sink: &mut Sink) -> Option<String> {
    let text = at.value.0.as_str();
    if text.len() > Jwt::TEXT_MAX || text.chars().any(char::is_control) {
        let help = format!("write at most {} characters on one line", Jwt::TEXT_MAX);
        sink.report(at.place, format!("{what} is too long, or has a control character"), help);
        return None;
    }
    Some(text.to_owned())
}

fn optional_text(field: &Field<Text>, sink: &mut Sink) -> Option<Option<String>> {
    match field {
        Field::Absent => Some(None),
        Field::Wrong => None,
        Field::Given(at) => text(at, "this name of a claim", sink).map(Some),
    }
}

fn audience(field: &Field<OneOrMore<Text>>, sink: &mut Sink) -> Option<Vec<String>> {
    let list = field.given()?;
    if list.value.0.is_empty() || list.value.0.len() > Jwt::AUDIENCES_MAX {
        let help = format!("name 1 to {}, such as [https://api.example.com]", Jwt::AUDIENCES_MAX);
        sink.report(list.place, "`audience` names nobody that tokens may be for, or too many", help);
        return None;
    }
    list.value.0.iter().map(|at| text(at, "this audience", sink)).collect()
}

/// The duration that was typed, or the default.
fn at_most(
    field: &Field<Span>,
    default: Nanos,
    (secs_max, longest): (u32, &str),
    sink: &mut Sink,
) -> Option<Nanos> {
    let at = match field {
        Field::Absent => return Some(default),
        Field::Wrong => return None,
        Field::Given(at) => at,
    };
    let secs = u32::try_from(at.value.secs).ok().filter(|secs| *secs <= secs_max);
    if secs.is_none() {
        sink.report(at.place, "this duration is too long", format!("the longest is {longest}"));
    }
    secs.map(Nanos::from_secs)
}
