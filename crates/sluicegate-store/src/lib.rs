//! Internal to Sluicegate: no semver promise. Use `sluicegate-tower`.
//!
//! Where meters live, and who they belong to.
//!
//! The meters of one account or client are its *home*. A plan touches one home, and a home is one lock, so
//! settling several limits together is one critical section. [`meters::MeterTable`] keeps the homes of one
//! process in memory. [`directory::Directory`] knows the accounts and their keys, in a [`database::Database`].
//! [`redis`] keeps both where several nodes share them.

#[cfg(not(loom))]
pub mod alerts;
#[cfg(not(loom))]
pub mod audit;
#[cfg(not(loom))]
pub mod database;
#[cfg(not(loom))]
pub mod directory;
pub mod hash;
#[cfg(not(loom))]
pub mod identity;
#[cfg(not(loom))]
pub mod key_text;
pub mod meters;
#[cfg(not(loom))]
pub mod redis;
#[cfg(not(loom))]
pub mod subject_key;
#[cfg(not(loom))]
pub mod token;
