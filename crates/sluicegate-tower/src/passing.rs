//! What becomes of a request that was decided on.

use http::{Request, Response};

use crate::body::GuardedBody;
use crate::grpc::Protocol;
use crate::guard::InFlight;
use crate::said::Said;

/// What goes from the decision to the answer of the service.
#[derive(Debug)]
pub(crate) struct Carried {
    /// Nothing: nothing was decided.
    pub(crate) said: Option<Said>,
    pub(crate) held: Option<InFlight>,
    #[cfg(feature = "embedded")]
    pub(crate) passage: Option<crate::passage::Passage>,
    #[cfg(feature = "remote")]
    pub(crate) undecided: Option<crate::remote::Undecided>,
    /// What the request is.
    pub(crate) protocol: Protocol,
}

#[cfg(feature = "embedded")]
impl Carried {
    /// Of a request that this layer has not decided on.
    pub(crate) fn nothing() -> Self {
        Self {
            protocol: Protocol::Http,
            said: None,
            held: None,
            passage: None,
            #[cfg(feature = "remote")]
            undecided: None,
        }
    }
}

/// What becomes of a request that was decided on.
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart where it is made; a box would be for nothing"
)]
pub(crate) enum Passing<B, R> {
    /// The service gets it.
    Through(Request<B>, Carried),
    /// It is answered here.
    Denied(Box<Response<GuardedBody<R>>>),
}
