//! Fair shares between the accounts of one priority, in a fixed amount of memory.
//!
//! What each account asked for and got of late is counted in two rows of cells, by two hashes of it. Of two accounts in
//! one cell each seems to have had what both had, so the smaller of its two counts is the better one. From time to time
//! the level is found at which all that was admitted would have been shared fairly: who wanted less had all of it, and
//! who wanted more had the level. Whoever has had the level already steps back behind those who have not. Then all
//! counts are halved: what was long ago does not count.

/// Cells of a row.
const CELLS: usize = 1_024;
const ROWS: usize = 2;

/// One request is counted as this much, so that halves of it are not lost at once.
const ONE: u32 = 256;

/// The level is found in so many steps at most; each is exact for those below it.
const STEPS: usize = 8;

#[derive(Clone, Copy, Default, Debug)]
struct Cell {
    offered: u32,
    admitted: u32,
}

/// What the accounts of one priority had of late.
#[derive(Debug)]
pub(crate) struct Fair {
    rows: Box<[[Cell; CELLS]; ROWS]>,
    level: u32,
}

/// Whether an account has had its share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// Less than its share.
    Below,
    /// All of it.
    Above,
}

impl Default for Fair {
    fn default() -> Self {
        Self { rows: Box::new([[Cell::default(); CELLS]; ROWS]), level: u32::MAX }
    }
}

impl Fair {
    fn cells(&mut self, account: u64) -> [&mut Cell; ROWS] {
        let index = |hash: u64| usize::try_from(hash % CELLS as u64).unwrap_or(0);
        let [first, second] = &mut *self.rows;
        [&mut first[index(account)], &mut second[index(account >> 32)]]
    }

    /// Notes that an account asks, and says whether it has had its share.
    pub(crate) fn offer(&mut self, account: u64) -> Standing {
        let level = self.level;
        let cells = self.cells(account);
        let had = cells.iter().map(|cell| cell.admitted).min().unwrap_or(0);
        for cell in cells {
            cell.offered = cell.offered.saturating_add(ONE);
        }
        if had >= level { Standing::Above } else { Standing::Below }
    }

    /// Notes that it got what it asked for.
    pub(crate) fn admit(&mut self, account: u64) {
        for cell in self.cells(account) {
            cell.admitted = cell.admitted.saturating_add(ONE);
        }
    }

    /// Finds the level, if somebody was refused, and lets the past count for half; after several turns in which nobody
    /// asked, for as many halves of it.
    pub(crate) fn turn(&mut self, refused: u64, turns: u64) {
        self.level = if refused == 0 || turns > 1 { u32::MAX } else { self.fair_level() };
        let halves = u32::try_from(turns).unwrap_or(u32::MAX).min(u32::BITS - 1);
        for cell in self.rows.iter_mut().flatten() {
            cell.offered >>= halves;
            cell.admitted >>= halves;
        }
    }

    fn fair_level(&self) -> u32 {
        let cells = &self.rows[0];
        let asking = || cells.iter().filter(|cell| cell.offered > 0);
        let all: u64 = asking().map(|cell| u64::from(cell.admitted)).sum();
        let mut level = 0;
        for _ in 0..STEPS {
            let below: u64 = asking()
                .filter(|cell| u64::from(cell.offered) <= level)
                .map(|cell| u64::from(cell.offered))
                .sum();
            let above = asking().filter(|cell| u64::from(cell.offered) > level).count() as u64;
            let Some(next) = all.saturating_sub(below).checked_div(above) else { return u32::MAX };
            if next <= level {
                break;
            }
            level = next;
        }
        u32::try_from(level).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accounts in cells of their own, in both rows.
    fn account(number: u64) -> u64 {
        number << 32 | number
    }

    /// Each asks and gets as often as it says; then a turn with refusals.
    fn after(had: &[(u32, u32)]) -> Fair {
        let mut fair = Fair::default();
        for (number, (offered, admitted)) in (0..).zip(had) {
            for _ in 0..*offered {
                fair.offer(account(number));
            }
            for _ in 0..*admitted {
                fair.admit(account(number));
            }
        }
        fair.turn(1, 1);
        fair
    }

    #[test]
    fn who_wants_less_than_its_share_has_it_and_the_rest_is_shared_evenly() {
        // Sixty in all: 2 and 8 want less than a fifth; fifty are left for three.
        let fair = after(&[(2, 2), (8, 8), (100, 40), (30, 5), (50, 5)]);
        assert_eq!(fair.level, 50 * ONE / 3);
    }

    #[test]
    fn who_has_had_the_level_stands_back_until_the_past_is_forgotten() {
        let mut fair = after(&[(100, 30), (100, 10)]);
        assert_eq!(fair.level, 20 * ONE);
        // Half of what it had counts: fifteen and five.
        for _ in 0..5 {
            assert_eq!(fair.offer(account(0)), Standing::Below);
            fair.admit(account(0));
        }
        assert_eq!(fair.offer(account(0)), Standing::Above);
        assert_eq!(fair.offer(account(1)), Standing::Below);
        fair.turn(0, 1);
        assert_eq!(fair.offer(account(0)), Standing::Below, "nobody was refused");
    }

    #[test]
    fn a_neighbour_in_one_row_is_told_apart_in_the_other() {
        let mut fair = after(&[(100, 30), (100, 10)]);
        let neighbour = 7 << 32;
        (0..10).for_each(|_| fair.admit(account(0)));
        assert_eq!(fair.offer(account(0)), Standing::Above);
        assert_eq!(fair.offer(neighbour), Standing::Below);
    }

    #[test]
    fn nothing_overflows() {
        let mut fair = Fair::default();
        fair.rows[0][1] = Cell { offered: u32::MAX, admitted: u32::MAX };
        fair.offer(1);
        fair.admit(1);
        fair.turn(1, 1);
        assert_eq!(fair.level, u32::MAX);
    }
}
