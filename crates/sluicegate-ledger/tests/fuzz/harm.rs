//! What is done to bytes.

use sluicegate_testkit::dice::Dice;

/// Runs a case for each seed, more of them if slow tests are wanted. A seed that fails is named.
pub(crate) fn cases(count: u64, mut case: impl FnMut(&mut Dice)) {
    #[expect(clippy::disallowed_methods, reason = "the switch for slow tests")]
    let slow = std::env::var_os("SLUICEGATE_SLOW").is_some();
    for seed in 0..if slow { count * 20 } else { count } {
        let told = Told(seed);
        case(&mut Dice::new(seed));
        drop(told);
    }
}

/// Tells its seed when a panic goes through it.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("it was the case with seed {}", self.0);
        }
    }
}

pub(crate) fn index(dice: &mut Dice, end: usize) -> usize {
    usize::try_from(dice.below(end as u64)).unwrap()
}

/// Fewer bytes than this, and any.
pub(crate) fn any(dice: &mut Dice, end: usize) -> Vec<u8> {
    let length = index(dice, end);
    noise(dice, length)
}

/// So many bytes.
pub(crate) fn noise(dice: &mut Dice, length: usize) -> Vec<u8> {
    (0..length).map(|_| dice.roll().to_le_bytes()[3]).collect()
}

/// Does one to four things to the bytes.
pub(crate) fn hurt(dice: &mut Dice, bytes: &mut Vec<u8>) {
    for _ in 0..=dice.below(4) {
        hurt_once(dice, bytes);
    }
}

fn hurt_once(dice: &mut Dice, bytes: &mut Vec<u8>) {
    let at = index(dice, bytes.len());
    let length = 1 + index(dice, 300);
    let end = bytes.len().min(at + length);
    match dice.below(9) {
        0..=2 if !bytes.is_empty() => bytes[at] ^= 1 << dice.below(8),
        3 => bytes[at..end].fill(0),
        4 => {
            let noise = noise(dice, end - at);
            bytes[at..end].copy_from_slice(&noise);
        }
        5 => bytes.truncate(at),
        6 => {
            let noise = noise(dice, length);
            bytes.extend(noise);
        }
        7 => {
            // What is here stands elsewhere as well.
            let copied = bytes[at..end].to_vec();
            let to = index(dice, bytes.len());
            bytes.splice(to..to, copied);
        }
        _ => {
            bytes.drain(at..end);
        }
    }
}
