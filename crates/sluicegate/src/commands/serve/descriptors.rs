//! How many descriptors the process may have, and how they are divided among its ports.
//!
//! A caller of the gateway takes two: its own connection, and one to the upstream. Without a division the gateway could
//! take them all, and the ports by which people would look into that could not be reached.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// For the data directory, logs, timers and connections to other servers: so many, or this part if there are few.
const FILES: u64 = 256;
const FILES_DIVISOR: u64 = 8;

/// What each of the other ports has in any case: so many, or this part if there are few.
const PER_PORT: u64 = 256;
const PER_PORT_DIVISOR: u64 = 16;

/// Descriptors that the ports for people and services keep for when there are no others.
pub(super) const RESERVED: usize = 16;

/// The fewest connections that a gateway is of any use with.
const GATEWAY_MIN: u64 = 16;

/// How many connections each port takes at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Budget {
    pub(super) gateway: u32,
    /// The decision API, the admin API and the port for clients of Redis, each.
    pub(super) others: u32,
}

/// Raises the limit of open files as far as this user may, and returns it.
pub(super) fn raise_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if limit.current != limit.maximum && setrlimit(Resource::Nofile, raised).is_err() {
        return limit.current.unwrap_or(u64::MAX);
    }
    limit.maximum.unwrap_or(u64::MAX)
}

/// What fits into this many descriptors, of so many connections that are wanted.
pub(super) fn divide(limit: u64, wanted: u32, other_ports: u64) -> Budget {
    let (files, per_port) = (FILES.min(limit / FILES_DIVISOR), PER_PORT.min(limit / PER_PORT_DIVISOR));
    let for_gateway = limit.saturating_sub(files + per_port * other_ports) / 2;
    let gateway = u64::from(wanted).min(for_gateway.max(GATEWAY_MIN));
    let left = limit.saturating_sub(files + 2 * gateway) / other_ports.max(1);
    let others = u64::from(wanted).min(left.max(per_port));
    let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Budget { gateway: number(gateway), others: number(others) }
}

/// Says what does not fit.
pub(super) fn report(limit: u64, wanted: u32, budget: Budget) {
    if budget.gateway < wanted {
        tracing::warn!(
            "server.max.connections is {wanted}, and the limit of open files is {limit}: the gateway takes {} \
             connections at a time, because each may need one to the upstream as well; raise the limit \
             (LimitNOFILE= of systemd, ulimit -n) or lower server.max.connections",
            budget.gateway
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_has_descriptors_whatever_the_gateway_wants() {
        assert_eq!(divide(1_048_576, 10_000, 2), Budget { gateway: 10_000, others: 10_000 });
        assert_eq!(divide(20_000, 10_000, 2), Budget { gateway: 9_616, others: 256 });
        assert_eq!(divide(1_024, 10_000, 3), Budget { gateway: 352, others: 64 });
        assert_eq!(divide(64, 10_000, 3), Budget { gateway: 22, others: 4 });
        assert_eq!(divide(1_024, 8, 2), Budget { gateway: 8, others: 8 });
    }

    #[test]
    fn the_limit_is_raised_as_far_as_it_goes() {
        let limit = raise_limit();
        assert_eq!(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX), limit);
    }
}
