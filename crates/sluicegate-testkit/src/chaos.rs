//! A network that misbehaves on command: a proxy in front of a server, whose every fault is chosen by the test.

mod course;
mod door;
mod link;
mod pump;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use self::course::Course;
use self::door::Door;
use crate::port::Port;

/// What happens on the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Everything arrives.
    Pass,
    /// Everything arrives this much later, in each direction.
    Latency(Duration),
    /// Every connection is reset, and new ones are refused.
    Cut,
    /// Connections are accepted, and nothing arrives. What is on its way is lost, and with it the connection: it is
    /// reset when the mode ends, for a stream with a hole in it does not exist.
    BlackHole,
    /// Requests arrive, answers do not. A connection that lost one is reset when the mode ends.
    HalfCut,
    /// Nothing arrives yet. What is on its way arrives when the mode ends, however late.
    Hold,
}

/// A proxy on a port of its own. Every connection is reset when it is dropped.
pub struct ChaosProxy {
    port: Port,
    door: Door,
}

impl ChaosProxy {
    /// A proxy in front of this server, which lets everything pass. The server need not be there yet.
    pub fn start(target: SocketAddr) -> Self {
        let port = Port::reserve();
        let door = Door::new(port.address(), Arc::new(Course::new(target)));
        door.set(Mode::Pass);
        Self { port, door }
    }

    /// Where to connect instead.
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// From now on this happens. Whoever sends or connects after this returns meets it.
    pub fn set(&self, mode: Mode) {
        self.door.set(mode);
    }

    /// How many connections were accepted so far.
    pub fn accepted(&self) -> u64 {
        self.door.accepted()
    }
}

impl Drop for ChaosProxy {
    fn drop(&mut self) {
        self.door.set(Mode::Cut);
    }
}
