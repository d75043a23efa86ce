//! Usage by the quarter of an hour: what records of the spool come to, for each account, key, route and tier.
//!
//! A record is counted once, in a row of the quarter in which it was decided, or, if its hour is closed already, of the
//! first that is not. A closed hour never changes again. A row of refunds or corrections says in which quarter their
//! charge was made: there they count, whenever they were recorded.

mod book;
mod close;
mod closings;
mod digest;
mod error;
pub(crate) mod proof;
mod prune;
mod query;
mod recount;
mod repair;
mod roll;
mod row;
mod rows;
mod sealed;
mod tally;

pub use book::{Book, Standing};
pub use close::{Closed, Reopened};
pub use error::{BookError, RollError};
pub use prune::Needs;
pub use prune::Shed;
pub use query::{Point, Query, Step, Usage};
pub use recount::{Miscounted, Recount};
pub use roll::Rolled;
pub use row::{Marks, Row, RowKey, Sums};
pub use sealed::SealedHour;
