//! The listeners, and what stands behind each.

use std::sync::Arc;

use anyhow::Context as _;
use sluicegate_admin::{AdminService, AdminState, AdminToken, router};
use sluicegate_core::policy::ServerSettings;
use sluicegate_node::{Node, Shutdown};
use sluicegate_server::decision::DecisionService;
use sluicegate_server::gateway::gateway;
use sluicegate_server::listen::{Listener, ServeSettings, TlsCell, serve};
use sluicegate_server::resp::{self, Password, RespService};
use sluicegate_tower::otlp::{Traced, Traces};
use tokio::task::JoinSet;

use super::ready::Addresses;
use super::secrets::ServerSecrets;
use crate::environment;

/// Sockets that are bound, and not served yet.
pub(super) struct Listeners {
    gateway: Listener,
    decision: Listener,
    admin: Listener,
    resp: Option<Listener>,
    tls: Tls,
}

/// The certificate of the gateway, if it has one.
#[derive(Clone)]
pub(super) struct Tls(Option<Arc<TlsCell>>);

/// Listeners that are being served.
pub(super) struct Serving(JoinSet<()>);

impl Listeners {
    pub(super) fn bind(server: &ServerSettings) -> anyhow::Result<Self> {
        let tls = server.tls.clone().map(TlsCell::load).transpose()?.map(Arc::new);
        Ok(Self {
            gateway: Listener::bind(server.gateway, "--gateway")?,
            decision: Listener::bind(server.decision, "--decision")?,
            admin: Listener::bind(server.admin, "--admin")?,
            resp: server.resp.map(|address| Listener::bind(address, "--resp")).transpose()?,
            tls: Tls(tls),
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
        let decision = DecisionService::new(Arc::clone(engine));
        let gateway = Traced::new(gateway(Arc::clone(engine), server)?, traces);
        let plain = ServeSettings::new(server, None);
        let secured = ServeSettings::new(server, self.tls.0.clone()).behind_proxies(server);
        let mut serving = JoinSet::new();
        serving.spawn(serve(self.gateway, secured, gateway, shutdown.clone()));
        serving.spawn(serve(self.decision, plain.clone().answering_at_once(), decision, shutdown.clone()));
        serving.spawn(serve(self.admin, plain.clone(), admin, shutdown.clone()));
        if let Some(listener) = self.resp {
            let password = secrets.resp_password.as_deref().map(Password::new);
            if password.is_none() && !listener.local_addr().ip().is_loopback() {
                tracing::warn!(
                    "whoever reaches {} may ask for decisions: set {}",
                    listener.local_addr(),
                    environment::RESP_PASSWORD
                );
            }
            let service = RespService::new(Arc::clone(engine), password);
            serving.spawn(resp::serve(listener, plain, service, shutdown.clone()));
        }
        Ok(Serving(serving))
    }
}

impl Serving {
    /// Returns when the last request is answered, or the time for that is over.
    pub(super) async fn ended(mut self) {
        while self.0.join_next().await.is_some() {}
    }
}

impl Tls {
    /// Reads the certificate again. One that cannot be read leaves the old one in use.
    pub(super) fn reload(&self) {
        if let Some(cell) = &self.0
            && let Err(error) = cell.reload()
        {
            tracing::error!("the certificate was not reloaded: {error}");
        }
    }
}
