//! What nobody should send.

use std::time::Duration;

use crate::place::{PLAIN, Place, Setup, wire};

#[test]
fn what_is_no_command_is_said_and_the_connection_ends() {
    let place = Place::start(PLAIN);
    for (bytes, error) in [
        (&b"*1\r\nPING\r\n"[..], "expected '$', got 'P'"),
        (b"*x\r\n", "invalid multibulk length"),
        (b"*1000000000\r\n", "invalid multibulk length"),
        (b"*1\r\n$1000000000\r\n", "invalid bulk length"),
        (b"*1\r\n$-1\r\n", "invalid bulk length"),
        (b"*1\r\n$4\r\nPINGPONG", "expected CRLF after bulk"),
        (b"ECHO \"\r\n", "unbalanced quotes in request"),
        (&[b'a'; 20_000], "too big inline request"),
    ] {
        let mut client = place.client();
        // What came before it is answered, what comes after it is not.
        client.send(&[&wire("PING")[..], bytes, &wire("PING")].concat());
        assert_eq!(client.rest(), format!("+PONG\r\n-ERR Protocol error: {error}\r\n"), "{error}");
    }
}

#[test]
fn a_client_that_goes_on_sending_still_hears_what_was_wrong() {
    let place = Place::start(PLAIN);
    let mut client = place.client();
    client.send(b"*1\r\n$x\r\n");
    client.send(&vec![b'a'; 500_000]);
    client.stop_sending();
    assert_eq!(client.rest(), "-ERR Protocol error: invalid bulk length\r\n");
}

#[test]
fn a_browser_that_was_led_here_is_answered_nothing() {
    let place = Place::start(PLAIN);
    for first in ["POST /x HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a\r\n"] {
        let mut client = place.client();
        client.send(format!("{first}Content-Length: 40\r\n\r\nCL.THROTTLE victim 1 1 60 2\r\n").as_bytes());
        let heard = client.rest();
        assert!(!heard.contains("*5"), "{heard}");
    }
    let untouched = place.client().numbers("CL.THROTTLE victim 1 1 60 0");
    assert_eq!(untouched, [0, 2, 2, -1, 0]);
}

#[test]
fn who_says_nothing_or_never_ends_a_command_is_not_waited_for() {
    let mut setup = Setup::default();
    setup.settings.keep_alive = Duration::from_millis(200);
    setup.settings.header = Duration::from_millis(300);
    let place = setup.start();
    let mut silent = place.client();
    let mut half = place.client();
    half.send(b"*1\r\n$4\r\nPI");
    let mut spoke = place.client();
    assert_eq!(spoke.ask("PING"), "+PONG\r\n");
    for client in [&mut silent, &mut half, &mut spoke] {
        assert_eq!(client.rest(), "");
    }
    // However slowly: its time runs from its first byte on.
    let mut slow = place.client();
    let mut sent = 0;
    for byte in b"*1\r\n$40\r\n0123456789012345678901234567890123456789\r\n" {
        use std::io::Write as _;
        if slow.0.write_all(&[*byte]).is_err() {
            break;
        }
        sent += 1;
        sluicegate_testkit::wait::pause(Duration::from_millis(40));
    }
    assert!(sent < 40, "{sent} bytes were taken");
}

#[test]
fn more_connections_than_there_may_be_wait_for_their_turn() {
    let mut setup = Setup::default();
    setup.settings.connections_max = 2;
    setup.settings.per_address.connections = 3;
    setup.settings.per_address.handshakes = 3;
    let place = setup.start();
    let (mut first, mut second) = (place.client(), place.client());
    assert_eq!(first.ask("PING") + &second.ask("PING"), "+PONG\r\n+PONG\r\n");
    let mut third = place.client();
    third.send(&wire("PING"));
    third.0.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut byte = [0];
    use std::io::Read as _;
    assert!(third.0.read(&mut byte).is_err(), "it was answered");
    drop(first);
    third.0.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(third.answers(), "+PONG\r\n");
}
