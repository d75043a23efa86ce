//! Steps of the wall clock, sleeps of the machine, and the store as a witness.

use super::*;

const HOUR_S: u64 = 3_600;
const DAY_S: u64 = 86_400;
const YEAR_S: u64 = 365 * DAY_S;
/// 2026-11-10 12:00 UTC.
const START: Timestamp = Timestamp::from_secs(1_794_312_000);

/// A machine: its clocks, and what the gate makes of them.
struct Machine {
    clock: Clock,
    wall_s: u64,
    monotonic_s: u64,
    slept_s: u64,
    store_s: Option<u64>,
}

impl Machine {
    fn start() -> Self {
        Self::start_after(Timestamp::EPOCH)
    }

    /// Its last record is of this instant.
    fn start_after(latest: Timestamp) -> Self {
        let wall_s = u64::from(START.as_secs());
        let reading = reading(wall_s, 0, 0, None);
        Self { clock: Clock::manual(reading, latest), wall_s, monotonic_s: 0, slept_s: 0, store_s: None }
    }

    /// Time goes by, for every clock alike.
    fn run(&mut self, secs: u64) -> Followed {
        let mut last = Followed { wall: Change::None, store: Change::None };
        for _ in 0..secs {
            self.wall_s += 1;
            self.monotonic_s += 1;
            self.store_s = self.store_s.map(|store_s| store_s + 1);
            let followed = self.look();
            if followed.wall != Change::None || followed.store != Change::None {
                last = followed;
            }
        }
        last
    }

    fn look(&self) -> Followed {
        self.clock.read(reading(self.wall_s, self.monotonic_s, self.slept_s, self.store_s));
        self.clock.follow()
    }

    fn sleep(&mut self, secs: u64) {
        self.wall_s += secs;
        self.slept_s += secs;
        self.store_s = self.store_s.map(|store_s| store_s + secs);
    }

    /// Seconds since the start.
    fn now_s(&self) -> u64 {
        u64::from(self.clock.now().as_secs()) - u64::from(START.as_secs())
    }
}

fn reading(wall_s: u64, monotonic_s: u64, slept_s: u64, store_s: Option<u64>) -> Reading {
    let at = |secs: u64| Timestamp::from_nanos(secs * 1_000_000_000);
    let span = |secs: u64| Nanos(secs * 1_000_000_000);
    // Boot time has another origin.
    let boottime = span(77_777 + monotonic_s + slept_s);
    Reading { wall: at(wall_s), monotonic: span(monotonic_s), boottime, store: store_s.map(at) }
}

fn why(change: Change) -> Option<Confirmation> {
    match change {
        Change::Followed { why, .. } => Some(why),
        Change::SetBack { why, .. } => Some(why),
        Change::None | Change::Held { .. } | Change::Undone | Change::Behind { .. } => None,
    }
}

#[test]
fn a_step_of_an_hour_is_followed_and_a_longer_one_is_not() {
    for (step, followed) in [(HOUR_S, true), (HOUR_S + 1, false), (10 * YEAR_S, false)] {
        let mut machine = Machine::start();
        machine.run(5);
        machine.wall_s += step;
        let change = machine.run(1).wall;
        assert_eq!(why(change).is_some(), followed, "{step}");
        assert_eq!(machine.now_s(), if followed { 6 + step } else { 6 });
        assert_eq!(machine.clock.status().is_plausible(), followed);
    }
}

#[test]
fn time_goes_on_while_a_step_is_held_and_a_step_that_is_undone_leaves_nothing() {
    let mut machine = Machine::start();
    machine.wall_s += 10 * YEAR_S;
    let ahead = Nanos(10 * YEAR_S * 1_000_000_000);
    assert_eq!(machine.run(1).wall, Change::Held { ahead });
    machine.run(5);
    assert_eq!(machine.now_s(), 6);
    let held = machine.clock.status().wall.unwrap();
    assert_eq!(
        (held.ahead, held.lasted, held.remaining),
        (ahead, Nanos::from_secs(5), Nanos::from_secs(595))
    );
    machine.wall_s -= 10 * YEAR_S;
    assert_eq!(machine.run(1).wall, Change::Undone);
    assert_eq!((machine.now_s(), machine.clock.status()), (7, ClockStatus::default()));
}

#[test]
fn a_step_is_followed_when_it_has_lasted() {
    let mut machine = Machine::start();
    machine.wall_s += 3 * HOUR_S;
    machine.run(600);
    assert_eq!(machine.now_s(), 600);
    assert_eq!(why(machine.run(1).wall), Some(Confirmation::Lasted));
    assert_eq!(machine.now_s(), 601 + 3 * HOUR_S);
    assert!(machine.clock.status().is_plausible());
}

#[test]
fn a_setting_says_how_long_a_step_must_last() {
    let mut machine = Machine::start();
    machine.clock.hold_for(Nanos::from_secs(3));
    machine.wall_s += 3 * HOUR_S;
    machine.run(3);
    assert_eq!(machine.now_s(), 3);
    assert_eq!(why(machine.run(1).wall), Some(Confirmation::Lasted));
}

#[test]
fn another_step_begins_another_hold() {
    let mut machine = Machine::start();
    machine.wall_s += YEAR_S;
    machine.run(599);
    machine.wall_s += 2 * HOUR_S;
    machine.run(600);
    assert_eq!(machine.now_s(), 1_199);
    assert_eq!(why(machine.run(1).wall), Some(Confirmation::Lasted));
}

#[test]
fn a_step_that_comes_and_goes_is_never_followed() {
    let mut machine = Machine::start();
    for _ in 0..10 {
        machine.wall_s += YEAR_S;
        machine.run(300);
        machine.wall_s -= YEAR_S;
        machine.run(300);
    }
    assert_eq!(machine.now_s(), 6_000);
}

#[test]
fn a_machine_that_slept_is_followed_at_once() {
    let mut machine = Machine::start();
    machine.run(5);
    machine.sleep(8 * HOUR_S);
    assert_eq!(why(machine.run(1).wall), Some(Confirmation::Slept));
    assert_eq!(machine.now_s(), 6 + 8 * HOUR_S);
    // The sleep confirms no second step.
    machine.wall_s += 8 * HOUR_S;
    assert!(matches!(machine.run(1).wall, Change::Held { .. }));
}

#[test]
fn a_sleep_does_not_confirm_more_than_it_took() {
    let mut machine = Machine::start();
    machine.sleep(HOUR_S);
    machine.wall_s += YEAR_S;
    assert!(matches!(machine.run(1).wall, Change::Held { .. }));
    assert_eq!(machine.now_s(), 1);
}

#[test]
fn a_store_that_had_the_time_before_confirms_it_at_once() {
    let mut machine = Machine::start();
    // The machine started with a clock that is three hours late.
    machine.store_s = Some(machine.wall_s + 3 * HOUR_S);
    assert!(matches!(machine.run(1).store, Change::Held { .. }));
    machine.run(4);
    assert_eq!(machine.now_s(), 5);
    machine.wall_s += 3 * HOUR_S;
    let followed = machine.run(1);
    assert_eq!((why(followed.wall), followed.store), (Some(Confirmation::Store), Change::Undone));
    assert_eq!(machine.now_s(), 6 + 3 * HOUR_S);
}

#[test]
fn a_store_that_leaps_together_with_the_wall_clock_confirms_nothing() {
    let mut machine = Machine::start();
    machine.store_s = Some(machine.wall_s);
    machine.run(5);
    machine.wall_s += YEAR_S;
    machine.store_s = Some(machine.wall_s);
    let followed = machine.run(1);
    assert!(matches!(followed, Followed { wall: Change::Held { .. }, store: Change::Held { .. } }));
    machine.run(500);
    assert_eq!((machine.now_s(), machine.clock.store_lead()), (506, Nanos(0)));
}

#[test]
fn a_store_with_the_old_time_confirms_nothing() {
    let mut machine = Machine::start();
    machine.store_s = Some(machine.wall_s);
    machine.run(5);
    machine.wall_s += YEAR_S;
    assert!(matches!(machine.run(1), Followed { wall: Change::Held { .. }, store: Change::None }));
}

#[test]
fn the_time_of_a_store_that_leaps_is_followed_when_it_has_lasted() {
    let mut machine = Machine::start();
    machine.store_s = Some(machine.wall_s);
    machine.run(5);
    machine.store_s = Some(machine.wall_s + YEAR_S);
    assert!(matches!(machine.run(1), Followed { wall: Change::None, store: Change::Held { .. } }));
    machine.run(599);
    assert_eq!(machine.clock.store_lead(), Nanos(0));
    assert_eq!(why(machine.run(1).store), Some(Confirmation::Lasted));
    assert_eq!(machine.clock.store_lead(), Nanos(YEAR_S * 1_000_000_000));
    assert_eq!(machine.now_s(), 606, "the node's own timeline is not the store's");
    // It is set right, and the lead is gone.
    machine.store_s = Some(machine.wall_s);
    machine.run(1);
    assert_eq!(machine.clock.store_lead(), Nanos(0));
}

#[test]
fn the_answer_of_a_store_is_known_for_ten_seconds() {
    let mut machine = Machine::start();
    machine.run(1);
    machine.clock.hear_store(Timestamp::from_nanos((machine.wall_s + YEAR_S) * 1_000_000_000));
    machine.run(10);
    assert!(machine.clock.status().store.is_some());
    machine.run(1);
    let lasted = machine.clock.status().store.unwrap().lasted;
    machine.run(5);
    assert_eq!(machine.clock.status().store.unwrap().lasted, lasted, "nobody knows whether it goes on");
}

#[test]
fn an_operator_confirms_what_is_held_and_nothing_else() {
    let mut machine = Machine::start();
    assert_eq!(machine.clock.confirm().wall, Change::None);
    machine.store_s = Some(machine.wall_s + 2 * YEAR_S);
    machine.wall_s += YEAR_S;
    machine.run(5);
    let confirmed = machine.clock.confirm();
    assert_eq!(why(confirmed.wall), Some(Confirmation::Operator));
    assert_eq!(why(confirmed.store), Some(Confirmation::Operator));
    assert_eq!(machine.now_s(), 5 + YEAR_S);
    assert_eq!(machine.clock.store_lead(), Nanos(YEAR_S * 1_000_000_000));
    assert!(machine.clock.status().is_plausible());
}

#[test]
fn an_absence_up_to_62_days_is_followed_at_the_start_and_a_longer_one_is_held() {
    for (days, followed) in [(0, true), (62, true), (63, false), (3_650, false)] {
        let latest = Timestamp::from_nanos(START.as_nanos() - days * DAY_S * 1_000_000_000);
        let mut machine = Machine::start_after(latest);
        assert_eq!(machine.clock.status().is_plausible(), followed, "{days}");
        assert_eq!(machine.clock.now(), if followed { START } else { latest });
        machine.run(599);
        assert_eq!(machine.clock.now() >= START, followed, "{days}");
        machine.run(1);
        assert_eq!(machine.now_s(), 600, "{days}");
    }
}

/// A store on the same machine may have leapt together with the clock before the start.
#[test]
fn at_the_start_the_store_does_not_confirm_a_long_absence() {
    let latest = Timestamp::from_nanos(START.as_nanos() - YEAR_S * 1_000_000_000);
    let mut machine = Machine::start_after(latest);
    machine.store_s = Some(machine.wall_s);
    machine.look();
    machine.run(599);
    assert!(machine.clock.now() < START && machine.clock.status().wall.is_some());
    assert_eq!(why(machine.run(1).wall), Some(Confirmation::Lasted));
    assert_eq!(machine.now_s(), 600);
}

#[test]
fn small_steps_share_a_budget_of_an_hour_for_each_hold() {
    let mut machine = Machine::start();
    machine.store_s = Some(machine.wall_s);
    for _ in 0..29 {
        machine.wall_s += 55 * 60;
        machine.store_s = Some(machine.wall_s);
        machine.run(2);
    }
    assert_eq!(machine.now_s(), 55 * 60 + 58, "one step of them is followed");
    assert!(machine.clock.status().wall.is_some());
    // After the time that a step must last, the next small one fits.
    let mut machine = Machine::start();
    for _ in 0..5 {
        machine.wall_s += 55 * 60;
        machine.run(600);
    }
    assert_eq!(machine.now_s(), 5 * (55 * 60 + 600));
}

#[test]
fn a_clock_that_is_set_back_far_is_followed_when_that_has_lasted() {
    let mut machine = Machine::start();
    machine.run(5);
    machine.wall_s -= 61 * DAY_S;
    let behind = Nanos(61 * DAY_S * 1_000_000_000);
    assert_eq!(machine.run(1).wall, Change::Behind { behind });
    machine.run(599);
    assert_eq!((machine.now_s(), machine.clock.status().behind), (605, Some(behind)));
    let now = machine.clock.now();
    assert_eq!(machine.run(1).wall, Change::SetBack { behind, why: Confirmation::Lasted });
    assert_eq!(now.since(machine.clock.now()), Nanos(behind.0 - 1_000_000_000));
    assert_eq!(machine.clock.status(), ClockStatus::default());
}

#[test]
fn a_clock_that_is_set_back_for_a_moment_or_a_little_is_not_followed() {
    let mut machine = Machine::start();
    machine.run(5);
    machine.wall_s -= YEAR_S;
    machine.run(300);
    machine.wall_s += YEAR_S;
    assert_eq!(machine.run(1).wall, Change::Undone);
    assert_eq!(machine.now_s(), 306);
    machine.wall_s -= HOUR_S;
    machine.run(2_000);
    assert_eq!(machine.now_s(), 2_306);
}

#[test]
fn an_operator_confirms_a_clock_that_was_set_back() {
    let mut machine = Machine::start();
    machine.run(5);
    machine.wall_s -= YEAR_S;
    machine.run(1);
    assert!(machine.clock.status().is_confirmable());
    assert_eq!(why(machine.clock.confirm().wall), Some(Confirmation::Operator));
    assert_eq!(START.since(machine.clock.now()), Nanos((YEAR_S - 6) * 1_000_000_000));
}

#[test]
fn a_confirmed_lead_of_the_store_does_not_grow_by_small_steps() {
    let mut machine = Machine::start();
    machine.store_s = Some(machine.wall_s + YEAR_S);
    machine.run(601);
    let lead = machine.clock.store_lead();
    assert_eq!(lead, Nanos(YEAR_S * 1_000_000_000));
    for _ in 0..5 {
        machine.store_s = machine.store_s.map(|store_s| store_s + 50 * 60);
        machine.run(2);
    }
    assert_eq!(machine.clock.store_lead(), lead);
    assert!(machine.clock.status().store.is_some());
}

#[test]
fn the_start_is_not_before_what_is_on_record_unless_that_is_absurd() {
    let soon = START.plus(Nanos::from_secs(3_600));
    let mut machine = Machine::start_after(soon);
    assert_eq!(machine.clock.now(), soon);
    machine.run(10);
    assert_eq!(machine.now_s(), 3_610, "it never steps back");
    let absurd = START.plus(Nanos::from_secs(3_601));
    assert_eq!(Machine::start_after(absurd).clock.now(), START);
}

#[test]
fn a_fixed_clock_stands_until_it_is_set() {
    let clock = Clock::fixed(Timestamp::from_secs(5));
    assert_eq!(clock.now(), Timestamp::from_secs(5));
    clock.set(Timestamp::from_secs(6));
    clock.follow();
    assert_eq!(clock.now(), Timestamp::from_secs(6));
}

#[test]
fn the_clock_of_the_system_runs() {
    let clock = Clock::system(Timestamp::EPOCH);
    let before = clock.now();
    assert_eq!(clock.follow().store, Change::None);
    assert!(clock.now() >= before && clock.status().is_plausible());
}
