//! What a descriptor asks for: a limit of its own, what a caller may do, or nothing that anybody knows of.

use sluicegate_core::plan::HomeId;
use sluicegate_core::policy::{Enforcement, May, Policy};
use sluicegate_core::rule::Amount;
use sluicegate_engine::{Engine, Throttle, ThrottleAsk};

use super::caller::Named;
use super::limits::{self, Limited};
use crate::access::Grant;
use crate::decision::grpc::message::ratelimit::{RateLimitDescriptor, RateLimitRequest, Unit};
use crate::decision::grpc::status::{Code, Status};
use crate::decision::refusal::Refusal;

/// What a descriptor asks for.
pub(super) enum Asked<'r> {
    /// Nothing that anybody knows of.
    Unmatched,
    /// As much as it likes.
    Unlimited,
    /// A limit of its own.
    Throttle { throttle: Throttle, subject: HomeId, unit: Unit, enforcement: Enforcement, hits: Hits },
    /// A limit of its own that admits nothing.
    Closed { unit: Unit, hits: Hits },
    /// What this caller may do.
    Caller { named: Named<'r>, hits: Hits },
    /// What a caller may do, with a request that no gateway would forward.
    Malformed(Refusal),
}

/// What is done to a limit, and how often. Nothing: as often as the request says by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hits {
    Take(Option<Amount>),
    Peek,
    Give(Option<Amount>),
}

impl<'r> Asked<'r> {
    pub(super) fn of(
        engine: &Engine,
        policy: &Policy,
        request: &'r RateLimitRequest,
        descriptor: &'r RateLimitDescriptor,
    ) -> Result<Self, Status> {
        let hits = Hits::of(request, descriptor)?;
        match limits::of(engine, policy, &request.domain, descriptor)? {
            Limited::By { throttle, unit, enforcement } => {
                let subject = limits::subject(engine, &request.domain, &descriptor.entries);
                return Ok(Self::Throttle { throttle, subject, unit, enforcement, hits });
            }
            Limited::Free => return Ok(Self::Unlimited),
            Limited::Closed { unit } => return Ok(Self::Closed { unit, hits }),
            Limited::Not => {}
        }
        Ok(match Named::of(&descriptor.entries, policy) {
            Ok(None) => Self::Unmatched,
            Ok(Some(named)) => Self::Caller { named, hits },
            Err(wrong) => Self::Malformed(wrong.into()),
        })
    }
}

impl Asked<'_> {
    /// Refuses operations that the caller of the port has no permission for.
    pub(super) fn check_allowed(&self, grant: &Grant) -> Result<(), Status> {
        let hits = match self {
            Self::Throttle { hits, .. } | Self::Closed { hits, .. } | Self::Caller { hits, .. } => *hits,
            Self::Unmatched | Self::Unlimited | Self::Malformed(_) => return Ok(()),
        };
        let vouches = matches!(self, Self::Caller { named, .. } if named.is_vouched_for());
        let denied = |message: &'static str| Err(Status::new(Code::PermissionDenied, message));
        if vouches && !grant.allows(May::Vouch) {
            return denied("naming an account or a tier without its key needs a token that may vouch");
        }
        if matches!(hits, Hits::Give(_)) && !grant.allows(May::Refund) {
            return denied("giving back needs a token that may refund");
        }
        Ok(())
    }
}

impl Hits {
    fn of(request: &RateLimitRequest, descriptor: &RateLimitDescriptor) -> Result<Self, Status> {
        let amount = match descriptor.hits_addend {
            Some(0) => return Ok(Self::Peek),
            Some(hits) => Some(Amount::new(hits).ok_or_else(too_many)?),
            // Zero is what stands there when nothing was said.
            None => Amount::new(request.hits_addend.into()),
        };
        Ok(if descriptor.is_negative_hits { Self::Give(amount) } else { Self::Take(amount) })
    }

    /// The same as a limit of its own is asked.
    pub(super) fn ask(self) -> ThrottleAsk {
        match self {
            Self::Take(amount) => ThrottleAsk::Take(amount.unwrap_or(Amount::ONE)),
            Self::Peek => ThrottleAsk::Peek(Amount::ONE),
            Self::Give(amount) => ThrottleAsk::Give(amount.unwrap_or(Amount::ONE)),
        }
    }

    /// The same, but nothing is taken.
    pub(super) fn look(self) -> ThrottleAsk {
        match self.ask() {
            ThrottleAsk::Take(amount) => ThrottleAsk::Peek(amount),
            other => other,
        }
    }
}

fn too_many() -> Status {
    Status::new(Code::InvalidArgument, format!("hits_addend may be at most {}", Amount::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(request: u32, descriptor: Option<u64>, is_negative_hits: bool) -> Result<Hits, Code> {
        let request = RateLimitRequest { hits_addend: request, ..RateLimitRequest::default() };
        let descriptor = RateLimitDescriptor {
            hits_addend: descriptor,
            is_negative_hits,
            ..RateLimitDescriptor::default()
        };
        Hits::of(&request, &descriptor).map_err(|status| status.code())
    }

    #[test]
    fn the_descriptor_says_how_many_hits_before_the_request_does() {
        assert_eq!(hits(0, None, false), Ok(Hits::Take(None)));
        assert_eq!(hits(3, None, false), Ok(Hits::Take(Amount::new(3))));
        assert_eq!(hits(3, Some(5), false), Ok(Hits::Take(Amount::new(5))));
        assert_eq!(hits(3, Some(0), false), Ok(Hits::Peek), "a zero that was said is a question");
        assert_eq!(hits(3, Some(0), true), Ok(Hits::Peek));
        assert_eq!(hits(3, Some(5), true), Ok(Hits::Give(Amount::new(5))));
        assert_eq!(hits(0, None, true), Ok(Hits::Give(None)));
        assert_eq!(hits(0, Some(u64::MAX), false), Err(Code::InvalidArgument));
        assert_eq!(hits(0, Some(Amount::MAX), false), Ok(Hits::Take(Amount::new(Amount::MAX))));
    }
}
