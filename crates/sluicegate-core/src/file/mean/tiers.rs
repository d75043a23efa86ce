//! What `tiers` mean: each on its own, under a name that is one.

use crate::file::problem::Place;
use crate::file::sink::Sink;
use crate::file::typed::{Field, Named, TierBody};
use crate::file::yaml::shown;
use crate::policy::{Tier, TierName, Tiers};

/// All tiers; nothing if one of them cannot be meant. Without `routes`, what they name is not looked up.
pub(super) fn tiers(
    field: &Field<Named<TierBody>>,
    routes: Option<&[&str]>,
    sink: &mut Sink,
) -> Option<Tiers> {
    let named = field.given()?;
    if named.value.0.is_empty() {
        let help = "add at least one, such as `free: {rate: 10}`";
        sink.report(named.key, "`tiers` is empty", help);
        return None;
    }
    let meant: Vec<Option<Tier>> = named
        .value
        .0
        .iter()
        .map(|entry| {
            let name = tier_name(&entry.name, entry.place, sink);
            let body = entry.body.as_ref()?;
            // A tier under a bad name is still looked into.
            let stand_in = || TierName::new("unnamed");
            let tier = super::tier(body, &name.clone().or_else(stand_in)?, entry.place, routes, sink);
            name.and(tier)
        })
        .collect();
    let all: Option<Vec<Tier>> = meant.into_iter().collect();
    all.map(Tiers::new)
}

fn tier_name(text: &str, place: Place, sink: &mut Sink) -> Option<TierName> {
    let name = TierName::new(text);
    if name.is_none() {
        let message = format!("{} cannot name a tier", shown(text));
        let help = "use 1 to 64 letters, digits and `.`, `_`, `-`; or `custom:` and such a name";
        sink.report(place, message, help);
    }
    name
}
