//! One look at a server: what it decided, and who called most.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::screen::By;
use crate::admin_client::{AdminClient, read};

/// How far back the curve goes.
const MINUTES: u32 = 10;
/// How many callers are asked for: more than any terminal has lines for.
const CALLERS: u32 = 50;

/// What a server said.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) overview: Overview,
    pub(super) callers: Vec<CallerCount>,
    /// The same, as it came.
    pub(super) document: Value,
}

/// What was decided lately.
#[derive(Deserialize, Debug)]
pub(super) struct Overview {
    pub(super) now: String,
    pub(super) mode: String,
    pub(super) policy_version: u64,
    pub(super) step_s: u64,
    pub(super) series: Vec<Step>,
    pub(super) fronts: Vec<Front>,
    pub(super) in_flight: u64,
    pub(super) homes: u64,
    pub(super) blocks: u64,
    pub(super) alerts_firing: u64,
}

/// What was decided within a few seconds.
#[derive(Deserialize, Debug, Default)]
pub(super) struct Step {
    pub(super) admitted: u64,
    pub(super) refused: BTreeMap<String, u64>,
}

/// How long decisions take at a front end.
#[derive(Deserialize, Debug)]
pub(super) struct Front {
    pub(super) front: String,
    pub(super) count: u64,
    pub(super) p50_us: u64,
    pub(super) p99_us: u64,
}

/// How often somebody called.
#[derive(Deserialize, Debug)]
pub(super) struct CallerCount {
    pub(super) kind: String,
    pub(super) id: String,
    pub(super) tier: Option<String>,
    pub(super) count: u64,
}

#[derive(Deserialize)]
struct Callers {
    items: Vec<CallerCount>,
}

impl Look {
    pub(super) fn take(client: &AdminClient, by: By) -> anyhow::Result<Self> {
        let overview = client.get(&format!("/admin/v1/overview?minutes={MINUTES}"))?;
        let top = client.get(&format!("/admin/v1/top?by={}&limit={CALLERS}", by.as_str()))?;
        Self::of(overview, top)
    }

    pub(super) fn of(overview: Value, top: Value) -> anyhow::Result<Self> {
        let document = json!({"overview": &overview, "top": &top});
        Ok(Self { overview: read(overview)?, callers: read::<Callers>(top)?.items, document })
    }
}

impl Overview {
    /// The last step that is over. The one behind it goes on.
    pub(super) fn last(&self) -> &Step {
        const NOTHING: &Step = &Step { admitted: 0, refused: BTreeMap::new() };
        self.series.iter().rev().nth(1).unwrap_or(NOTHING)
    }

    /// What was refused within the last minute, by reason, the most frequent first.
    pub(super) fn refusals(&self) -> Vec<(&str, u64)> {
        let steps = usize::try_from(60 / self.step_s.clamp(1, 60)).unwrap_or(1);
        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        for step in self.series.iter().rev().take(steps) {
            for (reason, count) in &step.refused {
                *reasons.entry(reason).or_default() += count;
            }
        }
        let mut reasons: Vec<_> = reasons.into_iter().filter(|(_, count)| *count > 0).collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        reasons
    }
}

impl Step {
    pub(super) fn refused(&self) -> u64 {
        self.refused.values().sum()
    }
}
