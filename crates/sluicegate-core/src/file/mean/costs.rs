//! Costs of routes that are larger than what a request may cost: no wait ever admits them.

use crate::file::sink::Sink;
use crate::file::typed::{Field, Named, RouteBody};
use crate::limit::Limit;
use crate::policy::{RouteIndex, Routes, Tier, Tiers};

use super::range::readable;

/// The most names of tiers that a message has.
const NAMED_MAX: usize = 3;

/// A limit that does not admit a cost, and the most that it admits.
struct Narrowest<'t> {
    tier: &'t Tier,
    limit: &'t Limit,
    most: u64,
}

/// Reports every cost that no tier admits, and warns of those that only some do.
pub(super) fn report(typed: &Field<Named<RouteBody>>, routes: &Routes, tiers: &Tiers, sink: &mut Sink) {
    let Field::Given(named) = typed else { return };
    for (entry, (index, route)) in named.value.0.iter().zip(routes.iter()) {
        let Some(cost) = entry.body.as_ref().and_then(|body| body.cost.given()) else { continue };
        let narrow: Vec<Narrowest<'_>> = tiers
            .iter()
            .filter_map(|tier| narrowest(tier, index))
            .filter(|it| it.most < route.cost)
            .collect();
        let Some(widest) = narrow.iter().max_by_key(|it| it.most) else { continue };
        let (name, costs) = (&route.name, readable(route.cost));
        if narrow.len() == tiers.iter().len() {
            let help = format!(
                "write at most {}, which `{}` of the tier `{}` admits, or raise that limit",
                readable(widest.most),
                widest.limit.name,
                widest.tier.name
            );
            sink.report(cost.place, format!("`{name}` costs {costs}, more than any tier ever admits"), help);
        } else {
            let message = format!("`{name}` costs {costs}, which {}", never_admit(&narrow));
            let most = narrow.iter().map(|it| it.most).min().unwrap_or(0);
            let help = format!(
                "to let all tiers use it write at most {}, or raise {}",
                readable(most),
                limits(&narrow)
            );
            sink.warn(cost.place, message, help);
        }
    }
}

/// The limit of a tier that admits the least on a route at once. Nothing: the tier admits whatever it costs.
fn narrowest(tier: &Tier, route: RouteIndex) -> Option<Narrowest<'_>> {
    let counting =
        tier.limits.iter().filter(|entry| entry.routes.is_empty() || entry.routes.contains(&route));
    let bounded = counting.filter_map(|entry| Some((&entry.limit, entry.limit.max_cost()?)));
    bounded.min_by_key(|(_, most)| *most).map(|(limit, most)| Narrowest { tier, limit, most })
}

/// Which tiers it is: ``the tiers `a`, `b` and 3 more never admit``.
fn never_admit(narrow: &[Narrowest<'_>]) -> String {
    if let [only] = narrow {
        return format!("the tier `{}` never admits", only.tier.name);
    }
    let names: Vec<String> = narrow.iter().take(NAMED_MAX).map(|it| format!("`{}`", it.tier.name)).collect();
    let more = match narrow.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("the tiers {}{more} never admit", names.join(", "))
}

/// The limits that are in the way: `` `rate` of `free` ``.
fn limits(narrow: &[Narrowest<'_>]) -> String {
    let limits = narrow.iter().take(NAMED_MAX);
    let limits: Vec<String> = limits.map(|it| format!("`{}` of `{}`", it.limit.name, it.tier.name)).collect();
    limits.join(", ")
}
