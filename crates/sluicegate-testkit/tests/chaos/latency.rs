//! Bytes that take their time.

use std::time::{Duration, Instant};

use sluicegate_testkit::chaos::{ChaosProxy, Mode};

use crate::echo::{Caller, Echo};

#[expect(clippy::disallowed_methods, reason = "how long it takes is what is tested")]
fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    Instant::now() - start
}

#[test]
fn latency_is_added_each_way_and_taken_away_again() {
    let proxy = ChaosProxy::start(Echo::start().address);
    let mut caller = Caller::connect(proxy.address()).unwrap();
    proxy.set(Mode::Latency(Duration::from_millis(150)));
    let slow = timed(|| assert_eq!(caller.ask("slow").unwrap(), "slow"));
    assert!(slow >= Duration::from_millis(300) && slow < Duration::from_secs(3), "{slow:?}");
    proxy.set(Mode::Pass);
    let fast = timed(|| assert_eq!(caller.ask("fast").unwrap(), "fast"));
    assert!(fast < Duration::from_millis(150), "{fast:?}");
}

#[test]
fn those_who_do_not_wait_for_the_answer_lose_no_more_time() {
    let proxy = ChaosProxy::start(Echo::start().address);
    let mut caller = Caller::connect(proxy.address()).unwrap();
    proxy.set(Mode::Latency(Duration::from_millis(100)));
    let took = timed(|| {
        for _ in 0..100 {
            caller.send("0123456789").unwrap();
            sluicegate_testkit::wait::pause(Duration::from_millis(2));
        }
        assert_eq!(caller.hear(1_000, Duration::from_secs(20)).unwrap(), "0123456789".repeat(100));
    });
    // One after the other it would be 20 s.
    assert!(took >= Duration::from_millis(200) && took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn what_is_on_its_way_keeps_its_order_and_its_time_when_the_mode_changes() {
    let proxy = ChaosProxy::start(Echo::start().address);
    let mut caller = Caller::connect(proxy.address()).unwrap();
    caller.ask("before").unwrap();
    proxy.set(Mode::Latency(Duration::from_millis(200)));
    let took = timed(|| {
        caller.send("one").unwrap();
        sluicegate_testkit::wait::pause(Duration::from_millis(50));
        proxy.set(Mode::Pass);
        caller.send("two").unwrap();
        assert_eq!(caller.hear(6, Duration::from_secs(20)).unwrap(), "onetwo");
    });
    assert!(took >= Duration::from_millis(190), "{took:?}");
}

#[test]
fn a_cut_does_not_wait_for_what_is_on_its_way() {
    let proxy = ChaosProxy::start(Echo::start().address);
    let mut caller = Caller::connect(proxy.address()).unwrap();
    proxy.set(Mode::Latency(Duration::from_secs(30)));
    caller.send("never").unwrap();
    caller.0.shutdown(std::net::Shutdown::Write).unwrap();
    sluicegate_testkit::wait::pause(Duration::from_millis(50));
    let took = timed(|| proxy.set(Mode::Cut));
    assert!(took < Duration::from_secs(5), "{took:?}");
}
