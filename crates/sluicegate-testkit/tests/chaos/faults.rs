//! Connections that are cut, and bytes that are lost or late.

use std::io::ErrorKind;
use std::time::Duration;

use sluicegate_testkit::chaos::{ChaosProxy, Mode};
use sluicegate_testkit::wait;

use crate::echo::{Caller, Echo};

const RESET: ErrorKind = ErrorKind::ConnectionReset;

fn bed() -> (Echo, ChaosProxy) {
    let echo = Echo::start();
    let proxy = ChaosProxy::start(echo.address);
    (echo, proxy)
}

#[test]
fn everything_passes_both_ways_and_so_does_the_end() {
    let (echo, proxy) = bed();
    let mut callers: Vec<Caller> = (0..5).map(|_| Caller::connect(proxy.address()).unwrap()).collect();
    let long = "x".repeat(300_000);
    for caller in &mut callers {
        assert_eq!(caller.ask("one").unwrap(), "one");
        // More than all buffers hold: it must be read and written at once.
        let mut other = Caller(caller.0.try_clone().unwrap());
        let sent = std::thread::spawn({
            let long = long.clone();
            move || other.send(&long)
        });
        assert_eq!(caller.hear(long.len(), Duration::from_secs(20)).unwrap(), long);
        sent.join().unwrap().unwrap();
    }
    assert_eq!((echo.heard(), proxy.accepted()), (5 * (3 + long.len()), 5));
    let caller = &mut callers[0];
    caller.0.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(caller.hear(1, Duration::from_secs(20)).unwrap_err().kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn a_cut_resets_every_connection_and_refuses_new_ones_until_it_ends() {
    let (_echo, proxy) = bed();
    let mut callers: Vec<Caller> = (0..20).map(|_| Caller::connect(proxy.address()).unwrap()).collect();
    for caller in &mut callers {
        caller.ask("before").unwrap();
    }
    for _ in 0..3 {
        proxy.set(Mode::Cut);
        for caller in &mut callers {
            assert_eq!(caller.hear(1, Duration::from_secs(20)).unwrap_err().kind(), RESET);
        }
        let refused = Caller::connect(proxy.address()).err().unwrap();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        proxy.set(Mode::Pass);
        callers = vec![Caller::connect(proxy.address()).unwrap()];
        assert_eq!(callers[0].ask("after").unwrap(), "after");
    }
}

#[test]
fn a_black_hole_accepts_and_answers_nothing() {
    let (echo, proxy) = bed();
    let mut idle = Caller::connect(proxy.address()).unwrap();
    idle.ask("before").unwrap();
    proxy.set(Mode::BlackHole);
    let mut caller = Caller::connect(proxy.address()).unwrap();
    assert_eq!(caller.ask_in_vain("lost"), ErrorKind::WouldBlock);
    assert_eq!(echo.heard(), "before".len());
    proxy.set(Mode::Pass);
    // What it swallowed is gone: that stream cannot go on. One that lost nothing can.
    assert_eq!(caller.hear(1, Duration::from_secs(20)).unwrap_err().kind(), RESET);
    assert_eq!(idle.ask("after").unwrap(), "after");
}

#[test]
fn half_a_cut_lets_requests_pass_and_loses_the_answers() {
    let (echo, proxy) = bed();
    let mut caller = Caller::connect(proxy.address()).unwrap();
    proxy.set(Mode::HalfCut);
    assert_eq!(caller.ask_in_vain("charged"), ErrorKind::WouldBlock);
    wait::until("the request has arrived", || (echo.heard() == "charged".len()).then_some(()));
    proxy.set(Mode::Pass);
    assert_eq!(caller.hear(1, Duration::from_secs(20)).unwrap_err().kind(), RESET);
    assert_eq!(Caller::connect(proxy.address()).unwrap().ask("again").unwrap(), "again");
}

#[test]
fn what_is_held_arrives_late_and_whole() {
    let (echo, proxy) = bed();
    let mut caller = Caller::connect(proxy.address()).unwrap();
    caller.ask("before").unwrap();
    proxy.set(Mode::Hold);
    let mut late = Caller::connect(proxy.address()).unwrap();
    assert_eq!(caller.ask_in_vain("one"), ErrorKind::WouldBlock);
    assert_eq!(late.ask_in_vain("two"), ErrorKind::WouldBlock);
    assert_eq!(echo.heard(), "before".len());
    proxy.set(Mode::Pass);
    assert_eq!(caller.hear(3, Duration::from_secs(20)).unwrap(), "one");
    assert_eq!(late.hear(3, Duration::from_secs(20)).unwrap(), "two");
    // And what is held when the line is cut never arrives.
    proxy.set(Mode::Hold);
    let heard = echo.heard();
    caller.send("three").unwrap();
    proxy.set(Mode::Cut);
    assert_eq!(caller.hear(1, Duration::from_secs(20)).unwrap_err().kind(), RESET);
    assert_eq!(echo.heard(), heard);
}

#[test]
fn a_target_that_is_not_there_resets_the_caller() {
    let nobody = sluicegate_testkit::port::Port::reserve();
    let proxy = ChaosProxy::start(nobody.address());
    let mut caller = Caller::connect(proxy.address()).unwrap();
    assert_eq!(caller.hear(1, Duration::from_secs(20)).unwrap_err().kind(), RESET);
}

#[test]
fn a_dropped_proxy_leaves_no_connection_and_no_listener() {
    let (_echo, proxy) = bed();
    let (address, mut caller) = (proxy.address(), Caller::connect(proxy.address()).unwrap());
    caller.ask("before").unwrap();
    drop(proxy);
    assert_eq!(caller.hear(1, Duration::from_secs(20)).unwrap_err().kind(), RESET);
    assert!(Caller::connect(address).is_err());
}
