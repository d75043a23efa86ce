//! `sluicegate usage show`: what was used, as a chart.

use serde::Deserialize;

use super::{USAGE, query};
use crate::admin_client::{AdminClient, read};
use crate::cli::UsageShow;
use crate::output::{self, Format};
use crate::table::{self, facts};

/// How long the longest bar is.
const BAR_MAX: i64 = 32;

#[derive(Deserialize)]
struct Usage {
    account: Option<Payer>,
    total: i64,
    overage: i64,
    requests: i64,
    refunded: i64,
    late: i64,
    degraded: i64,
    series: Vec<Point>,
    open_from: Option<String>,
    torn: u64,
    node: String,
}

#[derive(Deserialize)]
struct Payer {
    name: String,
    deleted_at: Option<String>,
    earlier: Vec<String>,
}

#[derive(Deserialize)]
struct Point {
    start: String,
    total: i64,
    overage: i64,
    requests: i64,
    refunded: i64,
}

pub(super) fn run(client: &AdminClient, args: &UsageShow) -> anyhow::Result<()> {
    let [from, to] = args.period.parameters();
    // Who says when it ends may mean any beginning.
    let usual = to.1.is_none().then(|| args.step.span());
    let from = (from.0, from.1.or(usual));
    let asked = query(&[
        ("account", args.account.as_deref()),
        ("key", args.key.as_deref()),
        ("route", args.route.as_deref()),
        from,
        to,
        ("step", Some(args.step.as_str())),
        ("tz", args.tz.as_deref()),
    ]);
    let shown = client.get(&format!("{USAGE}{asked}"))?;
    if client.format() == Format::Json {
        return output::print_json(&shown);
    }
    output::print(&read::<Usage>(shown)?.text())
}

impl Usage {
    fn text(&self) -> String {
        if self.series.is_empty() {
            let nothing = "Nothing was used in this time. Another time: --from 30d\n";
            let whose = self.whose();
            return if whose.is_empty() { nothing.to_owned() } else { format!("{nothing}{}", facts(&whose)) };
        }
        let largest = self.series.iter().map(|point| point.total).max().unwrap_or(0);
        let mut chart = table::with_columns(["from", "used", "overage", "requests", "given back", ""]);
        for point in &self.series {
            chart.add_row([
                point.start.clone(),
                point.total.to_string(),
                point.overage.to_string(),
                point.requests.to_string(),
                point.refunded.to_string(),
                bar(point.total, largest),
            ]);
        }
        format!("{}{}", table::text(&chart), facts(&self.facts()))
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![
            ("used", self.total.to_string()),
            ("beyond the quota", self.overage.to_string()),
            ("requests", self.requests.to_string()),
            ("given back", self.refunded.to_string()),
        ];
        let remarks = [("recorded late", self.late), ("while degraded", self.degraded)];
        facts.extend(remarks.iter().filter(|(_, sum)| *sum != 0).map(|(name, sum)| (*name, sum.to_string())));
        if self.torn > 0 {
            facts.push(("damaged", format!("{} records are in no sum: sluicegate audit verify", self.torn)));
        }
        facts.push((
            "closed",
            self.open_from.as_ref().map_or_else(|| "nothing yet".to_owned(), |open| format!("up to {open}")),
        ));
        facts.push(("node", self.node.clone()));
        facts.extend(self.whose());
        facts
    }

    /// What is to be said of the account: that it is deleted, and that others had its name before.
    fn whose(&self) -> Vec<(&'static str, String)> {
        let Some(payer) = &self.account else { return Vec::new() };
        let deleted = payer.deleted_at.as_ref().map(|at| ("deleted", format!("{at}: {}", payer.name)));
        let earlier = (!payer.earlier.is_empty()).then(|| ("earlier accounts", payer.earlier.join(", ")));
        deleted.into_iter().chain(earlier).collect()
    }
}

/// A bar as long as its part of the largest. What is more than nothing has one.
fn bar(amount: i64, largest: i64) -> String {
    if amount <= 0 || largest <= 0 {
        return String::new();
    }
    let length = (i128::from(amount) * i128::from(BAR_MAX) / i128::from(largest)).max(1);
    "█".repeat(usize::try_from(length).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn a_bar_is_as_long_as_its_part_of_the_largest() {
        assert_eq!(bar(100, 100).chars().count(), 32);
        assert_eq!(bar(50, 100).chars().count(), 16);
        assert_eq!(bar(1, 1_000_000).chars().count(), 1);
        assert_eq!(bar(i64::MAX, i64::MAX).chars().count(), 32);
        assert_eq!(bar(0, 100), "");
        assert_eq!(bar(-5, 100), "");
    }
}
