//! The Redis store against real servers.
