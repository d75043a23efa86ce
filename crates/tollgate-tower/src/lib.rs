//! The middleware that stands before a service and asks Tollgate.
//!
//! [`TollgateLayer`] wraps any HTTP service: a request that may pass goes on with who is calling in its extensions, and
//! its answer carries what the limits say; one that may not is answered here. Tollgate's own gateway runs this very
//! layer before it forwards.
//!
//! A request that changes something may have a name, in the header `Idempotency-Key`. One that repeats it within a day
//! goes on to the service again, under the same decision, and is charged to rates and slots alone; the service has to
//! know for itself that the work is done. The same name for another request is answered with 422.

mod body;
mod denial;
mod future;
mod guard;
mod layer;
mod merge;
mod note;
mod passage;
mod peer;

pub use body::GuardedBody;
pub use denial::{denial, problem};
pub use future::Answering;
pub use guard::InFlight;
pub use layer::{Passed, Tollgate, TollgateLayer};
pub use note::{Note, Noted};
pub use peer::Peer;
