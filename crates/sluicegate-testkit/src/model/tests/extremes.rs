//! The largest and smallest limits, instants and costs, under every change of rule.

use super::*;

const WINDOW_MAX_S: u64 = 400 * 86_400;

fn rules() -> Vec<Rule> {
    let mut rules = vec![
        Rule::Concurrency { limit: 1, lease_ns: 1 },
        Rule::Concurrency { limit: MOST, lease_ns: u64::MAX },
        Rule::Calendar { limit: 1, calendar: 0 },
        Rule::Calendar { limit: MOST, calendar: 1 },
    ];
    for limit in [1, MOST] {
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
    let instants = [0, 1, S, END - 1, END, u64::MAX];
    let costs = [1, 1 << 32, MOST, u64::MAX];
    for old in rules() {
        for new in rules() {
            let mut home = Home::default();
            for overage in
                [Overage::Refused, Overage::Billed, Overage::BilledUpTo(1), Overage::BilledUpTo(u64::MAX)]
            {
                for rule in [old, new] {
                    for now in instants.into_iter().chain(instants.into_iter().rev()) {
                        let cost = costs[usize::try_from(now % 4).unwrap()];
                        let period = Some((now / 2, now.saturating_add(1)));
                        let charge = Charge { overage, period, ..charge(rule, cost) };
                        for mode in [Mode::Charge, Mode::Peek, Mode::Force] {
                            home.ask(std::slice::from_ref(&charge), mode, now, now);
                        }
                        home.refund(&Charge { cost: 1, ..charge }, charge.cost, now, now, now);
                    }
                }
            }
        }
    }
}
