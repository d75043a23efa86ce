use super::*;

const AMOUNT_MAX: u64 = (1 << 53) - 1;
const WINDOW_MAX_S: u64 = 400 * 86_400;

fn rules() -> Vec<Rule> {
    let mut rules = vec![
        Rule::Concurrency { limit: 1, lease_ns: 1 },
        Rule::Concurrency { limit: AMOUNT_MAX, lease_ns: u64::MAX },
        Rule::Calendar { limit: 1, calendar: 0 },
        Rule::Calendar { limit: AMOUNT_MAX, calendar: 1 },
    ];
    for limit in [1, AMOUNT_MAX] {
        for window_s in [1, WINDOW_MAX_S] {
            for burst in [1, 1 << 32] {
                rules.push(Rule::TokenBucket { amount: limit, window_s, burst });
            }
            rules.push(Rule::FixedWindow { limit, window_s });
            rules.push(Rule::SlidingWindow { limit, window_s });
            rules.push(Rule::SlidingBuckets { limit, window_s });
            rules.push(Rule::SlidingLog { limit, window_s });
        }
    }
    rules
}

#[test]
fn no_rule_instant_or_cost_overflows_under_any_change_of_rule() {
    let instants = [0, 1, S, u64::MAX / 2, u64::MAX - 1, u64::MAX];
    let costs = [1, 1 << 32, AMOUNT_MAX, u64::MAX];
    for old in rules() {
        for new in rules() {
            let mut home = Home::default();
            for overage in [false, true] {
                for rule in [old, new] {
                    for now in instants.into_iter().chain(instants.into_iter().rev()) {
                        let cost = costs[usize::try_from(now % 4).unwrap()];
                        let period = Some((now / 2, now.saturating_add(1)));
                        let charge = Charge { overage, period, ..charge(rule, cost) };
                        home.ask(std::slice::from_ref(&charge), Mode::Charge, now, now);
                        home.ask(std::slice::from_ref(&charge), Mode::Peek, now, now);
                        home.refund(&Charge { cost: 1, ..charge }, now, now, now);
                    }
                }
            }
        }
    }
}

#[test]
fn a_wait_longer_than_all_of_time_is_reported_as_the_longest() {
    let rule = Rule::FixedWindow { limit: 1, window_s: WINDOW_MAX_S };
    let mut home = Home::default();
    assert_eq!(home.take(rule, 1, u64::MAX), ADMITTED);
    assert_eq!(home.take(rule, 1, 0), refused(u64::MAX));
}
