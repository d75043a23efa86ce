//! Where meters live.
//!
//! The meters of one account or client are its *home*. A plan touches one home, and a home is one lock, so
//! settling several limits together is one critical section. [`meters::MeterTable`] keeps the homes of one
//! process in memory.

pub mod hash;
pub mod meters;
