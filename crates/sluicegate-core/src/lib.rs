//! Internal to Sluicegate: no semver promise. Use `sluicegate-tower`.
//!
//! The pure heart of Sluicegate.
//!
//! A policy says which limits a caller has. A request becomes a [`plan::ChargePlan`] over the meters of one home, and
//! [`settle::settle`] charges all of those meters or none. Nothing in this crate reads a clock, a file or a socket, and
//! nothing can fail for a reason outside its arguments: `now` is always given.

pub mod answer;
pub mod audit;
pub mod block;
pub mod book;
pub mod calendar;
pub mod digest;
#[cfg(feature = "policy-file")]
pub mod file;
pub mod grpc_status;
pub mod headers;
pub mod histogram;
pub mod identify;
pub mod image;
pub mod invisible;
pub mod key_env;
pub mod limit;
pub mod limit_now;
pub mod meter;
pub mod overage;
pub mod past;
pub mod period_meter;
pub mod plan;
pub mod policy;
pub mod problem;
pub mod rule;
pub mod settle;
pub mod tariff;
pub mod time;
pub mod wait;
