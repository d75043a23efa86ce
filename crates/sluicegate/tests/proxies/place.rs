//! A proxy with an API behind it and a server beside it, and a network between the two that can fail.

use std::net::IpAddr;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use sluicegate_testkit::chaos::ChaosProxy;
use sluicegate_testkit::http::{Answer, Asked, Caller};
use sluicegate_testkit::port::Port;
use sluicegate_testkit::proxies::Proxy;
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::echo::Echo;
use crate::recipe::{Ports, Recipe};

/// Whoever waits longer than this for an answer is not answered in bounded time: the examples say a second or so.
const BOUND: Duration = Duration::from_secs(15);

/// What passes while Sluicegate cannot be reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Failing {
    /// Nothing: the example as it stands.
    Closed,
    /// Everything: the example, changed as it says.
    Open,
}

pub(crate) struct Place {
    proxy: Proxy,
    pub(crate) bed: Bed,
    /// From the proxy to the server.
    pub(crate) way: ChaosProxy,
    pub(crate) api: Echo,
    _questions: Port,
}

impl Place {
    /// Starts the proxy beside a server with this policy.
    pub(crate) fn start(recipe: &Recipe, policy: &str) -> Self {
        Self::beside(recipe, Bed::start(policy), Failing::Closed)
    }

    /// Starts the proxy beside this server, and returns when it decides.
    pub(crate) fn beside(recipe: &Recipe, bed: Bed, failing: Failing) -> Self {
        let (callers, questions) = (Port::reserve(), Port::reserve());
        let (way, api) = (ChaosProxy::start(bed.server.decision()), Echo::start());
        let ports = Ports {
            callers: callers.number(),
            decision: way.address().port(),
            api: api.address.port(),
            questions: questions.number(),
        };
        let files = recipe.for_test(&ports);
        let files = if failing == Failing::Open { recipe.opened(files) } else { files };
        let proxy = Proxy::start(recipe.program, &files, callers);
        let place = Self { proxy, bed, way, api, _questions: questions };
        // Some listen before they know what to do. A key that is none is charged to nobody, and refused; some proxies
        // know only one status for all that is refused.
        wait::until("the proxy asks Sluicegate", || {
            matches!(place.send(&Asked::get("/").key("junk")).status, 403 | 429).then_some(())
        });
        assert_eq!(place.api.asked(), 0, "{}", place.proxy.log());
        place
    }

    /// Sends a request to the proxy, over a connection of its own.
    #[track_caller]
    pub(crate) fn send(&self, asked: &Asked) -> Answer {
        sent(Caller::new(self.proxy.address()), asked)
    }

    /// The same from another address.
    #[track_caller]
    pub(crate) fn send_from(&self, source: [u8; 4], asked: &Asked) -> Answer {
        sent(Caller::from(IpAddr::from(source), self.proxy.address()), asked)
    }
}

/// The answer, if it comes in bounded time.
#[track_caller]
fn sent(mut caller: Caller, asked: &Asked) -> Answer {
    let (answered, answers) = mpsc::channel();
    let asked = asked.clone();
    thread::spawn(move || answered.send(caller.send(&asked)));
    answers.recv_timeout(BOUND).expect("an answer comes in bounded time").unwrap()
}

/// What the API was asked: all values of a header, one after the other.
pub(crate) fn told(answer: &Answer, name: &str) -> Vec<String> {
    let values = answer.json()["headers"][name].as_array().cloned().unwrap_or_default();
    values.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
