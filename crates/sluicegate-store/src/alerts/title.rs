//! Alerts as a sentence for people.

use super::{AlertClock, AlertKind, AlertState, News, QuotaUse, RateCaller, RateUse};

impl News {
    /// What it says, as a sentence. Once it is over, what was.
    pub fn title(&self) -> String {
        let over = self.state() == AlertState::Resolved;
        match &self.kind {
            AlertKind::QuotaThreshold { percent, quota } => {
                format!("{} has used {percent} % of its {}.", owner(quota), quota.limit)
            }
            AlertKind::QuotaOverage(quota) => {
                format!("{} has used more than its {}, which is billed.", owner(quota), quota.limit)
            }
            AlertKind::CallerRate(rate) => rate_title(rate, over),
            AlertKind::RefusalsShare { .. } if over => "No more than 5 % of all requests are refused.".into(),
            AlertKind::RefusalsShare { refused, requests } => {
                format!("{refused} of {requests} requests within a minute were refused: more than 5 %.")
            }
            AlertKind::AddressRefusals { address, .. } if over => {
                format!("The address {address:016x} has had no more than 1,000 refusals an hour for an hour.")
            }
            AlertKind::AddressRefusals { address, refusals } => {
                format!("The address {address:016x} was refused {refusals} times within an hour.")
            }
            AlertKind::StoreDegraded { node } if over => format!("The store decides for node {node} again."),
            AlertKind::StoreDegraded { node } => format!("The store is away: node {node} decides alone."),
            AlertKind::ReloadRejected { node, .. } if over => {
                format!("A good policy file was loaded{}.", on(node.as_deref()))
            }
            AlertKind::ReloadRejected { node, problems, .. } => {
                let many =
                    if *problems == 1 { "1 problem".to_owned() } else { format!("{problems} problems") };
                format!("The policy file has {many} and did not come into force{}.", on(node.as_deref()))
            }
            AlertKind::LedgerDrift { .. } if over => "Meters and the ledger agree.".into(),
            AlertKind::LedgerDrift { quotas, units } => {
                format!("Meters differ from the ledger: {quotas} of them, by {units} units.")
            }
            AlertKind::ClockImplausible { node, clock, .. } if over => {
                format!("The {} is plausible{}.", clock_name(*clock), on(node.as_deref()))
            }
            AlertKind::ClockImplausible { node, clock, ahead_s } => {
                let (clock, ahead) = (clock_name(*clock), span(*ahead_s));
                format!("The {clock} leapt {ahead} ahead and is not followed{}.", on(node.as_deref()))
            }
            AlertKind::SignInsRefused { node, .. } if over => {
                format!("Few wrong tokens are sent{}.", on(node.as_deref()))
            }
            AlertKind::SignInsRefused { node, refused } => {
                format!("{refused} wrong tokens were sent within two minutes{}.", on(node.as_deref()))
            }
        }
    }
}

fn owner(quota: &QuotaUse) -> String {
    match &quota.key {
        Some(key) => format!("Key {key} of {}", quota.account),
        None => quota.account.clone(),
    }
}

fn rate_title(rate: &RateUse, over: bool) -> String {
    let who = match &rate.caller {
        RateCaller::Account { id, key: Some(key) } => format!("Key {key} of {id}"),
        RateCaller::Account { id, key: None } => id.clone(),
        RateCaller::Client(id) => format!("Client {id}"),
    };
    if over {
        return format!("{who} uses no more than 90 % of its {}.", rate.limit);
    }
    format!(
        "{who} has used more than 90 % of its {} for 5 minutes: {} in the last one, of {}.",
        rate.limit, rate.used, rate.per_minute
    )
}

fn clock_name(clock: AlertClock) -> &'static str {
    match clock {
        AlertClock::System => "system clock",
        AlertClock::Store => "clock of the store",
    }
}

/// A span as people say it, rounded down.
fn span(secs: u64) -> String {
    let (hours, days) = (secs / 3_600, secs / 86_400);
    if days >= 2 { format!("{days} days") } else { format!("{hours} h") }
}

fn on(node: Option<&str>) -> String {
    node.map_or_else(String::new, |node| format!(" on node {node}"))
}
