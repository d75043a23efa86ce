//! Comparing the ledger with bills and with sealed files.

use sluicegate_ledger::export::Format;
use sluicegate_ledger::hour::ALL_HOURS;
use sluicegate_ledger::quarter::quarters_of;
use sluicegate_ledger::reconcile::{Difference, Drift, Totals, compare, read_bill};
use sluicegate_ledger::usage::Query;
use sluicegate_ledger::{Kind, Record};

use crate::fixtures::{Bed, append, at, charge, hour, names, wait};

fn of_book(bed: &Bed) -> Totals {
    Totals::recorded(bed.ledger.book(), ALL_HOURS, &*names()).unwrap()
}

#[test]
fn a_bill_that_agrees_has_no_differences_and_one_that_does_not_says_where() {
    let bed = Bed::with_hours(2);
    let ours = of_book(&bed);
    let mut bill = String::from("account,hour,total\n");
    for (number, account, total) in [(0, 1, 7), (0, 2, 14), (0, 3, 21), (1, 1, 14), (1, 2, 21), (1, 3, 28)] {
        bill.push_str(&format!("acct_{account},{},{total}\n", hour(number)));
    }
    assert_eq!(compare(&ours, &read_bill(bill.as_bytes()).unwrap()), []);

    let wrong = bill.replace(&format!("acct_2,{},21", hour(1)), &format!("acct_9,{},5", hour(1)));
    let differences = compare(&ours, &read_bill(wrong.as_bytes()).unwrap());
    let difference = |account: &str, left, right| Difference {
        account: account.to_owned(),
        hour: Some(hour(1)),
        left,
        right,
    };
    assert_eq!(differences, [difference("acct_2", 21, 0), difference("acct_9", 0, 5)]);
    assert_eq!(Drift::of(&differences), Drift { accounts: 2, units: 26 });
}

#[test]
fn a_bill_without_hours_is_compared_over_the_whole_time() {
    let ours = of_book(&Bed::with_hours(2));
    let bill = read_bill("customer,quantity\nacct_1,21\nacct_2,35\nacct_3,50\n".as_bytes()).unwrap();
    let differences = compare(&ours, &bill);
    let expected = Difference { account: "acct_3".to_owned(), hour: None, left: 49, right: 50 };
    assert_eq!(differences, [expected]);
}

#[test]
fn sealed_files_that_agree_have_no_differences_and_lost_ones_are_named_and_repaired() {
    let bed = Bed::with_hours(5);
    let sealer = bed.sealer();
    wait(sealer.seal_due(at(5, 0), |_| {})).unwrap();
    let read = wait(sealer.read_back(ALL_HOURS)).unwrap();
    assert_eq!((read.objects, &read.missing, &read.damaged), (5, &vec![], &vec![]));
    assert_eq!(compare(&of_book(&bed), &read.totals), []);

    let object = |number: u32| bed.dir.path().join(object(number));
    std::fs::remove_file(object(1)).unwrap();
    // Another hour in its place, and one that is cut.
    std::fs::copy(object(4), object(2)).unwrap();
    std::fs::write(object(3), &std::fs::read(object(3)).unwrap()[..50]).unwrap();
    let read = wait(sealer.read_back(ALL_HOURS)).unwrap();
    assert_eq!((&read.missing, &read.damaged), (&vec![hour(1)], &vec![hour(2), hour(3)]));
    let differences = compare(&of_book(&bed), &read.totals);
    assert_eq!(differences.len(), 9);
    assert!(differences.iter().all(|it| (hour(1)..hour(4)).contains(&it.hour.unwrap()) && it.right == 0));

    let wrong: Vec<_> = read.missing.iter().chain(&read.damaged).copied().collect();
    wait(sealer.seal_again(&wrong, at(6, 0))).unwrap();
    let read = wait(sealer.read_back(ALL_HOURS)).unwrap();
    assert_eq!(compare(&of_book(&bed), &read.totals), []);
    assert!(read.missing.is_empty() && read.damaged.is_empty());
}

/// A sealed hour has what was recorded in it; a bill has what was charged in its hours.
#[test]
fn corrections_of_earlier_hours_are_sealed_with_their_own_and_billed_with_their_charge() {
    let bed = Bed::with_hours(2);
    let sealer = bed.sealer();
    wait(sealer.seal_due(at(2, 1), |_| {})).unwrap();
    let sealed = std::fs::read(bed.dir.path().join(object(0))).unwrap();
    append(&bed.spool, &Record { kind: Kind::Refund, at: at(2, 5), ..charge(at(0, 5), 1, 3) });
    append(&bed.spool, &Record { kind: Kind::Correction, at: at(2, 9), ..charge(at(1, 5), 2, 9) });
    bed.ledger.close_due(&bed.spool, at(3, 0)).unwrap();
    wait(sealer.seal_due(at(3, 1), |_| {})).unwrap();
    assert_eq!(
        std::fs::read(bed.dir.path().join(object(0))).unwrap(),
        sealed,
        "a sealed hour stays as it is"
    );
    let read = wait(sealer.read_back(ALL_HOURS)).unwrap();
    assert_eq!((read.objects, compare(&of_book(&bed), &read.totals)), (3, vec![]));
    assert_eq!(read.totals.get("acct_1", Some(hour(2))), -3);

    let charged = Totals::charged(bed.ledger.book(), hour(0)..hour(2), &*names(), |_| true).unwrap();
    let totals = [("acct_1", 0), ("acct_1", 1), ("acct_2", 0), ("acct_2", 1)];
    let totals = totals.map(|(account, number)| charged.get(account, Some(hour(number))));
    assert_eq!(totals, [4, 14, 14, 30]);
    // What is exported is such a bill.
    let mut csv = Vec::new();
    let query = Query { quarters: quarters_of(&(hour(0)..hour(2))), ..Query::default() };
    bed.ledger.export(&query, &Format::Csv, &*names(), &mut csv).unwrap();
    assert_eq!(compare(&charged, &read_bill(csv.as_slice()).unwrap()), []);
}

/// Where the file of an hour is.
fn object(number: u32) -> String {
    let hour = hour(number);
    format!("export/usage/v1/dt={}/hour={:02}/node=n1.parquet", hour.date(), hour.of_day())
}
