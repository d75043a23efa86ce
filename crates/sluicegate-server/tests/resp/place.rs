//! A listener over an engine in a directory of its own, and clients that speak bytes.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown as Half, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::file;
use sluicegate_core::policy::Permissions;
use sluicegate_core::policy::{Proxies, ServerSettings, TierName};
use sluicegate_core::time::Timestamp;
use sluicegate_engine::identify::{DailyHash, SessionKeys};
use sluicegate_engine::{Clock, Engine, EngineParts, PermitKey};
use sluicegate_ledger::{Spool, SpoolSettings};
use sluicegate_server::Access;
use sluicegate_server::listen::{Listener, ServeSettings, Shutdown};
use sluicegate_server::resp::{self, Password, RespService};
use sluicegate_store::database::Database;
use sluicegate_store::directory::{AccountId, Directory, DisplayName, NewAccount, NewKey, Scopes, Writer};
use sluicegate_store::hash::HomeHasher;
use sluicegate_store::key_text::{KeyEnv, KeyHasher};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// 2026-10-05T12:00:00Z.
pub(crate) const NOW: Timestamp = Timestamp::from_secs(1_791_201_600);

/// Nothing in these tests takes this long unless it is stuck.
const STUCK: Duration = Duration::from_secs(20);

/// A policy for those who only throttle.
pub(crate) const PLAIN: &str = "tiers: {free: {rate: 10}}";

pub(crate) struct Place {
    pub(crate) address: SocketAddr,
    pub(crate) engine: Arc<Engine>,
    pub(crate) shutdown: Shutdown,
    ended: Option<JoinHandle<()>>,
    runtime: Runtime,
    _dir: TempDir,
}

/// How a listener is set up.
pub(crate) struct Setup<'s> {
    pub(crate) policy: &'s str,
    pub(crate) password: Option<&'s str>,
    pub(crate) settings: ServeSettings,
}

impl Default for Setup<'_> {
    fn default() -> Self {
        let settings = ServeSettings::new(&ServerSettings::default(), None);
        Self { policy: PLAIN, password: None, settings }
    }
}

impl Setup<'_> {
    pub(crate) fn start(self) -> Place {
        let dir = tempfile::tempdir().unwrap();
        let engine = Arc::new(engine(self.policy, &dir));
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (address, shutdown, ended) = {
            let _inside = runtime.enter();
            let listener = Listener::bind(([127, 0, 0, 1], 0).into(), "--resp").unwrap();
            let (address, shutdown) = (listener.local_addr(), Shutdown::new());
            let service = RespService::new(Arc::clone(&engine), self.password.map(Password::new))
                .with_access(Access::open(Permissions::ALL));
            let serving = resp::serve(listener, self.settings, service, shutdown.clone());
            (address, shutdown, runtime.spawn(serving))
        };
        Place { address, engine, shutdown, ended: Some(ended), runtime, _dir: dir }
    }
}

fn engine(policy: &str, dir: &TempDir) -> Engine {
    let homes = HomeHasher::new([1; 16]);
    let database = Database::open(&dir.path().join("sluicegate.db")).unwrap();
    let directory = Directory::open(database.clone(), homes.clone(), KeyHasher::new(&[2; 32])).unwrap();
    let settings = SpoolSettings { segment_records: 4_096, ..SpoolSettings::default() };
    let parts = EngineParts {
        policy: file::read(policy.as_bytes()).unwrap().policy,
        directory,
        database,
        spool: Spool::open(&dir.path().join("spool"), settings).unwrap(),
        homes,
        sessions: SessionKeys::new(b"secret", &[]),
        permits: PermitKey::new(b"secret"),
        daily: DailyHash::new(b"secret"),
        proxies: Proxies::default(),
        clock: |_| Clock::fixed(NOW),
        random: 7,
        clients_max: 1_000_000,
        shared: None,
    };
    Engine::open(parts, |_| ()).unwrap().0
}

impl Place {
    pub(crate) fn start(policy: &str) -> Self {
        Setup { policy, ..Setup::default() }.start()
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address)
    }

    /// So many nanoseconds after the start.
    pub(crate) fn at(&self, nanos: u64) {
        self.engine.clock().set(Timestamp::from_nanos(NOW.as_nanos() + nanos));
    }

    /// An account of this tier with one key.
    pub(crate) fn customer(&self, id: &str, tier: &str) -> String {
        let writer = Writer { who: "test".to_owned(), now: NOW };
        let account = NewAccount {
            id: Some(AccountId::new(id).unwrap()),
            name: DisplayName::new(id).unwrap(),
            tier: TierName::new(tier).unwrap(),
            billing_day: None,
            timezone: None,
        };
        let key = NewKey {
            name: DisplayName::new("test").unwrap(),
            env: KeyEnv::Live,
            scopes: Scopes::new([]).unwrap(),
            expires_at: None,
        };
        self.runtime.block_on(async {
            self.engine.directory().create_account(account, &writer).await.unwrap();
            let (_, secret) = self.engine.directory().create_key(id, key, &writer).await.unwrap();
            secret.expose().to_owned()
        })
    }

    /// Waits for the end of the listener.
    pub(crate) fn wait(&mut self) {
        let ended = self.ended.take().unwrap();
        self.runtime.block_on(async { tokio::time::timeout(STUCK, ended).await.unwrap().unwrap() });
    }
}

/// A connection.
pub(crate) struct Client(pub(crate) TcpStream);

/// What is asked behind everything else, to know where the answers end.
const MARK: &str = "the-end-of-the-answers";

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(STUCK)).unwrap();
        stream.set_write_timeout(Some(STUCK)).unwrap();
        Self(stream)
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    /// Everything that is answered to these bytes.
    pub(crate) fn ask_bytes(&mut self, bytes: &[u8]) -> String {
        self.send(bytes);
        self.answers()
    }

    /// Everything that is answered to what was sent.
    pub(crate) fn answers(&mut self) -> String {
        self.send(&wire(&format!("ECHO {MARK}")));
        let end = format!("${}\r\n{MARK}\r\n", MARK.len());
        let mut heard = self.hear_until(|heard| heard.ends_with(end.as_bytes()));
        heard.truncate(heard.len() - end.len());
        String::from_utf8(heard).unwrap()
    }

    /// What is answered to one command, whose words have no blanks.
    pub(crate) fn ask(&mut self, command: &str) -> String {
        self.ask_bytes(&wire(command))
    }

    /// The same, where it is a list of numbers.
    pub(crate) fn numbers(&mut self, command: &str) -> Vec<i64> {
        let answer = self.ask(command);
        let (head, rest) = answer.split_once("\r\n").unwrap();
        let numbers: Vec<i64> =
            rest.lines().map(|line| line.strip_prefix(':').expect(&answer).parse().unwrap()).collect();
        assert_eq!(head, format!("*{}", numbers.len()), "{answer}");
        numbers
    }

    pub(crate) fn hear_until(&mut self, enough: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        let (mut heard, mut buffer) = (Vec::new(), [0; 16 * 1024]);
        while !enough(&heard) {
            let length = self.0.read(&mut buffer).unwrap();
            assert_ne!(length, 0, "it ended after {:?}", String::from_utf8_lossy(&heard));
            heard.extend_from_slice(&buffer[..length]);
        }
        heard
    }

    /// Everything until the other side ends the connection.
    pub(crate) fn rest(&mut self) -> String {
        let mut heard = Vec::new();
        self.0.read_to_end(&mut heard).unwrap();
        String::from_utf8(heard).unwrap()
    }

    /// Whether the other side ends the connection without a word, politely or not.
    pub(crate) fn ends(&mut self) -> bool {
        let mut heard = Vec::new();
        let ended = self.0.read_to_end(&mut heard);
        heard.is_empty()
            && ended.map_or_else(|error| error.kind() == std::io::ErrorKind::ConnectionReset, |_| true)
    }

    /// Says that nothing more comes.
    pub(crate) fn stop_sending(&mut self) {
        self.0.shutdown(Half::Write).unwrap();
    }
}

/// A command as clients send it. Its words have no blanks.
pub(crate) fn wire(command: &str) -> Vec<u8> {
    let words: Vec<&[u8]> = command.split(' ').map(str::as_bytes).collect();
    wire_of(&words)
}

/// A command of these words.
pub(crate) fn wire_of(words: &[&[u8]]) -> Vec<u8> {
    let mut wire = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        wire.extend(format!("${}\r\n", word.len()).bytes());
        wire.extend_from_slice(word);
        wire.extend_from_slice(b"\r\n");
    }
    wire
}
