//! The end: of a connection, and of the listener.

use std::net::TcpStream;
use std::time::Duration;

use sluicegate_testkit::wait;

use crate::place::{PLAIN, Place, Setup, wire};

#[test]
fn quit_is_the_last_command() {
    let place = Place::start(PLAIN);
    let mut client = place.client();
    client.send(&[wire("PING"), wire("QUIT"), wire("PING")].concat());
    assert_eq!(client.rest(), "+PONG\r\n+OK\r\n");
}

#[test]
fn a_client_that_stops_sending_has_its_answers() {
    let place = Place::start(PLAIN);
    let mut client = place.client();
    client.send(&wire("PING").repeat(50));
    client.stop_sending();
    assert_eq!(client.rest(), "+PONG\r\n".repeat(50));
}

#[test]
fn what_has_come_is_answered_and_then_connections_end() {
    let mut place = Place::start(PLAIN);
    let (mut idle, mut half, mut busy) = (place.client(), place.client(), place.client());
    assert_eq!(idle.ask("PING") + &half.ask("PING") + &busy.ask("PING"), "+PONG\r\n".repeat(3));
    half.send(b"*1\r\n$4\r\nPI");
    place.shutdown.begin();
    wait::until("nobody is accepted", || TcpStream::connect(place.address).is_err().then_some(()));
    assert!(idle.ends() && half.ends() && busy.ends());
    place.wait();
}

#[test]
fn who_takes_no_answers_is_cut_when_the_time_is_over() {
    let mut setup = Setup::default();
    setup.settings.drain = Duration::from_millis(300);
    let mut place = setup.start();
    let client = place.client();
    client.0.set_nonblocking(true).unwrap();
    let command = crate::place::wire_of(&[b"ECHO", &[b'a'; 32 * 1024]]);
    let mut stuck = 0;
    while stuck < 20 {
        use std::io::Write as _;
        if (&client.0).write(&command).is_err() {
            stuck += 1;
            wait::pause(Duration::from_millis(10));
        }
    }
    place.shutdown.begin();
    place.wait();
}
