//! Following the audit log: what was seen and signed of it cannot be changed behind the back of a node.

use std::path::Path;

use rusqlite::Connection;
use sluicegate_core::audit::Head;
use sluicegate_core::policy::TierName;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::audit::{FollowError, follow};
use sluicegate_ledger::chain::{AuditVerified, VerifyError, Why};
use sluicegate_ledger::{Ledger, LedgerSettings, Spool, SpoolSettings};
use sluicegate_store::database::{AuditFile, Database};
use sluicegate_store::directory::{
    AccountId, CacheLimits, Directory, DisplayName, NewAccount, PageLimit, Writer,
};
use sluicegate_store::hash::HomeHasher;
use sluicegate_store::key_text::KeyHasher;
use sluicegate_store::redis::{Address, Link, LinkOptions};
use sluicegate_testkit::redis::{Engine, RedisServer};

struct Node {
    dir: tempfile::TempDir,
    directory: Directory,
    spool: Spool,
    ledger: Ledger,
    /// Writes to the directory are awaited on it.
    runtime: tokio::runtime::Runtime,
}

impl Node {
    fn new(open: impl FnOnce(&Path, &tokio::runtime::Runtime) -> Directory) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let directory = open(dir.path(), &runtime);
        let spool = Spool::open(&dir.path().join("spool"), SpoolSettings::default()).unwrap();
        let ledger = Ledger::open(&dir.path().join("ledger"), LedgerSettings::default()).unwrap();
        Self { dir, directory, spool, ledger, runtime }
    }

    fn embedded() -> Self {
        Self::new(|dir, _| {
            let database = Database::open(&dir.join("sluicegate.db")).unwrap();
            Directory::open(database, HomeHasher::new([1; 16]), KeyHasher::new(&[2; 32])).unwrap()
        })
    }

    fn shared(server: &RedisServer) -> Self {
        Self::new(|_, runtime| {
            runtime.block_on(async {
                let link =
                    Link::open(&Address::parse(&server.url()).unwrap(), &LinkOptions::default()).unwrap();
                link.ready(std::time::Duration::from_secs(10)).await.unwrap();
                let (homes, keys) = (HomeHasher::new([1; 16]), KeyHasher::new(&[2; 32]));
                Directory::shared(link, homes, keys, CacheLimits::default()).await.unwrap()
            })
        })
    }

    fn write(&self, id: &str) {
        let new = NewAccount {
            id: Some(AccountId::new(id).unwrap()),
            name: DisplayName::new(id).unwrap(),
            tier: TierName::new("free").unwrap(),
            billing_day: None,
            timezone: None,
        };
        let by = Writer { who: "ops".to_owned(), now: now() };
        self.runtime.block_on(self.directory.create_account(new, &by)).unwrap();
    }

    fn follow(&self) -> Result<Head, FollowError> {
        follow(&self.directory, &self.ledger)
    }

    fn sign(&self) -> Head {
        let head = self.follow().unwrap();
        self.ledger.checkpoint(&self.spool, head, now()).unwrap();
        head
    }

    /// What somebody finds who looks at the store as it is.
    fn verify(&self) -> Result<AuditVerified, VerifyError> {
        let (ledger, spool) = (self.dir.path().join("ledger"), self.dir.path().join("spool"));
        let signed = Ledger::verify(&ledger, &spool, None)?.checkpoint.unwrap().audit;
        let mut check = Ledger::check_audit(&ledger, Path::new("log"), signed)?;
        for entry in self.directory.audit_after(0, PageLimit::new(1_000).unwrap()).wait().unwrap() {
            check.entry(&entry.entry(), entry.link.as_ref())?;
        }
        check.end()
    }

    fn sql(&self, sql: &str) {
        Connection::open(self.dir.path().join("sluicegate.db")).unwrap().execute_batch(sql).unwrap();
    }
}

fn now() -> Timestamp {
    Timestamp::from_secs(1_790_000_000)
}

#[track_caller]
#[expect(clippy::panic, reason = "a test")]
fn found(verified: Result<AuditVerified, VerifyError>) -> (Option<u64>, Why) {
    match verified {
        Err(VerifyError::Bad(bad)) => (bad.entry, bad.why),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_new_is_seen_and_signed() {
    let server = RedisServer::new(Engine::Redis);
    for node in [Node::embedded(), Node::shared(&server)] {
        assert_eq!(node.sign(), Head::default());
        for round in 1..=3 {
            for number in 0..5 {
                node.write(&format!("a{round}-{number}"));
            }
            let head = node.sign();
            assert_eq!((head.seq, node.ledger.audit_head().unwrap()), (round * 5, head));
        }
        node.write("later");
        let verified = node.verify().unwrap();
        assert_eq!((verified.signed, verified.newer), (15, 1));
    }
}

#[test]
fn a_log_that_was_rewritten_is_not_signed_and_is_found() {
    let node = Node::embedded();
    for id in ["a", "b", "c", "d"] {
        node.write(id);
    }
    let head = node.sign();
    // Somebody removes the end of the log, and the server goes on writing as if nothing were wrong.
    node.sql("DELETE FROM audit WHERE seq > 2; UPDATE sqlite_sequence SET seq = 2 WHERE name = 'audit'");
    for id in ["e", "f", "g"] {
        node.write(id);
    }
    let file = AuditFile::open(&node.dir.path().join("sluicegate.db")).unwrap();
    assert_eq!(file.head().unwrap().seq, 5, "longer than it was, and linked without a flaw");
    assert!(matches!(node.follow(), Err(FollowError::Entry { seq: 4 })));
    // What was seen may still be signed, so that the rest goes on.
    assert_eq!(node.ledger.audit_head().unwrap(), head);
    node.ledger.checkpoint(&node.spool, head, now()).unwrap();
    assert_eq!(found(node.verify()), (Some(3), Why::Entry));
}

#[test]
fn an_entry_that_was_changed_before_it_was_seen_is_found_by_its_link() {
    let node = Node::embedded();
    for id in ["a", "b", "c"] {
        node.write(id);
    }
    node.sql("UPDATE audit SET who = 'nobody' WHERE seq = 2");
    assert!(matches!(node.follow(), Err(FollowError::Entry { seq: 2 })));
}

#[test]
fn a_change_in_a_shared_store_is_found_by_every_node_that_had_seen_it() {
    let server = RedisServer::new(Engine::Redis);
    let nodes = [Node::shared(&server), Node::shared(&server)];
    for (number, id) in ["a", "b", "c", "d"].iter().enumerate() {
        nodes[number % 2].write(id);
    }
    assert_eq!(nodes[0].sign(), nodes[1].sign(), "all nodes make the same links");
    // A stream cannot be edited in place: it is copied with one entry changed.
    let forge = "local all = redis.call('XRANGE', KEYS[1], '-', '+') redis.call('DEL', KEYS[1]) \
                 for _, entry in ipairs(all) do if entry[1] == '0-3' then entry[2][6] = 'nobody' end \
                 redis.call('XADD', KEYS[1], entry[1], unpack(entry[2])) end";
    server.ask(&["EVAL", forge, "1", "sg1:{dir}:audit"]);
    nodes[0].write("e");
    for node in &nodes {
        // It goes on with what was seen, and signs nothing of the forgery.
        node.sign();
        assert_eq!(found(node.verify()), (Some(3), Why::Entry));
    }
    // The end of it is lost.
    server.ask(&["XDEL", "sg1:{dir}:audit", "0-5"]);
    for node in &nodes {
        assert!(matches!(node.follow(), Err(FollowError::Entry { seq: 5 })));
    }
}
