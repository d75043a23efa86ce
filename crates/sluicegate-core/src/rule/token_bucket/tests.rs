//! The bucket by itself: bursts, pace, overdrafts, refunds, clocks and edits.

use super::*;

const START: Timestamp = Timestamp::from_secs(1_700_000_000);

fn bucket(amount: u64, window: Window, burst: u64) -> TokenBucket {
    TokenBucket::new(amount, window, burst).unwrap()
}

fn drain(bucket: &TokenBucket, mut tat: Tat, now: Timestamp) -> (Tat, u64) {
    let mut taken = 0;
    while let (next, Verdict { answer: Answer::Fits, .. }) = bucket.settle(tat, Ask::Take(1), now) {
        (tat, taken) = (next, taken + 1);
    }
    (tat, taken)
}

#[test]
fn a_burst_of_b_admits_exactly_b_at_once() {
    for burst in [1, 2, 20, 300] {
        let (_, taken) = drain(&bucket(10, Window::SECOND, burst), Tat::default(), START);
        assert_eq!(taken, burst);
    }
}

#[test]
fn three_per_second_are_three_per_second_for_a_day() {
    let bucket = bucket(3, Window::SECOND, 3);
    let mut tat = drain(&bucket, Tat::default(), START).0;
    for second in 1..=86_400 {
        let (next, taken) = drain(&bucket, tat, START.plus(Nanos::from_secs(second)));
        assert_eq!(taken, 3, "in second {second}");
        tat = next;
    }
}

#[test]
fn a_clock_that_stepped_back_an_hour_leaves_an_empty_bucket_not_a_closed_one() {
    let bucket = bucket(10, Window::SECOND, 20);
    let (tat, _) = drain(&bucket, Tat::default(), START.plus(Nanos::from_secs(3_600)));
    let tat = bucket.mended(tat, START).unwrap();
    let (_, verdict) = bucket.settle(tat, Ask::Take(1), START);
    assert_eq!(verdict.answer, Answer::Wait(Nanos(100_000_000)));
}

#[test]
fn a_thread_that_read_the_clock_earlier_forgives_nothing() {
    let bucket = bucket(10, Window::SECOND, 20);
    let (tat, _) = drain(&bucket, Tat::default(), START.plus(Nanos(1_000)));
    assert_eq!(bucket.mended(tat, START), None);
    let (_, verdict) = bucket.settle(tat, Ask::Take(1), START);
    assert_eq!(verdict.answer, Answer::Wait(Nanos(100_001_000)));
}

#[test]
fn what_is_charged_beyond_the_burst_is_paid_off_to_the_nanosecond() {
    for (amount, burst) in [(10, 20), (3, 3), (7_777_777, 20)] {
        let bucket = bucket(amount, Window::SECOND, burst);
        let (tat, verdict) = bucket.settle(Tat::default(), Ask::Force(10_000), START);
        let time = |units: u64| Nanos((units * 1_000_000_000).div_ceil(amount));
        assert_eq!((verdict.used, verdict.reset), (burst, time(10_000)));
        let wait = time(10_001 - burst);
        assert_eq!(bucket.settle(tat, Ask::Take(1), START).1.answer, Answer::Wait(wait));
        assert_eq!(bucket.mended(tat, START), None);
        let then = START.plus(wait);
        assert_eq!(bucket.settle(tat, Ask::Take(1), then).1.answer, Answer::Fits);
        let before = Timestamp::from_nanos(then.as_nanos() - 1);
        assert_eq!(bucket.settle(tat, Ask::Take(1), before).1.answer, Answer::Wait(Nanos(1)));
        // A penalty is not owed: it empties a bucket, and this one is.
        assert_eq!(bucket.settle(tat, Ask::Drain(5), START), (tat, verdict));
    }
}

#[test]
fn an_overdraft_ends_after_31_days_whatever_was_charged_and_wherever_the_clock_goes() {
    let bucket = bucket(10, Window::SECOND, 20);
    let (tat, verdict) = bucket.settle(Tat::default(), Ask::Force(u64::MAX), START);
    let longest = Nanos::from_secs(31 * 86_400);
    assert_eq!(verdict.reset, longest);
    assert!(bucket.may_have(tat));
    let earlier = Timestamp::from_secs(START.as_secs() - 3_600);
    let mended = bucket.mended(tat, earlier).unwrap();
    assert_eq!(bucket.settle(mended, Ask::Look, earlier).1.reset, longest);
    // One that is not overdrawn waits for no clock.
    let (tat, _) = bucket.settle(Tat::default(), Ask::Force(20), START);
    let mended = bucket.mended(tat, earlier).unwrap();
    assert_eq!(bucket.settle(mended, Ask::Look, earlier).1.reset, Nanos::from_secs(2));
}

#[test]
fn no_more_is_given_back_than_is_left_of_the_charge() {
    let bucket = bucket(10, Window::SECOND, 20);
    let (tat, _) = bucket.settle(Tat::default(), Ask::Take(20), START);
    let give = |tat, cost, after: u64| {
        let ask = Ask::Give { cost, reserved: 20, charged_at: START };
        bucket.settle(tat, ask, START.plus(Nanos(after)))
    };
    assert_eq!(give(tat, 5, 0).1.used, 15);
    // After a second ten of the twenty are paid. Emptied again by others, the bucket gets the other ten at the most.
    let later = 1_000_000_000;
    let (tat, _) = bucket.settle(tat, Ask::Take(10), START.plus(Nanos(later)));
    assert_eq!(give(tat, 5, later).1.used, 15);
    assert_eq!(give(tat, 20, later).1.used, 10);
    let (tat, _) = bucket.settle(tat, Ask::Take(10), START.plus(Nanos(2 * later)));
    assert_eq!(
        give(tat, 20, 2 * later),
        (tat, bucket.settle(tat, Ask::Look, START.plus(Nanos(2 * later))).1)
    );
}

#[test]
fn a_limit_that_changes_keeps_the_used_units() {
    let (old, new) = (bucket(10, Window::SECOND, 20), bucket(100, Window::SECOND, 300));
    let (tat, _) = old.settle(Tat::default(), Ask::Take(15), START);
    let (_, verdict) = new.settle(new.carry_over(&old, tat, START), Ask::Look, START);
    assert_eq!(verdict.used, 15);
    let (tat, _) = new.settle(Tat::default(), Ask::Take(250), START);
    let (_, verdict) = old.settle(old.carry_over(&new, tat, START), Ask::Look, START);
    assert_eq!((verdict.used, verdict.reset), (20, Nanos::from_secs(20)), "ten times the burst at the most");
    let (tat, _) = new.settle(Tat::default(), Ask::Force(10_000), START);
    let (_, verdict) = old.settle(old.carry_over(&new, tat, START), Ask::Look, START);
    assert_eq!((verdict.used, verdict.reset), (20, Nanos::from_secs(1_000)), "all that is overdrawn");
}

#[test]
fn a_limit_that_is_smaller_for_a_while_forgets_nothing() {
    let whole = bucket(20, Window::DAY, 20);
    for percent in [60, 50, 30, 10] {
        let part = whole.scaled(Percent::new(percent).unwrap());
        let (tat, _) = whole.settle(Tat::default(), Ask::Take(15), START);
        let squeezed = part.carry_over(&whole, tat, START);
        assert_eq!(part.mended(squeezed, START), None);
        let (_, verdict) = part.settle(squeezed, Ask::Take(1), START);
        // What is owed above the smaller burst has to be paid first: a unit takes a day's twentieth, or longer.
        let missing = (15 + 1 - part.burst()) * 86_400 / 20 * 100 / percent;
        let wait = Nanos(missing * 1_000_000_000);
        assert_eq!((verdict.answer, verdict.used), (Answer::Wait(wait), part.burst()));
        let (_, restored) = whole.settle(whole.carry_over(&part, squeezed, START), Ask::Look, START);
        assert_eq!(restored.used, 15, "{percent}%");
    }
}

#[test]
fn a_share_is_told_per_the_window_that_was_sold() {
    for (amount, window) in
        [(10, Window::SECOND), (7, Window::MINUTE), (1, Window::DAY), (1_000, Window::SECOND)]
    {
        let whole = bucket(amount, window, 2 * amount);
        for percent in 1..=100 {
            let share = Percent::new(percent).unwrap();
            let part = whole.scaled(share);
            assert_eq!(part.per_window(), share.of(amount), "{percent}% of {amount}");
            assert!(part.times(4).per_window() <= 4 * amount);
        }
    }
    assert_eq!(bucket(10, Window::SECOND, 10).scaled(Percent::new(60).unwrap()).per_window(), 6);
}

#[test]
fn a_wait_is_whole_where_debt_and_cost_together_outgrow_64_bits() {
    let bucket = bucket(1_234_567, Window::DAY, 200_000);
    let (tat, _) = bucket.settle(Tat::default(), Ask::Take(150_000), START);
    let (_, verdict) = bucket.settle(tat, Ask::Take(100_000), START);
    // 50,000 units are missing, at 86,400 s for 1,234,567 of them.
    let missing = (50_000 * 86_400_000_000_000_u128).div_ceil(1_234_567);
    assert_eq!(verdict.answer, Answer::Wait(Nanos(u64::try_from(missing).unwrap())));
}

#[test]
fn numbers_out_of_range_make_no_bucket() {
    assert_eq!(TokenBucket::new(0, Window::SECOND, 1), Err(BadBucket::Amount));
    assert_eq!(TokenBucket::new(TokenBucket::AMOUNT_MAX + 1, Window::SECOND, 1), Err(BadBucket::Amount));
    assert_eq!(TokenBucket::new(1, Window::SECOND, 0), Err(BadBucket::Burst));
    assert_eq!(TokenBucket::new(1, Window::MAX, 1_000), Err(BadBucket::FillsTooSlowly));
}

#[test]
fn the_fraction_of_another_bucket_of_the_family_is_rounded_up_and_marks_no_overdraft() {
    let (sevenths, thirds) = (bucket(7, Window::SECOND, 70), bucket(3, Window::SECOND, 30));
    let (tat, _) = sevenths.in_family().settle(Tat::default(), Ask::Take(3), START);
    assert!(tat.parts >= 3, "a fraction that thirds do not have: {tat:?}");
    assert!(thirds.is_overdrawn(tat), "what it would be without the family");
    let thirds = thirds.in_family();
    assert!(!thirds.is_overdrawn(tat));
    let whole = Tat { nanos: tat.nanos + 1, parts: 0 };
    assert_eq!(thirds.mended(tat, START), Some(whole));
    assert_eq!(thirds.settle(tat, Ask::Look, START).1, thirds.settle(whole, Ask::Look, START).1);
    assert_eq!(thirds.settle(tat, Ask::Take(1), START).0, thirds.settle(whole, Ask::Take(1), START).0);
    // A clock that steps back leaves an empty bucket: an overdrawn one would stay closed for weeks.
    let earlier = Timestamp::from_secs(START.as_secs() - 86_400);
    let mended = thirds.mended(tat, earlier).unwrap();
    assert_eq!(thirds.settle(mended, Ask::Look, earlier).1.reset, thirds.fill_time());
}

#[test]
fn a_bucket_of_the_family_is_never_overdrawn() {
    let bucket = bucket(3, Window::SECOND, 30).in_family();
    let (tat, verdict) = bucket.settle(Tat::default(), Ask::Force(1_000_000), START);
    assert!(tat.parts < 3, "{tat:?}");
    assert_eq!((verdict.used, verdict.reset), (30, Nanos::from_secs(100)), "ten times the burst at the most");
    assert_eq!(bucket.mended(tat, START), None);
}

#[test]
fn what_is_owed_without_units_stays_owed_as_a_time() {
    let (sevenths, thirds) = (bucket(7, Window::SECOND, 70), bucket(3, Window::SECOND, 30));
    let (tat, _) = sevenths.in_family().settle(Tat::default(), Ask::Take(35), START);
    for reader in [thirds, thirds.in_family()] {
        let carried = reader.carry_over(&TokenBucket::BY_TIME, tat, START);
        let (_, verdict) = reader.settle(carried, Ask::Look, START);
        assert_eq!((verdict.used, verdict.reset), (15, Nanos::from_secs(5)));
        let (tat, _) = sevenths.settle(Tat::default(), Ask::Take(5), START);
        let carried = reader.carry_over(&TokenBucket::BY_TIME, tat, START);
        assert!(!reader.is_overdrawn(carried) && carried.nanos == tat.nanos + 1);
    }
}
