//! What is asked: the options of a check.

use std::borrow::Cow;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use http::HeaderMap;
use sluicegate_core::file::closest;
use sluicegate_core::rule::Amount;
use sluicegate_core::time::Nanos;
use sluicegate_engine::{CallerRequest, Credential, Front, Hold, Name, Purpose};

use super::super::reply::shown;
use crate::field;

const NAME: &str = "SLUICEGATE.CHECK";

const OPTIONS: [&str; 12] = [
    "KEY",
    "SERVICE_TOKEN",
    "ACCOUNT",
    "TIER",
    "IP",
    "METHOD",
    "PATH",
    "COST",
    "IDEMPOTENCY_KEY",
    "HOLD",
    "HOLD_FOR",
    "PEEK",
];

/// One check, as it was asked for.
#[derive(Debug, Default)]
pub(super) struct Check<'b> {
    key: Option<&'b str>,
    service_token: Option<&'b str>,
    account: Option<&'b str>,
    tier: Option<&'b str>,
    address: Option<IpAddr>,
    method: Option<Cow<'b, str>>,
    path: Option<Cow<'b, str>>,
    cost: Option<Amount>,
    idempotency_key: Option<Cow<'b, str>>,
    hold: bool,
    hold_for: Option<Nanos>,
    peek: bool,
}

/// What is known of a caller that says nothing.
static NO_HEADERS: LazyLock<HeaderMap> = LazyLock::new(HeaderMap::new);

impl<'b> Check<'b> {
    /// Reads the options, or says what is wrong with them.
    pub(super) fn read(args: &[&'b [u8]]) -> Result<Self, String> {
        let mut check = Self::default();
        let (mut rest, mut seen) = (args, 0_u32);
        while let Some((option, values)) = rest.split_first() {
            let found = OPTIONS.iter().position(|known| option.eq_ignore_ascii_case(known.as_bytes()));
            let Some(index) = found else { return Err(unknown_option(NAME, option, &OPTIONS)) };
            if seen & (1 << index) != 0 {
                return Err(format!("ERR {NAME}: {} stands twice", OPTIONS[index]));
            }
            seen |= 1 << index;
            rest = match check.take(OPTIONS[index], values.first().copied())? {
                Taken::Nothing => values,
                Taken::Value => values.get(1..).unwrap_or_default(),
            };
        }
        check.agrees().map(|()| check)
    }

    fn take(&mut self, option: &'static str, value: Option<&'b [u8]>) -> Result<Taken, String> {
        match option {
            "HOLD" => {
                self.hold = true;
                return Ok(Taken::Nothing);
            }
            "PEEK" => {
                self.peek = true;
                return Ok(Taken::Nothing);
            }
            "COST" => self.cost = Amount::new(number(NAME, option, value, 1..=Amount::MAX)?),
            "KEY" => self.key = Some(text(option, value)?),
            "SERVICE_TOKEN" => self.service_token = Some(text(option, value)?),
            "ACCOUNT" => self.account = Some(text(option, value)?),
            "TIER" => self.tier = Some(text(option, value)?),
            "IP" => self.address = Some(checked(option, value, |text| address(&text))?),
            "HOLD_FOR" => self.hold_for = Some(checked(option, value, |text| field::hold_for(&text))?),
            "METHOD" => self.method = Some(checked(option, value, field::method)?),
            "PATH" => self.path = Some(checked(option, value, field::path)?),
            _idempotency_key => self.idempotency_key = Some(checked(option, value, field::idempotency_key)?),
        }
        Ok(Taken::Value)
    }

    /// Whether everything goes together, or what does not.
    fn agrees(&self) -> Result<(), String> {
        let callers = [self.key, self.service_token, self.account];
        if callers.iter().flatten().count() > 1 {
            return Err(format!("ERR {NAME}: give one of KEY, SERVICE_TOKEN and ACCOUNT"));
        }
        if self.tier.is_some() && self.account.is_none() {
            return Err(format!("ERR {NAME}: TIER stands with ACCOUNT only"));
        }
        Ok(())
    }

    /// Whether the caller is named without a credential of its own.
    pub(super) fn is_vouched_for(&self) -> bool {
        self.account.is_some() || self.tier.is_some()
    }

    /// The request to be decided on.
    pub(super) fn request(&self) -> CallerRequest<'_> {
        let credential = match (self.key, self.service_token, self.account) {
            (Some(key), ..) => Credential::Key(key),
            (_, Some(token), _) => Credential::ServiceToken(token),
            (.., Some(id)) => Credential::Account { id, tier: self.tier },
            (None, None, None) => Credential::Nothing { headers: &NO_HEADERS },
        };
        CallerRequest {
            credential,
            address: self.address,
            method: self.method.as_deref().unwrap_or("GET"),
            path: self.path.as_deref().unwrap_or("/"),
            cost: self.cost,
            idempotency_key: self.idempotency_key.as_deref().map(|text| Name::Given { text, query: None }),
            purpose: if self.peek { Purpose::Peek } else { Purpose::Charge },
            hold: self.hold(),
            front: Front::Resp,
        }
    }

    /// Whether somebody will finish it.
    pub(super) fn hold(&self) -> Hold {
        match self.hold_for {
            Some(span) => Hold::For(span),
            None if self.hold => Hold::Yes,
            None => Hold::IfNeeded,
        }
    }
}

/// What an option has taken of what follows it.
enum Taken {
    Nothing,
    Value,
}

fn address(text: &str) -> Result<IpAddr, &'static str> {
    text.parse().map_err(|_| "an IP address such as 192.0.2.1 or 2001:db8::1, without a port")
}

fn text<'b>(option: &str, value: Option<&'b [u8]>) -> Result<&'b str, String> {
    let value = value.ok_or_else(|| lacks_value(NAME, option))?;
    std::str::from_utf8(value).map_err(|_| format!("ERR {NAME}: {option} must be text"))
}

fn checked<'b, T>(
    option: &str,
    value: Option<&'b [u8]>,
    check: impl FnOnce(Cow<'b, str>) -> Result<T, &'static str>,
) -> Result<T, String> {
    let text = text(option, value)?;
    check(Cow::Borrowed(text)).map_err(|expected| format!("ERR {NAME}: {option} must be {expected}"))
}

/// A whole number within a range.
pub(in crate::resp) fn number(
    command: &str,
    option: &str,
    value: Option<&[u8]>,
    range: RangeInclusive<u64>,
) -> Result<u64, String> {
    let value = value.ok_or_else(|| lacks_value(command, option))?;
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    number.filter(|number| range.contains(number)).ok_or_else(|| {
        let (first, last) = range.clone().into_inner();
        format!("ERR {command}: {option} must be a whole number from {first} to {last}")
    })
}

pub(in crate::resp) fn lacks_value(command: &str, option: &str) -> String {
    format!("ERR {command}: {option} needs a value")
}

/// Says that there is no such option, and which may be meant.
#[cold]
pub(in crate::resp) fn unknown_option(command: &str, option: &[u8], known: &[&'static str]) -> String {
    let option = shown(option);
    match closest(&option.to_ascii_uppercase(), known.iter().copied()) {
        Some(meant) => format!("ERR {command} has no option '{option}'; did you mean {meant}?"),
        None => format!("ERR {command} has no option '{option}'; there are {}", known.join(", ")),
    }
}
