//! Links for the entries of an audit log: each has the hash of itself and of the one before it.
//!
//! Whoever has the entries in order can make the links again, so that one link stands for every byte of all entries
//! up to it. Stores keep them or make them; the ledger signs the last.

use crate::digest::Digest;

const CONTEXT: &str = "sluicegate 2026 audit entry v1";

/// What an entry says. The order of the fields is that in which they are hashed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry<'e> {
    /// Its number.
    pub seq: u64,
    /// When, in nanoseconds since 1970.
    pub at: u64,
    /// Who.
    pub who: &'e str,
    /// Did what.
    pub action: &'e str,
    /// To what.
    pub target: &'e str,
    /// What it was before.
    pub before: Option<&'e str>,
    /// What it is after.
    pub after: Option<&'e str>,
}

/// The link of an entry. The one before the first is [`Digest::NONE`].
pub fn link(previous: &Digest, entry: &Entry<'_>) -> Digest {
    let Entry { seq, at, who, action, target, before, after } = *entry;
    let mut body = Vec::with_capacity(256);
    body.extend_from_slice(&seq.to_le_bytes());
    body.extend_from_slice(&at.to_le_bytes());
    // With its length before each text, so that no two entries have the same bytes.
    for text in [Some(who), Some(action), Some(target), before, after] {
        body.push(u8::from(text.is_some()));
        let text = text.unwrap_or_default();
        body.extend_from_slice(&(text.len() as u64).to_le_bytes());
        body.extend_from_slice(text.as_bytes());
    }
    Digest::link(CONTEXT, previous, &body)
}

/// The last entry and its link: what a checkpoint signs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Head {
    /// The number of the last entry; 0: there is none.
    pub seq: u64,
    /// Its link.
    pub link: Digest,
}

/// The first entry that is not what it was when it was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadEntry {
    /// Its number.
    pub seq: u64,
}

/// Checks entries against their links, one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checker {
    head: Head,
}

impl Checker {
    /// Begins after `head`; a default one is the beginning.
    pub fn after(head: Head) -> Self {
        Self { head }
    }

    /// The next entry, and the head behind it. If a link is kept beside the entry, it must be its link.
    pub fn check(&mut self, entry: &Entry<'_>, kept: Option<&Digest>) -> Result<Head, BadEntry> {
        let found = link(&self.head.link, entry);
        if kept.is_some_and(|kept| *kept != found) || entry.seq <= self.head.seq {
            return Err(BadEntry { seq: entry.seq });
        }
        self.head = Head { seq: entry.seq, link: found };
        Ok(self.head)
    }

    /// The last entry that was checked.
    pub fn head(&self) -> Head {
        self.head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: Entry<'_> = Entry {
        seq: 1,
        at: 5,
        who: "admin",
        action: "account.create",
        target: "acct_1",
        before: None,
        after: Some("{}"),
    };

    #[test]
    fn every_field_is_part_of_the_link() {
        let first = link(&Digest::NONE, &ENTRY);
        let others = [
            Entry { seq: 2, ..ENTRY },
            Entry { at: 6, ..ENTRY },
            Entry { who: "admi", action: "naccount.create", ..ENTRY },
            Entry { action: "account.delete", ..ENTRY },
            Entry { target: "acct_2", ..ENTRY },
            Entry { before: Some(""), ..ENTRY },
            Entry { before: Some("{}"), after: None, ..ENTRY },
        ];
        for other in &others {
            assert_ne!(link(&Digest::NONE, other), first, "{other:?}");
        }
        assert_ne!(link(&first, &ENTRY), first);
        assert_eq!(link(&Digest::NONE, &ENTRY), first);
    }

    #[test]
    fn the_first_entry_that_was_changed_removed_or_swapped_is_named() {
        let mut links = vec![Digest::NONE];
        let entries: Vec<Entry<'_>> = (1..=5).map(|seq| Entry { seq, ..ENTRY }).collect();
        for entry in &entries {
            links.push(link(&links[links.len() - 1], entry));
        }
        let check = |entries: &[Entry<'_>], links: &[Digest]| {
            let mut checker = Checker::default();
            let mut pairs = entries.iter().zip(links);
            pairs.try_fold(0, |_, (entry, link)| checker.check(entry, Some(link)).map(|head| head.seq))
        };
        assert_eq!(check(&entries, &links[1..]), Ok(5));
        let mut changed = entries.clone();
        changed[2].who = "somebody";
        assert_eq!(check(&changed, &links[1..]), Err(BadEntry { seq: 3 }));
        let removed: Vec<_> = entries.iter().copied().filter(|entry| entry.seq != 2).collect();
        assert_eq!(check(&removed, &[links[1], links[3], links[4], links[5]]), Err(BadEntry { seq: 3 }));
        let swapped = [entries[1], entries[0]];
        assert_eq!(check(&swapped, &links[1..]), Err(BadEntry { seq: 2 }));
    }

    #[test]
    fn without_kept_links_the_end_tells_and_order_still_counts() {
        let entries: Vec<Entry<'_>> = (1..=3).map(|seq| Entry { seq, ..ENTRY }).collect();
        let end = |entries: &[Entry<'_>]| {
            let mut checker = Checker::default();
            entries.iter().try_for_each(|entry| checker.check(entry, None).map(drop)).map(|()| checker.head())
        };
        let whole = end(&entries).unwrap();
        assert_eq!(whole.seq, 3);
        let changed = [entries[0], Entry { who: "somebody", ..entries[1] }, entries[2]];
        assert_ne!(end(&changed).unwrap().link, whole.link);
        assert_eq!(end(&[entries[0], entries[0]]), Err(BadEntry { seq: 1 }));
        // Going on from a head that is trusted gives the same.
        let first = end(&entries[..1]).unwrap();
        let mut later = Checker::after(first);
        for entry in &entries[1..] {
            later.check(entry, None).unwrap();
        }
        assert_eq!(later.head(), whole);
    }

    /// What is signed on disks is made of these bytes: they may never change.
    #[test]
    fn the_link_of_an_entry_is_the_same_for_ever() {
        let first = link(&Digest::NONE, &ENTRY);
        assert_eq!(first.to_string(), "2ca8a9d4f646abda286cfe6ae5eb26ce604e35197ca6982e9313605d2976b6d7");
    }
}
