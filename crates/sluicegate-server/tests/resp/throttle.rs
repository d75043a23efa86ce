//! `CL.THROTTLE`, number by number.

use proptest::prelude::*;

use crate::cell::{Cell, Limit};
use crate::place::{PLAIN, Place};

const SECOND: u64 = 1_000_000_000;

#[test]
fn the_sequence_of_redis_cells_own_readme() {
    let place = Place::start(PLAIN);
    let mut client = place.client();
    assert_eq!(client.ask("CL.THROTTLE user123 15 30 60"), "*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n");
    for left in (0..15).rev() {
        let numbers = client.numbers("cl.throttle user123 15 30 60 1");
        assert_eq!(numbers, [0, 16, left, -1, (16 - left) * 2]);
    }
    assert_eq!(client.numbers("CL.THROTTLE user123 15 30 60 1"), [1, 16, 0, 2, 32]);
    place.at(SECOND / 2);
    assert_eq!(client.numbers("CL.THROTTLE user123 15 30 60 1"), [1, 16, 0, 2, 32]);
    place.at(2 * SECOND - 1);
    // A nanosecond is less than a millisecond, and is rounded down as redis-cell does.
    assert_eq!(client.numbers("CL.THROTTLE user123 15 30 60 1"), [1, 16, 0, 0, 30]);
    place.at(2 * SECOND);
    assert_eq!(client.numbers("CL.THROTTLE user123 15 30 60 1"), [0, 16, 0, -1, 32]);
}

#[test]
fn a_quantity_of_zero_looks_and_a_larger_one_than_the_burst_is_never_admitted() {
    let place = Place::start(PLAIN);
    let mut client = place.client();
    assert_eq!(client.numbers("CL.THROTTLE k 4 1 1 0"), [0, 5, 5, -1, 0]);
    assert_eq!(client.numbers("CL.THROTTLE k 4 1 1 6"), [1, 5, 5, -1, 0]);
    assert_eq!(client.numbers("CL.THROTTLE k 4 1 1 9223372036854775807"), [1, 5, 5, -1, 0]);
    assert_eq!(client.numbers("CL.THROTTLE k 4 1 1 5"), [0, 5, 0, -1, 5]);
    assert_eq!(client.numbers("CL.THROTTLE k 4 1 1 0"), [0, 5, 0, -1, 5], "an empty one admits nothing more");
    assert_eq!(client.numbers("CL.THROTTLE k 4 1 1"), [1, 5, 0, 1, 5]);
    assert_eq!(client.numbers("CL.THROTTLE k 4 1 1 6"), [1, 5, 0, -1, 5]);
}

#[test]
fn a_quantity_below_zero_gives_back_and_never_more_than_there_is_room_for() {
    let place = Place::start(PLAIN);
    let mut client = place.client();
    assert_eq!(client.numbers("CL.THROTTLE k 9 1 1 10"), [0, 10, 0, -1, 10]);
    assert_eq!(client.numbers("CL.THROTTLE k 9 1 1 -3"), [0, 10, 3, -1, 7]);
    assert_eq!(client.numbers("CL.THROTTLE k 9 1 1 -1000"), [0, 10, 10, -1, 0]);
    assert_eq!(client.numbers("CL.THROTTLE k 9 1 1 -9223372036854775808"), [0, 10, 10, -1, 0]);
    assert_eq!(client.numbers("CL.THROTTLE k 9 1 1 11"), [1, 10, 10, -1, 0]);
}

#[test]
fn a_limit_that_holds_nothing_admits_nothing() {
    let place = Place::start(PLAIN);
    let mut client = place.client();
    assert_eq!(client.numbers("CL.THROTTLE k -1 1 1"), [1, 0, 0, -1, 0]);
    assert_eq!(client.numbers("CL.THROTTLE k -1 1 1 0"), [0, 0, 0, -1, 0]);
    assert_eq!(client.numbers("CL.THROTTLE k -2 1 1 0"), [1, -1, 0, -1, 0]);
}

#[test]
fn what_is_wrong_with_the_arguments_is_said_in_redis_cells_words() {
    let place = Place::start(PLAIN);
    let mut client = place.client();
    let usage = "-Cell error: Store error: Usage: cl.throttle <key> <max_burst> <count per period> <period> \
                 [<quantity>]\r\n";
    for command in ["CL.THROTTLE", "CL.THROTTLE k", "CL.THROTTLE k 1 1", "CL.THROTTLE k 1 1 1 1 1"] {
        assert_eq!(client.ask(command), usage, "{command}");
    }
    for (arguments, text) in [
        ("a 1 1", "a"),
        ("1 1.5 1", "1.5"),
        ("1 1 9223372036854775808", "9223372036854775808"),
        ("1 1 1 0x1", "0x1"),
        ("b c d e", "b"),
    ] {
        let answer = client.ask(&format!("CL.THROTTLE k {arguments}"));
        assert_eq!(answer, format!("-Cell error: Store error: Couldn't parse as integer: {text}\r\n"));
    }
    for arguments in ["1 0 1", "1 1 0", "1 1000000001 1", "-1 0 0"] {
        let answer = client.ask(&format!("CL.THROTTLE k {arguments}"));
        assert_eq!(answer, "-Cell error: Store error: Zero rates are not supported\r\n", "{arguments}");
    }
    for arguments in ["1 -1 1", "1 1 -1", "1 -1 -1"] {
        let answer = client.ask(&format!("CL.THROTTLE k {arguments}"));
        assert_eq!(answer, "-ERR count per period and period must be above zero\r\n", "{arguments}");
    }
    for arguments in ["9223372036854775807 1 1", "1 1 34560001", "4294967295 1 1", "1 1000000001 2"] {
        let answer = client.ask(&format!("CL.THROTTLE k {arguments}"));
        assert!(answer.starts_with("-ERR the limit is too large"), "{arguments}: {answer}");
    }
    // Signs are read as Rust reads them, which redis-cell is written in.
    assert_eq!(client.numbers("CL.THROTTLE k +4 +1 +1 +1"), [0, 5, 4, -1, 1]);
}

#[test]
fn keys_are_bytes_and_each_is_its_own() {
    let place = Place::start(PLAIN);
    let mut client = place.client();
    for key in [&b""[..], b"\0", b"\xff\xfe", b"a b", b"throttle", &[b'k'; 65_536]] {
        let command = crate::place::wire_of(&[b"CL.THROTTLE", key, b"0", b"1", b"60"]);
        assert_eq!(client.ask_bytes(&command), "*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:60\r\n");
        assert_eq!(client.ask_bytes(&command), "*5\r\n:1\r\n:1\r\n:0\r\n:60\r\n:60\r\n");
    }
}

#[test]
fn one_key_is_one_meter_for_all_connections() {
    let place = Place::start(PLAIN);
    let admitted: i64 = (0..4)
        .map(|_| {
            let mut client = place.client();
            (0..10).map(|_| 1 - client.numbers("CL.THROTTLE k 19 1 60")[0]).sum::<i64>()
        })
        .sum();
    assert_eq!(admitted, 20);
}

/// Where redis-cell keeps the time that is owed, we keep the units that were used.
#[test]
fn when_the_numbers_of_a_key_change_what_was_used_stays_used() {
    let place = Place::start(PLAIN);
    let mut client = place.client();
    assert_eq!(client.numbers("CL.THROTTLE k 9 1 1 4"), [0, 10, 6, -1, 4]);
    assert_eq!(
        client.numbers("CL.THROTTLE k 9 10 1 0"),
        [0, 10, 6, -1, 1],
        "four units, in 400 milliseconds"
    );
    assert_eq!(client.numbers("CL.THROTTLE k 19 10 1 1"), [0, 20, 15, -1, 1]);
    assert_eq!(client.numbers("CL.THROTTLE k 1 10 1 0"), [1, 2, 0, 1, 1], "more than it holds: five of two");
    let mut cell = Cell::default();
    let limit = |count| Limit { max_burst: 9, count, period: 1 };
    assert_eq!(cell.throttle(limit(1), 4, 0), [0, 10, 6, -1, 4]);
    assert_eq!(cell.throttle(limit(10), 1, 0), [1, 10, 0, 4, 4], "four seconds, which are forty units");
}

/// More than a connection has at hand, in turns.
#[test]
fn many_limits_on_one_connection_are_not_mixed_up() {
    let place = Place::start(PLAIN);
    let mut client = place.client();
    for round in 1..4 {
        for burst in 10..30 {
            let numbers = client.numbers(&format!("CL.THROTTLE k{burst} {burst} 1 60"));
            assert_eq!(numbers, [0, burst + 1, burst + 1 - round, -1, 60 * round]);
        }
    }
}

/// Rates whose interval is a whole number of microseconds: there redis-cell loses nothing to rounding.
fn limit() -> impl Strategy<Value = Limit> {
    let rates = [
        (1, 1),
        (2, 1),
        (10, 1),
        (8, 1),
        (1_000, 1),
        (1_000_000, 1),
        (30, 60),
        (60, 60),
        (1, 60),
        (5, 3_600),
    ];
    let rates = prop::sample::select(rates.to_vec());
    (0_i64..40, rates).prop_map(|(max_burst, (count, period))| Limit { max_burst, count, period })
}

#[derive(Clone, Debug)]
struct Step {
    quantity: i64,
    /// Thousandths of the time of one unit, and nanoseconds above them.
    units_milli: u64,
    nanos: u64,
}

fn step() -> impl Strategy<Value = Step> {
    let quantity = prop_oneof![6 => 1_i64..4, 2 => 0_i64..60, 1 => -3_i64..0];
    let units_milli =
        prop_oneof![3 => Just(0_u64), 3 => 0_u64..3_000, 1 => Just(1_000_u64), 1 => 0_u64..60_000];
    let nanos = prop_oneof![3 => Just(0_u64), 1 => 0_u64..3, 1 => 0_u64..2_000_000];
    (quantity, units_milli, nanos).prop_map(|(quantity, units_milli, nanos)| Step {
        quantity,
        units_milli,
        nanos,
    })
}

#[test]
fn every_answer_is_that_of_redis_cell() {
    let place = Place::start(PLAIN);
    let mut client = place.client();
    let (mut now, mut key) = (0, 0_u32);
    let cases = prop::collection::vec(step(), 1..60);
    let mut runner = proptest::test_runner::TestRunner::default();
    let client = std::cell::RefCell::new(&mut client);
    let state = std::cell::RefCell::new((&mut now, &mut key));
    runner
        .run(&(limit(), cases), |(limit, steps)| {
            let (mut client, mut state) = (client.borrow_mut(), state.borrow_mut());
            let mut cell = Cell::default();
            *state.1 += 1;
            let key = *state.1;
            let unit = u64::try_from(limit.period * 1_000_000_000 / limit.count).unwrap();
            for Step { quantity, units_milli, nanos } in steps {
                *state.0 += unit / 1_000 * units_milli + nanos;
                place.at(*state.0);
                let Limit { max_burst, count, period } = limit;
                let command = format!("CL.THROTTLE k{key} {max_burst} {count} {period} {quantity}");
                prop_assert_eq!(
                    client.numbers(&command),
                    cell.throttle(limit, quantity, *state.0).to_vec(),
                    "{} at {}",
                    command,
                    *state.0
                );
            }
            Ok(())
        })
        .unwrap();
}
