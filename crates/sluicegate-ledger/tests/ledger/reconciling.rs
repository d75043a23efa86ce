//! Comparing the ledger with bills and with sealed files.

use sluicegate_ledger::hour::ALL_HOURS;
use sluicegate_ledger::reconcile::{Difference, Drift, Totals, compare, read_bill};

use crate::fixtures::{Bed, at, hour, names, wait};

fn of_book(bed: &Bed) -> Totals {
    Totals::of_book(bed.ledger.book(), ALL_HOURS, &*names(), |_| true).unwrap()
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

    let object = |number: u32| {
        let hour = hour(number);
        let folder = format!("export/usage/v1/dt={}/hour={:02}", hour.date(), hour.of_day());
        bed.dir.path().join(folder).join("node=n1.parquet")
    };
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
