//! Bills: what is one is read to the unit, what is none is told.

use sluicegate_ledger::reconcile::{Totals, compare, read_bill};
use sluicegate_testkit::dice::Dice;

use crate::harm::{any, cases, hurt, index};

/// A bill in one of the ways that programs write one, and what it says.
fn bill(dice: &mut Dice) -> (String, Totals) {
    let end = ["\n", "\r\n"][index(dice, 2)];
    let mut text = ["", "\u{feff}"][index(dice, 2)].to_owned();
    text.push_str(
        ["account,note,total", "Customer,x,Quantity", "\"subject\",\"\",\" units \""][index(dice, 3)],
    );
    text.push_str(end);
    let mut totals = Totals::default();
    for _ in 0..dice.below(20) {
        let account = ["acme", "a, \"b\"", "ünder", ""][index(dice, 4)];
        let total = i128::from(dice.roll().cast_signed()) >> dice.below(60);
        let written =
            [format!("{total}"), format!(" {total} "), format!("{total}.00"), format!("\"{total}\"")];
        let quoted = account.replace('"', "\"\"");
        text.push_str(&format!("\"{quoted}\",,{}{end}", written[index(dice, 4)]));
        totals.add(account, None, total);
    }
    (text, totals)
}

#[test]
fn a_bill_is_read_to_the_unit_and_a_harmed_one_never_panics() {
    cases(2_000, |dice| {
        let (text, totals) = bill(dice);
        let read = read_bill(text.as_bytes()).unwrap();
        assert_eq!(compare(&read, &totals), [], "{text}");
        let mut bytes = text.into_bytes();
        hurt(dice, &mut bytes);
        match read_bill(&bytes[..]) {
            Ok(read) => drop(compare(&read, &totals)),
            Err(problems) => assert!(!problems.is_empty() && problems.len() <= 100),
        }
        let _ = read_bill(&any(dice, 300)[..]);
    });
}

#[test]
fn hours_and_numbers_of_any_kind_are_read_or_named() {
    let hours = [
        "2026-09-21T13:00:00Z",
        "9999-12-31T23:00:00Z",
        "-009999-01-01T00:00:00Z",
        "1969-12-31T23:00:00Z",
        "",
    ];
    let totals =
        ["170141183460469231731687303715884105727", "-1", "1e3", "0x10", "１", "+5", "5.", ".0", "--1"];
    cases(400, |dice| {
        let mut text = "account,hour,total\n".to_owned();
        for _ in 0..3 {
            text.push_str(&format!("a,{},{}\n", dice.pick(&hours), dice.pick(&totals)));
        }
        if let Err(problems) = read_bill(text.as_bytes()) {
            assert!(problems.iter().all(|problem| (2..=4).contains(&problem.line)), "{problems:?}\n{text}");
        }
    });
}
