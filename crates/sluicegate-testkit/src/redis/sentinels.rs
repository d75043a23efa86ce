//! A primary, two replicas, and three sentinels that make a replica the primary when that one is gone.

use std::net::SocketAddr;

use super::{Engine, RedisLaunch, RedisServer};
use crate::wait;

/// What the sentinels call the servers they watch.
const GROUP: &str = "sluicegate";

/// How often the sentinels look and tell each other, in milliseconds: by default it is seconds. And a busy machine is
/// no reason for them to do nothing for half a minute.
const HASTE: [&str; 12] = [
    "ping-period",
    "100",
    "info-period",
    "100",
    "ask-period",
    "100",
    "publish-period",
    "100",
    "tilt-trigger",
    "20000",
    "tilt-period",
    "1000",
];

/// Servers and those who watch them.
pub struct Sentinels {
    servers: Vec<RedisServer>,
    sentinels: Vec<RedisServer>,
}

impl Sentinels {
    /// Starts all six and returns when each knows of the others.
    pub fn start(engine: Engine) -> Self {
        Self::start_with(&RedisLaunch::new(engine))
    }

    /// As [`Sentinels::start`], with servers that are told this.
    pub fn start_with(launch: &RedisLaunch) -> Self {
        let primary = launch.start();
        let port = primary.address().port();
        let replica = || launch.clone().line(format!("replicaof 127.0.0.1 {port}")).start();
        let servers = vec![primary, replica(), replica()];
        wait::until("the replicas follow", || {
            (servers[0].replicas_online() == 2 && servers[1..].iter().all(follows)).then_some(())
        });
        let sentinels = watching(launch, port);
        for sentinel in &sentinels {
            let words = ["SENTINEL", "DEBUG"].into_iter().chain(HASTE);
            let reply = sentinel.ask(&words.collect::<Vec<_>>());
            assert_eq!(reply.text(), "OK", "the sentinel can be told to hurry");
        }
        let all = Self { servers, sentinels };
        wait::until("the sentinels know each other", || {
            all.sentinels.iter().all(|sentinel| knows(sentinel, "2", "2")).then_some(())
        });
        all
    }

    /// What the sentinels call the servers they watch.
    pub fn group(&self) -> &'static str {
        GROUP
    }

    /// Where the sentinels listen.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.sentinels.iter().map(RedisServer::address).collect()
    }

    /// The sentinels and the group they watch, as a URL.
    pub fn url(&self) -> String {
        let addresses: Vec<String> = self.addresses().iter().map(ToString::to_string).collect();
        format!("redis+sentinel://{}/{GROUP}", addresses.join(","))
    }

    /// The primary, once all sentinels that run say the same and it agrees.
    pub fn primary(&self) -> SocketAddr {
        wait::until("the sentinels agree", || self.agreed())
    }

    /// The servers. The first is the primary at first.
    pub fn servers(&self) -> &[RedisServer] {
        &self.servers
    }

    /// The server at this address.
    #[track_caller]
    pub fn server(&mut self, address: SocketAddr) -> &mut RedisServer {
        self.servers.iter_mut().find(|server| server.address() == address).expect("it is one of ours")
    }

    /// The sentinels themselves.
    pub fn sentinels(&mut self) -> &mut [RedisServer] {
        &mut self.sentinels
    }

    /// Kills the primary and says which it was.
    pub fn kill_primary(&mut self) -> SocketAddr {
        let primary = self.primary();
        self.server(primary).kill();
        primary
    }

    /// Waits until another one than `old` is the primary, and says which.
    pub fn wait_for_failover(&self, old: SocketAddr) -> SocketAddr {
        wait::until("another primary", || self.agreed().filter(|new| *new != old))
    }

    fn agreed(&self) -> Option<SocketAddr> {
        let mut said = self.sentinels.iter().filter(|sentinel| sentinel.is_running()).map(told_by);
        let first = said.next()??;
        let server = self.servers.iter().find(|server| server.address() == first)?;
        let leads = server.is_running() && server.info("role") == "master";
        (leads && said.all(|other| other == Some(first))).then_some(first)
    }
}

/// Three sentinels for the primary at this port.
fn watching(launch: &RedisLaunch, port: u16) -> Vec<RedisServer> {
    let mut watch = launch
        .sentinel()
        .line(format!("sentinel monitor {GROUP} 127.0.0.1 {port} 2"))
        .line(format!("sentinel down-after-milliseconds {GROUP} 500"))
        .line(format!("sentinel failover-timeout {GROUP} 3000"));
    if let Some(password) = launch.known_password() {
        watch = watch.line(format!("sentinel auth-pass {GROUP} {password}"));
    }
    (0..3).map(|_| watch.start()).collect()
}

/// Whether a replica has all that its primary has.
fn follows(replica: &RedisServer) -> bool {
    replica.info("master_link_status") == "up"
}

/// Which primary this sentinel names.
fn told_by(sentinel: &RedisServer) -> Option<SocketAddr> {
    let reply = sentinel.ask(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", GROUP]);
    let [host, port] = reply.list() else { return None };
    format!("{}:{}", host.text(), port.text()).parse().ok()
}

/// Whether a sentinel knows this many replicas and other sentinels.
fn knows(sentinel: &RedisServer, replicas: &str, others: &str) -> bool {
    let reply = sentinel.ask(&["SENTINEL", "MASTER", GROUP]);
    let says = |field: &str, value: &str| {
        let mut pairs = reply.list().chunks_exact(2);
        pairs.any(|pair| pair[0].text() == field && pair[1].text() == value)
    };
    says("num-slaves", replicas) && says("num-other-sentinels", others)
}
