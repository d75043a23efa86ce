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

    /// Finds the level, if somebody was refused, and lets the past count for half.
    pub(crate) fn turn(&mut self, refused: u64) {
        self.level = if refused == 0 { u32::MAX } else { self.fair_level() };
        for cell in self.rows.iter_mut().flatten() {
            cell.offered /= 2;
            cell.admitted /= 2;
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
