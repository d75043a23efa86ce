//! The Redis store against real servers: Redis and Valkey, each started by the test that needs it.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]
#![expect(clippy::panic, reason = "what random plans find is told before it fails")]

mod batches;
mod bed;
mod blocks;
mod checking;
mod conduct;
mod differential;
mod doubt;
mod homes;
mod homes_away;
mod homes_bed;
mod kept;
mod linking;
mod lost_calls;
mod many;
mod names;
mod names_away;
mod overage;
mod past;
mod sliding_log;
#[path = "../properties/strategies.rs"]
mod strategies;
mod time_bound;
mod topologies;
mod trio;
#[path = "../properties/words.rs"]
mod words;

/// Runs a test on every server that must pass it.
macro_rules! on_each_engine {
    ($($name:ident),* $(,)?) => {
        $(mod $name {
            #[test]
            fn on_redis() {
                super::$name(sluicegate_testkit::redis::Engine::Redis);
            }

            #[test]
            fn on_valkey() {
                super::$name(sluicegate_testkit::redis::Engine::Valkey);
            }
        })*
    };
}
pub(crate) use on_each_engine;

/// Whether the run may take long.
fn is_slow() -> bool {
    #[expect(clippy::disallowed_methods, reason = "the switch of the slow run")]
    std::env::var_os("SLUICEGATE_SLOW").is_some()
}
