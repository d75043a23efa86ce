//! One connection of either kind: to a single server, or to the nodes of a cluster.

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster_async::ClusterConnection;
use redis::{Cmd, Pipeline, RedisFuture, Value};

/// A connection that many callers use at once.
#[derive(Clone)]
pub(super) enum Line {
    /// To one server.
    One(MultiplexedConnection),
    /// To a cluster. It finds its nodes, and follows redirections, by itself.
    Cluster(ClusterConnection),
}

impl Line {
    /// Whether it replaces what it lost by itself. One node of a cluster may be away while the others serve.
    pub(super) fn mends_itself(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }
}

impl ConnectionLike for Line {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Self::One(connection) => connection.req_packed_command(command),
            Self::Cluster(connection) => connection.req_packed_command(command),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            Self::One(connection) => connection.req_packed_commands(pipeline, offset, count),
            Self::Cluster(connection) => connection.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Self::One(connection) => connection.get_db(),
            Self::Cluster(connection) => connection.get_db(),
        }
    }
}
