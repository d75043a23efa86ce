//! Reading a key and finding whose it is allocates nothing, whatever the answer.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sluicegate_core::policy::TierName;
use sluicegate_core::time::Timestamp;
use sluicegate_store::database::Database;
use sluicegate_store::directory::{
    CacheLimits, Directory, DisplayName, Looked, NewAccount, NewKey, Scopes, Verified, Writer,
};
use sluicegate_store::hash::HomeHasher;
use sluicegate_store::key_text::{KeyEnv, KeyHasher, PresentedKey};
use sluicegate_store::redis::{Address, Link, LinkOptions};
use sluicegate_testkit::redis::{Engine, RedisServer};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[tokio::test]
async fn verifying_a_key_allocates_nothing() {
    let (homes, keys) = (HomeHasher::new([1; 16]), KeyHasher::new(&[2; 32]));
    let folder = tempfile::TempDir::new().unwrap();
    let database = Database::open(&folder.path().join("sluicegate.db")).unwrap();
    check(&Directory::open(database, homes.clone(), keys.clone()).unwrap()).await;
    let server = RedisServer::new(Engine::Redis);
    let options = LinkOptions { deadline: Duration::from_secs(5), ..LinkOptions::default() };
    let link = Link::open(&Address::parse(&server.url()).unwrap(), &options).unwrap();
    link.ready(Duration::from_secs(10)).await.unwrap();
    check(&Directory::shared(link, homes, keys, CacheLimits::default()).await.unwrap()).await;
}

/// Nothing but the way of requests runs while it is counted: one thread, and nothing is awaited.
async fn check(directory: &Directory) {
    let by = Writer { who: "ops".to_owned(), now: Timestamp::from_secs(1_790_000_000) };
    let (tier, name) = (TierName::new("free").unwrap(), DisplayName::default());
    let new = NewAccount { id: None, name: name.clone(), tier, billing_day: None, timezone: None };
    let account = directory.create_account(new, &by).await.unwrap();
    let new = NewKey { name, env: KeyEnv::Live, scopes: Scopes::default(), expires_at: None };
    let (_, kept) = directory.create_key(account.id.as_str(), new.clone(), &by).await.unwrap();
    let (gone, revoked) = directory.create_key(account.id.as_str(), new, &by).await.unwrap();
    directory.revoke_key(gone.id, &by).await.unwrap();
    for secret in [&kept, &revoked] {
        directory.fetch(&PresentedKey::parse(secret.expose()).unwrap(), by.now).await.unwrap();
    }
    let verify = |text: &str| PresentedKey::parse(text).map(|key| directory.verify(&key, by.now));
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    for _ in 0..1_000 {
        assert!(matches!(verify(kept.expose()), Ok(Looked::Known(Verified::Key(_)))));
        assert!(matches!(verify(revoked.expose()), Ok(Looked::Known(Verified::Invalid))));
        assert!(verify("sg_live_junk").is_err());
    }
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed), before);
}
