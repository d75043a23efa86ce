//! One connection's side of the talk: what it has said of itself, and how each of its commands is begun.

use std::net::IpAddr;
use std::sync::atomic::Ordering;

use sluicegate_core::policy::May;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::{RefusedSignIn, SignInPort};

use super::RespService;
use super::reply::{Protocol, Reply};
use super::table::{self, OpenTo, Verb};
use super::throttle::Throttles;
use super::waiting::{Late, Waiting};
use super::{auth, check, finish, greet, renew, throttle};
use crate::access::Grant;

/// What is known of a connection.
pub(super) struct Session<'s> {
    pub(super) service: &'s RespService,
    pub(super) protocol: Protocol,
    pub(super) auth: Auth,
    /// Where it connects from.
    peer: IpAddr,
    /// Whether it has just said a wrong token or password.
    pub(super) refused: bool,
    pub(super) id: u64,
    /// What it calls itself.
    pub(super) name: Vec<u8>,
    pub(super) throttles: Throttles,
}

/// Whether a connection may ask.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Auth {
    /// Not before it has said a token or the password.
    Missing,
    /// It may, and do this beyond asking.
    Done(Grant),
}

/// How far a command is.
pub(super) enum Begun<'b> {
    /// The answer is written.
    Answered,
    /// The answer comes later: from a store far away, or when a record is on disk.
    Waits(Waiting<'b>),
    /// The connection ends, once what is written was sent.
    Leave,
}

impl<'s> Session<'s> {
    pub(super) fn new(service: &'s RespService, peer: IpAddr) -> Self {
        let id = service.ids.fetch_add(1, Ordering::Relaxed);
        let (protocol, auth) = (Protocol::Resp2, Auth::of(service));
        let (name, throttles) = (Vec::new(), Throttles::default());
        Self { service, protocol, auth, peer, refused: false, id, name, throttles }
    }

    /// Whether connections may ask without a token or a password.
    pub(super) fn needs_no_password(&self) -> bool {
        self.service.password.is_none() && !self.service.access.is_required()
    }

    /// Whether the connection may do this beyond asking.
    pub(super) fn allows(&self, may: May) -> bool {
        matches!(&self.auth, Auth::Done(grant) if grant.allows(may))
    }

    /// A token that was revoked or has expired since opens nothing any more.
    pub(super) fn end_revoked(&mut self, now: Timestamp) {
        if let Auth::Done(grant) = &self.auth
            && !grant.is_live(&self.service.engine, now)
        {
            self.auth = Auth::of(self.service);
        }
    }

    pub(super) fn take_refused(&mut self) -> bool {
        std::mem::take(&mut self.refused)
    }

    /// Counts a wrong token, and waits for as long as this peer has to.
    pub(super) async fn wait_for_refusal(&self, now: Timestamp) -> RefusedSignIn {
        self.service.engine.refuse_sign_in(Some(self.peer), SignInPort::Resp, now).await
    }

    /// Begins one command: the answer is written to `out`, or comes later.
    #[inline]
    pub(super) fn begin<'b>(&mut self, args: &[&'b [u8]], now: Timestamp, out: &mut Vec<u8>) -> Begun<'b>
    where
        's: 'b,
    {
        let Some((name, args)) = args.split_first() else { return Begun::Answered };
        let mut reply = Reply::new(out, self.protocol);
        let Some(known) = table::find(name) else {
            table::unknown(name, args, &mut reply);
            return Begun::Answered;
        };
        if !known.takes(args.len() + 1) {
            known.refuse_count(&mut reply);
            return Begun::Answered;
        }
        if self.auth == Auth::Missing && known.open_to == OpenTo::SignedIn {
            reply.error("NOAUTH Authentication required.");
            return Begun::Answered;
        }
        let late = match known.verb {
            Verb::Throttle => throttle::begin(self, args, now, &mut reply),
            Verb::Check => check::begin(self, args, now, &mut reply),
            Verb::Finish => finish::begin(self, args, now, &mut reply),
            Verb::Renew => renew::begin(self, args, now, &mut reply),
            verb => return self.answer(verb, args, &mut reply),
        };
        late.map_or(Begun::Answered, Begun::Waits)
    }

    /// Answers what needs no decision.
    fn answer<'b>(&mut self, verb: Verb, args: &[&[u8]], reply: &mut Reply<'_>) -> Begun<'b> {
        match verb {
            Verb::Throttle | Verb::Check | Verb::Finish | Verb::Renew => {}
            Verb::Ping => greet::ping(args, reply),
            Verb::Echo => reply.bulk(args.first().copied().unwrap_or_default()),
            Verb::Hello => greet::hello(self, args, reply),
            Verb::Auth => auth::auth(self, args, reply),
            Verb::Client => greet::client(self, args, reply),
            Verb::Command => table::command(args, reply),
            Verb::Select => greet::select(args, reply),
            Verb::Info => greet::info(self.service, reply),
            Verb::Reset => {
                (self.protocol, self.auth) = (Protocol::Resp2, Auth::of(self.service));
                self.name.clear();
                reply.simple("RESET");
            }
            Verb::Quit => {
                reply.simple("OK");
                return Begun::Leave;
            }
            Verb::Http => return Begun::Leave,
        }
        Begun::Answered
    }

    /// Writes an answer that came later.
    pub(super) fn write_late(&self, late: Late, protocol: Protocol, now: Timestamp, out: &mut Vec<u8>) {
        let mut reply = Reply::new(out, protocol);
        match late {
            Late::Throttled(asked, throttled) => throttle::write(&asked, &throttled, &mut reply),
            Late::Decided(decision, hold) => {
                check::write(&self.service.engine, *decision, hold, now, &mut reply);
            }
            Late::Finished(permit, finished) => finish::write(&permit, finished, &mut reply),
            Late::Renewed(renewed) => {
                renew::write(renewed.as_deref().map_err(|error| *error), &mut reply);
            }
        }
    }
}

impl Auth {
    fn of(service: &RespService) -> Self {
        let without = service.access.without_token().filter(|_| service.password.is_none());
        without.map_or(Self::Missing, Self::Done)
    }
}
