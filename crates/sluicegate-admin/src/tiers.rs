//! Tiers with their limits as they are meant, each with the bound that it promises.

mod explained;
pub(super) mod list;

pub(crate) use explained::ExplainedTier;
pub use explained::ExplainedTiers;
