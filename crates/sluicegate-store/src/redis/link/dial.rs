//! Connecting to a server: directly, by asking sentinels, or to all nodes of a cluster.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::PubSub;
use redis::cluster::{ClusterClient, ClusterClientBuilder};
use redis::io::tcp::TcpSettings;
use redis::sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType};
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _, ProtocolVersion,
    PushInfo, PushKind, RedisConnectionInfo, RedisError,
};
use sluicegate_core::policy::RedisLayout;
use tokio::sync::{Mutex, mpsc};

use super::keep::{Trouble, TroubleKind};
use super::line::Line;
use super::{Address, LinkError, LinkOptions};

/// How long what was sent may stay unacknowledged. It bounds how late a call can still reach a server.
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(10);

/// How long an attempt to connect to one server may take.
const DIAL_MAX: Duration = Duration::from_secs(1);

/// The same where several are asked, some of which may not answer.
const DIAL_SEVERAL_MAX: Duration = Duration::from_secs(5);

/// Queries that wait for room in the socket; beyond that, callers wait.
const WAITING_MAX: usize = 1_024;

/// Knows how to connect.
#[derive(Clone)]
pub(super) struct Dialer {
    way: Way,
}

#[derive(Clone)]
enum Way {
    One(Box<Client>),
    /// Asking the sentinels changes what is remembered of them.
    Sentinel(Arc<Mutex<SentinelClient>>),
    Cluster {
        client: Box<ClusterClient>,
        nodes: Vec<Client>,
    },
}

impl Dialer {
    pub(super) fn new(address: &Address, options: &LinkOptions) -> Result<Self, LinkError> {
        if address.layout == RedisLayout::StandaloneTls {
            provider_for_tls()?;
        }
        let way = match address.layout {
            RedisLayout::Standalone | RedisLayout::StandaloneTls => {
                let nodes = clients(address, options)?;
                let first = nodes.into_iter().next();
                Way::One(Box::new(first.ok_or_else(|| LinkError::Settings("no host is given".into()))?))
            }
            RedisLayout::Sentinel => Way::Sentinel(Arc::new(Mutex::new(
                sentinels(address, options).map_err(|error| settings(&error))?,
            ))),
            RedisLayout::Cluster => Way::Cluster {
                client: Box::new(cluster(address, options).map_err(|error| settings(&error))?),
                nodes: clients(address, options)?,
            },
        };
        Ok(Self { way })
    }

    /// How long it may take to connect.
    pub(super) fn patience(&self) -> Duration {
        match self.way {
            Way::One(_) => DIAL_MAX,
            Way::Sentinel(_) | Way::Cluster { .. } => DIAL_SEVERAL_MAX,
        }
    }

    /// Connects. What happens to the connection later is reported under `epoch`.
    pub(super) async fn dial(
        &self,
        reports: &mpsc::WeakSender<Trouble>,
        epoch: u64,
    ) -> Result<Line, RedisError> {
        match &self.way {
            Way::One(client) => one(client, reports, epoch).await,
            Way::Sentinel(sentinels) => {
                let primary = sentinels.lock().await.async_get_client().await?;
                one(&primary, reports, epoch).await
            }
            Way::Cluster { client, .. } => Ok(Line::Cluster(client.get_async_connection().await?)),
        }
    }

    /// A connection for messages.
    pub(super) async fn subscriber(&self) -> Result<PubSub, LinkError> {
        let unreachable = |error: RedisError| LinkError::Unreachable(error.to_string());
        match &self.way {
            Way::One(client) => client.get_async_pubsub().await.map_err(unreachable),
            Way::Sentinel(sentinels) => {
                let primary = sentinels.lock().await.async_get_client().await.map_err(unreachable)?;
                primary.get_async_pubsub().await.map_err(unreachable)
            }
            // A message that is published anywhere in a cluster reaches every node of it.
            Way::Cluster { nodes, .. } => {
                let mut why = LinkError::Unreachable("no node is known".into());
                for node in nodes {
                    match node.get_async_pubsub().await {
                        Ok(subscriber) => return Ok(subscriber),
                        Err(error) => why = unreachable(error),
                    }
                }
                Err(why)
            }
        }
    }
}

/// A connection to one server that says when it is gone.
async fn one(client: &Client, reports: &mpsc::WeakSender<Trouble>, epoch: u64) -> Result<Line, RedisError> {
    let reports = reports.clone();
    let gone = move |push: PushInfo| {
        if push.kind == PushKind::Disconnection
            && let Some(reports) = reports.upgrade()
        {
            let _ = reports.try_send(Trouble { kind: TroubleKind::Dead, epoch });
        }
        Ok::<(), redis::aio::SendError>(())
    };
    // Deadlines are the link's own.
    let config = AsyncConnectionConfig::new()
        .set_response_timeout(None)
        .set_connection_timeout(None)
        .set_pipeline_buffer_size(WAITING_MAX)
        .set_push_sender(gone);
    Ok(Line::One(client.get_multiplexed_async_connection_with_config(&config).await?))
}

fn clients(address: &Address, options: &LinkOptions) -> Result<Vec<Client>, LinkError> {
    let infos = connection_infos(address, options).map_err(|error| settings(&error))?;
    let client = |info: ConnectionInfo| {
        #[cfg(feature = "tls")]
        if let (RedisLayout::StandaloneTls, Some(pem)) = (address.layout, options.trusted_pem.clone()) {
            let certificates = redis::TlsCertificates { client_tls: None, root_cert: Some(pem) };
            return Client::build_with_tls(info, certificates);
        }
        Client::open(info)
    };
    infos.into_iter().map(client).collect::<Result<_, _>>().map_err(|error| settings(&error))
}

fn connection_infos(address: &Address, options: &LinkOptions) -> Result<Vec<ConnectionInfo>, RedisError> {
    let infos = addresses(address).into_iter().map(|host| {
        let info = host.into_connection_info()?;
        Ok(info.set_tcp_settings(tcp()).set_redis_settings(redis_settings(address, options)))
    });
    infos.collect()
}

fn addresses(address: &Address) -> Vec<ConnectionAddr> {
    let tls = address.layout == RedisLayout::StandaloneTls;
    let hosts = address.hosts.iter().cloned().map(|(host, port)| match tls {
        true => ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None },
        false => ConnectionAddr::Tcp(host, port),
    });
    hosts.collect()
}

fn redis_settings(address: &Address, options: &LinkOptions) -> RedisConnectionInfo {
    let mut settings =
        RedisConnectionInfo::default().set_protocol(ProtocolVersion::RESP3).set_db(address.database);
    if let Some(user) = options.username.as_ref().or(address.user.as_ref()) {
        settings = settings.set_username(user);
    }
    if let Some(password) = &options.password {
        settings = settings.set_password(password.as_str());
    }
    settings
}

fn sentinels(address: &Address, options: &LinkOptions) -> Result<SentinelClient, RedisError> {
    let kind = SentinelServerType::Master;
    let mut builder = SentinelClientBuilder::new(addresses(address), &address.primary, kind)?
        .set_client_to_redis_db(address.database)
        .set_client_to_redis_protocol(ProtocolVersion::RESP3)
        .set_client_to_redis_tcp_settings(tcp())
        .set_client_to_sentinel_tcp_settings(tcp());
    if let Some(user) = options.username.as_ref().or(address.user.as_ref()) {
        builder = builder.set_client_to_redis_username(user);
    }
    if let Some(password) = &options.password {
        builder = builder.set_client_to_redis_password(password.as_str());
    }
    if let Some(password) = &options.sentinel_password {
        builder = builder.set_client_to_sentinel_password(password.as_str());
    }
    builder.build()
}

fn cluster(address: &Address, options: &LinkOptions) -> Result<ClusterClient, RedisError> {
    let mut builder = ClusterClientBuilder::new(addresses(address))
        .use_protocol(ProtocolVersion::RESP3)
        .tcp_settings(tcp())
        // A caller that gives up earlier takes its query back; this is for queries of the client itself.
        .response_timeout(DIAL_MAX)
        .connection_timeout(DIAL_MAX);
    if let Some(user) = options.username.as_ref().or(address.user.as_ref()) {
        builder = builder.username(user);
    }
    if let Some(password) = &options.password {
        builder = builder.password(password.as_str());
    }
    builder.build()
}

/// Small packets go at once. A connection that is given up takes what it has not sent with it: such a call must not
/// arrive after the question what became of it.
fn tcp() -> TcpSettings {
    TcpSettings::default()
        .set_nodelay(true)
        .set_linger_time(Duration::ZERO)
        .set_user_timeout(UNACKNOWLEDGED_MAX)
}

/// The client uses the process-wide provider of rustls, and panics where there is none.
#[cfg(feature = "tls")]
fn provider_for_tls() -> Result<(), LinkError> {
    if rustls::crypto::CryptoProvider::get_default().is_some() {
        return Ok(());
    }
    #[cfg(feature = "aws-lc")]
    {
        // It fails only if another thread has installed one meanwhile.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        Ok(())
    }
    #[cfg(not(feature = "aws-lc"))]
    Err(LinkError::Settings(
        "rustls has no crypto provider: install one first, such as \
         rustls::crypto::ring::default_provider().install_default(), or enable the feature `aws-lc`"
            .into(),
    ))
}

#[cfg(not(feature = "tls"))]
fn provider_for_tls() -> Result<(), LinkError> {
    Err(LinkError::Settings("this program was built without TLS: enable the feature `tls`".into()))
}

fn settings(error: &RedisError) -> LinkError {
    LinkError::Settings(error.to_string())
}
