//! What the tests of Tollgate compare against: the reference model of `docs/algorithms.md`.

pub mod model;
