//! Plans to the bytes that the script reads, and its replies back.
//!
//! Numbers are doubles that hold whole numbers below 2^53, the lowest byte first; time is in microseconds.
//!
//! A home: version (1 byte), length of the shape, count of numbers (2 bytes each), shape, until when the home lives,
//! numbers, nodes. The shape has for each meter its id (8 bytes), the place of its numbers (2 bytes), and the image
//! of its limit behind its length (1 byte). A node: its id (8 bytes), the number and the time of its last call, and
//! what came of that call behind its length (2 bytes): a byte for each plan, 0 admitted, 2 to 17 refused by that
//! charge, 18 to 33 never fits that charge; 1 admitted, with the change of the overage (of a refund: by how much it
//! fell); 34 not what was expected, but that much remains; 35 with a decision (16 bytes) that the plan repeats, before
//! how it came out; 36 its name is another request's; 254 this was a fence, with the number of the call it stands
//! before and, behind 1 and the time of that call, what came of it; behind 0 nothing did.
//!
//! A home with many meters is of version 3. It has no meters and no nodes, only its expiry. A second key, a hash, has
//! one field per meter: its name is the id, its value the image of the limit behind its length (1 byte), and the
//! numbers; and one field per node: its name is `n` and the id, its value the rest of the entry. So the cost of a call
//! does not depend on the number of meters.
//!
//! A name: a hash of the request (8 bytes), the decision (16 bytes), until when it is remembered; how many attempts
//! have not ended (2 bytes), how many were free, and 1 if one was answered (1 byte each). An older build wrote the
//! first three. A sorted set has the names of a home by when they are forgotten, so that they can be bounded.
//!
//! The period before the one that a quota counts in has a key of its own: its end, its count, the overage that was
//! recorded in it before the last change of its tier or policy, and up to where nothing more of it is billed.
//!
//! A call: first the home as it would be if it had these limits and nothing else, up to its numbers; then the
//! operation (1 byte), the node, the number of the call, the time (below zero: the server's) and, by operation, what
//! [`call`] writes.

pub(super) mod blob;
pub(super) mod bucket;
pub(super) mod call;
pub(super) mod carry;
pub(super) mod limit;
pub(super) mod number;
pub(super) mod outcome;
pub(super) mod reply;
pub(super) mod seen;

/// The version in the name of every key.
pub(super) const LAYOUT: u8 = 1;

/// The version of a home, its first byte. Nodes of format 1 refuse it: they would misread buckets that are overdrawn.
pub(super) const HOME_VERSION: u8 = 2;
/// The version of a home whose meters are in a hash.
pub(super) const HOME_VERSION_MANY: u8 = 3;
/// The version that nodes of format 1 write, which is read as well: the bytes are the same.
pub(super) const HOME_VERSION_BEFORE: u8 = 1;

/// The script, in parts that are one text.
pub(super) const SCRIPT: &str = concat!(
    include_str!("script/common_call.lua"),
    include_str!("script/limits.lua"),
    include_str!("script/home.lua"),
    include_str!("script/many.lua"),
    include_str!("script/fences.lua"),
    include_str!("script/wide.lua"),
    include_str!("script/entries.lua"),
    include_str!("script/slots.lua"),
    include_str!("script/overdraft.lua"),
    include_str!("script/past.lua"),
    include_str!("script/ask.lua"),
    include_str!("script/names.lua"),
    include_str!("script/settle.lua"),
);
