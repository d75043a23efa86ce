//! What the upstreams bear, where load is shed.

use super::super::Admin;
use super::page::Page;

pub(super) fn write(page: &mut Page, admin: &Admin) {
    if admin.engine.policy().policy().shedding.is_none() {
        return;
    }
    let load = admin.engine.loads().look();
    page.gauge("sluicegate_upstream_limit", "How many requests upstreams bear at a time.", load.limit);
    page.gauge("sluicegate_upstream_in_flight", "How many they work on.", load.in_flight);
    let shed: Vec<(String, u64)> =
        load.shed.into_iter().map(|(priority, count)| (priority.to_string(), count)).collect();
    page.counters(
        "sluicegate_shed_total",
        "Requests refused because upstreams cannot keep up, by the priority of their tier.",
        shed.iter().map(|(priority, count)| ([("priority", priority.as_str())], *count)),
    );
}
