//! Whole decisions: key text, account, plan, charge, record, decision.

use anyhow::{Context as _, Result, ensure};
use sluicegate_core::file;
use sluicegate_core::policy::TierName;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_engine::{CallerRequest, Clock, Credential, Embedded, Engine, Front, Hold, Purpose};
use sluicegate_ledger::SpoolSettings;
use sluicegate_store::directory::{AccountId, DisplayName, NewAccount, NewKey, Scopes, Writer};
use sluicegate_store::key_text::KeyEnv;

use super::{ACCOUNTS, STEP_NS};

const POLICY: &[u8] = b"tiers: {plan: {rate: 1_000_000, burst: 1_000_000, quota: 1_000_000_000}}";

/// 2026-10-05T12:00:00Z: far from the end of a month.
const START: Timestamp = Timestamp::from_secs(1_791_201_600);

/// Decides this many requests, each of another account in turn.
pub(crate) fn run(decisions: u32) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let policy = file::read(POLICY).map_err(|problems| anyhow::anyhow!("{problems:?}"))?.policy;
    // One segment holds all records of a run.
    let spool = SpoolSettings { segment_records: decisions.max(1 << 17), ..SpoolSettings::default() };
    let (engine, _) =
        Embedded { spool, clock: |latest| Clock::fixed(latest.max(START)), ..Embedded::new(policy) }.open(
            dir.path(),
            b"a secret that only this benchmark has",
            |_| (),
        )?;
    let keys = keys(&engine)?;
    let (mut now, mut admitted) = (START, 0);
    for (key, _) in keys.iter().cycle().zip(0..decisions) {
        now = now.plus(Nanos(STEP_NS));
        admitted += u32::from(engine.decide(&request(key), now).is_admitted());
    }
    ensure!(admitted == decisions, "{} of {decisions} decisions were refused", decisions - admitted);
    Ok(())
}

/// Makes the accounts, and a key for each.
fn keys(engine: &Engine) -> Result<Vec<String>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let writer = Writer { who: "benchmark".to_owned(), now: START };
    let name = DisplayName::new("benchmark").map_err(|error| anyhow::anyhow!("{error:?}"))?;
    (0..ACCOUNTS)
        .map(|number| {
            let id = format!("acct-{number}");
            let account = NewAccount {
                id: Some(AccountId::new(&id).map_err(|error| anyhow::anyhow!("{error:?}"))?),
                name: name.clone(),
                tier: TierName::new("plan").context("a tier")?,
                billing_day: None,
                timezone: None,
            };
            runtime.block_on(engine.directory().create_account(account, &writer))?;
            let scopes = Scopes::new([]).map_err(|error| anyhow::anyhow!("{error:?}"))?;
            let key = NewKey { name: name.clone(), env: KeyEnv::Live, scopes, expires_at: None };
            let (_, key) = runtime.block_on(engine.directory().create_key(&id, key, &writer))?;
            Ok(key.expose().to_owned())
        })
        .collect()
}

fn request(key: &str) -> CallerRequest<'_> {
    CallerRequest {
        credential: Credential::Key(key),
        address: None,
        method: "GET",
        path: "/",
        cost: None,
        idempotency_key: None,
        purpose: Purpose::Charge,
        hold: Hold::IfNeeded,
        front: Front::Decision,
    }
}
