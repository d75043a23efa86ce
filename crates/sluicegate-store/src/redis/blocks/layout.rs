//! Where blocks lie in Redis. All of it is in one hash slot, so that a write is one script also in a cluster.

/// The version of records and messages. Those of any other are left alone.
pub(super) const VERSION: &str = "1";

/// The keys, in the order in which every script has them.
pub(super) const KEYS: [&str; 2] = [
    // A sorted set: callers by the millisecond at which their block ends, by the server's clock.
    "sg1:{blocks}:ends",
    // A hash: callers to the block.
    "sg1:{blocks}:records",
];

/// Where every block is told to all nodes.
pub(super) const CHANNEL: &str = "sg1:{blocks}:news";
