//! The limiters that ours is compared with, each used the way its own documentation shows.

pub(crate) mod governor;
pub(crate) mod limitador;
pub(crate) mod throttlecrab;
