//! Where the directory lies in Redis. All of it is in one hash slot, so that a write is one script also in a cluster.

/// The version of records and messages. A reader refuses any other.
pub(super) const VERSION: u64 = 1;

/// The version of accounts whose meters go by their serial. Earlier versions of the program, which would look for the
/// meters under the id of the account, refuse it.
pub(super) const VERSION_UNIQUE: u64 = 2;

/// The version of keys that are narrowed below their accounts. Earlier versions of the program, which would not see
/// that, refuse it.
pub(super) const VERSION_NARROWED: u64 = 2;

/// The keys, in the order in which every script has them; `scripts/names.lua` gives them their names.
pub(super) const KEYS: [&str; 9] = [
    // A hash: serial to the account, deleted ones included.
    "sg1:{dir}:accounts",
    // A hash: id to serial, of accounts that are not deleted; `~` and id to the last serials that were deleted.
    "sg1:{dir}:ids",
    // A sorted set: serials of accounts that are not deleted.
    "sg1:{dir}:live",
    // A sorted set: serials of accounts with a negotiated tier.
    "sg1:{dir}:custom",
    // A hash: id to the key, revoked ones included.
    "sg1:{dir}:keys",
    // A hash: serial to the id of the key.
    "sg1:{dir}:key-ids",
    // A sorted set, all scores zero: the serial of the account, the number of the key and its id.
    "sg1:{dir}:key-list",
    // A hash: the last serials, the last change, how many keys there are, the fingerprint of the secret.
    "sg1:{dir}:state",
    // A stream: what was written, by whom, when.
    "sg1:{dir}:audit",
];

/// The accounts.
pub(super) const ACCOUNTS: &str = KEYS[0];
/// The ids of accounts.
pub(super) const IDS: &str = KEYS[1];
/// The ids of keys.
pub(super) const KEY_IDS: &str = KEYS[5];
/// The state.
pub(super) const STATE: &str = KEYS[7];
/// The audit entries.
pub(super) const AUDIT: &str = KEYS[8];

/// A hash: serial of a key to the minute in which it was last used.
pub(super) const USED: &str = "sg1:{dir}:used";

/// With the name of a write: what that was answered.
pub(super) const ANSWERED: &str = "sg1:{dir}:answered:";

/// Where every change is told to all nodes.
pub(in crate::redis) const CHANNEL: &str = "sg1:{dir}:changes";

/// The format of everything that nodes keep in the store. Nodes of format 1 misread buckets that are overdrawn and
/// names of requests that may be repeated, and cannot read quotas whose overage is billed.
pub(super) const FORMAT: u64 = 2;

/// Nodes of this format listen here as well, where nothing is published: a node that listens to changes alone is an
/// earlier one.
pub(in crate::redis) const FORMAT_CHANNEL: &str = "sg1:{dir}:format:2";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_keys_are_in_one_slot() {
        // The text between the first braces is what a cluster hashes.
        assert!(
            KEYS.iter()
                .chain([&CHANNEL, &FORMAT_CHANNEL, &ANSWERED, &USED])
                .all(|key| key.starts_with("sg1:{dir}:"))
        );
        assert!(FORMAT_CHANNEL.ends_with(&format!(":{FORMAT}")));
        assert_eq!(
            (ACCOUNTS, IDS, KEY_IDS, AUDIT),
            ("sg1:{dir}:accounts", "sg1:{dir}:ids", "sg1:{dir}:key-ids", "sg1:{dir}:audit")
        );
    }
}
