//! The policy file as it was last loaded, and what was wrong with it when it last was not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use sluicegate_core::time::Timestamp;

/// Written by whoever loads the policy, read by whoever is asked about it.
#[derive(Debug)]
pub struct ReloadState {
    last: RwLock<LastLoads>,
    rejected_total: AtomicU64,
}

/// A policy that came into force.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadedPolicy {
    /// The number under which the engine knows it.
    pub version: u64,
    /// The file it was read from; nothing for the built-in one.
    pub path: Option<String>,
    /// The text of the file.
    pub text: Arc<str>,
    /// When it came into force.
    pub at: Timestamp,
}

/// A policy that did not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RejectedPolicy {
    /// When it was tried.
    pub at: Timestamp,
    /// How many problems it has.
    pub count: usize,
    /// The problems, as people read them.
    pub problems: Arc<str>,
}

/// The policy in force, and the file's newer content if that cannot be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LastLoads {
    /// In force.
    pub loaded: LoadedPolicy,
    /// In force until then; nothing since the start of the process.
    pub before: Option<LoadedPolicy>,
    /// Tried since, and rejected.
    pub rejected: Option<RejectedPolicy>,
}

impl ReloadState {
    /// With the policy that the process starts with.
    pub fn new(loaded: LoadedPolicy) -> Self {
        let last = LastLoads { loaded, before: None, rejected: None };
        Self { last: RwLock::new(last), rejected_total: AtomicU64::new(0) }
    }

    /// Another policy came into force. What was rejected before is history.
    pub fn loaded(&self, loaded: LoadedPolicy) {
        let mut last = self.last.write();
        let before = Some(last.loaded.clone());
        *last = LastLoads { loaded, before, rejected: None };
    }

    /// A policy was rejected: the one before stays in force.
    pub fn rejected(&self, rejected: RejectedPolicy) {
        self.rejected_total.fetch_add(1, Ordering::Relaxed);
        self.last.write().rejected = Some(rejected);
    }

    /// The policy in force, and what was rejected since.
    pub fn last(&self) -> LastLoads {
        self.last.read().clone()
    }

    /// How often a policy was rejected.
    pub fn rejected_total(&self) -> u64 {
        self.rejected_total.load(Ordering::Relaxed)
    }
}
