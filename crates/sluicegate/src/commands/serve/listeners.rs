//! The listeners, and what stands behind each.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use sluicegate_admin::{AdminService, AdminState, AdminToken, router};
use sluicegate_core::policy::{PerAddress, ServerSettings, TlsFiles};
use sluicegate_node::{Node, Shutdown};
use sluicegate_server::Access;
use sluicegate_server::decision::DecisionService;
use sluicegate_server::gateway::gateway;
use sluicegate_server::listen::{Listener, ServeSettings, TlsCell, serve};
use sluicegate_server::resp::{self, Password, RespService};
use sluicegate_tower::otlp::{Traced, Traces};
use tokio::task::JoinSet;

use super::descriptors::{self, Budget};
use super::ready::Addresses;
use super::secrets::ServerSecrets;

/// Sockets that are bound, and not served yet.
pub(super) struct Listeners {
    gateway: Listener,
    decision: Listener,
    admin: Listener,
    resp: Option<Listener>,
    tls: Tls,
}

/// The certificates of the ports that have one.
#[derive(Clone)]
pub(super) struct Tls {
    gateway: Option<Arc<TlsCell>>,
    decision: Option<Arc<TlsCell>>,
    admin: Option<Arc<TlsCell>>,
    resp: Option<Arc<TlsCell>>,
}

/// Listeners that are being served.
pub(super) struct Serving(JoinSet<()>);

impl Listeners {
    pub(super) fn bind(server: &ServerSettings) -> anyhow::Result<Self> {
        let load = |files: &Option<TlsFiles>| -> anyhow::Result<Option<Arc<TlsCell>>> {
            Ok(files.clone().map(TlsCell::load).transpose()?.map(Arc::new))
        };
        let tls = Tls {
            gateway: load(&server.tls)?,
            decision: load(&server.decision_tls)?,
            admin: load(&server.admin_tls)?,
            resp: load(&server.resp_tls)?,
        };
        Ok(Self {
            gateway: Listener::bind(server.gateway, "--gateway")?,
            decision: Listener::bind(server.decision, "--decision")?,
            admin: Listener::bind(server.admin, "--admin")?,
            resp: server.resp.map(|address| Listener::bind(address, "--resp")).transpose()?,
            tls,
        })
    }

    pub(super) fn addresses(&self) -> Addresses {
        Addresses {
            gateway: self.gateway.local_addr(),
            decision: self.decision.local_addr(),
            admin: self.admin.local_addr(),
            resp: self.resp.as_ref().map(Listener::local_addr),
        }
    }

    pub(super) fn tls(&self) -> Tls {
        self.tls.clone()
    }

    pub(super) fn serve(
        self,
        node: &Node,
        secrets: &ServerSecrets,
        server: &ServerSettings,
        shutdown: &Shutdown,
        traces: Option<Arc<Traces>>,
    ) -> anyhow::Result<Serving> {
        let engine = node.engine();
        let token = AdminToken::new(&secrets.node.admin_token).context("the admin token cannot be used")?;
        let (books, reload) = (Arc::clone(node.books()), Arc::clone(node.reloader().state()));
        let admin = AdminService::new(router(AdminState { books, token, reload }));
        let decision = DecisionService::new(Arc::clone(engine)).with_access(self.decision_access(server));
        let gateway = Traced::new(gateway(Arc::clone(engine), server)?, traces);
        let budget = budget(server);
        let plain = ServeSettings {
            connections_max: budget.others,
            reserved_descriptors: descriptors::RESERVED,
            ..ServeSettings::new(server, None)
        };
        let under = |tls: &Option<Arc<TlsCell>>| ServeSettings { tls: tls.clone(), ..plain.clone() };
        let secured = ServeSettings {
            connections_max: budget.gateway,
            per_address: share(server, budget.gateway),
            ..ServeSettings::new(server, self.tls.gateway.clone()).behind_proxies(server)
        };
        let deciding = under(&self.tls.decision).answering_at_once();
        let mut serving = JoinSet::new();
        serving.spawn(serve(self.gateway, secured, gateway, shutdown.clone()));
        serving.spawn(serve(self.decision, deciding, decision, shutdown.clone()));
        serving.spawn(serve(self.admin, under(&self.tls.admin), admin, shutdown.clone()));
        if let Some(listener) = self.resp {
            let password = secrets.resp_password.as_deref().map(Password::new);
            let has_ca = server.resp_tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
            let access = Access::new(server, listener.local_addr().ip(), has_ca);
            if password.is_none() {
                warn_open(access, has_ca, listener.local_addr());
            }
            let service = RespService::new(Arc::clone(engine), password).with_access(access);
            serving.spawn(resp::serve(listener, under(&self.tls.resp), service, shutdown.clone()));
        }
        Ok(Serving(serving))
    }

    /// Who may ask at the decision port.
    fn decision_access(&self, server: &ServerSettings) -> Access {
        let has_ca = server.decision_tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
        let access = Access::new(server, self.decision.local_addr().ip(), has_ca);
        warn_open(access, has_ca, self.decision.local_addr());
        access
    }
}

/// Says that a port off loopback needs no credential, because the policy opens it.
fn warn_open(access: Access, has_client_ca: bool, address: SocketAddr) {
    if !access.is_required() && !has_client_ca && !address.ip().is_loopback() {
        tracing::warn!(%address, "server.decision_auth is none: every peer of this port may ask for decisions");
    }
}

/// What one address may take of so many connections, where they are fewer than the policy wants.
fn share(server: &ServerSettings, connections: u32) -> PerAddress {
    let PerAddress { connections: most, requests, handshakes } = server.max.per_address;
    if connections >= server.max.connections {
        return server.max.per_address;
    }
    let fitting = PerAddress::of(connections);
    PerAddress {
        connections: most.min(fitting.connections),
        requests: requests.min(fitting.requests),
        handshakes: handshakes.min(fitting.handshakes),
    }
}

/// How many connections each port takes. What does not fit is said.
fn budget(server: &ServerSettings) -> Budget {
    let limit = descriptors::raise_limit();
    let other_ports = 2 + u64::from(server.resp.is_some());
    let budget = descriptors::divide(limit, server.max.connections, other_ports);
    descriptors::report(limit, server.max.connections, budget);
    budget
}

impl Serving {
    /// Returns when the last request is answered, or the time for that is over.
    pub(super) async fn ended(mut self) {
        while self.0.join_next().await.is_some() {}
    }
}

impl Tls {
    /// Reads the certificates again. One that cannot be read leaves the old one in use.
    pub(super) fn reload(&self) {
        for cell in [&self.gateway, &self.decision, &self.admin, &self.resp].into_iter().flatten() {
            if let Err(error) = cell.reload() {
                tracing::error!("the certificate was not reloaded: {error}");
            }
        }
    }
}
