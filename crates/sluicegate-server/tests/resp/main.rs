//! Commands as Redis has them, over sockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod cell;
mod checks;
mod ending;
mod greeting;
mod hostile;
mod place;
mod streams;
mod throttle;
