//! The query of usage: whose, of what, from when to when.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use sluicegate_core::file::duration_secs;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_engine::books::Asked;
use sluicegate_ledger::Quarter;
use sluicegate_ledger::quarter::ALL_QUARTERS;
use sluicegate_ledger::usage::Step;
use utoipa::IntoParams;

use crate::input::{unknown, wrong_query};
use crate::instant;
use crate::problem::Problem;

const QUARTER: Nanos = Nanos::from_secs(900);

/// The parameters of usage, for the description of the API.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "it describes what is read by hand, so that every complaint names its parameter"
)]
pub(crate) struct UsageParams {
    /// Of this account only. A deleted one is asked for with its unique id, as `acme~3763536543744000`; the id alone
    /// means the account that has it now, or the last one that had it.
    #[param(required = false, example = "acme")]
    account: String,
    /// Of this key only.
    #[param(required = false, pattern = "^[0-9A-Za-z]{12}$", example = "4fVZ8pQ2mX0c")]
    key: String,
    /// Of this route only.
    #[param(required = false, example = "search")]
    route: String,
    /// From this instant or day on, or from so long ago, as in `7d`; rounded down to the quarter of an hour.
    /// Absent: from the beginning.
    #[param(required = false, example = "2026-11-01")]
    from: String,
    /// Up to this instant or day and without it, or up to so long ago; rounded up to the quarter of an
    /// hour. Absent: up to now.
    #[param(required = false, example = "2026-12-01T00:00:00Z")]
    to: String,
    /// How long each point of the series is: `15m`, `hour`, `day` or `month`.
    #[param(required = false, example = "hour")]
    step: String,
    /// The time zone in which days and months begin. Absent: UTC.
    #[param(required = false, example = "Asia/Kathmandu")]
    tz: String,
}

/// The names of the parameters above.
const KNOWN: [&str; 7] = ["account", "key", "route", "from", "to", "step", "tz"];

/// What is asked of usage, and the parameters that belong to the call itself.
pub(crate) struct UsageQuery<const OWN: usize> {
    pub(crate) asked: Asked,
    own: [Option<String>; OWN],
}

impl<const OWN: usize> UsageQuery<OWN> {
    /// Reads a query. Parameters in `own` belong to the call.
    pub(crate) fn read(
        pairs: Vec<(String, String)>,
        own: [&str; OWN],
        now: Timestamp,
    ) -> Result<Self, Problem> {
        let (quarters, step, zone) = (ALL_QUARTERS, Step::Hour, TimeZone::UTC);
        let asked = Asked { account: None, key: None, route: None, quarters, step, zone };
        let mut query = Self { asked, own: [const { None }; OWN] };
        let mut seen: Vec<String> = Vec::new();
        for (name, value) in pairs {
            if seen.contains(&name) {
                return Err(wrong_query(&name, "is given twice"));
            }
            if let Some(place) = own.iter().position(|own| *own == name) {
                query.own[place] = Some(value);
            } else {
                set(&mut query.asked, &name, value, &own, now)?;
            }
            seen.push(name);
        }
        if query.asked.quarters.is_empty() {
            return Err(wrong_query("to", "is not later than \"from\""));
        }
        Ok(query)
    }

    /// The value of one of the call's own parameters, by its place among them.
    pub(crate) fn own(&self, place: usize) -> Option<&str> {
        self.own.get(place).and_then(|value| value.as_deref())
    }
}

fn set(asked: &mut Asked, name: &str, value: String, own: &[&str], now: Timestamp) -> Result<(), Problem> {
    match name {
        "account" => asked.account = Some(value),
        "key" => asked.key = Some(value),
        "route" => asked.route = Some(value),
        "from" => asked.quarters.start = Quarter::of(time("from", &value, now)?),
        "to" => {
            let at = time("to", &value, now)?;
            let quarter = Quarter::of(at);
            asked.quarters.end = if at == quarter.start() { quarter } else { Quarter::of(at.plus(QUARTER)) };
        }
        "step" => asked.step = step(&value)?,
        "tz" => {
            asked.zone = TimeZone::get(&value)
                .map_err(|_| wrong_query("tz", "is not a time zone, such as \"Europe/Berlin\""))?;
        }
        _ => {
            let known: Vec<&str> = KNOWN.iter().chain(own).copied().collect();
            return Err(unknown(name, &known));
        }
    }
    Ok(())
}

fn step(text: &str) -> Result<Step, Problem> {
    match text {
        "15m" => Ok(Step::Quarter),
        "hour" => Ok(Step::Hour),
        "day" => Ok(Step::Day),
        "month" => Ok(Step::Month),
        _ => Err(wrong_query("step", "is not \"15m\", \"hour\", \"day\" or \"month\"")),
    }
}

/// An instant, the first one of a day in UTC, or so long ago.
fn time(name: &str, text: &str, now: Timestamp) -> Result<Timestamp, Problem> {
    if let Some(secs) = duration_secs(text) {
        return Ok(Timestamp::from_nanos(now.as_nanos().saturating_sub(secs.saturating_mul(1_000_000_000))));
    }
    let day = || text.parse::<Date>().ok().and_then(|day| day.to_zoned(TimeZone::UTC).ok());
    let whole = match day() {
        // A text with a time in it reads as a day, too: only one without is meant as such.
        Some(day) if text.len() <= "2026-11-01".len() => day.timestamp().to_string(),
        _ => text.to_owned(),
    };
    instant::parse(&whole).map_err(|_| {
        wrong_query(
            name,
            "is not a day, an instant or a time ago, such as 2026-11-01, 2026-11-01T12:00:00Z or 7d",
        )
    })
}
