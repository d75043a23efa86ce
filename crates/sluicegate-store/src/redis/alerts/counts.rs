//! What nodes count, added up for whoever looks at all of it; and the lease by which that is one node at a time.
//!
//! Nobody's request waits for any of this, and nothing here has to be exact to the last call: what is counted while the
//! store is away is lost.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::redis::driver::cmd;

use super::ask;
use super::script::{self, COUNT, LEASE};
use crate::directory::StoreError;
use crate::redis::{Link, NodeId};

/// A hash: what each node found when it last compared its meters with its ledger.
const DRIFT: &str = "sg1:{alerts}:drift";

/// Of which time something is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slice {
    /// Ten seconds, by their number since 1970.
    Step(u64),
    /// A minute, by its number since 1970.
    Minute(u64),
}

impl Slice {
    fn key(self) -> String {
        match self {
            Self::Step(step) => format!("sg1:{{alerts}}:step:{step}"),
            Self::Minute(minute) => format!("sg1:{{alerts}}:minute:{minute}"),
        }
    }
}

/// Whether a node has a lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lease {
    /// It has.
    Here,
    /// Another node has it.
    Elsewhere,
}

/// The counts of all nodes.
#[derive(Clone, Debug)]
pub struct SharedCounts {
    link: Link,
    node: NodeId,
}

impl SharedCounts {
    /// Those behind a link, for this node.
    pub const fn new(link: Link, node: NodeId) -> Self {
        Self { link, node }
    }

    /// What this node is called.
    pub fn node_name(&self) -> String {
        format!("{:016x}", self.node.0)
    }

    /// Adds what this node has counted. The sums are kept for so long.
    pub async fn add(
        &self,
        slice: Slice,
        counts: &[(String, u64)],
        keep: Duration,
    ) -> Result<(), StoreError> {
        if counts.is_empty() {
            return Ok(());
        }
        let added: Vec<String> = counts.iter().map(|(_, count)| count.to_string()).collect();
        let life = keep.as_millis().to_string();
        let pairs = counts.iter().zip(&added).flat_map(|((name, _), count)| [name.as_str(), count]);
        let arguments: Vec<&str> = [life.as_str()].into_iter().chain(pairs).collect();
        let _: u64 = script::run(&self.link, &COUNT, &[&slice.key()], &arguments).await?;
        Ok(())
    }

    /// What all nodes have counted.
    pub async fn read(&self, slice: Slice) -> Result<BTreeMap<String, u64>, StoreError> {
        Ok(ask(&self.link, cmd("HGETALL").arg(slice.key())).await?)
    }

    /// Tells what this node's last comparison of meters and records came to.
    pub async fn put_drift(&self, found: &str) -> Result<(), StoreError> {
        let _: u64 = ask(&self.link, cmd("HSET").arg(DRIFT).arg(self.node_name()).arg(found)).await?;
        Ok(())
    }

    /// What the comparisons of all nodes came to, by node.
    pub async fn drifts(&self) -> Result<BTreeMap<String, String>, StoreError> {
        Ok(ask(&self.link, cmd("HGETALL").arg(DRIFT)).await?)
    }

    /// Forgets what a node has told, which is gone.
    pub async fn forget_drift(&self, node: &str) -> Result<(), StoreError> {
        let _: u64 = ask(&self.link, cmd("HDEL").arg(DRIFT).arg(node)).await?;
        Ok(())
    }

    /// Takes a lease, or keeps it, for so long from now on.
    pub async fn lease(&self, name: &str, length: Duration) -> Result<Lease, StoreError> {
        let (node, length) = (self.node_name(), length.as_millis().to_string());
        let key = format!("sg1:{{alerts}}:lease:{name}");
        let held: u64 = script::run(&self.link, &LEASE, &[&key], &[&node, &length]).await?;
        Ok(if held == 1 { Lease::Here } else { Lease::Elsewhere })
    }
}
