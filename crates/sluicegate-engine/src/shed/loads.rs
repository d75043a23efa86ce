//! The load of each upstream.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use sluicegate_core::policy::HttpUrl;
use sluicegate_core::time::Timestamp;

use super::{Load, LoadNow};

/// How many upstreams of routes have a load of their own. Further ones share that of the main upstream.
const UPSTREAMS_MAX: usize = 1_024;

/// The load of each upstream: one that is slow does not close the way to another.
#[derive(Debug)]
pub struct Loads {
    main: Arc<Load>,
    routes: RwLock<BTreeMap<String, Arc<Load>>>,
}

impl Loads {
    /// Nothing is known of any upstream.
    pub fn new(now: Timestamp) -> Self {
        Self { main: Arc::new(Load::new(now)), routes: RwLock::default() }
    }

    /// The load of the upstream of a route; nothing: that of the main upstream.
    pub fn of(&self, upstream: Option<&HttpUrl>, now: Timestamp) -> Arc<Load> {
        let Some(url) = upstream else { return Arc::clone(&self.main) };
        if let Some(load) = self.routes.read().get(url.as_str()) {
            return Arc::clone(load);
        }
        let mut routes = self.routes.write();
        if routes.len() >= UPSTREAMS_MAX && !routes.contains_key(url.as_str()) {
            return Arc::clone(&self.main);
        }
        Arc::clone(routes.entry(url.as_str().to_owned()).or_insert_with(|| Arc::new(Load::new(now))))
    }

    /// All of them in one: what they bear together, with the unloaded time of the main upstream.
    pub fn look(&self) -> LoadNow {
        let mut all = self.main.look();
        for load in self.routes.read().values() {
            let one = load.look();
            all.limit += one.limit;
            all.in_flight += one.in_flight;
            for (priority, count) in one.shed {
                *all.shed.entry(priority).or_default() += count;
            }
        }
        all
    }
}
