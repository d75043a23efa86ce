//! Who gets the places: the highest priority first, and something for everybody.
//!
//! A request sees the requests in flight of its own priority and of higher ones. If they leave a place, it gets it:
//! what lower ones have taken does not keep it out, they only have to wait longer for the next. While a higher
//! priority is refused, lower ones keep away from the last places, so that these are free when it comes again.
//! Between the accounts of one priority those that have had their share are as a priority below those that have not.
//!
//! The highest priority may go beyond the limit for a while, as long as what it asks for fits on average: then it is
//! enough to refuse the others. Each priority below it has a floor: a share of all that is admitted, whatever the
//! higher ones ask for.

use std::collections::BTreeMap;

use arrayvec::ArrayVec;
use sluicegate_core::policy::Shedding;
use sluicegate_core::time::{Nanos, Timestamp};

use super::fair::{Fair, Standing};
use super::limit::Room;

/// Priorities that are told apart. Further ones count as the next lower one of these.
const CLASSES_MAX: usize = 16;

/// A priority that nobody has used for this long is forgotten.
const FORGOTTEN_AFTER: Nanos = Nanos::from_secs(10);

/// How often shares are looked at anew.
const TURN: Nanos = Nanos(250_000_000);
/// Of what was counted this part is forgotten with each turn, so that counts are those of about eight seconds: an
/// upstream that has many long requests for a moment has not lost its capacity.
const FORGOTTEN_ONE_OF: u64 = 32;

/// After so many turns everything is forgotten.
const TURNS_MAX: u64 = 1_024;

/// A credit of this much is one request.
const REQUEST: u64 = 100;
/// All floors together leave this much of a hundred to the highest priority.
const FLOORS_MAX: u64 = 50;

/// The highest priority fits while it asks for at most this many eighths of what is admitted.
const FITS_EIGHTHS: u128 = 7;

/// How many priorities are counted for whoever watches.
const SHOWN_MAX: usize = 64;

/// Whoever is refused is told to come back after a second, or up to so many while many are refused.
const RETRY_MAX_S: u64 = 8;
const SECOND: u64 = 1_000_000_000;

/// A while after a refusal in which lower priorities keep away from the last places.
const HOLD_MIN: Nanos = Nanos(5_000_000);
const HOLD_MAX: Nanos = Nanos::from_secs(1);

/// Who was refused of late.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Behind {
    /// Nobody who matters.
    Nobody,
    /// A higher priority: the last places are kept for it.
    Priority,
    /// An account of the same priority that has not had its share: more of them are kept for it.
    Account,
    /// Only accounts of the same priority that have had theirs: who has not may go a little beyond the limit.
    Over,
}

/// Which class a place was taken in, by its priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Share(Option<u32>);

impl Share {
    /// That of a place that was given back.
    pub(crate) const LEFT: Self = Self(None);
}

/// Requests of one priority.
#[derive(Debug)]
struct Class {
    priority: u32,
    in_flight: u64,
    seen_at: Timestamp,
    /// When one was refused that had not had its share, and one that had.
    refused_at: [Option<Timestamp>; 2],
    /// What its floor owes it.
    credit: u64,
    /// What it asked for of late.
    offered: u64,
    refused_in_turn: u64,
    fair: Fair,
}

/// All priorities, the highest first.
#[derive(Debug)]
pub(crate) struct Shares {
    classes: ArrayVec<Class, CLASSES_MAX>,
    in_flight: u64,
    admitted: u64,
    refused: u64,
    turned_at: Timestamp,
    /// Refusals so far.
    shed: BTreeMap<u32, u64>,
}

impl Shares {
    pub(crate) fn new(now: Timestamp) -> Self {
        let classes = ArrayVec::new();
        Self { classes, in_flight: 0, admitted: 0, refused: 0, turned_at: now, shed: BTreeMap::new() }
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// A place, or after how long it is worth another try.
    pub(crate) fn enter(
        &mut self,
        room: &Room,
        shedding: &Shedding,
        priority: u32,
        account: u64,
        now: Timestamp,
    ) -> Result<Share, Nanos> {
        self.turn(now);
        let at = self.class(priority, now);
        let class = &mut self.classes[at];
        class.seen_at = now;
        class.offered += 1;
        let standing = class.fair.offer(account);
        let floor = self.floor(shedding);
        if self.has_place(at, standing, room, now) || self.has_credit(at, room) {
            self.admit(at, account, floor, room);
            return Ok(Share(Some(self.classes[at].priority)));
        }
        let class = &mut self.classes[at];
        class.refused_at[usize::from(standing == Standing::Above)] = Some(now);
        class.refused_in_turn += 1;
        self.refused += 1;
        let priority = class.priority;
        if self.shed.len() < SHOWN_MAX || self.shed.contains_key(&priority) {
            *self.shed.entry(priority).or_default() += 1;
        }
        Err(self.retry_after(account))
    }

    /// Gives a place back.
    pub(crate) fn leave(&mut self, share: Share) {
        let Some(priority) = share.0 else { return };
        self.in_flight = self.in_flight.saturating_sub(1);
        if let Some(class) = self.classes.iter_mut().find(|class| class.priority == priority) {
            class.in_flight = class.in_flight.saturating_sub(1);
        }
    }

    /// Refusals of each priority so far.
    pub(crate) fn shed(&self) -> BTreeMap<u32, u64> {
        self.shed.clone()
    }

    /// Where the class of a priority is; it is made if there is room for one more.
    fn class(&mut self, priority: u32, now: Timestamp) -> usize {
        let at = self.classes.iter().position(|class| class.priority <= priority);
        let at = at.unwrap_or(self.classes.len());
        if self.classes.get(at).is_some_and(|class| class.priority == priority) {
            return at;
        }
        if self.classes.is_full() {
            return at.min(CLASSES_MAX - 1);
        }
        let class = Class {
            priority,
            in_flight: 0,
            seen_at: now,
            refused_at: [None; 2],
            credit: 0,
            offered: 0,
            refused_in_turn: 0,
            fair: Fair::default(),
        };
        self.classes.insert(at, class);
        at
    }

    fn has_place(&self, at: usize, standing: Standing, room: &Room, now: Timestamp) -> bool {
        let in_sight: u64 = self.classes[..=at].iter().map(|class| class.in_flight).sum();
        let fits = at == 0 && self.fits();
        let places = if fits { room.places } else { room.open };
        let open = match self.behind(at, standing, room, now) {
            Behind::Nobody => places,
            Behind::Priority => places - (places / 8 + 3).min(places / 2),
            Behind::Account => places - (places / 4 + 3).min(places / 2),
            Behind::Over => places + room.slack,
        };
        in_sight < open || (fits && standing == Standing::Below && in_sight < most(room))
    }

    /// Who was refused of late, and comes before.
    fn behind(&self, at: usize, standing: Standing, room: &Room, now: Timestamp) -> Behind {
        let hold = room.round.clamp(HOLD_MIN, HOLD_MAX);
        let late = |refused_at: &Option<Timestamp>| refused_at.is_some_and(|then| now.since(then) < hold);
        if self.classes[..at].iter().any(|class| class.refused_at.iter().any(late)) {
            return Behind::Priority;
        }
        let [below, above] = &self.classes[at].refused_at;
        match standing {
            Standing::Above if late(below) => Behind::Account,
            Standing::Below if late(above) => Behind::Over,
            _ => Behind::Nobody,
        }
    }

    /// Whether the highest priority asks for less than the upstream can do, with somebody below it to be refused.
    fn fits(&self) -> bool {
        let [highest, _, ..] = &*self.classes else { return false };
        let (asked, can) = (u128::from(highest.offered), u128::from(self.admitted));
        // More than chance: by twice the standard error of a count.
        (asked * 8).saturating_sub(can * FITS_EIGHTHS).pow(2) <= 4 * 64 * asked
    }

    fn has_credit(&self, at: usize, room: &Room) -> bool {
        at > 0 && self.classes[at].credit >= REQUEST && self.in_flight < most(room)
    }

    /// The floor of each priority below the highest, in hundredths.
    fn floor(&self, shedding: &Shedding) -> u64 {
        let below = self.classes.len().saturating_sub(1).max(1) as u64;
        u64::from(shedding.floor.get()).min(FLOORS_MAX / below)
    }

    fn admit(&mut self, at: usize, account: u64, floor: u64, room: &Room) {
        self.in_flight += 1;
        self.admitted += 1;
        let credit_max = REQUEST.max(floor * room.places);
        for class in &mut self.classes {
            class.credit = (class.credit + floor).min(credit_max);
        }
        let class = &mut self.classes[at];
        class.in_flight += 1;
        class.credit = class.credit.saturating_sub(REQUEST);
        class.fair.admit(account);
    }

    /// The more are refused, the longer the time over which they come back.
    fn retry_after(&self, account: u64) -> Nanos {
        let spread = (self.refused / self.admitted.max(1)).min(RETRY_MAX_S - 1) * SECOND;
        let chance = mixed(account.wrapping_add(self.refused)) >> 32;
        Nanos(SECOND + (spread >> 32) * chance + (((spread & 0xffff_ffff) * chance) >> 32))
    }

    /// Looks at shares anew, if it is time.
    fn turn(&mut self, now: Timestamp) {
        let turns = now.since(self.turned_at).0 / TURN.0;
        if turns == 0 {
            return;
        }
        self.turned_at = now;
        self.admitted = faded(self.admitted, turns);
        self.refused = faded(self.refused, turns);
        for class in &mut self.classes {
            class.offered = faded(class.offered, turns);
            class.fair.turn(class.refused_in_turn, turns);
            class.refused_in_turn = 0;
        }
        self.classes.retain(|class| class.in_flight > 0 || now.since(class.seen_at) < FORGOTTEN_AFTER);
    }
}

/// A number that looks like chance.
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let number = (number ^ (number >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    number ^ (number >> 33)
}

/// What is left of a count after so many turns.
fn faded(count: u64, turns: u64) -> u64 {
    (0..turns.min(TURNS_MAX)).fold(count, |count, _| count - count.div_ceil(FORGOTTEN_ONE_OF))
}

/// The most that may ever be in flight: bursts of the highest priority, and floors.
fn most(room: &Room) -> u64 {
    room.places * 4 + 64
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_000);
    const SHEDDING: Shedding = Shedding { target: Nanos(20_000_000), floor: Shedding::FLOOR_DEFAULT };

    fn room(places: u64) -> Room {
        Room { places, open: places, slack: places / 4 + 2, round: Nanos(20_000_000) }
    }

    fn later(nanos: u64) -> Timestamp {
        NOW.plus(Nanos(nanos))
    }

    fn enter(shares: &mut Shares, places: u64, priority: u32, now: Timestamp) -> Result<Share, Nanos> {
        shares.enter(&room(places), &SHEDDING, priority, 0, now)
    }

    /// How many of so many get in.
    fn entered(shares: &mut Shares, places: u64, priority: u32, count: usize) -> usize {
        (0..count).filter(|_| enter(shares, places, priority, NOW).is_ok()).count()
    }

    #[test]
    fn what_lower_ones_have_taken_keeps_no_higher_one_out() {
        let mut shares = Shares::new(NOW);
        assert_eq!(entered(&mut shares, 10, 1, 30), 10);
        assert_eq!(entered(&mut shares, 10, 2, 10), 10);
        assert_eq!(entered(&mut shares, 10, 1, 1), 0, "the places are taken by a higher one");
    }

    #[test]
    fn after_a_refusal_lower_ones_keep_away_from_the_last_places_for_a_while() {
        let mut shares = Shares::new(NOW);
        let taken: Vec<Share> = (0..40).map_while(|_| enter(&mut shares, 40, 2, NOW).ok()).collect();
        assert!(enter(&mut shares, 40, 2, NOW).is_err());
        taken[..5].iter().for_each(|share| shares.leave(*share));
        assert!(
            enter(&mut shares, 40, 1, later(1_000_000)).is_err(),
            "a place that the higher one waits for"
        );
        assert!(enter(&mut shares, 40, 1, later(20_000_000)).is_ok(), "nobody waits any more");
    }

    #[test]
    fn lower_ones_take_places_that_the_higher_one_cannot_fill() {
        let mut shares = Shares::new(NOW);
        let taken: Vec<Share> = (0..40).map_while(|_| enter(&mut shares, 40, 2, NOW).ok()).collect();
        assert!(enter(&mut shares, 40, 2, NOW).is_err());
        // An eighth and three are kept free.
        taken[..9].iter().for_each(|share| shares.leave(*share));
        assert!(enter(&mut shares, 40, 1, NOW).is_ok());
        assert!(enter(&mut shares, 40, 1, NOW).is_err());
    }

    #[test]
    fn the_highest_goes_beyond_the_limit_in_a_burst_and_not_for_good() {
        let mut shares = Shares::new(NOW);
        assert_eq!(entered(&mut shares, 10, 1, 10), 10);
        let most = usize::try_from(most(&room(10))).unwrap();
        assert_eq!(entered(&mut shares, 10, 2, 500), most, "up to a maximum");
        // Much more than the upstream can do, turn after turn.
        let mut now = NOW;
        let mut taken = Vec::new();
        for _ in 0..8 {
            now = now.plus(TURN);
            taken.extend((0..5_000).filter_map(|_| enter(&mut shares, 10, 2, now).ok()));
        }
        assert!(taken.is_empty());
        (0..most).for_each(|_| shares.leave(Share(Some(2))));
        let again = (0..500).filter(|_| enter(&mut shares, 10, 2, now).is_ok()).count();
        assert!((5..=10).contains(&again), "it does not fit, so the limit holds for it: {again}");
    }

    #[test]
    fn a_floor_is_a_share_of_all_that_is_admitted() {
        let mut shares = Shares::new(NOW);
        let mut in_flight = std::collections::VecDeque::new();
        let mut served = [0_u32; 2];
        for round in 0..10_000 {
            // One ends, and three ask for its place, the lowest priority first.
            for priority in [0, 1, 1] {
                if let Ok(share) = enter(&mut shares, 10, priority, later(round * 1_000_000)) {
                    served[priority as usize] += 1;
                    in_flight.push_back(share);
                }
            }
            in_flight.pop_front().into_iter().for_each(|share| shares.leave(share));
        }
        assert!((9_900..=10_100).contains(&served.iter().sum::<u32>()), "{served:?}");
        assert!((450..=700).contains(&served[0]), "{served:?}");
    }

    #[test]
    fn who_is_forgotten_reserves_nothing() {
        let mut shares = Shares::new(NOW);
        for priority in 0..16 {
            let share = enter(&mut shares, 10, priority, NOW).unwrap();
            shares.leave(share);
        }
        assert_eq!(shares.classes.len(), CLASSES_MAX);
        // No room for a seventeenth: it counts as the next lower one.
        let share = enter(&mut shares, 10, 99, NOW).unwrap();
        assert_eq!(share, Share(Some(15)));
        let after = NOW.plus(FORGOTTEN_AFTER);
        assert!(enter(&mut shares, 10, 99, after).is_ok());
        let left: Vec<u32> = shares.classes.iter().map(|class| class.priority).collect();
        assert_eq!(left, [99, 15], "one is in flight");
    }
}
