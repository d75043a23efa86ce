//! A cluster: three primaries that share the slots, and a replica of each that takes over when it is gone.

use std::net::SocketAddr;

use super::{Engine, RedisLaunch, RedisServer, Reply};
use crate::port::Port;
use crate::wait;

const PRIMARIES: usize = 3;
const SLOTS: usize = 16_384;

/// Six servers. The first three are the primaries at first.
pub struct Cluster {
    nodes: Vec<RedisServer>,
    /// Where each of them talks to the others.
    gossip: Vec<Port>,
}

impl Cluster {
    /// Starts all six and returns when every node knows of every other and all slots are served.
    pub fn start(engine: Engine) -> Self {
        Self::start_with(&RedisLaunch::new(engine))
    }

    /// As [`Cluster::start`], with nodes that are told this.
    pub fn start_with(launch: &RedisLaunch) -> Self {
        let gossip: Vec<Port> = (0..2 * PRIMARIES).map(|_| Port::reserve()).collect();
        let nodes = gossip.iter().map(|gossip| {
            let clustered = launch.clone().line("cluster-enabled yes").line("cluster-node-timeout 1000");
            clustered
                .line("cluster-replica-validity-factor 0")
                .line(format!("cluster-port {}", gossip.number()))
                .start()
        });
        let nodes = nodes.collect();
        let cluster = Self { nodes, gossip };
        cluster.introduce();
        cluster.divide();
        cluster.wait_until_whole();
        cluster
    }

    /// Every node is told of every other: to leave it to gossip takes seconds.
    fn introduce(&self) {
        for (index, node) in self.nodes.iter().enumerate() {
            // Two nodes that start alike must not hold the same claim to a slot.
            told(node, &["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()]);
            for (other, gossip) in self.nodes[..index].iter().zip(&self.gossip) {
                let (port, bus) = (other.address().port().to_string(), gossip.number().to_string());
                told(node, &["CLUSTER", "MEET", "127.0.0.1", &port, &bus]);
            }
        }
        let known = self.nodes.len().to_string();
        wait::until("the nodes know each other", || {
            self.nodes.iter().all(|node| state_of(node, "cluster_known_nodes") == known).then_some(())
        });
    }

    /// A third of the slots for each primary, and a replica.
    fn divide(&self) {
        let (primaries, replicas) = self.nodes.split_at(PRIMARIES);
        for (index, primary) in primaries.iter().enumerate() {
            let first = index * SLOTS / PRIMARIES;
            let last = (index + 1) * SLOTS / PRIMARIES - 1;
            told(primary, &["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()]);
        }
        for (primary, replica) in primaries.iter().zip(replicas) {
            let id = primary.ask(&["CLUSTER", "MYID"]).text();
            // A node that was met a moment ago may still be a stranger under its own name.
            wait::until("the replica knows whom to follow", || {
                (replica.ask(&["CLUSTER", "REPLICATE", &id]).text() == "OK").then_some(())
            });
        }
    }

    fn wait_until_whole(&self) {
        wait::until("the cluster serves all slots", || {
            let (primaries, replicas) = self.nodes.split_at(PRIMARIES);
            let follow = primaries.iter().all(|primary| primary.replicas_online() == 1)
                && replicas.iter().all(|replica| replica.info("master_link_status") == "up");
            let healthy = || self.nodes.iter().all(|node| state_of(node, "cluster_state") == "ok");
            // A failover needs every node to know who follows whom.
            let known = || self.nodes.iter().all(|node| owners(node).iter().all(|owner| owner.replicas == 1));
            (follow && healthy() && known()).then_some(())
        });
    }

    /// Where the nodes listen.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.nodes.iter().map(RedisServer::address).collect()
    }

    /// All nodes, as a URL.
    pub fn url(&self) -> String {
        let addresses: Vec<String> = self.addresses().iter().map(ToString::to_string).collect();
        format!("redis+cluster://{}", addresses.join(","))
    }

    /// All nodes.
    pub fn nodes(&self) -> &[RedisServer] {
        &self.nodes
    }

    /// The node at this address.
    #[track_caller]
    pub fn node(&mut self, address: SocketAddr) -> &mut RedisServer {
        self.nodes.iter_mut().find(|node| node.address() == address).expect("it is one of ours")
    }

    /// The slot of a key.
    pub fn slot_of(&self, key: &str) -> u16 {
        let node = self.nodes.iter().find(|node| node.is_running()).expect("a node runs");
        node.ask(&["CLUSTER", "KEYSLOT", key]).text().parse().expect("a slot is a number")
    }

    /// Who serves this slot, once all nodes that run say the same.
    pub fn primary_of(&self, slot: u16) -> SocketAddr {
        wait::until("the nodes agree", || self.agreed(slot))
    }

    /// Kills who serves this slot and says which it was.
    pub fn kill_primary_of(&mut self, slot: u16) -> SocketAddr {
        let primary = self.primary_of(slot);
        self.node(primary).kill();
        primary
    }

    /// Waits until another one than `old` serves this slot and the cluster is whole again, and says which.
    pub fn wait_for_failover(&self, slot: u16, old: SocketAddr) -> SocketAddr {
        wait::until("another primary", || self.agreed(slot).filter(|new| *new != old))
    }

    fn agreed(&self, slot: u16) -> Option<SocketAddr> {
        let mut said = self.nodes.iter().filter(|node| node.is_running()).map(|node| {
            let owner = owners(node).into_iter().find(|owner| owner.slots.contains(&i64::from(slot)))?;
            (state_of(node, "cluster_state") == "ok").then_some(owner.address)
        });
        let first = said.next()??;
        said.all(|other| other == Some(first)).then_some(first)
    }
}

/// Who serves some slots, as one node sees it.
struct Owner {
    slots: std::ops::RangeInclusive<i64>,
    address: SocketAddr,
    replicas: usize,
}

fn owners(node: &RedisServer) -> Vec<Owner> {
    let read = |entry: &Reply| {
        let [Reply::Number(first), Reply::Number(last), primary, replicas @ ..] = entry.list() else {
            return None;
        };
        let [host, port, ..] = primary.list() else { return None };
        let address = format!("{}:{}", host.text(), port.text()).parse().ok()?;
        Some(Owner { slots: *first..=*last, address, replicas: replicas.len() })
    };
    node.ask(&["CLUSTER", "SLOTS"]).list().iter().filter_map(read).collect()
}

/// One line of `CLUSTER INFO`, or nothing.
fn state_of(node: &RedisServer, field: &str) -> String {
    let info = node.ask(&["CLUSTER", "INFO"]).text();
    let value = info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    value.unwrap_or_default().to_owned()
}

#[track_caller]
fn told(node: &RedisServer, words: &[&str]) {
    let reply = node.ask(words);
    assert_eq!(reply.text(), "OK", "{words:?}");
}
