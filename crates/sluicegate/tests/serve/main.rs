//! The real binary over real sockets: what it answers, and what it survives.
//!
//! `SLUICEGATE_BLESS=1` rewrites the golden answers; `SLUICEGATE_SLOW=1` kills and asks ten times as often.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]
#![expect(clippy::panic, reason = "an answer that may not be fails its test with what it was")]

mod alerting;
mod alerts;
mod answers;
mod attacks;
mod audit;
mod bad_bytes;
mod bad_input;
mod bed;
mod billed_rule;
mod blocks;
mod books;
mod charge_periods;
mod clients;
mod clock;
mod counted_serials;
mod cut_off;
mod dashboard;
mod deleted_accounts;
mod express;
mod faces;
mod failover;
mod fixtures;
mod forgetful_bucket;
mod full_disk;
#[path = "../cli/golden.rs"]
mod golden;
mod grpc;
mod http2;
mod identity;
mod in_force;
mod jwks;
mod key_uses;
mod kills;
mod many_keys;
mod million;
mod nodes;
mod outages;
mod overage;
mod overage_upgrade;
mod overload;
mod permits;
mod plan_changes;
mod privacy;
mod quick_start;
mod races;
mod readme;
mod reconciled_nodes;
mod refunds;
mod repeats;
mod repeats_of_nodes;
mod replayed_changes;
mod resp;
mod rollups;
mod secured_stores;
mod settled_outages;
mod settling;
mod shown;
mod slots;
mod stalls;
mod start;
mod stop;
mod storm;
mod strict;
mod tally;
mod told;
mod traces;
mod tracker;
mod traffic;
mod true_costs;
mod unanswered_finish;
mod unfit_stores;
