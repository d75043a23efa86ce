//! Commands one after the other, in whatever parts they come.

use std::io::Write as _;
use std::time::Duration;

use sluicegate_testkit::wait;

use crate::place::{PLAIN, Place, wire, wire_of};

/// Commands whose answers depend on those before them.
fn pipeline(key: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for command in ["PING", "HELLO 3", "SLUICEGATE.CHECK", "HELLO 2", "FOO a"] {
        bytes.extend(wire(command));
    }
    bytes.extend_from_slice(b"ECHO \"hi there\"\r\n\r\n*0\r\n");
    for _ in 0..4 {
        bytes.extend(wire(&format!("CL.THROTTLE {key} 1 1 60")));
    }
    bytes.extend(wire_of(&[b"ECHO", b"a\r\nb"]));
    bytes
}

/// Without the numbers of connections and decisions.
fn without_ids(answers: &str) -> String {
    let mut out = String::new();
    let mut after_id = false;
    for line in answers.split("\r\n") {
        let is_number = after_id && line.starts_with(':');
        out.push_str(if is_number || line.starts_with("dec_") { "…" } else { line });
        out.push('\n');
        after_id = line == "id";
    }
    out
}

#[test]
fn a_pipeline_that_is_cut_anywhere_has_the_same_answers() {
    let place = Place::start(PLAIN);
    let whole = without_ids(&place.client().ask_bytes(&pipeline("whole")));
    assert!(whole.ends_with("*5\n:1\n:2\n:0\n:60\n:120\n$4\na\nb\n\n"), "{whole}");
    let length = pipeline("cut-0000").len();
    for cut in 1..length {
        let bytes = pipeline(&format!("cut-{cut:04}"));
        let mut client = place.client();
        client.send(&bytes[..cut]);
        // Whatever is whole is answered before the rest comes.
        if cut > 14 {
            let heard = client.hear_until(|heard| heard.starts_with(b"+PONG\r\n"));
            client.send(&bytes[cut..]);
            let answers = String::from_utf8(heard).unwrap() + &client.answers();
            assert_eq!(without_ids(&answers), whole, "cut at {cut}");
        } else {
            assert_eq!(without_ids(&client.ask_bytes(&bytes[cut..])), whole, "cut at {cut}");
        }
    }
    let mut client = place.client();
    for byte in pipeline("bytes-00") {
        client.send(&[byte]);
    }
    assert_eq!(without_ids(&client.answers()), whole);
}

#[test]
fn a_thousand_commands_at_once_are_answered_in_order() {
    let place = Place::start(PLAIN);
    let mut client = place.client();
    let bytes: Vec<u8> = (0..1_000).flat_map(|_| wire("CL.THROTTLE k 499 1 60")).collect();
    let answers = client.ask_bytes(&bytes);
    let expected: String = (0..1_000_i64)
        .map(|n| match 499 - n {
            left @ 0.. => format!("*5\r\n:0\r\n:500\r\n:{left}\r\n:-1\r\n:{}\r\n", 60 * (500 - left)),
            _ => "*5\r\n:1\r\n:500\r\n:0\r\n:60\r\n:30000\r\n".to_owned(),
        })
        .collect();
    assert_eq!(answers, expected);
}

#[test]
fn large_arguments_come_back_whole() {
    let place = Place::start(PLAIN);
    let mut client = place.client();
    for length in [0, 1, 4_095, 4_096, 16_384, 65_535, 65_536] {
        let text = "é".repeat(length / 2) + &"a".repeat(length % 2);
        let mut bytes = wire_of(&[b"ECHO", text.as_bytes()]);
        bytes.extend(wire("PING"));
        assert_eq!(client.ask_bytes(&bytes), format!("${length}\r\n{text}\r\n+PONG\r\n"), "{length}");
    }
}

/// A client that sends and does not read is not read from either, and does not stand in the way of others.
#[test]
fn who_does_not_take_answers_is_not_read_from() {
    let place = Place::start(PLAIN);
    let mut slow = place.client();
    slow.0.set_nonblocking(true).unwrap();
    let command = wire_of(&[b"ECHO", &[b'a'; 32 * 1024]]);
    let (mut sent, mut stuck) = (0, 0);
    // As long as the buffers of the system on both ways take something.
    while stuck < 40 {
        match slow.0.write(&command[sent % command.len()..]) {
            Ok(length) => {
                sent += length;
                stuck = 0;
            }
            Err(_) => {
                stuck += 1;
                wait::pause(Duration::from_millis(10));
            }
        }
        assert!(sent < 256 * 1024 * 1024, "it reads on and on");
    }
    assert_eq!(place.client().ask("PING"), "+PONG\r\n");
    // All whole commands are answered once it reads.
    slow.0.set_nonblocking(false).unwrap();
    slow.stop_sending();
    let answer = 32 * 1024 + "$32768\r\n\r\n".len();
    assert_eq!(slow.rest().len(), sent / command.len() * answer);
}
