//! How many different things were seen, in a few bits: each sets one bit, chosen by its hash, and the number of bits
//! that are still unset says how many there were.

/// For each number of bits that are set, of `N - 1`, how many different things it takes to set so many.
///
/// What is expected after n things is `bits × (1 − 1/bits)^n` unset bits. The estimate is the largest n that leaves
/// at least as many unset as were found: for few things it is exactly the number of set bits, so that two things
/// with one bit make it too small, and nothing makes it too large.
pub(crate) const fn estimates<const N: usize>() -> [u16; N] {
    const ONE: u128 = 1 << 64;
    let bits = (N - 1) as u128;
    let mut table = [0_u16; N];
    let (mut unset, mut things, mut set) = (bits * ONE, 0, 0);
    // The last bit stays out: with every bit set there is no telling, and the entry before it is what is said.
    while set + 1 < N {
        // Moves on while one thing more still leaves as many bits unset.
        loop {
            let next = unset - unset / bits;
            if next < (bits - set as u128) * ONE {
                break;
            }
            unset = next;
            things += 1;
        }
        table[set] = things;
        set += 1;
    }
    table[N - 1] = table[N - 2];
    table
}

#[cfg(test)]
mod tests {
    use super::estimates;

    #[test]
    fn few_things_are_counted_one_by_one() {
        let table = estimates::<513>();
        for (set, estimate) in table.iter().enumerate().take(32) {
            assert_eq!(usize::from(*estimate), set);
        }
    }

    #[test]
    fn many_things_are_what_the_unset_bits_say() {
        // 512 × ln(512/256) = 354.9, 512 × ln(512/1) = 3194; 64 × ln(64/32) = 44.4, 64 × ln(64) = 266.
        let (large, small) = (estimates::<513>(), estimates::<65>());
        assert!((353..=355).contains(&large[256]), "{}", large[256]);
        assert!((3_185..=3_195).contains(&large[511]), "{}", large[511]);
        assert!((43..=44).contains(&small[32]), "{}", small[32]);
        assert!((263..=266).contains(&small[63]), "{}", small[63]);
        assert_eq!((large[512], small[64]), (large[511], small[63]));
    }

    #[test]
    fn more_bits_never_say_fewer_things() {
        assert!(
            estimates::<513>().is_sorted() && estimates::<65>().is_sorted() && estimates::<33>().is_sorted()
        );
    }
}
