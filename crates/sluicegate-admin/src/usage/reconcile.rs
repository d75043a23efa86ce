//! `POST /admin/v1/usage/reconcile`: whether meters, files and bills agree with the ledger.
#![expect(
    unused_qualifications,
    reason = "the macro that describes a call with several parameters writes them"
)]

use std::num::NonZeroU32;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use sluicegate_engine::Books;
use sluicegate_engine::books::{Measure, Others, QuotaCount, Repaired};
use sluicegate_ledger::Hour;
use sluicegate_ledger::quarter::hours_of;
use sluicegate_ledger::reconcile::{Difference, Drift, read_bill};
use sluicegate_ledger::usage::Miscounted;
use utoipa::{IntoParams, ToSchema};

use super::asked::{UsageParams, UsageQuery};
use super::{failed, number, text};
use crate::Shared;
use crate::auth::Call;
use crate::input::{CsvText, QueryPairs, wrong_query};
use crate::keys::Env;
use crate::problem::{Error, Problem, ProblemEntry};
use sluicegate_core::key_env::KeyEnv;
use sluicegate_store::directory::{Deed, Note};

/// What the ledger is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Against {
    /// The meters of quotas.
    Meters,
    /// Its own records, counted once more.
    Records,
    /// The files that were sealed.
    Sealed,
    /// A bill.
    Bill,
}

/// The parameters of a comparison, for the description of the API.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it describes what is read by hand")]
pub(crate) struct ReconcileParams {
    /// `meters`, `records`, `sealed` or `bill`. Absent: `bill` if there is a body, else `meters`.
    #[param(required = false, example = "meters")]
    against: String,
    /// `true`: meters that say something else are set right, roll-ups counted again, or files that are missing or
    /// damaged written anew. Not with `against=bill`.
    #[param(required = false, example = false)]
    repair: bool,
    /// `true`: what agrees is listed, too. Only with `against=meters`.
    #[param(required = false, example = false)]
    all: bool,
    /// `true`: no other node shares the meters. Only with `against=meters`.
    #[param(required = false, example = false)]
    alone: bool,
}

/// Who sets a meter right that others share must know what they recorded.
const NEEDS_OTHERS: &str = "needs what the other nodes have recorded. On the command line, name each with --node, or \
    say --alone if there are none. In the API, send a body of \"account,limit,key,total\", or \"alone=true\"";

/// What came of it.
#[derive(Serialize, ToSchema)]
pub(crate) struct Reconciled {
    against: Against,
    /// How many quotas, rows or files were compared; nothing where that says nothing.
    #[schema(example = 12)]
    compared: u64,
    /// What they do not agree on.
    differences: Vec<DifferenceBody>,
    /// What they agree on, if that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agreeing: Vec<DifferenceBody>,
    /// Hours whose sealed files are not there.
    missing: Vec<String>,
    /// Hours whose sealed files are not what was sealed.
    damaged: Vec<String>,
    drift: DriftBody,
    /// How many meters or rows were set right, or files written anew.
    #[schema(example = 0)]
    repaired: u64,
    /// The node whose ledger it is.
    #[schema(example = "4f2a9c0d1e3b5a67")]
    node: String,
}

/// How far they are apart.
#[derive(Serialize, ToSchema)]
#[schema(as = Drift)]
pub(crate) struct DriftBody {
    /// How many accounts they do not agree on.
    #[schema(example = 0)]
    accounts: u64,
    /// By how much, whichever side says more.
    #[schema(example = 0)]
    units: u64,
}

/// What two sides say.
#[derive(Serialize, ToSchema)]
#[schema(as = Difference)]
pub(crate) struct DifferenceBody {
    /// Whose usage; null for callers without a key.
    #[schema(required, example = "acme")]
    account: Option<String>,
    /// In which hour; null over the whole time.
    #[schema(required, format = DateTime, example = "2026-11-16T07:00:00Z")]
    hour: Option<String>,
    /// The quota, where a meter is meant. With `:overage` behind it, its overage; with `:billed`, the recorded overage
    /// beside what the rule says. Where all are listed, `:billed:` and a number names the billed quota that the usage
    /// was recorded under.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "quota")]
    limit: Option<String>,
    /// The number of the key whose own meter it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1, example = 1)]
    key: Option<u32>,
    /// `test` for a meter of test keys; absent for one of live keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "test")]
    env: Option<Env>,
    /// What the meter said at least and at most while it was compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = json!([119, 119]))]
    meter: Option<[u64; 2]>,
    /// What the ledger says.
    #[schema(example = 120)]
    ledger: i64,
    /// What the other side says; of `:billed`, the rule.
    #[schema(example = 119)]
    other: i64,
}

impl DifferenceBody {
    fn of_quota(count: &QuotaCount) -> Self {
        let ledger = count.records;
        Self {
            account: Some(count.account.clone()),
            hour: None,
            limit: Some(count.label()),
            key: count.key.and_then(KeyEnv::untag).map(NonZeroU32::get),
            env: count.key.map(KeyEnv::of_tagged).filter(|env| *env == KeyEnv::Test).map(|_| Env::Test),
            meter: Some([count.meter.least, count.meter.most]),
            ledger: number(ledger),
            other: number(ledger - count.drift()),
        }
    }

    fn of_hour(account: Option<String>, hour: Option<Hour>, ledger: i128, other: i128) -> Self {
        let (ledger, other) = (number(ledger), number(other));
        let hour = hour.map(text);
        Self { account, hour, limit: None, key: None, env: None, meter: None, ledger, other }
    }

    fn of_difference(difference: &Difference) -> Self {
        let account = Some(difference.account.clone()).filter(|account| !account.is_empty());
        Self::of_hour(account, difference.hour, difference.left, difference.right)
    }
}

impl Reconciled {
    fn of(against: Against, books: &Books) -> Self {
        let node = books.ledger().node().to_owned();
        let drift = DriftBody { accounts: 0, units: 0 };
        let (differences, agreeing, missing, damaged) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { against, compared: 0, differences, agreeing, missing, damaged, drift, repaired: 0, node }
    }

    fn with(mut self, differences: Vec<DifferenceBody>) -> Self {
        let sides = differences.iter().map(|it| Difference {
            account: it.account.clone().unwrap_or_default(),
            hour: None,
            left: it.ledger.into(),
            right: it.other.into(),
        });
        let drift = Drift::of(&sides.collect::<Vec<_>>());
        self.drift =
            DriftBody { accounts: drift.accounts, units: u64::try_from(drift.units).unwrap_or(u64::MAX) };
        self.differences = differences;
        self
    }
}

/// Compare the ledger with meters, files or a bill
///
/// Where several nodes share the meters, the body says what the others have recorded, as `account,limit,key,total`.
/// A bill is comma-separated values with a header: a column `account`, a column `total`, and, to compare by the hour, a
/// column `hour`.
#[utoipa::path(
    post,
    path = "/admin/v1/usage/reconcile",
    tag = "usage",
    operation_id = "reconcileUsage",
    params(UsageParams, ReconcileParams),
    request_body(content = String, content_type = "text/csv", description = "A bill"),
    responses(
        (status = 200, description = "What they do not agree on", body = Reconciled),
        (status = 404, description = "There is no such account"),
        (status = 422, description = "The bill cannot be read"),
    )
)]
pub(crate) async fn reconcile(
    State(admin): State<Shared>,
    call: Call,
    QueryPairs(pairs): QueryPairs,
    CsvText(bill): CsvText,
) -> Result<Json<Reconciled>, Problem> {
    let query = UsageQuery::read(pairs, ["against", "repair", "all", "alone"], call.now)?;
    let against = against(query.own(0), bill.is_empty())?;
    let (repair, all) = (flag("repair", query.own(1))?, flag("all", query.own(2))?);
    if all && against != Against::Meters {
        return Err(wrong_query("all", "belongs to \"against=meters\""));
    }
    if repair && against == Against::Bill {
        return Err(wrong_query("repair", "belongs to the other sides: a bill is not ours to set right"));
    }
    let books = &admin.books;
    let reconciled = Reconciled::of(against, books);
    let hours = hours_of(&query.asked.quarters);
    Ok(Json(match against {
        Against::Meters => {
            let account = books.query(&query.asked).await?.account;
            let others = others(&bill)?;
            // Others that were asked and have recorded nothing are said to be there by the header alone.
            let alone = flag("alone", query.own(3))? || !bill.is_empty() || !admin.engine.is_shared();
            let Repaired { compared, repaired } = if !repair {
                Repaired { compared: books.quotas(account, &others).await?, repaired: 0 }
            } else if alone {
                books.repair_and_bill(account, &others).await?
            } else {
                return Err(wrong_query("repair", NEEDS_OTHERS));
            };
            if repaired > 0 {
                note_repair(&admin, &compared, call).await?;
            }
            Reconciled { repaired, ..meters(reconciled, &compared, all) }
        }
        Against::Records => {
            let records = records(reconciled, books, hours, repair).await?;
            if records.repaired > 0 {
                note_rollups(&admin, records.repaired, call).await?;
            }
            records
        }
        Against::Sealed => {
            let sealed = books.compare_sealed(hours).await?;
            let differences = sealed.differences.iter().map(DifferenceBody::of_difference).collect();
            let lost = [sealed.missing.as_slice(), &sealed.damaged].concat();
            let repaired = if repair { books.seal_again(&lost).await?.hours } else { 0 };
            Reconciled {
                compared: sealed.objects,
                repaired,
                missing: sealed.missing.into_iter().map(text).collect(),
                damaged: sealed.damaged.into_iter().map(text).collect(),
                ..reconciled.with(differences)
            }
        }
        Against::Bill => {
            let bill = read_bill(&*bill).map_err(|problems| unreadable(&problems))?;
            let differences = books.compare_bill(hours, bill).await?;
            reconciled.with(differences.iter().map(DifferenceBody::of_difference).collect())
        }
    }))
}

fn meters(reconciled: Reconciled, compared: &[QuotaCount], all: bool) -> Reconciled {
    let (agreeing, differing): (Vec<_>, Vec<_>) = compared.iter().partition(|count| count.drift() == 0);
    let bodies = |counts: Vec<&QuotaCount>| counts.into_iter().map(DifferenceBody::of_quota).collect();
    let agreeing = if all { bodies(agreeing) } else { Vec::new() };
    let compared = compared.iter().filter(|count| count.measure.is_compared()).count() as u64;
    Reconciled { compared, agreeing, ..reconciled.with(bodies(differing)) }
}

async fn records(
    reconciled: Reconciled,
    books: &Arc<Books>,
    hours: std::ops::Range<Hour>,
    repair: bool,
) -> Result<Reconciled, Problem> {
    let recount =
        if repair { books.repair_records(hours).await? } else { books.compare_records(hours).await? };
    let repaired = if repair { recount.miscounted.len() as u64 } else { 0 };
    let compared = u64::from(recount.hours.end.number().saturating_sub(recount.hours.start.number()));
    let books = Arc::clone(books);
    let name = move || {
        let named = |row: &Miscounted| {
            let account = sluicegate_ledger::export::Named::Account(row.key.account);
            let account = (row.key.account != 0).then(|| books.names().name(account)).flatten();
            DifferenceBody::of_hour(account, Some(row.key.hour()), row.book.total(), row.records.total())
        };
        recount.miscounted.iter().map(named).collect::<Vec<_>>()
    };
    let differences = tokio::task::spawn_blocking(name).await.map_err(|error| failed(&error))?;
    Ok(Reconciled { compared, repaired, ..reconciled.with(differences) })
}

/// Counting roll-ups again is a write like any other.
async fn note_rollups(admin: &crate::Admin, rows: u64, call: Call) -> Result<(), Problem> {
    let after = Some(serde_json::json!({"rows": rows}));
    let note = Note {
        deed: Deed::RepairRollups,
        target: admin.books.ledger().node().to_owned(),
        before: None,
        after,
    };
    admin.engine.directory().note(note, &call.writer()).await?;
    Ok(())
}

/// Setting meters right is a write like any other: who did it, and what it was before.
async fn note_repair(admin: &crate::Admin, compared: &[QuotaCount], call: Call) -> Result<(), Problem> {
    for count in compared.iter().filter(|count| count.drift() != 0) {
        let say = |used: i128| Some(serde_json::json!({"limit": count.label(), "used": number(used)}));
        let (records, other) = (count.records, count.records - count.drift());
        // The meter becomes what the records say, and the recorded overage what the rule says.
        let (before, after) =
            if count.measure == Measure::Billed { (records, other) } else { (other, records) };
        let note = Note {
            deed: Deed::RepairMeter,
            target: count.account.clone(),
            before: say(before),
            after: say(after),
        };
        admin.engine.directory().note(note, &call.clone().writer()).await?;
    }
    Ok(())
}

fn against(text: Option<&str>, no_body: bool) -> Result<Against, Problem> {
    match text {
        None if no_body => Ok(Against::Meters),
        None | Some("bill") => Ok(Against::Bill),
        Some("meters") => Ok(Against::Meters),
        Some("records") => Ok(Against::Records),
        Some("sealed") => Ok(Against::Sealed),
        Some(_) => Err(wrong_query("against", "is not \"meters\", \"records\", \"sealed\" or \"bill\"")),
    }
}

/// What other nodes have recorded of quotas: `account,limit,key,total`, a line for each. Names have no commas.
fn others(text: &[u8]) -> Result<Others, Problem> {
    let text = str::from_utf8(text).unwrap_or("\u{fffd}");
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let mut others = Others::new();
    for (number, line) in lines {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if fields == ["account", "limit", "key", "total"] {
            continue;
        }
        let read = match *fields {
            [account, limit, key, total] => key_of_quota(key)
                .zip(total.parse::<i64>().ok())
                .map(|(key, total)| (account, limit, key, total)),
            _ => None,
        };
        let Some((account, limit, key, total)) = read else {
            let message = "is not `account,limit,key,total`".to_owned();
            let entry = ProblemEntry { line: number + 1, column: 1, message, help: None, account: None };
            return Err(cannot_be_read(vec![entry]));
        };
        *others.entry((account.to_owned(), key, limit.to_owned())).or_default() += i128::from(total);
    }
    Ok(others)
}

/// Whose meter of a quota: nothing where all live keys share it, the number of a key, either with `:test` behind it for
/// test keys.
fn key_of_quota(text: &str) -> Option<Option<NonZeroU32>> {
    let (number, env) = match text.strip_suffix(":test") {
        Some(number) => (number, KeyEnv::Test),
        None => (text, KeyEnv::Live),
    };
    match (number, env) {
        ("", KeyEnv::Live) => Some(None),
        ("", KeyEnv::Test) => Some(Some(KeyEnv::TEST_KEYS)),
        (number, env) => number.parse().ok().map(|number| Some(env.tag(number))),
    }
}

fn flag(name: &str, text: Option<&str>) -> Result<bool, Problem> {
    match text {
        None | Some("false") => Ok(false),
        Some("true" | "") => Ok(true),
        Some(_) => Err(wrong_query(name, "is neither \"true\" nor \"false\"")),
    }
}

fn unreadable(problems: &[sluicegate_ledger::reconcile::BillProblem]) -> Problem {
    let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let entries = problems.iter().map(|problem| ProblemEntry {
        line: place(problem.line.max(1)),
        column: place(problem.column.unwrap_or(1)),
        message: problem.problem.clone(),
        help: None,
        account: None,
    });
    cannot_be_read(entries.collect())
}

fn cannot_be_read(problems: Vec<ProblemEntry>) -> Problem {
    Problem::new(Error::InvalidField, "The body cannot be read; \"problems\" says where and why.")
        .field("body")
        .problems(problems)
}
