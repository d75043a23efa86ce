//! The admin API over real stores, with a clock that stands still.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod accounts;
mod alerts;
mod audit;
mod auth;
mod blocks;
mod clients;
mod clock;
mod custom;
mod dashboard;
mod decisions;
mod docs;
mod events;
mod golden;
mod input;
mod key_changes;
mod keys;
mod ledger;
mod limits;
mod lists;
mod nested;
mod observability;
mod openapi;
mod overview;
mod place;
mod plan_changes;
mod policy;
mod process;
mod reference;
mod scrape;
mod secrets;
mod session;
mod socket;
mod usage;
mod webhook;
