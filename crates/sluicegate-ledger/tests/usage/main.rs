//! Usage by the quarter of an hour, from outside: every record is counted once, whatever happens in between.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod closing;
mod damage;
mod fixtures;
mod kill;
mod model;
mod querying;
mod rolling;
mod upgrade;
